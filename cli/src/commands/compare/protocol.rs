//! What is measured by each protocol, and how.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hashbrook::eval::{Evaluation, Measures};
use hashbrook::protocol::{
    Experiment, Incremental, Ranked, UnseenClasses, Vectors, kept_out, learn_rows,
};
use hashbrook::{Batch, Center, Model, Setup};
use serde_json::{Value, json};

use super::cell::{Contender, Found};

/// How methods are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The papers': all classes are learned, and search is measured by labels
    Paper,
    /// A quarter of the classes never come in the stream
    Unseen,
    /// Rows of the database that were streamed, and those that were not
    KeptOut,
    /// What is near by the vectors themselves
    Neighbours,
    /// The stream brings its classes two at a time
    Incremental,
}

/// How a number is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Score,
    Seconds,
    Rate,
    Bytes,
}

/// A column of the table: its name for programs, its title, and what it holds.
pub struct Column {
    pub name: String,
    pub title: String,
    pub kind: Kind,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Paper => "paper",
            Protocol::Unseen => "unseen",
            Protocol::KeptOut => "kept-out",
            Protocol::Neighbours => "neighbours",
            Protocol::Incremental => "incremental",
        }
    }

    /// What it is about, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Protocol::Paper => "the papers' protocol",
            Protocol::Unseen => "classes that the stream never had",
            Protocol::KeptOut => "rows kept out of the stream",
            Protocol::Neighbours => "neighbours by the vectors themselves",
            Protocol::Incremental => "classes two at a time",
        }
    }

    /// What is measured, in the order of the table.
    pub fn columns(self, top: usize, ndcg_at: usize) -> Vec<Column> {
        let at = format!("mAP@{top}");
        let column = |name: &str, title: &str, kind| {
            let (name, title) =
                (name.replace("mAP@R", &at), title.replace("@R", &format!("@{top}")));
            Column { name, title, kind }
        };
        let scores = |list: &[(&str, &str)]| -> Vec<Column> {
            list.iter().map(|(name, title)| column(name, title, Kind::Score)).collect()
        };
        let seconds = column("learn_seconds", "learn, s", Kind::Seconds);
        match self {
            Protocol::Paper => {
                let mut columns = scores(&[
                    ("mAP", "mAP"),
                    ("mAP@R", "mAP@R"),
                    ("precision@100", "P@100"),
                    ("precision_radius_2", "P r<=2"),
                ]);
                let ndcg = format!("ndcg@{ndcg_at}");
                columns.push(column(&ndcg, &ndcg, Kind::Score));
                columns.push(seconds);
                columns.push(column("encode_rows_per_second", "encode, rows/s", Kind::Rate));
                columns.push(column("state_bytes", "state, KiB", Kind::Bytes));
                columns
            }
            Protocol::Unseen => scores(&[
                ("unseen_alone_mAP", "unseen alone"),
                ("unseen_alone_mAP@R", "@R"),
                ("unseen_mAP", "unseen in all"),
                ("unseen_mAP@R", "@R"),
                ("seen_alone_mAP", "seen alone"),
                ("seen_mAP", "seen in all"),
                ("seen_mAP@R", "@R"),
            ]),
            Protocol::KeptOut => scores(&[
                ("streamed_mAP", "streamed mAP"),
                ("streamed_mAP@R", "@R"),
                ("streamed_precision@100", "P@100"),
                ("streamed_precision_radius_2", "P r<=2"),
                ("others_mAP", "others mAP"),
                ("others_mAP@R", "@R"),
                ("others_precision@100", "P@100"),
                ("others_precision_radius_2", "P r<=2"),
            ]),
            Protocol::Neighbours => scores(&[
                ("neighbours@10", "R10"),
                ("neighbours@100", "R100"),
                ("neighbours@1000", "R1000"),
                ("precision@1", "P@1"),
                ("precision@1_reranked_1000", "P@1 reranked"),
                ("precision@1_by_vectors", "P@1 by vectors"),
            ]),
            Protocol::Incremental => {
                let mut columns = scores(&[
                    ("mixed_mAP", "mixed mAP"),
                    ("mAP", "mAP"),
                    ("first_mAP_then", "first 4, then"),
                    ("first_mAP_at_end", "at the end"),
                ]);
                columns.push(seconds);
                columns
            }
        }
    }

    /// What the table says below itself.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Protocol::Paper => None,
            Protocol::Unseen => Some(
                "A quarter of the classes is not in the stream. mAP of queries of these classes, in a \
                 database of them alone and in all of it, and of queries of the other classes.",
            ),
            Protocol::KeptOut => Some(
                "Search among the rows of the database that were learned, and among the others.",
            ),
            Protocol::Neighbours => Some(
                "R: the share of the ten nearest by cosine among the first ten, and among ten chosen by \
                 cosine of the first 100 and 1,000. P@1: also of the first 1,000 ranked again by cosine, \
                 and by cosine alone.",
            ),
            Protocol::Incremental => Some(
                "Classes two at a time, beside the mixed stream: queries of all classes at the end; of the \
                 first four, among their own rows, right after them and at the end.",
            ),
        }
    }
}

/// One run: what is learned and measured, of what.
pub struct Run<'a> {
    pub protocol: Protocol,
    pub contender: &'a Contender,
    pub bits: usize,
    pub seed: u64,
    /// How many rows of the database are streamed, and so many at a time.
    pub rows: usize,
    pub batch: Option<usize>,
    pub top: usize,
    pub ndcg_at: usize,
    pub center: Center,
    pub database: Batch<'a>,
    pub queries: Batch<'a>,
}

impl<'a> Run<'a> {
    /// What was measured, by the names of the columns.
    pub fn found(&self) -> Result<Found> {
        let values = match self.protocol {
            Protocol::Paper => self.paper()?,
            Protocol::Unseen => self.unseen()?,
            Protocol::KeptOut => self.kept_out()?,
            Protocol::Neighbours => self.neighbours()?,
            Protocol::Incremental => self.incremental()?,
        };
        let columns = self.protocol.columns(self.top, self.ndcg_at);
        Ok(columns.into_iter().map(|column| column.name).zip(values).collect())
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
        setup.warmup = Some(method.warmup().min(rows));
        let dim = self.database.features().dim();
        Ok(method.start_with(dim, self.bits, self.seed, setup)?)
    }

    fn paper(&self) -> Result<Vec<Value>> {
        let mut measures = Measures::new(&[self.top], &[100], &[2]);
        measures.ndcg_at = vec![self.ndcg_at];
        let experiment = Experiment {
            stream: self.database.slice(0..self.rows()),
            database: self.database,
            queries: self.queries,
            batch: self.batch(self.rows()),
            every: None,
            measures,
        };
        let mut model = self.start(self.rows())?;
        let checkpoints = experiment.run(&mut model, |_| {})?;
        let Some(last) = checkpoints.last() else { bail!("nothing was measured") };
        let function = model.try_hash_function()?;
        let clock = Instant::now();
        function.encode(self.database.features())?;
        let rate = self.database.len() as f64 / clock.elapsed().as_secs_f64();
        let mut values = scores(&last.evaluation);
        values.extend([
            json!(last.evaluation.ndcg_at[0].1),
            json!(last.learning.as_secs_f64()),
            json!(rate),
            json!(model.to_bytes().len()),
        ]);
        Ok(values)
    }

    fn unseen(&self) -> Result<Vec<Value>> {
        let labels = labels(self.database)?;
        let classes = UnseenClasses::draw(labels, self.seed)?;
        let (ranked, _) = self.ranked(&classes.stream(labels, self.rows)?)?;
        let found = classes.measure(&ranked, &Measures::new(&[self.top], &[], &[]))?;
        let both = |found: &Evaluation| [json!(found.map), json!(found.map_at[0].1)];
        let mut values = [both(&found.unseen_alone), both(&found.unseen_among_all)].concat();
        values.push(json!(found.seen_alone.map));
        values.extend(both(&found.seen_among_all));
        Ok(values)
    }

    fn kept_out(&self) -> Result<Vec<Value>> {
        if self.rows >= self.database.len() {
            bail!(
                "all {} rows of the database are streamed, and none is kept out: take fewer (--rows)",
                self.database.len()
            );
        }
        let (ranked, _) = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let measures = Measures::new(&[self.top], &[100], &[2]);
        let found = kept_out(&ranked, self.rows(), &measures)?;
        let scores = |found: &Evaluation| {
            let mut scores = scores(found);
            if self.contender.by_vectors {
                // A cosine has no radius.
                scores[3] = Value::Null;
            }
            scores
        };
        Ok([scores(&found.streamed), scores(&found.others)].concat())
    }

    fn neighbours(&self) -> Result<Vec<Value>> {
        let (ranked, vectors) = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let first = ranked.evaluate(&Measures::new(&[], &[1], &[]))?.precision_at[0].1;
        let found = ranked.neighbours(&vectors, &[10, 100, 1000])?;
        let mut values: Vec<Value> = found.kept.iter().map(|(_, share)| json!(share)).collect();
        values.extend([json!(first), json!(found.reranked[2].1), json!(found.by_vectors)]);
        Ok(values)
    }

    fn incremental(&self) -> Result<Vec<Value>> {
        let order = Incremental::draw(labels(self.database)?, self.seed)?;
        let measures = Measures::new(&[], &[], &[]);
        let (ranked, _) = self.ranked(&(0..self.rows()).collect::<Vec<_>>())?;
        let mixed = ranked.evaluate(&measures)?.map;
        if self.contender.by_vectors {
            let first = order.first(labels(self.queries)?)?;
            let among = order.first(labels(self.database)?)?;
            let first = ranked.evaluate_part(&first, &among, &measures)?.map;
            return Ok(vec![json!(mixed), json!(mixed), json!(first), json!(first), Value::Null]);
        }
        let mut model = self.start(self.rows())?;
        let sizes = (self.rows(), self.batch(self.rows()));
        let found = order.run(&mut model, (self.database, self.queries), sizes, &measures)?;
        let maps = [mixed, found.all.map, found.first_then.map, found.first_at_end.map];
        let mut values = maps.map(|map| json!(map)).to_vec();
        values.push(json!(found.learning.as_secs_f64()));
        Ok(values)
    }

    /// The ranking that a contender makes after it has learned some rows, and the vectors as it
    /// prepares them.
    fn ranked(&self, rows: &[usize]) -> Result<(Ranked<'a>, Arc<Vectors>)> {
        let mut model = self.start(rows.len())?;
        let _: Duration = learn_rows(&mut model, self.database, rows, self.batch(rows.len()))?;
        let function = model.try_hash_function()?;
        // The protocols that do not need them are spared the memory.
        let needed = self.contender.by_vectors || self.protocol == Protocol::Neighbours;
        let few = if needed { self.database } else { self.database.slice(0..0) };
        let vectors = Arc::new(Vectors::new(&function, few, self.queries)?);
        let ranked = if self.contender.by_vectors {
            Ranked::by_cosine(vectors.clone(), self.database, self.queries)
        } else {
            Ranked::by_codes(&function, self.database, self.queries)?
        };
        Ok((ranked, vectors))
    }
}

fn labels(batch: Batch<'_>) -> Result<hashbrook::Labels<'_>> {
    batch.labels().ok_or_else(|| anyhow::anyhow!("the data has no labels"))
}

/// The measures of the papers.
fn scores(found: &Evaluation) -> Vec<Value> {
    vec![
        json!(found.map),
        json!(found.map_at[0].1),
        json!(found.precision_at[0].1),
        json!(found.precision_radius[0].1),
    ]
}
