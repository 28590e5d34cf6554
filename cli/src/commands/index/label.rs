//! `hashbrook index label`: replaces the labels of existing items.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{ArgAction, ArgGroup};
use hashbrook::dataset::{LabelsRead, read_id_texts, read_ids, read_labels_for, split_labels};
use hashbrook::{Index, LabelList, LabelNames};

use super::lock::Lock;
use super::text_ids::TextIds;
use super::{changed, tidy};
use crate::console::plural;
use crate::{input, output};

/// Replaces the labels of items in an index; their codes and vectors stay
///
/// All of the labels are in the file when the command ends, or none: an id that is not there is an error. The hash
/// function learns nothing from them: `learn` does.
#[derive(clap::Args)]
#[command(
    group = ArgGroup::new("which").args(["id", "ids"]).required(true),
    after_help = "\
Examples:
  hashbrook index label pets.index --id 17,18 --label cat
  hashbrook index label pets.index --id 17 --label cat,striped
  hashbrook index label pets.index --id 17 --label ''
  hashbrook index label pets.index --ids changed.csv:id --labels changed.csv:kind"
)]
pub struct Label {
    /// The index
    index: PathBuf,

    /// The ids: numbers, or strings where the index has such
    #[arg(long, value_name = "ID,...", value_delimiter = ',', requires = "label")]
    id: Vec<String>,

    /// The labels of each of these items from now on; '' for none
    #[arg(long, value_name = "NAME,...", requires = "id")]
    label: Option<String>,

    /// A file of ids: an array of integers, a text with one on each line, or a column of a table
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "labels")]
    ids: Vec<String>,

    /// The labels of the items in --ids: one per row, a 0/1 matrix, or text separated by commas
    #[arg(long, value_name = "FILE", action = ArgAction::Append, requires = "ids")]
    labels: Vec<String>,

    #[command(flatten)]
    lock: Lock,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Label) -> Result<()> {
    let start = Instant::now();
    output::check_read_once(args.ids.iter().chain(&args.labels))?;
    let mut index = args.lock.edit(&args.index)?;
    let texts = TextIds::of(&index, &args.index)?;
    let mut names = index.complete_label_names()?;
    let (ids, labels) = match &args.label {
        Some(list) => {
            let ids = numbers(&texts, &args.id)?;
            let labels = same_for_all(&mut names, list, ids.len())?;
            (ids, labels)
        }
        None => {
            let mut ids = Vec::new();
            for file in &args.ids {
                ids.extend(match texts.in_use() {
                    true => numbers(&texts, &read_id_texts(&[file])?)?,
                    false => read_ids(file)?,
                });
            }
            let LabelsRead { labels, remarks, .. } =
                read_labels_for(&args.labels, &mut names, Some(ids.len()))?;
            input::remark(remarks);
            if labels.len() != ids.len() {
                let (labels, ids) =
                    (plural(labels.len() as u64, "label row"), plural(ids.len() as u64, "id"));
                bail!("{} has {labels} for {ids}; give one per id", args.labels.join(", "));
            }
            (ids, labels)
        }
    };
    check_items(&index, &texts, &ids)?;
    index.set_label_names(names)?;
    index.set_labels(&ids, labels.view())?;
    tidy(&mut index);
    changed(&index, "labelled", ids.len(), start, args.json)
}

/// Returns the numbers of ids as given on the command line.
fn numbers(texts: &TextIds, ids: &[String]) -> Result<Vec<u64>> {
    let number = |id: &String| match texts.number(id) {
        Some(number) => Ok(number),
        None if texts.in_use() => bail!("there is no item {id:?}; nothing was changed"),
        None => bail!("{id:?} is no id of this index: an integer of 0 or more was expected"),
    };
    ids.iter().map(number).collect()
}

/// Parses a list of labels, and returns a copy of the list for each item.
fn same_for_all(names: &mut LabelNames, list: &str, items: usize) -> Result<LabelList> {
    let list = split_labels(list);
    let given = list.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let labels: Vec<u32> = given.map(|name| names.id(name)).collect();
    let ends = (1..=items).map(|item| item * labels.len()).collect();
    Ok(LabelList::sets(ends, labels.repeat(items))?)
}

/// Fails if an item does not exist or is given twice. Called before label names are saved.
fn check_items(index: &Index, texts: &TextIds, ids: &[u64]) -> Result<()> {
    let mut there = index.present(ids)?;
    if there.len() < ids.len() {
        let absent = ids.iter().zip(&there).find(|(id, there)| id != there);
        let absent = absent.map_or(ids[there.len()], |(id, _)| *id);
        bail!("there is no item {}; nothing was changed", texts.text(absent));
    }
    there.sort_unstable();
    match there.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            bail!("id {} is given more than once; nothing was changed", texts.text(pair[0]))
        }
        None => Ok(()),
    }
}
