//! The search structure of a segment: from its file, or built once building pays off.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::goal::Goal;
use crate::Result;
use crate::index::buckets::are_worth_it;
use crate::index::segment::Columns;
use crate::index::structure::{SearchStructure, Structure};

/// Cost of building a structure, in comparisons per code.
const COST: u64 = 1 << 11;

/// Search structure of columns, built when it pays off.
#[derive(Default)]
pub(super) struct LazyStructure {
    built: OnceLock<Structure>,
    /// True while a thread builds the structure, and after it is built.
    building: AtomicBool,
    /// Number of codes that were scanned because the structure was missing.
    scanned: AtomicU64,
    /// Outcomes of searches, indexed by `Way`, by whether the search is filtered, and by class.
    tries: [[[Tries; CLASSES]; 2]; 3],
}

impl LazyStructure {
    /// Returns a structure that is already built.
    pub(super) fn of(structure: Structure) -> Self {
        LazyStructure { built: OnceLock::from(structure), ..LazyStructure::default() }
    }

    /// Returns the structure. Builds a missing structure if that pays off by now; otherwise counts
    /// the `work` codes that the caller is about to scan instead.
    pub(super) fn get(
        &self,
        columns: &Columns,
        work: u64,
        wanted: SearchStructure,
    ) -> Result<Option<&Structure>> {
        if let Some(built) = self.built.get() {
            return Ok(Some(built));
        }
        let scanned = self.scanned.fetch_add(work, Ordering::Relaxed) + work;
        if scanned / COST < columns.len() as u64 {
            return Ok(None);
        }
        self.build(columns, wanted)
    }

    pub(super) fn built(&self) -> Option<&Structure> {
        self.built.get()
    }

    /// Builds the structure now, unless there are too few codes. While one thread builds, other
    /// callers do not wait, because the build may need their threads.
    pub(super) fn build(
        &self,
        columns: &Columns,
        wanted: SearchStructure,
    ) -> Result<Option<&Structure>> {
        if !are_worth_it(columns) || self.building.swap(true, Ordering::Relaxed) {
            return Ok(self.built.get());
        }
        match Structure::build(columns, wanted) {
            Ok(built) => Ok(Some(self.built.get_or_init(|| built))),
            Err(error) => {
                self.scanned.store(0, Ordering::Relaxed);
                self.building.store(false, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Returns the bytes of the structure, in memory or mapped.
    pub(super) fn bytes(&self) -> usize {
        self.built.get().map_or(0, |built| built.bytes())
    }

    /// Returns the outcomes of earlier searches of the same class.
    pub(super) fn tries(&self, goal: Goal, filtered: bool, way: Way) -> &Tries {
        let class = match goal {
            Goal::Nearest(k) => (k.ilog2() as usize).min(CLASSES / 2 - 1),
            Goal::Within(radius) => {
                CLASSES / 2
                    + radius.checked_ilog2().map_or(0, |log| 1 + log as usize).min(CLASSES / 2 - 1)
            }
        };
        &self.tries[way as usize][usize::from(filtered)][class]
    }
}

/// Way to search by a structure.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// By tables.
    Tables,
    /// By buckets.
    Buckets,
    /// By buckets, with weights.
    Weighted,
}

/// Number of classes of searches with separate outcomes. Searches for the `k` nearest are classed
/// by the logarithm of `k`, searches within a radius by the logarithm of the radius.
const CLASSES: usize = 32;

/// Outcomes of searches by a structure. `made` counts searches, and `vain` those that gave up.
/// `left` counts searches since most gave up; some of these do not try the structure.
#[derive(Default)]
pub(super) struct Tries {
    made: AtomicU32,
    vain: AtomicU32,
    left: AtomicU32,
}

/// Interval of searches at which the structure is tried although most searches gave up.
const STILL_TRIED: u32 = 64;

/// Number of searches after which the counts are halved, so that recent searches weigh more.
const REMEMBERED: u32 = 1 << 10;

impl Tries {
    /// Returns whether to search by the structure: always, unless most searches gave up; then once
    /// in [`STILL_TRIED`] searches.
    pub(super) fn pay(&self) -> bool {
        let (made, vain) = (self.made.load(Ordering::Relaxed), self.vain.load(Ordering::Relaxed));
        made < STILL_TRIED / 4
            || vain < made / 2
            || self.left.fetch_add(1, Ordering::Relaxed).is_multiple_of(STILL_TRIED)
    }

    /// Counts a search and whether it gave up.
    pub(super) fn note(&self, in_vain: bool) {
        self.vain.fetch_add(u32::from(in_vain), Ordering::Relaxed);
        if self.made.fetch_add(1, Ordering::Relaxed) > REMEMBERED {
            // Two threads may halve the counts at the same time, which does no harm.
            self.made.store(self.made.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            self.vain.store(self.vain.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
    }
}
