//! Speed of the core, compared with naive reference implementations and with the bare matrix
//! products that the core consists of. Everything is measured in one run, on one thread unless
//! stated otherwise.
//!
//! ```text
//! cargo bench --bench core                 # everything, some minutes
//! cargo bench --bench core -- learn eval   # some of it
//! ```
#![allow(missing_docs)]

#[path = "../tests/data/mod.rs"]
mod data;
#[path = "../tests/twin/mod.rs"]
mod twin;

use std::hint::black_box;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use hashbrook::eval::{Evaluation, Metric, evaluate, parts};
use hashbrook::learners::bsodh::Params;
use hashbrook::{
    Batch, Center, Codes, Compact, Features, HashFunction, HashParts, Labels, Learner, Lift,
    Method, Model, Setup, hamming,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use twin::dense_bsodh::{DenseBsodh, Regression, learner};

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let benches: [(&str, fn()); 7] = [
        // This benchmark runs first, so that the peak of memory is its own.
        ("stream", stream),
        ("learn", learn),
        ("methods", methods),
        ("brook", brook),
        ("wide", wide_vectors),
        ("encode", encode),
        ("eval", evaluation),
    ];
    for (name, bench) in benches {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("\n== {name}");
            pool.install(bench);
        }
    }
}

/// Number of rows in the measurements of learning.
const ROWS: usize = 20_000;

/// Returns MNIST, or blobs of the same size if MNIST is not available.
fn mnist_or_blobs() -> (Vec<f32>, Vec<u32>, usize) {
    match data::mnist() {
        Some((features, labels)) => (features, labels, 784),
        None => {
            println!("no MNIST here: blobs of its size instead");
            let blobs = Blobs::new(784, 10, 3);
            (blobs.features(ROWS), blobs.labels(ROWS), 784)
        }
    }
}

/// Measures learning by each method, compared with encoding the same rows once by a linear
/// function. Any use of the rows costs at least the encoding.
fn methods() {
    let (features, labels, dim) = mnist_or_blobs();
    let features = Features::new(&features[..ROWS * dim], dim).expect("finite");
    let labels = Labels::single(&labels[..ROWS]);
    let linear = start(dim, 64, Setup::default()).hash_function();
    let encoding = median(5, || drop(black_box(linear.encode(features))));
    println!("{ROWS} x {dim}, 64 bits");
    println!("  encoded once                   {encoding:11.3} s");
    println!("learned                                      s   / encoded once");
    for (name, parameters) in [
        ("brook", &[("lift", "none")][..]),
        ("bsodh", &[]),
        ("okh", &[]),
        ("sketchhash", &[]),
        ("frosh", &[]),
        ("adapthash", &[]),
        ("osh", &[]),
        ("osh", &[("loss", "hinge")]),
        ("mihash", &[]),
        ("mihash", &[("gradient", "released")]),
    ] {
        let mut method = Method::named(name).expect("known");
        method.preset("mnist").expect("known");
        for (parameter, value) in parameters {
            method.set(parameter, value).expect("known");
        }
        let seconds = median(3, || {
            let mut model = method.start(dim, 64, 1).expect("starts");
            run(&mut model, features, labels, 2000);
            // brook computes its function only on request.
            black_box(model.hash_function());
        });
        let parameters: Vec<String> = parameters.iter().map(|(p, v)| format!("{p}={v}")).collect();
        let name = format!("{name} {}", parameters.join(" "));
        println!("  {name:31}{seconds:11.3} s{:12.1}", seconds / encoding);
    }
}

/// Measures brook, which learns from sums:
///
/// * on unlifted vectors, in batches of several sizes;
/// * on 2,000 lifted dimensions, compared with mihash;
/// * the cost of the lift in encoding.
fn brook() {
    let (features, labels, dim) = mnist_or_blobs();
    let rows = Features::new(&features[..ROWS * dim], dim).expect("finite");
    let labels = Labels::single(&labels[..ROWS]);
    let learn = |name: &str, lift: Option<&str>, rows: Features<'_>, batch: usize| {
        let mut method = Method::named(name).expect("known");
        method.preset("mnist").expect("known");
        if let Some(lift) = lift {
            method.set("lift", lift).expect("known");
            method.set("anchors", "2000").expect("known");
        }
        let clock = Instant::now();
        let mut model = method.start(rows.dim(), 64, 1).expect("starts");
        run(&mut model, rows, labels, batch);
        (black_box(model.hash_function()), clock.elapsed().as_secs_f64())
    };
    println!("learning {ROWS} x {dim}, 64 bits, with the function at the end");
    for batch in [1, 100, 2000] {
        let seconds = median(3, || drop(learn("brook", Some("none"), rows, batch)));
        println!("  brook, linear, in batches of {batch:4} {seconds:11.3} s");
    }
    let aging = |half_life: &str| {
        median(3, || {
            let mut method = Method::named("brook").expect("known");
            method.set("anchors", "2000").expect("known");
            method.set("half_life", half_life).expect("known");
            let mut model = method.start(dim, 64, 1).expect("starts");
            run(&mut model, rows.slice(0..6000), labels.slice(0..6000), 2000);
        })
    };
    println!("learning 6000 rows, lifted, without the function");
    let never = aging("0");
    println!("  half_life = 0                     {never:11.3} s");
    for half_life in ["1", "20", "90", "2000"] {
        let seconds = aging(half_life);
        let ratio = seconds / never;
        println!(
            "  half_life = {half_life:4}                  {seconds:11.3} s   ratio {ratio:.2}"
        );
    }
    let all_threads = rayon::ThreadPoolBuilder::new().build().expect("all threads");
    println!("learning {ROWS} rows, with the function at the end");
    let (function, seconds) = learn("brook", Some("rbf"), rows, 2000);
    println!("  brook, lifted in the same pass    {seconds:11.3} s");
    let seconds = all_threads.install(|| learn("brook", Some("rbf"), rows, 2000).1);
    println!("  the same on all threads           {seconds:11.3} s");
    for precision in ["full", "compact"] {
        let seconds = median(3, || {
            let mut method = Method::named("brook").expect("known");
            method.set("precision", precision).expect("known");
            let mut model = method.start(dim, 64, 1).expect("starts");
            run(&mut model, rows, labels, 2000);
            black_box(model.hash_function());
        });
        println!("  3,000 anchors, precision {precision:8} {seconds:11.3} s");
    }

    let lifted = function.lifted(rows).expect("fits");
    let width = function.parts().lifted_dim();
    let lifted = Features::new(&lifted, width).expect("finite");
    println!("the same on {width} dimensions, lifted beforehand");
    let ours = median(3, || drop(learn("brook", Some("none"), lifted, 2000)));
    let threads =
        median(3, || drop(all_threads.install(|| learn("brook", Some("none"), lifted, 2000))));
    let theirs = median(3, || drop(learn("mihash", None, lifted, 2000)));
    println!("  mihash                            {theirs:11.3} s");
    println!("  brook                             {ours:11.3} s   1/{:.1}", theirs / ours);
    println!("  brook on all threads              {threads:11.3} s   1/{:.1}", theirs / threads);

    println!(
        "bits of {ROWS} rows that flip when a function is asked for again after 1 % more rows"
    );
    for (lift, start) in
        [("none", "seeded"), ("none", "steady"), ("rbf", "seeded"), ("rbf", "steady")]
    {
        let mut method = Method::named("brook").expect("known");
        method.set("lift", lift).expect("known");
        method.set("start", start).expect("known");
        let mut model = method.start(dim, 64, 1).expect("starts");
        run(&mut model, rows.slice(0..ROWS * 100 / 101), labels.slice(0..ROWS * 100 / 101), 2000);
        let before = model.hash_function().encode(rows).expect("fits");
        let more = ROWS * 100 / 101..ROWS;
        run(&mut model, rows.slice(more.clone()), labels.slice(more), 2000);
        let after = model.hash_function().encode(rows).expect("fits");
        let flipped: u32 = before.iter().zip(after.iter()).map(|(a, b)| hamming(a, b)).sum();
        println!(
            "  lift = {lift}, start = {start}: {:.2} %",
            100.0 * f64::from(flipped) / (64 * ROWS) as f64
        );
    }

    let some = rows.slice(0..10_000);
    let (linear, _) = learn("brook", Some("none"), rows, 2000);
    let plain = median(5, || drop(black_box(linear.encode(some))));
    let lift = median(5, || drop(black_box(function.encode(some))));
    let bare = median(5, || {
        // Only the matrix products of the lift.
        let x = MatRef::from_row_major_slice(some.values(), some.len(), dim);
        let anchors = MatRef::from_row_major_slice(&rows.values()[..width * dim], width, dim);
        let mut out = Mat::<f32>::zeros(some.len(), width);
        matmul(out.as_mut(), Accum::Replace, x, anchors.transpose(), 1.0, Par::Seq);
        black_box(out);
    });
    println!("encoding {} rows", some.len());
    println!("  linear                            {plain:11.3} s");
    println!("  lifted                            {lift:11.3} s");
    println!(
        "  the products of the lift alone    {bare:11.3} s   lifted / this = {:.2}",
        lift / bare
    );
}

/// Measures learning 20,000 rows of MNIST, compared with the dense reference implementation.
fn learn() {
    let (features, labels, dim) = mnist_or_blobs();
    let features = Features::new(&features[..ROWS * dim], dim).expect("finite");
    let labels = Labels::single(&labels[..ROWS]);

    let seconds = median(5, || {
        let mut model = start(dim, 64, Setup::default());
        run(&mut model, features, labels, 2000);
    });
    // Lower bound on the multiplications of the W-steps: one triangle of X^T X for each batch
    // except the first.
    let x: Vec<f64> = features.values()[..2000 * dim].iter().map(|&v| f64::from(v)).collect();
    let x = MatRef::from_row_major_slice(&x, 2000, dim);
    let mut gram = Mat::<f64>::zeros(dim, dim);
    let (full, lower) = (BlockStructure::Rectangular, BlockStructure::TriangularLower);
    let product = median(5, || {
        let (gram, xt) = (gram.as_mut(), x.transpose());
        triangular_matmul(gram, lower, Accum::Replace, xt, full, x, full, 1.0, Par::Seq);
    });
    let floor = 9.0 * product;

    let prepared = {
        let mut model = start(dim, 64, Setup::default());
        model.learn(Batch::new(features.slice(0..2000), labels.slice(0..2000)).unwrap()).unwrap();
        let center = model.hash_function().parts().center.clone().expect("centred");
        unit_rows(features, &center)
    };
    let prepared = Features::new(&prepared, dim).expect("finite");
    let weights = start(dim, 64, Setup::default()).hash_function().parts().weights.clone();
    // The learner alone, with W refined from single precision or solved in double precision,
    // alternately.
    let mut functions = [const { Vec::new() }; 2];
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..7 {
        let ways = [Regression::Quicker, Regression::Direct].into_iter();
        for ((way, times), functions) in ways.zip(&mut times).zip(&mut functions) {
            let mut learner = learner(Params::default(), dim, weights.clone(), way);
            times.push(time(|| {
                for at in (0..ROWS).step_by(2000) {
                    let rows = at..at + 2000;
                    let labels = labels.slice(rows.clone());
                    let batch = Batch::new(prepared.slice(rows), labels).expect("fits");
                    learner.learn(batch).expect("learns");
                }
            }));
            functions.push(learner.hash_function());
        }
    }
    let codes = functions.map(|functions| functions[0].encode(prepared).expect("fits"));
    assert!(codes[0] == codes[1], "both ways come to the same codes");
    let [refined, direct] = times.map(middle);
    let dense = median(1, || {
        let mut dense = DenseBsodh::new(Params::default(), dim, 64, weights.clone());
        for at in (0..ROWS).step_by(2000) {
            dense.learn(prepared.slice(at..at + 2000), labels.slice(at..at + 2000));
        }
    });
    println!("bsodh, {ROWS} x {dim}, 64 bits, batches of 2000   {seconds:8.3} s");
    println!(
        "  one triangle of X^T X, for its nine W-steps  {floor:8.3} s   ratio {:.2}",
        seconds / floor
    );
    println!("  on prepared rows, W refined                  {refined:8.3} s");
    println!(
        "  the same, W in double throughout             {direct:8.3} s   ratio {:.2}",
        direct / refined
    );
    println!(
        "  the dense form of the paper                  {dense:8.3} s   ratio {:.1}",
        dense / seconds
    );
}

/// Measures a batch of fewer rows than dimensions, compared with the same batch solved over the
/// dimensions.
fn wide_vectors() {
    const DIM: usize = 4096;
    let blobs = Blobs::new(DIM, 10, 4);
    let (values, labels) = (blobs.features(2100), blobs.labels(2100));
    let features = Features::new(&values, DIM).expect("finite");
    let mut setup = Setup::default();
    setup.center = Center::None;
    let mut model = start(DIM, 64, setup);
    let mut at = 0;
    let seconds = median(21, || {
        let rows = at..at + 100;
        let labels = Labels::single(&labels[rows.clone()]);
        model.learn(Batch::new(features.slice(rows), labels).expect("fits")).expect("learns");
        at += 100;
    });
    let x: Vec<f64> = values[..100 * DIM].iter().map(|&v| f64::from(v)).collect();
    let x = MatRef::from_row_major_slice(&x, 100, DIM);
    let targets = Mat::<f64>::from_fn(100, 64, |i, j| if (i + j) % 2 == 0 { 1.0 } else { -1.0 });
    let primal = median(3, || {
        let mut gram = x.transpose() * x;
        (0..DIM).for_each(|i| gram[(i, i)] += 1.2);
        let right = x.transpose() * &targets;
        black_box(gram.llt(Side::Lower).expect("definite").solve(right));
    });
    println!("a batch of 100 x {DIM}, 64 bits     {:8.2} ms", seconds * 1e3);
    println!(
        "  W alone, over the dimensions    {:8.2} ms   ratio {:.0}",
        primal * 1e3,
        primal / seconds
    );
}

/// Measures learning a million rows: neither time nor memory may grow with the number of rows
/// learned before.
fn stream() {
    let blobs = Blobs::new(784, 10, 5);
    let (values, labels) = (blobs.features(40_000), blobs.labels(40_000));
    let mut model = start(784, 64, Setup::default());
    let mut seconds = Vec::new();
    let mut memory = Vec::new();
    for batch in 0..500 {
        // The same rows recur in other batches, shifted a little each time.
        let at = (batch * 2000 + batch / 20 * 37) % 38_000;
        let features = Features::new(&values[at * 784..(at + 2000) * 784], 784).expect("finite");
        let batch = Batch::new(features, Labels::single(&labels[at..at + 2000])).expect("fits");
        let start = Instant::now();
        model.learn(batch).expect("learns");
        seconds.push(start.elapsed().as_secs_f64());
        memory.push(peak_memory());
    }
    let (early, late) = (middle(seconds[4..24].to_vec()), middle(seconds[480..].to_vec()));
    println!("{} rows in batches of 2000, 784 dimensions, 64 bits", model.seen());
    println!("  batches 5 to 24   {:8.2} ms   peak memory {:6} KiB", early * 1e3, memory[23]);
    println!("  the last 20       {:8.2} ms   peak memory {:6} KiB", late * 1e3, memory[499]);
    println!(
        "  ratio             {:8.3}      memory + {:.2} %",
        late / early,
        (memory[499] as f64 / memory[23] as f64 - 1.0) * 100.0
    );
}

/// Measures encoding a million rows, compared with the bare product of the same shape.
fn encode() {
    const ROWS: usize = 1_000_000;
    let (dim, bits) = (784, 64);
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut random = |n: usize| (0..n).map(|_| rng.random::<f32>() - 0.5).collect::<Vec<f32>>();
    let values = random(ROWS * dim);
    let (weights, center) = (random(dim * bits), random(dim));
    let features = Features::new(&values, dim).expect("finite");
    let plain = HashParts::linear(dim, bits, weights.clone());
    let full = HashParts { center: Some(center), unit: true, ..plain.clone() };
    let mut out = vec![0.0f32; ROWS * bits];
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..3 {
        times[0].push(time(|| {
            let out = MatMut::from_row_major_slice_mut(&mut out, ROWS, bits);
            let x = MatRef::from_row_major_slice(&values, ROWS, dim);
            let w = MatRef::from_row_major_slice(&weights, dim, bits);
            matmul(out, Accum::Replace, x, w, 1.0, Par::Seq);
        }));
        for (times, parts) in times[1..].iter_mut().zip([&plain, &full]) {
            let function = HashFunction::new(parts.clone()).expect("fits");
            times.push(time(|| {
                black_box(function.encode(features).expect("fits"));
            }));
        }
    }
    let [product, plain, full] = times.map(middle);
    println!("{ROWS} x {dim} to {bits} bits");
    println!("  the bare product                 {product:8.3} s");
    println!("  encode                           {plain:8.3} s   ratio {:.2}", plain / product);
    println!("  encode, centred, of unit length  {full:8.3} s   ratio {:.2}", full / product);
    drop(out);
    for dim in [128, 784, 1280] {
        encode_lifted(dim, bits);
    }
}

/// Measures encoding with 3,000 anchors, brook's default: in full precision, and in integer
/// arithmetic in all dimensions or in 128 directions.
fn encode_lifted(dim: usize, bits: usize) {
    const ROWS: usize = 10_000;
    const ANCHORS: usize = 3000;
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut random = |n: usize| (0..n).map(|_| rng.random::<f32>() - 0.5).collect::<Vec<f32>>();
    let (values, anchors) = (random(ROWS * dim), random(ANCHORS * dim));
    let features = Features::new(&values, dim).expect("finite");
    let directions = random(128 * dim);
    let weights = HashParts::linear(dim, bits, random(ANCHORS * bits));
    let function = |lift: Lift| {
        let parts = HashParts { center: Some(vec![0.1; dim]), unit: true, ..weights.clone() };
        HashFunction::new(HashParts { lift, ..parts }).expect("fits")
    };
    let compact = |directions: Vec<f32>| {
        let compact = Compact::new(&anchors, directions, dim, 0.5).expect("fits");
        function(Lift::Compact(compact))
    };
    let full = function(Lift::Rbf { anchors: anchors.clone(), gamma: 0.5 });
    let mut forms = vec![("in full", full), ("compact", compact(Vec::new()))];
    if dim >= 256 {
        forms.push(("compact, 128 directions", compact(directions)));
    }
    let mut times = vec![Vec::new(); forms.len()];
    for _ in 0..5 {
        for ((_, function), times) in forms.iter().zip(&mut times) {
            times.push(time(|| {
                black_box(function.encode(features).expect("fits"));
            }));
        }
    }
    println!("a million x {dim} to {bits} bits, with {ANCHORS} anchors ({ROWS} rows measured)");
    let times: Vec<f64> =
        times.into_iter().map(|times| middle(times) * 1e6 / ROWS as f64).collect();
    for ((name, _), seconds) in forms.iter().zip(&times) {
        println!("  {name:32} {seconds:8.3} s   1/{:.2}", times[0] / seconds);
    }
}

/// Measures all metrics of 1,000 queries against 69,000 codes, compared with the reference
/// implementation, which sorts.
fn evaluation() {
    // Codes like those of supervised hashing: near the code of their class.
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let classes: Vec<u64> = (0..10).map(|_| rng.random()).collect();
    let mut draw = |rows: usize| {
        let labels: Vec<u32> = (0..rows).map(|_| rng.random_range(0..10)).collect();
        let mut codes = Codes::new(64).expect("in range");
        for &label in &labels {
            let noise: u64 = rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>();
            codes.push(&[classes[label as usize] ^ noise]).expect("fits");
        }
        (codes, labels)
    };
    let (database, labels) = draw(69_000);
    let (queries, wanted) = draw(1_000);
    let (labels, wanted) = (Labels::single(&labels), Labels::single(&wanted));
    let metrics = Metric::DEFAULT;
    let fast = || evaluate(&queries, wanted, &database, labels, metrics).expect("fits");
    let rows: Vec<usize> = (0..database.len()).collect();
    let cut = rows.chunks(database.len() / 4).map(|rows| (database.select(rows), rows));
    let cut: Vec<(Codes, Labels<'_>)> =
        cut.map(|(codes, rows)| (codes, labels.slice(rows[0]..rows[0] + rows.len()))).collect();
    let in_parts = || evaluate_parts(&queries, wanted, &cut, metrics).expect("fits");
    assert_eq!(in_parts(), fast());
    let all_threads = rayon::ThreadPoolBuilder::new().build().expect("threads");
    let mut times = [const { Vec::new() }; 5];
    let mut results = Vec::new();
    for _ in 0..3 {
        times[0].push(time(|| results.push(fast().get(Metric::Map))));
        times[1].push(time(|| results.push(all_threads.install(fast).get(Metric::Map))));
        times[4].push(time(|| results.push(in_parts().get(Metric::Map))));
        times[2].push(time(|| {
            let packed =
                |l: &Codes, i: usize, r: &Codes, j: usize| hamming(l.code(i), r.code(j)) as usize;
            let twin =
                twin::ranking::evaluate(packed, &queries, wanted, &database, labels, metrics);
            results.push(twin.values[0].1);
        }));
        times[3].push(time(|| {
            let bits = twin::ranking::differing_bits;
            let twin = twin::ranking::evaluate(bits, &queries, wanted, &database, labels, metrics);
            results.push(twin.values[0].1);
        }));
    }
    assert!(results.iter().all(|map| (map - results[0]).abs() < 1e-9), "{results:?}");
    let [one, all, packed, bits, parts] = times.map(middle);
    println!("all metrics, 1,000 queries against 69,000 codes of 64 bits");
    println!("  one thread                          {one:8.3} s");
    println!(
        "  {} threads                           {all:8.3} s",
        all_threads.current_num_threads()
    );
    println!("  in four parts, one thread           {parts:8.3} s   ratio {:.1}", parts / one);
    println!(
        "  sorting, packed codes, one thread   {packed:8.3} s   ratio {:.1}, {:.1}",
        packed / one,
        packed / all
    );
    println!(
        "  sorting, bit by bit, one thread     {bits:8.3} s   ratio {:.1}, {:.1}",
        bits / one,
        bits / all
    );
}

/// Runs both passes over the parts, and returns the combined evaluation.
fn evaluate_parts(
    codes: &Codes,
    wanted: Labels<'_>,
    cut: &[(Codes, Labels<'_>)],
    metrics: &[Metric],
) -> hashbrook::Result<Evaluation> {
    let queries = parts::Queries::new(codes, wanted)?;
    let mut total = queries.nothing();
    for (codes, labels) in cut {
        total.add(&queries.tally(codes, *labels)?)?;
    }
    let (mut before, mut all) = (queries.nothing(), queries.no_ranks(&total, metrics)?);
    for (codes, labels) in cut {
        all.add(&queries.rank((codes, *labels), &total, &mut before, metrics)?)?;
    }
    queries.score(&total, &all, metrics)
}

fn start(dim: usize, bits: usize, setup: Setup) -> Model {
    let method = Method::named("bsodh").expect("known");
    method.start_with(dim, bits, 1, setup).expect("starts")
}

fn run(model: &mut Model, features: Features<'_>, labels: Labels<'_>, size: usize) {
    let all = Batch::new(features, labels).expect("fits");
    for at in (0..all.len()).step_by(size) {
        model.learn(all.slice(at..all.len().min(at + size))).expect("learns");
    }
}

fn unit_rows(features: Features<'_>, center: &[f32]) -> Vec<f32> {
    let mut rows = features.values().to_vec();
    for row in rows.chunks_exact_mut(features.dim()) {
        row.iter_mut().zip(center).for_each(|(value, center)| *value -= center);
        let norm = row.iter().map(|v| v * v).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        row.iter_mut().for_each(|value| *value /= norm);
    }
    rows
}

/// Generator of noise around one centre per class.
struct Blobs {
    dim: usize,
    classes: usize,
    seed: u64,
}

impl Blobs {
    fn new(dim: usize, classes: usize, seed: u64) -> Self {
        Blobs { dim, classes, seed }
    }

    fn labels(&self, rows: usize) -> Vec<u32> {
        (0..rows).map(|row| (row * 7 % self.classes) as u32).collect()
    }

    fn features(&self, rows: usize) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let centers: Vec<f32> = (0..self.classes * self.dim).map(|_| rng.random()).collect();
        let labels = self.labels(rows);
        labels
            .iter()
            .flat_map(|&label| &centers[label as usize * self.dim..][..self.dim])
            .map(|center| center + rng.random::<f32>() * 2.0)
            .collect()
    }
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(times: usize, mut work: impl FnMut()) -> f64 {
    middle((0..times).map(|_| time(&mut work)).collect())
}

fn middle(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Returns the peak memory of this process in KiB; 0 if the system does not report it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
