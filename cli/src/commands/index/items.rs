//! Items as commands take them: vectors or codes, with ids and labels.

use anyhow::{Result, bail};
use clap::ArgAction;
use hashbrook::dataset::{Reader, read_codes, read_ids_for};
use hashbrook::{Codes, Error, Features, HashFunction, Index, IndexBuilder, LabelList, LabelNames};

use super::text_ids::TextIds;
use crate::columns::Columns;
use crate::console::plural;
use crate::piped::{self, Kept};
use crate::{input, interrupt, output};

#[derive(clap::Args)]
pub struct Items {
    /// Vectors, one per row; several files are read one after the other
    #[arg(long, value_name = "FILE", action = ArgAction::Append, required_unless_present = "codes", conflicts_with = "codes")]
    pub data: Vec<String>,

    /// Packed codes, as `encode` writes them: uint8, least significant bit first
    #[arg(long, value_name = "FILE.npy", action = ArgAction::Append, conflicts_with = "features")]
    pub codes: Vec<String>,

    /// Their ids: an array of integers, a text with one on each line, or a column of a table. Those
    /// of --id-column may be strings, too, which are stored beside the index, in INDEX.ids
    #[arg(long, value_name = "FILE", action = ArgAction::Append, conflicts_with = "id_column")]
    pub ids: Vec<String>,

    /// Their labels, to filter by: one per row, a 0/1 matrix, or text separated by commas
    #[arg(long, value_name = "FILE", action = ArgAction::Append, conflicts_with = "label")]
    pub labels: Vec<String>,

    #[command(flatten)]
    pub columns: Columns,
}

impl Items {
    /// Returns all input files.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        [&self.data, &self.codes, &self.ids, &self.labels].into_iter().flatten()
    }

    /// Adds the column options to the file names. Stores pipes that are read more than once (as for
    /// ids) in files. Fails if another input that can be read only once is given twice.
    pub fn prepare(&mut self) -> Result<Option<Kept>> {
        let Items { data, codes, ids, labels, columns } = self;
        columns.name_in(if data.is_empty() { codes } else { data }, labels)?;
        let again = columns.id_column.is_some();
        let kept = piped::keep(&mut [data, codes, ids, labels], again)?;
        output::check_read_once(self.files())?;
        Ok(kept)
    }

    /// Returns the files of ids, with their columns.
    fn id_files(&self) -> Result<Vec<String>> {
        match self.columns.id_column {
            None => Ok(self.ids.clone()),
            Some(_) => self.columns.ids_of(&[&self.data[..], &self.codes[..]].concat()),
        }
    }

    /// Opens the vectors, without the columns of labels and ids.
    fn open(&self, function: &HashFunction) -> Result<Reader> {
        let roles = [("label", &self.labels[..]), ("id", &self.id_files()?)];
        input::open_for(function, &self.data, &roles)
    }

    /// Inserts the items into an index, and returns their number.
    pub fn put(&self, index: &mut Index, upsert: bool, texts: &mut TextIds) -> Result<usize> {
        let keeps_vectors = index.vector_format().is_some();
        if keeps_vectors && !self.codes.is_empty() {
            return Err(Error::VectorsMissing.into());
        }
        let (vectors, given) = if keeps_vectors {
            let Some(function) = index.function() else { return Err(Error::NoFunction.into()) };
            let (dim, mut values) = (function.dim(), Vec::new());
            let mut reader = self.open(function)?;
            input::for_each_rows("reading", &mut reader, |rows| {
                values.extend_from_slice(rows.values());
                Ok(())
            })?;
            let rows = values.len() / dim;
            (Some((values, dim)), self.read_rest(index, None, rows, texts)?)
        } else {
            (None, self.read(index, None, texts)?)
        };
        let items = given.items;
        let ids = match given.ids {
            Some(ids) => ids,
            None if texts.in_use() => {
                bail!(
                    "the ids of this index are texts; give those of the items: --ids or --id-column"
                )
            }
            None => {
                let first = index.last_id()?.map_or(Some(0), |last| last.checked_add(1));
                let end = first.and_then(|first| first.checked_add(items as u64));
                let (Some(first), Some(end)) = (first, end) else {
                    bail!("no ids follow the largest there is; give --ids");
                };
                (first..end).collect()
            }
        };
        if !upsert {
            // This check precedes saving string ids, so that a failure changes nothing.
            if let Some(&taken) = index.present(&ids)?.first() {
                if texts.in_use() {
                    bail!("the id {:?} is there already; --upsert replaces it", texts.text(taken));
                }
                return Err(Error::IdTaken(taken).into());
            }
        }
        texts.save()?;
        index.set_label_names(given.names)?;
        let labels = given.labels.as_ref().map(|labels| labels.view());
        match (vectors, given.codes) {
            (Some((values, dim)), _) => {
                let features = Features::new(&values, dim)?;
                if upsert {
                    index.upsert(&ids, features, labels)?;
                } else {
                    index.add(&ids, features, labels)?;
                }
            }
            (None, Some(codes)) if upsert => index.upsert_codes(&ids, &codes, labels)?,
            (None, Some(codes)) => index.add_codes(&ids, &codes, labels)?,
            (None, None) => {}
        }
        Ok(items)
    }

    /// Builds a new file that stores the vectors of the items, and has the function and the
    /// settings of `like`. Reads vectors in chunks.
    pub fn build_with_vectors(
        &self,
        like: &Index,
        mut builder: IndexBuilder,
        texts: &mut TextIds,
    ) -> Result<IndexBuilder> {
        let Some(function) = like.function() else { return Err(Error::NoFunction.into()) };
        let mut reader = self.open(function)?;
        let Some(rows) = input::count_rows(&self.data, &mut reader)? else {
            bail!(
                "{} does not tell how many rows it has; --vectors needs files, and not a pipe",
                self.data.join(", ")
            );
        };
        let given = self.read_rest(like, None, rows, texts)?;
        builder.set_label_names(given.names);
        builder.set_text_ids(texts.in_use());
        let labels = given.labels.as_ref().map(|labels| labels.view());
        let mut at = 0;
        input::for_each_rows("encoding", &mut reader, |features| {
            let some = at..(at + features.len()).min(rows);
            let counted = || some.clone().map(|id| id as u64).collect();
            let ids = given.ids.as_ref().map_or_else(counted, |ids| ids[some.clone()].to_vec());
            let labels = labels.map(|labels| labels.slice(some.clone()));
            at += features.len();
            Ok(builder.add(&ids, features, labels)?)
        })?;
        Ok(builder)
    }

    /// Builds a new file of the items that has the function and the settings of `like`. `codes`
    /// holds the codes of the items if these are already encoded.
    pub fn build(
        &self,
        like: &Index,
        codes: Option<Codes>,
        mut builder: IndexBuilder,
        texts: &mut TextIds,
    ) -> Result<IndexBuilder> {
        /// Number of items copied at a time.
        const AT_ONCE: usize = 1 << 16;
        let given = self.read(like, codes, texts)?;
        let Some(codes) = given.codes else { return Ok(builder) };
        builder.set_label_names(given.names);
        builder.set_text_ids(texts.in_use());
        let labels = given.labels.as_ref().map(|labels| labels.view());
        for start in (0..codes.len()).step_by(AT_ONCE) {
            interrupt::check()?;
            let rows = start..codes.len().min(start + AT_ONCE);
            let counted = || rows.clone().map(|id| id as u64).collect();
            let ids = given.ids.as_ref().map_or_else(counted, |ids| ids[rows.clone()].to_vec());
            let labels = labels.map(|labels| labels.slice(rows.clone()));
            let codes = codes.select(&rows.collect::<Vec<usize>>());
            builder.add_codes(&ids, &codes, labels)?;
        }
        Ok(builder)
    }

    /// Reads the items for an index. `codes` holds their codes if the items are already encoded.
    fn read(&self, index: &Index, codes: Option<Codes>, texts: &mut TextIds) -> Result<Given> {
        let codes = match codes {
            Some(codes) => codes,
            None if self.codes.is_empty() => {
                let Some(function) = index.function() else { bail!(NO_FUNCTION) };
                input::encode_all("encoding", function, &mut self.open(function)?)?
            }
            None => read_codes_all(&self.codes, Some(index.bits()))?,
        };
        let items = codes.len();
        self.read_rest(index, Some(codes), items, texts)
    }

    /// Reads the ids and labels of `items` items.
    fn read_rest(
        &self,
        index: &Index,
        codes: Option<Codes>,
        items: usize,
        texts: &mut TextIds,
    ) -> Result<Given> {
        let ids = match self.id_files()?.as_slice() {
            [] => None,
            files => {
                let may_begin = self.columns.id_column.is_some() && index.is_empty();
                Some(texts.read(files, items, may_begin)?)
            }
        };
        let mut names = match self.labels.is_empty() {
            true => index.label_names().clone(),
            false => index.complete_label_names()?,
        };
        let labels = match self.labels.as_slice() {
            [] => None,
            files => {
                let data = if self.codes.is_empty() { &self.data } else { &self.codes };
                Some(input::labels_for(files, &mut names, data, (Some(items), usize::MAX))?)
            }
        };
        Ok(Given { items, codes, ids, labels, names })
    }
}

/// Items as read from the input.
struct Given {
    items: usize,
    /// `None` if vectors are inserted.
    codes: Option<Codes>,
    /// `None` if the index assigns consecutive ids.
    ids: Option<Vec<u64>>,
    labels: Option<LabelList>,
    names: LabelNames,
}

/// Error message if vectors are given for an index without a hash function.
pub const NO_FUNCTION: &str = "the index holds codes without the function that made them; give packed \
                               --codes, or to `search` the --model";

/// Reads the ids in several files; fails unless there is one id per item.
pub fn read_ids_all(files: &[String], items: usize) -> Result<Vec<u64>> {
    match read_ids_for(files, items) {
        Err(Error::IdCount { ids, items }) => {
            let (ids, items) = (plural(ids as u64, "id"), plural(items as u64, "item"));
            bail!("{} has {ids} for {items}; there must be one per item", files.join(", "))
        }
        other => Ok(other?),
    }
}

/// Reads the codes in several files.
pub fn read_codes_all(files: &[String], bits: Option<usize>) -> Result<Codes> {
    let mut all: Option<Codes> = None;
    for file in files {
        let codes = read_codes(file, bits)?;
        match &mut all {
            None => all = Some(codes),
            Some(all) => all.append(&codes)?,
        }
    }
    all.ok_or_else(|| anyhow::anyhow!("no codes"))
}
