//! Every method keeps the contract.

use std::path::Path;

use hashbrook::check::{Outcome, Subject, check_learner};
use hashbrook::{Method, Model};

/// What a method is not held to, and why.
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

#[test]
fn every_method_keeps_the_contract() {
    for mut method in Method::all() {
        if method.name() == "brook" {
            // Thousands of anchors would take their time, and show nothing more.
            method.set("anchors", "100").unwrap();
        }
        let start = |dim: usize, bits: usize, seed: u64| method.start(dim, bits, seed);
        let report = check_learner(&Subject {
            save: Some(&Model::to_bytes),
            load: Some(&|bytes| Model::from_bytes(bytes, Path::new("memory"))),
            skip: skips(method.name()),
            ..Subject::new(&start)
        });
        let failures = report.failures();
        assert!(failures.is_empty(), "{}:\n{}", method.name(), failures.join("\n"));
        let skipped = report.outcomes.iter().filter(|(_, o)| matches!(o, Outcome::Skipped(_)));
        assert_eq!(skipped.count(), skips(method.name()).len());
    }
}
