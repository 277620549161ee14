//! A graph as it runs: its plan, with bodies for its kernels and places for its tensors.

use super::cx::BoundArg;
use super::item::When;
use super::kernels::KernelBody;
use super::memory::TensorRange;
use super::open_pairs::OpenPairs;
use super::open_uses::OpenUses;
use super::pto::PtoBound;
use std::sync::Arc;
use wsp_core::DType;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::TgModule;
use wsp_runtime::tg::Graph;
use wsp_tg::plan::GraphPlan;

/// A graph that can be launched.
#[derive(Debug)]
pub(crate) struct GraphCode {
    pub(crate) plan: GraphPlan,
    /// The tensors that it uses.
    pub(crate) tensors: Vec<LocalTensor>,
    /// Of each tensor of the unit, its place in [`tensors`](Self::tensors); [`UNUSED`] of those that the graph does not use.
    pub(crate) locals: Vec<u32>,
    /// Of each definition of a kernel.
    pub(crate) defs: Vec<DefCode>,
    /// Of each kernel, what its bindings depend on.
    pub(crate) whens: Vec<When>,
    /// Kernels that a run has to compare.
    pub(crate) open: OpenPairs,
    /// What a run has to compare with other launches.
    pub(crate) uses: OpenUses,
    /// Where parts of it stand that a run may be unable to do.
    pub(crate) spans: Spans,
    /// What the runtime knows of it.
    pub(crate) runtime: Arc<Graph>,
}

/// Where parts of a graph stand in the text; no place in a unit that was made without one.
#[derive(Debug)]
pub(crate) struct Spans {
    /// Of each loop that runs at run time.
    pub(crate) loops: Vec<Span>,
    /// Of each kernel's definition.
    pub(crate) kernels: Vec<Span>,
    pub(crate) binds: Vec<Span>,
    pub(crate) copies: Vec<Span>,
    pub(crate) conditions: Vec<Span>,
}

impl Spans {
    pub(crate) fn new(plan: &GraphPlan, module: &TgModule) -> Spans {
        let span = |instr: u32| module.span(instr as usize);
        Spans {
            loops: plan.loops.iter().map(|item| span(item.instr)).collect(),
            kernels: plan.defs.iter().map(|def| span(def.instr)).collect(),
            binds: plan.binds.iter().map(|item| span(item.instr)).collect(),
            copies: plan.copies.iter().map(|item| span(item.instr)).collect(),
            conditions: plan.conditions.iter().map(|item| span(item.instr)).collect(),
        }
    }

    /// A fault of the part that stands at one of these places.
    pub(crate) fn located(fault: Diagnostic, places: &[Span], part: u32, label: &str) -> Diagnostic {
        match places.get(part as usize) {
            Some(&span) if span != Span::default() => fault.at(span, label),
            _ => fault,
        }
    }
}

/// The place of a tensor that a graph does not use.
pub(crate) const UNUSED: u32 = u32::MAX;

/// A tensor that a graph uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LocalTensor {
    /// Its place among the tensors of the unit.
    pub(crate) unit: u32,
    /// Whether each launch has its own.
    pub(crate) own: bool,
    /// Whether the graph may write it.
    pub(crate) written: bool,
}

/// What runs a kernel.
#[derive(Clone, Debug)]
pub(crate) struct DefCode {
    pub(crate) body: KernelBody,
    /// Tensors that the body names itself.
    pub(crate) residents: Vec<Resident>,
}

/// A tensor that a kernel names itself.
#[derive(Clone, Debug)]
pub(crate) struct Resident {
    pub(crate) range: TensorRange,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
}

/// The arguments of a dispatched kernel.
#[derive(Debug)]
pub(crate) enum Bound {
    Function(Box<[BoundArg]>),
    Pto(Box<PtoBound>),
}

impl Bound {
    /// Bytes of all that is bound, with the workspace of a function, which is none of its arguments.
    pub(crate) fn bytes(&self, workspace: Option<&TensorRange>) -> u64 {
        match self {
            Bound::Function(args) => {
                args.iter().map(|arg| &arg.range).chain(workspace).map(TensorRange::bytes).sum()
            }
            Bound::Pto(bound) => bound.bytes(),
        }
    }
}

impl GraphCode {
    /// The place of a tensor of the unit among those of the graph.
    pub(crate) fn local(&self, unit: u32) -> u32 {
        self.locals.get(unit as usize).copied().unwrap_or(UNUSED)
    }
}
