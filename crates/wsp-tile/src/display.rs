//! The text of a tile program, for tests and for people.
//!
//! ```text
//! tile program `add`
//!   buffer a: f32 8x16 in UB at 0
//!   for i in 0..n step 1 (loop 0)
//!     %0 MTE2: load a[8, 16] <- t0[i, 0] rows 0 cols 1
//!     set MTE2->V 0
//! ```

use crate::{EventId, Extent, Head, Instruction, Memories, Node, Op, Sync, Tile, TileProgram, UnitId};
use std::fmt::{self, Write as _};
use wsp_core::LocalId;
use wsp_ir::{Arg, Const, Expr, ExprKind, Operand, Part, Place, TileOp};

/// A program with the names of a table; [`TileProgram::display`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    program: &'a TileProgram,
    memories: &'a Memories,
}

impl TileProgram {
    /// The program as text.
    pub fn display<'a>(&'a self, memories: &'a Memories) -> Text<'a> {
        Text { program: self, memories }
    }

    /// An instruction as text, with its number and unit.
    pub fn describe(&self, memories: &Memories, instruction: &Instruction) -> String {
        self.display(memories).instruction(instruction)
    }
}

impl Op {
    /// The words of the operation: its form, and which of the form.
    pub fn words(&self) -> String {
        match self {
            Op::Tile(op) => tile_words(op),
            Op::Move { .. } => "move".into(),
            Op::Reduce { op, .. } => format!("tile_{}", op.word()),
            Op::LoadScalar { .. } => "load_scalar".into(),
            Op::StoreScalar { .. } => "store_scalar".into(),
        }
    }
}

/// The form of an operation, and which of the form.
pub(crate) fn tile_words<T, E, P>(op: &TileOp<T, E, P>) -> String {
    let form = op.word();
    match op {
        TileOp::Unary { op, .. } => format!("{form} {}", op.word()),
        TileOp::Binary { op, .. } => format!("{form} {}", op.word()),
        TileOp::RowReduce { op, .. } | TileOp::ColReduce { op, .. } => format!("{form} {}", op.word()),
        _ => form.to_owned(),
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program;
        writeln!(f, "tile program `{}`", program.name)?;
        for buffer in &program.buffers {
            let memory = &self.memories.memory(buffer.memory).name;
            write!(
                f,
                "  buffer {}: {} {}x{} in {memory}",
                buffer.name, buffer.elem, buffer.rows, buffer.cols
            )?;
            if let Some((first, rest)) = buffer.at.split_first() {
                write!(f, " at {first}")?;
                rest.iter().try_for_each(|at| write!(f, " and {at}"))?;
            }
            match buffer.rotates {
                Some(of) => writeln!(f, " by loop {}", of.0)?,
                None => writeln!(f)?,
            }
        }
        self.block(f, &program.body, 1)
    }
}

impl Text<'_> {
    fn block(&self, f: &mut fmt::Formatter<'_>, nodes: &[Node], depth: usize) -> fmt::Result {
        nodes.iter().try_for_each(|node| self.node(f, node, depth))
    }

    fn node(&self, f: &mut fmt::Formatter<'_>, node: &Node, depth: usize) -> fmt::Result {
        write!(f, "{:1$}", "", depth * 2)?;
        match node {
            Node::Set { local, value } => writeln!(f, "{} = {}", self.local(*local), self.expr(value)),
            Node::Name { local, array } => writeln!(f, "{} names {array:?}", self.local(*local)),
            Node::If { cond, then, otherwise } => {
                writeln!(f, "if {}", self.expr(cond))?;
                self.block(f, then, depth + 1)?;
                if otherwise.is_empty() {
                    return Ok(());
                }
                writeln!(f, "{:1$}else", "", depth * 2)?;
                self.block(f, otherwise, depth + 1)
            }
            Node::Loop(inner) => {
                match &inner.head {
                    Head::Counted { var, start, end, step } => write!(
                        f,
                        "for {} in {}..{} step {}",
                        self.local(*var),
                        self.expr(start),
                        self.expr(end),
                        self.expr(step)
                    )?,
                    Head::While { cond } => write!(f, "while {}", self.expr(cond))?,
                }
                writeln!(f, " (loop {})", inner.id.0)?;
                self.block(f, &inner.body, depth + 1)
            }
            Node::Run(instruction) => writeln!(f, "{}", self.instruction(instruction)),
            Node::Sync(sync) => writeln!(f, "{}", self.sync(*sync)),
        }
    }

    pub(crate) fn sync(&self, sync: Sync) -> String {
        let unit = |unit: UnitId| self.memories.unit_name(unit);
        let (word, event) = match sync {
            Sync::Set(event) => ("set", event),
            Sync::Wait(event) => ("wait", event),
            Sync::Barrier(of) => return format!("barrier {}", unit(of)),
            Sync::BarrierAll(_) if self.memories.second.is_empty() => return "barrier of all units".into(),
            Sync::BarrierAll(of) => return format!("barrier of all units of the core of {}", unit(of)),
        };
        let id = match event.id {
            EventId::One(id) => id.to_string(),
            EventId::Parity { of, even, odd } => format!("{even} or {odd} by loop {}", of.0),
        };
        format!("{word} {}->{} {id}", unit(event.from), unit(event.to))
    }

    pub(crate) fn instruction(&self, instruction: &Instruction) -> String {
        let units: Vec<&str> = instruction.units().map(|unit| self.memories.unit_name(unit)).collect();
        let mut text = format!("%{} {}: {}", instruction.id, units.join("+"), instruction.op.words());
        let index = |index: &[Expr]| index.iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(", ");
        // Writing to a string cannot fail.
        let _ = match &instruction.op {
            Op::Tile(op) => {
                self.tile_op(&mut text, op);
                Ok(())
            }
            Op::Move { dst, src } => write!(text, " {} <- {}", self.tile(dst), self.tile(src)),
            Op::Reduce { local, src, .. } => write!(text, " {} <- {}", self.local(*local), self.tile(src)),
            Op::LoadScalar { local, tensor, index: at } => {
                write!(text, " {} <- t{}[{}]", self.local(*local), tensor.0, index(at))
            }
            Op::StoreScalar { tensor, index: at, value } => {
                write!(text, " t{}[{}] <- {}", tensor.0, index(at), self.expr(value))
            }
        };
        for (at, id) in instruction.scratch.iter().enumerate() {
            let word = if at == 0 { " with" } else { "," };
            let _ = write!(text, "{word} {}", self.program.buffer(*id).name);
        }
        text
    }

    fn tile_op(&self, text: &mut String, op: &TileOp<Tile>) {
        let mut parts = Vec::new();
        op.each(&mut |part| {
            parts.push(match part {
                Part::Tile(tile, _) => self.tile(tile),
                Part::Number(number, ..) => self.expr(number),
                Part::Tensor(tensor, _) => format!("t{}", tensor.0),
                Part::Place(place) => self.place(place),
            });
        });
        match op {
            TileOp::Binary { b: Operand::Column(_), .. } | TileOp::Select { b: Operand::Column(_), .. } => {
                parts.push("by column".into());
            }
            TileOp::Binary { b: Operand::Row(_), .. } | TileOp::Select { b: Operand::Row(_), .. } => {
                parts.push("by row".into());
            }
            TileOp::Gather { by_row: true, .. } => parts.push("by row".into()),
            TileOp::MatMul { transpose_b, accumulate, .. } => {
                parts.extend(transpose_b.then(|| "b transposed".to_owned()));
                parts.extend(accumulate.then(|| "accumulate".to_owned()));
            }
            _ => {}
        }
        let _ = write!(text, " {}", parts.join(", "));
    }

    fn place(&self, place: &Place) -> String {
        let index: Vec<String> = place.index.iter().map(|e| self.expr(e)).collect();
        let mut text = format!("[{}]", index.join(", "));
        for (word, dim) in [("rows", place.row_dim), ("cols", place.col_dim)] {
            if let Some(dim) = dim {
                let _ = write!(text, " {word} {dim}");
            }
        }
        text
    }

    pub(crate) fn tile(&self, tile: &Tile) -> String {
        let name = &self.program.buffer(tile.buffer).name;
        format!("{name}[{}, {}]", self.extent(tile.rows), self.extent(tile.cols))
    }

    fn extent(&self, extent: Extent) -> String {
        match extent {
            Extent::Known(n) => n.to_string(),
            Extent::Value { local, low, high } => format!("{} in {low}..={high}", self.local(local)),
        }
    }

    fn local(&self, local: LocalId) -> String {
        let name = self.program.locals.get(local.index()).map_or("", |l| l.name.as_str());
        format!("{name}.{}", local.0)
    }

    pub(crate) fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(Const::Bool(b)) => b.to_string(),
            ExprKind::Const(Const::Int(i)) => i.to_string(),
            ExprKind::Const(Const::Float(x)) => format!("{x:?}"),
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Param(id) => format!("p{}", id.0),
            ExprKind::Field(_, field) => format!("field{field}"),
            ExprKind::Unary(op, a) => format!("{op:?}({})", self.expr(a)),
            ExprKind::Binary(op, a, b) => format!("({} {} {})", self.expr(a), op.sign(), self.expr(b)),
            ExprKind::Chain(first, rest) => {
                let mut text = format!("({}", self.expr(first));
                for (op, operand) in rest {
                    let _ = write!(text, " {} {}", op.sign(), self.expr(operand));
                }
                text + ")"
            }
            ExprKind::Cast(a) => format!("{}({})", e.ty.name(), self.expr(a)),
            ExprKind::Select(c, a, b) => {
                format!("({} ? {} : {})", self.expr(c), self.expr(a), self.expr(b))
            }
            ExprKind::Math(f, a) => format!("{f:?}({})", self.expr(a)),
            ExprKind::Load(array, a) => format!("{array:?}[{}]", self.expr(a)),
            ExprKind::Call(id, args) => {
                let args = args.iter().map(|arg| match arg {
                    Arg::Scalar(e) => self.expr(e),
                    Arg::Array(array) => format!("{array:?}"),
                });
                format!("f{}({})", id.0, args.collect::<Vec<_>>().join(", "))
            }
            other => format!("{other:?}"),
        }
    }
}
