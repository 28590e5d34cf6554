//! Advice on the length of codes, and hints that point to `advise`.

use crate::support::Directory;

#[test]
fn advise_measures_lengths_and_recommends_one() {
    let directory = Directory::new().with_digits();
    let advise = "advise --data db.npy --labels db-labels.npy --bits 64,2 --rerank 50";
    let said = directory.run(advise).ok().out;
    for expected in [
        "10 labels",
        "P@10",
        "re-ranked 50",
        "by the cosine of the vectors",
        "recommended: --bits 64",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let found = directory.run(&format!("{advise} --json --sample 1000")).ok().json()[0].clone();
    assert_eq!((&found["sample"], &found["recommended"]), (&1000.into(), &64.into()));
    assert!(found["rows"].as_u64() > Some(1000), "{found}");
    let lengths = found["lengths"].as_array().unwrap();
    assert_eq!(
        lengths.iter().map(|length| length["bits"].as_u64().unwrap()).collect::<Vec<_>>(),
        [2, 64]
    );
    let precision = |at: usize| lengths[at]["precision_at_10"].as_f64().unwrap();
    assert!(precision(0) + 0.1 < precision(1) && precision(1) > 0.9, "{found}");
    assert_eq!(lengths[1]["reranked"][0]["candidates"], 50);
    for (wrong, problems) in [
        ("--data db.npy", &["give them with --labels or --label"][..]),
        ("--data db.npy --labels db-labels.npy --sample 40", &["50 or more", "40"]),
        ("--data db.npy --labels db-labels.npy --bits 0", &["bits", "0"]),
    ] {
        directory.run(&format!("advise {wrong}")).fails_with(problems);
    }
}

#[test]
fn advise_warns_of_noise_where_queries_are_few() {
    let directory = Directory::new().with_digits();
    let advise = "advise --data db.npy --labels db-labels.npy --bits 4,256";
    // A sample of fifty rows has five queries.
    let few = directory.run(&format!("{advise} --sample 50")).ok();
    assert!(few.err.contains("within noise with 5 queries"), "{few:?}");
    let found = directory.run(&format!("{advise} --sample 50 --json")).ok().json()[0].clone();
    assert!(found["noise"].as_f64() > Some(0.02), "{found}");
    assert!(found["warning"].as_str().unwrap().contains("within noise"), "{found}");
    assert!(found["lengths"][0]["standard_error"].as_f64() > Some(0.02), "{found}");
    let many = directory.run("advise --data db.npy --labels db-labels.npy --bits 32,64").ok();
    assert!(!many.err.contains("noise"), "{many:?}");
    let found =
        directory.run("advise --data db.npy --labels db-labels.npy --bits 32,64 --json").ok();
    assert!(found.json()[0]["warning"].is_null());
}

#[test]
fn learn_hints_at_codes_that_are_short_for_the_number_of_labels() {
    let directory = Directory::new().with_digits();
    let learn = |bits: usize| {
        directory
            .run(&format!("learn --bits {bits} --data db.npy --labels db-labels.npy --out m{bits}"))
            .ok()
            .err
    };
    let hint = "bits are few for 10 labels; `hashbrook advise`";
    assert!(learn(16).contains(&format!("16 {hint}")));
    assert!(!learn(32).contains(hint));
}
