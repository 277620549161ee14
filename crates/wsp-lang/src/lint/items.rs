//! Declarations that nothing uses.
//!
//! Only a file with a host entry is a whole program; what the others declare may serve those who include or use them.

use super::mentions::Mentions;
use super::{LintInput, codes, is_meant, unused};
use crate::ast::{ExprKind, Extent, Ident, Item, Shape, Struct};
use wsp_core::StructId;
use wsp_diag::Diagnostic;
use wsp_ir::{Consumer, Elem, ExprKind as Ir, LocalTy, Module, StmtKind, walk};
use wsp_ordered::OrderedSet;

/// The warnings of all declarations.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    if program.module.entry.is_none() {
        return Vec::new();
    }
    let mentions = Mentions::of(program.tree, &|f| program.is_entry(f));
    let fields = fields_read(program.module);
    let mut found = Vec::new();
    for item in &program.tree.items {
        let (what, name, help) = match item {
            Item::Param(p) => ("parameter", &p.name, "remove it, or use it in a kernel or generator"),
            Item::Const(c) => ("constant", &c.name, "remove it"),
            Item::Function(f) if !program.is_entry(f) => ("function", &f.name, "remove it, or call it"),
            Item::Struct(s) => {
                found.extend(unread_fields(program, s, &fields));
                ("struct", &s.name, "remove it")
            }
            Item::Shape(s) if !is_used(program, s, &mentions) => {
                if program.owns(s.name.span) && !is_meant(s.name.as_str()) {
                    found.push(unused_array(&s.name));
                }
                continue;
            }
            _ => continue,
        };
        if program.owns(name.span)
            && !is_meant(name.as_str())
            && mentions.count(name.as_str()) == 0
            && !mentions.has_role(name.as_str())
        {
            let message = format!("{what} `{}` is never used", name.as_str());
            found.push(unused(codes::UNUSED_ITEM, message, name.span).help(help));
        }
    }
    found
}

fn unused_array(name: &Ident) -> Diagnostic {
    let message = format!("array `{}` of the launch is never used", name.as_str());
    let help = "remove it from `PTO_SHAPE`, from `PTO_LAUNCH` and from the host entry, or use it in a kernel";
    unused(codes::UNUSED_ITEM, message, name.span).help(help)
}

/// Whether an array of the launch is used: by name, or for an extent that no other array gives.
fn is_used(program: &LintInput<'_>, shape: &Shape, mentions: &Mentions) -> bool {
    let name = shape.name.as_str();
    let cache = program.module.caches.iter().any(|cache| cache.name == name);
    let parts = if cache { &["k_cache", "v_cache"][..] } else { &[] };
    let by_name = mentions.count(name) > 0 || parts.iter().any(|part| mentions.count(part) > 0);
    // Lengths that are given are compared with those of the cache.
    let compared = name == "kv_lens" && !program.module.caches.is_empty();
    // A reference takes integers from an array that kernels need not read; a tensor in it is loaded or stored by some kernel.
    let integers = program.module.tensor_named(name).is_some_and(
        |id| matches!(program.module.tensors[id.index()].elem, Elem::Fixed(dtype) if !dtype.is_float()),
    );
    by_name
        || compared
        || (integers && mentions.has_role(name))
        || own_extents(program, shape).any(|extent| mentions.count(extent) > 1)
}

/// The names that a shape gives values to and no other shape does.
fn own_extents<'a>(program: &'a LintInput<'_>, shape: &'a Shape) -> impl Iterator<Item = &'a str> {
    let others: OrderedSet<&str> = program
        .tree
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Shape(other) if other.span != shape.span => Some(other),
            _ => None,
        })
        .flat_map(extents)
        .collect();
    extents(shape).filter(move |extent| !others.contains(extent))
}

/// The extents of a shape that are lone names.
fn extents(shape: &Shape) -> impl Iterator<Item = &str> {
    shape.dims.iter().filter_map(|dim| match dim {
        Extent::Expr(e) => match &e.kind {
            ExprKind::Name(name) => Some(&**name),
            _ => None,
        },
        Extent::Dynamic(_) => None,
    })
}

/// The fields of descriptors that functions read.
fn fields_read(module: &Module) -> OrderedSet<(StructId, u32)> {
    let mut read = OrderedSet::new();
    for function in &module.functions {
        walk::each_expr(&function.body, &mut |e| {
            if let Ir::Field(local, field) = e.kind
                && let LocalTy::Descriptor(of) = function.local(local).ty
            {
                read.insert((of, field));
            }
        });
    }
    read
}

/// Fields of an emitted descriptor that are set and that no kernel reads.
fn unread_fields(
    program: &LintInput<'_>,
    decl: &Struct,
    read: &OrderedSet<(StructId, u32)>,
) -> Vec<Diagnostic> {
    let module = program.module;
    let Some(index) = module.structs.iter().position(|def| def.name == decl.name.as_str()) else {
        return Vec::new();
    };
    let (id, def) = (StructId(index as u32), &module.structs[index]);
    if !program.owns(decl.span) || !is_emitted(module, id) {
        return Vec::new();
    }
    let tier = match def.consumer {
        Consumer::Tiers { field, .. } => Some(field),
        Consumer::Kernel(_) | Consumer::None => None,
    };
    let names =
        |field: &str, of: &str| field == of || field.strip_prefix(of).is_some_and(|r| r.starts_with('['));
    let mut found = Vec::new();
    for field in decl.fields.iter().filter(|field| !field.unused && !is_meant(field.name.as_str())) {
        let name = field.name.as_str();
        let words = def.fields.iter().zip(0u32..).filter(|(word, _)| names(&word.name, name));
        let used = words.into_iter().any(|(_, word)| Some(word) == tier || read.contains(&(id, word)));
        if !used {
            let message = format!("field `{name}` of `{}` is set and no kernel reads it", decl.name.as_str());
            let help = format!(
                "remove it, or write `[[maybe_unused]] {} {name};` if others read it",
                field.ty.name().unwrap_or("uint32_t")
            );
            found.push(unused(codes::UNUSED_FIELD, message, field.name.span).help(help));
        }
    }
    found
}

/// Whether some function emits descriptors of a type.
fn is_emitted(module: &Module, id: StructId) -> bool {
    let mut emitted = false;
    for function in &module.functions {
        walk::stmts(&function.body, &mut |stmt| {
            emitted |= matches!(stmt.kind, StmtKind::Emit { descriptor, .. } if descriptor == id);
        });
    }
    emitted
}
