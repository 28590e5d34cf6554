//! Conversion of arrays from column-major to row-major order.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::extent::Extent;
use super::input::Input;
use super::records::RawRows;
use crate::{Error, Result};

/// Number of bytes of rows that are assembled at a time. A larger block makes longer contiguous
/// reads of each column.
const BLOCK: usize = 1 << 24;

/// Number of columns that are read before their numbers are copied to the rows, so that rows are
/// written in pieces rather than number by number.
const STRIP: usize = 16;

/// Rows of a column-major matrix.
pub(super) struct ColumnMajor {
    path: PathBuf,
    /// Input that is not decompressed yet. Decompression starts with the first requested row.
    input: Option<Input>,
    /// File with the numbers, which begin at offset `start`.
    file: Option<File>,
    start: u64,
    extent: Extent,
    /// Size of a number in bytes.
    width: usize,
    /// Number of rows of a block.
    block_rows: usize,
    /// Number of rows read so far.
    row: usize,
    block: Block,
}

/// Rows that were assembled, and the number of their bytes that were returned.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    taken: usize,
    strip: Vec<u8>,
}

impl ColumnMajor {
    /// Creates the reader of a matrix that begins at the current position of `input`.
    pub(super) fn new(input: Input, extent: Extent, width: usize) -> ColumnMajor {
        let path = input.path().to_path_buf();
        let block_rows = (BLOCK / extent.row_bytes).max(1);
        let (input, file, block) = (Some(input), None, Block::default());
        ColumnMajor { path, input, file, start: 0, extent, width, block_rows, row: 0, block }
    }

    /// Decompresses the input if necessary, and checks that all numbers are there.
    fn open(&mut self) -> Result<()> {
        let Some(input) = self.input.take() else { return Ok(()) };
        let (file, start, len) = input.into_file(self.extent.bytes.saturating_add(1))?;
        if len < self.extent.bytes {
            return Err(self.extent.ends_early(&self.path, len));
        }
        if len > self.extent.bytes {
            return Err(self.extent.goes_on(&self.path));
        }
        (self.file, self.start) = (Some(file), start);
        Ok(())
    }

    /// Assembles the next block of rows.
    fn read_block(&mut self) -> Result<()> {
        self.open()?;
        let Extent { rows: all_rows, dim, row_bytes, .. } = self.extent;
        let rows = (all_rows - self.row).min(self.block_rows);
        let Some(file) = &mut self.file else {
            return Err(Error::malformed(&self.path, "could not be unpacked"));
        };
        let (run, column_bytes) = (rows * self.width, all_rows as u64 * self.width as u64);
        let Block { bytes, strip, .. } = &mut self.block;
        bytes.resize(rows * row_bytes, 0);
        for first in (0..dim).step_by(STRIP) {
            let columns = STRIP.min(dim - first);
            strip.resize(columns * run, 0);
            for (column, run) in (first..).zip(strip.chunks_exact_mut(run)) {
                let offset = column as u64 * column_bytes + self.row as u64 * self.width as u64;
                let read = file.seek(SeekFrom::Start(self.start + offset));
                read.and_then(|_| file.read_exact(run)).map_err(Error::io(&self.path))?;
            }
            match self.width {
                1 => transpose::<1>(strip, rows, first, bytes, dim),
                2 => transpose::<2>(strip, rows, first, bytes, dim),
                4 => transpose::<4>(strip, rows, first, bytes, dim),
                _ => transpose::<8>(strip, rows, first, bytes, dim),
            }
        }
        self.row += rows;
        self.block.taken = 0;
        Ok(())
    }
}

/// Copies runs of `rows` numbers of `N` bytes to their columns in the rows of `block`. The first
/// run is copied to column `first`.
fn transpose<const N: usize>(
    strip: &[u8],
    rows: usize,
    first: usize,
    block: &mut [u8],
    dim: usize,
) {
    let (numbers, _) = strip.as_chunks::<N>();
    let (block, _) = block.as_chunks_mut::<N>();
    for (row, target) in block.chunks_exact_mut(dim).enumerate() {
        let column = numbers.iter().skip(row).step_by(rows);
        for (target, number) in target[first..].iter_mut().zip(column) {
            *target = *number;
        }
    }
}

impl RawRows for ColumnMajor {
    fn read(&mut self, max_rows: usize, bytes: &mut Vec<u8>) -> Result<usize> {
        let row_bytes = self.extent.row_bytes;
        if self.block.taken == self.block.bytes.len() && self.row < self.extent.rows {
            self.read_block()?;
        }
        let ready = &self.block.bytes[self.block.taken..];
        let rows = max_rows.min(ready.len() / row_bytes);
        bytes.clear();
        bytes.extend_from_slice(&ready[..rows * row_bytes]);
        self.block.taken += bytes.len();
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::Path;

    #[test]
    fn runs_of_columns_become_rows() {
        // Two columns of three numbers are copied to columns 1 and 2 of four.
        let mut block = [0; 24];
        transpose::<2>(&[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], 3, 1, &mut block, 4);
        let expected = [0, 0, 1, 1, 4, 4, 0, 0, 0, 0, 2, 2, 5, 5, 0, 0, 0, 0, 3, 3, 6, 6, 0, 0];
        assert_eq!(block, expected);
    }

    #[test]
    fn rows_come_in_any_number_over_several_blocks() {
        let (rows, dim) = (5, 100);
        let stored: Vec<u8> = (0..rows * dim).flat_map(|at| (at as u64).to_le_bytes()).collect();
        let sizes = [rows as u64, dim as u64];
        for max_rows in [1, 3] {
            let path = Path::new("a");
            let input = Input::stream(path, std::io::Cursor::new(stored.clone()), None).unwrap();
            let extent = Extent::new(path, &sizes, 8, "uint64").unwrap();
            let mut matrix = ColumnMajor { block_rows: 2, ..ColumnMajor::new(input, extent, 8) };
            let (mut bytes, mut row) = (Vec::new(), 0);
            loop {
                let came = matrix.read(max_rows, &mut bytes).unwrap();
                assert!(came <= max_rows);
                if came == 0 {
                    break;
                }
                for bytes in bytes.chunks_exact(8 * dim) {
                    let mut columns = bytes.as_chunks::<8>().0.iter().enumerate();
                    assert!(columns.all(|(column, number)| {
                        u64::from_le_bytes(*number) == (column * rows + row) as u64
                    }));
                    row += 1;
                }
            }
            assert_eq!(row, rows);
        }
    }
}
