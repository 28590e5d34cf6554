//! Checks that every method fulfils the contract.

use std::collections::BTreeSet;
use std::path::Path;

use hashbrook::check::{Outcome, Subject, check_learner};
use hashbrook::{Batch, Error, HashFunction, HashParts, Learner, Method, Model, Result, Step};

/// Returns the checks that a method skips, with reasons.
fn skips(method: &str) -> &'static [(&'static str, &'static str)] {
    match method {
        "bsodh" => &[("any_batches", "it optimises the codes of a batch together")],
        "lsh" => &[("learns", "random projections do not")],
        "sketchhash" | "frosh" => {
            &[("learns", "without labels, the loudest directions are noise here")]
        }
        _ => &[],
    }
}

fn check(name: &str) {
    let mut method = Method::named(name).unwrap();
    if name == "brook" {
        // Thousands of anchors would be slow and show nothing more.
        method.set("anchors", "100").unwrap();
    }
    let start = |dim: usize, bits: usize, seed: u64| method.start(dim, bits, seed);
    let report = check_learner(&Subject {
        save: Some(&Model::to_bytes),
        load: Some(&|bytes| Model::from_bytes(bytes, Path::new("memory"))),
        skip: skips(name),
        ..Subject::new(&start)
    });
    report.assert();
    let skipped = report.outcomes.iter().filter(|(_, o)| matches!(o, Outcome::Skipped(_)));
    assert_eq!(skipped.count(), skips(name).len());
}

macro_rules! one_test_each {
    ($($method:ident),* $(,)?) => {
        /// One test per method, so that each is named and timed separately.
        mod keeps_the_contract {
            $(#[test]
            fn $method() {
                super::check(stringify!($method));
            })*
        }

        #[test]
        fn no_method_is_left_out() {
            let methods: Vec<&str> = Method::all().iter().map(Method::name).collect();
            assert_eq!(methods, [$(stringify!($method)),*]);
        }
    };
}

one_test_each!(brook, bsodh, okh, sketchhash, frosh, adapthash, osh, mihash, hcoh, hmoh, itq, lsh);

/// A learner that uses labels only.
struct Wrong {
    dim: usize,
    bits: usize,
    labels: BTreeSet<u32>,
    parts: fn(&Wrong) -> HashParts,
}

impl Learner for Wrong {
    fn learn(&mut self, batch: Batch<'_>) -> Result<Step> {
        if batch.features().dim() != self.dim {
            return Err(Error::Dimension { expected: self.dim, found: batch.features().dim() });
        }
        for row in 0..batch.len() {
            self.labels.extend(batch.labels().unwrap().row(row));
        }
        Ok(Step { function_changed: true, ..Step::default() })
    }

    fn hash_function(&self) -> HashFunction {
        HashFunction::new((self.parts)(self)).unwrap()
    }
}

/// Returns the names of the checks that a wrong learner fails.
fn failed_by(parts: fn(&Wrong) -> HashParts) -> Vec<&'static str> {
    let report = check_learner(&Subject::new(&|dim, bits, _| {
        Ok(Wrong { dim, bits, labels: BTreeSet::new(), parts })
    }));
    let failed = report.outcomes.iter().filter(|(_, o)| matches!(o, Outcome::Failed(_)));
    failed.map(|(name, _)| *name).collect()
}

/// Returns weights by which each bit depends on one of the last dimensions only. Only the first two
/// dimensions distinguish the classes.
fn noise(wrong: &Wrong) -> HashParts {
    let mut weights = vec![0.0; wrong.dim * wrong.bits];
    let last = wrong.dim - wrong.bits;
    (0..wrong.bits).for_each(|bit| weights[(last + bit) * wrong.bits + bit] = 1.0);
    HashParts::linear(wrong.dim, wrong.bits, weights)
}

fn one_code_for_all(wrong: &Wrong) -> HashParts {
    let offset = Some(vec![1.0; wrong.bits]);
    let weights = vec![0.0; wrong.dim * wrong.bits];
    HashParts { offset, ..HashParts::linear(wrong.dim, wrong.bits, weights) }
}

#[test]
fn codes_that_do_not_tell_classes_apart_break_the_contract() {
    let blind = ["batch_of_one", "late_classes", "several_labels", "learns"];
    assert_eq!(failed_by(noise), blind);
    assert_eq!(failed_by(one_code_for_all), blind);
}

#[test]
fn a_class_that_is_torn_apart_breaks_the_contract() {
    let torn = |wrong: &Wrong| match wrong.labels.len() {
        1 => noise(wrong),
        _ => one_code_for_all(wrong),
    };
    let failed = failed_by(torn);
    assert!(failed.contains(&"one_class_only"), "{failed:?}");
}
