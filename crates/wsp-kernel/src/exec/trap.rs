//! Why a function stopped.

pub(crate) mod codes;

pub(crate) use codes::*;
use wsp_diag::{Code, Diagnostic, Span};

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
    /// What to do, where the code does not say it.
    pub help: Option<&'static str>,
}

impl Trap {
    /// A trap without notes.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Trap {
        Trap { code, message: message.into(), span, notes: Vec::new(), label: None, help: None }
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

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: &'static str) -> Trap {
        self.help = Some(text);
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
        diagnostic.help.extend(trap.help.or_else(|| help(trap.code)).map(str::to_owned));
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
        OVERFLOW => "compute with smaller numbers, or with floats",
        DIVISION_BY_ZERO => "leave out the case with a condition, or divide by the larger of it and 1",
        LOSSY_CONVERSION => {
            "indices and numbers of rows count from 0: bound the value first, or leave out the case"
        }
        ARRAY_BOUNDS => "leave out indices from the array's length on with a condition",
        TENSOR_BOUNDS => {
            "take an index that lies inside, load or store fewer rows or columns (0 if none are meant)"
        }
        NEVER_STORED => {
            "store the element first, in a task that this one depends on; an array of the launch (`PTO_SHAPE`) may be given instead"
        }
        TILE_SHAPE => {
            "load or fill the operands with the same rows and columns: near the end of the data a loaded tile has what is left, so make an accumulator of as much, in Python `pto.zeros(x.shape)` for a view `x`"
        }
        TILE_INDEX => {
            "replace what is no place first: of -1, with a maximum (`TMAXS`, `pto.maximum`) or a choice (`TSEL`, `pto.where`)"
        }
        TILE_CAPACITY => "declare the destination as large as the result can be",
        _ => return None,
    })
}
