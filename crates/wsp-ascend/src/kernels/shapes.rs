//! Operands whose valid shapes differ whenever an instruction runs: no C++ compiles for them.

use super::codes;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Operand, TileOp};
use wsp_tile::{Extent, Op, Tile, TileProgram};

/// An error for each instruction with operands that a run on `cpu_sim` would refuse, by what is known at emission.
pub(super) fn check(program: &TileProgram) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    program.instructions(&mut |instruction| {
        let Op::Tile(op) = &instruction.op else { return };
        found.extend(differing(op).map(|(a, b)| told(program, [a, b], instruction.span)));
    });
    found
}

/// Two operands that do not go together.
fn differing(op: &TileOp<Tile>) -> Option<(Tile, Tile)> {
    let second = |a: Tile, b: &Operand<Tile, _>| match *b {
        Operand::Tile(b) => (differ(a.rows, b.rows) || differ(a.cols, b.cols)).then_some((a, b)),
        Operand::Column(b) => differ(a.rows, b.rows).then_some((a, b)),
        Operand::Row(b) => differ(a.cols, b.cols).then_some((a, b)),
        Operand::Scalar(_) => None,
    };
    match op {
        TileOp::Binary { a, b, .. } => second(*a, b),
        TileOp::Select { mask, a, b, .. } => second(*mask, &Operand::Tile(*a)).or_else(|| second(*mask, b)),
        _ => None,
    }
}

fn differ(a: Extent, b: Extent) -> bool {
    matches!((a, b), (Extent::Known(a), Extent::Known(b)) if a != b)
}

fn told(program: &TileProgram, tiles: [Tile; 2], span: Span) -> Diagnostic {
    let extent = |of| match of {
        Extent::Known(n) => n.to_string(),
        Extent::Value { high, .. } => format!("up to {high}"),
    };
    let [a, b] = tiles.map(|tile| {
        let name = &program.buffer(tile.buffer).name;
        format!("`{name}` has {} x {}", extent(tile.rows), extent(tile.cols))
    });
    Diagnostic::error(codes::SHAPES, "the valid parts of two operands do not go together whenever this runs")
        .at(span, format!("{a}, {b}"))
        .note("a run on `cpu_sim` stops where it comes to this, and no C++ compiles for it")
        .help("give the tiles rows and columns that fit each other")
}
