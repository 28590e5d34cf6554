//! Merging of segments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::builder::Builder;
use super::item::Item;
use super::kind::BLOCK;
use super::live::Segment;
use crate::Result;

/// Merges the live items of segments that share no id.
pub(in crate::index) fn merged(segments: &[&Segment]) -> Result<Segment> {
    let Some(first) = segments.first() else { unreachable!("of at least one segment") };
    let room = segments.iter().map(|segment| segment.len()).sum();
    let shape = first.columns().shape();
    let mut builder = Builder::new(shape.layout, shape.vectors, room);
    each_in_order(segments, |item| {
        builder.push(item);
        Ok(())
    })?;
    Ok(Segment::new(builder.finish()))
}

/// Calls `call` with all live items, in order of ids. One item is held in memory at a time.
pub(in crate::index) fn each_in_order(
    segments: &[&Segment],
    mut call: impl FnMut(Item<'_>) -> Result<()>,
) -> Result<()> {
    let mut slots: Vec<_> = segments.iter().map(|segment| segment.live_slots()).collect();
    // The heap holds the next item of each segment, with the smallest id on top.
    let mut next = BinaryHeap::with_capacity(segments.len());
    for (number, (segment, slots)) in segments.iter().zip(&mut slots).enumerate() {
        if let Some(slot) = slots.next() {
            next.push(Reverse((segment.columns().id(slot)?, number, slot)));
        }
    }
    let words = segments.first().map_or(0, |segment| segment.columns().layout().code_words());
    let mut code = vec![0; words];
    while let Some(mut top) = next.peek_mut() {
        let Reverse((id, number, slot)) = *top;
        let columns = segments[number].columns();
        columns.code(slot, &mut code)?;
        let (label_set, vector) = (columns.label_set(slot)?, columns.vector(slot)?);
        call(Item { id, code: &code, label_set, vector })?;
        match slots[number].next() {
            Some(next_slot) => {
                if next_slot / BLOCK != slot / BLOCK {
                    columns.have_read(next_slot / BLOCK * BLOCK);
                }
                *top = Reverse((columns.id(next_slot)?, number, next_slot));
            }
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
    }
    Ok(())
}
