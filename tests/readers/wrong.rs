//! Malformed files.

use std::io::ErrorKind;

use hashbrook::Error;
use hashbrook::dataset::{LabelNames, Reader, read_labels};
use zip::CompressionMethod;

use crate::support::{
    AS_DOUBLE, AS_UINT8, DOUBLE, Files, Mat, UINT8, features, features_error, gz, idx, labels,
    labels_error, npy, npz, vecs,
};

/// Returns a valid file of each kind, under the name that a user would give it.
pub fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let floats: Vec<[u8; 4]> = (0..12).map(|value| (value as f32 + 0.5).to_le_bytes()).collect();
    let doubles: Vec<u8> = (0..12).flat_map(|value| f64::from(value).to_le_bytes()).collect();
    let bits = [1, 0, 0, 1, 1, 1, 0, 0];
    let array = npy("<f4", false, "(4, 3)", floats.as_flattened());
    let fortran = npy("<f8", true, "(4, 3)", &doubles);
    let texts = npy("<U2", false, "(2,)", &[b"a\0\0\0b\0\0\0", &[0; 8][..]].concat());
    let variables = |mat: Mat| {
        let table = mat.variable("table", DOUBLE, &[4, 3], AS_DOUBLE, &doubles);
        mat.file(&[table, mat.variable("y", DOUBLE, &[12, 1], AS_DOUBLE, &doubles)])
    };
    let entries = [("x.npy", &array[..]), ("f.npy", &fortran)];
    vec![
        ("a.npy", array.clone()),
        ("fortran.npy", fortran.clone()),
        ("fortran.npy.gz", gz(&fortran)),
        ("texts.npy", texts),
        ("bits.npy", npy("|b1", false, "(4, 2)", &bits)),
        ("stored.npz", npz(CompressionMethod::Stored, &entries[..1])),
        ("deflated.npz", npz(CompressionMethod::Deflated, &entries[1..])),
        ("several.npz", npz(CompressionMethod::Deflated, &entries)),
        ("a.idx", idx(8, &[4, 2], &bits)),
        ("a.idx.gz", gz(&idx(8, &[8], &bits))),
        ("a.fvecs", vecs(3, &floats)),
        ("a.ivecs.gz", gz(&vecs(3, &floats))),
        ("a.bvecs", vecs(2, &bits.map(|bit| [bit]))),
        ("vecs", vecs(3, &floats)),
        ("a.mat", variables(Mat { big_endian: false, compressed: false })),
        ("packed.mat", variables(Mat { big_endian: false, compressed: true })),
        ("big.mat", variables(Mat { big_endian: true, compressed: false })),
        ("a.csv", b"x,\"y\",z\n1,2,3\n4,5,6\n".to_vec()),
        ("a.csv.gz", gz(b"1;2\n3;4\n")),
        ("a.txt", "cat,dog\n\n\"a\"\n".as_bytes().to_vec()),
    ]
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let files = Files::new();
    let missing = files.path("missing.npy");
    let missing = missing.to_str().unwrap();
    for spec in [missing.to_owned(), format!("{missing}:x")] {
        let error = Reader::open(&spec).unwrap_err();
        assert!(
            matches!(&error, Error::Io { path, cause }
                if path == &files.path("missing.npy") && cause.kind() == ErrorKind::NotFound),
            "{error:?}"
        );
        assert!(matches!(read_labels(&spec, &mut LabelNames::new()), Err(Error::Io { .. })));
    }
    let directory = files.path("");
    assert!(features_error(directory.to_str().unwrap()).contains("is a directory"));
    assert!(features_error(&files.write("empty.npy", "")).ends_with("empty.npy: is empty"));
    assert!(labels_error(&files.write("empty.txt", "")).contains("is empty"));
    assert!(features_error(&files.write("empty.gz", gz(b""))).contains("empty once decompressed"));
    let error = features_error(&files.write("a.bin", [0, 1, 2, 3, 4, 5]));
    assert!(error.contains("npy, npz, IDX, CSV"), "{error}");
}

#[test]
fn any_file_cut_off_anywhere() {
    let files = Files::new();
    for (name, content) in samples() {
        let whole = features(&files.write(name, &content)).ok();
        let text = name.contains("csv") || name.ends_with("txt");
        for len in 0..content.len() {
            let spec = files.write(name, &content[..len]);
            let (features, labels) = (features(&spec), labels(&spec));
            // Some truncated files are valid: shorter texts, vecs files of complete rows, and files
            // whose first bytes look like text.
            let text = content[..len].iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n'));
            let whole_rows = name.contains("vecs") && !name.ends_with("gz");
            // A MATLAB file that ends between two variables is valid and has fewer variables.
            let fewer_variables = name.ends_with("mat") && features.as_ref().ok() == whole.as_ref();
            if !(whole_rows || text || fewer_variables) {
                assert!(features.is_err(), "{name} cut to {len} bytes gives {features:?}");
                assert!(labels.is_err(), "{name} cut to {len} bytes gives {labels:?}");
            }
        }
        // A longer text is valid, and a zip archive may be followed by any bytes.
        if !text && !name.ends_with("npz") {
            let found = features(&files.write(name, [&content[..], b"x"].concat()));
            assert!(found.is_err(), "{name} with a byte more gives {found:?}");
        }
    }
}

#[test]
fn lengths_are_told_in_numbers() {
    let files = Files::new();
    let array = npy("|u1", false, "(3, 4)", &[0; 11]);
    let error = features_error(&files.write("a.npy", &array));
    assert!(
        error.ends_with("expected 12 bytes for 3 x 4 uint8, the file has 11 after its header"),
        "{error}"
    );
    let error = features_error(&files.write("a.npy.gz", gz(&array)));
    assert!(
        error.ends_with("expected 12 bytes for 3 x 4 uint8, the file has 11 after its header"),
        "{error}"
    );
    // A known length is compared before anything is read.
    let longer = files.write("a.idx", idx(8, &[3, 2, 2], &[0; 13]));
    let error = Reader::open(&longer).unwrap_err().to_string();
    assert!(error.ends_with("has 1 bytes more than the 12 that 3 x 2 x 2 uint8 take"), "{error}");
    let error = features_error(&files.write("a.gz", gz(&idx(8, &[3, 2, 2], &[0; 14]))));
    assert!(error.ends_with("has more bytes than the 12 that 3 x 2 x 2 uint8 take"), "{error}");
    let whole = gz(&npy("|u1", false, "(3000, 4)", &[7; 12000]));
    let error = features_error(&files.write("a.gz", &whole[..whole.len() - 12]));
    assert!(error.contains("compressed data ends early"), "{error}");
    let mut damaged = whole.clone();
    let crc = damaged.len() - 8;
    damaged[crc] ^= 1;
    let error = features_error(&files.write("a.gz", damaged));
    assert!(error.contains("compressed data is damaged"), "{error}");
    let rows = vecs(2, &[[0; 4]; 4]);
    let error = features_error(&files.write("a.fvecs", &rows[..23]));
    assert!(error.contains("23 bytes, not a whole number of rows of 12 bytes"), "{error}");
    let error = features_error(&files.write("a.fvecs.gz", gz(&rows[..23])));
    assert!(error.contains("row 1 ends after 11 of its 12 bytes"), "{error}");
}

#[test]
fn headers_that_promise_the_impossible() {
    let files = Files::new();
    for (shape, message) in [
        ("(0, 3)", "has no rows"),
        ("(0,)", "has no rows"),
        ("(3, 0)", "no items"),
        ("()", "single float32"),
        ("(1, 1048577)", "at most 1048576"),
        ("(4294967296, 4294967296, 4294967296)", "at most 1048576"),
        ("(18446744073709551615, 2)", "which no file can"),
        ("(4611686018427387904,)", "which no file can"),
        ("(1000000000000, 1000)", "expected 4000000000000000 bytes"),
    ] {
        for fortran in [false, true] {
            let array = npy("<f4", fortran, shape, &[]);
            let error = features_error(&files.write("a.npy", &array));
            assert!(error.contains(message), "{shape}: {error}");
            assert!(features(&files.write("a.npy.gz", gz(&array))).is_err(), "{shape}");
        }
    }
    let error = features_error(&files.write("a.npy", npy("<f4", true, "(1, 1, 1)", &[0; 4])));
    assert!(error.contains("column by column with 3 dimensions"), "{error}");
    let error = features_error(&files.write("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"));
    assert!(error.contains("claims 4294967295 bytes"), "{error}");
    let error = features_error(&files.write("a.npy", b"\x93NUMPY\x09\x00\x00\x00"));
    assert!(error.contains("version 9"), "{error}");
    for dim in [0, -1, i32::MAX] {
        let error = features_error(&files.write("a.bvecs", [dim.to_le_bytes(), [0; 4]].concat()));
        assert!(error.contains(&format!("has {dim} dimensions")), "{error}");
    }
    let mut rows = vecs(2, &[[0; 4]; 4]);
    rows[12] = 3;
    let error = features_error(&files.write("a.fvecs", &rows));
    assert!(error.contains("row 1 has 3 dimensions, the first has 2"), "{error}");
}

#[test]
fn values_that_are_not_finite() {
    let files = Files::new();
    let read = |specs: &[String]| {
        let mut reader = Reader::open_all(specs).unwrap();
        let error = reader.next(10).map(|rows| panic!("{rows:?}")).unwrap_err().to_string();
        // The read after an error fails too, instead of reporting the end.
        assert!(reader.next(10).unwrap_err().to_string().contains("has failed before"));
        error
    };
    let floats =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let good = files.write("good.npy", npy("<f4", false, "(2, 2)", &floats(&[0.0; 4])));
    let values = floats(&[1.0, 2.0, 3.0, f32::NAN]);
    let bad = files.write("bad.npy", npy("<f4", false, "(2, 2)", &values));
    let mut reader = Reader::open_all(&[&good, &bad]).unwrap();
    assert_eq!(reader.next(3).unwrap().unwrap().len(), 3);
    let error = reader.next(3).unwrap_err().to_string();
    assert!(error.contains("bad.npy: row 1, column 1 is NaN"), "rows count in the file: {error}");
    let error = read(&[good.clone(), bad]);
    assert!(error.contains("bad.npy: row 1, column 1 is NaN"), "{error}");
    assert!(error.contains("count from 0"), "{error}");

    let doubles = [1.0, f64::NEG_INFINITY, 2.0, 1e39].map(f64::to_le_bytes).concat();
    let infinite = files.write("inf.npy", npy("<f8", false, "(1, 2)", &doubles[..16]));
    let error = read(&[good.clone(), infinite]);
    assert!(error.contains("inf.npy: row 0, column 1 is -inf"), "{error}");
    let wide = files.write("wide.npy", npy("<f8", false, "(1, 2)", &doubles[16..]));
    let error = read(&[good, wide]);
    assert!(error.contains("row 0, column 1 is 1e39, which is too large"), "{error}");

    let error = features_error(&files.write("a.csv", "x,y\n1,2\n\n3,nan\n"));
    assert!(error.contains("row 1, column 1 (y) is NaN") && error.contains("line 4"), "{error}");
    let error = features_error(&files.write("a.csv", "1,2\r\n\r\n3,-1e39\r\n"));
    assert!(error.contains("column 1 is -1e39, which is too large"), "{error}");
    assert!(error.contains("line 3"), "{error}");
}

#[test]
fn tables_that_are_not_even() {
    let files = Files::new();
    let error = features_error(&files.write("a.csv", "1,2\r\n\r\n3,4\r\n5\r\n"));
    assert!(error.contains("line 4 has 1 columns, the first line has 2"), "{error}");
    let error = features_error(&files.write("a.csv", "1,2\n3,4,5\n"));
    assert!(error.contains("line 2 has 3 columns"), "{error}");
    let error = features_error(&files.write("a.csv", "1,2\n3,four\n"));
    assert!(error.contains("row 1, column 1 is \"four\"; a number was expected"), "{error}");
    assert!(error.contains("line 2"), "{error}");
    let error = features_error(&files.write("a.csv", "1,2\n3,\n"));
    assert!(error.contains("row 1, column 1 is empty"), "{error}");
    // An empty field does not make a line a header.
    let error = features_error(&files.write("a.csv", "1,\n3,4\n"));
    assert!(error.contains("row 0, column 1 is empty"), "{error}");
    assert!(features_error(&files.write("a.csv", "x,y\n")).contains("no rows"));
    assert!(features_error(&files.write("a.csv", "\n \n")).contains("has no rows"));
    let spec = files.write("a.csv", "x,y\n1,2\n");
    assert!(features_error(&format!("{spec}:z")).contains("its first line is: x, y"));
    assert!(features_error(&format!("{spec}:2")).contains("has no column 2; it has 2 columns"));
    assert!(features_error(&files.write("a.csv", "\"1,2\n3,4\n")).contains("a.csv"));
}

#[test]
fn files_of_different_dimensions() {
    let files = Files::new();
    let two = files.write("two.csv", "1,2\n");
    let three = files.write("three.npy", npy("|u1", false, "(1, 3)", &[1, 2, 3]));
    let error = Reader::open_all(&[&two, &three]).unwrap_err().to_string();
    assert!(error.contains("three.npy: has 3 dimensions") && error.contains("has 2"), "{error}");
    assert!(Reader::open_all::<&str>(&[]).unwrap_err().to_string().contains("at least one"));
    assert!(Reader::open(&two).unwrap().next(0).unwrap_err().to_string().contains("max_rows"));
}

#[test]
fn damaged_archives() {
    let files = Files::new();
    let array = npy("|u1", false, "(2, 100)", &[5; 200]);
    let mut archive = npz(CompressionMethod::Stored, &[("x.npy", &array)]);
    let at = archive.windows(4).position(|bytes| bytes == [5; 4]).unwrap();
    archive[at + 7] = 6;
    let error = features_error(&files.write("a.npz", archive));
    assert!(error.contains("a.npz:x") && error.contains("checksum"), "{error}");
    let mat = Mat { big_endian: false, compressed: true };
    let mut file = mat.file(&[mat.variable("x", UINT8, &[1, 5], AS_UINT8, &[7; 5])]);
    *file.last_mut().unwrap() ^= 1;
    let error = features_error(&(files.write("a.mat", file) + ":x"));
    assert!(error.contains("compressed data is damaged"), "{error}");
    let empty = npz(CompressionMethod::Stored, &[]);
    assert!(features_error(&files.write("a.npz", empty)).contains("no .npy arrays"));
    let other = npz(CompressionMethod::Stored, &[("a.txt", b"text")]);
    assert!(features_error(&files.write("a.npz", other)).contains("no .npy arrays"));
    let fake = npz(CompressionMethod::Stored, &[("a.npy", b"text")]);
    assert!(features(&files.write("a.npz", fake)).is_err());
}
