//! What is wrong with a document.

use wsp_diag::{Code, Diagnostic, Span};

/// A value, or the first thing that is wrong with the part of the document that describes it.
pub(crate) type Decoded<T> = Result<T, Box<Fault>>;

/// One step from a value to a part of it.
#[derive(Debug)]
enum Step {
    Field(&'static str),
    Item(usize),
}

/// What is wrong, and where in the document.
#[derive(Debug)]
pub(crate) struct Fault {
    code: Code,
    message: String,
    notes: Vec<String>,
    help: Option<String>,
    /// From the value with the fault outwards.
    path: Vec<Step>,
    /// The place in the source of the nearest part of the document that has one.
    span: Option<Span>,
}

impl Fault {
    /// A fault of the value that is being decoded.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Box<Fault> {
        let (notes, path) = (Vec::new(), Vec::new());
        Box::new(Fault { code, message: message.into(), notes, help: None, path, span: None })
    }

    /// Adds a fact.
    pub(crate) fn note(mut self: Box<Self>, text: String) -> Box<Fault> {
        self.notes.push(text);
        self
    }

    /// Adds what to write instead.
    pub(crate) fn help(mut self: Box<Self>, text: Option<String>) -> Box<Fault> {
        self.help = text;
        self
    }

    /// The value is this field of the one around it.
    pub(crate) fn in_field(mut self: Box<Self>, name: &'static str) -> Box<Fault> {
        self.path.push(Step::Field(name));
        self
    }

    /// The value is this item of the list around it.
    pub(crate) fn in_item(mut self: Box<Self>, index: usize) -> Box<Fault> {
        self.path.push(Step::Item(index));
        self
    }

    /// The value, or one around it, stands there in the source, unless a nearer one has a place.
    pub(crate) fn within(mut self: Box<Self>, span: Span) -> Box<Fault> {
        self.span.get_or_insert(span);
        self
    }

    /// The finding, with the way to the value: `workload.kernels[2].cost`.
    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        let mut path = String::new();
        for step in self.path.iter().rev() {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => path.push_str(&format!(".{name}")),
                Step::Item(index) => path.push_str(&format!("[{index}]")),
            }
        }
        let mut diagnostic = Diagnostic::error(self.code, self.message);
        if let Some(span) = self.span {
            diagnostic = diagnostic.at(span, "");
        }
        if !path.is_empty() {
            diagnostic = diagnostic.note(format!("at `{path}` of the trace"));
        }
        diagnostic.notes.extend(self.notes);
        diagnostic.help.extend(self.help);
        diagnostic
    }
}
