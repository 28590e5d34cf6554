//! Models: warm-up, saving and resuming, and refused calls.

use std::path::Path;

use hashbrook::eval::{Metric, evaluate};
use hashbrook::{
    Batch, Center, Codes, Error, Features, Index, Labels, Method, Model, Scale, Setup, Spread, Step,
};
use proptest::prelude::*;

use crate::streams::{Stream, config, setup_with, stream};

fn start(stream: &Stream, bits: usize, setup: Setup) -> Model {
    Method::named("bsodh").unwrap().start_with(stream.dim, bits, 3, setup).unwrap()
}

/// Cuts a stream into other batches.
fn recut(stream: &Stream, size: usize) -> Vec<Batch<'_>> {
    let all = Batch::new(stream.features(), stream.labels()).unwrap();
    (0..all.len()).step_by(size).map(|at| all.slice(at..all.len().min(at + size))).collect()
}

fn reload(model: &Model) -> Model {
    let bytes = model.to_bytes();
    let again = Model::from_bytes(&bytes, Path::new("memory")).unwrap();
    assert_eq!(again.to_bytes(), bytes, "one state, one form");
    again
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn saved_and_loaded_it_goes_on_as_if_nothing_had_happened(
        stream in stream(), bits in 1..70usize, warmup in 1..40usize,
        order in prop_oneof![Just("released"), Just("alternating"), Just("printed")],
        scale in prop_oneof![Just(Scale::None), Just(Scale::Standard)],
    ) {
        let mut method = Method::named("bsodh").unwrap();
        method.set("order", order).unwrap();
        let setup = setup_with(|setup| {
            setup.warmup = Some(warmup);
            setup.scale = scale;
        });
        let mut whole = method.start_with(stream.dim, bits, 3, setup).unwrap();
        let mut interrupted = whole.clone();
        for batch in stream.batches() {
            let step = whole.learn(batch).unwrap();
            interrupted = reload(&interrupted);
            prop_assert_eq!(interrupted.learn(batch).unwrap(), step);
            prop_assert_eq!(interrupted.to_bytes(), whole.to_bytes());
        }
    }

    #[test]
    fn what_the_warm_up_fixes_does_not_depend_on_how_the_stream_was_cut(
        stream in stream(), warmup in 1..60usize, size in 1..50usize,
    ) {
        let setup = setup_with(|setup| {
            setup.warmup = Some(warmup);
            setup.scale = Scale::Standard;
        });
        let mut one = start(&stream, 8, setup.clone());
        let mut other = start(&stream, 8, setup);
        stream.batches().for_each(|batch| { one.learn(batch).unwrap(); });
        recut(&stream, size).into_iter().for_each(|batch| { other.learn(batch).unwrap(); });
        prop_assert_eq!(one.is_warm(), stream.features().len() >= warmup);
        prop_assert_eq!(one.is_warm(), other.is_warm());
        let center = |model: &Model| model.hash_function().parts().center.clone();
        prop_assert_eq!(center(&one), center(&other));
        let scale = |model: &Model| model.hash_function().parts().scale.clone();
        prop_assert!(scale(&one).is_some());
        prop_assert_eq!(scale(&one), scale(&other));
    }

    #[test]
    fn held_back_rows_are_learned_in_the_batches_they_came_in(
        stream in stream(), warmup in 2..60usize,
    ) {
        let mut held = start(&stream, 8, setup_with(|setup| setup.warmup = Some(warmup)));
        let mut cold_steps = Step::default();
        let mut warm_steps = Step::default();
        for batch in stream.batches() {
            let step = held.learn(batch).unwrap();
            if held.is_warm() {
                warm_steps += step;
            } else {
                cold_steps += step;
                // During the warm-up, the function is the same as if the warm-up ended now.
                let mut ended = held.clone();
                ended.end_warmup().unwrap();
                let parts = |model: &Model| model.hash_function().parts().clone();
                prop_assert_eq!(parts(&held), parts(&ended));
            }
        }
        let nothing = Step { function_changed: cold_steps.function_changed, ..Step::default() };
        prop_assert_eq!(cold_steps, nothing);
        warm_steps += held.end_warmup().unwrap();
        prop_assert!(held.is_warm());

        let center = held.hash_function().parts().center.clone().unwrap();
        let mut given =
            start(&stream, 8, setup_with(|setup| setup.center = Center::Given(center)));
        let mut steps = Step::default();
        stream.batches().for_each(|batch| steps += given.learn(batch).unwrap());
        prop_assert_eq!(warm_steps, steps);
        prop_assert_eq!(held.hash_function().parts().clone(), given.hash_function().parts().clone());
    }

    #[test]
    fn the_number_of_threads_does_not_matter(stream in stream()) {
        let learn = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut model = start(&stream, 30, setup_with(|setup| setup.warmup = Some(5)));
                stream.batches().for_each(|batch| { model.learn(batch).unwrap(); });
                model.to_bytes()
            })
        };
        prop_assert_eq!(learn(1), learn(3));
    }
}

/// Returns two columns between -1 and 1 that depend on the class, and a column of noise in the
/// thousands.
fn uneven(rows: usize) -> (Vec<f32>, Vec<u32>) {
    let noise = |row: usize, scale: f32| ((row * 7919 + 13) % 1009) as f32 / 1009.0 * scale;
    let labels: Vec<u32> = (0..rows).map(|row| (row * row % 7 % 4) as u32).collect();
    let row = |(row, &label): (usize, &u32)| {
        let side = |bit: u32| if label >> bit & 1 == 1 { 0.7 } else { -0.7 };
        [side(0) + noise(row, 0.5), noise(row * 31, 5000.0), side(1) + noise(row * 17, 0.5)]
    };
    (labels.iter().enumerate().flat_map(row).collect(), labels)
}

#[test]
fn columns_of_different_scale_count_alike_if_asked() {
    let (rows, labels) = uneven(600);
    let all = Batch::new(Features::new(&rows, 3).unwrap(), Labels::single(&labels)).unwrap();
    let map = |scale: Scale| {
        let setup = setup_with(|setup| {
            setup.warmup = Some(200);
            setup.scale = scale;
        });
        let mut model = Method::named("brook").unwrap().start_with(3, 32, 1, setup).unwrap();
        model.learn(all.slice(0..400)).unwrap();
        let function = model.hash_function();
        assert_eq!(function.parts().scale.is_some(), scale == Scale::Standard);
        let codes = |batch: Batch<'_>| -> Codes { function.encode(batch.features()).unwrap() };
        let (database, queries) = (all.slice(0..400), all.slice(400..600));
        let labels = |batch: Batch<'_>| batch.labels().unwrap().as_single().unwrap().to_vec();
        evaluate(
            &codes(queries),
            Labels::single(&labels(queries)),
            &codes(database),
            Labels::single(&labels(database)),
            &[Metric::Map],
        )
        .unwrap()
        .get(Metric::Map)
    };
    let (without, with) = (map(Scale::None), map(Scale::Standard));
    assert!(without < 0.6 && with > 0.95, "{without} {with}");
}

/// Scaling in the model equals scaling the rows by hand, to the last bit.
#[test]
fn scaling_is_done_by_the_deviations_of_the_warm_up_rows() {
    let (rows, labels) = uneven(300);
    let (rows, labels) = (Features::new(&rows, 3).unwrap(), Labels::single(&labels));
    for method in Method::all() {
        if matches!(method.name(), "okh" | "hmoh" | "sketchhash" | "frosh") {
            continue; // These need more rows or columns; scaling does not depend on the method.
        }
        let setup = setup_with(|setup| {
            setup.warmup = Some(100);
            setup.scale = Scale::Standard;
        });
        let mut model = method.start_with(3, 3, 1, setup).unwrap();
        model.learn(Batch::new(rows.slice(0..150), labels.slice(0..150)).unwrap()).unwrap();
        let parts = model.hash_function().parts().clone();
        let mut spread = Spread::new(3);
        spread.add(rows.slice(0..100)).unwrap();
        let (center, scale) = (parts.center.unwrap(), parts.scale.unwrap());
        for (factor, deviation) in scale.iter().zip(spread.deviations()) {
            assert!((f64::from(*factor) * deviation - 1.0).abs() < 1e-6);
        }
        let by_hand: Vec<f32> = rows
            .values()
            .iter()
            .enumerate()
            .map(|(at, value)| (value - center[at % 3]) * scale[at % 3])
            .collect();
        let setup = setup_with(|setup| {
            setup.warmup = Some(100);
            setup.center = Center::None;
        });
        let mut twin = method.start_with(3, 3, 1, setup).unwrap();
        let by_hand = Features::new(&by_hand, 3).unwrap();
        twin.learn(Batch::new(by_hand.slice(0..150), labels.slice(0..150)).unwrap()).unwrap();
        let (function, twin) = (model.hash_function(), twin.hash_function());
        assert_eq!(function.parts().weights, twin.parts().weights, "{}", method.name());
        assert_eq!(function.encode(rows).unwrap(), twin.encode(by_hand).unwrap());
    }
}

#[test]
fn a_column_that_is_constant_in_the_warm_up_is_left_out() {
    let (rows, labels) = uneven(300);
    let widened = |constant: &dyn Fn(usize) -> f32| -> Vec<f32> {
        rows.chunks(3).enumerate().flat_map(|(at, r)| [r[0], r[1], constant(at), r[2]]).collect()
    };
    let learned = |rows: &[f32]| {
        let all = Batch::new(Features::new(rows, 4).unwrap(), Labels::single(&labels)).unwrap();
        let setup = setup_with(|setup| {
            setup.warmup = Some(100);
            setup.scale = Scale::Standard;
        });
        let mut model = Method::named("brook").unwrap().start_with(4, 16, 1, setup).unwrap();
        model.learn(all).unwrap();
        model.hash_function()
    };
    let still = learned(&widened(&|_| 0.1));
    assert_eq!(still.parts().scale.as_ref().unwrap()[2], 0.0);
    // Later values of the constant column change nothing, however large they are.
    for later in [5.0, -3e38, f32::MAX] {
        let rows = widened(&|at| if at < 100 { 0.1 } else { later });
        let moved = learned(&rows);
        assert_eq!(moved.parts(), still.parts());
        let codes = moved.encode(Features::new(&rows, 4).unwrap()).unwrap();
        let same = widened(&|_| 0.1);
        assert_eq!(codes, still.encode(Features::new(&same, 4).unwrap()).unwrap());
    }
    // A value that overflows when it is scaled counts as the largest finite number.
    let tiny: Vec<f32> =
        (0..300 * 4).map(|at| if at % 4 == 0 { 1e-30 * (at % 7) as f32 } else { 1.0 }).collect();
    let function = learned(&tiny);
    let huge = function.project(Features::new(&[3e38, 1.0, 1.0, 1.0], 4).unwrap()).unwrap();
    assert!(huge.iter().all(|value| value.is_finite()), "{huge:?}");
}

#[test]
fn models_of_different_scale_are_not_merged_and_siblings_keep_theirs() {
    let (rows, labels) = uneven(300);
    let all = Batch::new(Features::new(&rows, 3).unwrap(), Labels::single(&labels)).unwrap();
    let warm = |scale: Scale, center: Center| {
        let setup = setup_with(|setup| {
            setup.warmup = Some(100);
            (setup.scale, setup.center) = (scale, center);
        });
        let mut model = Method::named("brook").unwrap().start_with(3, 16, 1, setup).unwrap();
        model.learn(all.slice(0..120)).unwrap();
        model
    };
    let mut scaled = warm(Scale::Standard, Center::First);
    let mut whole = scaled.clone();
    let mut sibling = scaled.sibling().unwrap();
    assert_eq!(sibling.scale(), Scale::Standard);
    sibling.learn(all.slice(120..300)).unwrap();
    whole.learn(all.slice(120..300)).unwrap();
    let refused = message(scaled.merge(&warm(Scale::None, Center::First)));
    assert!(refused.contains("scales differ: standard and none"), "{refused}");
    scaled.merge(&sibling).unwrap();
    assert_eq!(scaled.hash_function().parts(), whole.hash_function().parts());
    // The models have different warm-ups and the same given centre.
    let center = Center::Given(vec![0.0; 3]);
    let mut one = warm(Scale::Standard, center.clone());
    let setup = setup_with(|setup| {
        setup.warmup = Some(60);
        (setup.scale, setup.center) = (Scale::Standard, center);
    });
    let mut other = Method::named("brook").unwrap().start_with(3, 16, 1, setup).unwrap();
    other.learn(all.slice(120..300)).unwrap();
    let refused = message(one.merge(&other));
    assert!(refused.contains("their scales differ"), "{refused}");
}

#[test]
fn a_copy_of_a_model_is_not_merged_into_it() {
    let (rows, labels) = uneven(300);
    let all = Batch::new(Features::new(&rows, 3).unwrap(), Labels::single(&labels)).unwrap();
    let setup = setup_with(|setup| setup.warmup = Some(100));
    let mut model = Method::named("brook").unwrap().start_with(3, 16, 1, setup).unwrap();
    model.label_names_mut().id("cat");
    model.learn(all.slice(0..150)).unwrap();
    let mut copy = Model::from_bytes(&model.to_bytes(), "copy").unwrap();
    copy.notes_mut().insert("copied".to_owned(), "yes".to_owned());
    assert_eq!(copy.fingerprint(), model.fingerprint());
    let before = model.to_bytes();
    let refused = message(model.merge(&copy));
    assert!(refused.contains("the very same 150 rows") && refused.contains("copy"), "{refused}");
    assert_eq!(model.to_bytes(), before);
    // A model that learned the same rows in other batches is refused, too.
    let mut again = model.sibling().unwrap();
    again.learn(all.slice(0..70)).unwrap();
    again.learn(all.slice(70..150)).unwrap();
    assert!(message(model.merge(&again)).contains("the very same"));
    // Models that have learned nothing are all equal, and merging them does no harm.
    let mut nothing = model.sibling().unwrap();
    nothing.merge(&model.sibling().unwrap()).unwrap();
    model.merge(&nothing).unwrap();
    assert_eq!(model.seen(), 150);
    // Merging models of unlabelled rows does no harm, either.
    let none = Labels::sets(&[0, 0], &[]).unwrap();
    let unlabelled = Batch::new(Features::new(&rows[..6], 3).unwrap(), none).unwrap();
    let mut parts = [model.sibling().unwrap(), model.sibling().unwrap()];
    for part in &mut parts {
        part.learn(unlabelled).unwrap();
    }
    let [one, two] = &mut parts;
    assert!(!one.has_learned() && model.has_learned());
    one.merge(two).unwrap();
    copy.learn(all.slice(150..151)).unwrap();
    assert_ne!(copy.fingerprint(), model.fingerprint());
}

fn message<T>(result: hashbrook::Result<T>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn a_batch_that_fails_changes_nothing() {
    let rows = [0.3, -0.2, 1.0, 0.1, 0.5, 0.5];
    let labels = [0, 1, 2];
    let batch = |labels| Batch::new(Features::new(&rows, 2).unwrap(), Labels::single(labels));
    for warmup in [1, 100] {
        let setup = setup_with(|setup| setup.warmup = Some(warmup));
        let mut model = Method::named("bsodh").unwrap().start_with(2, 4, 1, setup).unwrap();
        model.learn(batch(&labels).unwrap()).unwrap();
        let before = model.to_bytes();
        let wide = Batch::new(Features::new(&rows, 3).unwrap(), Labels::single(&[7, 8])).unwrap();
        assert!(matches!(model.learn(wide), Err(Error::Dimension { expected: 2, found: 3 })));
        let unlabelled = Batch::unlabelled(Features::new(&rows, 2).unwrap());
        assert!(message(model.learn(unlabelled)).contains("bsodh needs labels"));
        assert_eq!(model.to_bytes(), before);
        assert_eq!(model.learn(batch(&labels).unwrap().slice(0..0)).unwrap(), Step::default());
    }
}

#[test]
fn a_batch_without_a_solution_is_not_learned() {
    // All rows are equal, and so large that adding the ridge to their squares changes nothing.
    let rows: Vec<f32> = (0..20 * 13).map(|i| 1e15 * (1.0 - (i % 13) as f32 / 130.0)).collect();
    let (known, new): (Vec<u32>, Vec<u32>) = ((0..20).collect(), (100..120).collect());
    let batch = |labels| Batch::new(Features::new(&rows, 13).unwrap(), Labels::single(labels));
    let setup = setup_with(|setup| {
        setup.center = Center::None;
        setup.unit = false;
    });
    let mut model = Method::named("bsodh").unwrap().start_with(13, 4, 1, setup).unwrap();
    model.learn(batch(&known).unwrap()).unwrap();
    let before = model.to_bytes();
    assert!(message(model.learn(batch(&new).unwrap())).contains("it was not learned"));
    assert_eq!(model.to_bytes(), before, "its new labels are forgotten as well");
}

#[test]
fn settings_out_of_range_are_refused_with_what_was_expected() {
    let refuse = |name: &str, value: &str| {
        let mut method = Method::named("bsodh").unwrap();
        method
            .set(name, value)
            .map_or_else(|error| error.to_string(), |()| message(method.start(4, 8, 1)))
    };
    assert_eq!(refuse("ridge", "0"), "ridge must be above 0, not 0");
    assert_eq!(refuse("ridge", "-1"), "ridge must be above 0, not -1");
    assert_eq!(refuse("fit_weight", "0"), "fit_weight must be above 0, not 0");
    assert!(refuse("similar_weight", "-0.1").contains("0 or above"));
    assert!(refuse("dissimilar_weight", "-0.1").contains("0 or above"));
    assert!(refuse("max_iterations", "0").contains("1 or more"));
    assert!(refuse("ridge", "much").contains("\"much\" is no value for ridge"));
    assert!(refuse("order", "random").contains("printed"));
    let unknown = refuse("rigde", "1");
    assert!(unknown.contains("\"rigde\"") && unknown.contains("dissimilar_weight"), "{unknown}");
    assert!(message(Method::named("bsohd")).contains("bsodh"));
    assert!(refuse("method", "lsh").contains("no parameter"));

    let method = Method::named("bsodh").unwrap();
    assert!(message(method.start(4, 0, 1)).contains("1 to 1024"));
    assert!(message(method.start(4, 2000, 1)).contains("2000"));
    assert!(message(method.start(0, 8, 1)).contains("dim"));
    let with = |setup| message(method.start_with(4, 8, 1, setup));
    assert!(with(setup_with(|setup| setup.warmup = Some(0))).contains("warmup"));
    assert!(with(setup_with(|setup| setup.init = Some(vec![0.0; 24]))).contains("4 x 8"));
    assert!(with(setup_with(|setup| setup.init = Some(vec![f32::NAN; 32]))).contains("NaN"));
    let center = Center::Given(vec![0.0; 3]);
    assert!(!with(setup_with(|setup| setup.center = center)).is_empty());
}

fn small_model() -> Model {
    let setup = setup_with(|setup| setup.warmup = Some(2));
    let mut model = Method::named("bsodh").unwrap().start_with(2, 5, 1, setup).unwrap();
    let rows = [0.3, -0.2, 1.0, 0.1, 0.5, 0.5];
    for labels in [[0, 1, 1], [1, 2, 0]] {
        let batch = Batch::new(Features::new(&rows, 2).unwrap(), Labels::single(&labels)).unwrap();
        model.learn(batch).unwrap();
    }
    model
}

#[test]
fn a_damaged_model_file_is_an_error_whatever_the_damage() {
    let bytes = small_model().to_bytes();
    let read = |bytes: &[u8]| Model::from_bytes(bytes, Path::new("m"));
    assert!(read(&bytes).is_ok());
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "cut to {length} bytes");
    }
    for at in 0..bytes.len() {
        for bit in [0, 3, 7] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(read(&damaged).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn files_that_are_not_models_are_told_from_damaged_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m");
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        message(Model::load(&path))
    };
    assert!(load(b"").contains("is not a model file"));
    assert!(load(b"\x93NUMPY not a model").contains("is not a model file"));
    let header = br#"{"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#;
    let foreign = [&(header.len() as u64).to_le_bytes()[..], header].concat();
    assert!(load(&foreign).contains("not one that hashbrook wrote"));
    assert!(message(Model::load(directory.path().join("none"))).contains("none"));

    let newer = small_model().to_bytes();
    let text = String::from_utf8_lossy(&newer);
    assert!(text.contains(r#"\"version\":3,"#), "the version stands in the description");
    let at = text.find(r#"\"version\":3,"#).unwrap() + r#"\"version\":"#.len();
    let mut newer = newer.clone();
    newer[at] = b'9';
    let message = load(&newer);
    assert!(
        message.contains("format version 9") && message.contains("up to version 3"),
        "{message}"
    );
}

#[test]
fn names_and_notes_are_saved_with_the_model() {
    let mut model = small_model();
    assert_eq!([model.label_names_mut().id("cat"), model.label_names_mut().id("dog")], [0, 1]);
    model.notes_mut().insert("where".to_owned(), "here".to_owned());
    let again = reload(&model);
    assert_eq!(again.label_names().find("dog"), Some(1));
    assert_eq!(again.notes()["where"], "here");
    assert_eq!((again.seen(), again.batches(), again.seed(), again.warmup()), (6, 2, 1, 2));
}

/// A successful save replaces the whole old file; a failed save leaves the old file unchanged.
#[test]
fn saving_replaces_a_file_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    std::fs::write(&path, b"old").unwrap();
    small_model().save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), small_model().to_bytes());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
    assert!(message(small_model().save(directory.path())).contains("not a regular file"));
    assert!(
        message(small_model().save(directory.path().join("no/model"))).contains("no directory")
    );
}

/// A file has room for a hundred million bytes of names; more is an error, not a panic.
#[test]
fn too_many_names_for_a_file_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = Method::named("lsh").unwrap().start(2, 8, 1).unwrap();
    let path = directory.path().join("names.model");
    model.label_names_mut().id(&"n".repeat(99_000_000));
    model.save(&path).unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    model.label_names_mut().id(&"m".repeat(2_000_000));
    let error = model.save(&path).unwrap_err().to_string();
    assert!(error.contains("names of labels") && error.contains("bytes"), "{error}");
    assert!(model.hash_function().save(&path).is_err());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), before, "what stood there is as it was");
    let mut index = Index::new(model.hash_function());
    let codes = Codes::from_bytes(8, &[3]).unwrap();
    index.add_codes(&[1], &codes, None).unwrap();
    assert!(index.save(directory.path().join("a.index")).is_err());
}

/// A warm-up without rows does nothing.
#[test]
fn a_warm_up_of_no_rows_does_nothing() {
    for method in Method::all() {
        let mut model = method.start(16, 8, 1).unwrap();
        let none = Batch::new(Features::new(&[], 16).unwrap(), Labels::single(&[])).unwrap();
        model.learn(none).unwrap();
        model.end_warmup().unwrap();
        assert_eq!(model.hash_function().bits(), 8, "{}", method.name());
    }
}
