//! What of a design decides whether it hangs: objects, locks, and the loops around them.

use super::touch::{TOUCH, decides, shared, told};
use crate::design::Design;
use crate::mlir::{Block, Op, Value};
use wsp_ordered::OrderedSet;

/// The design with nothing else in its cores; none where what a core computes decides it.
pub(super) fn skeleton(design: &Design) -> Option<Design> {
    let mut bare = design.clone();
    let shared = shared(design);
    for core in &mut bare.cores {
        *core = told(design, core, &shared);
        let mut kept = OrderedSet::new();
        for block in &mut core.body.blocks {
            *block = strip(block, &mut kept)?;
        }
    }
    Some(bare)
}

/// Whether an operation makes what bounds of loops can be made from.
fn is_integer(name: &str) -> bool {
    name == "arith.constant" || name.starts_with("arith.") && name.ends_with('i')
}

fn strip(block: &Block, kept: &mut OrderedSet<Value>) -> Option<Block> {
    let mut ops = Vec::new();
    for op in &block.ops {
        match op.name.as_str() {
            "scf.for" if decides(op) => ops.push(strip_loop(op, kept)?),
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
            _ => {}
        }
    }
    Some(Block { args: block.args.clone(), ops })
}

/// A loop without what it carries; none where its bounds are computed from what is left out.
fn strip_loop(op: &Op, kept: &mut OrderedSet<Value>) -> Option<Op> {
    let bounds = op.operands.get(..3)?;
    if !bounds.iter().all(|value| kept.contains(value)) {
        return None;
    }
    let block = op.regions.first()?.blocks.first()?;
    let variable = *block.args.first()?;
    kept.insert(variable);
    let mut inner = strip(block, kept)?;
    inner.args.truncate(1);
    let mut bare = op.clone();
    bare.operands.truncate(3);
    bare.results.clear();
    bare.regions[0].blocks = vec![inner];
    Some(bare)
}
