//! One run of a protocol: learns, then measures.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use hashbrook::eval::{Evaluation, Metric};
use hashbrook::protocol::{
    Experiment, Incremental, Ranked, UnseenClasses, Vectors, kept_out, learn_rows,
};
use hashbrook::{Batch, Center, Model, Setup};
use serde_json::{Value, json};

use super::cell::{Contender, Found};
use super::protocol::{Protocol, labels};

/// One run: the protocol, the contender, and the data to learn and measure.
pub struct Run<'a> {
    pub protocol: Protocol,
    pub contender: &'a Contender,
    pub bits: usize,
    pub seed: u64,
    /// Number of rows of the database to stream, in batches of `batch`.
    pub rows: usize,
    pub batch: Option<usize>,
    pub top: usize,
    pub ndcg_at: usize,
    pub center: Center,
    pub database: Batch<'a>,
    pub queries: Batch<'a>,
}

impl<'a> Run<'a> {
    /// Runs the protocol and returns the measured values, by column name.
    pub fn found(&self) -> Result<Found> {
        let values = match self.protocol {
            Protocol::Paper => self.paper()?,
            Protocol::Unseen => self.unseen()?,
            Protocol::KeptOut => self.kept_out()?,
            Protocol::Neighbours => self.neighbours()?,
            Protocol::Incremental => self.incremental()?,
            Protocol::Pairs | Protocol::Superclass => self.several_labels()?,
        };
        let columns = self.protocol.columns(self.top, self.ndcg_at);
        Ok(columns.into_iter().map(|column| column.name).zip(values).collect())
    }

    fn metrics(&self) -> Vec<Metric> {
        self.protocol.metrics(self.top, self.ndcg_at)
    }

    /// Returns the values of the protocol's metrics, in their order.
    fn values(&self, found: &Evaluation) -> Vec<Value> {
        // A cosine has no Hamming radius.
        let known = |metric: &Metric| {
            !(self.contender.by_vectors && matches!(metric, Metric::PrecisionWithin(_)))
        };
        let value = |metric: &Metric| json!(known(metric).then(|| found.get(*metric)));
        self.metrics().iter().map(value).collect()
    }

    fn rows(&self) -> usize {
        self.rows.min(self.database.len())
    }

    fn batch(&self, rows: usize) -> usize {
        self.batch.unwrap_or_else(|| rows.div_ceil(10).clamp(1, 2000))
    }

    fn start(&self, rows: usize) -> Result<Model> {
        let method = &self.contender.method;
        let mut setup = Setup::default();
        setup.center = self.center.clone();
        setup.warmup = (rows < method.warmup()).then_some(rows);
        let dim = self.database.features().dim();
        Ok(method.start_with(dim, self.bits, self.seed, setup)?)
    }

    fn paper(&self) -> Result<Vec<Value>> {
        let metrics = self.metrics();
        let experiment = Experiment {
            stream: self.database.slice(0..self.rows()),
            database: self.database,
            queries: self.queries,
            batch: self.batch(self.rows()),
            every: None,
            metrics: &metrics,
        };
        let mut model = self.start(self.rows())?;
        let checkpoints = experiment.run(&mut model, |_| {})?;
        let Some(last) = checkpoints.last() else { bail!("nothing was measured") };
        let function = model.try_hash_function()?;
        let clock = Instant::now();
        function.encode(self.database.features())?;
        let rate = self.database.len() as f64 / clock.elapsed().as_secs_f64();
        let mut values = self.values(&last.evaluation);
        values.extend([
            json!(last.learning.as_secs_f64()),
            json!(rate),
            json!(model.to_bytes().len()),
        ]);
        Ok(values)
    }

    fn unseen(&self) -> Result<Vec<Value>> {
        let labels = labels(self.database)?;
        let classes = UnseenClasses::draw(labels, self.seed)?;
        let Learned { ranked, .. } = self.ranked(&classes.stream(labels, self.rows)?)?;
        let found = classes.measure(&ranked, &self.metrics())?;
        Ok([
            self.values(&found.unseen_alone),
            self.values(&found.unseen_among_all),
            vec![json!(found.seen_alone.get(Metric::Map))],
            self.values(&found.seen_among_all),
        ]
        .concat())
    }

    fn kept_out(&self) -> Result<Vec<Value>> {
        if self.rows >= self.database.len() {
            bail!(
                "all {} rows of the database are streamed, and none is kept out: take fewer (--rows)",
                self.database.len()
            );
        }
        let Learned { ranked, .. } = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let found = kept_out(&ranked, self.rows(), &self.metrics())?;
        Ok([self.values(&found.streamed), self.values(&found.others)].concat())
    }

    fn neighbours(&self) -> Result<Vec<Value>> {
        let Learned { ranked, vectors, .. } = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let first = ranked.evaluate(&self.metrics())?;
        let found = ranked.neighbours(&vectors, &[10, 100, 1000])?;
        let mut values: Vec<Value> = found.kept.iter().map(|(_, share)| json!(share)).collect();
        values.extend(self.values(&first));
        values.extend([json!(found.reranked[2].1), json!(found.by_vectors)]);
        Ok(values)
    }

    fn incremental(&self) -> Result<Vec<Value>> {
        let order = Incremental::draw(labels(self.database)?, self.seed)?;
        let metrics = self.metrics();
        let Learned { ranked, .. } = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let map = |found: &Evaluation| json!(found.get(Metric::Map));
        let mixed = map(&ranked.evaluate(&metrics)?);
        if self.contender.by_vectors {
            let first = order.first(labels(self.queries)?)?;
            let among = order.first(labels(self.database)?)?;
            let first = map(&ranked.evaluate_part(&first, &among, &metrics)?);
            return Ok(vec![mixed.clone(), mixed, first.clone(), first, Value::Null]);
        }
        let mut model = self.start(self.rows())?;
        let sizes = (self.rows(), self.batch(self.rows()));
        let found = order.run(&mut model, (self.database, self.queries), sizes, &metrics)?;
        let seconds = json!(found.learning.as_secs_f64());
        let (then, at_end) = (map(&found.first_then), map(&found.first_at_end));
        Ok(vec![mixed, map(&found.all), then, at_end, seconds])
    }

    /// Measures on rows with several labels, drawn by [`Protocol::split`].
    fn several_labels(&self) -> Result<Vec<Value>> {
        let Learned { ranked, seconds, .. } = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let mut values = self.values(&ranked.evaluate(&self.metrics())?);
        // Ranking by cosine involves no learning.
        values.push(json!((!self.contender.by_vectors).then_some(seconds)));
        Ok(values)
    }

    /// Learns some rows with the contender, and ranks the database for each query.
    fn ranked(&self, rows: &[usize]) -> Result<Learned<'a>> {
        let mut model = self.start(rows.len())?;
        let learning = learn_rows(&mut model, self.database, rows, self.batch(rows.len()))?;
        // Some methods only accumulate sums while learning, and solve when the function is
        // requested.
        let clock = Instant::now();
        let function = model.try_hash_function()?;
        let seconds = (learning + clock.elapsed()).as_secs_f64();
        // Protocols that do not need the vectors save the memory for them.
        let needed = self.contender.by_vectors || self.protocol == Protocol::Neighbours;
        let few = if needed { self.database } else { self.database.slice(0..0) };
        let vectors = Arc::new(Vectors::new(&function, few, self.queries)?);
        let ranked = if self.contender.by_vectors {
            Ranked::by_cosine(vectors.clone(), self.database, self.queries)
        } else {
            Ranked::by_codes(&function, self.database, self.queries)?
        };
        Ok(Learned { ranked, vectors, seconds })
    }
}

/// Result of learning some rows with a contender.
struct Learned<'a> {
    /// Ranking of the database for each query.
    ranked: Ranked<'a>,
    /// Vectors as the contender prepares them.
    vectors: Arc<Vectors>,
    /// Seconds spent learning.
    seconds: f64,
}
