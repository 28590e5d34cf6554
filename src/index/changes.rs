//! What changes an index: items added, replaced, removed, renewed, compacted.

use super::Index;
use super::file::Durable;
use super::segment::{Builder, Segment};
use crate::kernel::Layout;
use crate::{Codes, Error, Features, HashFunction, Labels, Result};

/// Changes.
impl Index {
    /// Adds items with new ids: all of them, or none.
    ///
    /// # Errors
    /// When an id is there already or given twice, there are not as many ids or labels as vectors,
    /// these have another dimension, or the file cannot be written.
    pub fn add(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.add_codes(ids, &self.encode(features)?, labels)
    }

    /// Like [`add`](Index::add), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`add`](Index::add).
    pub fn add_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let order = self.check(ids, codes, labels)?;
        if let Some(&taken) = self.present(ids)?.first() {
            return Err(Error::IdTaken(taken));
        }
        self.durable.put(ids, codes, labels)?;
        self.put(ids, codes, labels, &order)
    }

    /// Adds items, in the place of those with the same ids: all of them, or none.
    ///
    /// # Errors
    /// As for [`add`](Index::add), but ids may be there.
    pub fn upsert(
        &mut self,
        ids: &[u64],
        features: Features<'_>,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        self.upsert_codes(ids, &self.encode(features)?, labels)
    }

    /// Like [`upsert`](Index::upsert), of items that are encoded already.
    ///
    /// # Errors
    /// As for [`upsert`](Index::upsert).
    pub fn upsert_codes(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
    ) -> Result<()> {
        let order = self.check(ids, codes, labels)?;
        // Whatever is damaged shows before anything is changed.
        self.present(ids)?;
        self.durable.put(ids, codes, labels)?;
        self.take_out(ids)?;
        self.put(ids, codes, labels, &order)
    }

    /// Removes items; how many were there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, ids: &[u64]) -> Result<usize> {
        let there = self.present(ids)?;
        self.durable.remove(&there)?;
        self.take_out(&there)
    }

    /// Makes one part of all, without what was removed. The file is written anew and takes the
    /// place of the old one at once.
    ///
    /// # Errors
    /// When the file cannot be written; it is then as it was.
    pub fn compact(&mut self) -> Result<()> {
        let merged = self.merged()?;
        self.replace(merged)
    }

    /// Encodes all items anew, under a newer function: `ids` and `features` are those of all items
    /// that are there, in any order. Searches see the old codes or the new ones, never both.
    ///
    /// # Errors
    /// When the ids are not those of the index, or the file cannot be written; everything is then as
    /// it was.
    pub fn renew(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        features: Features<'_>,
    ) -> Result<()> {
        let codes = function.encode(features)?;
        self.renew_codes(function, ids, &codes)
    }

    /// Like [`renew`](Index::renew), with codes that the newer function has made already: vectors
    /// that do not fit in memory can be encoded in parts.
    ///
    /// # Errors
    /// As for [`renew`](Index::renew), and when the codes have another length than the function's.
    pub fn renew_codes(
        &mut self,
        function: HashFunction,
        ids: &[u64],
        codes: &Codes,
    ) -> Result<()> {
        codes.expect_bits(function.bits())?;
        let layout = Layout::new(function.bits());
        let order = check_ids(ids, codes.len())?;
        if ids.len() != self.len() {
            let problem = format!("{} ids for {} items", ids.len(), self.len());
            return Err(Error::NotRenewed { problem });
        }
        let mut builder = Builder::new(layout, ids.len());
        self.durable.reading(|| {
            for &at in &order {
                let Some((segment, slot)) = self.find(ids[at])? else {
                    let problem = format!("there is no item {}", ids[at]);
                    return Err(Error::NotRenewed { problem });
                };
                let label_set = self.segments[segment].label_set(slot)?;
                builder.push(ids[at], codes.code(at), label_set);
            }
            Ok(())
        })?;
        let (old_layout, old_function) = (self.layout, self.function.replace(function));
        self.layout = layout;
        let replaced = self.replace(builder.finish());
        if replaced.is_err() {
            (self.layout, self.function) = (old_layout, old_function);
        }
        replaced
    }

    /// Puts one segment in the place of all.
    fn replace(&mut self, segment: Segment) -> Result<()> {
        self.segments = match &self.durable {
            Durable::No => vec![segment],
            Durable::ReadOnly { file, .. } => return Err(file.read_only()),
            Durable::Log(log) => {
                let (log, mapped) = log.rewrite(self, &segment)?;
                self.durable = Durable::Log(log);
                vec![mapped]
            }
        };
        Ok(())
    }

    /// All items in one segment.
    pub(super) fn merged(&self) -> Result<Segment> {
        let mut merged = Builder::new(self.layout, 0).finish();
        self.durable.reading(|| {
            // The small ones first, so that few items are moved often.
            for segment in self.segments.iter().rev() {
                merged = Segment::merged(&merged, segment)?;
            }
            Ok(merged)
        })
    }

    /// Fails if items cannot be put in; else their order by id.
    fn check(&self, ids: &[u64], codes: &Codes, labels: Option<Labels<'_>>) -> Result<Vec<usize>> {
        codes.expect_bits(self.bits())?;
        if let Some(labels) = labels.filter(|labels| labels.len() != codes.len()) {
            return Err(Error::LabelCount { rows: codes.len(), labels: labels.len() });
        }
        let slots: usize = self.segments.iter().map(Segment::slots).sum();
        if slots + ids.len() > u32::MAX as usize {
            return Err(Error::TooManyItems(slots + ids.len()));
        }
        check_ids(ids, codes.len())
    }

    pub(super) fn put(
        &mut self,
        ids: &[u64],
        codes: &Codes,
        labels: Option<Labels<'_>>,
        order: &[usize],
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut builder = Builder::new(self.layout, ids.len());
        for &at in order {
            let label_set = labels.map_or(0, |labels| self.sets.number(labels.row(at)));
            builder.push(ids[at], codes.code(at), label_set as u32);
        }
        self.segments.push(builder.finish());
        // Segments halve in size from each to the next, so there are few of them, and an item is
        // not moved often. What is mapped stays where it is.
        while let [.., before, last] = &self.segments[..]
            && !before.is_mapped()
            && before.len() <= 2 * last.len()
        {
            let merged = Segment::merged(before, last)?;
            self.segments.truncate(self.segments.len() - 2);
            self.segments.push(merged);
        }
        Ok(())
    }

    pub(super) fn take_out(&mut self, ids: &[u64]) -> Result<usize> {
        let mut removed = 0;
        for &id in ids {
            if let Some((segment, slot)) = self.find(id)? {
                self.segments[segment].remove(slot);
                removed += 1;
            }
        }
        self.segments.retain(|segment| segment.is_mapped() || segment.len() > 0);
        Ok(removed)
    }
}

/// The order of ids, each of which must be given once.
pub(super) fn check_ids(ids: &[u64], items: usize) -> Result<Vec<usize>> {
    if ids.len() != items {
        return Err(Error::IdCount { ids: ids.len(), items });
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    if !ids.is_sorted_by(|left, right| left < right) {
        order.sort_unstable_by_key(|&at| ids[at]);
        let twice = order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]);
        if let Some(pair) = twice {
            return Err(Error::IdTwice(ids[pair[0]]));
        }
    }
    Ok(order)
}
