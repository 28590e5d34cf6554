//! Searches with a dial compared with plain searches, on codes with label bits and detail bits.

use std::hint::black_box;
use std::time::Instant;

use hashbrook::dataset::{Digits, digits};
use hashbrook::{Batch, Dial, Features, Filter, Index, Labels, Method, SearchStructure, Weighed};

use super::{data, on_threads};

/// Returns vectors and their labels: MNIST, or repeated copies of the small digits if MNIST is not
/// available.
fn rows() -> (&'static str, usize, Vec<f32>, Vec<u32>) {
    match data::mnist() {
        Some((features, labels)) => ("MNIST", 784, features, labels),
        None => {
            let Digits { features, labels } = digits();
            ("digits, 40 times", Digits::DIM, features.repeat(40), labels.repeat(40))
        }
    }
}

/// Prints the time of a search with a dial relative to a plain search, by scans and with the search
/// structure, on one thread, measured alternately.
pub fn dial() {
    let (name, dim, features, labels) = rows();
    let all = Batch::new(Features::new(&features, dim).expect("rows"), Labels::single(&labels))
        .expect("a label each");
    let (queries, database) = (all.features().slice(0..1000), all.slice(1000..all.len()));
    let mut method = Method::named("brook").expect("a method");
    method.set("detail", "0.5").expect("a parameter");
    println!("{name}, {} codes of brook, detail=0.5, 1,000 queries at once", database.len());
    println!(
        "{:>5} {:>5} {:>22} {:>12} {:>6} {:>12} {:>6}",
        "bits", "k", "dial", "scan: G/s", "ratio", "any way", "ratio"
    );
    for bits in [64, 128] {
        let mut model = method.start(dim, bits, 1).expect("a length there is");
        model.learn(database.slice(0..20_000)).expect("labelled rows");
        let mut index = Index::new(model.hash_function());
        let ids: Vec<u64> = (0..database.len() as u64).collect();
        index.add(&ids, database.features(), None).expect("new ids");
        let (function, filter) = (model.hash_function(), Filter::all());
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
            let mut columns = vec![String::new(); dials.len()];
            for structures in [false, true] {
                index.set_search_structure(if structures {
                    SearchStructure::Full
                } else {
                    SearchStructure::None
                });
                index.build_search_structures().expect("sound");
                let view = index.filtered(&filter);
                let time = |weighed: &Weighed| {
                    on_threads(1, || {
                        let clock = Instant::now();
                        black_box(view.search_weighed(weighed, k)).expect("sound");
                        clock.elapsed().as_secs_f64()
                    })
                };
                // The first round is discarded: the index adapts to the searches, and caches fill.
                let rounds: Vec<[f64; 5]> =
                    (0..10).map(|_| weighed.each_ref().map(time)).skip(1).collect();
                for (at, column) in columns.iter_mut().enumerate() {
                    let median = |of: &dyn Fn(&[f64; 5]) -> f64| {
                        let mut all: Vec<f64> = rounds.iter().map(of).collect();
                        all.sort_by(f64::total_cmp);
                        all[all.len() / 2]
                    };
                    let compared = (database.len() * queries.len()) as f64 / 1e9;
                    let rate = compared / median(&|times| times[at]);
                    let ratio = median(&|times| times[at] / times[0]);
                    *column += &format!(" {rate:>12.2} {ratio:>6.2}");
                }
            }
            for ((name, _), column) in dials.iter().zip(columns) {
                println!("{bits:>5} {k:>5} {name:>22}{column}");
            }
        }
    }
}
