//! [`Builder`]: columns under construction.

use super::columns::{Columns, Vectors};
use super::item::Item;
use super::kind::{Beside, Kind};
use crate::kernel::{Column, Layout, Lines};

/// Columns under construction, to which items are added in ascending order of ids.
pub(in crate::index) struct Builder {
    layout: Layout,
    ids: Vec<u64>,
    codes: Lines,
    labels: Vec<u32>,
    labelled: bool,
    rows: Option<Beside>,
    /// Vectors, aligned to cache lines so that a row spans few lines.
    vectors: Lines,
}

impl Builder {
    pub(in crate::index) fn new(layout: Layout, rows: Option<Beside>, room: usize) -> Self {
        let vector_bytes = rows.map_or(0, |rows| rows.bytes() * room);
        Builder {
            layout,
            ids: Vec::with_capacity(room),
            codes: Lines::with_capacity(layout.words(room)),
            labels: Vec::new(),
            labelled: false,
            rows,
            vectors: Lines::with_capacity(vector_bytes.div_ceil(8)),
        }
    }

    pub(in crate::index) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(in crate::index) fn push(&mut self, item: Item<'_>) {
        let at = self.ids.len();
        self.ids.push(item.id);
        self.codes.resize(self.layout.words(at + 1));
        self.layout.put(&mut self.codes, at, item.code);
        if item.label_set != 0 && !self.labelled {
            self.labelled = true;
            self.labels.resize(at, 0);
        }
        if self.labelled {
            self.labels.push(item.label_set);
        }
        if let Some(rows) = self.rows {
            let size = rows.bytes();
            self.vectors.resize(((at + 1) * size).div_ceil(8));
            self.vectors.bytes_mut()[at * size..(at + 1) * size].copy_from_slice(item.vector);
        }
    }

    /// Returns the bytes of a column as stored in a file.
    pub(in crate::index) fn bytes(&mut self, kind: Kind) -> &[u8] {
        match kind {
            Kind::Ids => crate::kernel::bytes_of(&self.ids),
            Kind::Codes => crate::kernel::bytes_of::<u64>(&self.codes),
            Kind::Labels => {
                self.labels.resize(self.ids.len(), 0);
                crate::kernel::bytes_of(&self.labels)
            }
            Kind::Vectors => {
                let size = self.rows.map_or(0, Beside::bytes);
                &self.vectors.bytes_mut()[..size * self.ids.len()]
            }
        }
    }

    /// Removes all items, and keeps the allocated memory.
    pub(in crate::index) fn clear(&mut self) {
        self.ids.clear();
        self.codes.clear();
        self.labels.clear();
        self.labelled = false;
        self.vectors.clear();
    }

    pub(in crate::index) fn finish(self) -> Columns {
        let labels = self.labelled.then_some(Column::Owned(self.labels));
        let (ids, codes) = (Column::Owned(self.ids), Column::Lines(self.codes));
        let bytes = Column::Lines(self.vectors);
        let vectors = self.rows.map(|rows| Vectors { rows, bytes });
        Columns::new(self.layout, ids, codes, labels, vectors, None)
    }
}
