//! How a graph of a unit gets its tensors and the bodies of its kernels.

use super::code::{DefCode, GraphCode, LocalTensor, Resident, Spans, UNUSED};
use super::codes;
use super::graph_parts::parts;
use super::inputs::given;
use super::item::when;
use super::kernels::{KernelBody, TgKernels};
use super::memory::TensorRange;
use super::open_pairs::OpenPairs;
use super::open_uses::OpenUses;
use super::options::SessionOptions;
use std::sync::Arc;
use wsp_core::tg::{Direction, ExprOp, MemLocation};
use wsp_diag::Diagnostic;
use wsp_ir::tg::{KernelSignature, TgModule};
use wsp_ordered::OrderedMap;
use wsp_runtime::tg::Graph;
use wsp_tg::plan::{BindItem, GraphPlan, UnitPlan};

/// Tensors that a graph reads and writes, and bodies for its kernels.
pub(super) fn code(
    plan: GraphPlan,
    place: u32,
    unit: &UnitPlan,
    module: &TgModule,
    kernels: &TgKernels,
    options: &SessionOptions,
    residents: &mut OrderedMap<String, TensorRange>,
) -> Result<GraphCode, Vec<Diagnostic>> {
    let (tensors, locals) = tensors_of(&plan, place, unit);
    let mut defs = Vec::with_capacity(plan.defs.len());
    for def in &plan.defs {
        let Some(body) = kernels.body(&def.entry) else {
            return Err(vec![kernels.unknown(&def.entry, &def.name)]);
        };
        let residents = match body {
            KernelBody::Function(_) => Vec::new(),
            KernelBody::Pto(entry) => residents_of(entry.signature(), options, residents)?,
        };
        defs.push(DefCode { body: body.clone(), residents });
    }
    let whens = plan.kernels.iter().map(|kernel| when(&plan, kernel)).collect();
    let runtime = Graph::new(parts(&plan, unit)).map_err(|fault| {
        let message = format!("graph `{}` cannot be run: {fault}", plan.name);
        vec![Diagnostic::error(codes::REFUSED_LAUNCH, message)]
    })?;
    let spans = Spans::new(&plan, module);
    let (open, uses) = (OpenPairs::default(), OpenUses::default());
    Ok(GraphCode { plan, tensors, locals, defs, whens, open, uses, spans, runtime: Arc::new(runtime) })
}

/// The tensors that kernels, copies, releases and conditions of a graph use, in the order of the unit.
fn tensors_of(plan: &GraphPlan, place: u32, unit: &UnitPlan) -> (Vec<LocalTensor>, Vec<u32>) {
    // What a graph allocates it has, also if it does not use it.
    let mut used: Vec<(bool, bool)> =
        unit.tensors.iter().map(|tensor| (tensor.graph == Some(place), false)).collect();
    let mut mark = |tensor: u32, written: bool| {
        used[tensor as usize].0 = true;
        used[tensor as usize].1 |= written;
    };
    let writes = |bind: &BindItem| bind.direction != Direction::In;
    for bind in &plan.binds {
        plan.tensors_of(&bind.tensor).iter().for_each(|&tensor| mark(tensor, writes(bind)));
    }
    for copy in &plan.copies {
        mark(copy.src, false);
        mark(copy.dst, true);
    }
    plan.frees.iter().for_each(|free| mark(free.tensor, false));
    for op in &plan.exprs {
        if let ExprOp::Load(tensor, _) = op {
            mark(tensor.0, false);
        }
    }
    let (mut tensors, mut locals) = (Vec::new(), vec![UNUSED; used.len()]);
    for (at, &(used, written)) in used.iter().enumerate() {
        if used {
            locals[at] = tensors.len() as u32;
            let own = unit.tensors[at].graph.is_some() && unit.tensors[at].location != MemLocation::Shared;
            tensors.push(LocalTensor { unit: at as u32, own, written });
        }
    }
    (tensors, locals)
}

/// The arrays of tensors that a kernel names itself; each is there once, however many kernels name it.
fn residents_of(
    signature: &KernelSignature,
    options: &SessionOptions,
    known: &mut OrderedMap<String, TensorRange>,
) -> Result<Vec<Resident>, Vec<Diagnostic>> {
    let mut residents = Vec::new();
    for of in &signature.resident {
        let Some((_, array)) = given(options).find(|(name, _)| *name == of.name) else {
            let message = format!("kernel `{}` needs an array for `{}`", signature.name, of.name);
            return Err(vec![
                Diagnostic::error(codes::BAD_INPUT, message)
                    .help(format!("give one: `--input {}=FILE.npy`", of.name))
                    .python(format!("give one: `graph.run({{\"{}\": array}})`", of.name)),
            ]);
        };
        let range = match (known.get(&of.name), options.views.get(&of.name), options.inputs.get(&of.name)) {
            (Some(range), _, _) => Some(range.clone()),
            (None, Some(view), _) => Some(TensorRange::of_view(view)),
            (None, None, array) => array.and_then(|array| TensorRange::of_bytes(array.bytes())),
        };
        let range = range.ok_or_else(|| {
            let message = format!("the machine has no memory for a copy of `{}`", of.name);
            vec![Diagnostic::error(codes::OUT_OF_MEMORY, message)]
        })?;
        known.insert(of.name.clone(), range.clone());
        residents.push(Resident { range, dtype: array.dtype, shape: array.shape.to_vec() });
    }
    Ok(residents)
}
