//! Warnings about the data, or about what was learned from it.

use std::collections::{HashMap, HashSet};

use anyhow::Result;
use hashbrook::{Features, Labels, Model, Scale, Spread};

use super::Run;
use crate::console::{self, count, plural};

/// Spread of the columns in the first rows of a stream.
pub struct Columns {
    spread: Spread,
    /// Minimum and maximum of each column.
    ends: Vec<(f32, f32)>,
}

impl Columns {
    pub fn new(dim: usize) -> Columns {
        Columns { spread: Spread::new(dim), ends: vec![(f32::MAX, f32::MIN); dim] }
    }

    pub fn add(&mut self, features: Features<'_>) -> Result<()> {
        for row in features.values().chunks_exact(features.dim()) {
            for ((low, high), value) in self.ends.iter_mut().zip(row) {
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }
        Ok(self.spread.add(features)?)
    }

    /// Returns the deviation, the range and the index of each column that is not constant.
    fn moving(&self) -> Vec<(f64, f64, usize)> {
        let ranges = self.ends.iter().map(|(low, high)| f64::from(*high) - f64::from(*low));
        let all = self.spread.deviations().into_iter().zip(ranges).enumerate();
        let all = all.map(|(column, (deviation, range))| (deviation, range, column));
        all.filter(|(deviation, ..)| *deviation > 0.0).collect()
    }
}

/// Ratio of column deviations above which a warning is printed.
const MUCH: f64 = 100.0;

/// Minimum number of rows for a warning.
const FEW_ROWS: usize = 10;

/// Prints warnings. `start` holds the weights before the run.
pub fn remark(run: &Run<'_>, model: &Model, start: &[f32]) -> Result<()> {
    scale(run, model);
    order(run, model);
    let (function, warnings) = model.hash_function_and_warnings()?;
    warnings.iter().for_each(console::note);
    let method = model.method().name();
    if method != "lsh" && model.is_warm() && function.parts().weights == start {
        let remedy = match run.batch {
            1 => "more rows".to_owned(),
            batch => {
                format!(
                    "more rows, or more batches: try a smaller --batch than {}",
                    count(batch as u64)
                )
            }
        };
        console::note(format_args!(
            "nothing was learned yet: the projection is still what it was. {method} may need {remedy}"
        ));
        return Ok(());
    }
    let Some(labels) = run.labels else { return Ok(()) };
    let codes = function.encode(Features::new(&run.last, function.dim())?)?;
    let end = run.skipped + run.rows;
    let labels = labels.view().slice(end - codes.len()..end);
    let different = (0..labels.len()).map(|row| labels.row(row)).collect::<HashSet<_>>().len();
    let codes = codes.iter().collect::<HashSet<_>>().len();
    if different >= 3 && codes * 2 < different {
        let hint = match method {
            "bsodh" => {
                ". With many labels, dissimilar_weight should be near similar_weight / (labels - 1)"
            }
            _ => "",
        };
        console::note(format_args!(
            "the last {} have {} different labels, but only {}{hint}",
            plural(labels.len() as u64, "row"),
            count(different as u64),
            plural(codes as u64, "different code"),
        ));
    }
    Ok(())
}

/// Warns of columns of different scale if the model does not scale them.
fn scale(run: &Run<'_>, model: &Model) {
    let Some(columns) = run.columns.as_ref().filter(|_| model.scale() == Scale::None) else {
        return;
    };
    if run.rows < FEW_ROWS {
        return;
    }
    if let Some((small, large)) = uneven(columns.moving()) {
        console::note(format_args!(
            "column {} spreads {} times as far as column {} (deviations of {} and {}; columns count \
             from 0), and counts for as much more. --scale standard lets all columns count alike",
            large.1,
            count((large.0 / small.0) as u64),
            small.1,
            short(large.0),
            short(small.0),
        ));
    }
}

/// Returns the deviation and the index of a column with a small spread, and of a column with at
/// least [`MUCH`] times that spread.
///
/// In images and counts some columns are rarely nonzero. Such columns have a small deviation but a
/// large range, and are no reason for a warning. Other outliers are tolerated in up to one of
/// twenty columns.
fn uneven(mut columns: Vec<(f64, f64, usize)>) -> Option<((f64, usize), (f64, usize))> {
    columns.sort_by(|one, two| one.0.total_cmp(&two.0));
    let (&small, &large) = (columns.get(columns.len() / 20)?, columns.last()?);
    let much = large.0 >= MUCH * small.0 && large.1 >= MUCH * small.1;
    much.then_some(((small.0, small.2), (large.0, large.2)))
}

/// Formats a number with three significant digits.
fn short(number: f64) -> String {
    let digits = 2 - (number.log10().floor() as i32).min(2);
    if (0..6).contains(&digits) && number < 1e6 {
        format!("{number:.*}", digits as usize)
    } else {
        format!("{number:.2e}")
    }
}

/// Warns of rows sorted by label where their order matters: in the warm-up, and, for methods that
/// learn batch by batch, in each batch. `brook` adds anchors for later labels, which costs time and
/// memory; most other methods learn worse codes.
fn order(run: &Run<'_>, model: &Model) {
    let (Some(labels), Some(_)) = (run.labels, &run.columns) else { return };
    let labels = labels.view().slice(run.skipped..labels.len());
    let warmup = model.warmup().min(run.rows);
    let batch = run.batch.min(run.rows);
    let is_brook = model.method().name() == "brook";
    let mut looked_at = vec![(warmup, "which the model warms up with")];
    if !is_brook {
        looked_at.push((batch, "which are learned together"));
    }
    let advice = match is_brook {
        true => "Mixed rows take less time and memory",
        false => "It should be mixed: most methods learn worse codes from sorted rows",
    };
    for (rows, what) in looked_at {
        if let Some((found, all)) = few_labels(labels, rows) {
            console::note(format_args!(
                "the first {}, {what}, have {} of {}: is the stream sorted by label? {advice}",
                plural(rows as u64, "row"),
                count(found as u64),
                plural(all as u64, "label"),
            ));
            return;
        }
    }
}

/// Returns the number of labels in the first rows and the number of all labels. Returns `None`
/// unless the first rows have at most about half the labels expected of a mixed stream.
fn few_labels(labels: Labels<'_>, first: usize) -> Option<(usize, usize)> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let mut found = 0;
    for row in 0..labels.len() {
        if row == first {
            found = counts.len();
        }
        labels.row(row).iter().for_each(|&label| *counts.entry(label).or_default() += 1);
    }
    if first < FEW_ROWS || first >= labels.len() {
        return None;
    }
    let rows = labels.len() as f64;
    let missed = |&rare: &usize| (1.0 - rare as f64 / rows).max(0.0).powf(first as f64);
    let expected: f64 = counts.values().map(|rare| 1.0 - missed(rare)).sum();
    // The factor exceeds 0.5, because slightly fewer than 2 of 2 labels are expected.
    ((found as f64) < 0.505 * expected).then_some((found, counts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_uneven_when_more_than_a_few_are() {
        let columns = |rows: &[[f32; 3]]| {
            let mut columns = Columns::new(3);
            columns.add(Features::new(rows.as_flattened(), 3).unwrap()).unwrap();
            uneven(columns.moving()).map(|(small, large)| (small.1, large.1))
        };
        assert_eq!(columns(&[[0.0, 7.0, 0.0], [2.0, 7.0, 198.0]]), None, "one is constant");
        assert_eq!(columns(&[[0.0, 0.0, 7.0], [2.0, 202.0, 9.0]]), Some((0, 1)));
        assert_eq!(columns(&[]), None);
        // A column that is rarely nonzero, but then as large as any other.
        let rare: Vec<[f32; 3]> = (0..100_000).map(|at| [0.0, (at % 2) as f32, 0.0]).collect();
        let mut rare = rare;
        rare[9] = [1.0, 1.0, 1.0];
        assert_eq!(columns(&rare), None);
        let pixels = |small: usize| {
            let column = |at: usize| if at < small { (0.01, 0.02, at) } else { (50.0, 99.0, at) };
            uneven((0..100).map(column).collect())
        };
        assert_eq!(pixels(5), None);
        assert_eq!(pixels(6), Some(((0.01, 5), (50.0, 99))));
        assert_eq!(
            [0.01234, 5.4321, 314.9, 99999.0].map(short),
            ["0.0123", "5.43", "315", "99999"]
        );
        assert_eq!([1e-9, 3.2e12].map(short), ["1.00e-9", "3.20e12"]);
    }

    #[test]
    fn the_first_rows_of_a_mixed_stream_have_most_labels() {
        let of = |labels: &[u32], first| few_labels(Labels::single(labels), first);
        let mixed: Vec<u32> = (0..1000).map(|row| row % 10).collect();
        let mut sorted = mixed.clone();
        sorted.sort_unstable();
        assert_eq!(of(&mixed, 100), None);
        assert_eq!(of(&sorted, 100), Some((1, 10)));
        assert_eq!(of(&sorted, 500), Some((5, 10)));
        assert_eq!(of(&sorted, 800), None);
        assert_eq!(of(&sorted, 1000), None, "they are all rows");
        // Rare labels may be missing from the first rows.
        let rare: Vec<u32> = (0..1000).map(|row| u32::from(row > 990) * row).collect();
        assert_eq!(of(&rare, 100), None);
        let two: Vec<u32> = (0..100).map(|row| row / 50).collect();
        assert_eq!(of(&two, 50), Some((1, 2)));
        assert_eq!(of(&[], 0), None);
    }
}
