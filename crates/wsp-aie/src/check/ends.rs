//! What cores and sequences do with fifos.

use crate::design::{Design, Fifo, Sequence, Step, steps};
use crate::device::Tile;
use crate::mlir::Op;

/// Whether the core of a tile does this with a fifo.
pub(super) fn core_does(design: &Design, tile: Tile, what: &str, fifo: &Fifo, port: i64) -> bool {
    let mut found = false;
    let mut see = |op: &Op| {
        found |= op.name == what
            && op.find_name("objFifo_name") == Some(&fifo.name)
            && op.find_int("port") == Some(port);
    };
    for core in design.cores.iter().filter(|core| core.tile == tile) {
        core.body.blocks.iter().flat_map(|block| &block.ops).for_each(|op| op.walk(&mut see));
    }
    found
}

/// Whether a sequence of a design has a transfer of a fifo.
pub(super) fn is_moved(design: &Design, name: &str) -> bool {
    design.sequences.iter().any(|sequence| moves(sequence, name))
}

/// Whether this sequence has one.
pub(super) fn moves(sequence: &Sequence, name: &str) -> bool {
    let steps = steps(sequence).unwrap_or_default();
    steps.iter().any(|step| {
        step.has(&|step| matches!(step, Step::Move(transfer) if transfer.symbol.as_deref() == Some(name)))
    })
}
