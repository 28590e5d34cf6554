use super::rows::direction;
use super::*;
use crate::kernel::squared_norm;

fn vectors(dim: usize, count: usize, scale: f32) -> Vec<f32> {
    let value = |at: usize| ((at * at % 1013) as f32 * 0.37 + at as f32).sin() * scale;
    (0..dim * count).map(value).collect()
}

fn all_rows(dim: usize) -> impl Iterator<Item = VectorRows> {
    [VectorFormat::F16, VectorFormat::I8]
        .into_iter()
        .flat_map(move |format| [false, true].map(|lengths| VectorRows { format, dim, lengths }))
}

/// Cosines as they are defined, in double precision.
fn naive(query: &[f32], row: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let lengths = (product(query, query) * product(row, row)).sqrt();
    if lengths > 0.0 { product(query, row) / lengths } else { 0.0 }
}

#[test]
fn cosines_are_those_of_the_vectors_by_every_instruction_set() {
    for dim in [1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 100, 128, 300, 784] {
        for rows in all_rows(dim) {
            let scale = if rows.lengths { 1e6 } else { 1.0 };
            let mut given = vectors(dim, 41, scale);
            given[..dim].fill(0.0);
            if !rows.lengths {
                let mut unit = Vec::new();
                for vector in given.chunks_exact_mut(dim) {
                    direction(vector, &mut unit);
                    vector.copy_from_slice(&unit);
                }
            }
            let mut bytes = Vec::new();
            rows.encode(&given, &mut bytes);
            assert_eq!(bytes.len(), 41 * rows.bytes());
            let query = vectors(dim, 50, 3.0)[49 * dim..].to_vec();
            let places: Vec<u32> = (0..41).rev().chain([7, 7]).collect();
            let mut expected = vec![0.0; places.len()];
            let packed = VectorQuery::new(&query);
            rows.cosines_by(Instructions::Portable, &packed, &bytes, &places, &mut expected);
            let most = if rows.format == VectorFormat::F16 { 5e-4 } else { 0.02 };
            for (&place, &found) in places.iter().zip(&expected) {
                let at = place as usize;
                let exact = naive(&query, &given[at * dim..][..dim]);
                assert!((f64::from(found) - exact).abs() < most, "{rows:?} {found} for {exact}");
                let mut kept = vec![0.0; dim];
                rows.decode(&bytes[at * rows.bytes()..][..rows.bytes()], &mut kept);
                let exact = naive(&query, &kept);
                // A row of unit length in half precision is only nearly so.
                assert!((f64::from(found) - exact).abs() < 3e-4, "{rows:?} {found} for {exact}");
            }
            for instructions in Instructions::available() {
                let mut found = vec![9.0; places.len()];
                rows.cosines_by(instructions, &packed, &bytes, &places, &mut found);
                assert_eq!(found, expected, "{instructions:?} {rows:?}");
            }
        }
    }
}

#[test]
fn rows_stand_for_the_vectors_that_they_were_made_of() {
    for rows in all_rows(50) {
        let mut given = vectors(50, 3, if rows.lengths { 40.0 } else { 0.2 });
        given[50..100].fill(0.0);
        let mut bytes = Vec::new();
        rows.encode(&given, &mut bytes);
        for (vector, row) in given.chunks(50).zip(bytes.chunks(rows.bytes())) {
            let mut kept = vec![9.0; 50];
            rows.decode(row, &mut kept);
            let length = squared_norm(vector).sqrt();
            // Whole numbers are kept as directions alone, of unit length unless lengths are kept.
            let scaled = rows.format == VectorFormat::I8 && !rows.lengths && length > 0.0;
            let factor = if scaled { 1.0 / length } else { 1.0 };
            let most = vector.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            let step = most * if rows.format == VectorFormat::F16 { 5e-4 } else { 0.006 };
            for (value, kept) in vector.iter().zip(&kept) {
                let value = f64::from(*value) * factor;
                let off = (value - f64::from(*kept)).abs();
                assert!(off <= f64::from(step) * factor.max(1.0), "{rows:?} {kept} for {value}");
            }
            assert!(rows.is_finite(row));
        }
    }
}

#[test]
fn whatever_numbers_come_rows_are_finite_and_cosines_are_cosines() {
    let wild = [f32::MAX, f32::MIN, f32::INFINITY, f32::NAN, 1e-45, 0.0, -0.0, 1.0];
    for rows in all_rows(8) {
        for start in 0..8 {
            let vector: Vec<f32> = (0..8).map(|at| wild[(start + at * (at % 3)) % 8]).collect();
            let mut bytes = Vec::new();
            rows.encode(&vector, &mut bytes);
            if rows.lengths {
                assert!(rows.is_finite(&bytes), "{rows:?} {vector:?}");
            }
            // Bytes of a file that someone made up.
            let made_up = vec![0xFF; rows.bytes()];
            for bytes in [bytes, made_up] {
                for instructions in Instructions::available() {
                    let mut found = [9.0];
                    rows.cosines_by(
                        instructions,
                        &VectorQuery::new(&vector),
                        &bytes,
                        &[0],
                        &mut found,
                    );
                    assert!((-1.0..=1.0).contains(&found[0]), "{rows:?} {found:?}");
                }
            }
        }
    }
}
