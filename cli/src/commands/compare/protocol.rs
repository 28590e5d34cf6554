//! Protocols: what each one measures, and on which rows.

use std::collections::HashSet;

use anyhow::{Context, Result};
use hashbrook::dataset::Data;
use hashbrook::eval::Metric;
use hashbrook::protocol::SeveralLabels;
use hashbrook::{Batch, Labels};

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
    /// Rows averaged two at a time, with the labels of both
    Pairs,
    /// Each class also has the label of a superclass, dealt out at random
    Superclass,
}

/// Format in which a number is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Score,
    Seconds,
    Rate,
    Bytes,
}

/// A column of the table: its JSON name, its title, and the kind of its values.
pub struct Column {
    pub name: String,
    pub title: String,
    pub kind: Kind,
}

impl Column {
    fn new(name: &str, title: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), title: title.to_owned(), kind }
    }

    fn learn_seconds() -> Column {
        Column::new("learn_seconds", "learn, s", Kind::Seconds)
    }

    fn of(metric: Metric) -> Column {
        let title = match metric {
            Metric::PrecisionAt(r) => format!("P@{r}"),
            Metric::PrecisionWithin(radius) => format!("P r<={radius}"),
            other => other.to_string(),
        };
        Column { name: metric.to_string(), title, kind: Kind::Score }
    }

    /// Returns the columns of metrics of one part of the rows, with `part` as prefix of their
    /// names. Only the first column has the title.
    fn of_part(part: &str, title: &str, metrics: &[Metric]) -> Vec<Column> {
        let column = |(at, &metric): (usize, &Metric)| {
            let Column { name, title: short, kind } = Column::of(metric);
            let title = match metric {
                _ if at == 0 => title.to_owned(),
                Metric::MapAt(r) => format!("@{r}"),
                _ => short,
            };
            Column { name: format!("{part}_{name}"), title, kind }
        };
        metrics.iter().enumerate().map(column).collect()
    }
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Paper => "paper",
            Protocol::Unseen => "unseen",
            Protocol::KeptOut => "kept-out",
            Protocol::Neighbours => "neighbours",
            Protocol::Incremental => "incremental",
            Protocol::Pairs => "pairs",
            Protocol::Superclass => "superclass",
        }
    }

    /// Returns a short title of the protocol.
    pub fn title(self) -> &'static str {
        match self {
            Protocol::Paper => "the papers' protocol",
            Protocol::Unseen => "classes that the stream never had",
            Protocol::KeptOut => "rows kept out of the stream",
            Protocol::Neighbours => "neighbours by the vectors themselves",
            Protocol::Incremental => "classes two at a time",
            Protocol::Pairs => "two labels, of rows averaged two at a time",
            Protocol::Superclass => "two labels, of classes and superclasses",
        }
    }

    /// Returns how rows with several labels are made, or `None` if the data's own rows are used.
    pub fn several_labels(self) -> Option<SeveralLabels> {
        match self {
            Protocol::Pairs => Some(SeveralLabels::Pairs),
            Protocol::Superclass => Some(SeveralLabels::Superclass),
            _ => None,
        }
    }

    /// Returns the database and the queries for a seed. `queries` is the count per class, or the
    /// total where rows with several labels are drawn.
    pub fn split(self, data: &Data, queries: usize, seed: u64) -> Result<(Data, Data)> {
        let Some(several) = self.several_labels() else { return Ok(data.split(queries, seed)?) };
        let all = labels(data.batch())?;
        let classes: HashSet<u32> = (0..all.len()).flat_map(|row| all.row(row)).copied().collect();
        let in_all = queries.saturating_mul(classes.len());
        several.draw(data.batch(), in_all, seed).with_context(|| {
            let (name, classes) = (self.name(), classes.len());
            format!("{in_all} queries for {name}, {queries} for each of {classes} classes")
        })
    }

    /// Returns the metrics that are computed for every ranking from its labels.
    pub fn metrics(self, top: usize, ndcg_at: usize) -> Vec<Metric> {
        let (top, ndcg) = (Metric::MapAt(top), Metric::NdcgAt(ndcg_at));
        let (precision, radius) = (Metric::PrecisionAt(100), Metric::PrecisionWithin(2));
        match self {
            Protocol::Paper => vec![Metric::Map, top, precision, radius, ndcg],
            Protocol::Unseen => vec![Metric::Map, top],
            Protocol::KeptOut => vec![Metric::Map, top, precision, radius],
            Protocol::Neighbours => vec![Metric::PrecisionAt(1)],
            Protocol::Incremental => vec![Metric::Map],
            Protocol::Pairs | Protocol::Superclass => vec![Metric::Map, top, ndcg, radius],
        }
    }

    /// Returns the columns of the table, in their order.
    pub fn columns(self, top: usize, ndcg_at: usize) -> Vec<Column> {
        let metrics = self.metrics(top, ndcg_at);
        let mut columns: Vec<Column> = metrics.iter().copied().map(Column::of).collect();
        let scores = |list: &[(&str, &str)]| -> Vec<Column> {
            list.iter().map(|(name, title)| Column::new(name, title, Kind::Score)).collect()
        };
        match self {
            Protocol::Paper => {
                columns.push(Column::learn_seconds());
                columns.push(Column::new("encode_rows_per_second", "encode, rows/s", Kind::Rate));
                columns.push(Column::new("state_bytes", "state, KiB", Kind::Bytes));
                columns
            }
            Protocol::Unseen => [
                Column::of_part("unseen_alone", "unseen alone", &metrics),
                Column::of_part("unseen", "unseen in all", &metrics),
                Column::of_part("seen_alone", "seen alone", &[Metric::Map]),
                Column::of_part("seen", "seen in all", &metrics),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Protocol::KeptOut => {
                let mut columns = Column::of_part("streamed", "streamed mAP", &metrics);
                columns.extend(Column::of_part("others", "others mAP", &metrics));
                columns
            }
            Protocol::Neighbours => {
                let mut kept = scores(&[
                    ("neighbours@10", "R10"),
                    ("neighbours@100", "R100"),
                    ("neighbours@1000", "R1000"),
                ]);
                kept.extend(columns);
                kept.extend(scores(&[
                    ("precision@1_reranked_1000", "P@1 reranked"),
                    ("precision@1_by_vectors", "P@1 by vectors"),
                ]));
                kept
            }
            Protocol::Incremental => {
                let mut mixed = scores(&[("mixed_mAP", "mixed mAP")]);
                mixed.extend(columns);
                mixed.extend(scores(&[
                    ("first_mAP_then", "first 4, then"),
                    ("first_mAP_at_end", "at the end"),
                ]));
                mixed.push(Column::learn_seconds());
                mixed
            }
            Protocol::Pairs | Protocol::Superclass => {
                columns.push(Column::learn_seconds());
                columns
            }
        }
    }

    /// Returns the note printed below the table.
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
            Protocol::Pairs => Some(
                "Rows averaged two at a time, with the labels of both. An item is relevant that shares a \
                 label; the gain of ndcg is the number of labels shared.",
            ),
            Protocol::Superclass => Some(
                "Each class also has the label of a superclass, dealt out at random. An item is relevant \
                 that shares a label; the gain of ndcg is the number of labels shared.",
            ),
        }
    }
}

/// Returns the labels of rows; fails if there are none.
pub fn labels(batch: Batch<'_>) -> Result<Labels<'_>> {
    batch.labels().ok_or_else(|| anyhow::anyhow!("the data has no labels"))
}
