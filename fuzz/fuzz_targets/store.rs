//! A store with changed bytes in one file is opened, or refused and repaired; an opened store can
//! be searched and changed. Fuzzing disables the comparison of checksums, because almost every
//! input would fail it.

#![no_main]

mod changes;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use changes::changed;
use hashbrook::store::{Description, ItemId, Put, Queries, Renewal, Search, Settings};
use hashbrook::{Features, Method, Store};
use libfuzzer_sys::fuzz_target;

const DIM: usize = 3;

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.renewal = Renewal::Never;
    settings
}

fn put(store: &Store, first: u64) -> hashbrook::Result<()> {
    let ids: Vec<ItemId> = (first..first + 6).map(|id| format!("item {id}").as_str().into()).collect();
    let vectors: Vec<f32> = (0..6 * DIM).map(|at| (at * 5 % 13) as f32 - first as f32).collect();
    let labels: Vec<Vec<String>> = (0..6).map(|at| vec![format!("label {}", at % 2)]).collect();
    let payloads = vec![b"{}".to_vec(); 6];
    let put = Put::new(&ids, Features::new(&vectors, DIM)?)?;
    store.put(put.labels(&labels)?.payloads(&payloads)?).map(|_| ())
}

/// The files of a store after items were put, replaced, labelled and removed.
static SOUND: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory");
    let dir = directory.path().join("store");
    let mut description = Description::new(Method::named("brook").expect("a method"), DIM, 16);
    description.ids = hashbrook::store::IdKind::Texts;
    description.warmup = Some(4);
    let store = Store::create(&dir, &description, settings()).expect("a store");
    put(&store, 0).expect("room");
    put(&store, 3).expect("room");
    store.remove(&["item 2".into()]).expect("room");
    store.label(&["item 4".into()], &[vec!["other".to_owned()]]).expect("room");
    store.close().expect("room");
    let mut files = Vec::new();
    gather(&dir, Path::new(""), &mut files);
    files.sort();
    files
});

fn gather(root: &Path, below: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(root.join(below)).expect("a directory") {
        let entry = entry.expect("an entry");
        let path = below.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => gather(root, &path, files),
            false => files.push((path.clone(), std::fs::read(entry.path()).expect("a file"))),
        }
    }
}

fn is_of_journal(path: &Path) -> bool {
    path.starts_with("journal")
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, changes)) = bytes.split_first() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    // Mostly files of the journal are changed, because the other files have fuzz targets of their
    // own.
    let journal: Vec<usize> =
        (0..SOUND.len()).filter(|&at| is_of_journal(&SOUND[at].0)).collect();
    let hit = match which % 4 {
        0 => usize::from(which >> 2) % SOUND.len(),
        _ => journal[usize::from(which >> 2) % journal.len()],
    };
    for (at, (path, bytes)) in SOUND.iter().enumerate() {
        // Without the index derived from the journal, the store reads the whole journal.
        if which % 4 == 3 && (path.extension().is_some_and(|kind| kind == "index")) {
            continue;
        }
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        let bytes = if at == hit { changed(bytes, changes) } else { bytes.clone() };
        std::fs::write(path, bytes).expect("room");
    }
    let repaired = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), settings()).or_else(|_| {
        let to = repaired.path().join("store");
        Store::repair(directory.path(), &to)?;
        Store::open(to, settings())
    });
    let Ok(store) = store else { return };
    let _ = store.verify();
    let _ = store.get(&"item 4".into());
    let vector = [0.5; DIM];
    let query = Features::new(&vector, DIM).expect("a row");
    let _ = store.search(Queries::Vectors(query), 3, &Search::default());
    let _ = put(&store, 5);
    let _ = store.remove(&["item 1".into()]);
    let _ = store.close();
});
