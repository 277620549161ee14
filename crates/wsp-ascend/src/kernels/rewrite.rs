//! Instructions that the cores have in another form: each becomes several, on buffers of their own.
//!
//! * Transfers do not convert elements, and their tiles have rows of whole blocks. A load of other elements, or of a column whose elements
//!   are apart in the tensor, goes to a tile of its own, from which the vector unit copies; a store likewise.
//! * An accumulator is filled with 0 by a product of zeros.
//! * A transfer from UB to L1 keeps how elements lie: the vector unit brings them into fractals before.

use super::Chip;
use super::codes;
use super::memories::{L0A, L0B, L0C, L1, M, MTE1, MTE2, UB, V};
use super::ops::cube::{Turned, leaves_ub};
use super::ops::moves;
use super::recipe::Recipe;
use super::scalars::{Scalars, Size};
use super::view::{FRACTAL, padded};
use wsp_core::{DType, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Const, Expr, ExprKind, Place, ScalarTy, TileOp, UnaryTileOp};
use wsp_ordered::OrderedSet;
use wsp_tile::{
    Buffer, BufferId, Extent, Instruction, Memories, MemoryId, Node, Op, Side, Tile, TileProgram, UnitId,
};

/// The program in the forms of the cores.
pub(super) fn rewrite(
    program: &mut TileProgram,
    scalars: &Scalars<'_>,
    (chip, memories): (Chip, &Memories),
) -> Result<(), Vec<Diagnostic>> {
    let fills = memories.mover(Side::Global, Side::Memory(L1)).unwrap_or(MTE2);
    let chip = (chip, fills);
    let mut body = std::mem::take(&mut program.body);
    let mut found = Vec::new();
    block(&mut body, program, scalars, chip, &mut found);
    program.body = body;
    program.number();
    sizes(program);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Buffers around the matrix unit, and in UB on the way there, take whole fractals.
fn sizes(program: &mut TileProgram) {
    let mut boxed = OrderedSet::new();
    program.instructions(&mut |instruction| {
        if let Op::Move { dst, src } = &instruction.op
            && leaves_ub(program, dst, src)
        {
            boxed.insert(src.buffer.index());
        }
    });
    let in_boxes = |(at, buffer): &(usize, &mut Buffer)| buffer.memory != UB || boxed.contains(at);
    for (_, buffer) in program.buffers.iter_mut().enumerate().filter(in_boxes) {
        let [rows, cols] = [buffer.rows, buffer.cols].map(|n| u64::from(padded(n, FRACTAL)));
        buffer.row_bytes = cols * buffer.elem.size() as u64;
        buffer.bytes = rows * buffer.row_bytes;
    }
}

fn block(
    nodes: &mut Vec<Node>,
    program: &mut TileProgram,
    scalars: &Scalars<'_>,
    chip: (Chip, UnitId),
    found: &mut Vec<Diagnostic>,
) {
    let mut out = Vec::with_capacity(nodes.len());
    for mut node in nodes.drain(..) {
        node.blocks_mut().for_each(|inner| block(inner, program, scalars, chip, found));
        match node {
            Node::Run(instruction) => run(instruction, program, scalars, chip, found, &mut out),
            other => out.push(other),
        }
    }
    *nodes = out;
}

fn run(
    instruction: Instruction,
    program: &mut TileProgram,
    scalars: &Scalars<'_>,
    (chip, fills): (Chip, UnitId),
    found: &mut Vec<Diagnostic>,
    out: &mut Vec<Node>,
) {
    let Instruction { op, span, .. } = &instruction;
    match op {
        Op::Tile(TileOp::Load { dst, tensor, at, rows, cols }) => {
            if let Some(between) = between(program, scalars, chip, dst, (*tensor, at)) {
                let load = TileOp::Load {
                    dst: between,
                    tensor: *tensor,
                    at: at.clone(),
                    rows: rows.clone(),
                    cols: cols.clone(),
                };
                let copy = TileOp::Unary { op: UnaryTileOp::Copy, dst: *dst, src: between };
                out.push(Node::Run(Instruction { op: Op::Tile(load), ..instruction.clone() }));
                out.push(step(Op::Tile(copy), V, *span));
                return;
            }
        }
        Op::Tile(TileOp::Store { tensor, src, at, rows, cols, add }) => {
            if let Some(between) = between(program, scalars, chip, src, (*tensor, at)) {
                let copy = TileOp::Unary { op: UnaryTileOp::Copy, dst: between, src: *src };
                let store = TileOp::Store {
                    tensor: *tensor,
                    src: between,
                    at: at.clone(),
                    rows: rows.clone(),
                    cols: cols.clone(),
                    add: *add,
                };
                out.push(step(Op::Tile(copy), V, *span));
                out.push(Node::Run(Instruction { op: Op::Tile(store), ..instruction.clone() }));
                return;
            }
        }
        Op::Move { dst, src } if leaves_ub(program, dst, src) => {
            let Buffer { name, elem, rows, cols, .. } = program.buffer(src.buffer).clone();
            let boxes = add_buffer(program, &format!("{name}_boxes"), elem, [rows, cols], UB, *span);
            let boxes = Tile { buffer: boxes, ..*src };
            let copy = TileOp::Unary { op: UnaryTileOp::Copy, dst: boxes, src: *src };
            out.push(step(Op::Tile(copy), V, *span));
            out.push(Node::Run(Instruction { op: Op::Move { dst: *dst, src: boxes }, ..instruction }));
            return;
        }
        Op::Tile(TileOp::Fill { dst, value, .. }) if program.buffer(dst.buffer).memory == L0C => {
            match value.kind {
                ExprKind::Const(Const::Float(0.0)) => zero(program, *dst, (*span, fills), out),
                _ => found.push(
                    Diagnostic::error(codes::REFUSED, "an accumulator is filled with a number that is not 0")
                        .at(*span, "no unit writes numbers there")
                        .help("begin with `TMATMUL`, or with 0, and add in a `VecTile` afterwards"),
                ),
            }
            return;
        }
        _ => {}
    }
    out.push(Node::Run(instruction));
}

fn step(op: Op, unit: wsp_tile::UnitId, span: Span) -> Node {
    Node::Run(Instruction { id: 0, op, unit, then: None, scratch: Vec::new(), span })
}

/// The tile that a transfer to or from a tensor needs beside that of the program.
fn between(
    program: &mut TileProgram,
    scalars: &Scalars<'_>,
    chip: Chip,
    tile: &Tile,
    (tensor, at): (TensorId, &Place),
) -> Option<Tile> {
    let buffer = program.buffer(tile.buffer).clone();
    if buffer.memory != UB {
        return None;
    }
    let elem = scalars.elem_of(tensor).unwrap_or(buffer.elem);
    let turned = Turned::default();
    let steps = moves::steps(&Recipe::new(program, scalars, &turned, chip), tensor, at).ok()?;
    let apart =
        buffer.cols == 1 && buffer.rows > 1 && matches!(&steps[0], Some(step) if *step != Size::Known(1));
    if elem == buffer.elem && !apart {
        return None;
    }
    let cols = if apart { 32 / elem.size() as u32 } else { buffer.cols };
    let name = format!("{}_{}", buffer.name, elem.name());
    let id = add_buffer(program, &name, elem, [buffer.rows, cols], UB, buffer.span);
    Some(Tile { buffer: id, ..*tile })
}

/// A product of zeros: as many rows and columns as the accumulator, and the fewest terms.
fn zero(program: &mut TileProgram, dst: Tile, (span, fills): (Span, UnitId), out: &mut Vec<Node>) {
    // The operands have the room of the accumulator, whose valid part may be smaller.
    let Buffer { name, rows: high, cols: wide, .. } = program.buffer(dst.buffer).clone();
    let [rows, cols] = [dst.rows, dst.cols];
    let terms = Extent::Known(FRACTAL);
    let mut operand = |word: &str, [rows, cols]: [Extent; 2], dims: [u32; 2], memory: MemoryId| {
        let [staged, used] = [(L1, "l1"), (memory, "l0")].map(|(memory, suffix)| {
            let name = format!("{name}_{word}_{suffix}");
            let buffer = add_buffer(program, &name, DType::F16, dims, memory, span);
            Tile { buffer, rows, cols }
        });
        let value = Expr::new(ExprKind::Const(Const::Float(0.0)), ScalarTy::F32, span);
        out.push(step(Op::Tile(TileOp::Fill { dst: staged, value, rows: None, cols: None }), fills, span));
        out.push(step(Op::Move { dst: used, src: staged }, MTE1, span));
        used
    };
    let a = operand("zero_rows", [rows, terms], [high, FRACTAL], L0A);
    let b = operand("zero_cols", [terms, cols], [FRACTAL, wide], L0B);
    let product = TileOp::MatMul { dst, a, b, transpose_b: false, accumulate: false };
    out.push(step(Op::Tile(product), M, span));
}

/// Adds a buffer without an address.
pub(super) fn add_buffer(
    program: &mut TileProgram,
    name: &str,
    elem: DType,
    [rows, cols]: [u32; 2],
    memory: MemoryId,
    span: Span,
) -> BufferId {
    let block = |bytes: u64| bytes.div_ceil(32) * 32;
    let packed = u64::from(cols) * elem.size() as u64;
    let row_bytes = if rows == 1 || cols == 1 { packed } else { block(packed) };
    program.buffers.push(Buffer {
        name: name.to_owned(),
        elem,
        rows,
        cols,
        row_bytes,
        bytes: block(row_bytes * u64::from(rows)),
        memory,
        rotates: None,
        at: Vec::new(),
        span,
    });
    BufferId(program.buffers.len() as u32 - 1)
}
