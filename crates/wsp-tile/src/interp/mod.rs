//! Runs a tile program over real memories, with a clock per unit: the oracle of this crate and of backends.
//!
//! Instructions run one after another, in the order of the text. Beside each byte of a memory and each element of a tensor stands who touched
//! it last; an instruction that touches what another unit touched, and does not know it to be complete, is a fault. A run without a fault has one
//! result, whatever the units' speeds are.
//!
//! It shares nothing with [`crate::place()`], [`crate::order()`] and [`crate::check()`] but the program, the table and the test that the two
//! belong together.

mod clock;
mod lists;
mod machine;
mod matrix;
mod memory;
mod ops;
mod random;
mod scalars;

use crate::{Memories, TileProgram};
use machine::Machine;
use wsp_core::DType;
use wsp_diag::{Code, Diagnostic, Span};
use wsp_ir::{ArrayRef, Const};

/// What a program runs on, and what it leaves.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct World {
    /// Values of parameters, by parameter.
    pub params: Vec<Option<Const>>,
    /// The words of the descriptor.
    pub descriptor: Vec<u32>,
    /// Integer arrays of the launch.
    pub arrays: Vec<(ArrayRef, Vec<i128>)>,
    /// Tensors, by tensor; those that the program does not use may be missing.
    pub tensors: Vec<Option<TensorData>>,
}

/// The elements of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorData {
    /// The type that elements are rounded to when they are stored.
    pub dtype: DType,
    /// Extents.
    pub dims: Vec<usize>,
    /// Elements, the last dimension innermost.
    pub values: Vec<f32>,
}

/// Runs a program.
///
/// # Errors
/// The first fault: instructions that are not ordered, an event that is used wrong, bytes that are read and not written, or were overwritten by
/// another buffer, an address or an index past an end, an extent of 0 or outside of its bounds, an expression without a value, or an element
/// type that has no arithmetic here.
pub fn run(program: &TileProgram, memories: &Memories, world: &mut World) -> Result<(), Diagnostic> {
    if let Some(wrong) = crate::verify::verify(program, memories).into_iter().next() {
        return Err(wrong);
    }
    let mut machine = Machine::new(program, memories, world);
    machine.run().map_err(|fault| fault.diagnostic(program, memories))
}

/// A fault, with the numbers of the instructions that it is about.
#[derive(Debug)]
struct Fault {
    code: Code,
    message: String,
    span: Option<Span>,
    /// The one that ran before, where there are two.
    first: Option<u32>,
    second: Option<u32>,
}

impl Fault {
    fn new(code: Code, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), span: None, first: None, second: None }
    }

    fn pair(code: Code, message: impl Into<String>, first: u32, second: u32) -> Fault {
        Fault { first: Some(first), second: Some(second), ..Fault::new(code, message) }
    }

    /// Where it is, unless that is known.
    fn at(mut self, span: Span) -> Fault {
        self.span = self.span.or(Some(span));
        self
    }

    /// Names the instruction that ran before.
    fn after(mut self, first: u32) -> Fault {
        self.first = Some(first);
        self
    }

    /// Names the instruction that runs.
    fn in_instruction(mut self, id: u32) -> Fault {
        self.second = Some(id);
        self
    }

    fn diagnostic(self, program: &TileProgram, memories: &Memories) -> Diagnostic {
        let mut found = Diagnostic::error(self.code, self.message);
        let mut spans = Vec::new();
        program.instructions(&mut |instruction| {
            if [self.first, self.second].contains(&Some(instruction.id)) {
                spans.push((instruction.id, instruction.span, program.describe(memories, instruction)));
            }
        });
        let own = spans.iter().find(|(id, ..)| Some(*id) == self.second).map(|(_, span, _)| *span);
        if let Some(span) = self.span.or(own) {
            found = found.at(span, "");
        }
        for (id, span, text) in spans {
            if Some(id) == self.first && self.first != self.second {
                found = found.label(span, "the other one");
            }
            found = found.note(text);
        }
        found
    }
}
