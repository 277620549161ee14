//! A task graph with loops, conditions and copies as the program that a package is made of: AICPUs walk it by the machine of graphs.
//!
//! Each tensor of the unit is an array of the package, and arguments of kernels are given their memory with each launch: which of several
//! tensors an argument is may change from round to round.

use super::arrays::{def, refused, with_arrays, without_graphs, workspaces};
use crate::graph::emit_graph;
use crate::orchestration::{Walk, WalkedKernel};
use wsp_backend::codes::NO_FILES;
use wsp_core::tg::{Direction, ExprOp, Platform, Scalar};
use wsp_core::words::counted;
use wsp_core::{DType, FuncId, TensorId};
use wsp_diag::{Diagnostic, Diagnostics, Severity, Span};
use wsp_ir::{
    Binding, BindingSource, Dim, Elem, EntryParam, EntryTy, Expr, KernelEntry, Module, Storage, Tensor,
};
use wsp_ordered::OrderedMap;
use wsp_plan::{CompileOptions, KernelFile, LoweredPlan, UnitSource, lower_library};
use wsp_tg::plan::{KernelItem, PlanTensor, TensorKind};
use wsp_tg::{GraphPlan, UnitPlan};

/// What nodes do to a tensor of the unit.
#[derive(Clone, Copy, Default)]
struct Use {
    read: bool,
    written: bool,
}

/// The program of a graph, and what walks it. Elaboration has found its flows.
///
/// # Errors
/// Kernels whose arguments are parts of tensors, or whose extents do not follow; values that a launch of the unit is given.
pub(super) fn walked(
    unit: &UnitSource,
    plan: &UnitPlan,
    (at, platform): (usize, Platform),
    (file, entries): (&KernelFile, &[&KernelEntry]),
) -> Result<(LoweredPlan, Walk, Vec<Diagnostic>), Diagnostics> {
    let graph = &plan.graphs[at];
    if let Some(arg) = plan.args.first() {
        return Err(refused(format!("the unit declares scalar `{}`", arg.name)).into());
    }
    let mut bound: OrderedMap<TensorId, PlanTensor> = OrderedMap::new();
    let mut elems: OrderedMap<u32, Elem> = OrderedMap::new();
    let mut uses = vec![Use::default(); plan.tensors.len()];
    let mut kernels = Vec::new();
    for (item, entry) in graph.kernels.iter().zip(entries) {
        arguments(plan, graph, (item, entry), &mut |own, number, of, does| {
            // Their memory is that of a tensor of the unit.
            let first = || PlanTensor { kind: TensorKind::Graph, ..of.clone() };
            let first = bound.entry(own).or_insert_with(first);
            if first.bytes != of.bytes {
                return Err(of_two_sizes(&file.module.tensors[own.index()].name, [first, of]));
            }
            elems.entry(number).or_insert(file.module.tensors[own.index()].elem);
            let all = &mut uses[number as usize];
            (all.read, all.written) = (all.read | does.read, all.written | does.written);
            Ok(())
        })?;
        kernels.push(WalkedKernel { function: entry.function, arguments: entry.arguments().collect() });
    }
    for copy in &graph.copies {
        uses[copy.src as usize].read = true;
        uses[copy.dst as usize].written = true;
    }
    for op in &graph.exprs {
        if let ExprOp::Load(tensor, _) = op {
            uses[tensor.0 as usize].read = true;
        }
    }
    let given: Vec<TensorId> = bound.keys().copied().collect();
    let workspaces = workspaces(graph, entries);
    let mut all: OrderedMap<TensorId, &PlanTensor> = bound.iter().map(|(id, of)| (*id, of)).collect();
    all.extend(workspaces.iter().map(|(id, of)| (*id, of)));
    let mut module = with_arrays(file, entries, &all)?;
    let own = tensors(&mut module, plan, &uses, &elems)?;
    let mut called: Vec<FuncId> = Vec::new();
    for entry in entries {
        if !called.contains(&entry.function) {
            called.push(entry.function);
        }
    }
    let mut lowered = lower_library(&module, &called, &CompileOptions::default())?;
    for (id, Use { read, written }) in own.iter().zip(&uses) {
        if let Some(id) = id {
            let usage = &mut lowered.tensors[id.index()];
            (usage.read, usage.written) = (*read, *written);
        }
    }
    let source = emit_graph(&unit.module, plan, at, platform).map_err(|fault| {
        without_graphs(refused(format!("there is no C++ for graph `{}`", graph.name)).note(fault.to_string()))
    })?;
    let walk =
        Walk { text: source.translation_unit, namespace: source.namespace, kernels, given, tensors: own };
    let waits = format!("kernels of graph `{}`, which a machine walks, run one behind the other", graph.name);
    Ok((lowered, walk, vec![Diagnostic::new(NO_FILES, Severity::Note, waits)]))
}

/// Extents of kernels are the same in all their launches: text is made of them once.
fn of_two_sizes(name: &str, launches: [&PlanTensor; 2]) -> Diagnostic {
    let [first, other] = launches.map(|of| {
        let bytes = of
            .bytes
            .map_or("an unknown number of bytes".to_owned(), |bytes| counted(bytes, "byte").to_string());
        format!("`{}`, {bytes}", of.name)
    });
    let message = format!("`{name}` of the kernels is {first}, in one launch and {other}, in another");
    refused(message).help("bind tensors of one size, or run it on target `cpu_sim`")
}

/// What takes an argument of a kernel: the tensor of the kernel, a tensor of the unit that it may be by number and by what is known of it, and what the
/// kernel does to it.
type TakeArgument<'t> = dyn FnMut(TensorId, u32, &PlanTensor, Use) -> Result<(), Diagnostic> + 't;

/// Calls `take` with each argument of a kernel, and with each tensor of the unit that it may be.
fn arguments(
    plan: &UnitPlan,
    graph: &GraphPlan,
    (item, entry): (&KernelItem, &KernelEntry),
    take: &mut TakeArgument<'_>,
) -> Result<(), Diagnostic> {
    let name = &def(graph, item.def).name;
    let binds = graph.binds_of(item);
    for (arg, own) in (0u32..).zip(entry.arguments()) {
        let bind = binds.iter().find(|bind| bind.arg == arg);
        let bind = bind.ok_or_else(|| refused(format!("argument {arg} of `{name}` is bound to nothing")))?;
        let mut bytes = None;
        for number in graph.tensors_of(&bind.tensor) {
            let of = &plan.tensors[*number as usize];
            if *bytes.get_or_insert(of.bytes) != of.bytes {
                return Err(refused(format!(
                    "argument {arg} of `{name}` is one of tensors of several sizes"
                )));
            }
            let is_whole = |size: i64| size == 0 || of.bytes == u64::try_from(size).ok();
            if bind.offset != Scalar::Const(0) || !matches!(bind.size, Scalar::Const(size) if is_whole(size))
            {
                return Err(refused(format!("argument {arg} of `{name}` is a part of `{}`", of.name)));
            }
            let does =
                Use { read: bind.direction != Direction::Out, written: bind.direction != Direction::In };
            take(own, *number, of, does)?;
        }
    }
    Ok(())
}

/// Adds the tensors of the unit to those of kernels: external ones are arrays of the launch by their names. By number, those that are used.
fn tensors(
    module: &mut Module,
    plan: &UnitPlan,
    uses: &[Use],
    elems: &OrderedMap<u32, Elem>,
) -> Result<Vec<Option<TensorId>>, Diagnostic> {
    let mut found = Vec::new();
    for ((number, of), used) in (0u32..).zip(&plan.tensors).zip(uses) {
        if !used.read && !used.written {
            found.push(None);
            continue;
        }
        let elem = match (of.dtype, elems.get(&number)) {
            (Some(elem), _) => elem,
            (None, Some(Elem::Fixed(elem))) => *elem,
            (None, _) => DType::U8,
        };
        let size = elem.size() as u64;
        let flat = of.bytes.filter(|bytes| bytes.is_multiple_of(size)).map(|bytes| vec![bytes / size]);
        let dims = if of.shape.is_empty() { flat } else { Some(of.shape.clone()) };
        let dims: Option<Vec<u32>> =
            dims.and_then(|dims| dims.into_iter().map(|n| u32::try_from(n).ok()).collect());
        let dims = dims.ok_or_else(|| refused(format!("the size of `{}` is not known", of.name)))?;
        let id = TensorId(module.tensors.len() as u32);
        let storage = if of.kind == TensorKind::Extern { Storage::Launch } else { Storage::Temporary };
        if let (Storage::Launch, Some(entry)) = (&storage, &mut module.entry) {
            let (name, ty, span) = (of.name.clone(), EntryTy::Tensor(Some(elem)), Span::default());
            entry.params.push(EntryParam { name, ty, span });
            let param = entry.params.len() as u32 - 1;
            entry.launch.bindings.push(Binding { param, source: BindingSource::Tensor(id) });
        }
        module.tensors.push(Tensor {
            name: format!("unit.{}", of.name),
            elem: Elem::Fixed(elem),
            dims: dims.into_iter().map(|n| Dim::Expr(Expr::u32(n, Span::default()))).collect(),
            storage,
            span: Span::default(),
        });
        found.push(Some(id));
    }
    Ok(found)
}
