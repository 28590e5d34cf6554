//! Search structures: in files, with later changes, with filters and weights, and damaged.

use std::time::{Duration, Instant};

use hashbrook::{
    Codes, Dial, Error, Features, Filter, HashFunction, HashParts, Hit, Index, IndexBuilder,
    Labels, SearchStructure, Snapshot, hamming,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Number of items for which an index has a search structure.
const ITEMS: usize = 20_000;
const BITS: usize = 64;

/// Returns a code near one of a few class codes, often equal to another item's code.
fn code(rng: &mut ChaCha8Rng) -> u64 {
    let class = rng.random_range(1..20u64);
    let mut code = class.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..rng.random_range(0..5)).for_each(|_| code ^= 1 << rng.random_range(0..20));
    code
}

fn codes(count: usize, seed: u64) -> Codes {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut codes = Codes::new(BITS).unwrap();
    (0..count).for_each(|_| codes.push(&[code(&mut rng)]).unwrap());
    codes
}

/// Returns ids with gaps.
fn ids(range: std::ops::Range<usize>) -> Vec<u64> {
    range.map(|at| 3 * at as u64 + at as u64 % 2).collect()
}

fn labels(count: usize) -> Vec<u32> {
    (0..count as u32).map(|at| at % 3).collect()
}

/// Compares search results with a scan of every code.
fn check(with: &Snapshot, items: &[(u64, u64, u32)], filter: &Filter, label: Option<u32>) {
    let queries = codes(20, 99);
    for k in [1, 10, 700] {
        let found = with.filtered(filter).search_codes(&queries, k).unwrap();
        compare(&found, &queries, items, label, |sorted| sorted.truncate(k));
    }
    for radius in [0, 2, 7] {
        let found = with.filtered(filter).within_codes(&queries, radius).unwrap();
        compare(&found, &queries, items, label, |sorted| {
            sorted.retain(|hit| hit.distance <= radius);
        });
    }
}

fn compare(
    found: &hashbrook::Hits,
    queries: &Codes,
    items: &[(u64, u64, u32)],
    label: Option<u32>,
    cut: impl Fn(&mut Vec<Hit>),
) {
    for (row, found) in found.iter().enumerate() {
        let of_label = items.iter().filter(|(_, _, of)| label.is_none_or(|label| label == *of));
        let mut sorted: Vec<Hit> = of_label
            .map(|&(id, code, _)| Hit::new(id, hamming(&[code], queries.code(row))))
            .collect();
        sorted.sort_unstable();
        cut(&mut sorted);
        assert_eq!(found, sorted, "query {row}");
    }
}

#[test]
fn a_file_has_its_search_structure_from_the_start_and_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    let (first, more) = (codes(ITEMS, 1), codes(500, 2));
    let mut builder = IndexBuilder::of_codes(&path, BITS).unwrap();
    builder.add_codes(&ids(0..ITEMS), &first, Some(Labels::single(&labels(ITEMS)))).unwrap();
    builder.finish().unwrap();

    let all = |codes: &Codes, ids: &[u64]| -> Vec<(u64, u64, u32)> {
        let labels = labels(codes.len());
        (0..codes.len()).map(|at| (ids[at], codes.code(at)[0], labels[at])).collect()
    };
    let mut items = all(&first, &ids(0..ITEMS));
    let (everything, ones) = (Filter::all(), Filter::all().labels(&[1]));
    for opened in [Index::open(&path), Index::load(&path), Index::edit(&path)] {
        let opened = opened.unwrap();
        assert!(opened.statistics().structure_bytes > 8 * ITEMS / 2);
        opened.verify().unwrap();
        check(&opened, &items, &everything, None);
        check(&opened, &items, &ones, Some(1));
    }

    // Adding, replacing and removing items leave the structure unchanged; compaction rebuilds it.
    let mut index = Index::edit(&path).unwrap();
    let new_ids = ids(ITEMS - 200..ITEMS + 300);
    index.upsert_codes(&new_ids, &more, Some(Labels::single(&labels(500)))).unwrap();
    items.retain(|(id, ..)| !new_ids.contains(id));
    items.extend(all(&more, &new_ids));
    let gone: Vec<u64> = items.iter().map(|item| item.0).filter(|id| id % 7 == 0).collect();
    index.remove(&gone).unwrap();
    items.retain(|(id, ..)| id % 7 != 0);
    for compacted in [false, true] {
        if compacted {
            index.compact().unwrap();
        }
        for index in [&index, &Index::open(&path).unwrap()] {
            assert!(index.statistics().structure_bytes > 4 * ITEMS);
            index.verify().unwrap();
            check(index, &items, &everything, None);
            check(index, &items, &ones, Some(1));
        }
    }

    // With `SearchStructure::None`, compaction drops the structure.
    let with = std::fs::metadata(&path).unwrap().len();
    index.set_search_structure(SearchStructure::None);
    index.compact().unwrap();
    assert_eq!(index.statistics().structure_bytes, 0);
    assert!(std::fs::metadata(&path).unwrap().len() < with);
    check(&index, &items, &everything, None);
    drop(index);
    let builder =
        IndexBuilder::of_codes(&path, BITS).unwrap().search_structure(SearchStructure::None);
    builder.finish().unwrap();
    assert_eq!(Index::open(&path).unwrap().statistics().structure_bytes, 0);
}

#[test]
fn what_is_built_in_the_background_is_found_by_snapshots() {
    let wait = |snapshot: &Snapshot| {
        let start = Instant::now();
        while snapshot.statistics().structure_bytes == 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "nobody builds it");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let codes = codes(ITEMS, 3);
    let mut index = Index::of_codes(BITS).unwrap();
    index.add_codes(&ids(0..ITEMS), &codes, None).unwrap();
    // The structure is built for existing items, for a batch that stays a segment of its own, and
    // for a batch that is merged with other segments.
    index.build_in_background(true);
    wait(&index);
    let mut alone = Index::of_codes(BITS).unwrap();
    alone.build_in_background(true);
    alone.add_codes(&ids(0..ITEMS), &codes, None).unwrap();
    wait(&alone);
    index.add_codes(&ids(ITEMS..2 * ITEMS), &codes, None).unwrap();
    let snapshot = index.snapshot();
    wait(&snapshot);
    let all: Vec<u64> = ids(0..2 * ITEMS);
    let items: Vec<(u64, u64, u32)> =
        all.iter().enumerate().map(|(at, &id)| (id, codes.code(at % ITEMS)[0], 0)).collect();
    check(&snapshot, &items, &Filter::all(), None);
}

#[test]
fn weights_are_searched_by_the_structure_as_by_a_scan() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut weights = vec![0.0; BITS * BITS];
    (0..BITS).for_each(|bit| weights[bit * BITS + bit] = 1.0);
    let mut parts = HashParts::linear(BITS, BITS, weights);
    parts.label_bits = 40;
    let function = HashFunction::new(parts).unwrap();
    let mut rows = |count: usize| -> Vec<f32> {
        let mut rows = Vec::with_capacity(count * BITS);
        for _ in 0..count {
            let code = code(&mut rng);
            let sign = |bit: usize| if code >> bit & 1 == 1 { 1.0 } else { -1.0 };
            rows.extend((0..BITS).map(|bit| sign(bit) * rng.random_range(0.05f32..1.5)));
        }
        rows
    };
    let (items, queries) = (rows(ITEMS), rows(30));
    let items = Features::new(&items, BITS).unwrap();
    let queries = Features::new(&queries, BITS).unwrap();
    let mut with = Index::new(function.clone());
    let mut without = Index::new(function);
    without.set_search_structure(SearchStructure::None);
    for index in [&mut with, &mut without] {
        let labels = labels(ITEMS);
        index.add(&ids(0..ITEMS), items, Some(Labels::single(&labels))).unwrap();
    }
    with.build_search_structures().unwrap();
    let gone: Vec<u64> = ids(0..ITEMS).into_iter().filter(|id| id % 5 == 0).collect();
    let filter = Filter::all().labels(&[0, 2]);
    for round in 0..2 {
        for dial in [Dial::new(4, 1), Dial::new(1, 3), Dial::new(0, 1), Dial::new(700, 33)] {
            for float_query in [false, true] {
                let dial = dial.as_ref().unwrap().float_query(float_query);
                let all = Filter::all();
                for filter in [&all, &filter] {
                    let search = |index: &Index, k| {
                        index.filtered(filter).dial(dial).search(queries, k).unwrap()
                    };
                    for k in [1, 10, 500] {
                        assert_eq!(search(&with, k), search(&without, k), "{dial:?} {k} {round}");
                    }
                    let within = |index: &Index, radius| {
                        index.filtered(filter).dial(dial).within(queries, radius).unwrap()
                    };
                    let tenth = search(&without, 10).row(0)[9].distance;
                    for radius in [0, tenth, tenth + 100] {
                        assert_eq!(within(&with, radius), within(&without, radius), "{dial:?}");
                    }
                }
            }
        }
        with.remove(&gone).unwrap();
        without.remove(&gone).unwrap();
    }
    assert!(with.statistics().structure_bytes > 0 && without.statistics().structure_bytes == 0);
}

#[test]
fn damage_of_a_search_structure_is_an_error_and_never_a_wrong_answer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.index");
    let mut index = Index::of_codes(BITS).unwrap();
    index.add_codes(&ids(0..ITEMS), &codes(ITEMS, 7), None).unwrap();
    let plain = {
        let mut plain = Index::of_codes(BITS).unwrap();
        plain.set_search_structure(SearchStructure::None);
        plain.add_codes(&ids(0..ITEMS), &codes(ITEMS, 7), None).unwrap();
        plain.save(&path).unwrap();
        std::fs::metadata(&path).unwrap().len() as usize
    };
    index.save(&path).unwrap();
    let sound = std::fs::read(&path).unwrap();
    assert!(sound.len() > plain + 4 * ITEMS);
    let queries = codes(40, 8);
    let answers = |index: &Index| -> Result<_, Error> {
        Ok((index.search_codes(&queries, 10)?, index.within_codes(&queries, 3)?))
    };
    let expected = answers(&Index::open(&path).unwrap()).unwrap();
    let (mut refused, mut unseen) = (0, 0);
    for at in (plain..sound.len()).step_by(977).chain(sound.len() - 64..sound.len()) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        let opened = Index::open(&path);
        match opened.as_ref().map(answers) {
            Err(Error::Damaged { .. }) | Ok(Err(Error::Damaged { .. })) => refused += 1,
            Ok(Ok(found)) => {
                assert_eq!(found, expected, "byte {at}");
                // The search did not read the damaged byte, or its value does not matter. `verify`
                // reads every byte and reports the damage.
                match opened.unwrap().verify() {
                    Err(error) => assert!(matches!(error, Error::Damaged { .. }), "{error}"),
                    Ok(()) => unseen += 1,
                }
            }
            Err(error) => panic!("byte {at}: {error}"),
            Ok(Err(error)) => panic!("byte {at}: {error}"),
        }
    }
    // Only damage to the padding of the last line goes unnoticed.
    assert!(refused > 100 && unseen <= 64, "{refused} {unseen}");
    for len in [plain, plain + 1000, sound.len() - 1] {
        std::fs::write(&path, &sound[..len]).unwrap();
        assert!(Index::open(&path).is_err(), "cut to {len} bytes");
    }
}
