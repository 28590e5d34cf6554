//! Labels in files of every kind.

use hashbrook::Labels;
use hashbrook::dataset::{LabelNames, read_ids_for, read_labels, read_labels_all, read_labels_for};

use crate::support::{AS_DOUBLE, DOUBLE, Files, Mat, gz, labels, labels_error, npy, single_labels};

#[test]
fn text_with_one_label_per_line() {
    let files = Files::new();
    for content in ["cat\ndog\ncat\n", "cat\r\ndog\r\n cat ", "\u{feff}cat\n\"dog\"\ncat,\n"] {
        let spec = files.write("a.txt", content);
        assert_eq!(single_labels(&spec), ["cat", "dog", "cat"], "{content:?}");
        let spec = files.write("a.txt.gz", gz(content.as_bytes()));
        assert_eq!(single_labels(&spec), ["cat", "dog", "cat"], "{content:?}");
    }
}

#[test]
fn text_is_text() {
    let files = Files::new();
    let texts =
        ["1e2", "100", "7E1", "70", "7", "007", "-1", "+7", "-0", "0", "12345678901234567890"];
    let spec = files.write("a.txt", texts.join("\n"));
    assert_eq!(single_labels(&spec), texts);
    let mut names = LabelNames::new();
    read_labels(&spec, &mut names).unwrap();
    assert_eq!(names.len(), texts.len(), "each is a label of its own");
    let column = files.write("a.csv", format!("x,y\n1,{}\n", texts.join("\n1,"))) + ":y";
    assert_eq!(single_labels(&column), texts);
}

#[test]
fn floats_without_a_fraction_are_integers_in_text() {
    let files = Files::new();
    for (given, expected) in [
        (&["3.0", "", "7.000e+00", "-1.0", "-0.0", "4"][..], ["3", "", "7", "-1", "0", "4"]),
        (&["3.0", "NaN", "nan", "3", "007", "1e2"], ["3", "", "", "3", "007", "100"]),
    ] {
        let expected = expected.map(|label| if label == "100" { "1e2" } else { label });
        let text = files.write("a.txt", given.join("\n"));
        let column = files.write("a.csv", format!("x,y\n1,{}\n", given.join("\n1,"))) + ":y";
        for spec in [text, column] {
            let (_, rows) = labels(&spec).unwrap();
            let rows: Vec<String> = rows.into_iter().map(|row| row.concat()).collect();
            assert_eq!(rows, expected, "{spec}");
        }
    }
    // Labels stay strings as soon as one label of the column is not an integer.
    for given in
        [["3.0", "3.5", "3", "nan"], ["3.0", "cat", "3", "nan"], ["1e30", "3.0", "3", "nan"]]
    {
        let spec = files.write("b.csv", format!("x,y\n1,{}\n", given.join("\n1,"))) + ":y";
        assert_eq!(single_labels(&spec), given);
    }
    assert_eq!(
        single_labels(&(files.write("b.csv", "x,y\n1,nan\n2,nan\n") + ":y")),
        ["nan", "nan"]
    );
    // Every column of a table is typed separately, but files that are read together are typed
    // together.
    let first = files.write("c.csv", "kind,age,size\ncat,3.0,1.0\ndog,,2.0\n") + ":kind,age,size";
    assert_eq!(labels(&first).unwrap().1, [vec!["cat", "3", "1"], vec!["dog", "2"]]);
    let second = files.write("d.csv", "kind,age,size\ncow,4,1.5\n") + ":kind,age,size";
    let mut names = LabelNames::new();
    read_labels_all(&[first, second], &mut names).unwrap();
    let expected = ["cat", "3", "1.0", "dog", "2.0", "cow", "4", "1.5"];
    assert_eq!(names.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn blank_lines_at_the_end_are_rows_where_there_are_rows() {
    let files = Files::new();
    let text = files.write("a.txt", "cat\ndog\n\n\n");
    let other = files.write("b.txt", "cow\n\n");
    let rows = |specs: &[&str], rows: Option<usize>| {
        let read = read_labels_for(specs, &mut LabelNames::new(), rows).unwrap();
        let labels = read.labels.view();
        (0..labels.len()).map(|row| labels.row(row).len()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&[&text], None), [1, 1, 0, 0], "a line each");
    assert_eq!(rows(&[&text], Some(4)), [1, 1, 0, 0]);
    assert_eq!(rows(&[&text], Some(3)), [1, 1, 0]);
    assert_eq!(rows(&[&text], Some(2)), [1, 1]);
    assert_eq!(rows(&[&text], Some(1)), [1, 1], "one too many, which the caller sees");
    assert_eq!(rows(&[&text, &other], Some(3)), [1, 1, 1]);
    assert_eq!(rows(&[&text, &other], Some(5)), [1, 1, 0, 0, 1]);
    assert_eq!(rows(&[&text, &other], Some(6)), [1, 1, 0, 0, 1, 0]);
}

#[test]
fn labels_are_not_read_far_beyond_the_rows() {
    let files = Files::new();
    // More lines than memory could hold, compressed to few bytes.
    let many = gz(&b"7\n".repeat(3 << 20));
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296,), }";
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(format!("{header:<117}\n").bytes());
    for spec in [files.write("a.txt.gz", many), files.write("a.npy.gz", gz(&npy))] {
        let error = read_labels_for(&[&spec], &mut LabelNames::new(), Some(10)).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 labels for 10 rows"), "{error}");
        let error = read_ids_for(&[&spec], 10).unwrap_err();
        assert!(error.to_string().contains("more than 10 ids"), "{error}");
    }
    // Blank lines take no memory and do no harm.
    let blank = files.write("b.txt.gz", gz(&[b"cat\n", &b"\n".repeat(3 << 20)[..]].concat()));
    let read = read_labels_for(&[&blank], &mut LabelNames::new(), Some(1)).unwrap();
    assert_eq!(read.labels.len(), 1);
}

#[test]
fn tables_of_numbers_are_no_labels() {
    let files = Files::new();
    let error = labels_error(&files.write("x.csv", "a,b\n1.5,2\n3,4.25\n"));
    assert!(error.contains("2 numbers on each line") && error.contains("FILE:COLUMN"), "{error}");
    let remarks = |spec: &str| {
        read_labels_for(&[spec], &mut LabelNames::new(), None).unwrap().remarks.join("; ")
    };
    assert!(remarks(&files.write("y.csv", "1,2\n3,4\n")).contains("taken for 2 labels"));
    assert_eq!(remarks(&files.write("y.txt", "1,2\n3\n")), "");
    assert_eq!(remarks(&files.write("y.txt", "red,2\nred,4\n")), "");
    let picked = remarks(&(files.write("z.csv", "id,kind\n3,dog\n") + ":1"));
    assert!(picked.contains("taken for a header: id, kind"), "{picked}");
    assert_eq!(remarks(&(files.write("z.csv", "id,kind\n3,dog\n") + ":kind")), "");
}

#[test]
fn text_with_sets_of_labels() {
    let files = Files::new();
    let content = "red, big\n\nbig,red,big\n\"a,b\" , \"say \"\"hi\"\"\"\n\n";
    let (sets, rows) = labels(&files.write("a.txt", content)).unwrap();
    assert!(sets);
    let expected: [&[&str]; 5] =
        [&["red", "big"], &[], &["red", "big"], &["a,b", "say \"hi\""], &[]];
    assert_eq!(rows, expected);
    assert_eq!(labels(&files.write("a.txt", "\n")).unwrap(), (true, vec![vec![]]));
}

#[test]
fn the_same_number_is_the_same_label_everywhere() {
    let files = Files::new();
    let mat = Mat { big_endian: false, compressed: true };
    let doubles: Vec<u8> = [7.0f64, -1.0, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let halves: Vec<u8> = [7.0, -1.0, -0.0]
        .iter()
        .flat_map(|value| half::f16::from_f32(*value).to_le_bytes())
        .collect();
    let specs = [
        files.write("a.txt", "7\n-1\n0\n"),
        files.write("a.npy", npy("|i1", false, "(3,)", &[7, 255, 0])),
        files.write("b.npy", npy("<f2", true, "(3, 1)", &halves)),
        files.write("a.mat", mat.file(&[mat.variable("y", DOUBLE, &[1, 3], AS_DOUBLE, &doubles)])),
        files.write("a.csv", "x,y\n1,7\n2,-1\n3,0\n") + ":y",
        files.write("b.csv", "x,y\n1,7.0\n2,-1.0\n3,0.0\n") + ":y",
    ];
    let mut names = LabelNames::new();
    let list = read_labels_all(&specs, &mut names).unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["7", "-1", "0"]);
    assert!(!list.has_sets());
    assert_eq!((0..18).map(|row| list.view().row(row)[0]).collect::<Vec<_>>(), [0, 1, 2].repeat(6));
}

#[test]
fn nan_in_an_array_is_no_label() {
    let files = Files::new();
    let doubles: Vec<u8> =
        [f64::NAN, 3.0, f64::NAN, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let mat = Mat { big_endian: false, compressed: true };
    let specs = [
        files.write("a.npy", npy("<f8", false, "(4,)", &doubles)),
        files.write("a.mat", mat.file(&[mat.variable("y", DOUBLE, &[4, 1], AS_DOUBLE, &doubles)])),
    ];
    for spec in specs {
        let (sets, rows) = labels(&spec).unwrap();
        assert!(sets && rows == [vec![], vec!["3"], vec![], vec!["4"]], "{spec}: {rows:?}");
    }
    let infinite = f64::INFINITY.to_le_bytes();
    let error = labels_error(&files.write("b.npy", npy("<f8", false, "(1,)", &infinite)));
    assert!(error.contains("row 0 is inf; labels must be integers"), "{error}");
}

#[test]
fn large_integers_are_exact() {
    let files = Files::new();
    let bytes = [u64::MAX, u64::MAX - 1].map(u64::to_le_bytes).concat();
    let spec = files.write("a.npy", npy("<u8", false, "(2,)", &bytes));
    assert_eq!(single_labels(&spec), ["18446744073709551615", "18446744073709551614"]);
    let bytes = [i64::MIN, i64::MIN + 1].map(i64::to_be_bytes).concat();
    let spec = files.write("a.npy", npy(">i8", false, "(2,)", &bytes));
    assert_eq!(single_labels(&spec), ["-9223372036854775808", "-9223372036854775807"]);
}

#[test]
fn columns_of_zeros_and_ones() {
    let files = Files::new();
    let (table, transposed) = ([1, 0, 0, 0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 1, 0, 0, 1]);
    let floats: Vec<u8> = table.iter().flat_map(|&bit| f32::from(bit).to_le_bytes()).collect();
    for content in [
        npy("|u1", false, "(3, 3)", &table),
        npy("|b1", true, "(3, 3)", &transposed),
        npy("<f4", false, "(3, 3)", &floats),
    ] {
        let mut names = LabelNames::new();
        let list = read_labels(&files.write("a.npy", content), &mut names).unwrap();
        // Every column is a label, even if no row has the label.
        assert_eq!(names.iter().collect::<Vec<_>>(), ["0", "1", "2"]);
        let rows: Vec<&[u32]> = (0..3).map(|row| list.view().row(row)).collect();
        assert_eq!(rows, [&[0][..], &[], &[1, 2]]);
    }
}

#[test]
fn several_files_mix_to_sets() {
    let files = Files::new();
    let specs = [files.write("a.txt", "cat\ndog\n"), files.write("b.txt", "dog,cow\n")];
    let mut names = LabelNames::new();
    let list = read_labels_all(&specs, &mut names).unwrap();
    let rows = |labels: Labels<'_>| -> Vec<Vec<u32>> {
        (0..labels.len()).map(|row| labels.row(row).to_vec()).collect()
    };
    assert_eq!(rows(list.view()), [vec![0], vec![1], vec![1, 2]]);
    assert!(read_labels_all::<&str>(&[], &mut names).is_err());
}

#[test]
fn what_labels_cannot_be() {
    let files = Files::new();
    let halves = [1.0f32, 1.5].map(f32::to_le_bytes).concat();
    let error = labels_error(&files.write("a.npy", npy("<f4", false, "(2,)", &halves)));
    assert!(error.contains("row 1 is 1.5; labels must be integers"), "{error}");
    let error = labels_error(&files.write("a.npy", npy("<f4", false, "(1, 2)", &halves)));
    assert!(error.contains("row 0, column 1 is 1.5"), "{error}");
    let error = labels_error(&files.write("a.npy", npy("|u1", false, "(2, 2)", &[0, 1, 2, 0])));
    assert!(error.contains("row 1, column 0 is 2;") && error.contains("0 or 1"), "{error}");
    let error = labels_error(&files.write("a.npy", npy("|u1", false, "(1, 1, 2)", &[0, 1])));
    assert!(error.contains("1 x 1 x 2"), "{error}");
    let error = labels_error(&files.write("a.txt", b"cat\nl\xe4ssig\n"));
    assert!(error.contains("line 2 is not UTF-8"), "{error}");
    let error = labels_error(&(files.write("a.csv", b"1,cat\n2,l\xe4ssig\n") + ":1"));
    assert!(error.contains("line 2, column 1 is not UTF-8"), "{error}");
    let surrogate = 0xd800u32.to_le_bytes();
    let error = labels_error(&files.write("a.npy", npy("<U1", false, "(1,)", &surrogate)));
    assert!(error.contains("row 0 is not Unicode"), "{error}");
    let error = labels_error(&files.write("a.npy", npy("|S1", false, "(1, 2)", b"ab")));
    assert!(error.contains("one text per row"), "{error}");
}
