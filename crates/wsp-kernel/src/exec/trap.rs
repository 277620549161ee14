//! Why a function stopped.

use wsp_ir::Span;
use wsp_ir::diag::{Code, Diagnostic};

/// `+ - * <<` or negation left the range of the type.
pub(crate) const OVERFLOW: Code = Code(600);
/// Integer division or remainder by zero.
pub(crate) const DIVISION_BY_ZERO: Code = Code(601);
/// A conversion would change the value.
pub(crate) const LOSSY_CONVERSION: Code = Code(602);
/// A shift by the width of the type or more.
pub(crate) const SHIFT_RANGE: Code = Code(603);
/// An index past the end of an integer array.
pub(crate) const ARRAY_BOUNDS: Code = Code(604);
/// A counted loop with a step below 1.
pub(crate) const LOOP_STEP: Code = Code(605);
/// Too many steps: taken to loop for ever.
pub(crate) const STEP_LIMIT: Code = Code(606);
/// The run was cancelled from outside.
pub(crate) const CANCELLED: Code = Code(607);
/// An index past the end of a tensor.
pub(crate) const TENSOR_BOUNDS: Code = Code(610);
/// Operands of a tile operation whose shapes do not go together.
pub(crate) const TILE_SHAPE: Code = Code(611);
/// A result larger than its destination's capacity.
pub(crate) const TILE_CAPACITY: Code = Code(612);
/// A tile without elements, or larger than the limit.
pub(crate) const TILE_SIZE: Code = Code(613);
/// A tile that is read before anything was written to it.
pub(crate) const TILE_UNWRITTEN: Code = Code(614);
/// A tile or scalar access whose element type is not a float type.
pub(crate) const TILE_ELEMENT: Code = Code(615);
/// A load of elements that no task has stored.
pub(crate) const NEVER_STORED: Code = Code(616);
/// A tier index past the end of its tier set.
pub(crate) const TIER_INDEX: Code = Code(620);
/// A workspace slot at or past the reserved count.
pub(crate) const WORKSPACE_INDEX: Code = Code(621);
/// An axis whose tile or extent is not known.
pub(crate) const AXIS_UNKNOWN: Code = Code(622);
/// An array, tensor or parameter that the launch did not bind.
pub(crate) const UNBOUND: Code = Code(623);
/// Code that is too large or too deep to run.
pub(crate) const TOO_COMPLEX: Code = Code(624);
/// A fault of PTO-WSP itself.
pub(crate) const INTERNAL: Code = Code(639);

/// Why a function stopped, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trap {
    /// Its code, WSP0600 to WSP0639.
    pub code: Code,
    /// One short phrase with the operation, the values and the types.
    pub message: String,
    /// The expression or statement that stopped.
    pub span: Span,
    /// Further facts: shapes, extents, calls on the way.
    pub notes: Vec<String>,
    /// Another place that has to do with it, and what it is.
    pub label: Option<(Span, String)>,
}

impl Trap {
    /// A trap without notes.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Trap {
        Trap { code, message: message.into(), span, notes: Vec::new(), label: None }
    }

    /// A fault of PTO-WSP itself: something the verifier or lowering rules out.
    pub fn internal(message: impl Into<String>, span: Span) -> Trap {
        Trap::new(INTERNAL, format!("internal error: {}", message.into()), span)
            .note("this is a fault of PTO-WSP, please report it with the program")
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Trap {
        self.notes.push(text.into());
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn labelled(mut self, span: Span, text: impl Into<String>) -> Trap {
        self.label = Some((span, text.into()));
        self
    }

    /// Whether the run was cancelled from outside, which is no fault of the program.
    pub fn is_cancelled(&self) -> bool {
        self.code == CANCELLED
    }
}

impl From<Trap> for Diagnostic {
    fn from(trap: Trap) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(trap.code, trap.message).at(trap.span, "");
        diagnostic.notes = trap.notes;
        if let Some((span, text)) = trap.label {
            diagnostic = diagnostic.label(span, text);
        }
        diagnostic.help.extend(help(trap.code).map(str::to_owned));
        diagnostic
    }
}

/// A load of what no task has stored.
#[cold]
pub(crate) fn never_stored(tensor: &str, span: Span) -> Trap {
    Trap::new(NEVER_STORED, format!("`{tensor}` is loaded where no task has stored anything"), span)
}

/// What to do about a fault whose message does not say it.
fn help(code: Code) -> Option<&'static str> {
    Some(match code {
        DIVISION_BY_ZERO => "leave out the case with a condition, or divide by the larger of it and 1",
        LOSSY_CONVERSION => {
            "indices and numbers of rows count from 0: bound the value first, or leave out the case"
        }
        ARRAY_BOUNDS => "leave out indices from the array's length on with a condition",
        TENSOR_BOUNDS => "take an index that lies inside, load or store fewer rows (0 if none are meant)",
        NEVER_STORED => {
            "store the element first, in a task that this one depends on; an array of the launch (`PTO_SHAPE`) may be given instead"
        }
        TILE_SHAPE => "load or fill the operands with the same rows and columns",
        TILE_CAPACITY => "declare the destination as large as the result can be",
        _ => return None,
    })
}
