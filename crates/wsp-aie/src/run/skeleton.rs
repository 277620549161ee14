//! What of a design decides whether it hangs: objects, locks, and the loops around them.

use super::touch::{TOUCH, decides, marked, shared};
use crate::design::{Core, Design};
use crate::mlir::{Block, Op, Type, Value};
use std::collections::BTreeSet;
use wsp_ordered::OrderedSet;

/// The design with nothing else in its cores, and buffers of which a use depends on what is left out; none where what a core computes decides it.
pub(super) fn skeleton(design: &Design) -> Option<(Design, BTreeSet<Value>)> {
    let mut bare = design.clone();
    let (shared, mut unseen) = (shared(design), BTreeSet::new());
    if design.cores.iter().any(|core| hands_on(design, core)) {
        return None;
    }
    for core in &mut bare.cores {
        *core = marked(design, core, &shared);
        let mut kept = OrderedSet::new();
        for block in &mut core.body.blocks {
            *block = strip(block, (&mut kept, &mut unseen))?;
        }
    }
    Some((bare, unseen))
}

/// Whether a core has memory that an operation hands on under another name.
fn hands_on(design: &Design, core: &Core) -> bool {
    let mut found = false;
    let mut see = |op: &Op| {
        let is_memory = |value: &Value| matches!(design.module.ty(*value), Type::MemRef(_));
        let is_own = ["memref.alloc", "aie.objectfifo.subview.access"].contains(&op.name.as_str());
        found |= !is_own && op.results.iter().any(is_memory);
    };
    core.body.blocks.iter().flat_map(|block| &block.ops).for_each(|op| op.walk(&mut see));
    found
}

/// Whether an operation makes what bounds of loops can be made from.
fn is_integer(name: &str) -> bool {
    name == "arith.constant" || name.starts_with("arith.") && name.ends_with('i')
}

fn strip(block: &Block, (kept, unseen): (&mut OrderedSet<Value>, &mut BTreeSet<Value>)) -> Option<Block> {
    let mut ops = Vec::new();
    for op in &block.ops {
        match op.name.as_str() {
            "scf.for" if decides(op) => ops.push(strip_loop(op, (kept, unseen))?),
            "aie.end" => ops.push(op.clone()),
            TOUCH if op.operands[1..].iter().all(|value| kept.contains(value)) => ops.push(op.clone()),
            _ if decides(op) && op.regions.is_empty() => ops.push(op.clone()),
            _ if decides(op) => return None,
            name if is_integer(name) && op.operands.iter().all(|value| kept.contains(value)) => {
                for value in &op.results {
                    kept.insert(*value);
                }
                ops.push(op.clone());
            }
            _ => op.walk(&mut |op| {
                if op.name == TOUCH {
                    unseen.extend(op.operands.first());
                }
            }),
        }
    }
    Some(Block { args: block.args.clone(), ops })
}

/// A loop without what it carries; none where its bounds are computed from what is left out.
fn strip_loop(op: &Op, (kept, unseen): (&mut OrderedSet<Value>, &mut BTreeSet<Value>)) -> Option<Op> {
    let bounds = op.operands.get(..3)?;
    if !bounds.iter().all(|value| kept.contains(value)) {
        return None;
    }
    let block = op.regions.first()?.blocks.first()?;
    let variable = *block.args.first()?;
    kept.insert(variable);
    let mut inner = strip(block, (kept, unseen))?;
    inner.args.truncate(1);
    let mut bare = op.clone();
    bare.operands.truncate(3);
    bare.results.clear();
    bare.regions[0].blocks = vec![inner];
    Some(bare)
}
