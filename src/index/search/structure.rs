//! What lets a search pass over most codes of a segment; in memory alone, and built once it pays.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::goal::Goal;
use crate::index::clusters::{Centres, Clusters};
use crate::index::segment::{Bitmap, Columns, Kind, Segment};
use crate::index::tree::Tree;
use crate::{Kernel, Result};

/// What lets a search pass over most codes of a segment.
pub(super) enum SearchStructure {
    /// For codes that lie in clusters: the nearest, and all within a radius.
    Clusters(Box<Clusters>),
    /// For others: all within a small radius.
    Tree(Tree),
}

/// Segments with fewer words of codes are scanned in no time.
const LEAST_WORDS: usize = 1 << 16;

/// What it takes to build, in comparisons per code.
const COST: u64 = 1 << 10;

impl SearchStructure {
    /// For the codes of a segment. `None` if they do not lie in clusters and only clusters are asked
    /// for.
    fn build(kernel: Kernel, columns: &Columns, clusters_only: bool) -> Result<Option<Self>> {
        let (layout, count) = (columns.layout(), columns.len());
        columns.check_column(Kind::Codes)?;
        let codes = columns.code_words();
        Ok(match Centres::find(layout, count, |at, out| layout.get(codes, at, out)) {
            Some(centres) => {
                let clusters = Clusters::build(kernel, layout, codes, count, &centres);
                Some(SearchStructure::Clusters(Box::new(clusters)))
            }
            None if clusters_only => None,
            None => {
                let width = layout.code_words();
                let mut plain = vec![0; count * width];
                let places = plain.chunks_exact_mut(width).enumerate();
                places.for_each(|(slot, code)| layout.get(codes, slot, code));
                Some(SearchStructure::Tree(Tree::build(kernel, layout, plain, None)))
            }
        })
    }

    fn memory(&self) -> usize {
        match self {
            SearchStructure::Clusters(clusters) => clusters.memory(),
            SearchStructure::Tree(tree) => tree.memory(),
        }
    }
}

/// The search structure of some columns, once it is built.
#[derive(Default)]
pub(super) struct LazyStructure {
    built: OnceLock<SearchStructure>,
    /// Whether someone is building it, or has.
    building: AtomicBool,
    /// Whether it is known that the codes do not lie in clusters.
    scattered: AtomicBool,
    /// How many codes were scanned for lack of it.
    scanned: AtomicU64,
    live: Mutex<Live>,
}

/// Which items were there when so many had been removed, in the order of clusters.
#[derive(Default)]
struct Live {
    removed: usize,
    in_order: Option<Arc<Bitmap>>,
}

/// When so many of all items have been removed since, the bitmap in order is made anew.
const REMOVED_PART: usize = 64;

impl LazyStructure {
    /// The structure, once it pays: `work` codes are about to be scanned without it.
    pub(super) fn get(
        &self,
        columns: &Columns,
        goal: Goal,
        kernel: Kernel,
        work: u64,
    ) -> Result<Option<&SearchStructure>> {
        if let Some(built) = self.built.get() {
            return Ok(Some(built));
        }
        // Without clusters there is nothing for the nearest, nor for large radii.
        let clusters_only = match goal {
            Goal::Nearest(_) => true,
            Goal::Within(radius) => radius as usize >= Tree::RADII,
        };
        if clusters_only && self.scattered.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let scanned = self.scanned.fetch_add(work, Ordering::Relaxed) + work;
        if scanned / COST < columns.len() as u64 {
            return Ok(None);
        }
        self.build(columns, kernel, clusters_only)
    }

    pub(super) fn is_built(&self) -> bool {
        self.built.get().is_some()
    }

    /// Builds it now, unless there are too few codes, or they do not lie in clusters and only clusters
    /// are asked for. One thread builds, and nobody waits for it: the threads that it wants to use may
    /// be busy here.
    pub(super) fn build(
        &self,
        columns: &Columns,
        kernel: Kernel,
        clusters_only: bool,
    ) -> Result<Option<&SearchStructure>> {
        let few = columns.code_words().len() < LEAST_WORDS;
        let in_vain = clusters_only && self.scattered.load(Ordering::Relaxed);
        if few || in_vain || self.building.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let built = SearchStructure::build(kernel, columns, clusters_only);
        if let Ok(Some(built)) = built {
            return Ok(Some(self.built.get_or_init(|| built)));
        }
        self.scattered.store(built.is_ok(), Ordering::Relaxed);
        self.scanned.store(0, Ordering::Relaxed);
        self.building.store(false, Ordering::Relaxed);
        built.map(|_| None)
    }

    /// A bitmap in the order of clusters that has every item that is there, if many have been removed; it
    /// may also have items that were removed later.
    ///
    /// Snapshots of different age ask for it. Items are only ever removed, so a bitmap of an older
    /// moment has all that a later one has, and one of a later moment is of no use for an older.
    pub(super) fn live_in_order(
        &self,
        segment: &Segment,
        clusters: &Clusters,
    ) -> Option<Arc<Bitmap>> {
        let by_slot = segment.live()?;
        let removed = segment.removed();
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let since = removed.checked_sub(live.removed)?;
        if since > segment.columns().len() / REMOVED_PART {
            *live = Live { removed, in_order: Some(Arc::new(clusters.in_order(by_slot))) };
        }
        live.in_order.clone()
    }

    pub(super) fn memory(&self) -> usize {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let live = live.in_order.as_ref().map_or(0, |bitmap| 8 * bitmap.len());
        live + self.built.get().map_or(0, SearchStructure::memory)
    }
}
