//! Names, types, constant folding, and lowering of a parsed file to the IR.
//!
//! Every name of a file is visible everywhere in it, so the work goes in layers: all items get their ids and names,
//! then launch-time scalars are resolved, then what is made of them (tensors, spaces, tiers, descriptors), and function
//! bodies last.

mod body;
mod builtins;
mod calls;
pub(crate) mod codes;
mod consts;
mod convert;
mod declare;
mod diags;
mod entries;
mod entry;
mod expr;
mod functions;
mod generator;
mod globals;
mod graphs;
mod helpers;
mod inline;
mod loops;
mod names;
mod operands;
mod place;
mod schedules;
mod shapes;
mod slots;
mod spaces;
mod stmt;
mod structs;
mod suggest;
mod tiers;
mod tile_elements;
mod tile_ops;
mod tile_shapes;
pub(crate) mod tiles;
mod types;
mod variables;
pub(crate) mod walk;

use crate::ast;
use diags::{Diags, Reported, Res};
use std::collections::VecDeque;
use std::rc::Rc;
use wsp_core::{FuncId, StructId, TensorId, limits};
use wsp_diag::{Diagnostic, FileId, Span};
use wsp_ir::Module;
use wsp_ordered::OrderedMap;

pub(crate) use builtins::{SEARCH_NAME, SEARCH_SOURCE};
pub(crate) use consts::has_round;
pub(crate) use globals::SLOT_ALIGN;

/// Deepest recursion of the passes: through one tree, through constants that need each other, and through inline calls.
const MAX_DEPTH: u32 = 3 * limits::MAX_NESTING;

/// Most nodes that inline functions and templates may be copied into.
const MAX_COPIES: u32 = 1 << 18;

/// Lowers a file. The module is complete only when no finding is an error. Definitions from the file `built_in`
/// belong to the language.
pub(crate) fn lower(file: &ast::File, built_in: Option<FileId>) -> (Module, Vec<Diagnostic>) {
    let mut cx = Sema::new(built_in);
    cx.declare_items(file);
    cx.resolve_globals();
    cx.lower_tensors();
    cx.lower_structs();
    cx.add_block_descriptor();
    cx.lower_requirements();
    cx.lower_spaces();
    // Which kernel takes which descriptor decides who consumes one, before any body emits it.
    cx.find_descriptors();
    cx.lower_tiers();
    cx.lower_schedules();
    cx.find_consumers();
    cx.lower_bodies();
    cx.lower_graphs();
    cx.lower_entry();
    cx.check_emitted();
    (cx.module, cx.diags.into_list())
}

/// Whether some function of a file calls a function of this name.
pub(crate) fn calls(file: &ast::File, name: &str) -> bool {
    let mut found = false;
    for item in &file.items {
        let body = match item {
            ast::Item::Generator(g) => &g.body,
            ast::Item::Kernel(k) => &k.body,
            ast::Item::Function(f) => &f.body,
            _ => continue,
        };
        walk::each_expr(body, &mut |e| {
            found |= matches!(&e.kind, ast::ExprKind::Call { callee, .. } if callee.as_str() == name);
        });
    }
    found
}

/// Everything known of a file while it is lowered.
pub(crate) struct Sema<'a> {
    module: Module,
    diags: Diags,
    built_in: Option<FileId>,
    names: OrderedMap<Rc<str>, names::Named>,
    globals: Vec<globals::Global<'a>>,
    slot_bytes: usize,
    shapes: Vec<shapes::ShapeDecl<'a>>,
    temporaries: Vec<(TensorId, &'a ast::Tensor)>,
    workspaces: Vec<&'a ast::Workspace>,
    workspace_ids: Vec<TensorId>,
    structs: Vec<structs::StructInfo<'a>>,
    spaces: Vec<&'a ast::Space>,
    tier_defs: Vec<&'a ast::TierDef>,
    schedules: Vec<&'a ast::Schedule>,
    graphs: Vec<&'a ast::Graph>,
    references: Vec<&'a ast::Reference>,
    requires: Vec<&'a ast::Require>,
    kernels: Vec<functions::KernelDecl<'a>>,
    /// Tensors declared with `PTO_RESIDENT`.
    residents: Vec<TensorId>,
    /// How kernels use tensors of integers.
    integers: tile_elements::IntegerUses,
    /// What the entry whose body is being lowered is given.
    given: Option<entries::Given>,
    generators: Vec<functions::GeneratorDecl<'a>>,
    functions: Vec<functions::FunctionDecl<'a>>,
    instances: OrderedMap<(usize, Vec<i128>), FuncId>,
    pending: VecDeque<functions::Instance>,
    entry: Option<entry::EntryDecl<'a>>,
    emitted: Vec<(StructId, Span)>,
    /// Where the code being lowered was called from, when it is a copy.
    calls: Vec<Span>,
    depth: u32,
    copies: u32,
    /// Code around the current one of whose values none is asked for.
    unevaluated: u32,
    /// Code around the current one of whose values only some runs ask for, and statements before it with which some leave.
    perhaps: u32,
}

impl<'a> Sema<'a> {
    fn new(built_in: Option<FileId>) -> Sema<'a> {
        Sema {
            module: Module::default(),
            diags: Diags::default(),
            built_in,
            names: OrderedMap::new(),
            globals: Vec::new(),
            slot_bytes: 0,
            shapes: Vec::new(),
            temporaries: Vec::new(),
            workspaces: Vec::new(),
            workspace_ids: Vec::new(),
            structs: Vec::new(),
            spaces: Vec::new(),
            tier_defs: Vec::new(),
            schedules: Vec::new(),
            graphs: Vec::new(),
            references: Vec::new(),
            requires: Vec::new(),
            kernels: Vec::new(),
            residents: Vec::new(),
            integers: tile_elements::IntegerUses::default(),
            given: None,
            generators: Vec::new(),
            functions: Vec::new(),
            instances: OrderedMap::new(),
            pending: VecDeque::new(),
            entry: None,
            emitted: Vec::new(),
            calls: Vec::new(),
            depth: 0,
            copies: 0,
            unevaluated: 0,
            perhaps: 0,
        }
    }

    /// Reports an error. In copied code the call that asked for the copy is shown too.
    fn fail(&mut self, diagnostic: Diagnostic) -> Reported {
        let diagnostic = match self.calls.last() {
            Some(call) => diagnostic.label(*call, "in the code of this call"),
            None => diagnostic,
        };
        self.diags.error(diagnostic)
    }

    /// Goes one level deeper; every success is followed by [`Sema::leave`].
    fn enter(&mut self, span: Span) -> Res<()> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(
                Diagnostic::error(codes::TOO_DEEP, "nested too deep").at(span, "here").note(format!(
                    "code may be nested {MAX_DEPTH} levels deep, calls of inline functions included"
                )),
            ));
        }
        self.depth += 1;
        self.count_copy(span).inspect_err(|_| self.depth -= 1)
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn count_copy(&mut self, span: Span) -> Res<()> {
        if self.calls.is_empty() {
            return Ok(());
        }
        if self.copies >= MAX_COPIES {
            return Err(self.fail(
                Diagnostic::error(codes::TOO_LARGE, "inline functions and templates grow too large")
                    .at(span, "the limit is reached here")
                    .note(format!("their copies may have {MAX_COPIES} expressions and statements together")),
            ));
        }
        self.copies += 1;
        Ok(())
    }
}
