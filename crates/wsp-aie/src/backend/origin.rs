//! Places of a design's text in the program that it was made of.

use crate::design::{Design, Step, steps};
use crate::lower::Lowered;
use wsp_diag::Span;

/// What of a program a place of its text comes of: the tensor of a fifo or of a transfer, or a kernel of a core.
pub(super) fn origin(lowered: &Lowered, design: &Design, at: Span) -> Option<Span> {
    let fifo = design.fifos.iter().find(|fifo| fifo.span == at).map(|fifo| fifo.name.clone());
    let moved = || {
        let steps = design.sequences.iter().flat_map(|sequence| steps(sequence).unwrap_or_default());
        let mut symbols = steps.filter_map(|step| if let Step::Move(of) = step { Some(of) } else { None });
        symbols.find(|of| of.span == at).and_then(|of| of.symbol)
    };
    let core = || design.cores.iter().find(|core| core.span == at).map(|core| core.tile);
    match fifo.or_else(moved) {
        Some(name) => lowered.tensors.get(&name).copied(),
        None => lowered.kernels.get(&core()?).copied(),
    }
}
