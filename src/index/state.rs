//! What an index holds at one moment, and how it becomes that of the next.

use std::io;
use std::sync::Arc;

use super::search::{Report, SearchSegment};
use super::segment::{Beside, Builder, Item, NewItems, Segment, Shape, each_in_order, merged};
use super::structure::SearchStructure;
use crate::disk::File;
use crate::kernel::{Kernel, Layout};
use crate::similarity::LabelSets;
use crate::{Codes, Error, Features, HashFunction, LabelNames, Labels, Result, VectorMetric};

/// What an index holds at one moment. A clone costs a few counters for each segment: all that is
/// large is shared.
#[derive(Clone)]
pub(super) struct State {
    pub(super) layout: Layout,
    pub(super) function: Option<HashFunction>,
    /// How vectors are kept, or where they are, if that is known.
    pub(super) vectors: Option<Beside>,
    /// Score that hits are re-ranked by.
    pub(super) metric: VectorMetric,
    /// Number 0 is the set without labels.
    pub(super) sets: Arc<LabelSets>,
    pub(super) names: Arc<LabelNames>,
    /// Whether ids stand for texts, which are kept beside the file.
    pub(super) text_ids: bool,
    /// The first may be mapped from a file. An item that is there is in one of them.
    pub(super) segments: Vec<SearchSegment>,
    pub(super) kernel: Kernel,
    /// Search structure that may be built and used.
    pub(super) structures: SearchStructure,
    /// Receives the outcome for each new segment whose structure is built in the background, if they are.
    pub(super) background: Option<Report>,
    /// Bytes of changes in the file that are not yet compacted.
    pub(super) log_bytes: u64,
}

/// Vectors as an index holds them.
pub(super) struct Encoded {
    pub(super) codes: Codes,
    vectors: Option<(Beside, Vec<u8>)>,
}

impl Encoded {
    /// By a function, for an index that keeps vectors in these rows, if any.
    pub(super) fn by(
        function: &HashFunction,
        beside: Option<Beside>,
        features: Features<'_>,
    ) -> Result<Encoded> {
        Ok(match beside {
            // Whoever keeps vectors elsewhere says where; see `places`.
            None | Some(Beside::Places) => {
                Encoded { codes: function.encode(features)?, vectors: None }
            }
            Some(Beside::Vectors(rows)) => {
                let (codes, bytes) = function.encode_and_keep(features, rows)?;
                Encoded { codes, vectors: Some((Beside::Vectors(rows), bytes)) }
            }
        })
    }

    /// As items that can be put in.
    pub(super) fn items<'a>(&'a self, ids: &'a [u64], labels: Option<Labels<'a>>) -> NewItems<'a> {
        let vectors = self.vectors.as_ref().map(|(rows, bytes)| (*rows, &bytes[..]));
        NewItems { ids, codes: &self.codes, labels, vectors }
    }
}

impl State {
    /// Vectors as its items have them.
    pub(super) fn encode(&self, features: Features<'_>) -> Result<Encoded> {
        let function = self.function.as_ref().ok_or(Error::NoFunction)?;
        Encoded::by(function, self.vectors, features)
    }

    /// Without items, for codes of any origin, or for those of a function, whose labels it names.
    pub(super) fn empty(
        layout: Layout,
        function: Option<HashFunction>,
        vectors: Option<Beside>,
    ) -> Self {
        let names = function.as_ref().map(|function| function.label_names().clone());
        let mut sets = LabelSets::default();
        sets.number(&[]);
        State {
            layout,
            function,
            vectors,
            metric: VectorMetric::default(),
            sets: Arc::new(sets),
            names: Arc::new(names.unwrap_or_default()),
            text_ids: false,
            segments: Vec::new(),
            kernel: Kernel::available()[0],
            structures: SearchStructure::default(),
            background: None,
            log_bytes: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.segments.iter().map(|searched| searched.segment.len()).sum()
    }

    /// The segment and slot of an item.
    pub(super) fn find(&self, id: u64) -> Result<Option<(usize, usize)>> {
        for (number, searched) in self.segments.iter().enumerate() {
            if let Some(slot) = searched.segment.find(id)? {
                return Ok(Some((number, slot)));
            }
        }
        Ok(None)
    }

    /// The codes of items, and the bytes of their vectors where these are kept.
    ///
    /// # Errors
    /// When an item is not there ([`Error::NoItem`]), or the file is damaged.
    pub(super) fn codes_and_vectors(&self, ids: &[u64]) -> Result<(Codes, Vec<u8>)> {
        let mut codes = Codes::new(self.layout.bits())?;
        let (mut code, mut vectors) = (vec![0; self.layout.code_words()], Vec::new());
        for &id in ids {
            let (segment, slot) = self.find(id)?.ok_or_else(|| Error::NoItem(id.to_string()))?;
            let columns = self.segments[segment].segment.columns();
            columns.code(slot, &mut code)?;
            codes.push(&code)?;
            vectors.extend_from_slice(columns.vector(slot)?);
        }
        Ok((codes, vectors))
    }

    /// The number of an item's label set.
    pub(super) fn label_set(&self, (segment, slot): (usize, usize)) -> Result<u32> {
        self.segments[segment].segment.columns().label_set(slot)
    }

    /// Calls with all items that are there, in order of ids.
    pub(super) fn each_in_order(&self, call: impl FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        let segments: Vec<&Segment> =
            self.segments.iter().map(|searched| &searched.segment).collect();
        each_in_order(&segments, call)
    }

    /// The same, with what is mapped from this file to be read once and in order.
    pub(super) fn to_read_once(&self, file: &File) -> io::Result<State> {
        let mut state = self.clone();
        for searched in &mut state.segments {
            *searched = SearchSegment::new(searched.segment.to_read_once(file)?);
        }
        Ok(state)
    }

    /// Whether any item that is there has labels.
    pub(super) fn is_labelled(&self) -> Result<bool> {
        for searched in &self.segments {
            let (segment, columns) = (&searched.segment, searched.segment.columns());
            if let Some(labels) = columns.label_sets()?
                && segment.live_slots().any(|slot| labels[slot] != 0)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What its items have.
    pub(super) fn shape(&self) -> Result<Shape> {
        let (layout, labelled, vectors) = (self.layout, self.is_labelled()?, self.vectors);
        Ok(Shape { layout, labelled, vectors })
    }

    /// Fails if items cannot be put in; else their order by id.
    pub(super) fn check(&self, items: NewItems<'_>) -> Result<Vec<usize>> {
        items.check(self.layout, self.vectors)?;
        let segments = self.segments.iter();
        let slots: usize = segments.map(|searched| searched.segment.columns().len()).sum();
        if slots + items.ids.len() > u32::MAX as usize {
            return Err(Error::TooManyItems(slots + items.ids.len()));
        }
        items.order()
    }

    /// Puts items in whose ids are not there, in this order.
    pub(super) fn put(&mut self, items: NewItems<'_>, order: &[usize]) -> Result<()> {
        if order.is_empty() {
            return Ok(());
        }
        let mut builder = Builder::new(self.layout, self.vectors, order.len());
        for &at in order {
            let label_set = items.labels.map_or(0, |labels| self.number_of_set(labels.row(at)));
            builder.push(items.item(at, label_set as u32));
        }
        self.segments.push(SearchSegment::new(Segment::new(builder.finish())));
        self.merge_last()
    }

    /// Segments halve in size from each to the next, so there are few of them, and an item is not moved
    /// often. What is mapped stays where it is.
    fn merge_last(&mut self) -> Result<()> {
        let mut keep = self.segments.len() - 1;
        let mut len = self.segments[keep].segment.len();
        while let Some(before) = keep.checked_sub(1).map(|at| &self.segments[at].segment)
            && !before.columns().is_mapped()
            && before.len() <= 2 * len
        {
            len += before.len();
            keep -= 1;
        }
        if keep + 1 == self.segments.len() {
            self.build_structure(&self.segments[keep], false);
            return Ok(());
        }
        let last = &self.segments[keep..];
        let segments: Vec<&Segment> = last.iter().map(|searched| &searched.segment).collect();
        let merged = SearchSegment::new(merged(&segments)?);
        self.build_structure(&merged, last.iter().any(SearchSegment::has_structure));
        self.segments.truncate(keep);
        self.segments.push(merged);
        Ok(())
    }

    /// The number of a label set, which is added if it is new. Snapshots share the sets, so they are
    /// copied only then, or if the labels do not ascend.
    fn number_of_set(&mut self, labels: &[u32]) -> usize {
        match self.sets.find(labels) {
            Some(number) => number,
            None => Arc::make_mut(&mut self.sets).number(labels),
        }
    }

    /// Takes out those of the items that are there; how many were.
    pub(super) fn remove(&mut self, ids: &[u64]) -> Result<usize> {
        let mut removed = 0;
        for &id in ids {
            if let Some((segment, slot)) = self.find(id)? {
                self.segments[segment].segment.remove(slot);
                removed += 1;
            }
        }
        self.segments.retain(|searched| {
            searched.segment.columns().is_mapped() || searched.segment.len() > 0
        });
        Ok(removed)
    }

    /// Puts one segment in the place of all.
    pub(super) fn replace(&mut self, segment: SearchSegment) {
        let had_structure = self.segments.iter().any(SearchSegment::has_structure);
        self.build_structure(&segment, had_structure);
        self.segments = vec![segment];
    }

    /// Builds the search structures in the background that segments in memory lack, if that is wanted.
    pub(super) fn build_missing_structures(&self) {
        let in_memory = |of: &&SearchSegment| !of.segment.columns().is_mapped();
        self.segments.iter().filter(in_memory).for_each(|of| self.build_structure(of, false));
    }

    /// Builds the search structure of a new segment: in the background if that is wanted, at once if those
    /// had one that it takes the place of, so that whoever searches need not.
    fn build_structure(&self, segment: &SearchSegment, had_structure: bool) {
        if self.structures == SearchStructure::None || segment.has_structure() {
            return;
        }
        if let Some(report) = &self.background {
            segment.build_structure_in_background(report, self.structures);
        } else if had_structure {
            // Searches work without it, and report what is damaged.
            if let Err(error) = segment.build_structure_beside(self.structures) {
                tracing::warn!(target: "hashbrook::index", "no search structure: {error}");
            }
        }
    }
}
