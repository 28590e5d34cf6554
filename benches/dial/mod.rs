//! Searches with a dial beside plain ones, in codes that have label bits and detail bits.

use std::hint::black_box;
use std::time::Instant;

use hashbrook::dataset::{Digits, digits};
use hashbrook::{Batch, Dial, Features, Filter, Index, Labels, Method};

use super::{data, on_threads};

/// Vectors and their labels: of MNIST, or else of the small digits, many times over.
fn rows() -> (&'static str, usize, Vec<f32>, Vec<u32>) {
    match data::mnist() {
        Some((features, labels)) => ("MNIST", 784, features, labels),
        None => {
            let Digits { features, labels } = digits();
            ("digits, 40 times", Digits::DIM, features.repeat(40), labels.repeat(40))
        }
    }
}

/// How many times as long a search takes as a plain one, by scans on one thread, measured in turn.
pub fn dial() {
    let (name, dim, features, labels) = rows();
    let all = Batch::new(Features::new(&features, dim).expect("rows"), Labels::single(&labels))
        .expect("a label each");
    let (queries, database) = (all.features().slice(0..1000), all.slice(1000..all.len()));
    let mut method = Method::named("brook").expect("a method");
    method.set("detail", "0.5").expect("a parameter");
    println!("{name}, {} codes of brook, detail=0.5, 1,000 queries at once", database.len());
    println!("{:>5} {:>6} {:>24} {:>12} {:>6}", "bits", "k", "dial", "G codes/s", "ratio");
    for bits in [64, 128] {
        let mut model = method.start(dim, bits, 1).expect("a length there is");
        model.learn(database.slice(0..20_000)).expect("labelled rows");
        let mut index = Index::new(model.hash_function());
        let ids: Vec<u64> = (0..database.len() as u64).collect();
        index.add(&ids, database.features(), None).expect("new ids");
        index.allow_search_structures(false);
        let (function, filter) = (model.hash_function(), Filter::all());
        let view = index.filtered(&filter);
        let plain = Dial::new(1, 1).expect("weights");
        let label = Dial::new(4, 1).expect("weights");
        let dials = [
            ("plain", plain),
            ("label 4", label),
            ("label 1000", Dial::new(1000, 1).expect("weights")),
            ("float query", plain.float_query(true)),
            ("float query, label 4", label.float_query(true)),
        ];
        let weighed = dials.map(|(_, dial)| dial.weigh(&function, queries).expect("the dimension"));
        for k in [10, 100, 1000] {
            let mut times: Vec<Vec<f64>> = vec![Vec::new(); dials.len()];
            for _ in 0..9 {
                for (times, weighed) in times.iter_mut().zip(&weighed) {
                    times.push(on_threads(1, || {
                        let clock = Instant::now();
                        black_box(view.search_weighed(weighed, k)).expect("sound");
                        clock.elapsed().as_secs_f64()
                    }));
                }
            }
            for (at, (name, _)) in dials.iter().enumerate() {
                let mut ratios: Vec<f64> =
                    times[at].iter().zip(&times[0]).map(|(time, plain)| time / plain).collect();
                ratios.sort_by(f64::total_cmp);
                let mut own = times[at].clone();
                own.sort_by(f64::total_cmp);
                let rate = (database.len() * queries.len()) as f64 / own[4] / 1e9;
                println!("{bits:>5} {k:>6} {name:>24} {rate:>12.2} {:>6.2}", ratios[4]);
            }
        }
    }
}
