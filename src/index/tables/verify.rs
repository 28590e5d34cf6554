//! Verification of tables against the codes of a segment.

use std::sync::atomic::Ordering;

use super::parts::Tables;
use crate::Result;
use crate::index::segment::Columns;

impl Tables {
    /// Reads all tables and compares them with the codes of the items. Fails if they are damaged or
    /// do not match.
    pub(in crate::index) fn verify(&self, columns: &Columns) -> Result<()> {
        if let Some((_, seen)) = &self.file {
            seen.iter().for_each(|seen| seen.store(false, Ordering::Relaxed));
        }
        if !self.words.is_empty() {
            self.check(0..self.words.len())?;
        }
        let width = self.layout.code_words();
        let (mut code, mut own) = (vec![0; width], vec![0; width]);
        for table in &self.tables {
            let mut seen = vec![false; self.count];
            let mut next = 0;
            for key in 0..1 << table.key.bits {
                let (start, end) = self.run(table, key)?;
                if start != next {
                    return Err(self.damaged("a key"));
                }
                next = end;
                for position in start..end {
                    self.layout.get(&self.words[table.codes.clone()], position, &mut code);
                    let entry = self.entry(table, position)?;
                    self.check_slots(entry)?;
                    self.with_slots(entry, |slots| {
                        let sound = table.key.of(&code) == key
                            && slots.is_sorted()
                            && slots.len() >= self.items_at_least(entry);
                        for &slot in slots {
                            columns.code(slot as usize, &mut own)?;
                            let twice = std::mem::replace(&mut seen[slot as usize], true);
                            if !sound || twice || own != code {
                                return Err(self.damaged("an entry"));
                            }
                        }
                        Ok(())
                    })?;
                }
            }
            if next != self.distinct || seen.contains(&false) {
                return Err(self.damaged("the number of items"));
            }
        }
        Ok(())
    }
}
