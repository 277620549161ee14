//! The arrays of a package of a task graph: tensors of kernels, and extents as they follow from those of the unit.

use crate::kernels::{codes, files};
use wsp_backend::codes::NO_FILES;
use wsp_core::tg::{MemLocation, TensorNo};
use wsp_core::{DType, ParamId, TensorId};
use wsp_diag::{Diagnostic, Diagnostics, Span};
use wsp_ir::{
    Binding, BindingSource, Const, Dim, Elem, Entry, EntryParam, EntryTy, Expr, ExprKind, KernelEntry,
    Launch, LaunchTarget, Module, ParamSource, Storage, Verified, into_verified,
};
use wsp_ordered::OrderedMap;
use wsp_plan::KernelFile;
use wsp_tg::GraphPlan;
use wsp_tg::plan::{KernelDef, KernelItem, PlanTensor, TensorKind};
use wsp_tile::{Known, fold};

/// What units without a package have.
pub(super) const GRAPHS_ALONE: &str =
    "`--stage graph` writes the C++ of its graphs alone, for a device of your own";

/// What of a unit has no package.
pub(super) fn refused(message: String) -> Diagnostic {
    Diagnostic::error(NO_FILES, message)
        .note("a package of a task graph walks one launch of a graph of kernels")
        .help(GRAPHS_ALONE)
}

/// The same, of what the platform has no C++ for.
pub(super) fn without_graphs(fault: Diagnostic) -> Diagnostic {
    Diagnostic { help: vec!["run it on target `cpu_sim`".to_owned()], ..fault }
}

/// The definition of a kernel.
pub(super) fn def(graph: &GraphPlan, at: u32) -> &KernelDef {
    &graph.defs[at as usize]
}

/// The workspaces of kernels: memory of the graph, of the bytes that it says.
pub(super) fn workspaces(graph: &GraphPlan, entries: &[&KernelEntry]) -> Vec<(TensorId, PlanTensor)> {
    let of = |(item, entry): (&KernelItem, &&KernelEntry)| {
        let def = def(graph, item.def);
        let tensor = PlanTensor {
            no: TensorNo::NONE,
            graph: None,
            name: format!("workspace of {}", def.name),
            kind: TensorKind::Graph,
            bytes: Some(def.workspace),
            align: 64,
            location: MemLocation::Gm,
            dtype: None,
            shape: Vec::new(),
        };
        Some((entry.workspace()?, tensor))
    };
    graph.kernels.iter().zip(entries).filter_map(of).collect()
}

/// The file of kernels with a host entry: arrays from outside under the names of the unit, extents as they follow from its tensors.
pub(super) fn with_arrays(
    file: &KernelFile,
    entries: &[&KernelEntry],
    bound: &OrderedMap<TensorId, &PlanTensor>,
) -> Result<Module, Diagnostics> {
    let mut module = Module::clone(&file.module);
    let values = extents(&into_verified(module.clone())?, file, bound)?;
    for (param, value) in module.params.iter_mut().zip(values) {
        if let (ParamSource::Shape { .. }, Some(value)) = (&param.source, value) {
            let (ty, span) = (param.ty, param.span);
            param.source = ParamSource::Derived(Expr { kind: ExprKind::Const(value), ty, span });
        }
    }
    // Those that no kernel of the graph is given follow from nothing.
    let of_unbound = |owner: wsp_ir::ShapeOwner| match owner {
        wsp_ir::ShapeOwner::Tensor(id) => {
            !bound.contains_key(&id) && !entries.iter().any(|entry| entry.residents.contains(&id))
        }
        wsp_ir::ShapeOwner::Cache(_) => true,
    };
    for param in &mut module.params {
        if matches!(param.source, ParamSource::Shape { of, .. } if of_unbound(of)) {
            let (ty, span) = (param.ty, param.span);
            param.source = ParamSource::Derived(Expr { kind: ExprKind::Const(Const::Int(0)), ty, span });
        }
    }
    let launch = Launch { target: LaunchTarget::Kernels, bindings: Vec::new(), span: Span::default() };
    let mut entry = Entry { name: "main".to_owned(), params: Vec::new(), launch, span: Span::default() };
    let mut take = |name: &str, tensor: TensorId, elem: Elem, span: Span| {
        let at = entry.params.iter().position(|param| param.name == name).unwrap_or_else(|| {
            let dtype = if let Elem::Fixed(dtype) = elem { Some(dtype) } else { None };
            entry.params.push(EntryParam { name: name.to_owned(), ty: EntryTy::Tensor(dtype), span });
            entry.params.len() - 1
        });
        entry.launch.bindings.push(Binding { param: at as u32, source: BindingSource::Tensor(tensor) });
    };
    for (at, tensor) in module.tensors.iter_mut().enumerate() {
        let id = TensorId(at as u32);
        match bound.get(&id) {
            Some(of) if of.kind == TensorKind::Extern => take(&of.name, id, tensor.elem, tensor.span),
            Some(_) => tensor.storage = Storage::Temporary,
            None if entries.iter().any(|entry| entry.residents.contains(&id)) => {
                take(&tensor.name.clone(), id, tensor.elem, tensor.span);
            }
            None => {}
        }
    }
    module.entry = Some(entry);
    module.kernel_entries.clear();
    Ok(module)
}

/// Values of parameters: those of the file, and extents that follow from the tensors of the unit.
fn extents(
    module: &Verified,
    file: &KernelFile,
    bound: &OrderedMap<TensorId, &PlanTensor>,
) -> Result<Vec<Option<Const>>, Diagnostics> {
    let mut set = file.set.clone();
    let mut values = files::params(module, &set)?;
    let mut open: Vec<(TensorId, &PlanTensor)> = bound.iter().map(|(id, of)| (*id, *of)).collect();
    while !open.is_empty() {
        let before = open.len();
        let mut left = Vec::new();
        for (id, of) in open {
            match extent(module, &values, id, of)? {
                Some(found) => {
                    set.extend(found);
                    values = files::params(module, &set)?;
                }
                None => left.push((id, of)),
            }
        }
        if left.len() == before {
            let (id, of) = left[0];
            let name = &module.tensors[id.index()].name;
            let message = format!("the extents of `{name}` do not follow from `{}` of the unit", of.name);
            return Err(refused(message).into());
        }
        open = left;
    }
    Ok(values)
}

/// The extent that a tensor of the unit tells, as a value of a parameter, if it does; none where more than one is not known yet.
fn extent(
    module: &Verified,
    values: &[Option<Const>],
    id: TensorId,
    of: &PlanTensor,
) -> Result<Option<Option<(String, Const)>>, Diagnostic> {
    let tensor = &module.tensors[id.index()];
    let elem: Option<DType> = if let Elem::Fixed(elem) = tensor.elem { Some(elem) } else { of.dtype };
    let (Some(elem), Some(bytes)) = (elem, of.bytes) else { return Ok(None) };
    let known = Known { params: values, elems: &[] };
    let (mut row, mut open) = (elem.size() as u64, None);
    for dim in &tensor.dims {
        let Dim::Expr(e) = dim else { return Ok(None) };
        match (fold(module, known, e).kind, &e.kind) {
            (ExprKind::Const(Const::Int(n)), _) => row = row.saturating_mul(u64::try_from(n).unwrap_or(0)),
            (_, ExprKind::Param(param)) if open.is_none() => open = Some(*param),
            _ => return Ok(None),
        }
    }
    let wrong = |need: String| {
        let message =
            format!("`{}` has {bytes} bytes, and `{}` of the kernels takes {need}", of.name, tensor.name);
        Diagnostic::error(codes::NOT_SET, message).help("bind a tensor of the size that the kernel takes")
    };
    let is_workspace = of.no == TensorNo::NONE;
    let Some(param) = open else {
        return if row == bytes || is_workspace && row < bytes {
            Ok(Some(None))
        } else {
            Err(wrong(row.to_string()))
        };
    };
    if row == 0 || !is_workspace && !bytes.is_multiple_of(row) || bytes < row {
        return Err(wrong(format!("{row} for each of `{}`", name_of(module, param))));
    }
    Ok(Some(Some((name_of(module, param), Const::Int((bytes / row).into())))))
}

fn name_of(module: &Verified, param: ParamId) -> String {
    module.params[param.index()].name.clone()
}
