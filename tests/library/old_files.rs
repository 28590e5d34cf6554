//! Files of older versions can be read, give the same codes as before, and their models can
//! continue learning.
//!
//! `version-1/` holds models of every method and an index with a hash function, all written by the
//! first version. `version-2/` holds what the second version added: scales, and functions in files
//! of their own. `version-3/` holds detail bits, and an index with a search structure and vectors.
//!
//! `codes.txt` has two lines for each model: its codes when it was written, and its codes after it
//! learned more rows. Files are written once, when their version is new, and never change.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hashbrook::{
    Batch, Dial, Features, HashFunction, Index, Labels, Method, Model, Scale, SearchStructure,
    VectorFormat,
};

use crate::streams::setup_with;

const DIM: usize = 16;
const BITS: usize = 16;
/// Number of rows that the model of a file has learned, and total number of rows.
const LEARNED: usize = 60;
const ROWS: usize = 120;

struct Case {
    version: u32,
    name: &'static str,
    method: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    warmup: usize,
}

/// Every method; some models are still warming up.
const CASES: &[Case] = &[
    case("brook-lifted", "brook", &[("anchors", "20")], 30),
    case("brook-linear", "brook", &[("lift", "none")], 30),
    case("brook-half-life", "brook", &[("anchors", "20"), ("half_life", "1000")], 30),
    case("brook-steady", "brook", &[("anchors", "20"), ("start", "steady")], 30),
    case("brook-warming", "brook", &[("anchors", "20")], 90),
    case("bsodh", "bsodh", &[], 30),
    case("bsodh-warming", "bsodh", &[], 90),
    case("okh", "okh", &[("anchors", "10")], 30),
    case("okh-warming", "okh", &[("anchors", "10")], 90),
    case("sketchhash", "sketchhash", &[("sketch", "32"), ("batch", "16")], 30),
    case("frosh", "frosh", &[("sketch", "32"), ("batch", "16")], 30),
    case("adapthash", "adapthash", &[], 30),
    case("osh", "osh", &[], 30),
    case("mihash", "mihash", &[("reservoir", "20")], 30),
    case("lsh", "lsh", &[], 30),
    case("lsh-warming", "lsh", &[], 90),
    Case { version: 2, ..case("brook-scaled", "brook", &[("anchors", "20")], 30) },
    Case { version: 2, ..case("bsodh-scaled-warming", "bsodh", &[], 90) },
    Case { version: 2, ..case("hcoh", "hcoh", &[], 30) },
    Case { version: 2, ..case("hmoh", "hmoh", &[("anchors", "10")], 30) },
    Case { version: 2, ..case("hmoh-warming", "hmoh", &[("anchors", "10")], 90) },
    Case { version: 3, ..case("brook-detail", "brook", &[("anchors", "20")], 30) },
    Case { version: 3, ..case("brook-detail-warming", "brook", &[("anchors", "20")], 90) },
    Case {
        version: 3,
        ..case("brook-compact", "brook", &[("anchors", "20"), ("precision", "compact")], 30)
    },
    Case { version: 3, ..case("itq", "itq", &[], 30) },
    Case { version: 3, ..case("itq-warming", "itq", &[], 90) },
];

/// The file version that this program writes.
const WRITTEN: u32 = 3;

const fn case(
    name: &'static str,
    method: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    warmup: usize,
) -> Case {
    Case { version: 1, name, method, parameters, warmup }
}

/// Returns rows with four labels, the same on every machine.
fn stream() -> (Vec<f32>, Vec<u32>) {
    let value = |row: usize, column: usize| {
        let noise = (row * 7919 + column * column * 5407 + row * column * 31) % 1009;
        let class = if column % 4 == row % 4 { 1.0 } else { 0.0 };
        class + noise as f32 / 1009.0
    };
    let rows = (0..ROWS * DIM).map(|at| value(at / DIM, at % DIM)).collect();
    (rows, (0..ROWS as u32).map(|row| row % 4).collect())
}

fn with_batches(each: &mut dyn FnMut(Batch<'_>), from: usize, to: usize) {
    let (rows, labels) = stream();
    let all = Batch::new(Features::new(&rows, DIM).unwrap(), Labels::single(&labels)).unwrap();
    (from..to).step_by(20).for_each(|start| each(all.slice(start..start + 20)));
}

fn learn(model: &mut Model, from: usize, to: usize) {
    with_batches(&mut |batch| drop(model.learn(batch).unwrap()), from, to);
}

/// Returns the codes of rows that no file has learned, as one line of text.
fn codes(function: &HashFunction) -> String {
    let (rows, _) = stream();
    let features = Features::new(&rows, DIM).unwrap().slice(LEARNED..ROWS);
    let codes = function.encode(features).unwrap();
    codes.iter().map(|code| format!("{:04x}", code[0])).collect::<Vec<_>>().join(" ")
}

fn directory(version: u32) -> PathBuf {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library");
    library.join(format!("version-{version}"))
}

fn file(case: &Case) -> PathBuf {
    directory(case.version).join(case.name).with_extension("model")
}

/// Returns an index of the learned rows.
fn index(function: HashFunction) -> Index {
    let mut index = Index::new(function);
    let add = &mut |batch: Batch<'_>| {
        let first = index.len() as u64;
        let ids: Vec<u64> = (first..first + batch.len() as u64).collect();
        index.add(&ids, batch.features(), batch.labels()).unwrap();
    };
    with_batches(add, 0, LEARNED);
    index
}

/// Writes the files of the current version, next to those of older versions.
#[test]
#[ignore = "writes files that are kept"]
fn make_files_of_this_version() {
    let mut lines = String::new();
    std::fs::create_dir_all(directory(WRITTEN)).unwrap();
    for case in CASES.iter().filter(|case| case.version == WRITTEN) {
        let mut method = Method::named(case.method).unwrap();
        case.parameters.iter().for_each(|(name, value)| method.set(name, value).unwrap());
        let setup = setup_with(|setup| {
            setup.warmup = Some(case.warmup);
            setup.scale = Scale::Standard;
        });
        let mut model = method.start_with(DIM, BITS, 7, setup).unwrap();
        for name in ["cat", "dog", "red, cow", "4"] {
            model.label_names_mut().id(name);
        }
        model.notes_mut().insert("batch".to_owned(), "20".to_owned());
        learn(&mut model, 0, LEARNED);
        model.save(file(case)).unwrap();
        lines += &format!("{} at-first {}\n", case.name, codes(&model.hash_function()));
        if model.is_warm() {
            model.hash_function().save(file(case).with_extension("function")).unwrap();
            index(model.hash_function()).save(file(case).with_extension("index")).unwrap();
        }
        learn(&mut model, LEARNED, ROWS);
        lines += &format!("{} learned-on {}\n", case.name, codes(&model.hash_function()));
    }
    std::fs::write(directory(WRITTEN).join("codes.txt"), lines).unwrap();
}

/// Number of items of the index with a search structure. The rows are repeated to reach the number
/// of items for which a structure is built.
const MANY: usize = 1 << 15;

fn structured() -> PathBuf {
    directory(4).join("structure.index.gz")
}

/// Writes the index with a search structure and vectors.
#[test]
#[ignore = "writes a file that is kept"]
fn make_the_index_with_a_structure() {
    let function = HashFunction::load(directory(3).join("brook-detail.function")).unwrap();
    let mut index = Index::with_vectors(function, VectorFormat::F16);
    let (rows, labels) = stream();
    let rows: Vec<f32> = rows.iter().copied().cycle().take(MANY * DIM).collect();
    let labels: Vec<u32> = labels.iter().copied().cycle().take(MANY).collect();
    let ids: Vec<u64> = (0..MANY as u64).collect();
    let labels = Labels::single(&labels);
    index.add(&ids, Features::new(&rows, DIM).unwrap(), Some(labels)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    index.save(directory.path().join("a.index")).unwrap();
    let bytes = std::fs::read(directory.path().join("a.index")).unwrap();
    let mut gz = GzEncoder::new(std::fs::File::create(structured()).unwrap(), Compression::best());
    gz.write_all(&bytes).unwrap();
    gz.finish().unwrap();
}

#[test]
fn an_index_with_search_structure_and_vectors_is_used_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(structured()).unwrap()).read_to_end(&mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let index = Index::open(&path).unwrap();
    index.verify().unwrap();
    assert!(index.statistics().structure_bytes > MANY && index.len() == MANY);
    let mut scan = Index::open(&path).unwrap();
    scan.set_search_structure(SearchStructure::None);
    assert_eq!(scan.statistics().structure_bytes, 0);
    let (rows, _) = stream();
    let queries = Features::new(&rows, DIM).unwrap();
    for k in [1, 10, 1000] {
        assert_eq!(index.search(queries, k).unwrap(), scan.search(queries, k).unwrap());
    }
    assert_eq!(index.within(queries, 3).unwrap(), scan.within(queries, 3).unwrap());
    let dial = Dial::new(3, 1).unwrap();
    let weighed = |index: &Index| index.dial(dial).search(queries, 50).unwrap();
    assert_eq!(weighed(&index), weighed(&scan));
    let ranked = index.rerank(1000).search(queries, 1).unwrap();
    for row in 0..ROWS {
        assert_eq!(ranked.row(row)[0].id, row as u64);
        assert!(ranked.row(row)[0].score > 0.999);
    }
}

/// Returns the lines of `codes.txt`, by model and stage (at first, or after learning on).
fn expected(version: u32) -> BTreeMap<(String, String), String> {
    let text = std::fs::read_to_string(directory(version).join("codes.txt")).unwrap();
    let parse = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let mut next = || words.next().unwrap();
        ((next(), next()), next())
    };
    text.lines().map(parse).collect()
}

fn expected_at_first(version: u32, name: &str) -> String {
    expected(version)[&(name.to_owned(), "at-first".to_owned())].clone()
}

#[test]
fn models_of_every_version_give_their_codes_and_learn_on() {
    for case in CASES {
        let expected = expected(case.version);
        let of = |when: &str| &expected[&(case.name.to_owned(), when.to_owned())];
        let mut model = Model::load(file(case)).unwrap();
        assert_eq!(model.method().name(), case.method);
        assert_eq!((model.seen(), model.batches()), (LEARNED as u64, 3), "{}", case.name);
        assert_eq!(model.is_warm(), case.warmup < LEARNED, "{}", case.name);
        assert_eq!(model.scale() == Scale::Standard, case.version > 1, "{}", case.name);
        assert_eq!(model.label_names().find("red, cow"), Some(2));
        assert_eq!(model.notes()["batch"], "20");
        assert_eq!(&codes(&model.hash_function()), of("at-first"), "{}", case.name);
        // The model stays the same when this version saves it.
        let again = Model::from_bytes(&model.to_bytes(), "again").unwrap();
        assert_eq!(&codes(&again.hash_function()), of("at-first"), "{}", case.name);
        learn(&mut model, LEARNED, ROWS);
        assert_eq!(&codes(&model.hash_function()), of("learned-on"), "{}", case.name);
    }
    for version in 1..=WRITTEN {
        let cases = CASES.iter().filter(|case| case.version == version).count();
        assert_eq!(expected(version).len(), 2 * cases, "version {version}");
    }
    for method in Method::all() {
        assert!(CASES.iter().any(|case| case.method == method.name()), "{}", method.name());
    }
}

#[test]
fn functions_of_every_version_give_their_codes() {
    for (version, name, label_bits) in
        [(2, "brook-scaled", 16), (3, "brook-detail", 14), (3, "brook-compact", 14)]
    {
        let path = directory(version).join(name).with_extension("function");
        let function = HashFunction::load(path).unwrap();
        assert_eq!(codes(&function), expected_at_first(version, name));
        assert_eq!(function.label_names().find("dog"), Some(1));
        assert_eq!(function.label_bits(), label_bits, "{name}");
    }
}

/// With detail bits switched off by its parameters, brook learns the same codes as the version
/// before detail bits, from the first row on.
#[test]
fn brook_without_detail_is_what_it_was() {
    let before = [("detail", "0"), ("precision", "full"), ("follow", "false")];
    for case in CASES.iter().filter(|case| case.version == 1 && case.method == "brook") {
        let mut method = Method::named("brook").unwrap();
        let parameters = case.parameters.iter().chain(&before);
        parameters.for_each(|(name, value)| method.set(name, value).unwrap());
        let setup = setup_with(|setup| setup.warmup = Some(case.warmup));
        let mut model = method.start_with(DIM, BITS, 7, setup).unwrap();
        for name in ["cat", "dog", "red, cow", "4"] {
            model.label_names_mut().id(name);
        }
        for (until, when) in [(LEARNED, "at-first"), (ROWS, "learned-on")] {
            let seen = model.seen() as usize;
            learn(&mut model, seen, until);
            let expected = &expected(1)[&(case.name.to_owned(), when.to_owned())];
            assert_eq!(&codes(&model.hash_function()), expected, "{} {when}", case.name);
        }
    }
}

#[test]
fn functions_in_indexes_of_every_version_give_their_codes() {
    for (version, name) in [(1, "brook-lifted"), (2, "brook-scaled"), (3, "brook-compact")] {
        let index = Index::open(directory(version).join(name).with_extension("index")).unwrap();
        index.verify().unwrap();
        let function = index.function().unwrap();
        assert_eq!(codes(function), expected_at_first(version, name));
        assert_eq!(index.label_names().find("dog"), Some(1));
        let (rows, labels) = stream();
        let features = Features::new(&rows, DIM).unwrap();
        for (row, label) in labels.iter().enumerate().take(LEARNED) {
            let item = index.get(row as u64).unwrap().unwrap();
            assert_eq!(item.labels, [*label]);
            assert_eq!(item.code, function.encode_one(features.row(row)).unwrap());
        }
    }
}
