//! [`SearchSegment`]: a segment with its search structure and caches.

use std::sync::Arc;

use super::cache::SelectionCache;
use super::selection::Selection;
use super::structure::LazyStructure;
use crate::Result;
use crate::background;
use crate::index::buckets::are_worth_it;
use crate::index::segment::{Columns, Segment};
use crate::index::structure::{SearchStructure, Structure};

/// Callback for the outcome of a background build: whether a search structure was built.
pub(crate) type Report = Arc<dyn Fn(&Result<bool>) + Send + Sync>;

/// Segment with its search structure and cached selections. Clones share the columns, the structure
/// and the selections.
#[derive(Clone)]
pub(in crate::index) struct SearchSegment {
    pub(in crate::index) segment: Segment,
    aids: Arc<SearchAids>,
}

#[derive(Default)]
struct SearchAids {
    structure: LazyStructure,
    selections: SelectionCache,
}

impl SearchAids {
    /// Builds the search structure of the columns on one thread.
    fn build_beside(&self, columns: &Columns, wanted: SearchStructure) -> Result<()> {
        let build = || self.structure.build(columns, wanted).map(drop);
        match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
            Ok(pool) => pool.install(build),
            // If no thread can be spawned, the calling thread builds the structure.
            Err(_) => build(),
        }
    }
}

impl SearchSegment {
    pub(in crate::index) fn new(segment: Segment) -> Self {
        SearchSegment { segment, aids: Arc::default() }
    }

    /// Returns a segment with the search structure from its file.
    pub(in crate::index) fn with_structure(segment: Segment, structure: Structure) -> Self {
        let structure = LazyStructure::of(structure);
        SearchSegment { segment, aids: Arc::new(SearchAids { structure, ..Default::default() }) }
    }

    pub(super) fn columns(&self) -> &Columns {
        self.segment.columns()
    }

    pub(super) fn structure(&self) -> &LazyStructure {
        &self.aids.structure
    }

    /// Returns the search structure, if it is built.
    pub(in crate::index) fn built(&self) -> Option<&Structure> {
        self.aids.structure.built()
    }

    /// Returns whether the search structure is built.
    pub(in crate::index) fn has_structure(&self) -> bool {
        self.aids.structure.built().is_some()
    }

    /// Builds the search structure now.
    pub(in crate::index) fn build_structure(&self, wanted: SearchStructure) -> Result<()> {
        self.aids.structure.build(self.columns(), wanted).map(drop)
    }

    /// Builds the search structure now, for a writer: on one thread, so that the other threads stay
    /// free for queries.
    pub(in crate::index) fn build_structure_beside(&self, wanted: SearchStructure) -> Result<()> {
        self.aids.build_beside(self.columns(), wanted)
    }

    /// Builds the search structure in the background, while searches continue without it. `report`
    /// receives the outcome: whether a structure was built.
    pub(in crate::index) fn build_structure_in_background(
        &self,
        report: &Report,
        wanted: SearchStructure,
    ) {
        if !are_worth_it(self.columns()) {
            return;
        }
        let (aids, columns) = (self.aids.clone(), self.segment.columns_while_used());
        let report = report.clone();
        background::later(move || {
            // By now the segment may have been merged into another, and its columns dropped.
            if let Some(columns) = columns.upgrade() {
                report(&aids.build_beside(&columns, wanted).map(|()| true));
            }
        });
    }

    /// Reads the search structure, if it is built, and compares it with the codes.
    pub(in crate::index) fn verify_structure(&self) -> Result<()> {
        self.aids.structure.built().map_or(Ok(()), |built| built.verify(self.columns()))
    }

    /// Returns the bytes of the search structure, in memory or mapped.
    pub(in crate::index) fn structure_bytes(&self) -> usize {
        self.aids.structure.bytes()
    }

    /// Returns the same segment without search structure and cached selections.
    pub(in crate::index) fn without_structure(&self) -> Self {
        SearchSegment::new(self.segment.clone())
    }

    /// Returns the bytes in addition to the columns and the search structure.
    pub(in crate::index) fn extra_memory(&self) -> usize {
        self.segment.extra_memory() + self.aids.selections.memory()
    }

    /// Returns the items whose label set is one of `sets`, which ascend.
    pub(super) fn of_sets(&self, sets: &[u32]) -> Result<Selection> {
        let columns = self.columns();
        self.aids.selections.get(sets, columns.memory(), || {
            let Some(labels) = columns.label_sets()? else {
                let all = sets.contains(&0);
                return Ok(if all {
                    Selection::All
                } else {
                    Selection::of_slots(columns, Vec::new())?
                });
            };
            let of = |set: &u32| u64::from(sets.binary_search(set).is_ok());
            let word = |labels: &[u32]| match sets {
                [one] => bits_of(labels, |set| u64::from(set == one)),
                _ => bits_of(labels, of),
            };
            Selection::of_bitmap(columns, labels.chunks(64).map(word).collect())
        })
    }
}

fn bits_of(labels: &[u32], bit: impl Fn(&u32) -> u64) -> u64 {
    labels.iter().enumerate().fold(0, |word, (at, set)| word | bit(set) << at)
}
