//! Settings derived from the data: anchors from the number of classes, and advice on the length of
//! codes.

use hashbrook::advice::{AdviceOptions, advise};
use hashbrook::dataset::{Digits, digits};
use hashbrook::{Batch, Error, Features, Labels, Lift, Method, Model};

use crate::brook::{AsBatch, blobs};
use crate::worlds::World;

/// Learns rows of `classes` classes, 700 at a time, and returns the model.
fn learned(parameters: &[(&str, &str)], classes: usize, rows: usize, bits: usize) -> Model {
    let (stream, _) = World::new(16, classes).draw(rows, 1);
    let labels: Vec<u32> = stream.labels.iter().map(|labels| labels[0]).collect();
    let mut method = Method::named("brook").unwrap();
    // With these targets the function is lifted, which shows the number of anchors.
    method.set("targets", "classes").unwrap();
    parameters.iter().for_each(|(name, value)| method.set(name, value).unwrap());
    let mut model = method.start(16, bits, 1).unwrap();
    let all = Features::new(&stream.values, 16).unwrap();
    let all = Batch::new(all, Labels::single(&labels)).unwrap();
    for start in (0..rows).step_by(700) {
        model.learn(all.slice(start..rows.min(start + 700))).unwrap();
    }
    model
}

fn anchors(model: &Model) -> usize {
    match &model.hash_function().parts().lift {
        Lift::Rbf { anchors, .. } => anchors.len() / model.dim(),
        Lift::Compact(compact) => compact.steps.len(),
        _ => 0,
    }
}

#[test]
fn many_classes_get_more_anchors() {
    for (classes, expected) in [(2, 3000), (100, 3000), (144, 3600), (900, 6000)] {
        let model = learned(&[], classes, 6500, 8);
        assert_eq!((model.warmup(), anchors(&model)), (expected, expected), "{classes} classes");
        assert!(model.is_warm());
    }
    // A given number of anchors is used unchanged. The memory limit bounds the automatic number.
    let given = learned(&[("anchors", "50")], 900, 3100, 8);
    assert_eq!((given.warmup(), anchors(&given)), (50, 50));
    let memory = 3 * 8 * 1100 * 1100;
    let bounded = anchors(&learned(&[("memory", &memory.to_string())], 20, 3100, 8));
    assert!((900..1100).contains(&bounded), "{bounded}");
}

#[test]
fn a_warm_up_that_grows_survives_saving() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("warming.model");
    let growing = learned(&[], 400, 4000, 8);
    assert_eq!((growing.warmup(), growing.is_warm()), (6000, false));
    growing.save(&path).unwrap();
    let mut loaded = Model::load(&path).unwrap();
    assert_eq!((loaded.warmup(), loaded.is_warm()), (6000, false));
    // The rest of the same stream.
    let (stream, _) = World::new(16, 400).draw(4000, 1);
    let more = Features::new(&stream.values[..2000 * 16], 16).unwrap();
    let labels: Vec<u32> = stream.labels[..2000].iter().map(|labels| labels[0]).collect();
    loaded.learn(Batch::new(more, Labels::single(&labels)).unwrap()).unwrap();
    assert_eq!((loaded.is_warm(), anchors(&loaded)), (true, 6000));
}

#[test]
fn shorter_codes_follow_from_the_same_sums() {
    let rows = blobs(&[400, 300, 300], 12, 0.7, 3);
    let start = |bits: usize| {
        let mut method = Method::named("brook").unwrap();
        method.set("anchors", "60").unwrap();
        let mut model = method.start(12, bits, 1).unwrap();
        model.learn(rows.as_batch()).unwrap();
        model.end_warmup().unwrap();
        model
    };
    let long = start(128);
    for bits in [1, 16, 64, 128] {
        let (short, own) = (long.with_bits(bits).unwrap(), start(bits));
        assert_eq!((short.bits(), short.seen()), (bits, own.seen()));
        let (short, own) = (short.hash_function(), own.hash_function());
        assert_eq!(short.label_bits(), own.label_bits(), "{bits} bits");
        let [short, own] =
            [&short, &own].map(|function| function.encode(rows.as_batch().features()).unwrap());
        let flipped: u32 =
            short.iter().zip(own.iter()).map(|(a, b)| hashbrook::hamming(a, b)).sum();
        // The directions of detail bits may differ in their last digits.
        assert!(
            f64::from(flipped) < 0.01 * (bits * rows.as_batch().len()) as f64,
            "{bits} bits: {flipped}"
        );
    }
    for wrong in [0, 129] {
        assert!(matches!(long.with_bits(wrong), Err(Error::Parameter { .. })), "{wrong}");
    }
    let lsh = Method::named("lsh").unwrap().start(12, 16, 1).unwrap();
    assert!(matches!(lsh.with_bits(8), Err(Error::NotSums { .. })));
}

#[test]
fn advice_is_what_the_digits_give() {
    let Digits { features, labels } = digits();
    let sample =
        Batch::new(Features::new(&features, 64).unwrap(), Labels::single(&labels)).unwrap();
    let mut options = AdviceOptions::default();
    options.lengths = vec![64, 2, 64, 16];
    options.rows = Some(1_000_000);
    let mut shares = Vec::new();
    let advice = advise(sample, &options, &mut |share| shares.push(share)).unwrap();
    assert_eq!((advice.database, advice.queries, advice.labels), (1618, 179, 10));
    assert_eq!(advice.lengths.iter().map(|length| length.bits).collect::<Vec<_>>(), [2, 16, 64]);
    assert!(shares.is_sorted() && shares.last() == Some(&1.0));
    let [two, sixteen, sixty_four] = [2, 16, 64].map(|bits| advice.at(bits).unwrap());
    assert!(two.precision_at_10 < 0.5 && sixty_four.precision_at_10 > 0.95, "{advice:?}");
    assert!(advice.by_vectors > 0.95 && sixteen.neighbours < sixty_four.neighbours);
    assert!((20.0..24.0).contains(&sixty_four.item_bytes), "{sixty_four:?}");
    assert!(sixty_four.learning_seconds > 0.0);
    // Re-ranking among all candidates returns the nearest by cosine.
    let all = sixty_four.reranked.last().unwrap();
    assert!(all.candidates == 1000 && all.neighbours > 0.99, "{all:?}");
    assert!(
        advice.at(advice.recommended).unwrap().precision_at_10 >= sixty_four.precision_at_10 - 0.02
    );
    // Sorting rows by label changes little.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&row| labels[row]);
    let values: Vec<f32> =
        order.iter().flat_map(|&row| &features[row * 64..][..64]).copied().collect();
    let sorted: Vec<u32> = order.iter().map(|&row| labels[row]).collect();
    let sorted = Batch::new(Features::new(&values, 64).unwrap(), Labels::single(&sorted)).unwrap();
    let of_sorted = advise(sorted, &options, &mut |_| {}).unwrap();
    assert!((of_sorted.at(2).unwrap().precision_at_10 - two.precision_at_10).abs() < 0.15);
    options.time_limit = std::time::Duration::ZERO;
    let advice = advise(sample, &options, &mut |_| {}).unwrap();
    assert_eq!((advice.lengths.len(), advice.omitted), (1, vec![16, 64]));
    let few = advise(sample.slice(0..49), &options, &mut |_| {}).unwrap_err();
    assert!(few.to_string().contains("50 or more") && few.to_string().contains("49"), "{few}");
}
