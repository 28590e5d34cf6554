//! Index files: killed writers, damaged files, and files of older versions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hashbrook::{
    Codes, Error, Features, HashFunction, HashParts, Index, LabelNames, Labels, Method,
    VectorFormat,
};

use crate::killed::{self, mixed};

/// Applies change `number` of a fixed sequence.
fn change(index: &mut Index, number: u64) {
    let ids: Vec<u64> = (0..5).map(|at| mixed(9 * number + at) % 400).collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    match number % 7 {
        3 => {
            index.remove(&once).unwrap();
        }
        6 => index.compact().unwrap(),
        5 => {
            let there = index.present(&once).unwrap();
            let labels: Vec<u32> = there.iter().map(|id| mixed(id ^ number) as u32 % 5).collect();
            index.set_labels(&there, Labels::single(&labels)).unwrap();
        }
        _ => {
            let labels: Vec<u32> = once.iter().map(|id| *id as u32 % 5).collect();
            let labels = Some(Labels::single(&labels));
            if index.vector_format().is_some() {
                let number = |at: usize| mixed(once[at / 4] ^ number) >> (at % 4) & 0xFF;
                let vectors: Vec<f32> = (0..4 * once.len()).map(|at| number(at) as f32).collect();
                index.upsert(&once, Features::new(&vectors, 4).unwrap(), labels).unwrap();
                return;
            }
            let mut codes = Codes::new(70).unwrap();
            once.iter().for_each(|id| codes.push(&[mixed(id ^ number), number % 64]).unwrap());
            index.upsert_codes(&once, &codes, labels).unwrap();
        }
    }
}

/// Returns an empty index, either one that stores vectors or one of codes alone.
fn empty(vectors: bool) -> Index {
    if vectors {
        Index::with_vectors(linear(), VectorFormat::F16)
    } else {
        Index::of_codes(70).unwrap()
    }
}

/// An item: id, code, labels, vector.
type Whole = (u64, Vec<u64>, Vec<u32>, Option<Vec<f32>>);

/// Returns every item of an index.
fn all(index: &Index) -> Vec<Whole> {
    let ids = index.ids().unwrap();
    let item = |id: u64| {
        let item = index.get(id).unwrap().unwrap();
        (id, item.code, item.labels, index.vector(id).unwrap())
    };
    ids.into_iter().map(item).collect()
}

const CHILD: &str = "HASHBROOK_TEST_WRITES_TO";
const WRITER: &str = "index_files::a_writer_that_may_be_killed_leaves_every_change";

/// A writer. Run as a test it ends normally; the next test starts this test as a child process and
/// kills the process.
#[test]
fn a_writer_that_may_be_killed_leaves_every_change() {
    if let Ok(given) = std::env::var(CHILD) {
        let (path, first) = given.rsplit_once(':').unwrap();
        let mut index = Index::edit(Path::new(path)).unwrap();
        for number in first.parse().unwrap().. {
            change(&mut index, number);
            killed::say_done(number);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("whole.index");
    for vectors in [false, true] {
        let mut expected = empty(vectors);
        expected.save(&path).unwrap();
        let mut index = Index::edit(&path).unwrap();
        for number in 0..60 {
            change(&mut index, number);
            change(&mut expected, number);
            assert_eq!(all(&Index::open(&path).unwrap()), all(&expected), "change {number}");
        }
        assert!(expected.len() > 50, "only {} items", expected.len());
    }
}

#[test]
fn whoever_is_killed_leaves_every_acknowledged_change() {
    kill(empty(false));
}

#[test]
fn whoever_is_killed_leaves_every_acknowledged_vector() {
    kill(empty(true));
}

/// Repeatedly starts and kills writers of a file that initially holds `expected`, an empty index.
fn kill(mut expected: Index) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.index");
    expected.save(&path).unwrap();
    let mut next = 0;
    let mut in_flight = 0;
    for round in 0..60 {
        let given = (CHILD, format!("{}:{next}", path.display()));
        let late = Duration::from_micros(mixed(round + 1000) % 3000);
        for number in killed::done_by(WRITER, given, 1 + mixed(round) % 30, late) {
            assert_eq!(number, next);
            change(&mut expected, number);
            next += 1;
        }
        let found = Index::open(&path).unwrap();
        found.verify().unwrap();
        if all(&found) != all(&expected) {
            // The last change was not acknowledged: it may be missing or complete, but not partial.
            change(&mut expected, next);
            next += 1;
            in_flight += 1;
            assert_eq!(all(&found), all(&expected), "round {round}, change {next}");
        }
    }
    assert!(next > 300, "only {next} changes");
    println!("{next} changes, of which {in_flight} were under way when their writer was killed");
}

/// Returns a hash function of 4 dimensions and 70 bits.
fn linear() -> HashFunction {
    let weights: Vec<f32> = (0..4 * 70).map(|at| (mixed(at) % 1000) as f32 - 499.5).collect();
    let mut parts = HashParts::linear(4, 70, weights);
    parts.center = Some(vec![0.5; 4]);
    parts.offset = Some(vec![0.25; 70]);
    HashFunction::new(parts).unwrap()
}

/// Writes an index with everything that a file can hold, except vectors.
fn full(path: &Path) {
    fill(Index::new(linear()), path);
}

/// Fills an index and saves it with some changes in its log.
fn fill(mut index: Index, path: &Path) {
    let vectors: Vec<f32> = (0..4 * 3000).map(|at| (mixed(at + 7) % 1000) as f32).collect();
    let ids: Vec<u64> = (0..3000).map(|at| at * at).collect();
    let labels: Vec<u32> = (0..3000).map(|at| at % 3).collect();
    let features = Features::new(&vectors, 4).unwrap();
    index.add(&ids, features, Some(Labels::single(&labels))).unwrap();
    let mut names = LabelNames::new();
    for name in ["bird", "cat", "dog"] {
        names.id(name);
    }
    index.set_label_names(names).unwrap();
    index.save(path).unwrap();
    let mut index = Index::edit(path).unwrap();
    index.remove(&[0, 1, 49]).unwrap();
    let more = features.slice(0..3);
    let ends = [2, 2, 3];
    let labels = Labels::sets(&ends, &[0, 2, 1]).unwrap();
    index.upsert(&[4, 5, 6], more, Some(labels)).unwrap();
    let mut names = index.label_names().clone();
    names.id("fish");
    index.set_label_names(names).unwrap();
}

/// Returns an index's answers to queries of all kinds as one string, or the first error.
fn answers(path: &Path) -> Result<String, Error> {
    let index = Index::open(path)?;
    let vectors: Vec<f32> = (0..4 * 20).map(|at| (mixed(at + 3) % 1000) as f32).collect();
    let queries = Features::new(&vectors, 4).unwrap();
    let nearest = index.search(queries, 50)?;
    let within = index.within(queries, 20)?;
    let some = hashbrook::Filter::all().labels(&[2]);
    let filtered = index.filtered(&some).search(queries, 50)?;
    let (mut items, mut vectors) = (Vec::new(), Vec::new());
    for id in index.ids()? {
        items.push(index.get(id)?);
        vectors.extend(index.vector(id)?);
    }
    let ranked = match index.vector_format() {
        None => None,
        Some(_) => Some(index.filtered(&some).rerank(200).search(queries, 20)?),
    };
    let names: Vec<&str> = index.label_names().iter().collect();
    Ok(format!("{nearest:?} {within:?} {filtered:?} {items:?} {vectors:?} {ranked:?} {names:?}"))
}

#[test]
fn damage_is_an_error_and_never_a_wrong_answer() {
    damage(Index::new(linear()));
}

#[test]
fn damage_of_a_file_with_vectors_is_an_error_and_never_a_wrong_answer() {
    damage(Index::with_vectors(linear(), VectorFormat::F16));
}

/// Fills an empty index, saves it, and checks the answers of damaged copies of the file.
fn damage(index: Index) {
    let directory = tempfile::tempdir().unwrap();
    let (path, broken) =
        (directory.path().join("whole.index"), directory.path().join("broken.index"));
    fill(index, &path);
    let bytes = std::fs::read(&path).unwrap();
    let expected = answers(&path).unwrap();
    let (mut errors, mut harmless) = (0, 0);
    let check = |bytes: &[u8]| {
        std::fs::write(&broken, bytes).unwrap();
        match answers(&broken) {
            Ok(found) => {
                assert_eq!(found, expected);
                false
            }
            Err(Error::Malformed { .. } | Error::Damaged { .. } | Error::NewerVersion { .. }) => {
                true
            }
            Err(other) => panic!("{other}"),
        }
    };
    for number in 0..1500 {
        let mut bytes = bytes.clone();
        // Half of the damaged bytes are in the header or at the start of one of the next two pages.
        // The whole file depends on these.
        let (start, end) = match number % 6 {
            0 => (0, 216),
            1 => (4096, 4120),
            2 => (8192, 8216),
            _ => (0, bytes.len()),
        };
        let place = start + mixed(number) as usize % (end - start);
        bytes[place] ^= 1 << (mixed(number + 5000) % 8);
        *(if check(&bytes) { &mut errors } else { &mut harmless }) += 1;
    }
    // The file stays readable if one of the two pages is damaged.
    assert!(errors > 700 && harmless > 300, "{errors} errors, {harmless} do no harm");
    for number in 0..300 {
        let len = mixed(number) as usize % bytes.len();
        assert!(check(&bytes[..len]), "cut to {len} of {} bytes", bytes.len());
    }
    let mut longer = bytes.clone();
    longer.extend([7; 1000]);
    assert!(!check(&longer), "what stands behind the log is not part of it");
}

#[test]
fn a_file_has_one_writer_and_any_number_of_readers() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared.index");
    full(&path);
    let mut writer = Index::edit(&path).unwrap();
    assert!(matches!(Index::edit(&path), Err(Error::InUse(_))));
    assert!(matches!(writer.save(&path), Err(Error::InUse(_))));
    let mut reader = Index::open(&path).unwrap();
    let before = all(&reader);
    let refused = reader.remove(&[9]);
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    assert!(matches!(reader.compact(), Err(Error::ReadOnly(_))));
    writer.remove(&[9, 16]).unwrap();
    writer.compact().unwrap();
    // The writer continues in the new file and keeps its exclusive lock.
    assert!(matches!(Index::edit(&path), Err(Error::InUse(_))));
    writer.remove(&[25]).unwrap();
    assert_eq!(all(&reader), before, "a reader sees what it opened");
    drop(writer);
    let now = Index::edit(&path).unwrap();
    assert_eq!(now.len(), before.len() - 3);
}

#[test]
fn readers_open_while_a_writer_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("busy.index");
    full(&path);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut index = Index::edit(&path).unwrap();
            let code = Codes::from_bytes(70, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
            for number in 0..400 {
                index.upsert_codes(&[1_000_000 + number], &code, None).unwrap();
                if number % 50 == 49 {
                    index.compact().unwrap();
                }
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut seen = 0;
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            let found = Index::open(&path).unwrap().len();
            assert!(found >= seen, "{found} items after {seen}");
            seen = found;
        }
    });
}

#[test]
fn a_link_to_an_index_stays_one_and_what_was_left_goes() {
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("real.index"), directory.path().join("link.index"));
    full(&path);
    let left = ".real.index.abcdEF12.hashbrook.part";
    std::fs::write(directory.path().join(left), "half").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut index = Index::edit(&link).unwrap();
        index.remove(&[9]).unwrap();
        index.compact().unwrap();
        drop(index);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!Index::open(&path).unwrap().contains(9).unwrap());
        let mut names: Vec<_> = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["link.index", "real.index"]);
    }
}

#[test]
fn changes_to_a_file_that_is_gone_are_not_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.index"), directory.path().join("other"));
    let code = Codes::from_bytes(70, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
    // The file is deleted, replaced by another index, or replaced by something else.
    for round in 0..3 {
        full(&path);
        let mut index = Index::edit(&path).unwrap();
        let before = all(&index);
        match round {
            0 => std::fs::remove_file(&path).unwrap(),
            1 => {
                full(&other);
                std::fs::rename(&other, &path).unwrap();
            }
            _ => {
                std::fs::write(&other, "something else").unwrap();
                std::fs::rename(&other, &path).unwrap();
            }
        }
        let standing = std::fs::read(&path).ok();
        for refused in [
            index.add_codes(&[1_000_001], &code, None),
            index.remove(&[9]).map(drop),
            index.set_label_names(LabelNames::new()),
            index.compact(),
        ] {
            let Err(Error::NotAsOpened { problem, .. }) = &refused else { panic!("{refused:?}") };
            assert!(problem.contains("moved, deleted or replaced"), "{problem}");
        }
        assert_eq!(std::fs::read(&path).ok(), standing, "what was put there stays");
        // The reader still maps the old file, as it does if a writer replaces the file.
        assert_eq!(all(&index), before);
    }
}

#[cfg(unix)]
#[test]
fn a_mapped_file_that_others_change_is_an_error_and_a_loaded_one_does_not_care() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.index"), directory.path().join("other.index"));
    let mut index = Index::of_codes(70).unwrap();
    (0..20).for_each(|number| change(&mut index, number));
    index.save(&other).unwrap();
    let mut other = std::fs::read(&other).unwrap();
    full(&path);
    let longer = std::fs::metadata(&path).unwrap().len() as usize + 5000;
    other.resize(longer, 0);
    let cut = |len: u64| std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len);
    let code = Codes::from_bytes(70, &[1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
    for (round, expected) in ["bytes, it had", "bytes, it had", "wrote over it"].iter().enumerate()
    {
        full(&path);
        let (mut writer, reader) = (Index::edit(&path).unwrap(), Index::open(&path).unwrap());
        let mut loaded = Index::load(&path).unwrap();
        let before = all(&reader);
        // Changes by a regular writer do not invalidate the reader.
        writer.remove(&[25]).unwrap();
        assert_eq!(all(&reader), before);
        let whole = std::fs::read(&path).unwrap();
        match round {
            0 => cut(0).unwrap(),
            1 => cut(longer as u64 - 5001).unwrap(),
            // Overwritten in place, as `cp` does.
            _ => std::fs::write(&path, &other).unwrap(),
        }
        let standing = std::fs::read(&path).unwrap();
        let mut refused = vec![
            writer.add_codes(&[1_000_001], &code, None),
            writer.compact(),
            reader.save(directory.path().join("copy.index")),
        ];
        for index in [&reader, &writer] {
            refused.extend([
                index.search_codes(&code, 3).map(drop),
                index.within_codes(&code, 3).map(drop),
                index.duplicates(3).map(drop),
                index.ids().map(drop),
                index.last_id().map(drop),
                index.get(9).map(drop),
                index.contains(9).map(drop),
                index.build_search_structures(),
                index.verify(),
            ]);
        }
        for refused in refused {
            let Err(Error::NotAsOpened { problem, .. }) = &refused else { panic!("{refused:?}") };
            assert!(problem.contains(expected), "{problem}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), standing, "what was put there stays");
        // The reader may have cached the changed bytes, so restoring the file does not help.
        std::fs::write(&path, &whole).unwrap();
        assert!(matches!(reader.search_codes(&code, 3), Err(Error::NotAsOpened { .. })));

        loaded.verify().unwrap();
        assert_eq!(all(&loaded), before);
        // The loaded index no longer depends on the file.
        loaded.add_codes(&[1_000_001], &code, None).unwrap();
        loaded.compact().unwrap();
        loaded.save(directory.path().join("copy.index")).unwrap();
        let copy = Index::open(directory.path().join("copy.index")).unwrap();
        assert_eq!(copy.len(), before.len() + 1);
        drop(writer);
    }
}

#[cfg(unix)]
#[test]
fn verification_looks_again_at_what_was_sound() {
    use std::os::unix::fs::FileExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    full(&path);
    let index = Index::open(&path).unwrap();
    index.verify().unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[7; 64], len / 2).unwrap();
    let found = index.verify().unwrap_err().to_string();
    assert!(found.contains("have checksum"), "{found}");
}

#[test]
fn renewal_takes_all_items_and_no_others() {
    let digits = hashbrook::dataset::digits();
    let dim = hashbrook::dataset::Digits::DIM;
    let features = Features::new(&digits.features, dim).unwrap();
    let all_rows = hashbrook::Batch::new(features, Labels::single(&digits.labels)).unwrap();
    let mut model = Method::named("bsodh").unwrap().start(dim, 48, 1).unwrap();
    model.learn(all_rows.slice(0..500)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("digits.index");
    let ids: Vec<u64> = (0..1000).rev().collect();
    let mut index = Index::new(model.hash_function());
    index.add(&ids, features.slice(0..1000), Some(Labels::single(&digits.labels[..1000]))).unwrap();
    index.save(&path).unwrap();
    model.learn(all_rows.slice(500..1500)).unwrap();
    let newer = model.hash_function();
    let mut index = Index::edit(&path).unwrap();
    let before = all(&index);
    for (ids, rows) in [(&ids[1..], 1..1000), (&ids[..], 0..999)] {
        assert!(index.renew(newer.clone(), ids, features.slice(rows)).is_err());
    }
    let mut others = ids.clone();
    others[3] = 5000;
    let refused = index.renew(newer.clone(), &others, features.slice(0..1000));
    assert!(matches!(refused, Err(Error::NotRenewed { .. })), "{refused:?}");
    assert_eq!(all(&index), before);
    index.renew(newer.clone(), &ids, features.slice(0..1000)).unwrap();
    let codes = newer.encode(features.slice(0..1000)).unwrap();
    drop(index);
    let index = Index::open(&path).unwrap();
    assert_eq!(index.function().unwrap().parts(), newer.parts());
    for (at, &id) in ids.iter().enumerate() {
        let item = index.get(id).unwrap().unwrap();
        assert_eq!((&item.code[..], &item.labels[..]), (codes.code(at), &[digits.labels[at]][..]));
    }
}

/// Path of the file that the first version wrote for [`full`]; the file never changes.
fn first_version() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/version-1.index")
}

#[test]
fn files_of_the_first_version_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("now.index");
    full(&path);
    assert_eq!(answers(&first_version()).unwrap(), answers(&path).unwrap());
    // The file can also be changed.
    let copy = directory.path().join("copy.index");
    std::fs::copy(first_version(), &copy).unwrap();
    let mut index = Index::edit(&copy).unwrap();
    index.remove(&[4]).unwrap();
    index.compact().unwrap();
    index.verify().unwrap();
}
