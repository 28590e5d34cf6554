//! What makes searches faster than a scan of everything.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::balls::Balls;
use super::buckets::Buckets;
use super::leaders::Leaders;
use super::search::Want;
use super::segment::{Bitmap, CHECKED, Part, Segment};
use crate::{Kernel, Result};

/// What makes searches faster than a scan of everything; in memory alone, and built once it pays.
pub(super) enum Structure {
    /// For codes that lie in balls: the nearest, and all within a radius.
    Balls(Box<Balls>),
    /// For others: all within a small radius.
    Buckets(Buckets),
}

/// Segments with fewer words of codes are scanned in no time.
const LEAST_WORDS: usize = 1 << 16;

/// What it takes to build, in comparisons per code.
const COST: u64 = 1 << 10;

impl Structure {
    /// For the codes of a segment. `None` if they do not lie in balls, and other than by balls is not
    /// asked for.
    fn build(kernel: Kernel, segment: &Segment, of_balls_alone: bool) -> Result<Option<Structure>> {
        let (layout, count) = (segment.layout(), segment.slots());
        for slot in (0..count).step_by(CHECKED) {
            segment.check(Part::Codes, slot)?;
        }
        let codes = segment.codes_from(0);
        Ok(match Leaders::find(layout, count, |at, out| layout.get(codes, at, out)) {
            Some(leaders) => {
                let balls = Balls::build(kernel, layout, codes, count, &leaders);
                Some(Structure::Balls(Box::new(balls)))
            }
            None if of_balls_alone => None,
            None => {
                let codes = segment.all_codes()?;
                Some(Structure::Buckets(Buckets::build(kernel, layout, codes, None)))
            }
        })
    }

    fn memory(&self) -> usize {
        match self {
            Structure::Balls(balls) => balls.memory(),
            Structure::Buckets(buckets) => buckets.memory(),
        }
    }
}

/// The structure of a segment, when it has one.
#[derive(Default)]
pub(super) struct LazyStructure {
    built: OnceLock<Structure>,
    /// Whether someone is building it, or has.
    building: AtomicBool,
    /// Whether it is known that the codes do not lie in balls.
    scattered: AtomicBool,
    /// How many codes were scanned for lack of it.
    scanned: AtomicU64,
    live: Mutex<Live>,
}

/// Which items were there when so many had been removed, in the order of balls.
#[derive(Default)]
struct Live {
    removed: usize,
    in_order: Option<Arc<Bitmap>>,
}

/// When so many of all items have been removed since, it is time to look again which are there.
const REMOVED_PART: usize = 64;

impl LazyStructure {
    /// The structure, once it pays: `work` codes of the segment are about to be scanned without it.
    pub(super) fn get(
        &self,
        segment: &Segment,
        want: Want,
        kernel: Kernel,
        work: u64,
    ) -> Result<Option<&Structure>> {
        if let Some(built) = self.built.get() {
            return Ok(Some(built));
        }
        // Without balls there is nothing for the nearest, nor for large radii.
        let of_balls_alone = match want {
            Want::Nearest(_) => true,
            Want::Within(radius) => radius as usize >= Buckets::RADII,
        };
        if of_balls_alone && self.scattered.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let scanned = self.scanned.fetch_add(work, Ordering::Relaxed) + work;
        if scanned / COST < segment.slots() as u64 {
            return Ok(None);
        }
        self.build(segment, kernel, of_balls_alone)
    }

    /// Builds it now, unless there are too few codes, or they do not lie in balls and other than by
    /// balls is not asked for. One builds, and nobody waits for it: the threads that it wants to use
    /// may be busy here.
    pub(super) fn build(
        &self,
        segment: &Segment,
        kernel: Kernel,
        of_balls_alone: bool,
    ) -> Result<Option<&Structure>> {
        let few = segment.bytes(Part::Codes).len() < 8 * LEAST_WORDS;
        let in_vain = of_balls_alone && self.scattered.load(Ordering::Relaxed);
        if few || in_vain || self.building.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let built = Structure::build(kernel, segment, of_balls_alone);
        if let Ok(Some(built)) = built {
            return Ok(Some(self.built.get_or_init(|| built)));
        }
        self.scattered.store(built.is_ok(), Ordering::Relaxed);
        self.scanned.store(0, Ordering::Relaxed);
        self.building.store(false, Ordering::Relaxed);
        built.map(|_| None)
    }

    /// Which items are there, in the order of balls, if many have been removed; some that it has may
    /// have been removed since.
    pub(super) fn live_in_order(&self, segment: &Segment, balls: &Balls) -> Option<Arc<Bitmap>> {
        let by_slot = segment.live()?;
        let removed = segment.slots() - segment.len();
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if removed - live.removed > segment.slots() / REMOVED_PART {
            *live = Live { removed, in_order: Some(Arc::new(balls.in_order(by_slot))) };
        }
        live.in_order.clone()
    }

    pub(super) fn memory(&self) -> usize {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let live = live.in_order.as_ref().map_or(0, |bitmap| 8 * bitmap.len());
        live + self.built.get().map_or(0, Structure::memory)
    }
}
