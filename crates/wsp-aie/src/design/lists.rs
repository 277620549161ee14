//! What the channels of a tile run, with descriptors in lists and memory beside them.

use super::read::{Read, Reading, fault, only};
use crate::codes;
use crate::mlir::{Attr, Block, Op, Region};

impl Reading {
    /// The body of a tile's channels: its memory and locks are the device's, and `aie.dma` becomes blocks.
    pub(super) fn chains(&mut self, mut body: Region) -> Read<Region> {
        for block in &mut body.blocks {
            let is_memory = |op: &Op| matches!(op.name.as_str(), "aie.buffer" | "aie.lock");
            let (memory, rest) = std::mem::take(&mut block.ops).into_iter().partition(is_memory);
            block.ops = rest;
            let memory: Vec<Op> = memory;
            memory.iter().try_for_each(|op| self.memory(op))?;
        }
        let lists = body.blocks.iter().flat_map(|block| &block.ops).filter(|op| op.name == "aie.dma");
        let Some(first) = lists.clone().next() else { return Ok(body) };
        if body.blocks.len() > 1 {
            let message = "`aie.dma` stands in a body of one block, and this one has others".to_owned();
            return fault(first, codes::ATTRIBUTE, message);
        }
        lists.clone().try_for_each(|op| {
            only(op, &["channel_dir", "channel_index", "loop", "repeat_count", "sym_name"])
        })?;
        let (lists, rest): (Vec<Op>, Vec<Op>) =
            body.blocks.into_iter().flat_map(|block| block.ops).partition(|op| op.name == "aie.dma");
        Ok(blocks(lists, rest))
    }
}

/// A block that starts each list, then one for each descriptor, then what is left.
fn blocks(lists: Vec<Op>, rest: Vec<Op>) -> Region {
    let starts = lists.len();
    let end = (starts + lists.iter().map(|list| list.regions.len()).sum::<usize>()) as u32;
    let (mut heads, mut bodies) = (Vec::new(), Vec::new());
    for (at, mut list) in lists.into_iter().enumerate() {
        let first = (starts + bodies.len()) as u32;
        let regions = std::mem::take(&mut list.regions);
        let past = first + regions.len() as u32;
        let again = list.find("loop") != Some(&Attr::Bool(false));
        for (i, region) in regions.into_iter().enumerate() {
            let mut ops: Vec<Op> = region.blocks.into_iter().flat_map(|block| block.ops).collect();
            let next = first + i as u32 + 1;
            let mut goes_on = Op::new("aie.next_bd");
            goes_on.span = list.span;
            goes_on.successors.push(if next < past {
                next
            } else if again {
                first
            } else {
                end
            });
            ops.push(goes_on);
            bodies.push(Block { args: Vec::new(), ops });
        }
        list.name = "aie.dma_start".to_owned();
        list.attrs.retain(|(name, _)| name != "loop" && name != "sym_name");
        let follows = if at + 1 < starts { at as u32 + 1 } else { end };
        list.successors = vec![if first < past { first } else { end }, follows];
        heads.push(Block { args: Vec::new(), ops: vec![list] });
    }
    heads.extend(bodies);
    heads.push(Block { args: Vec::new(), ops: rest });
    Region { blocks: heads }
}
