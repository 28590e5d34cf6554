//! brook beyond the papers' protocol, compared with lsh, itq and the cosine of the vectors
//! themselves: classes that are not in the stream, held-out rows, neighbours within a class, the
//! dial, and classes that arrive two at a time.
//!
//! ```text
//! cargo run --release --example beyond_table -- DIRECTORY [NAME=VALUE ...]
//! ```
//!
//! DIRECTORY contains `mnist`, `cifar10-cnn` and `tinyimagenet-cnn`. `sets`, `sections` (paper,
//! kept-out, neighbours, unseen, dial, incremental) and `references` (lsh, itq, cosine; or none)
//! choose what is computed, separated by commas. `seeds` is the number of seeds, and `bits` the
//! code length. All other names are parameters of brook:
//!
//! ```text
//! beyond_table ../data sets=mnist seeds=1 sections=paper,unseen references=none detail=0.25
//! ```
//!
//! The output has the mean over the seeds, and the smallest and largest value if there are several
//! seeds.

mod asked;
#[path = "../sets/mod.rs"]
mod sets;
mod table;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use hashbrook::dataset::Data;
use hashbrook::eval::{Dial, Metric};
use hashbrook::protocol::{Incremental, Ranked, UnseenClasses, Vectors, kept_out, learn_rows};
use hashbrook::{Batch, Center, HashFunction, Method, Model, Setup};

use crate::asked::Asked;
use crate::sets::{SETS, Set};
use crate::table::Table;

type Failure = Box<dyn std::error::Error>;

const TOP: Metric = Metric::MapAt(1000);
const RADIUS: Metric = Metric::PrecisionWithin(2);

fn main() -> Result<(), Failure> {
    let asked = Asked::read()?;
    if let Some(unknown) =
        asked.sets.iter().find(|name| SETS.iter().all(|set| set.name != name.as_str()))
    {
        return Err(format!("there is no set {unknown}").into());
    }
    let parameters: Vec<String> =
        asked.parameters.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    for set in SETS.iter().filter(|set| asked.sets.iter().any(|name| name == set.name)) {
        let path = |file: &&str| Path::new(&asked.directory).join(set.name).join(file);
        let files = |files: &[&str]| -> Vec<String> {
            files.iter().map(path).map(|path| path.display().to_string()).collect()
        };
        let clock = Instant::now();
        let data = Data::load(&files(set.features), &files(set.labels))?;
        let center = data.mean();
        let mut table = Table::default();
        for seed in 1..=asked.seeds {
            let (database, queries) = data.split(set.queries_per_class, seed)?;
            let (database, queries) = (database.batch(), queries.batch());
            let prepared = prepared(&center)?;
            let vectors = Arc::new(Vectors::new(&prepared, database, queries)?);
            let given =
                Given { asked: &asked, set, seed, center: &center, database, queries, vectors };
            given.of_the_papers_split(&mut table)?;
            given.of_unseen_classes(&mut table)?;
        }
        println!(
            "{}: {} bits, {} seeds, {:.0} s; brook{}",
            set.name,
            asked.bits,
            asked.seeds,
            clock.elapsed().as_secs_f64(),
            if parameters.is_empty() { " as it is".to_owned() } else { parameters.concat() }
        );
        table.print();
    }
    Ok(())
}

fn setup(center: &[f32], warmup: usize) -> Setup {
    let mut setup = Setup::default();
    setup.center = Center::Given(center.to_vec());
    setup.warmup = Some(warmup);
    setup
}

/// Returns a function that prepares vectors as all models here do.
fn prepared(center: &[f32]) -> Result<HashFunction, Failure> {
    let lsh = Method::named("lsh")?.start_with(center.len(), 1, 1, setup(center, 1))?;
    Ok(lsh.hash_function())
}

/// Data set, split into database and queries.
struct Given<'a> {
    asked: &'a Asked,
    set: &'a Set,
    seed: u64,
    center: &'a [f32],
    database: Batch<'a>,
    queries: Batch<'a>,
    vectors: Arc<Vectors>,
}

impl<'a> Given<'a> {
    fn start(&self, method: &Method, bits: usize, rows: usize) -> Result<Model, Failure> {
        let setup = setup(self.center, method.warmup().min(rows));
        Ok(method.start_with(self.center.len(), bits, self.seed, setup)?)
    }

    /// Returns a function that has learned some rows of the database, and the seconds it took.
    fn learned(
        &self,
        method: &Method,
        bits: usize,
        rows: &[usize],
    ) -> Result<(HashFunction, f64), Failure> {
        let mut model = self.start(method, bits, rows.len())?;
        let learning = learn_rows(&mut model, self.database, rows, self.set.batch)?;
        let clock = Instant::now();
        let function = model.try_hash_function()?;
        Ok((function, (learning + clock.elapsed()).as_secs_f64()))
    }

    fn ranked(&self, function: &HashFunction) -> Result<Ranked<'a>, Failure> {
        Ok(Ranked::by_codes(function, self.database, self.queries)?)
    }

    fn cosine(&self) -> Ranked<'a> {
        Ranked::by_cosine(self.vectors.clone(), self.database, self.queries)
    }

    /// Returns the methods to compare brook with.
    fn references(&self) -> Result<Vec<Method>, Failure> {
        let wanted = |name: &&str| self.asked.refers_to(name);
        Ok(["lsh", "itq"]
            .iter()
            .filter(|name| wanted(name))
            .map(|n| Method::named(n))
            .collect::<Result<_, _>>()?)
    }

    /// Measures the sections that use one model, which has learned the first rows: the papers'
    /// protocol, held-out rows, neighbours, and the mixed stream.
    fn of_the_papers_split(&self, table: &mut Table) -> Result<(), Failure> {
        let sections = ["paper", "kept-out", "neighbours", "incremental"];
        if !sections.iter().any(|section| self.asked.wants(section)) {
            return Ok(());
        }
        let rows: Vec<usize> = (0..self.set.rows.min(self.database.len())).collect();
        let mut brook = vec![self.asked.brook(&[])?];
        brook.extend(self.references()?);
        for method in &brook {
            let (function, seconds) = self.learned(method, self.asked.bits, &rows)?;
            let ranked = self.ranked(&function)?;
            self.measure(table, method.name(), &ranked, Some(seconds))?;
        }
        if self.asked.refers_to("cosine") {
            self.measure(table, "cosine", &self.cosine(), None)?;
        }
        if self.asked.wants("incremental") {
            for method in &brook {
                let order = Incremental::draw(self.cosine().database_labels()?, self.seed)?;
                let mut model = self.start(method, self.asked.bits, rows.len())?;
                let both = (self.database, self.queries);
                let sizes = (rows.len(), self.set.batch);
                let found = order.run(&mut model, both, sizes, &[Metric::Map])?;
                let values = [
                    ("mAP", found.all.get(Metric::Map)),
                    ("first four, then", found.first_then.get(Metric::Map)),
                    ("at the end", found.first_at_end.get(Metric::Map)),
                ];
                table.add(&format!("two classes at a time, {}", method.name()), &values);
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        table: &mut Table,
        name: &str,
        ranked: &Ranked<'_>,
        seconds: Option<f64>,
    ) -> Result<(), Failure> {
        let first = Metric::PrecisionAt(1);
        let found = ranked.evaluate(&[Metric::Map, TOP, RADIUS, first])?;
        if self.asked.wants("paper") || self.asked.wants("incremental") {
            let mut values = vec![("mAP", found.get(Metric::Map)), ("mAP@1000", found.get(TOP))];
            // The cosine has no radius.
            if let Some(seconds) = seconds {
                values.extend([("P r<=2", found.get(RADIUS)), ("learn, s", seconds)]);
            }
            table.add(&format!("paper (mixed), {name}"), &values);
        }
        if self.asked.wants("kept-out") && self.set.rows < self.database.len() {
            let found = kept_out(ranked, self.set.rows, &[Metric::Map, TOP])?;
            let values = [
                ("mAP of streamed", found.streamed.get(Metric::Map)),
                ("of others", found.others.get(Metric::Map)),
                ("@1000 of streamed", found.streamed.get(TOP)),
                ("of others @1000", found.others.get(TOP)),
            ];
            table.add(&format!("kept out, {name}"), &values);
        }
        if self.asked.wants("neighbours") {
            let p1 = found.get(first);
            let found = ranked.neighbours(&self.vectors, &[10, 100, 1000])?;
            let values = [
                ("R10", found.kept[0].1),
                ("R100", found.kept[1].1),
                ("R1000", found.kept[2].1),
                ("P@1", p1),
                ("reranked", found.reranked[2].1),
                ("cosine's", found.by_vectors),
            ];
            table.add(&format!("neighbours, {name}"), &values);
        }
        Ok(())
    }

    /// Measures the sections that use models without a quarter of the classes: unseen classes, and
    /// the dial.
    fn of_unseen_classes(&self, table: &mut Table) -> Result<(), Failure> {
        if !self.asked.wants("unseen") && !self.asked.wants("dial") {
            return Ok(());
        }
        let labels = self.cosine().database_labels()?;
        let classes = UnseenClasses::draw(labels, self.seed)?;
        let rows = classes.stream(labels, self.set.rows)?;
        let metrics = [Metric::Map, TOP];
        let measure = |table: &mut Table, name: &str, ranked: &Ranked<'_>| {
            let found = classes.measure(ranked, &metrics)?;
            let values = [
                ("unseen among all @1000", found.unseen_among_all.get(TOP)),
                ("alone @1000", found.unseen_alone.get(TOP)),
                ("seen alone mAP", found.seen_alone.get(Metric::Map)),
                ("seen among all", found.seen_among_all.get(Metric::Map)),
            ];
            table.add(&format!("unseen, {name}"), &values);
            Ok::<_, Failure>(())
        };
        let (bits, twice) = (self.asked.bits, 2 * self.asked.bits);
        let half = self.asked.brook(&[("detail", "0.5")]);
        if self.asked.wants("unseen") {
            let (function, _) = self.learned(&self.asked.brook(&[])?, bits, &rows)?;
            measure(table, "brook", &self.ranked(&function)?)?;
        }
        match &half {
            Ok(half) => {
                let (function, _) = self.learned(half, bits, &rows)?;
                let ranked = self.ranked(&function)?;
                if self.asked.wants("unseen") {
                    measure(table, "brook detail=.5", &ranked)?;
                    let (function, _) = self.learned(half, twice, &rows)?;
                    measure(
                        table,
                        &format!("brook detail=.5 {twice} bits"),
                        &self.ranked(&function)?,
                    )?;
                }
                if self.asked.wants("dial") {
                    self.dial(table, &classes, &function, &ranked)?;
                }
            }
            Err(error) => eprintln!("brook with detail=0.5 is left out: {error}"),
        }
        if self.asked.wants("unseen") {
            for method in &self.references()? {
                for bits in [bits, twice] {
                    let (function, _) = self.learned(method, bits, &rows)?;
                    let name = format!("{} {bits} bits", method.name());
                    measure(table, &name, &self.ranked(&function)?)?;
                }
            }
            if self.asked.refers_to("cosine") {
                measure(table, "cosine", &self.cosine())?;
            }
        }
        Ok(())
    }

    fn dial(
        &self,
        table: &mut Table,
        classes: &UnseenClasses,
        function: &HashFunction,
        ranked: &Ranked<'_>,
    ) -> Result<(), Failure> {
        let metrics = [Metric::Map, TOP];
        let seen = classes.rows(ranked.query_labels()?, false)?;
        for (name, label_weight, float) in [
            ("Hamming", 1, false),
            ("label x 4", 4, false),
            ("float query", 1, true),
            ("float query, label x 4", 4, true),
        ] {
            let dial = Dial::new(label_weight, 1)?.float_query(float);
            let ranked = ranked.with_dial(function, dial)?;
            let found = classes.measure(&ranked, &metrics)?;
            let kept = ranked.neighbours_of(&seen, &self.vectors, &[1000])?;
            let values = [
                ("seen alone mAP", found.seen_alone.get(Metric::Map)),
                ("seen among all", found.seen_among_all.get(Metric::Map)),
                ("unseen among all @1000", found.unseen_among_all.get(TOP)),
                ("R1000 seen", kept.kept[0].1),
            ];
            table.add(&format!("dial, {name}"), &values);
        }
        Ok(())
    }
}
