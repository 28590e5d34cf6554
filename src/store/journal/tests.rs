use super::*;
use crate::store::description::VectorPrecision;

const SHAPE: RowShape = RowShape { dim: 3, precision: VectorPrecision::F32 };

fn put(journal: &mut Journal, ids: &[u64]) -> Vec<u64> {
    let start = journal.begin().unwrap();
    let mut bytes = Vec::new();
    let names = [format!("label {}", ids[0])];
    let record = NewRecord::put(ids[0] as u32, &names, ids.len(), &mut bytes);
    let mut places = Vec::new();
    for &id in ids {
        places.push(start + bytes.len() as u64);
        let (vector, payload) = ([id as f32, 0.5, -1.0], vec![7; id as usize]);
        let text = format!("item {id}");
        let (labels, payload) = (&[1, id as u32][..], &payload[..]);
        RowToPut { id, replaces: NOWHERE, vector: &vector, labels, text: &text, payload }
            .encode(SHAPE, &mut bytes);
    }
    record.end(start, &mut bytes);
    journal.append(&bytes).unwrap();
    places
}

fn ids_in(directory: &Path) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    Journal::open(directory, SHAPE, Extent::NEW, START, &mut |record| {
        if let Change::Put(put) = record.change {
            assert_eq!(put.names, [format!("label {}", put.first)]);
            ids.extend(put.rows.iter().map(|(_, row)| row.id));
        }
        Ok(())
    })?;
    Ok(ids)
}

#[test]
fn what_was_appended_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("journal");
    Journal::create(&directory, SHAPE).unwrap();
    let mut journal =
        Journal::open(&directory, SHAPE, Extent::NEW, START, &mut |_| panic!("it is empty"))
            .unwrap();
    let places = [put(&mut journal, &[1, 2, 300]), put(&mut journal, &[4])].concat();
    for (place, id) in places.into_iter().zip([1, 2, 300, 4]) {
        let row = journal.files().row(place).unwrap();
        assert_eq!((row.id, row.labels, row.text), (id, vec![1, id as u32], format!("item {id}")));
        assert_eq!((row.vector, row.payload.len()), (vec![id as f32, 0.5, -1.0], id as usize));
    }
    drop(journal);
    assert_eq!(ids_in(&directory).unwrap(), [1, 2, 300, 4]);
}

/// After any cut or flipped byte, acknowledged changes are present or their loss is reported.
/// Unacknowledged changes are present completely or not at all.
#[test]
fn every_cut_and_every_flipped_byte_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("journal");
    Journal::create(&directory, SHAPE).unwrap();
    let mut journal =
        Journal::open(&directory, SHAPE, Extent::NEW, START, &mut |_| Ok(())).unwrap();
    put(&mut journal, &[1, 2]);
    drop(journal);
    let (path, marks) = (directory.join("00000000.journal"), directory.join("end"));
    let before = (std::fs::read(&path).unwrap(), std::fs::read(&marks).unwrap());
    let mut journal =
        Journal::open(&directory, SHAPE, Extent::NEW, START, &mut |_| Ok(())).unwrap();
    put(&mut journal, &[3]);
    drop(journal);
    let after = (std::fs::read(&path).unwrap(), std::fs::read(&marks).unwrap());
    for cut in 0..=after.0.len() {
        // The process was killed before the note was written: the last change may be present.
        std::fs::write(&path, &after.0[..cut]).unwrap();
        std::fs::write(&marks, &before.1).unwrap();
        let found = ids_in(&directory);
        match cut {
            _ if cut == after.0.len() => assert_eq!(found.unwrap(), [1, 2, 3]),
            _ if cut >= before.0.len() => assert_eq!(found.unwrap(), [1, 2]),
            _ => assert!(found.is_err(), "{cut}"),
        }
        // Another program cut the file short.
        std::fs::write(&path, &after.0[..cut]).unwrap();
        std::fs::write(&marks, &after.1).unwrap();
        assert_eq!(ids_in(&directory).is_ok(), cut == after.0.len(), "{cut}");
    }
    for flipped in 0..after.0.len() {
        let mut bytes = after.0.clone();
        bytes[flipped] ^= 1 << (flipped % 8);
        std::fs::write(&path, &bytes).unwrap();
        std::fs::write(&marks, &after.1).unwrap();
        assert!(ids_in(&directory).is_err(), "byte {flipped}");
    }
}

#[test]
fn a_file_whose_creation_was_cut_off_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().join("journal");
    Journal::create(&directory, SHAPE).unwrap();
    let mut journal =
        Journal::open(&directory, SHAPE, Extent::NEW, START, &mut |_| Ok(())).unwrap();
    put(&mut journal, &[1, 2]);
    drop(journal);
    for begun in [&b""[..], b"HBJ", &[0; FIRST as usize]] {
        std::fs::write(directory.join("00000001.journal"), begun).unwrap();
        for _ in 0..2 {
            assert_eq!(ids_in(&directory).unwrap(), [1, 2]);
        }
    }
    let mut journal =
        Journal::open(&directory, SHAPE, Extent::NEW, START, &mut |_| Ok(())).unwrap();
    let places = put(&mut journal, &[3]);
    assert_eq!(file_of(places[0]), 0);
    drop(journal);
    assert_eq!(ids_in(&directory).unwrap(), [1, 2, 3]);
}
