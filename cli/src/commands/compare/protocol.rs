//! What is measured by each protocol, and on which rows.

use std::collections::HashSet;

use anyhow::{Context, Result};
use hashbrook::dataset::Data;
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
            Protocol::Pairs => "pairs",
            Protocol::Superclass => "superclass",
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
            Protocol::Pairs => "two labels, of rows averaged two at a time",
            Protocol::Superclass => "two labels, of classes and superclasses",
        }
    }

    /// How its rows are made, if they are not those of the data.
    pub fn several_labels(self) -> Option<SeveralLabels> {
        match self {
            Protocol::Pairs => Some(SeveralLabels::Pairs),
            Protocol::Superclass => Some(SeveralLabels::Superclass),
            _ => None,
        }
    }

    /// The database and the queries of a seed: `queries` of each class, or as many in all where
    /// rows with several labels are drawn.
    pub fn split(self, data: &Data, queries: usize, seed: u64) -> Result<(Data, Data)> {
        let Some(several) = self.several_labels() else { return Ok(data.split(queries, seed)?) };
        let all = labels(data.batch())?;
        let classes: HashSet<u32> = (0..all.len()).flat_map(|row| all.row(row)).copied().collect();
        let in_all = queries.saturating_mul(classes.len());
        several.draw(data.batch(), in_all, seed).with_context(|| {
            format!("{}: queries of each class {queries}, classes {}", self.name(), classes.len())
        })
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
        let ndcg = format!("ndcg@{ndcg_at}");
        match self {
            Protocol::Paper => {
                let mut columns = scores(&[
                    ("mAP", "mAP"),
                    ("mAP@R", "mAP@R"),
                    ("precision@100", "P@100"),
                    ("precision_radius_2", "P r<=2"),
                ]);
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
            Protocol::Pairs | Protocol::Superclass => {
                let mut columns = scores(&[("mAP", "mAP"), ("mAP@R", "mAP@R")]);
                columns.push(column(&ndcg, &ndcg, Kind::Score));
                columns.push(column("precision_radius_2", "P r<=2", Kind::Score));
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

/// The labels of rows, without which nothing is measured.
pub fn labels(batch: Batch<'_>) -> Result<Labels<'_>> {
    batch.labels().ok_or_else(|| anyhow::anyhow!("the data has no labels"))
}
