//! Warnings: what compiles and is probably not meant.
//!
//! * [`variables`]: a variable of a function that is never read;
//! * [`items`]: declarations that nothing uses, fields of descriptors that no kernel reads;
//! * [`launches`]: kernels and spaces that are never launched, tensors that no launched kernel writes or reads;
//! * [`slots`]: slots of workspace that tasks load and no task stores to;
//! * [`tiles`]: a tile that is read or stored before anything is in it;
//! * [`conditions`]: a condition that is always true or always false;
//! * [`loops`]: a loop that cannot end;
//! * [`bounds`]: a constant past a size that is a constant, which is an error where every task comes to it;
//! * [`unreachable`]: a statement after `return`, `break` or `continue`.
//!
//! **Invariant:** a correct program has none. A check that cannot decide is silent. A name that begins with `_`, and a
//! field with `[[maybe_unused]]`, are meant to be unused.

pub(crate) mod bounds;
pub(crate) mod codes;
mod conditions;
mod items;
mod launches;
mod loops;
mod mentions;
mod ranges;
mod slots;
mod tiles;
mod unreachable;
mod variables;

pub(crate) use loops::{leaves, returns};

use crate::ast;
use crate::compile::Purpose;
use wsp_diag::{Diagnostic, FileId, Span, is_meant, unused};
use wsp_ir::Module;
use wsp_ordered::Arrange;

/// What the checks look at: a program without errors.
pub(crate) struct LintInput<'a> {
    /// Its text as a tree, all files together.
    pub(crate) tree: &'a ast::File,
    /// What was made of it.
    pub(crate) module: &'a Module,
    /// The file that was given. Those that it includes may serve other programs too, so what they declare need not be used.
    pub(crate) root: FileId,
    /// The file of definitions that belong to the language.
    pub(crate) built_in: Option<FileId>,
    /// What it is compiled for.
    pub(crate) purpose: Purpose,
}

impl LintInput<'_> {
    /// Whether a declaration stands in a file whose declarations all serve this program: one with a host entry.
    fn owns(&self, span: Span) -> bool {
        self.purpose == Purpose::Program && self.module.entry.is_some() && span.file == self.root
    }

    /// Whether a function is the host entry.
    fn is_entry(&self, f: &ast::Function) -> bool {
        self.module.entry.as_ref().is_some_and(|entry| entry.span == f.name.span)
    }
}

/// All warnings of a program, each place once.
pub(crate) fn warnings(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let mut found = variables::check(program);
    found.extend(items::check(program));
    found.extend(launches::check(program));
    found.extend(slots::check(program));
    found.extend(tiles::check(program));
    found.extend(conditions::check(program));
    found.extend(loops::check(program));
    found.extend(unreachable::check(program));
    let place = |d: &Diagnostic| (d.primary.as_ref().map(|l| l.span), d.code);
    found.arrange_by_key(place);
    found.dedup_by_key(|d| place(d));
    found.retain(|d| d.primary.as_ref().is_none_or(|l| Some(l.span.file) != program.built_in));
    found
}
