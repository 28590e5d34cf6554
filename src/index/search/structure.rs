//! The search structure of a segment: from its file, or built once it pays.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::goal::Goal;
use crate::Result;
use crate::index::buckets::are_worth_it;
use crate::index::segment::Columns;
use crate::index::structure::{SearchStructure, Structure};

/// What it takes to build, in comparisons per code.
const COST: u64 = 1 << 11;

/// The search structure of some columns, once it is there.
#[derive(Default)]
pub(super) struct LazyStructure {
    built: OnceLock<Structure>,
    /// Whether someone is building it, or has.
    building: AtomicBool,
    /// How many codes were scanned for lack of it.
    scanned: AtomicU64,
    /// By tables, by buckets, and by these with weights; without filters and with them.
    tries: [[[Tries; CLASSES]; 2]; 3],
}

impl LazyStructure {
    /// One that is there.
    pub(super) fn of(structure: Structure) -> Self {
        LazyStructure { built: OnceLock::from(structure), ..LazyStructure::default() }
    }

    /// The structure, once it pays: `work` codes are about to be scanned without it.
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

    /// Builds it now, unless there are too few codes. One thread builds, and nobody waits for it: the
    /// threads that it wants to use may be busy here.
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

    /// The bytes of all of it, in memory or mapped.
    pub(super) fn bytes(&self) -> usize {
        self.built.get().map_or(0, |built| built.bytes())
    }

    /// How such searches went so far.
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

/// Ways to search by a structure.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// By tables.
    Tables,
    /// By buckets.
    Buckets,
    /// By buckets, with weights.
    Weighted,
}

/// Searches that are told apart when it is judged whether the structure pays: for the nearest by the
/// logarithm of their number, and within a radius by that of it.
const CLASSES: usize = 32;

/// How many searches were made by the structure, how many of them in vain, and how many not by it for
/// that reason.
#[derive(Default)]
pub(super) struct Tries {
    made: AtomicU32,
    vain: AtomicU32,
    left: AtomicU32,
}

/// One in so many searches is tried where most were in vain.
const STILL_TRIED: u32 = 64;

/// Searches after which what was noted counts half, so that what comes now weighs more.
const REMEMBERED: u32 = 1 << 10;

impl Tries {
    /// Whether to search by the structure: unless most such searches were in vain, and now and then
    /// even so.
    pub(super) fn pay(&self) -> bool {
        let (made, vain) = (self.made.load(Ordering::Relaxed), self.vain.load(Ordering::Relaxed));
        made < STILL_TRIED / 4
            || vain < made / 2
            || self.left.fetch_add(1, Ordering::Relaxed).is_multiple_of(STILL_TRIED)
    }

    /// Takes note of how a search went.
    pub(super) fn note(&self, in_vain: bool) {
        self.vain.fetch_add(u32::from(in_vain), Ordering::Relaxed);
        if self.made.fetch_add(1, Ordering::Relaxed) > REMEMBERED {
            // That another thread may do the same just now does no harm.
            self.made.store(self.made.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            self.vain.store(self.vain.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        }
    }
}
