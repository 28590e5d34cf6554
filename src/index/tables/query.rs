//! Search for one query, key by key.

use super::key::WORDS;
use super::parts::{ALIGNED, MOST, SINGLE, Table, Tables};
use crate::Result;
use crate::index::answer::{Asked, Level, Nearest};
use crate::kernel::{Run, hit, parts, prefetch};

/// Cost of looking up a key, in codes scanned.
const KEY_COST: usize = 32;

/// Cost of scanning one code of a run, relative to one code of a full scan (which is shared between
/// queries).
const CODE_COST: usize = 2;

/// Number of codes in the first tile. The hits of a tile lower the limit; each next tile is twice
/// as large.
const TILE: usize = 64;

/// Number of runs to prefetch ahead.
const AHEAD: usize = 4;

/// Average number of items per code above which it pays off to read each code's item count at once,
/// before all codes at the same distance are known.
const REPEATS: usize = 2;

/// Buffers that are reused from query to query.
#[derive(Default)]
pub(in crate::index) struct Scratch {
    /// Runs of codes with the keys that are looked up, as their starts and ends.
    runs: Vec<(u32, u32)>,
    /// Codes of a run below the limit.
    hits: Vec<u64>,
    /// Codes below the limit by their distances, each as a table and a position in it.
    levels: Vec<Vec<u64>>,
    /// Entries of the codes at one distance.
    entries: Vec<u32>,
    level: Level,
    /// Lower bound of the number of items at each distance.
    counts: Vec<u32>,
}

/// Progress of a query in a table.
#[derive(Clone, Copy, Default)]
struct Progress {
    key: u32,
    /// Radius of the lookups: all keys that differ from the query's key in fewer bits were looked
    /// up.
    radius: u32,
    /// Number of codes with the query's own key.
    own: u32,
}

impl Tables {
    /// Appends the unweighted hits in order of distance, then slot. Returns `None` if the search
    /// would exceed its cost limit; `asked.limit` then holds the tightest bound found. Fails if the
    /// tables are damaged.
    ///
    /// Suppose that a code differs from the query in fewer bits than the sum of all radii. Then it
    /// differs in fewer bits than the radius in at least one key, so the code is among those that
    /// were looked up.
    pub(in crate::index) fn search(
        &self,
        asked: &mut Asked<'_>,
        scratch: &mut Scratch,
        found: &mut Vec<u64>,
    ) -> Result<Option<()>> {
        let before = found.len();
        scratch.levels.resize_with(self.layout.bits() + 1, Vec::new);
        scratch.levels.iter_mut().for_each(Vec::clear);
        let mut nearest = Nearest::new(asked, &mut scratch.counts);
        let mut progress = [Progress::default(); MOST];
        for (table, progress) in self.tables.iter().zip(&mut progress) {
            progress.key = table.key.of(asked.code);
            let (start, end) = self.run(table, progress.key)?;
            progress.own = (end - start) as u32;
            self.prefetch(table, start, end);
        }
        let (mut cost, mut left) = (0, asked.k.unwrap_or(usize::MAX));
        for distance in 0..asked.limit.min(self.layout.bits() as u32 + 1) {
            // The next table is the one with the smallest radius; among equal radii, the one in
            // which the query's own key has the fewest codes.
            let next = |&table: &usize| (progress[table].radius, progress[table].own);
            let Some(number) = (0..self.tables.len()).min_by_key(next) else { break };
            let (table, Progress { key, radius, .. }) = (&self.tables[number], progress[number]);
            // The query's own keys were looked up, and their hits have lowered the limit. From this
            // limit, the number of keys in a complete search can be estimated.
            let tables = self.tables.len() as u32;
            if distance == tables && self.keys(distance..asked.limit) > asked.most / KEY_COST {
                found.truncate(before);
                return Ok(None);
            }
            // A key cannot differ in more bits than it has: all codes were already seen.
            let keys = if radius > table.key.bits { 0 } else { binomial(table.key.bits, radius) };
            cost += keys.saturating_mul(KEY_COST);
            if cost > asked.most {
                found.truncate(before);
                return Ok(None);
            }
            scratch.runs.clear();
            if keys > 0 {
                self.runs(table, key, radius, &mut scratch.runs)?;
            }
            for at in 0..scratch.runs.len() {
                if let Some(&(start, end)) = scratch.runs.get(at + AHEAD) {
                    self.prefetch(table, start as usize, end as usize);
                }
                let (start, end) = scratch.runs[at];
                cost += CODE_COST * (end - start) as usize;
                if cost > asked.most {
                    found.truncate(before);
                    return Ok(None);
                }
                let run = (start as usize, end as usize);
                self.scan(asked, number, &progress, distance, run, &mut nearest, scratch)?;
            }
            progress[number].radius += 1;
            // All codes at this distance were seen.
            left -= self.write(asked, distance, left, scratch, found)?;
            if left == 0 || distance + 1 >= asked.limit {
                break;
            }
        }
        Ok(Some(()))
    }

    /// Estimates the number of keys that are looked up for a range of distances.
    fn keys(&self, distances: std::ops::Range<u32>) -> usize {
        let (tables, bits) = (self.tables.len() as u32, self.tables[0].key.bits);
        let radii =
            distances.map(|distance| distance / tables).take_while(|&radius| radius <= bits);
        radii.fold(0, |keys: usize, radius| keys.saturating_add(binomial(bits, radius)))
    }

    /// Appends the runs of codes with keys that differ from `key` in exactly `radius` bits.
    fn runs(&self, table: &Table, key: u32, radius: u32, runs: &mut Vec<(u32, u32)>) -> Result<()> {
        let end = 1u64 << table.key.bits;
        let mut turned = (1u64 << radius) - 1;
        while turned < end {
            let (start, end) = self.run(table, key ^ turned as u32)?;
            if start < end {
                runs.push((start as u32, end as u32));
            }
            if turned == 0 {
                break;
            }
            // The next number with the same number of bits set.
            let lowest = turned & turned.wrapping_neg();
            let above = turned + lowest;
            turned = above | (((turned ^ above) >> 2) / lowest);
        }
        Ok(())
    }

    /// Adds the codes of a run whose distances are below the limit and at least `least`, unless
    /// they were seen before.
    #[allow(clippy::too_many_arguments)]
    fn scan(
        &self,
        asked: &mut Asked<'_>,
        number: usize,
        progress: &[Progress; MOST],
        least: u32,
        (start, end): (usize, usize),
        nearest: &mut Nearest,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { hits, levels, counts, .. } = scratch;
        let table = &self.tables[number];
        let words = &self.words[table.codes.clone()];
        let (mut from, mut tile) = (start / ALIGNED * ALIGNED, TILE);
        let place = table.codes.start;
        self.check(place + self.layout.words(from)..place + self.layout.words(end))?;
        while from < end {
            let count = (end - from).min(tile);
            let run = Run {
                words: &words[self.layout.words(from)..],
                count,
                first: from as u32,
                mask: None,
            };
            hits.clear();
            asked.kernel.scan(self.layout, asked.code, run, asked.limit, hits);
            hits.retain(|&found| {
                let (distance, position) = parts(found);
                let is_new = distance >= least
                    && position as usize >= start
                    && !self.was_seen(asked.code, words, position as usize, progress);
                if is_new {
                    levels[distance as usize].push((number as u64) << 32 | u64::from(position));
                }
                is_new
            });
            if asked.k.is_some() && !hits.is_empty() {
                // If most codes have only one item each, reading item counts does not pay off.
                let looks = !asked.masks.is_empty() || self.count > REPEATS * self.distinct;
                for found in hits.iter_mut().filter(|_| looks) {
                    let (distance, position) = parts(*found);
                    let entry = self.entry(table, position as usize)?;
                    if !asked.masks.is_empty() {
                        self.check_slots(entry)?;
                    }
                    *found = hit(distance, entry);
                }
                let items = |asked: &Asked<'_>, entry: u32| match asked.masks.is_empty() {
                    true if looks => self.items_at_least(entry),
                    true => 1,
                    false => self.with_slots(entry, |slots| asked.items(slots)),
                };
                nearest.settle(asked, 0, hits, counts, items);
            }
            from += count;
            tile *= 2;
        }
        Ok(())
    }

    /// Appends at most `most` items at a distance, and returns their number.
    fn write(
        &self,
        asked: &Asked<'_>,
        distance: u32,
        most: usize,
        scratch: &mut Scratch,
        found: &mut Vec<u64>,
    ) -> Result<usize> {
        let Scratch { levels, entries, level, .. } = scratch;
        let codes = &levels[distance as usize];
        let place = |code: u64| (&self.tables[(code >> 32) as usize], code as u32 as usize);
        for &code in codes {
            let (table, position) = place(code);
            prefetch(&self.words[table.entries.start + position / 2..][..1]);
        }
        entries.clear();
        for &code in codes {
            let (table, position) = place(code);
            let entry = self.entry(table, position)?;
            entries.push(entry);
            if entry & SINGLE == 0 {
                prefetch(&self.words[entry as usize / 2..][..1]);
            }
        }
        for &entry in entries.iter() {
            self.check_slots(entry)?;
            self.with_slots(entry, |slots| asked.append(slots, most, &mut level.slots));
        }
        Ok(level.write(distance, entries.len(), self.count, most, found))
    }

    /// Returns true if a code was already found by one of the keys that were looked up.
    #[inline]
    fn was_seen(
        &self,
        query: &[u64],
        words: &[u64],
        position: usize,
        progress: &[Progress; MOST],
    ) -> bool {
        let mut code = [0; WORDS];
        match query {
            // A code of 33 to 64 bits is one word, stored at the code's position.
            [query] if self.layout.bits() > 32 => code[0] = words[position] ^ query,
            _ => {
                self.layout.get(words, position, &mut code[..query.len()]);
                code.iter_mut().zip(query).for_each(|(code, query)| *code ^= query);
            }
        }
        let tables = self.tables.iter().zip(progress);
        tables.fold(false, |seen, (table, of)| seen | table.key.is_within(code, of.radius))
    }

    /// Prefetches codes that will be scanned soon.
    #[inline]
    fn prefetch(&self, table: &Table, start: usize, end: usize) {
        let words = &self.words[table.codes.clone()];
        prefetch(&words[self.layout.words(start / ALIGNED * ALIGNED)..self.layout.words(end)]);
    }
}

/// Returns the number of `bits`-bit numbers with exactly `set` bits set.
fn binomial(bits: u32, set: u32) -> usize {
    (0..set as usize).fold(1usize, |count, at| count.saturating_mul(bits as usize - at) / (at + 1))
}
