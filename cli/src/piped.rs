//! Storage of pipes that are read more than once, for vectors and for other columns, in temporary
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hashbrook::dataset::file_of;
use tempfile::TempDir;

use crate::{interrupt, output};

/// Name of the file that replaces the standard input.
const STANDARD_INPUT: &str = "standard-input";

/// Temporary files in place of pipes, removed on drop.
pub struct Kept {
    _folder: TempDir,
}

/// Copies each pipe in `lists` that is read more than once to a file, and replaces its name. With
/// `again` every pipe is read more than once; otherwise only a pipe listed several times with
/// different columns is. Dropping the returned value removes the files.
pub fn keep(lists: &mut [&mut Vec<String>], again: bool) -> Result<Option<Kept>> {
    let mut parts: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for spec in lists.iter().flat_map(|list| list.iter()) {
        let file = file_of(spec)?;
        if is_pipe(&file) {
            parts.entry(file).or_default().push(spec);
        }
    }
    parts.retain(|_, specs| {
        // A pipe listed twice with the same columns is a mistake, which another check reports.
        let different = specs.iter().collect::<BTreeSet<_>>().len();
        different == specs.len() && (again || different > 1)
    });
    let pipes: Vec<PathBuf> = parts.into_keys().collect();
    if pipes.is_empty() {
        return Ok(None);
    }
    let directory = tempfile::tempdir().context("a directory for what comes through a pipe")?;
    interrupt::remove_at_end(directory.path());
    for (at, pipe) in pipes.iter().enumerate() {
        let name = match (output::is_standard(pipe), at) {
            (true, _) => STANDARD_INPUT.to_owned(),
            (false, at) => format!("pipe-{at}"),
        };
        let place = directory.path().join(name);
        copy(pipe, &place)?;
        let place =
            place.to_str().context("the directory for temporary files has no UTF-8 name")?;
        for spec in lists.iter_mut().flat_map(|list| list.iter_mut()) {
            if file_of(spec)? == *pipe {
                let part = spec[pipe.as_os_str().len()..].to_owned();
                *spec = format!("{place}{part}");
            }
        }
    }
    Ok(Some(Kept { _folder: directory }))
}

/// Returns the name of a file in messages; the replacement of the standard input is shown as such.
pub fn shown(path: &Path) -> String {
    let is_kept = path.file_name() == Some(OsStr::new(STANDARD_INPUT))
        && path.starts_with(std::env::temp_dir());
    if is_kept { "standard input".to_owned() } else { path.display().to_string() }
}

/// Returns whether an input can be read only once.
fn is_pipe(file: &Path) -> bool {
    let found = || file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    output::is_standard(file) || found()
}

fn copy(pipe: &Path, place: &Path) -> Result<()> {
    let mut from: Box<dyn Read> = match output::is_standard(pipe) {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(pipe).with_context(|| pipe.display().to_string())?),
    };
    let mut to = File::create(place)?;
    let mut bytes = vec![0; 1 << 18];
    loop {
        interrupt::check()?;
        let count = match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(|| pipe.display().to_string()),
        };
        let written = to.write_all(&bytes[..count]);
        written.with_context(|| format!("{}, for what comes through a pipe", place.display()))?;
    }
}
