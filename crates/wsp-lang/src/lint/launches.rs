//! What a launch reaches: its spaces, the kernels that their generators emit tasks for, and the tensors of these.

use super::{LintInput, codes, is_meant, unused};
use wsp_core::{AccessKind, FuncId, SpaceId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Consumer, ExprKind, FuncKind, Function, LaunchTarget, Module, StmtKind, Storage, walk};
use wsp_ordered::OrderedSet;

/// The warnings of a program with a host entry.
pub(super) fn check(program: &LintInput<'_>) -> Vec<Diagnostic> {
    let module = program.module;
    let Some(entry) = &module.entry else { return Vec::new() };
    let spaces = launched_spaces(module, entry.launch.target);
    let kernels = launched_kernels(module, &spaces);
    let mut found = Vec::new();
    for (space, id) in module.spaces.iter().zip(0..) {
        if !spaces.contains(&SpaceId(id)) && space.generator.is_some() {
            found.extend(never(program, "space", &space.name, space.span));
        }
    }
    for (function, id) in module.functions.iter().zip(0..) {
        if matches!(function.kind, FuncKind::Kernel { .. }) && !kernels.contains(&FuncId(id)) {
            found.extend(never(program, "kernel", &function.name, function.span));
        }
    }
    found.extend(tensors(program, &kernels));
    found
}

fn never(program: &LintInput<'_>, what: &str, name: &str, span: Span) -> Option<Diagnostic> {
    let help = match what {
        "kernel" => "emit a descriptor that it takes, or name it in the tiers that a descriptor picks from",
        _ => "launch it, make it a stage of the graph that is launched, or remove it",
    };
    (program.owns(span) && !is_meant(name)).then(|| {
        Diagnostic::warning(codes::NEVER_LAUNCHED, format!("{what} `{name}` is never launched"))
            .at(span, "nothing runs it")
            .help(help)
    })
}

/// The spaces whose generators a launch runs.
fn launched_spaces(module: &Module, target: LaunchTarget) -> OrderedSet<SpaceId> {
    match target {
        LaunchTarget::Space(space) => OrderedSet::from([space]),
        LaunchTarget::Kernels => OrderedSet::new(),
        LaunchTarget::Graph(graph) => {
            module.graphs[graph.index()].stages.iter().map(|stage| stage.space).collect()
        }
    }
}

/// The kernels that take a descriptor which a generator of these spaces emits.
fn launched_kernels(module: &Module, spaces: &OrderedSet<SpaceId>) -> OrderedSet<FuncId> {
    let mut kernels = OrderedSet::new();
    for function in &module.functions {
        let FuncKind::Generator { space } = function.kind else { continue };
        if !spaces.contains(&space) {
            continue;
        }
        walk::stmts(&function.body, &mut |stmt| {
            let StmtKind::Emit { descriptor, .. } = stmt.kind else { return };
            match module.structs[descriptor.index()].consumer {
                Consumer::Kernel(kernel) => {
                    kernels.insert(kernel);
                }
                Consumer::Tiers { set, .. } => {
                    kernels.extend(module.tier_sets[set.index()].tiers.iter().map(|tier| tier.kernel));
                }
                Consumer::None => {}
            }
        });
    }
    kernels
}

/// Tensors that a function loads from, and those that it stores to.
fn accesses(function: &Function) -> (OrderedSet<TensorId>, OrderedSet<TensorId>) {
    let (mut loaded, mut stored) = (OrderedSet::new(), OrderedSet::new());
    walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Tile(op) => op.accesses().for_each(|(tensor, access)| match access {
            AccessKind::Read => _ = loaded.insert(tensor),
            AccessKind::Write => _ = stored.insert(tensor),
        }),
        StmtKind::StoreScalar { tensor, .. } => {
            stored.insert(*tensor);
        }
        _ => {}
    });
    walk::each_expr(&function.body, &mut |e| {
        if let ExprKind::LoadScalar(tensor, _) = &e.kind {
            loaded.insert(*tensor);
        }
    });
    (loaded, stored)
}

/// Tensors that are read or expected, and that no launched kernel writes; those that are written and never read.
fn tensors(program: &LintInput<'_>, kernels: &OrderedSet<FuncId>) -> Vec<Diagnostic> {
    let module = program.module;
    let (mut all_loaded, mut all_stored) = (OrderedSet::<TensorId>::new(), OrderedSet::<TensorId>::new());
    let (mut loaded, mut stored) = (OrderedSet::new(), OrderedSet::new());
    for (function, id) in module.functions.iter().zip(0..) {
        let (reads, writes) = accesses(function);
        all_loaded.extend(&reads);
        all_stored.extend(&writes);
        let runs = kernels.contains(&FuncId(id)) || !matches!(function.kind, FuncKind::Kernel { .. });
        if runs {
            loaded.extend(reads);
            stored.extend(writes);
        }
    }
    let mut found = Vec::new();
    for (tensor, id) in module.tensors.iter().zip(0..) {
        let id = TensorId(id);
        if !program.owns(tensor.span) || is_meant(&tensor.name) {
            continue;
        }
        let (name, span) = (&tensor.name, tensor.span);
        let inner = matches!(tensor.storage, Storage::Temporary | Storage::Workspace);
        let (read, written) = (loaded.contains(&id), stored.contains(&id));
        if inner && !all_loaded.contains(&id) && !all_stored.contains(&id) {
            let what = if tensor.storage == Storage::Workspace { "workspace" } else { "tensor" };
            found.push(
                unused(codes::UNUSED_ITEM, format!("{what} `{name}` is never used"), span)
                    .help("remove it, or store to it and load it in kernels"),
            );
        } else if inner && read && !written {
            let message = format!("`{name}` is read and no kernel that is launched writes it");
            found.push(
                Diagnostic::warning(codes::NEVER_WRITTEN, message)
                    .at(span, "holds no values of this launch")
                    .help(format!("store to it before it is loaded: `TSTORE({name}, …);`")),
            );
        } else if inner && written && !read {
            let message = format!("`{name}` is written and no kernel that is launched reads it");
            found.push(
                Diagnostic::warning(codes::UNUSED_ITEM, message)
                    .at(span, "only written")
                    .help("remove it with its stores, or load it"),
            );
        } else if !inner && !written && all_stored.contains(&id) {
            let message = format!("no kernel that is launched writes output `{name}`");
            found.push(
                Diagnostic::warning(codes::NEVER_WRITTEN, message)
                    .at(span, "keeps what it had before the launch")
                    .note("a kernel stores to it, and nothing launches this kernel")
                    .help("emit a descriptor that this kernel takes"),
            );
        }
    }
    found
}
