//! Streaming in parts of any size gives the same result as reading at once.

use hashbrook::dataset::Reader;
use proptest::prelude::*;

use crate::support::{AS_DOUBLE, DOUBLE, Files, Mat, drain, gz, npy, vecs};

/// Writes a matrix in one of several formats, and returns the file's name.
fn write(files: &Files, number: usize, format: usize, dim: usize, values: &[f32]) -> String {
    let rows = values.len() / dim;
    let floats: Vec<[u8; 4]> = values.iter().map(|value| value.to_le_bytes()).collect();
    let shape = format!("({rows}, {dim})");
    let transposed = || (0..values.len()).map(|i| values[i % rows * dim + i / rows]);
    let name = |extension: &str| format!("{number}.{extension}");
    match format {
        0 => files.write(&name("npy"), npy("<f4", false, &shape, floats.as_flattened())),
        1 => files.write(&name("npy.gz"), gz(&npy("<f4", false, &shape, floats.as_flattened()))),
        2 | 3 => {
            let data: Vec<u8> = transposed().flat_map(f32::to_be_bytes).collect();
            let array = npy(">f4", true, &shape, &data);
            if format == 2 {
                files.write(&name("npy"), array)
            } else {
                files.write(&name("npy.gz"), gz(&array))
            }
        }
        4 => files.write(&name("fvecs"), vecs(dim, &floats)),
        5 => {
            let mat = Mat { big_endian: false, compressed: true };
            let data: Vec<u8> = transposed().flat_map(|v| f64::from(v).to_le_bytes()).collect();
            let sizes = [rows as u32, dim as u32];
            let variable = mat.variable("x", DOUBLE, &sizes, AS_DOUBLE, &data);
            files.write(&name("mat"), mat.file(&[variable])) + ":x"
        }
        _ => {
            let line = |row: &[f32]| row.iter().map(f32::to_string).collect::<Vec<_>>().join(",");
            let lines: Vec<String> = values.chunks(dim).map(line).collect();
            files.write(&name("csv"), lines.join("\n"))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn parts_of_any_size_over_several_files(
        dim in 1usize..9,
        rows in prop::collection::vec((1usize..40, 0usize..7), 1..5),
        max_rows in 1usize..50,
        seed in -1000i32..1000,
    ) {
        let files = Files::new();
        let mut expected = Vec::new();
        let mut specs = Vec::new();
        for (number, (rows, format)) in rows.into_iter().enumerate() {
            let start = expected.len();
            let value = |at: usize| (at as f32 + seed as f32) / 8.0;
            expected.extend((start..start + rows * dim).map(value));
            specs.push(write(&files, number, format, dim, &expected[start..]));
        }
        let mut reader = Reader::open_all(&specs).unwrap();
        let first = reader.next(max_rows).unwrap().unwrap();
        // Batches are full even if they span the ends of files.
        prop_assert_eq!(first.len(), max_rows.min(expected.len() / dim));
        for max_rows in [max_rows, usize::MAX] {
            let (found_dim, found) = drain(Reader::open_all(&specs).unwrap(), max_rows).unwrap();
            prop_assert_eq!(found_dim, dim);
            prop_assert_eq!(&found, &expected);
        }
    }
}

/// Arrays larger than a single read, in every format.
#[test]
fn arrays_of_many_parts() {
    let files = Files::new();
    let (rows, dim) = (30_000, 100);
    let values: Vec<f32> = (0..rows * dim).map(|at| (at % 10_007) as f32).collect();
    for format in 0..7 {
        let spec = write(&files, 0, format, dim, &values);
        for max_rows in [999, usize::MAX] {
            let (_, found) = drain(Reader::open(&spec).unwrap(), max_rows).unwrap();
            assert!(found == values, "format {format} by {max_rows}");
        }
    }
}

/// Reading past the end keeps returning nothing.
#[test]
fn nothing_comes_after_the_end() {
    let files = Files::new();
    let spec = write(&files, 0, 0, 2, &[1.0, 2.0]);
    let mut reader = Reader::open(&spec).unwrap();
    assert_eq!(reader.next(5).unwrap().map(|rows| rows.len()), Some(1));
    assert!(reader.next(5).unwrap().is_none());
    assert!(reader.next(5).unwrap().is_none());
}

/// A table that takes 48 MB in memory is streamed in much less.
#[cfg(feature = "arrow")]
#[test]
fn tables_are_streamed_in_bounded_memory() {
    let files = Files::new();
    let (rows, dim) = (60_000, 200);
    let spec = crate::columns::large_parquet(&files, rows, dim) + ":x";
    let peak = crate::mutation::peak(|| {
        let mut reader = Reader::open(&spec).unwrap();
        let mut row = 0;
        while let Some(batch) = reader.next(500).unwrap() {
            for values in batch.values().chunks_exact(dim) {
                assert_eq!(
                    (values[0], values[dim - 1]),
                    ((row * dim) as f32, (row * dim + dim - 1) as f32)
                );
                row += 1;
            }
        }
        assert_eq!(row, rows);
    });
    assert!(peak < 16 << 20, "{peak} bytes were held at once");
}

/// HDF5 data compressed in chunks is streamed in bounded memory, too.
#[cfg(feature = "hdf5")]
#[test]
fn hdf5_is_streamed_in_bounded_memory() {
    let files = Files::new();
    let (rows, dim) = (60_000, 200);
    let path = files.path("large.h5");
    {
        let values: Vec<f32> = (0..rows * dim).map(|at| at as f32).collect();
        let mut builder = hdf5_pure::FileBuilder::new();
        let dataset = builder.create_dataset("x").with_f32_data(&values);
        dataset.with_shape(&[rows as u64, dim as u64]).with_chunks(&[700, 64]).with_deflate(1);
        builder.write(&path).unwrap();
    }
    let peak = crate::mutation::peak(|| {
        let mut reader = Reader::open(&format!("{}:x", path.display())).unwrap();
        let mut row = 0;
        while let Some(batch) = reader.next(500).unwrap() {
            for values in batch.values().chunks_exact(dim) {
                let ends = ((row * dim) as f32, (row * dim + dim - 1) as f32);
                assert_eq!((values[0], values[dim - 1]), ends);
                row += 1;
            }
        }
        assert_eq!(row, rows);
    });
    assert!(peak < 24 << 20, "{peak} bytes were held at once");
}
