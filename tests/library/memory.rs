//! Running out of memory is an error. These tests run in a process of their own with little memory.
#![cfg(target_os = "linux")]

use std::process::Command;

use hashbrook::{Batch, Error, Features, Labels, Method};

use crate::streams::setup_with;

/// Runs the calling test again, in a process limited to `kib` KiB of memory; returns `true` in that
/// process.
fn limited(test: &str, kib: usize) -> bool {
    const LIMITED: &str = "HASHBROOK_TEST_WITH_LITTLE_MEMORY";
    if std::env::var_os(LIMITED).is_some() {
        return true;
    }
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(LIMITED, "1")
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{}\n{out}\n{err}", output.status);
    false
}

fn brook(parameters: &[(&str, &str)]) -> Method {
    let mut method = Method::named("brook").unwrap();
    parameters.iter().for_each(|(name, value)| method.set(name, value).unwrap());
    method
}

fn rows(count: usize, dim: usize) -> (Vec<f32>, Vec<u32>) {
    let value = |i: usize| ((i * 7919 + i / dim * 31) % 1013) as f32 / 1013.0;
    ((0..count * dim).map(value).collect(), (0..count as u32).map(|row| row % 3).collect())
}

#[test]
fn what_can_never_be_solved_is_refused_before_it_is_learned() {
    if !limited("memory::what_can_never_be_solved_is_refused_before_it_is_learned", 2_000_000) {
        return;
    }
    // The sums take 2 GiB, and so do their copy and their factor.
    for (parameters, dim, count, names) in [
        (&[("anchors", "16384")][..], 2, 16_384, ["16384 anchors", "use fewer anchors"]),
        (&[("lift", "none")], 16_384, 100, ["on 16384 dimensions", "use lift = rbf"]),
    ] {
        let (values, labels) = rows(count, dim);
        let batch = Batch::new(Features::new(&values, dim).unwrap(), Labels::single(&labels));
        let setup = setup_with(|setup| setup.warmup = Some(count));
        let mut model = brook(parameters).start_with(dim, 16, 1, setup).unwrap();
        let error = model.learn(batch.unwrap()).unwrap_err();
        let Error::OutOfMemory { bytes, .. } = error else { panic!("{error}") };
        assert!((6 << 30..7 << 30).contains(&bytes), "{bytes}");
        let error = error.to_string();
        assert!(error.contains(&bytes.to_string()), "{error}");
        names.iter().for_each(|name| assert!(error.contains(name), "{error}"));
        assert_eq!(model.seen(), 0, "nothing was learned");
    }
}

#[test]
fn what_cannot_be_solved_now_is_an_error_and_can_be_later() {
    if !limited("memory::what_cannot_be_solved_now_is_an_error_and_can_be_later", 1_500_000) {
        return;
    }
    let (values, labels) = rows(3000, 8);
    let all = Batch::new(Features::new(&values, 8).unwrap(), Labels::single(&labels)).unwrap();
    let mut steady = brook(&[("start", "steady")]).start(8, 16, 1).unwrap();
    let mut seeded = brook(&[]).start(8, 16, 1).unwrap();
    for model in [&mut steady, &mut seeded] {
        model.learn(all).unwrap();
        model.learn(all.slice(0..10)).unwrap();
    }
    let before = steady.to_bytes();
    // Allocates nearly all of the remaining memory.
    let mut ballast = Vec::new();
    loop {
        let mut part = Vec::<u8>::new();
        if part.try_reserve_exact(64 << 20).is_err() {
            break;
        }
        part.resize(1, 0);
        ballast.push(part);
    }
    ballast.pop();
    let error = seeded.try_hash_function().unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let error = steady.learn(all.slice(10..20)).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    drop(ballast);
    let function = seeded.try_hash_function().unwrap();
    assert_eq!(function.parts(), seeded.hash_function().parts());
    assert_eq!(steady.to_bytes(), before, "a batch that failed changed nothing");
}

#[test]
fn a_batch_too_large_for_its_regression_is_refused() {
    if !limited("memory::a_batch_too_large_for_its_regression_is_refused", 2_000_000) {
        return;
    }
    let (values, labels) = rows(16_000, 16);
    let wide: Vec<f32> = values.iter().copied().cycle().take(14_000 * 14_000).collect();
    let labels: Vec<u32> = labels.into_iter().take(14_000).collect();
    let all = Batch::new(Features::new(&wide, 14_000).unwrap(), Labels::single(&labels)).unwrap();
    let setup = setup_with(|setup| {
        setup.center = hashbrook::Center::None;
        setup.unit = false;
    });
    let mut model = Method::named("bsodh").unwrap().start_with(14_000, 8, 1, setup).unwrap();
    model.learn(all.slice(0..10)).unwrap();
    let error = model.learn(all).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(error.to_string().contains("use smaller batches"), "{error}");
}

#[test]
fn labels_without_room_for_their_sums_are_refused() {
    if !limited("memory::labels_without_room_for_their_sums_are_refused", 400_000) {
        return;
    }
    // The sums of a label take 8 KB: 40,000 labels do not fit.
    let dim = 256;
    let (values, _) = rows(40_000, dim);
    let labels: Vec<u32> = (0..40_000).collect();
    let all = Batch::new(Features::new(&values, dim).unwrap(), Labels::single(&labels)).unwrap();
    let mut model =
        brook(&[("anchors", "1000"), ("targets", "classes")]).start(dim, 16, 1).unwrap();
    let mut refused = None;
    for from in (0..all.len()).step_by(2000) {
        let before = model.seen();
        match model.learn(all.slice(from..from + 2000)) {
            Ok(_) => assert_eq!(model.seen(), before + 2000),
            Err(error) => {
                assert_eq!(model.seen(), before, "a batch that failed changed nothing");
                refused = Some(error);
                break;
            }
        }
    }
    let error = refused.expect("less memory than the sums of all labels take");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(!model.to_bytes().is_empty());
}
