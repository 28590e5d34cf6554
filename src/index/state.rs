//! [`State`]: one version of an index, and the changes that lead to the next.
//!
//! # How do readers stay independent of the writer?
//!
//! The columns of a segment (ids, codes, label sets, vectors) never change, and are shared (`Arc`).
//! Only the bitmap of existing items changes; a change copies the bitmap if a reader holds it. So
//! an index is a short list of segments (`State`), and a `Snapshot` is a pointer to a state. The
//! writer builds the next state while readers use the current one: an added batch becomes a new
//! segment, and a merge or compaction replaces segments by a new segment. No thread waits, and a
//! snapshot never changes.
//!
//! Search structures and cached selections belong to the columns (`search/segment.rs`) and are
//! shared by all snapshots with these columns. They do not depend on the version: a query looks up
//! each item that it reaches in the snapshot's own bitmap of existing items.
//!
//! Each segment is more than twice as large as the next, as in a log-structured merge tree. The
//! largest segment may be mapped from a file, and stays unchanged until compaction.
//! `Index::refresh` follows a writer in another process: it reads the new records of the log, or
//! opens the new file if compaction replaced the old one.

use std::io;
use std::sync::Arc;

use super::search::{Report, SearchSegment};
use super::segment::{Beside, Builder, Item, NewItems, Segment, Shape, each_in_order, merged};
use super::structure::SearchStructure;
use crate::disk::File;
use crate::kernel::{Kernel, Layout};
use crate::similarity::LabelSets;
use crate::{Codes, Error, Features, HashFunction, LabelNames, Labels, Result, VectorMetric};

/// One version of an index. A clone costs a few counters for each segment: all large parts are
/// shared.
#[derive(Clone)]
pub(super) struct State {
    pub(super) layout: Layout,
    pub(super) function: Option<HashFunction>,
    /// Format of the stored vectors, or `Places` if the owner of the index stores the vectors;
    /// `None` without vectors.
    pub(super) vectors: Option<Beside>,
    /// Score by which hits are re-ranked.
    pub(super) metric: VectorMetric,
    /// Label sets; number 0 is the empty set.
    pub(super) sets: Arc<LabelSets>,
    pub(super) names: Arc<LabelNames>,
    /// True if ids stand for strings, which are stored beside the file.
    pub(super) text_ids: bool,
    /// Segments; the first may be mapped from a file. Each item is live in exactly one segment.
    pub(super) segments: Vec<SearchSegment>,
    pub(super) kernel: Kernel,
    /// Search structure that may be built and used.
    pub(super) structures: SearchStructure,
    /// Callback for the outcome of building a new segment's structure in the background; `None` if
    /// structures are not built in the background.
    pub(super) background: Option<Report>,
    /// Bytes of the file's log of changes, which compaction empties.
    pub(super) log_bytes: u64,
}

/// Codes of vectors, and the stored bytes of the vectors if the index stores them.
pub(super) struct Encoded {
    pub(super) codes: Codes,
    vectors: Option<(Beside, Vec<u8>)>,
}

impl Encoded {
    /// Encodes vectors by a function, for an index that stores `beside` with each code.
    pub(super) fn by(
        function: &HashFunction,
        beside: Option<Beside>,
        features: Features<'_>,
    ) -> Result<Encoded> {
        Ok(match beside {
            // An owner that stores vectors elsewhere passes their places itself; see `places`.
            None | Some(Beside::Places) => {
                Encoded { codes: function.encode(features)?, vectors: None }
            }
            Some(Beside::Vectors(rows)) => {
                let (codes, bytes) = function.encode_and_keep(features, rows)?;
                Encoded { codes, vectors: Some((Beside::Vectors(rows), bytes)) }
            }
        })
    }

    /// Returns the encoded vectors as items to be added, with ids and labels.
    pub(super) fn items<'a>(&'a self, ids: &'a [u64], labels: Option<Labels<'a>>) -> NewItems<'a> {
        let vectors = self.vectors.as_ref().map(|(rows, bytes)| (*rows, &bytes[..]));
        NewItems { ids, codes: &self.codes, labels, vectors }
    }
}

impl State {
    /// Encodes vectors as the items of this index.
    pub(super) fn encode(&self, features: Features<'_>) -> Result<Encoded> {
        let function = self.function.as_ref().ok_or(Error::NoFunction)?;
        Encoded::by(function, self.vectors, features)
    }

    /// Returns a state without items. If a function is given, its label names become those of the
    /// state.
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

    /// Returns the segment and slot of an item, or `None` if it does not exist.
    pub(super) fn find(&self, id: u64) -> Result<Option<(usize, usize)>> {
        for (number, searched) in self.segments.iter().enumerate() {
            if let Some(slot) = searched.segment.find(id)? {
                return Ok(Some((number, slot)));
            }
        }
        Ok(None)
    }

    /// Returns the codes of items, and the bytes of their vectors if the index stores vectors.
    ///
    /// # Errors
    /// When an item does not exist ([`Error::NoItem`]), or the file is damaged.
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

    /// Returns the number of an item's label set.
    pub(super) fn label_set(&self, (segment, slot): (usize, usize)) -> Result<u32> {
        self.segments[segment].segment.columns().label_set(slot)
    }

    /// Calls `call` with all live items, in order of ids.
    pub(super) fn each_in_order(&self, call: impl FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        let segments: Vec<&Segment> =
            self.segments.iter().map(|searched| &searched.segment).collect();
        each_in_order(&segments, call)
    }

    /// Returns the same state, with the columns mapped from `file` for reading once and in order.
    pub(super) fn to_read_once(&self, file: &File) -> io::Result<State> {
        let mut state = self.clone();
        for searched in &mut state.segments {
            *searched = SearchSegment::new(searched.segment.to_read_once(file)?);
        }
        Ok(state)
    }

    /// Returns whether any live item has labels.
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

    /// Returns the shape of the items.
    pub(super) fn shape(&self) -> Result<Shape> {
        let (layout, labelled, vectors) = (self.layout, self.is_labelled()?, self.vectors);
        Ok(Shape { layout, labelled, vectors })
    }

    /// Fails if the items cannot be added. Otherwise returns their order by id.
    pub(super) fn check(&self, items: NewItems<'_>) -> Result<Vec<usize>> {
        items.check(self.layout, self.vectors)?;
        let segments = self.segments.iter();
        let slots: usize = segments.map(|searched| searched.segment.columns().len()).sum();
        if slots + items.ids.len() > u32::MAX as usize {
            return Err(Error::TooManyItems(slots + items.ids.len()));
        }
        items.order()
    }

    /// Adds items with new ids in the given order.
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

    /// Merges the last segments so that each segment is more than twice as large as the next. So
    /// segments are few, and items are rarely moved. A mapped segment is never merged.
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

    /// Returns the number of a label set, after adding the set if it is new. Snapshots share the
    /// list of sets. The list is copied only to add a set, or if the labels do not ascend.
    fn number_of_set(&mut self, labels: &[u32]) -> usize {
        match self.sets.find(labels) {
            Some(number) => number,
            None => Arc::make_mut(&mut self.sets).number(labels),
        }
    }

    /// Removes items, and returns the number of items that existed.
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

    /// Replaces all segments by one.
    pub(super) fn replace(&mut self, segment: SearchSegment) {
        let had_structure = self.segments.iter().any(SearchSegment::has_structure);
        self.build_structure(&segment, had_structure);
        self.segments = vec![segment];
    }

    /// Builds the missing search structures of segments in memory in the background, if background
    /// building is on.
    pub(super) fn build_missing_structures(&self) {
        let in_memory = |of: &&SearchSegment| !of.segment.columns().is_mapped();
        self.segments.iter().filter(in_memory).for_each(|of| self.build_structure(of, false));
    }

    /// Builds the search structure of a new segment: in the background if background building is
    /// on. Otherwise builds it at once if a replaced segment had a structure, so that searches need
    /// not build it.
    fn build_structure(&self, segment: &SearchSegment, had_structure: bool) {
        if self.structures == SearchStructure::None || segment.has_structure() {
            return;
        }
        if let Some(report) = &self.background {
            segment.build_structure_in_background(report, self.structures);
        } else if had_structure {
            // Searches work without a structure, and report damage themselves.
            if let Err(error) = segment.build_structure_beside(self.structures) {
                tracing::warn!(target: "hashbrook::index", "no search structure: {error}");
            }
        }
    }
}
