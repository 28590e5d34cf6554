//! Resources for a number of items: estimates, and their accuracy.

use serde_json::Value;

use crate::support::Directory;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn step<'a>(estimate: &'a Value, name: &str) -> &'a Value {
    let steps = estimate["estimate"]["steps"].as_array().unwrap();
    steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("{name}: {estimate}"))
}

#[test]
fn numbers_are_understood_in_all_their_forms() {
    let directory = Directory::new();
    let plain = directory.run("size --items 1000000000").ok().out;
    for same in ["1e9", "1_000_000_000", "1000M", "1B", "1.0e9"] {
        assert_eq!(directory.run(&format!("size --items {same}")).ok().out, plain, "{same}");
    }
    assert!(
        plain
            .starts_with("1,000,000,000 items of 128 numbers, 64 bits by brook with 3,000 anchors"),
        "{plain}"
    );
    for part in [
        "core-hours",
        "16 cores",
        "encode",
        "renew",
        "dedup",
        "search by scan",
        "search structure",
        "8.00 GB",
    ] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    for (wrong, says) in [
        ("--items 1x", "expected a whole number from 1 to 1e15"),
        ("--items 0", "expected a whole number"),
        ("--items 1.5", "found \"1.5\""),
        ("--items -3", "found \"-3\""),
        ("--items 1e99", "found \"1e99\""),
        ("--items 1M --bits 2000", "2000 is not from 1 to 1024"),
        ("--items 1M --dim 0", "0 is not from 1 to 65536"),
        ("--items 1M --vectors f32", "possible values: none, f16, i8"),
        ("--items 1M --distinct 0", "above 0 and up to 1"),
        ("--items 1M --check 1k,zero", "found \"zero\""),
        ("--items 1M --stream 1M", "cannot be used with"),
        ("--bits 64", "--items"),
    ] {
        let outcome = directory.run(&format!("size {wrong}"));
        assert_eq!(outcome.status, Some(2), "{outcome:#?}");
        assert!(outcome.err.contains(says), "{says}: {outcome:#?}");
    }
    directory.run("size --items 1M --method nonsense").fails_with(&["nonsense", "brook"]);
    directory.run("size --items 1M --method lsh --anchors 3").fails_with(&["anchors"]);
    directory
        .run("size --items 1T --parts 7")
        .fails_with(&["2147483647", "--parts 466 or more, found 7"]);
    directory.run("size --items 3 --parts 7").fails_with(&["as many parts as items, 3, found 7"]);
    directory.run("size --check 1B").fails_with(&["in memory", "found 1000000000"]);
    directory.run("size --stream 1k --queries 1e8 -k 10").fails_with(&["100000000 queries x 10"]);
    directory
        .run("size --items 1k --anchors 16384 --dim 65536 --measure")
        .fails_with(&["16384 x 65536"]);
    let help = directory.run("size --help").ok().out;
    assert!(help.contains("Examples:") && help.contains("--measure"), "{help}");
}

#[test]
fn an_estimate_follows_what_is_asked() {
    let directory = Directory::new();
    let of = |arguments: &str| {
        directory.run(&format!("size {arguments} --json")).ok().json().into_iter().next().unwrap()
    };
    let seconds = |estimate: &Value, name: &str| number(&step(estimate, name)["core_seconds"]);
    let base = of("--items 1B --parts 16");
    let twice = of("--items 2B --parts 32");
    for name in ["encode", "build", "search", "search by scan", "dedup", "renew"] {
        let ratio = seconds(&twice, name) / seconds(&base, name);
        assert!(
            (ratio - 2.0).abs() < 1e-6,
            "{name}: twice the parts are twice the work, not {ratio}"
        );
    }
    assert!(seconds(&of("--items 1B --lift none"), "encode") < 0.2 * seconds(&base, "encode"));
    let few = of("--items 1B --anchors 1500");
    let ratio = seconds(&few, "encode") / seconds(&base, "encode");
    assert!((0.45..0.6).contains(&ratio), "half of the anchors: {ratio}");
    let moved = |estimate: &Value, name: &str| number(&step(estimate, name)["moved"]);
    assert_eq!(moved(&base, "search"), 16.0 * 1e6 * (10.0 * 20.0 + 8.0));
    assert_eq!(moved(&base, "dedup"), 4e9 * 16.0);
    assert_eq!(moved(&of("--items 1B --parts 16 --radius 1"), "dedup"), 2e9 * 16.0);
    assert_eq!(moved(&of("--items 10M"), "search"), 0.0, "one index moves nothing");
    let memory = &of("--items 1B --vectors f16")["estimate"]["memory"];
    assert_eq!(number(&memory["vectors"]), 256e9);
    assert!(directory.run("size --items 100B").ok().out.contains("in 1,491 indexes"));
}

/// Rates measured in one process predict the cost of other sizes. The tolerance is a factor of
/// three, because timings are noisy.
#[test]
fn predictions_hold_at_two_sizes() {
    let directory = Directory::new();
    let checked = directory.run("size --check 100k,1M --dim 32 --anchors 200 --json").ok().json();
    assert_eq!(checked.len(), 2);
    for (size, items) in checked.iter().zip([100_000, 1_000_000]) {
        assert_eq!(size["items"], items);
        let steps = size["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 6);
        for step in steps {
            let ratio = number(&step["seconds"]) / number(&step["measured_rates"]);
            assert!((1.0 / 3.0..3.0).contains(&ratio), "{ratio} at {items}: {step}");
        }
        for kind in ["items", "structure"] {
            let ratio = number(&size["bytes"][kind]) / number(&size["predicted_bytes"][kind]);
            assert!((0.9..1.1).contains(&ratio), "{kind} at {items}: {size}");
        }
    }
}

#[test]
fn measured_rates_are_used() {
    let directory = Directory::new();
    let measure = "size --items 1M --dim 16 --anchors 50 --radius 0 --measure";
    let estimate = &directory.run(&format!("{measure} --json")).ok().json()[0];
    let rate = number(&estimate["measured_rates"]["encode"]);
    let encode = number(&step(estimate, "encode")["core_seconds"]);
    assert!((encode / (1e6 * rate) - 1.0).abs() < 1e-9, "{estimate}");
    assert!(directory.run(measure).ok().out.contains("measured here and used, and those built in"));
}

/// Every search is compared with a plain loop over all codes; the numbers of parts and threads do
/// not matter.
#[test]
fn a_stream_of_codes_is_searched_exactly_in_parts() {
    let directory = Directory::new();
    let of = |arguments: &str| {
        directory
            .run(&format!("{arguments} size --stream 1M --queries 50 --json"))
            .ok()
            .json()
            .remove(0)
    };
    let whole = of("--threads 1");
    assert_eq!((&whole["parts"], &whole["checked_queries"]), (&1.into(), &4.into()));
    assert_eq!(whole["first_hits"].as_array().unwrap().len(), 10);
    let parts =
        directory.run("size --stream 1M --queries 50 --parts 7 --json").ok().json().remove(0);
    assert_eq!(parts["parts"], 7);
    assert_eq!(parts["first_hits"], whole["first_hits"]);
    assert_eq!(parts["mean_distance_of_last"], whole["mean_distance_of_last"]);
    for time in ["seconds_to_make", "seconds_to_search"] {
        assert!(number(&parts[time]) > 0.0, "{parts}");
    }
    if cfg!(target_os = "linux") {
        let peak = |of: &Value| number(&of["peak_bytes"]);
        assert!(peak(&parts) < peak(&whole), "a part at a time is in memory: {parts} {whole}");
    }
    let text = directory.run("size --stream 100k --queries 3000 -k 5 --parts 3").ok().out;
    assert!(text.contains("exact") && text.contains("the 5 nearest of 3,000 queries"), "{text}");
}
