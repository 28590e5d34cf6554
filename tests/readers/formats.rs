//! Every format, number type and memory order, read from bytes written by hand.

use hashbrook::dataset::Reader;
use zip::CompressionMethod;

use crate::support::{
    AS_DOUBLE, AS_INT8, AS_UINT8, DOUBLE, Files, Mat, UINT8, drain, features, gz, idx, labels, npy,
    npz, single_labels, vecs,
};

/// Four rows of three integers, some of them negative if the type allows it.
const SIGNED: [i8; 12] = [0, 1, -2, 3, 4, 5, -6, 7, 8, 9, 10, -128];
const UNSIGNED: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255];

/// Returns the numbers in row-major or column-major order.
fn ordered<T: Copy>(values: [T; 12], fortran: bool) -> [T; 12] {
    if fortran { std::array::from_fn(|i| values[i % 4 * 3 + i / 4]) } else { values }
}

#[test]
fn npy_of_every_type_and_order() {
    let files = Files::new();
    let check = |descr: &str, fortran: bool, bytes: Vec<u8>, expected: [f32; 12]| {
        let content = npy(descr, fortran, "(4, 3)", &bytes);
        for spec in [files.write("a", &content), files.write("a.gz", gz(&content))] {
            let reader = Reader::open(&spec).unwrap();
            assert_eq!((reader.dim(), reader.rows()), (3, Some(4)));
            for max_rows in [1, 3, 100] {
                let found = drain(Reader::open(&spec).unwrap(), max_rows).unwrap();
                assert_eq!(found, (3, expected.to_vec()), "{descr}, fortran {fortran}");
            }
        }
    };
    macro_rules! check_type {
        ($type:ty, $letter:literal, $values:expr) => {
            for fortran in [false, true] {
                let values = $values.map(|value| value as $type);
                let expected = values.map(|value| value as f32);
                let stored = ordered(values, fortran);
                let size = size_of::<$type>();
                let bytes = stored.iter().flat_map(|value| value.to_le_bytes()).collect();
                check(&format!("<{}{size}", $letter), fortran, bytes, expected);
                let bytes = stored.iter().flat_map(|value| value.to_be_bytes()).collect();
                check(&format!(">{}{size}", $letter), fortran, bytes, expected);
            }
        };
    }
    check_type!(u8, "u", UNSIGNED);
    check_type!(u16, "u", UNSIGNED);
    check_type!(u32, "u", UNSIGNED);
    check_type!(u64, "u", UNSIGNED);
    check_type!(i8, "i", SIGNED);
    check_type!(i16, "i", SIGNED);
    check_type!(i32, "i", SIGNED);
    check_type!(i64, "i", SIGNED);
    check_type!(f32, "f", SIGNED);
    check_type!(f64, "f", SIGNED);
    for fortran in [false, true] {
        let halves = SIGNED.map(|value| half::f16::from_f32(value.into()));
        let bytes = ordered(halves, fortran).iter().flat_map(|half| half.to_be_bytes()).collect();
        check(">f2", fortran, bytes, SIGNED.map(f32::from));
        let odd = UNSIGNED.map(|value| value % 2);
        check("|b1", fortran, ordered(odd, fortran).to_vec(), odd.map(f32::from));
    }
}

#[test]
fn npy_of_one_and_more_dimensions() {
    let files = Files::new();
    let expected: Vec<f32> = UNSIGNED.map(f32::from).to_vec();
    for (fortran, shape, dim) in [
        (false, "(12,)", 1),
        (true, "(12,)", 1),
        (true, "(12, 1)", 1),
        (true, "(1, 12)", 12),
        (false, "(2, 3, 2)", 6),
        (false, "(1, 2, 3, 2)", 12),
    ] {
        let spec = files.write("a.npy", npy("|u1", fortran, shape, &UNSIGNED));
        assert_eq!(features(&spec).unwrap(), (dim, expected.clone()), "{shape}");
    }
}

#[test]
fn archives() {
    let files = Files::new();
    let first = npy("|u1", false, "(4, 3)", &UNSIGNED);
    let second = npy("|u1", true, "(4, 3)", &ordered(UNSIGNED, true));
    let expected = (3, UNSIGNED.map(f32::from).to_vec());
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let several = [("x.npy", &first[..]), ("sub/y.npy", &second), ("notes.txt", b"no array")];
        let archive = npz(method, &several);
        let spec = files.write("a.npz", &archive);
        let gzipped = files.write("a.npz.gz", gz(&archive));
        for spec in [spec, gzipped] {
            for name in ["x", "x.npy", "sub/y"] {
                assert_eq!(features(&format!("{spec}:{name}")).unwrap(), expected);
            }
        }
        let spec = files.write("one", npz(method, &several[1..]));
        assert_eq!(features(&spec).unwrap(), expected);
    }
}

#[test]
fn idx_of_every_type() {
    let files = Files::new();
    let check = |kind: u8, bytes: Vec<u8>, expected: [f32; 12]| {
        let content = idx(kind, &[2, 3, 2], &bytes);
        for spec in [files.write("a", &content), files.write("a.gz", gz(&content))] {
            assert_eq!(features(&spec).unwrap(), (6, expected.to_vec()), "type {kind}");
            assert_eq!(Reader::open(&spec).unwrap().rows(), Some(2));
            assert_eq!(Reader::open(&spec).unwrap().is_u8(), kind == 8);
        }
    };
    let signed = SIGNED.map(f32::from);
    check(0x08, UNSIGNED.to_vec(), UNSIGNED.map(f32::from));
    check(0x09, SIGNED.map(|value| value as u8).to_vec(), signed);
    check(0x0b, SIGNED.iter().flat_map(|value| i16::from(*value).to_be_bytes()).collect(), signed);
    check(0x0c, SIGNED.iter().flat_map(|value| i32::from(*value).to_be_bytes()).collect(), signed);
    check(0x0d, SIGNED.iter().flat_map(|value| f32::from(*value).to_be_bytes()).collect(), signed);
    check(0x0e, SIGNED.iter().flat_map(|value| f64::from(*value).to_be_bytes()).collect(), signed);
    let spec = files.write("labels", idx(0x08, &[3], &[7, 0, 7]));
    assert_eq!(single_labels(&spec), ["7", "0", "7"]);
}

#[test]
fn vecs_by_name_and_by_content() {
    let files = Files::new();
    let signed = (3, SIGNED.map(f32::from).to_vec());
    let floats = vecs(3, &SIGNED.map(|value| f32::from(value).to_le_bytes()));
    let integers = vecs(3, &SIGNED.map(|value| i32::from(value).to_le_bytes()));
    let bytes = vecs(3, &UNSIGNED.map(|value| [value]));
    let unsigned = (3, UNSIGNED.map(f32::from).to_vec());
    for (content, name, expected) in
        [(floats, "fvecs", &signed), (integers, "ivecs", &signed), (bytes, "bvecs", &unsigned)]
    {
        for name in [format!("a.{name}"), format!("a.{}", name.to_uppercase()), "a".to_owned()] {
            let spec = files.write(&name, &content);
            assert_eq!(&features(&spec).unwrap(), expected, "{name}");
            assert_eq!(Reader::open(&spec).unwrap().rows(), Some(4));
            let spec = files.write(&format!("{name}.gz"), gz(&content));
            assert_eq!(&features(&spec).unwrap(), expected, "{name}.gz");
            assert_eq!(Reader::open(&spec).unwrap().rows(), None);
        }
    }
    // A file with a single row is recognised only by its name.
    let spec = files.write("one.fvecs", vecs(1, &[2.5f32.to_le_bytes()]));
    assert_eq!(features(&spec).unwrap(), (1, vec![2.5]));
}

#[test]
fn matlab_in_both_byte_orders() {
    let files = Files::new();
    let stored = ordered(SIGNED, true);
    for (big_endian, compressed) in [(false, false), (false, true), (true, false), (true, true)] {
        let mat = Mat { big_endian, compressed };
        let doubles: Vec<u8> = stored
            .iter()
            .map(|value| f64::from(*value))
            .flat_map(|value| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() })
            .collect();
        let narrow = stored.map(|value| value as u8);
        let content = mat.file(&[
            mat.variable("wide", DOUBLE, &[4, 3], AS_DOUBLE, &doubles),
            mat.variable("narrow_storage", DOUBLE, &[4, 3], AS_INT8, &narrow),
            mat.variable("y", DOUBLE, &[1, 4], AS_UINT8, &[3, 1, 3, 200]),
            mat.variable("z", UINT8, &[4, 1], AS_UINT8, &[1, 2, 3, 4]),
        ]);
        for spec in [files.write("a.mat", &content), files.write("a.mat.gz", gz(&content))] {
            for name in ["wide", "narrow_storage"] {
                let spec = format!("{spec}:{name}");
                let expected = (3, SIGNED.map(f32::from).to_vec());
                assert_eq!(features(&spec).unwrap(), expected, "{name}");
            }
            // The class of the variable determines the type, not its storage type.
            assert!(!Reader::open(&format!("{spec}:y")).unwrap().is_u8());
            assert!(Reader::open(&format!("{spec}:z")).unwrap().is_u8());
            assert_eq!(single_labels(&format!("{spec}:y")), ["3", "1", "3", "200"]);
            assert_eq!(single_labels(&format!("{spec}:z")), ["1", "2", "3", "4"]);
        }
    }
}

#[test]
fn matlab_variables_without_a_name_are_not_the_users() {
    let files = Files::new();
    let mat = Mat { big_endian: false, compressed: false };
    let spec = files.write(
        "a.mat",
        mat.file(&[
            mat.variable("x", UINT8, &[2, 2], AS_UINT8, &[1, 2, 3, 4]),
            mat.variable("y", UINT8, &[1, 2], AS_UINT8, &[5, 6]),
            mat.variable("", UINT8, &[1, 9], AS_UINT8, &[0; 9]),
        ]),
    );
    assert_eq!(features(&spec).unwrap(), (2, vec![1.0, 3.0, 2.0, 4.0]));
    assert_eq!(single_labels(&spec), ["5", "6"]);
}

#[test]
fn csv_of_all_kinds() {
    let files = Files::new();
    let expected = (3, vec![1.0, -2.5, 3.0, 4.0, 5.0, 600.0]);
    for content in [
        "1,-2.5,3\n4,5,6e2\n",
        "1,-2.5,3\n4,5,6e2",
        "1, -2.5 ,3\r\n4,5,6e2\r\n",
        "1\t-2.5\t3\n4\t5\t6e2\n",
        "1;-2.5;3\n4;5;6e2\n",
        "\n\n1,-2.5,3\n\n  \r\n4,5,6e2\n\n",
        "\u{feff}1,-2.5,3\n4,5,6e2\n",
        "x,y,z\n1,-2.5,3\n4,5,6e2\n",
        "0,1,z\n1,-2.5,3\n4,5,6e2\n",
        "\"a;b\",\"line\nbreak\",z\n\"1\",-2.5,3\n4,5,6e2\n",
    ] {
        let spec = files.write("a.csv", content);
        assert_eq!(features(&spec).unwrap(), expected, "{content:?}");
        assert_eq!(Reader::open(&spec).unwrap().rows(), None);
        let spec = files.write("a.csv.gz", gz(content.as_bytes()));
        assert_eq!(features(&spec).unwrap(), expected, "{content:?}");
    }
    let spec = files.write("a.csv", "1\n2\n");
    assert_eq!(features(&spec).unwrap(), (1, vec![1.0, 2.0]));
}

#[test]
fn columns_of_csv() {
    let files = Files::new();
    let spec = files.write("a.csv", "id,x,y,kind\n7,1,2,cat\n8,3,4,dog\n");
    let rows = |dim, values: &[f32]| (dim, values.to_vec());
    assert_eq!(features(&format!("{spec}:x,y")).unwrap(), rows(2, &[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(features(&format!("{spec}:1-2")).unwrap(), rows(2, &[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(features(&format!("{spec}:-2,id")).unwrap(), rows(2, &[2.0, 7.0, 4.0, 8.0]));
    assert_eq!(features(&format!("{spec}:0--2")).unwrap().0, 3);
    assert_eq!(single_labels(&format!("{spec}:kind")), ["cat", "dog"]);
    assert_eq!(single_labels(&format!("{spec}:-1")), ["cat", "dog"]);
    assert_eq!(single_labels(&format!("{spec}:0")), ["7", "8"]);

    // Text in a column that is not requested does not make a line a header.
    let spec = files.write("b.csv", "1,2,cat\n3,4,dog\n");
    assert_eq!(features(&format!("{spec}:0-1")).unwrap(), rows(2, &[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(single_labels(&format!("{spec}:2")), ["cat", "dog"]);
    let (sets, texts) = labels(&format!("{spec}:0,2")).unwrap();
    assert!(sets && texts == [["1", "cat"], ["3", "dog"]]);

    // An empty field gives no label, and a blank line gives no row.
    let spec = files.write("c.csv", "1,cat\n\n2,\n");
    assert_eq!(labels(&format!("{spec}:1")).unwrap(), (true, vec![vec!["cat".into()], vec![]]));
}
