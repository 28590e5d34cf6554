//! Hash functions in separate files.

use std::path::Path;

use hashbrook::{
    Batch, Compact, Error, Features, FileKind, HashFunction, HashParts, Index, LabelNames, Labels,
    Lift, Method, Model, Scale,
};

use crate::streams::setup_with;

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 7919 + seed * 104_729) % 1009) as f32 / 500.0 - 1.0).collect()
}

fn names() -> LabelNames {
    let mut names = LabelNames::new();
    for name in ["cat", "dog", "red, cow"] {
        names.id(name);
    }
    names
}

/// Returns a linear function, one with every stage, and one with every stage and a compact lift.
fn functions() -> [HashFunction; 3] {
    let linear = HashParts::linear(5, 70, numbers(5 * 70, 1));
    let full = HashParts {
        center: Some(numbers(5, 2)),
        scale: Some(numbers(5, 3)),
        unit: true,
        lift: Lift::Rbf { anchors: numbers(8 * 5, 4), gamma: 0.7 },
        weights: numbers(8 * 70, 5),
        offset: Some(numbers(70, 6)),
        ..linear.clone()
    };
    let lift = Compact::new(&numbers(8 * 5, 4), numbers(3 * 5, 7), 5, 0.7).unwrap();
    let lift = Lift::Compact(lift.centered(&[0.3; 8]));
    let compact = HashFunction::new(HashParts { lift, ..full.clone() }).unwrap();
    let full = HashFunction::new(full).unwrap().with_label_names(names());
    [HashFunction::new(linear).unwrap(), full, compact]
}

fn message<T>(result: hashbrook::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn saved_and_loaded_it_is_the_same_function() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f.function");
    for function in functions() {
        function.save(&path).unwrap();
        let again = HashFunction::load(&path).unwrap();
        assert_eq!(again.parts(), function.parts());
        assert_eq!(again.label_names(), function.label_names());
        assert_eq!(again.to_bytes(), function.to_bytes(), "one function, one form");
        let rows = numbers(5 * 90, 7);
        let rows = Features::new(&rows, 5).unwrap();
        assert_eq!(again.encode(rows).unwrap(), function.encode(rows).unwrap());
        assert_eq!(FileKind::of(&path).unwrap(), FileKind::Function);
    }
}

/// Codes are the same on every processor as on the machine where this test was written.
#[test]
fn codes_by_whole_numbers_are_the_same_on_every_machine() {
    let (dim, bits, anchors) = (37, 70, 50);
    let rows = numbers(dim * 200, 11);
    let rows = Features::new(&rows, dim).unwrap();
    let found = [0, 21].map(|directions| {
        let scaled = |values: Vec<f32>| values.iter().map(|value| value * 0.2).collect();
        let directions: Vec<f32> = scaled(numbers(directions * dim, 12));
        let lift = Compact::new(&numbers(anchors * dim, 13), directions, dim, 0.05).unwrap();
        let parts = HashParts {
            lift: Lift::Compact(lift.centered(&vec![0.2; anchors])),
            ..HashParts::linear(dim, bits, numbers(anchors * bits, 14))
        };
        let codes = HashFunction::new(parts).unwrap().encode(rows).unwrap();
        codes.words().iter().fold(0u64, |mixed, word| {
            (mixed.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        })
    });
    assert_eq!(found, [0x5151_09e4_be9f_3eab, 0x4a51_c5dc_6b3a_e9d1], "{found:#x?}");
}

#[test]
fn a_damaged_file_is_an_error_whatever_the_damage() {
    let read = |bytes: &[u8]| HashFunction::from_bytes(bytes, "f");
    for function in functions() {
        let bytes = function.to_bytes();
        for length in (0..bytes.len()).step_by(3) {
            assert!(read(&bytes[..length]).is_err(), "cut to {length} bytes");
        }
        assert!(message(read(&bytes[..bytes.len() - 3])).contains("is cut short"));
        assert!(read(&[&bytes[..], b"x"].concat()).is_err(), "something follows");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(read(&damaged).is_err(), "byte {at}");
        }
    }
}

#[test]
fn files_of_other_kinds_are_told_apart_by_their_heads() {
    let directory = tempfile::tempdir().unwrap();
    let (function, model, index) =
        (directory.path().join("f"), directory.path().join("m"), directory.path().join("i"));
    functions()[1].save(&function).unwrap();
    Method::named("lsh").unwrap().start(5, 8, 1).unwrap().save(&model).unwrap();
    Index::new(functions()[1].clone()).save(&index).unwrap();
    assert_eq!(FileKind::of(&model).unwrap(), FileKind::Model);
    assert_eq!(FileKind::of(&index).unwrap(), FileKind::Index);
    let said = message(Model::load(&function));
    assert!(
        said.contains("is a hash function; expected a model") && said.contains("cannot learn"),
        "{said}"
    );
    assert!(message(HashFunction::load(&model)).contains("is a model"));
    assert!(message(HashFunction::load(&index)).contains("is an index"));
    assert!(message(Model::load(&index)).contains("is an index"));
    let newer = functions()[0].to_bytes();
    let at = newer.windows(12).position(|bytes| bytes == br#"version\":2,"#).unwrap() + 10;
    let mut newer = newer;
    newer[at] = b'8';
    let newer = HashFunction::from_bytes(&newer, "f");
    assert!(matches!(newer, Err(Error::NewerVersion { found: 8, supported: 2, .. })), "{newer:?}");
}

/// Files larger than any memory are refused, because their first bytes are not those of a model.
#[cfg(unix)]
#[test]
fn a_huge_file_that_is_something_else_is_not_read() {
    let huge = 1 << 38;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("huge");
    let json = format!(
        r#"{{"__metadata__":{{"made":"elsewhere"}},"x":{{"dtype":"U8","shape":[{huge}],"data_offsets":[0,{huge}]}}}}"#
    );
    let foreign = [&(json.len() as u64).to_le_bytes()[..], json.as_bytes()].concat();
    // A header of the maximum length, and a longer one.
    let header = |length: u64| [&length.to_le_bytes()[..], b"{"].concat();
    for (start, said) in [
        (foreign, "not one that hashbrook wrote"),
        (vec![0], "is not a model file"),
        (b"\x93NUMPY".to_vec(), "is not a model file"),
        (header(90_000_000), "is not a model file"),
        (header(u64::MAX), "is not a model file"),
    ] {
        std::fs::write(&path, start).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        if file.set_len(huge).is_err() {
            // The file system has no sparse files. The devices below test the same case.
            continue;
        }
        assert!(message(Model::load(&path)).contains(said), "{}", message(Model::load(&path)));
        assert!(FileKind::of(&path).is_err());
    }
    for endless in ["/dev/zero", "/dev/urandom"] {
        assert!(message(Model::load(endless)).contains("is not a model file"));
        assert!(HashFunction::load(endless).is_err());
    }
}

#[test]
fn an_index_made_from_a_model_knows_its_label_names() {
    let rows = numbers(5 * 40, 1);
    let labels: Vec<u32> = (0..40).map(|row| row % 3).collect();
    let batch = Batch::new(Features::new(&rows, 5).unwrap(), Labels::single(&labels)).unwrap();
    let mut model = Method::named("bsodh").unwrap().start(5, 16, 1).unwrap();
    *model.label_names_mut() = names();
    model.learn(batch).unwrap();
    let function = model.hash_function();
    assert_eq!(function.label_names(), &names());

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("i.index");
    let mut index = Index::new(function);
    let ids: Vec<u64> = (0..40).collect();
    index.add(&ids, batch.features(), batch.labels()).unwrap();
    index.save(&path).unwrap();
    let index = Index::open(&path).unwrap();
    assert_eq!(index.label_names(), &names());
    assert_eq!(index.function().unwrap().label_names(), &names());
}

#[test]
fn an_index_keeps_every_stage_of_its_function() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("i.index");
    for function in functions() {
        Index::new(function.clone()).save(&path).unwrap();
        let index = Index::open(&path).unwrap();
        assert_eq!(index.function().unwrap().parts(), function.parts());
    }
}

#[test]
fn one_vector_has_the_code_that_it_has_in_company() {
    let function = &functions()[1];
    let rows = numbers(5 * 9, 1);
    let codes = function.encode(Features::new(&rows, 5).unwrap()).unwrap();
    for (row, code) in rows.chunks(5).zip(codes.iter()) {
        assert_eq!(function.encode_one(row).unwrap(), code);
    }
    assert_eq!(
        message(function.encode_one(&[0.0; 10])),
        "expected vectors of 5 dimensions, these have 10"
    );
    assert!(message(function.encode_one(&[])).contains("these have 0"));
    assert!(
        message(function.encode_one(&[0.0, 0.0, f32::NAN, 0.0, 0.0])).contains("column 2 is NaN")
    );
}

/// The file of a function is small enough to distribute: unlike a model, it has no sums.
#[test]
fn the_file_is_small_beside_that_of_a_model() {
    let rows = numbers(600 * 16, 1);
    let labels: Vec<u32> = (0..600).map(|row| row % 5).collect();
    let batch = Batch::new(Features::new(&rows, 16).unwrap(), Labels::single(&labels)).unwrap();
    let setup = setup_with(|setup| {
        setup.warmup = Some(500);
        setup.scale = Scale::Standard;
    });
    let mut model = Method::named("brook").unwrap().start_with(16, 32, 1, setup).unwrap();
    model.learn(batch).unwrap();
    let function = model.hash_function();
    let again = HashFunction::from_bytes(&function.to_bytes(), Path::new("f")).unwrap();
    assert_eq!(again.encode(batch.features()).unwrap(), function.encode(batch.features()).unwrap());
    assert!(8 * function.to_bytes().len() < model.to_bytes().len());
    // The model also reports what makes it large.
    let sizes = model.array_sizes();
    assert_eq!(sizes[0], ("brook.gram".to_owned(), 500 * 501 / 2 * 8));
    assert!(sizes.is_sorted_by(|one, two| one.1 >= two.1));
}
