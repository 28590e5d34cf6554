//! npy files that are written and read back.

use hashbrook::dataset::{LabelList, LabelNames, NpyWriter, digits, read_labels, write_labels};

use crate::support::{Files, features, labels};

#[test]
fn rows_one_after_the_other() {
    let files = Files::new();
    let path = files.path("a.npy");
    let mut file = NpyWriter::<f32>::create(&path, Some(2)).unwrap();
    file.write(&[1.0, 2.0]).unwrap();
    file.write(&[3.0, 4.0, 5.0, 6.0]).unwrap();
    assert!(!path.exists(), "nothing is there before the end");
    file.finish().unwrap();
    let found = features(path.to_str().unwrap()).unwrap();
    assert_eq!(found, (2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 128 + 24);
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } ";
    assert!(bytes[10..].starts_with(header.as_bytes()));
    assert_eq!(bytes[127], b'\n');
}

#[test]
fn rows_in_any_order() {
    let files = Files::new();
    let path = files.path("a.npy");
    let rows = 5000usize;
    let mut file = NpyWriter::<u8>::create(&path, Some(3)).unwrap();
    for place in 0..rows {
        // Every row is written once, because 7 and 5000 have no common factor.
        let row = place * 7 % rows;
        file.put_row(row, &[row as u8, (row >> 8) as u8, 1]).unwrap();
    }
    file.finish().unwrap();
    let (_, found) = features(path.to_str().unwrap()).unwrap();
    let expected = (0..rows).flat_map(|row| [row as u8, (row >> 8) as u8, 1]).map(f32::from);
    assert!(found.into_iter().eq(expected));
}

#[test]
fn both_ways_together() {
    let files = Files::new();
    let path = files.path("a.npy");
    let mut file = NpyWriter::<i64>::create(&path, None).unwrap();
    file.put_row(2, &[-3]).unwrap();
    file.write(&[4, 5]).unwrap();
    file.put_row(0, &[1]).unwrap();
    file.put_row(1, &[2]).unwrap();
    file.finish().unwrap();
    assert_eq!(features(path.to_str().unwrap()).unwrap(), (1, vec![1.0, 2.0, -3.0, 4.0, 5.0]));
}

#[test]
fn unfinished_files_leave_no_trace() {
    let files = Files::new();
    let path = files.path("a.npy");
    let mut file = NpyWriter::<u8>::create(&path, Some(2)).unwrap();
    file.put_row(0, &[1, 2]).unwrap();
    file.put_row(2, &[1, 2]).unwrap();
    let error = file.finish().unwrap_err().to_string();
    assert!(error.contains("3 rows, and 2 were given"), "{error}");
    let mut file = NpyWriter::<u8>::create(&path, Some(2)).unwrap();
    assert!(file.write(&[1, 2, 3]).is_err());
    assert!(file.put_row(0, &[1]).is_err());
    assert!(file.put_row(usize::MAX, &[1, 2]).is_err());
    drop(file);
    assert!(NpyWriter::<u8>::create(&path, Some(0)).is_err());
    assert!(NpyWriter::<f32>::create(&path, Some(usize::MAX)).is_err());
    assert_eq!(std::fs::read_dir(files.path("")).unwrap().count(), 0);
}

fn named(names: &[&str]) -> LabelNames {
    let mut all = LabelNames::new();
    names.iter().for_each(|name| {
        all.id(name);
    });
    all
}

#[test]
fn single_labels_keep_their_names() {
    let files = Files::new();
    let path = files.path("labels.npy");
    let spec = path.to_str().unwrap();
    for (names, descr) in [
        (["7", "-1", "9223372036854775807"], "'<i8'"),
        (["7", "007", "x"], "'<U3'"),
        (["cat", "a, b", "žába 🐸"], "'<U6'"),
    ] {
        let names = named(&names);
        let list = LabelList::single(vec![2, 0, 1, 1]);
        assert_eq!(write_labels(files.path(""), "labels", &list, &names).unwrap(), path);
        let mut again = names.clone();
        assert_eq!(read_labels(spec, &mut again).unwrap(), list);
        assert_eq!(again, names);
        let text = std::fs::read(&path).unwrap();
        assert!(String::from_utf8_lossy(&text).contains(descr), "{descr}");
    }
    write_labels(files.path(""), "labels", &LabelList::default(), &named(&["cat"])).unwrap();
    assert_eq!(labels(spec).unwrap().1.len(), 0);
}

#[test]
fn sets_keep_their_names() {
    let files = Files::new();
    let directory = files.path("");
    let mut list = LabelList::new();
    for set in [&[2, 0][..], &[], &[1], &[0, 1, 2]] {
        list.push_set(set);
    }
    // Labels that are small numbers are written as columns, whatever their order of appearance;
    // other labels are written as text.
    for (names, file) in [
        (["7", "0", "3"], "labels.npy"),
        (["7", "-1", "3"], "labels.txt"),
        (["7", "0", "5000"], "labels.txt"),
        (["a, b", "say \"cat\"", "žába"], "labels.txt"),
        (["1", "0", "2"], "labels.npy"),
    ] {
        let names = named(&names);
        let path = write_labels(&directory, "labels", &list, &names).unwrap();
        assert_eq!(path, directory.join(file));
        let mut again = names.clone();
        let read = read_labels(path.to_str().unwrap(), &mut again).unwrap();
        for row in 0..4 {
            let of = |list: &LabelList| -> Vec<String> {
                let labels = list.view().row(row).to_vec();
                let mut texts: Vec<String> =
                    labels.iter().map(|&label| again.name(label).unwrap().to_owned()).collect();
                texts.sort();
                texts
            };
            assert_eq!(of(&read), of(&list), "{file}");
        }
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "the other form is removed");
    }
    let broken = named(&["a\nb", "c", "d"]);
    assert!(
        write_labels(&directory, "labels", &list, &broken)
            .unwrap_err()
            .to_string()
            .contains("break")
    );

    // A single column would be read as one label per row, so there are two.
    let mut list = LabelList::new();
    list.push_set(&[0]);
    list.push_set(&[]);
    let path = write_labels(&directory, "labels", &list, &named(&["0"])).unwrap();
    let found = labels(path.to_str().unwrap()).unwrap();
    assert_eq!(found, (true, vec![vec!["0".to_owned()], vec![]]));
}

#[test]
fn labels_without_names_are_refused() {
    let files = Files::new();
    let mut sets = LabelList::new();
    sets.push_set(&[1]);
    for list in [LabelList::single(vec![1]), sets] {
        for name in ["a", "5"] {
            let written = write_labels(files.path(""), "labels", &list, &named(&[name]));
            let error = written.unwrap_err().to_string();
            assert!(error.contains("below 1, the number of names, not 1"), "{error}");
            assert_eq!(std::fs::read_dir(files.path("")).unwrap().count(), 0);
        }
    }
}

#[test]
fn the_embedded_digits_go_through_a_file() {
    let files = Files::new();
    let path = files.path("digits.npy");
    let digits = digits();
    let mut file = NpyWriter::<f32>::create(&path, Some(64)).unwrap();
    digits.features.chunks(640).for_each(|rows| file.write(rows).unwrap());
    file.finish().unwrap();
    assert_eq!(features(path.to_str().unwrap()).unwrap(), (64, digits.features));
}
