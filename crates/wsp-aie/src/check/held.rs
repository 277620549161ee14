//! Objects that a core takes once and has for ever, as weights.

use super::Findings;
use super::ends::{core_does, moves};
use crate::codes;
use crate::design::{Design, Fifo, Sequence};
use crate::device::Tile;
use crate::mlir::Op;
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;

/// Whether a core acquires objects of a fifo, and does so outside of loops alone.
pub(super) fn keeps(design: &Design, tile: Tile, fifo: &Fifo) -> bool {
    let is_of = |op: &Op| {
        op.name == "aie.objectfifo.acquire"
            && op.find_name("objFifo_name") == Some(&fifo.name)
            && op.find_int("port") == Some(1)
    };
    let count = |op: &Op| {
        let mut all = 0;
        op.walk(&mut |op| all += usize::from(is_of(op)));
        all
    };
    let cores = design.cores.iter().filter(|core| core.tile == tile);
    let ops: Vec<&Op> = cores.flat_map(|core| &core.body.blocks).flat_map(|block| &block.ops).collect();
    let once = ops.iter().filter(|op| is_of(op)).count();
    once > 0 && once == ops.iter().map(|op| count(op)).sum::<usize>()
}

/// Whether the core of a tile gives objects of a fifo back.
fn releases(design: &Design, tile: Tile, fifo: &Fifo) -> bool {
    core_does(design, tile, "aie.objectfifo.release", fifo, 1)
}

/// Whether a sequence fills a fifo, or one that goes on in it.
fn is_filled(design: &Design, sequence: &Sequence, fifo: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([fifo]), vec![fifo]);
    while let Some(name) = open.pop() {
        if moves(sequence, name) {
            return true;
        }
        let before = design.links.iter().filter(|link| link.outs.iter().any(|out| out == name));
        open.extend(before.flat_map(|link| &link.ins).map(String::as_str).filter(|name| seen.insert(name)));
    }
    false
}

/// Warns of objects that each launch sends again, and of which a core takes those of the first.
pub(super) fn check(design: &Design, findings: &mut Findings) {
    for fifo in &design.fifos {
        let has = |tile: &Tile| keeps(design, *tile, fifo) && !releases(design, *tile, fifo);
        let Some(tile) = fifo.consumers.iter().map(|end| end.tile).find(has) else { continue };
        // A sequence of its own may send them once.
        let mut sequences = design.sequences.iter();
        if design.sequences.is_empty() || !sequences.all(|of| is_filled(design, of, &fifo.name)) {
            continue;
        }
        let message = format!(
            "each launch sends objects of fifo `@{}`, and the core on tile {tile} takes those of the first and gives none back: a second launch computes with them",
            fifo.name
        );
        let help = format!(
            "launch the design once, or fill `@{}` in a sequence of its own, which is launched before the others",
            fifo.name
        );
        findings.0.push(Diagnostic::warning(codes::BALANCE, message).at(fifo.span, "").help(help));
    }
}
