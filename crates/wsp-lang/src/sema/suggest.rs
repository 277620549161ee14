//! What a call of a function that does not exist probably means: a name that can be called at that place.

use super::Sema;
use super::body::{Body, BodyKind};
use super::builtins::{self, Builtin, BuiltinFn, Where};
use super::codes;
use super::diags::Reported;
use super::names::Symbol;
use super::tiles;
use crate::ast::{self, Ident};
use wsp_diag::{Diagnostic, nearest};
use wsp_ir::{PythonForm, ReduceOp, TileOpKind, TileOpRow};
use wsp_ordered::OrderedSet;

/// Most names that one help line lists.
const MOST: usize = 4;
/// Most functions of the file that are compared with a wrong name.
const MOST_CANDIDATES: usize = 4096;

/// How the value of a call is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// The call is a statement.
    Statement,
    /// The call is a number.
    Value,
}

/// A name that can be called, and fewest and most arguments.
type Candidate<'n> = (&'n str, (usize, usize));

impl BuiltinFn {
    /// Whether code of this kind may call it.
    pub(crate) fn is_allowed(&self, kind: BodyKind) -> bool {
        match (self.place, kind) {
            (Where::Anywhere, _) | (_, BodyKind::Probe) => true,
            (_, BodyKind::Launch(_)) => false,
            (Where::Functions, _) => true,
            (Where::Generators, kind) => matches!(kind, BodyKind::Generator(_)),
            (Where::Kernels, kind) => kind == BodyKind::Kernel,
        }
    }

    /// Whether a call of it is used so. What a marker marks is an argument, and the host entry alone launches.
    fn is_used(&self, as_what: Use) -> bool {
        match self.does {
            Builtin::Marker | Builtin::Launch => false,
            Builtin::Emit | Builtin::ApplySchedule | Builtin::SetTile | Builtin::SetExtent => {
                as_what == Use::Statement
            }
            _ => as_what == Use::Value,
        }
    }
}

impl Sema<'_> {
    /// Reports a call of something that does not exist.
    pub(crate) fn unknown_function(
        &mut self,
        b: &Body,
        callee: &Ident,
        args: &[ast::Expr],
        as_what: Use,
    ) -> Reported {
        let meant =
            if self.diags.is_crowded() { Vec::new() } else { self.meant(b, callee, args.len(), as_what) };
        let d = no_function(callee);
        self.fail(match alternatives(&meant) {
            Some(names) => d.help(format!("did you mean {names}?")),
            None => d,
        })
    }

    /// Reports what a host entry calls in the place of `PTO_LAUNCH`.
    pub(crate) fn unknown_launch(&mut self, callee: &Ident) -> Reported {
        self.fail(no_function(callee).help("did you mean `PTO_LAUNCH`?"))
    }

    /// The functions that may be meant: those that other languages or prefixes call so, else the nearest.
    fn meant(&self, b: &Body, callee: &Ident, given: usize, as_what: Use) -> Vec<String> {
        let name = callee.as_str();
        let candidates = self.candidates(b, as_what);
        let owned = |names: Vec<&str>| names.into_iter().take(MOST).map(str::to_owned).collect();
        let fitting = |wanted: &dyn Fn(&str) -> bool| -> Vec<&str> {
            let named: Vec<Candidate<'_>> =
                candidates.iter().copied().filter(|(name, _)| wanted(name)).collect();
            let fits = |(least, most): (usize, usize)| (least..=most).contains(&given);
            let fit: Vec<&str> = named.iter().filter(|c| fits(c.1)).map(|c| c.0).collect();
            if fit.is_empty() { named.iter().map(|c| c.0).collect() } else { fit }
        };
        let key = key(name);
        let same = fitting(&|candidate| is_same(candidate, &key));
        if !same.is_empty() {
            return owned(same);
        }
        let known = fitting(&|candidate| words_of(candidate).contains(&key));
        if !known.is_empty() {
            return owned(known);
        }
        let near: OrderedSet<&str> = nearest(name, candidates.iter().map(|c| c.0)).into_iter().collect();
        owned(fitting(&|candidate| near.contains(candidate)))
    }

    /// What can be called here.
    fn candidates<'n>(&'n self, b: &Body, as_what: Use) -> Vec<Candidate<'n>> {
        let has_tiles = matches!(b.kind, BodyKind::Kernel | BodyKind::Probe);
        let builtins = builtins::FUNCTIONS.iter().filter(|f| f.is_allowed(b.kind) && f.is_used(as_what));
        let tiles = tiles::calls()
            .filter(|call| has_tiles && (as_what == Use::Statement || call.row.is_some_and(has_value)));
        let arity = |call: &tiles::TileCall| if as_what == Use::Value { (1, 1) } else { call.word.arity() };
        let own = self.names.iter().filter_map(|(name, named)| match named.symbol {
            Symbol::Function(index) if as_what == Use::Statement || !self.is_inline(index) => {
                Some((&**name, (0, usize::MAX)))
            }
            _ => None,
        });
        let own = own.take(MOST_CANDIDATES);
        let tiles = tiles.map(|call| (call.word.name, arity(&call)));
        builtins.map(|f| (f.name, f.arity)).chain(tiles).chain(own).collect()
    }

    /// The tile operations that do with tiles what a function of numbers does.
    pub(crate) fn tile_twins(name: &str) -> Option<String> {
        let key = key(name);
        let twins = tiles::calls().filter(|call| is_same(call.word.name, &key));
        let usages: Vec<String> = twins.map(|call| call.word.usage()).collect();
        alternatives(&usages)
    }
}

fn no_function(callee: &Ident) -> Diagnostic {
    let message = format!("unknown function `{}`", callee.as_str());
    Diagnostic::error(codes::UNKNOWN_FUNCTION, message).at(callee.span, "not defined")
}

/// `a`, `b` or `c`; none of none.
fn alternatives(names: &[String]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let (last, before) = quoted.split_last()?;
    Some(if before.is_empty() { last.clone() } else { format!("{} or {last}", before.join(", ")) })
}

/// Whether an operation gives a number when its only argument is a tile of one row.
pub(super) fn has_value(row: &TileOpRow) -> bool {
    row.form == "row_reduce"
        && matches!(row.kind, TileOpKind::Reduce(ReduceOp::Max) | TileOpKind::Reduce(ReduceOp::Sum))
}

/// What is left of a name without the prefix of a library or family, without case and `_`.
fn key(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let prefixes = ["pto.", "pto::", "pto_", "std::", "math.", "np."];
    let bare = prefixes.iter().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
    bare.replace('_', "")
}

/// Whether a candidate has this key, tile operations with or without their `T`.
fn is_same(candidate: &str, wanted: &str) -> bool {
    let own = key(candidate);
    own == wanted || tiles::find(candidate).is_some() && own.strip_prefix('t') == Some(wanted)
}

/// The keys by which people know a tile operation beside its name, with and without `T`: the word of printed modules and the
/// names in Python.
fn words_of(candidate: &str) -> Vec<String> {
    let Some(row) = tiles::find(candidate).and_then(|call| call.row) else { return Vec::new() };
    let python = row.python.iter().filter_map(|form| match form {
        PythonForm::Function { name, .. } => Some(*name),
        PythonForm::Written(_) => None,
    });
    let words: Vec<String> = python.chain([row.word()]).map(key).collect();
    let with_t = words.iter().map(|word| format!("t{word}")).collect();
    [words, with_t].concat()
}
