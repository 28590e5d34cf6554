//! Checks of the contract that every learner must satisfy, to run on your own learners.
//!
//! ```
//! use hashbrook::check::{Subject, check_learner};
//! use hashbrook::Method;
//!
//! let start = |dim: usize, bits: usize, seed: u64| Method::named("lsh")?.start(dim, bits, seed);
//! let report = check_learner(&Subject {
//!     skip: &[("learns", "random projections do not")],
//!     ..Subject::new(&start)
//! });
//! report.assert();
//! ```
//!
//! | check | requirement |
//! |---|---|
//! | `same_seed_same_function` | equal seeds and streams give equal functions |
//! | `usable_before_any_data` | a function is available and usable before the first batch |
//! | `freezing_does_not_disturb` | requesting functions between batches does not change what is learned |
//! | `failed_batch_changes_nothing` | a rejected batch of another dimension has no effect |
//! | `batch_of_one` | learning row by row gives codes that separate classes |
//! | `one_class_only` | with a single class, rows are no farther apart than with random labels |
//! | `late_classes` | classes that first appear late in the stream are separated as well |
//! | `several_labels` | rows are separated even if some have several labels and others none |
//! | `any_batches` | splitting the stream into other batches does not change the function |
//! | `resumes` | saving, loading and continuing equals uninterrupted learning |
//! | `bounded_memory` | the learner's size does not grow with the stream |
//! | `stays_finite` | the function is sound after 100,000 rows |
//! | `tells_of_changes` | [`Step::function_changed`](crate::Step) is set whenever the function changes |
//! | `learns` | on four blobs, mAP is well above that of random projections |
//!
//! `any_batches` is for methods that process the stream point by point; for other methods, skip it
//! by name. `resumes` and `bounded_memory` need [`Subject::save`] and [`Subject::load`], and are
//! skipped without them.

mod blobs;

use self::blobs::{BITS, ClassDistances, DIM, blobs, tells_apart};
use crate::dataset::Data;
use crate::eval::{Metric, evaluate};
use crate::labels::LabelList;
use crate::{Batch, Features, HashFunction, HashParts, Learner, Result, learners};

/// Function that starts a learner, given the dimension of the vectors, the length of the codes and
/// a seed.
pub type Start<'a, L> = &'a dyn Fn(usize, usize, u64) -> Result<L>;

/// Function that returns a learner's whole state as bytes.
pub type Save<'a, L> = &'a dyn Fn(&L) -> Vec<u8>;

/// Function that restores a learner from the bytes that [`Save`] returned.
pub type Load<'a, L> = &'a dyn Fn(&[u8]) -> Result<L>;

/// Kind of learner to check.
pub struct Subject<'a, L> {
    /// Starts a learner.
    pub start: Start<'a, L>,
    /// Saves a learner, if the kind supports saving.
    pub save: Option<Save<'a, L>>,
    /// Loads a learner, if the kind supports loading.
    pub load: Option<Load<'a, L>>,
    /// Checks to skip, by name, each with its reason.
    pub skip: &'a [(&'a str, &'a str)],
}

impl<'a, L: Learner> Subject<'a, L> {
    /// Creates a subject with the function that starts its learners. No check is skipped by name,
    /// and learners are neither saved nor loaded.
    pub fn new(start: Start<'a, L>) -> Self {
        Subject { start, save: None, load: None, skip: &[] }
    }
}

/// Outcome of one check.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The requirement holds.
    Passed,
    /// The requirement does not hold, for this reason.
    Failed(String),
    /// The check was skipped, for this reason.
    Skipped(String),
}

/// Outcomes of all checks.
#[derive(Clone, Debug)]
pub struct Report {
    /// Outcome of each check, by name.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// Returns the checks that failed, each with its reason.
    pub fn failures(&self) -> Vec<String> {
        let failure = |(name, outcome): &(&str, Outcome)| match outcome {
            Outcome::Failed(why) => Some(format!("{name}: {why}")),
            _ => None,
        };
        self.outcomes.iter().filter_map(failure).collect()
    }

    /// Asserts that no check failed; for use in tests.
    ///
    /// # Panics
    /// Panics if a check failed; the message names all failed checks.
    pub fn assert(&self) {
        let failures = self.failures();
        assert!(failures.is_empty(), "checks that failed:\n{}", failures.join("\n"));
    }
}

/// Result of a check: `Ok`, or a description of what is wrong.
type Verdict = std::result::Result<(), String>;

/// Check of a subject; returns `None` if the check cannot be run on it.
type Check<L> = fn(&Subject<'_, L>) -> Option<Verdict>;

/// Runs all checks on a kind of learner. This takes a few seconds for a fast learner.
pub fn check_learner<L: Learner>(subject: &Subject<'_, L>) -> Report {
    let checks: [(&'static str, Check<L>); 14] = [
        ("same_seed_same_function", same_seed_same_function),
        ("usable_before_any_data", usable_before_any_data),
        ("freezing_does_not_disturb", freezing_does_not_disturb),
        ("failed_batch_changes_nothing", failed_batch_changes_nothing),
        ("batch_of_one", batch_of_one),
        ("one_class_only", one_class_only),
        ("late_classes", late_classes),
        ("several_labels", several_labels),
        ("any_batches", any_batches),
        ("resumes", resumes),
        ("bounded_memory", bounded_memory),
        ("stays_finite", stays_finite),
        ("tells_of_changes", tells_of_changes),
        ("learns", learns),
    ];
    let outcome = |name: &str, check: Check<L>| {
        if let Some((_, reason)) = subject.skip.iter().find(|(skipped, _)| *skipped == name) {
            return Outcome::Skipped((*reason).to_owned());
        }
        match check(subject) {
            None => Outcome::Skipped("it can neither be saved nor loaded".to_owned()),
            Some(Ok(())) => Outcome::Passed,
            Some(Err(why)) => Outcome::Failed(why),
        }
    };
    let unknown = subject.skip.iter().filter(|(name, _)| checks.iter().all(|(c, _)| c != name));
    let unknown: Vec<&str> = unknown.map(|(name, _)| *name).collect();
    let mut outcomes: Vec<_> =
        checks.into_iter().map(|(name, check)| (name, outcome(name, check))).collect();
    if !unknown.is_empty() {
        let why = format!("there are no checks of these names: {}", unknown.join(", "));
        outcomes.push(("skip", Outcome::Failed(why)));
    }
    Report { outcomes }
}

fn start<L>(subject: &Subject<'_, L>) -> std::result::Result<L, String> {
    (subject.start)(DIM, BITS, 7).map_err(|error| format!("does not start: {error}"))
}

/// Learns all rows in batches of `size`; with `freeze`, requests the function after each batch.
fn run<L: Learner>(learner: &mut L, batch: Batch<'_>, size: usize, freeze: bool) -> Verdict {
    for at in (0..batch.len()).step_by(size) {
        let part = batch.slice(at..batch.len().min(at + size));
        learner
            .learn(part)
            .map_err(|error| format!("does not learn rows from {at} on: {error}"))?;
        if freeze {
            learner.hash_function();
        }
    }
    Ok(())
}

/// Returns a new learner that learned a stream in batches of `size`.
fn after<L: Learner>(
    subject: &Subject<'_, L>,
    batch: Batch<'_>,
    size: usize,
) -> std::result::Result<L, String> {
    let mut learner = start(subject)?;
    run(&mut learner, batch, size, false)?;
    Ok(learner)
}

fn equal(one: &impl Learner, other: &impl Learner, what: &str) -> Verdict {
    match one.hash_function().parts() == other.hash_function().parts() {
        true => Ok(()),
        false => Err(what.to_owned()),
    }
}

/// Fails unless a learner's function encodes vectors to codes of the right count and length.
fn works(learner: &impl Learner) -> Verdict {
    let data = blobs(20, 99);
    let function = learner.hash_function();
    let codes = function.encode(data.batch().features()).map_err(|error| error.to_string())?;
    match (codes.len(), codes.bits()) == (20, BITS) {
        true => Ok(()),
        false => Err(format!("{} codes of {} bits for 20 rows", codes.len(), codes.bits())),
    }
}

fn same_seed_same_function<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let data = blobs(1500, 1);
        let one = after(subject, data.batch(), 100)?;
        let other = after(subject, data.batch(), 100)?;
        equal(&one, &other, "two runs gave two functions")
    })())
}

fn usable_before_any_data<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some(start(subject).and_then(|learner| works(&learner)))
}

fn freezing_does_not_disturb<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let data = blobs(1500, 2);
        let undisturbed = after(subject, data.batch(), 100)?;
        let mut frozen = start(subject)?;
        run(&mut frozen, data.batch(), 100, true)?;
        equal(&undisturbed, &frozen, "the function is another when functions were asked for before")
    })())
}

fn failed_batch_changes_nothing<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let data = blobs(1500, 3);
        let undisturbed = after(subject, data.batch(), 100)?;
        let mut disturbed = start(subject)?;
        let wide = [0.5; 3 * (DIM + 1)];
        for at in (0..1500).step_by(100) {
            let labels = data.batch().slice(0..3).labels();
            let wrong = Features::new(&wide, DIM + 1)
                .and_then(|features| Batch::new(features, labels.expect("labelled")))
                .expect("as it should be, but for its dimension");
            if disturbed.learn(wrong).is_ok() {
                return Err(format!("learned vectors of {} dimensions", DIM + 1));
            }
            run(&mut disturbed, data.batch().slice(at..at + 100), 100, false)?;
        }
        equal(&undisturbed, &disturbed, "batches that failed changed the function")
    })())
}

fn batch_of_one<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let learner = after(subject, blobs(1200, 4).batch(), 1)?;
        works(&learner)?;
        tells_apart(&ClassDistances::of(&learner.hash_function())?, &[0, 1, 2, 3])
    })())
}

fn one_class_only<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    const SLACK: f64 = 0.5;
    let rows = blobs(1500, 5);
    let apart = |labels: Vec<u32>| -> std::result::Result<f64, String> {
        let values = rows.batch().features().values().to_vec();
        let data = Data::new(DIM, values, LabelList::single(labels)).expect("as many as rows");
        let learner = after(subject, data.batch(), 100)?;
        works(&learner)?;
        Ok(ClassDistances::of(&learner.hash_function())?.overall())
    };
    Some((|| {
        let one = apart(vec![3; 1500])?;
        // These labels are independent of the rows, so each class is spread over all blobs.
        let several = apart((0..1500).map(|row| row % 4).collect())?;
        match one <= several + SLACK {
            true => Ok(()),
            false => Err(format!(
                "rows of the only class are {one:.2} bits apart; with labels at random they are \
                 {several:.2}"
            )),
        }
    })())
}

/// Checks classes that first appear one after the other, mixed with rows of earlier classes.
fn late_classes<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    let data = blobs(2400, 6);
    let label = |row: usize| data.batch().labels().expect("labelled").row(row)[0];
    let there: Vec<usize> = (0..2400).filter(|&row| label(row) as usize * 400 <= row).collect();
    let late = data.select(&there);
    Some((|| {
        let learner = after(subject, late.batch(), 100)?;
        works(&learner)?;
        // The last class is also checked alone, since averaging over all classes could hide a
        // failure on it.
        let distances = ClassDistances::of(&learner.hash_function())?;
        tells_apart(&distances, &[0, 1, 2, 3])?;
        tells_apart(&distances, &[3])
    })())
}

fn several_labels<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    let data = blobs(1500, 7);
    let blob = |row: u32| data.batch().labels().expect("labelled").row(row as usize)[0];
    let mut labels = LabelList::new();
    for row in 0..1500u32 {
        match row % 5 {
            0 => labels.push_set(&[]),
            // The label of the row's own blob, and a label that rows of all blobs may have.
            1 => labels.push_set(&[4 + row / 5 % 3, blob(row)]),
            _ => labels.push_set(&[blob(row)]),
        }
    }
    let data = Data::new(DIM, data.batch().features().values().to_vec(), labels);
    let data = data.expect("as it should be");
    Some((|| {
        let learner = after(subject, data.batch(), 100)?;
        works(&learner)?;
        tells_apart(&ClassDistances::of(&learner.hash_function())?, &[0, 1, 2, 3])
    })())
}

fn any_batches<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let data = blobs(1500, 8);
        let one = after(subject, data.batch(), 1500)?;
        for size in [1, 7, 64, 500] {
            let other = after(subject, data.batch(), size)?;
            equal(
                &one,
                &other,
                &format!("batches of {size} give another function than one of all"),
            )?;
        }
        Ok(())
    })())
}

fn resumes<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    let (save, load) = (subject.save?, subject.load?);
    Some((|| {
        let data = blobs(1500, 9);
        let whole = after(subject, data.batch(), 75)?;
        let mut parts = start(subject)?;
        for at in (0..1500).step_by(75) {
            parts = load(&save(&parts)).map_err(|error| format!("does not load: {error}"))?;
            run(&mut parts, data.batch().slice(at..at + 75), 75, false)?;
        }
        equal(&whole, &parts, "saved and loaded on the way, it gives another function")?;
        match save(&whole) == save(&parts) {
            true => Ok(()),
            false => Err("saved and loaded on the way, its state is another".to_owned()),
        }
    })())
}

fn bounded_memory<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    let save = subject.save?;
    Some((|| {
        let data = blobs(3000, 10);
        let mut learner = start(subject)?;
        // Returns the largest saved size during a pass: sizes may go up and down.
        let mut most = || -> std::result::Result<usize, String> {
            let mut most = 0;
            for at in (0..3000).step_by(100) {
                run(&mut learner, data.batch().slice(at..at + 100), 100, false)?;
                most = most.max(save(&learner).len());
            }
            Ok(most)
        };
        let before = most()?;
        let mut now = 0;
        for _ in 0..4 {
            now = most()?;
        }
        match now as f64 <= before as f64 * 1.05 {
            true => Ok(()),
            false => Err(format!("{before} bytes in the first 3,000 rows, {now} after 12,000")),
        }
    })())
}

fn stays_finite<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let data = blobs(5000, 11);
        let mut learner = start(subject)?;
        (0..20).try_for_each(|_| run(&mut learner, data.batch(), 500, false))?;
        works(&learner)?;
        // Constructing a function checks that all its numbers are finite.
        HashFunction::new(learner.hash_function().parts().clone())
            .map(drop)
            .map_err(|error| error.to_string())
    })())
}

fn tells_of_changes<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    Some((|| {
        let data = blobs(1500, 12);
        let mut learner = start(subject)?;
        let mut before = learner.hash_function().parts().clone();
        for at in (0..1500).step_by(30) {
            let batch = data.batch().slice(at..at + 30);
            let step = learner.learn(batch).map_err(|error| error.to_string())?;
            let now = learner.hash_function().parts().clone();
            if now != before && !step.function_changed {
                return Err(format!("the function changed at row {at} without a word"));
            }
            before = now;
        }
        Ok(())
    })())
}

fn learns<L: Learner>(subject: &Subject<'_, L>) -> Option<Verdict> {
    const MARGIN: f64 = 0.08;
    Some((|| {
        let (data, queries) = (blobs(4000, 13), blobs(200, 14));
        let map = |function: &HashFunction| -> std::result::Result<f64, String> {
            let encode = |data: &Data| function.encode(data.batch().features());
            let found = evaluate(
                &encode(&queries).map_err(|error| error.to_string())?,
                queries.batch().labels().expect("labelled"),
                &encode(&data).map_err(|error| error.to_string())?,
                data.batch().labels().expect("labelled"),
                &[Metric::Map],
            );
            found.map(|found| found.get(Metric::Map)).map_err(|error| error.to_string())
        };
        let (mut found, mut random) = (0.0, 0.0);
        for seed in 1..=3 {
            let mut learner =
                (subject.start)(DIM, BITS, seed).map_err(|error| error.to_string())?;
            run(&mut learner, data.batch(), 500, false)?;
            found += map(&learner.hash_function())? / 3.0;
            let weights = learners::random_projection(DIM, BITS, seed);
            let parts = HashParts::linear(DIM, BITS, weights);
            random += map(&HashFunction::new(parts).expect("as it should be"))? / 3.0;
        }
        match found >= random + MARGIN {
            true => Ok(()),
            false => Err(format!("mAP of {found:.3}; random projections have {random:.3}")),
        }
    })())
}
