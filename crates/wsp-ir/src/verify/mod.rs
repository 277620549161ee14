//! The verifier: what every later step may rely on.
//!
//! [`verify`] lists what is wrong with a module; [`into_verified`] turns a module without faults into a [`Verified`] one,
//! the only kind that lowering and backends take. A front end that reports its own errors never yields a module that
//! fails here, so a finding means a fault of the front end or of an IR text.
//!
//! # Rules
//!
//! Form of the tables
//!
//! * **WSP0300** statements and expressions nest at most `4 × MAX_NESTING` deep; when they do not, nothing else is checked.
//! * **WSP0301** every id is an index of its table: parameters, tensors, caches, axes, spaces, tier sets, schedules,
//!   descriptor types, functions, locals, stages, entry parameters.
//! * **WSP0302** the default or value of a parameter uses earlier parameters only.
//! * **WSP0303** axis bounds, dimensions, tile shapes, workspace sizes, requirements and parameter values are known at
//!   launch: they hold literals, parameters, operators, casts, `?:` and functions of one float, nothing else.
//! * **WSP0304** a tensor has at most `MAX_RANK` indices; only a cache has a dynamic dimension, its second of four; only
//!   a temporary has a dimension that is an axis; an element type taken from a tensor is taken from one bound at launch;
//!   a cache and its two tensors name each other.
//! * **WSP0305** an axis belongs to one space and once; the generator that a space names names that space.
//! * **WSP0306** of a tier set the last tier and no other is the default; tiers name kernels.
//! * **WSP0307** the selector stands in tier conditions only, and has the type of the value that selects.
//! * **WSP0308** a descriptor's consumer takes that descriptor: a kernel, or tiers with an existing `tier` field.
//! * **WSP0309** a kernel's first variable is its descriptor; generators take nothing and yield nothing; helpers take
//!   scalars and integer arrays and yield a scalar; only kernels have tiles.
//! * **WSP0332** a unit is that of a kernel that takes descriptors, and given once.
//! * **WSP0333** counts of statements about a launch are from 1 on, workers of a pool at most `MAX_THREADS`.
//!
//! Expressions
//!
//! * **WSP0310** operands and results have the types that the operation asks for; a binary operation has operands of one
//!   type; a chain has operators of a sum, or of a product; nothing but a comparison or logic makes a `bool`.
//! * **WSP0311** conditions are `bool`.
//! * **WSP0312** a call is of a helper, with arguments of its parameters' types.
//! * **WSP0313** a field is read from a descriptor variable that has it.
//! * **WSP0314** an array is a variable of array type, a rank-1 tensor of integers, or page-table data.
//! * **WSP0329** a literal is a value of its type.
//!
//! Statements
//!
//! * **WSP0315** emits, fences, `PTO_SCHEDULED_FOR`, `PTO_APPLY_SCHEDULE`, `PTO_SET_TILE`, `PTO_SET_EXTENT` and workspace
//!   allocation stand in generators only.
//! * **WSP0316** tile operations, tile values, descriptor fields, and loads and stores of single elements stand in kernels only.
//! * **WSP0317** `break` and `continue` stand in a loop; `break` does not leave a `PTO_SCHEDULED_FOR`.
//! * **WSP0318** `return` yields what the function does.
//! * **WSP0319** a value goes to a scalar variable of its type; an array name stands for an array of its type; a tile has no
//!   first value.
//! * **WSP0320** the variable of a counted loop and of `PTO_SCHEDULED_FOR` is an integer and does not change inside.
//! * **WSP0321** an emit gives one `u32` for each field of a descriptor that has a consumer.
//! * **WSP0322** `PTO_SCHEDULED_FOR` has one `u32` variable per axis, stands in no loop, and at most once in a generator.
//! * **WSP0323** `PTO_SET_TILE` and tile sizes are of tiled axes, `PTO_SET_EXTENT` is of a dynamic axis, both of the
//!   generator's space; extents are read of axes known at launch, or as the number of slots of an allocation; items are those of
//!   an axis of the generator's space, inside of `PTO_SCHEDULED_FOR`.
//! * **WSP0327** helpers do not call themselves, directly or through others.
//!
//! Tiles
//!
//! * **WSP0324** a place has a `u32` index for each dimension; row and column dimension exist and differ; a tile with several
//!   rows or columns has one to follow.
//! * **WSP0325** operands of tile operations are tiles of float elements; tensors that tiles and single elements are moved
//!   to and from have float elements. In entries single elements may be integers, of at least 32 bits to be stored.
//! * **WSP0326** values that meet tiles are `f32`, row and column counts `u32`.
//!
//! Entries
//!
//! * **WSP0330** an entry has a function of its own, a kernel whose descriptor has two words and no consumer; where there are
//!   entries, there are no other kernels, no generators and no host entry.
//! * **WSP0331** parameters and residents of an entry are different tensors, bound at launch, of a known element type; at most
//!   one is its workspace; its function uses no other tensor.
//!
//! The entry
//!
//! * **WSP0328** a launch argument becomes something of its kind, once.

mod calls;
mod depth;
mod entry;
mod expr;
mod func;
mod kernel_entry;
pub(crate) mod rule;
mod stmt;
mod tables;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use depth::MAX_DEPTH;

use crate::{Function, Module};
use std::ops::Deref;
use wsp_core::limits::MAX_DIAGNOSTICS;
use wsp_core::{FuncId, LocalId, TensorId};
use wsp_diag::{Code, Diagnostic, Span};

/// A module that keeps every rule of [this module](self).
///
/// It cannot be changed; take it apart with [`Verified::into_inner`], change, and verify again.
#[derive(Clone, PartialEq, Debug)]
pub struct Verified(Module);

impl Verified {
    /// The module, to be changed.
    pub fn into_inner(self) -> Module {
        self.0
    }
}

impl Deref for Verified {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.0
    }
}

/// The module as one that later steps take.
///
/// # Errors
/// The findings of [`verify`], when there are any.
pub fn into_verified(module: Module) -> Result<Verified, Vec<Diagnostic>> {
    let found = verify(&module);
    if found.is_empty() { Ok(Verified(module)) } else { Err(found) }
}

/// What is wrong with the module; nothing when it keeps all rules. At most [`MAX_DIAGNOSTICS`] findings.
pub fn verify(module: &Module) -> Vec<Diagnostic> {
    let mut cx = Checker::new(module);
    depth::check(&mut cx);
    if cx.found.is_empty() {
        tables::check(&mut cx);
        func::check(&mut cx);
        entry::check(&mut cx);
        kernel_entry::check(&mut cx);
        calls::check(&mut cx);
    }
    cx.found
}

/// What the checks share.
struct Checker<'m> {
    module: &'m Module,
    /// The function being checked.
    function: Option<&'m Function>,
    /// Variables of the loops around the statement being checked.
    frozen: Vec<LocalId>,
    /// Whether the function being checked has a `PTO_SCHEDULED_FOR`.
    scheduled: bool,
    /// Whether what is being checked stands in one.
    in_items: bool,
    /// Caller, callee and place of every call met.
    calls: Vec<(FuncId, FuncId, Span)>,
    /// Function, tensor and place of every load and store met, in a module with entries.
    tensors: Vec<(&'m Function, TensorId, Span)>,
    found: Vec<Diagnostic>,
}

impl<'m> Checker<'m> {
    fn new(module: &'m Module) -> Checker<'m> {
        Checker {
            module,
            function: None,
            frozen: Vec::new(),
            scheduled: false,
            in_items: false,
            calls: Vec::new(),
            tensors: Vec::new(),
            found: Vec::new(),
        }
    }

    fn report(&mut self, code: Code, span: Span, message: impl Into<String>) {
        if self.found.len() >= MAX_DIAGNOSTICS as usize {
            return;
        }
        let mut diagnostic = Diagnostic::error(code, message).at(span, "");
        if let Some(function) = self.function {
            diagnostic = diagnostic.note(format!("in `{}`", function.name));
        }
        self.found.push(diagnostic);
    }

    /// Reports unless `holds`.
    fn require(&mut self, holds: bool, code: Code, span: Span, message: impl FnOnce() -> String) {
        if !holds {
            self.report(code, span, message());
        }
    }

    /// The entry of a table, or a report that the id is none of it.
    fn lookup<T>(&mut self, table: &'m [T], id: usize, what: &str, span: Span) -> Option<&'m T> {
        let entry = table.get(id);
        if entry.is_none() {
            let have = table.len();
            self.report(rule::UNKNOWN_ID, span, format!("{what} {id} does not exist; there are {have}"));
        }
        entry
    }
}
