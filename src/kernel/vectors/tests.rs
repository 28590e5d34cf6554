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
        .flat_map(move |format| [true, false].map(|unit| VectorRows { format, dim, unit }))
}

/// Prepares vectors in plain code, and returns them with their lengths.
fn prepared(
    given: &[f32],
    unit: bool,
    (center, scale): (&[f32], &[f32]),
) -> (Vec<f32>, Vec<Lengths>) {
    let (mut rows, mut lengths, mut direct) = (Vec::new(), Vec::new(), Vec::new());
    for vector in given.chunks_exact(center.len()) {
        let centred: Vec<f32> =
            vector.iter().zip(center).zip(scale).map(|((x, c), s)| (x - c) * s).collect();
        let length = |row: &[f32]| squared_norm(row).sqrt() as f32;
        lengths.push(Lengths { prepared: length(&centred), given: length(vector) });
        direction(&centred, &mut direct);
        rows.extend(if unit { &direct } else { &centred });
    }
    (rows, lengths)
}

/// Computes scores by their definition, in double precision.
fn naive(metric: VectorMetric, query: &[f32], row: &[f32]) -> f64 {
    let product = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let lengths = (product(query, query) * product(row, row)).sqrt();
    match metric {
        VectorMetric::Cosine if lengths > 0.0 => product(query, row) / lengths,
        VectorMetric::Cosine => 0.0,
        VectorMetric::InnerProduct => product(query, row),
        VectorMetric::L2 => {
            let off: Vec<f32> = query.iter().zip(row).map(|(a, b)| a - b).collect();
            product(&off, &off).sqrt()
        }
    }
}

#[test]
fn scores_are_those_of_the_vectors_as_given_by_every_instruction_set() {
    for dim in [1, 2, 7, 15, 16, 17, 31, 32, 33, 64, 100, 128, 300, 784] {
        let (center, scale) = (vectors(dim, 1, 0.7), vec![2.0; dim]);
        for (rows, metric) in
            all_rows(dim).flat_map(|rows| VectorMetric::ALL.map(|metric| (rows, metric)))
        {
            let mut given = vectors(dim, 41, 3.0);
            given[..dim].fill(0.0);
            given[dim..2 * dim].copy_from_slice(&center);
            let (ready, lengths) = prepared(&given, rows.unit, (&center, &scale));
            let mut bytes = Vec::new();
            rows.encode(&ready, &lengths, &mut bytes);
            assert_eq!(bytes.len(), 41 * rows.bytes());
            let query = vectors(dim, 50, 3.0)[49 * dim..].to_vec();
            let places: Vec<u32> = (0..41).rev().chain([7, 7]).collect();
            let mut expected = vec![0.0; places.len()];
            let packed = VectorQuery::new(metric, &query, Some(&center), Some(&scale));
            rows.scores_by(Instructions::Portable, &packed, &bytes, &places, &mut expected);
            let length = squared_norm(&query).sqrt();
            for (&place, &found) in places.iter().zip(&expected) {
                let at = place as usize;
                let exact = naive(metric, &query, &given[at * dim..][..dim]);
                // Rounding changes the product in proportion to both lengths. A distance changes by
                // the square root of twice that amount.
                let off = if rows.format == VectorFormat::F16 { 1e-3 } else { 0.02 };
                let product = off * length * f64::from(lengths[at].prepared / 2.0) + 1e-5 * length;
                let most = match metric {
                    VectorMetric::Cosine => {
                        product / length / f64::from(lengths[at].given).max(1e-6)
                    }
                    VectorMetric::InnerProduct => product,
                    VectorMetric::L2 => (2.0 * product).sqrt(),
                };
                assert!(
                    (f64::from(found) - exact).abs() <= most + 1e-4,
                    "{rows:?} {metric:?} {found} for {exact}, {most}"
                );
            }
            for instructions in Instructions::available() {
                let mut found = vec![9.0; places.len()];
                rows.scores_by(instructions, &packed, &bytes, &places, &mut found);
                assert_eq!(found, expected, "{instructions:?} {rows:?}");
            }
        }
    }
}

#[test]
fn distances_far_from_the_origin_keep_their_digits() {
    let dim = 32;
    let center = vec![1000.0; dim];
    let given: Vec<f32> = vectors(dim, 20, 1.0).iter().map(|value| value + 1000.0).collect();
    for rows in all_rows(dim).filter(|rows| rows.format == VectorFormat::F16) {
        let (ready, lengths) = prepared(&given, rows.unit, (&center, &vec![1.0; dim]));
        let mut bytes = Vec::new();
        rows.encode(&ready, &lengths, &mut bytes);
        let query = VectorQuery::new(VectorMetric::L2, &given[..dim], Some(&center), None);
        let places: Vec<u32> = (0..20).collect();
        let mut found = vec![9.0; 20];
        rows.scores_by(Instructions::Portable, &query, &bytes, &places, &mut found);
        for (vector, found) in given.chunks_exact(dim).zip(found) {
            let exact = naive(VectorMetric::L2, &given[..dim], vector);
            assert!((f64::from(found) - exact).abs() < 0.15, "{rows:?} {found} for {exact}");
        }
    }
}

#[test]
fn rows_stand_for_the_vectors_that_they_were_made_of() {
    for rows in all_rows(50) {
        let mut given = vectors(50, 3, if rows.unit { 0.2 } else { 40.0 });
        given[50..100].fill(0.0);
        let (ready, lengths) = prepared(&given, rows.unit, (&[0.0; 50], &[1.0; 50]));
        let mut bytes = Vec::new();
        rows.encode(&ready, &lengths, &mut bytes);
        for (vector, row) in ready.chunks(50).zip(bytes.chunks(rows.bytes())) {
            let mut decoded = vec![9.0; 50];
            rows.decode(row, &mut decoded);
            let most = vector.iter().fold(0.0f32, |most, value| most.max(value.abs()));
            let step = most * if rows.format == VectorFormat::F16 { 5e-4 } else { 0.006 };
            for (value, decoded) in vector.iter().zip(&decoded) {
                assert!((value - decoded).abs() <= step, "{rows:?} {decoded} for {value}");
            }
            assert!(rows.is_finite(row));
        }
    }
}

#[test]
fn rows_are_finite_and_scores_are_numbers_whatever_the_input() {
    let wild = [f32::MAX, f32::MIN, f32::INFINITY, f32::NAN, 1e-45, 0.0, -0.0, 1.0];
    for (rows, metric) in
        all_rows(8).flat_map(|rows| VectorMetric::ALL.map(|metric| (rows, metric)))
    {
        for start in 0..8 {
            let vector: Vec<f32> = (0..8).map(|at| wild[(start + at * (at % 3)) % 8]).collect();
            let mut bytes = Vec::new();
            let lengths = Lengths { prepared: f32::MAX, given: f32::MAX };
            rows.encode(&vector, &[lengths], &mut bytes);
            // Bytes of a forged file.
            let made_up = vec![0xFF; rows.bytes()];
            for bytes in [bytes, made_up] {
                for instructions in Instructions::available() {
                    let (mut found, query) = ([9.0], VectorQuery::new(metric, &vector, None, None));
                    rows.scores_by(instructions, &query, &bytes, &[0], &mut found);
                    assert!(found[0].is_finite(), "{rows:?} {found:?}");
                    let is_cosine = metric == VectorMetric::Cosine;
                    assert!(!is_cosine || (-1.0..=1.0).contains(&found[0]), "{rows:?} {found:?}");
                }
            }
        }
    }
}
