//! MATLAB files of version 5, as written by `save -v6` and `save -v7`.

mod variable;

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::ZlibDecoder;

use super::array::{Array, Order};
use super::extent::shape;
use super::input::{CHUNK, Input};
use super::purpose::Purpose;
use crate::{Error, Result};
use variable::{COMPRESSED, Class, Data, Elements, MATRIX, Variable};

/// Sizes of the file's header and of a tag, in bytes.
const HEADER: u64 = 128;
const TAG: u64 = 8;

/// Opens the variable called `name`, or the only one that fits the purpose.
pub(super) fn open(mut input: Input, name: Option<&str>, purpose: Purpose) -> Result<Array> {
    let path = input.path().to_path_buf();
    let big_endian = input.head().get(126) == Some(&b'M');
    input.header::<{ HEADER as usize }>()?;
    let (file, start, len) = input.into_file(u64::MAX)?;
    let mut variables = list(&path, &file, big_endian, start..start + len)?;
    let index = match name {
        Some(name) => variables.iter().position(|(variable, _)| variable.name == name),
        None => default_for(purpose, &variables),
    };
    let Some(index) = index else {
        return Err(Error::malformed(&path, choice(&variables, name, purpose)));
    };
    let (variable, place) = variables.swap_remove(index);
    array(&path, file, variable, place, purpose)
}

/// Range of a variable in the file, without its tag.
struct Place {
    start: u64,
    end: u64,
    compressed: bool,
}

/// Lists the variables of a file.
fn list(
    path: &Path,
    mut file: &File,
    big_endian: bool,
    bounds: std::ops::Range<u64>,
) -> Result<Vec<(Variable, Place)>> {
    let mut variables = Vec::new();
    let mut at = bounds.start;
    while at < bounds.end {
        let damaged = |error: std::io::Error| match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                let problem = format!("the variable at byte {at} is damaged: {error}");
                Error::malformed(path, problem)
            }
            _ => Error::io(path)(error),
        };
        file.seek(SeekFrom::Start(at)).map_err(Error::io(path))?;
        let tag = Elements::new(file, big_endian).tag().map_err(damaged)?;
        let (start, end) = (at + TAG, at + TAG + u64::from(tag.bytes));
        if end > bounds.end {
            let problem = format!(
                "is cut off: the variable at byte {at} should end at byte {end}, the file ends at {}",
                bounds.end
            );
            return Err(Error::malformed(path, problem));
        }
        let compressed = tag.kind == COMPRESSED;
        let variable = match tag.kind {
            MATRIX => Elements::new(file.take(end - start), big_endian).variable(),
            COMPRESSED => {
                let packed = BufReader::new(file.take(end - start));
                compressed_variable(ZlibDecoder::new(packed), big_endian)
            }
            kind => Err(std::io::Error::new(
                ErrorKind::InvalidData,
                format!("it is of type {kind}, not a matrix (14) or compressed (15)"),
            )),
        };
        let variable = variable.map_err(damaged)?;
        at = end;
        // Variables without a name belong to MATLAB's own objects.
        if !variable.name.is_empty() {
            variables.push((variable, Place { start, end, compressed }));
        }
    }
    Ok(variables)
}

/// Reads the description of a compressed variable, whose tag is part of the compressed data.
fn compressed_variable(bytes: impl Read, big_endian: bool) -> std::io::Result<Variable> {
    let mut elements = Elements::new(bytes, big_endian);
    let tag = elements.tag()?;
    if tag.kind != MATRIX {
        let problem = format!("it holds compressed data of type {}, not a matrix (14)", tag.kind);
        return Err(std::io::Error::new(ErrorKind::InvalidData, problem));
    }
    elements.variable()
}

/// Returns the variable to read if none is named. For features, this is the only matrix with
/// several rows and columns. For labels, it is the only variable with numbers, or the only row or
/// column of numbers.
fn default_for(purpose: Purpose, variables: &[(Variable, Place)]) -> Option<usize> {
    let only = |fits: &dyn Fn(&Variable) -> bool| {
        let mut fitting = (0..variables.len()).filter(|&index| fits(&variables[index].0));
        fitting.next().filter(|_| fitting.next().is_none())
    };
    match purpose {
        Purpose::Features | Purpose::Codes => only(&Variable::is_table),
        Purpose::Labels | Purpose::Ids => {
            only(&Variable::is_numeric_matrix).or_else(|| only(&Variable::is_vector))
        }
    }
}

/// Returns the error message for a missing choice, with a list of the variables.
fn choice(variables: &[(Variable, Place)], name: Option<&str>, purpose: Purpose) -> String {
    if variables.is_empty() {
        return "holds no variables".to_owned();
    }
    let all: Vec<_> = variables.iter().map(|(variable, _)| variable.describe()).collect();
    let all = all.join(", ");
    match (name, purpose) {
        (Some(name), _) => format!("has no variable {name:?}; it has {all}"),
        (None, Purpose::Features | Purpose::Codes) => format!(
            "does not have exactly one table of numbers, so pick a variable as FILE:NAME; it has {all}"
        ),
        (None, Purpose::Labels | Purpose::Ids) => format!(
            "does not have exactly one row or column of numbers, so pick a variable as FILE:NAME; \
             it has {all}"
        ),
    }
}

/// Returns the numbers of a variable.
fn array(
    path: &Path,
    mut file: File,
    variable: Variable,
    place: Place,
    purpose: Purpose,
) -> Result<Array> {
    let (Class::Numeric { is_u8 }, Some(Data { element, start, bytes })) =
        (variable.class, variable.data)
    else {
        let problem = format!("{} holds no real numbers", variable.describe());
        return Err(Error::malformed(path, problem));
    };
    let input = if place.compressed {
        file.seek(SeekFrom::Start(place.start)).map_err(Error::io(path))?;
        let packed = BufReader::with_capacity(CHUNK, file.take(place.end - place.start));
        let mut content = ZlibDecoder::new(packed);
        let skipped = std::io::copy(&mut (&mut content).take(start), &mut std::io::sink());
        skipped.map_err(Error::io(path))?;
        Input::stream(path, Checked { numbers: content.take(bytes) }, Some(bytes))?
    } else {
        let (start, end) = (place.start + start, place.start + start + bytes);
        if end > place.end {
            let problem = format!(
                "the {bytes} bytes of {} end at byte {end}, after their variable, which ends at {}",
                variable.describe(),
                place.end
            );
            return Err(Error::malformed(path, problem));
        }
        Input::part(path, file, start, end)?
    };
    let sizes = match (purpose, &variable.sizes[..]) {
        // A row of labels is read like a column.
        (Purpose::Labels | Purpose::Ids, &[1, count]) => vec![count, 1],
        (_, &[rows, columns]) => vec![rows, columns],
        (_, sizes) => {
            let problem =
                format!("{} has {} sizes; two are read", variable.describe(), shape(sizes));
            return Err(Error::malformed(path, problem));
        }
    };
    Ok(Array::new(input, element, sizes, Order::Columns)?.with_u8(is_u8))
}

/// Reader of the numbers of a compressed variable. After the last number, the remaining data is
/// decompressed too, since the checksum comes last.
struct Checked<R> {
    numbers: std::io::Take<R>,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.numbers.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            std::io::copy(self.numbers.get_mut(), &mut std::io::sink())?;
        }
        Ok(count)
    }
}
