//! Output of the hits of a search, query after query, so that they need not fit in memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hashbrook::dataset::{NpzArray, write_npz};
use hashbrook::{Index, RankedHit, file};
use serde_json::{Value, json};

use super::super::index::text_ids::TextIds;
use super::filter::quoted;
use super::queries::Found;
use crate::console::{self, count};

/// Formats that results are written in, by file name extension.
pub const FORMATS: [&str; 4] = ["npz", "csv", "json", "jsonl"];

/// Maximum number of queries, and of hits per query, shown on the terminal.
const SHOWN: usize = 10;

/// Destination of hits, and counts of them.
pub struct Results<'a> {
    index: &'a Index,
    texts: &'a TextIds,
    has_labels: bool,
    has_scores: bool,
    form: Form,
    queries: usize,
    hits: usize,
    /// Number of queries with several hits, all at distance 0.
    ties: usize,
}

enum Form {
    /// The first few hits as text.
    Shown,
    /// One JSON object per line.
    Lines,
    /// Text for a file, and its format.
    Text(BufWriter<File>, Kind),
    /// Arrays for an npz file.
    Arrays(Box<Arrays>),
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Csv,
    Json,
    JsonLines,
}

/// Arrays of an npz file. Their length is known only at the end, so their values are first written
/// to unnamed temporary files.
struct Arrays {
    ids: BufWriter<File>,
    distances: BufWriter<File>,
    /// Scores, if hits are re-ranked.
    scores: Option<BufWriter<File>>,
    labels: BufWriter<File>,
    /// Each distinct set of labels, and its number.
    sets: HashMap<Vec<u32>, i32>,
    set_names: Vec<String>,
    /// End of each query's hits in the arrays. Hit counts are equal for the `k` nearest, and differ
    /// within a radius.
    ends: Vec<u64>,
    /// True for a search of the `k` nearest, in which all queries have the same number of hits.
    is_matrix: bool,
}

impl<'a> Results<'a> {
    /// Creates results that go to a file, to the standard output as JSON, or to the terminal.
    pub fn new(
        index: &'a Index,
        texts: &'a TextIds,
        out: Option<&Path>,
        json: bool,
        is_matrix: bool,
        has_scores: bool,
    ) -> Result<Self> {
        let ending = out.and_then(Path::extension).unwrap_or_default().to_string_lossy();
        let spool = || {
            let file = tempfile::tempfile().context("results cannot be kept on the disk")?;
            Ok::<_, anyhow::Error>(BufWriter::with_capacity(1 << 18, file))
        };
        let begun = |start: &str| {
            let mut text = spool()?;
            text.write_all(start.as_bytes())?;
            Ok::<_, anyhow::Error>(text)
        };
        let form = match (out.is_some(), json, ending.to_lowercase().as_str()) {
            (false, true, _) => Form::Lines,
            (false, false, _) => Form::Shown,
            (_, _, "csv") => {
                let score = if has_scores { "score," } else { "" };
                let titles = format!("query,rank,id,distance,{score}labels\n");
                Form::Text(begun(&titles)?, Kind::Csv)
            }
            (_, _, "json") => Form::Text(begun("[\n")?, Kind::Json),
            (_, _, "jsonl") => Form::Text(spool()?, Kind::JsonLines),
            _ => Form::Arrays(Box::new(Arrays {
                ids: spool()?,
                distances: spool()?,
                scores: has_scores.then(spool).transpose()?,
                labels: spool()?,
                sets: HashMap::new(),
                set_names: Vec::new(),
                ends: vec![0],
                is_matrix,
            })),
        };
        let has_labels = index.label_bound() > 0;
        Ok(Results { index, texts, has_labels, has_scores, form, queries: 0, hits: 0, ties: 0 })
    }

    /// Returns the number of hits.
    pub fn hits(&self) -> usize {
        self.hits
    }

    /// Returns whether most queries had only hits with exactly their code.
    pub fn are_mostly_ties(&self) -> bool {
        2 * self.ties > self.queries
    }

    /// Adds the hits of the next queries.
    pub fn add(&mut self, found: &Found) -> Result<()> {
        for row in found.rows() {
            self.add_row(&row)?;
            self.queries += 1;
            self.hits += row.len();
            let all_equal = row.last().is_some_and(|last| last.distance == 0);
            self.ties += usize::from(all_equal && row.len() > 1);
        }
        Ok(())
    }

    fn add_row(&mut self, row: &[RankedHit]) -> Result<()> {
        let query = self.queries;
        match &mut self.form {
            Form::Shown if query < SHOWN => return self.show(row),
            Form::Shown => {}
            Form::Lines => return console::line(self.object(row)?),
            Form::Text(_, kind) => {
                let kind = *kind;
                let text = match kind {
                    Kind::Csv => self.table(row)?,
                    _ => self.object(row)?.to_string(),
                };
                let Form::Text(out, _) = &mut self.form else { return Ok(()) };
                if kind == Kind::Json && query > 0 {
                    out.write_all(b",\n")?;
                }
                out.write_all(text.as_bytes())?;
                if kind == Kind::JsonLines {
                    out.write_all(b"\n")?;
                }
            }
            Form::Arrays(arrays) => arrays.add(self.index, self.has_labels, row)?,
        }
        Ok(())
    }

    fn object(&self, row: &[RankedHit]) -> Result<Value> {
        let ids = ids(row);
        let distances: Vec<u32> = row.iter().map(|hit| hit.distance).collect();
        let shown: Vec<Value> = ids.iter().map(|&id| self.texts.value(id)).collect();
        let mut object = json!({ "query": self.queries, "ids": shown, "distances": distances });
        if self.has_scores {
            let scores: Vec<f64> = row.iter().map(|hit| shortest(hit.score)).collect();
            object["scores"] = json!(scores);
        }
        if self.has_labels {
            object["labels"] = json!(label_names(self.index, &ids)?);
        }
        Ok(object)
    }

    /// Formats the hits of a query as lines of a table.
    fn table(&self, row: &[RankedHit]) -> Result<String> {
        let mut lines = String::new();
        let labels = label_lists(self.index, row)?;
        for (rank, (hit, labels)) in row.iter().zip(&labels).enumerate() {
            let (query, RankedHit { id, distance, score, .. }) = (self.queries, hit);
            let id = quoted(&self.texts.text(*id));
            let score = if self.has_scores { format!("{score},") } else { String::new() };
            let labels = quoted(labels);
            lines += &format!("{query},{rank},{id},{distance},{score}{labels}\n");
        }
        Ok(lines)
    }

    fn show(&self, row: &[RankedHit]) -> Result<()> {
        let mut shown = Vec::new();
        let labels = label_lists(self.index, &row[..row.len().min(SHOWN)])?;
        for (hit, labels) in row.iter().zip(labels) {
            let labels = if labels.is_empty() { labels } else { format!(" [{labels}]") };
            shown.push(match self.has_scores {
                true => format!("{}{labels} at {:.4}", self.texts.text(hit.id), hit.score),
                false => format!("{}{labels} at {}", self.texts.text(hit.id), hit.distance),
            });
        }
        let more = row.len().saturating_sub(SHOWN);
        if more > 0 {
            shown.push(format!("{} more", count(more as u64)));
        }
        let found = if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") };
        console::line(format_args!("query {}: {found}", self.queries))
    }

    /// Moves a file to its final path; on the terminal, reports how much was not shown.
    pub fn finish(&mut self, out: Option<&Path>) -> Result<()> {
        let queries = self.queries;
        match (&mut self.form, out) {
            (Form::Shown, _) if queries > SHOWN => {
                let more = count((queries - SHOWN) as u64);
                console::line(format_args!("and {more} more; --json or --out FILE.npz gives all"))
            }
            (Form::Text(text, kind), Some(out)) => {
                if *kind == Kind::Json {
                    text.write_all(b"\n]\n")?;
                }
                Ok(file::write_from(out, &mut rewound(text)?)?)
            }
            (Form::Arrays(arrays), Some(out)) => {
                arrays.write(out, queries, self.has_labels, self.texts)
            }
            _ => Ok(()),
        }
    }
}

impl Arrays {
    fn add(&mut self, index: &Index, has_labels: bool, row: &[RankedHit]) -> Result<()> {
        for hit in row {
            self.ids.write_all(&hit.id.to_le_bytes())?;
            self.distances.write_all(&hit.distance.to_le_bytes())?;
            if let Some(scores) = &mut self.scores {
                scores.write_all(&hit.score.to_le_bytes())?;
            }
        }
        let labels = if has_labels { index.labels_of(&ids(row))? } else { Vec::new() };
        for labels in labels {
            let number = match self.sets.get(labels) {
                Some(number) => *number,
                None => {
                    let number = i32::try_from(self.set_names.len())?;
                    self.sets.insert(labels.to_vec(), number);
                    self.set_names.push(list(&names(index, labels)));
                    number
                }
            };
            self.labels.write_all(&number.to_le_bytes())?;
        }
        self.ends.push(self.ends[self.ends.len() - 1] + row.len() as u64);
        Ok(())
    }

    fn write(
        &mut self,
        out: &Path,
        queries: usize,
        has_labels: bool,
        texts: &TextIds,
    ) -> Result<()> {
        let hits = self.ends[self.ends.len() - 1] as usize;
        let sizes = match self.is_matrix {
            true => vec![queries, hits.checked_div(queries).unwrap_or(0)],
            false => vec![hits],
        };
        let offsets: Vec<u8> = self.ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        let mut arrays = vec![
            NpzArray::numbers::<u64>("ids", &sizes, rewound(&mut self.ids)?),
            NpzArray::numbers::<u32>("distances", &sizes, rewound(&mut self.distances)?),
        ];
        if let Some(scores) = &mut self.scores {
            arrays.push(NpzArray::numbers::<f32>("scores", &sizes, rewound(scores)?));
        }
        if !self.is_matrix {
            arrays.push(NpzArray::numbers::<u64>("offsets", &[self.ends.len()], &offsets[..]));
        }
        if has_labels {
            let labels = rewound(&mut self.labels)?;
            arrays.push(NpzArray::numbers::<i32>("labels", &sizes, labels));
            arrays.push(NpzArray::texts("label_names", &self.set_names));
        }
        if texts.in_use() {
            arrays.push(NpzArray::texts("id_names", &texts.names()));
        }
        Ok(write_npz(out, arrays)?)
    }
}

/// Flushes a file, and rewinds it for reading.
fn rewound(file: &mut BufWriter<File>) -> Result<BufReader<&File>> {
    file.flush()?;
    file.get_mut().seek(SeekFrom::Start(0))?;
    Ok(BufReader::with_capacity(1 << 18, file.get_ref()))
}

/// Returns the number with the fewest digits that represents a score.
fn shortest(score: f32) -> f64 {
    score.to_string().parse().unwrap_or_else(|_| f64::from(score))
}

fn ids(row: &[RankedHit]) -> Vec<u64> {
    row.iter().map(|hit| hit.id).collect()
}

/// Returns the names of labels; labels without names are given by their numbers.
fn names(index: &Index, labels: &[u32]) -> Vec<String> {
    let name = |&label: &u32| {
        let name = index.label_names().name(label);
        name.map_or_else(|| label.to_string(), str::to_owned)
    };
    labels.iter().map(name).collect()
}

/// Returns the names of the labels of items.
pub fn label_names(index: &Index, ids: &[u64]) -> Result<Vec<Vec<String>>> {
    Ok(index.labels_of(ids)?.into_iter().map(|labels| names(index, labels)).collect())
}

/// Returns the labels of each hit as one string.
fn label_lists(index: &Index, row: &[RankedHit]) -> Result<Vec<String>> {
    Ok(label_names(index, &ids(row))?.iter().map(|names| list(names)).collect())
}

/// Formats labels as one string: a single label as it is, several as a list.
fn list(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        several => several.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(","),
    }
}
