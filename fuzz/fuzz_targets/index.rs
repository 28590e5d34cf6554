//! An index file with some changed bytes is opened or refused; an opened index can be searched and
//! changed. Fuzzing disables the comparison of checksums, because almost every input would fail it.

#![no_main]

mod changes;

use std::sync::LazyLock;

use changes::changed;
use hashbrook::{
    Codes, Features, Filter, HashFunction, HashParts, Index, LabelNames, Labels, VectorFormat,
};
use libfuzzer_sys::fuzz_target;

const BITS: usize = 70;

fn codes(count: u8) -> Codes {
    let bytes: Vec<u8> = (0..count).flat_map(|at| [at, 255, at, 0, 7, at, 1, 9, at & 63]).collect();
    Codes::from_bytes(BITS, &bytes).expect("whole codes")
}

/// An index file with everything in it: items, labels, names, and later changes.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("sound.index");
    let mut index = Index::of_codes(BITS).expect("a length there is");
    let ids: Vec<u64> = (0..40).map(|at| 3 * at).collect();
    let labels: Vec<u32> = (0..40).map(|at| at % 3).collect();
    index.add_codes(&ids, &codes(40), Some(Labels::single(&labels))).expect("new ids");
    index.save(&path).expect("room for a file");
    let mut index = Index::edit(&path).expect("a sound file");
    let mut names = LabelNames::default();
    names.id("cat");
    index.set_label_names(names).expect("room for a change");
    index.remove(&[3, 6]).expect("removable");
    index.upsert_codes(&[1, 9], &codes(2), Some(Labels::single(&[1, 7]))).expect("replaceable");
    drop(index);
    std::fs::read(&path).expect("a file")
});

const DIM: usize = 5;

/// An index file that stores vectors, with later changes.
static WITH_VECTORS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("vectors.index");
    let weights = (0..DIM * BITS).map(|at| (at * 7 % 11) as f32 - 5.0).collect();
    let parts = HashParts { unit: true, ..HashParts::linear(DIM, BITS, weights) };
    let function = HashFunction::new(parts).expect("a function");
    let index = Index::with_vectors(function, VectorFormat::I8);
    index.save(&path).expect("room for a file");
    let mut index = Index::edit(&path).expect("a sound file");
    let vectors: Vec<f32> = (0..40 * DIM).map(|at| (at * 5 % 13) as f32 - 6.0).collect();
    let features = Features::new(&vectors, DIM).expect("whole rows");
    let ids: Vec<u64> = (0..40).map(|at| 3 * at).collect();
    index.add(&ids, features, None).expect("new ids");
    index.compact().expect("room for a file");
    index.upsert(&[1, 9], features.slice(0..2), Some(Labels::single(&[1, 7]))).expect("new items");
    drop(index);
    std::fs::read(&path).expect("a file")
});

fuzz_target!(|changes: &[u8]| {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("fuzz.index");
    let (which, changes) =
        changes.split_first().map_or((0, changes), |(first, rest)| (*first, rest));
    let sound = if which & 1 == 0 { &*SOUND } else { &*WITH_VECTORS };
    std::fs::write(&path, changed(sound, changes)).expect("room for a file");
    let Ok(mut index) = Index::edit(&path) else { return };
    let _ = index.verify();
    let Ok(ids) = index.ids() else { return };
    let _ = ids.first().map(|&id| index.get(id));
    let query =
        Codes::from_bytes(index.bits(), &vec![0; index.bits().div_ceil(8)]).expect("a code");
    let _ = index.search_codes(&query, 5);
    let _ = index.filtered(&Filter::all().labels(&[1])).within_codes(&query, 3);
    let _ = index.filtered(&Filter::all().ids(&ids)).search_codes(&query, 30);
    let _ = index.duplicates(1);
    let vector = [0.5; DIM];
    let vector = Features::new(&vector, DIM).expect("a row");
    let _ = index.rerank(20).search(vector, 5);
    let _ = index.rerank(20).within(vector, 30);
    let _ = ids.last().map(|&id| index.vector(id));
    let _ = ids.last().map(|&id| index.set_labels(&[id], Labels::single(&[3])));
    let _ = index.upsert(&[2], vector, None);
    if let Some(function) = index.function().cloned() {
        let _ = index.renew_kept(function);
    }
    let _ = index.remove(&[9, 12]);
    let _ = index.upsert_codes(&[5], &query, None);
    let _ = index.compact();
});
