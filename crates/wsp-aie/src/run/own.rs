//! Cores that make other objects in each launch although no fifo feeds them.

use super::touch::decides;
use crate::check::{constants, rounds};
use crate::design::Design;
use crate::mlir::{Block, Op, Value};

/// Whether a core waits for locks, uses memory that others use, or has a loop around objects that counts or carries what they are made of.
pub(super) fn differs(design: &Design, core: usize) -> bool {
    let ops = |core: usize| design.cores[core].body.blocks.iter().flat_map(|block| &block.ops);
    let mut found = false;
    let mut see = |op: &Op| {
        found |= op.name == "aie.use_lock" || op.operands.iter().any(|value| is_shared(design, core, *value));
    };
    ops(core).for_each(|op| op.walk(&mut see));
    found || ops(core).filter(|op| op.name == "scf.for" && decides(op)).any(has_state)
}

/// Whether loops in those that a core repeats tell the rounds apart in which it takes or gives objects.
pub(super) fn differs_within(design: &Design, core: usize) -> bool {
    let ops = design.cores[core].body.blocks.iter().flat_map(|block| &block.ops);
    let within =
        ops.flat_map(|op| &op.regions).flat_map(|region| &region.blocks).flat_map(|block| &block.ops);
    let mut found = false;
    within.for_each(|op| op.walk(&mut |op| found |= op.name == "scf.for" && decides(op) && has_state(op)));
    found
}

/// How many parts of a round of what a core repeats are alike: rounds of loops around all of its objects that are not told apart.
pub(super) fn parts(design: &Design, core: usize) -> u64 {
    let core = &design.cores[core];
    let known = constants(core);
    let is_loop = |op: &&Op| op.name == "scf.for" && decides(op);
    let top = core.body.blocks.iter().flat_map(|block| &block.ops).rfind(is_loop);
    let (mut parts, mut around) = (1u64, top);
    while let Some(op) = around {
        let mut inner = op.body().iter().filter(|op| decides(op));
        around = match (inner.next(), inner.next()) {
            (Some(op), None) if is_loop(&op) && !has_state(op) => {
                parts = parts.saturating_mul(rounds(op, &known).map_or(1, |(rounds, _)| rounds.max(1)));
                Some(op)
            }
            _ => None,
        };
    }
    parts
}

/// Whether a value is a buffer that another core or a channel uses.
fn is_shared(design: &Design, core: usize, value: Value) -> bool {
    if design.buffers.iter().all(|buffer| buffer.value != value) {
        return false;
    }
    let others = design.cores.iter().enumerate().filter(|(at, _)| *at != core).map(|(_, other)| &other.body);
    let blocks = others.chain(design.dmas.iter().map(|dma| &dma.body)).flat_map(|body| &body.blocks);
    blocks.into_iter().any(|block| uses(block, value))
}

fn uses(block: &Block, value: Value) -> bool {
    let mut found = false;
    block.ops.iter().for_each(|op| op.walk(&mut |op| found |= op.operands.contains(&value)));
    found
}

/// Whether a loop carries values, or its rounds are told apart.
fn has_state(op: &Op) -> bool {
    let blocks = op.regions.iter().flat_map(|region| &region.blocks);
    op.operands.len() > 3 || blocks.into_iter().any(|block| block.args.iter().any(|arg| uses(block, *arg)))
}
