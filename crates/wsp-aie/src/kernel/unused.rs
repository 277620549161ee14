//! What nothing uses.

use crate::mlir::{Op, Value};
use wsp_ordered::OrderedSet;

/// Takes out operations that only make values which nothing uses.
pub(super) fn remove(ops: &mut Vec<Op>) {
    loop {
        let mut used = OrderedSet::new();
        ops.iter().for_each(|op| op.walk(&mut |op| used.extend(op.operands.iter().copied())));
        if !drop(ops, &used) {
            return;
        }
    }
}

fn drop(ops: &mut Vec<Op>, used: &OrderedSet<Value>) -> bool {
    let before = ops.len();
    let has_effect = |op: &Op| {
        !op.name.starts_with("arith.")
            && !matches!(op.name.as_str(), "memref.load" | "vector.load" | "vector.broadcast")
            && !op.name.starts_with("math.")
    };
    ops.retain(|op| has_effect(op) || op.results.iter().any(|value| used.contains(value)));
    let mut gone = ops.len() < before;
    for block in ops.iter_mut().flat_map(|op| &mut op.regions).flat_map(|region| &mut region.blocks) {
        gone |= drop(&mut block.ops, used);
    }
    // A loop or a branch without anything in it.
    let is_empty = |op: &Op| {
        op.results.is_empty()
            && matches!(op.name.as_str(), "scf.for" | "scf.if")
            && op.regions.iter().flat_map(|region| &region.blocks).all(|block| block.ops.is_empty())
    };
    let before = ops.len();
    ops.retain(|op| !is_empty(op));
    gone || ops.len() < before
}
