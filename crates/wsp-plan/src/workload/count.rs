//! How many tasks a module generates, without generating them.

use super::Bindings;
use super::bind::AxisRange;
use super::eval::{Given, eval};
use crate::flow::uses;
use wsp_core::{AxisId, ChannelId, VarId, WorkloadId};
use wsp_diag::Span;
use wsp_ir::workload::{
    AxisKind, Block, IntExpr, IntExprKind, Iteration, Node, NodeKind, Workload, WorkloadModule, each_node,
};

/// Statements visited before counting gives up.
const MAX_VISITS: u64 = 4_000_000;
/// Deepest nesting of statements, calls included.
const MAX_DEPTH: u32 = 512;

/// The number of tasks that the entry workload of a verified module generates.
///
/// A loop whose body has the same number for every index is counted once; any other is walked. None when the number
/// depends on slots or on slots of channels, when walking would take long, and when elaboration would meet a fault that
/// decides the number. Processes of a pipeline are taken to end.
pub fn count(module: &WorkloadModule, bindings: &Bindings) -> Option<u64> {
    Counter { module, bindings, of: What::Tasks, visits: 0, depth: 0 }.entry()
}

/// How often a pipeline of a workload runs in a verified module; none also where one of the statements around it stands at one of the places of `open`.
pub(crate) fn runs(
    module: &WorkloadModule,
    bindings: &Bindings,
    (workload, pipeline): (WorkloadId, &Node),
    open: &[Span],
) -> Option<u64> {
    let reaching = reaching(&mut module.workloads.iter().map(|workload| &workload.body), workload);
    let of = What::Runs(Runs { pipeline, reaching: &reaching, open });
    Counter { module, bindings, of, visits: 0, depth: 0 }.entry()
}

/// How many tokens the pipelines of a verified module send to a channel, or consume from it, where all their channels are of one workload: in all runs
/// whose processes end.
pub(crate) fn tokens(
    module: &WorkloadModule,
    bindings: &Bindings,
    channel: ChannelId,
    sends: bool,
) -> Option<u64> {
    Counter { module, bindings, of: What::Tokens(channel, sends), visits: 0, depth: 0 }.entry()
}

/// Of the statements of each workload, earlier ones first, whether they reach a workload, itself included.
pub(crate) fn reaching(bodies: &mut dyn Iterator<Item = &Block>, to: WorkloadId) -> Vec<bool> {
    let mut reaching = Vec::new();
    for body in bodies {
        let mut reaches = reaching.len() == to.index();
        each_node(body, &mut |node| {
            if let NodeKind::Call { workload, .. } = &node.kind {
                reaches |= reaching.get(workload.index()) == Some(&true);
            }
        });
        reaching.push(reaches);
    }
    reaching
}

/// What is counted.
#[derive(Clone, Copy)]
enum What<'m> {
    Tasks,
    Runs(Runs<'m>),
    /// Tokens that are sent to a channel (true) or consumed from it.
    Tokens(ChannelId, bool),
}

/// Runs of a pipeline.
#[derive(Clone, Copy)]
struct Runs<'m> {
    pipeline: &'m Node,
    /// Workloads whose calls reach it.
    reaching: &'m [bool],
    /// Places of statements of which it is not known how often they repeat what is in them.
    open: &'m [Span],
}

impl Runs<'_> {
    /// Whether the pipeline stands in a statement, or in what that calls.
    fn are_in(&self, node: &Node) -> bool {
        match &node.kind {
            NodeKind::Pipeline { .. } => std::ptr::eq(node, self.pipeline),
            NodeKind::Call { workload, .. } => self.reaching.get(workload.index()) == Some(&true),
            kind => kind.bodies().into_iter().flatten().any(|node| self.are_in(node)),
        }
    }
}

struct Counter<'m> {
    module: &'m WorkloadModule,
    bindings: &'m Bindings,
    of: What<'m>,
    visits: u64,
    depth: u32,
}

impl<'m> Counter<'m> {
    fn entry(&mut self) -> Option<u64> {
        self.workload(&self.module.workloads[self.module.entry?.index()], &[])
    }

    fn workload(&mut self, workload: &Workload, args: &[i64]) -> Option<u64> {
        let mut vars = vec![0; workload.vars.len()];
        vars.get_mut(..args.len())?.copy_from_slice(args);
        self.block(&workload.body, &mut vars)
    }

    fn block(&mut self, block: &Block, vars: &mut [i64]) -> Option<u64> {
        self.depth += 1;
        let deep = self.depth > MAX_DEPTH;
        let mut total = 0u64;
        for node in block {
            self.visits += 1;
            if deep || self.visits > MAX_VISITS {
                return None;
            }
            total = total.checked_add(self.node(node, vars)?)?;
        }
        self.depth -= 1;
        Some(total)
    }

    fn node(&mut self, node: &Node, vars: &mut [i64]) -> Option<u64> {
        match (&self.of, &node.kind) {
            (What::Tasks, _) => {}
            (What::Runs(of), _) if !of.are_in(node) => return Some(0),
            (What::Runs(_), NodeKind::Pipeline { .. }) => return Some(1),
            (What::Runs(of), _) if of.open.contains(&node.span) => return None,
            (What::Runs(_), _) => {}
            (What::Tokens(..), NodeKind::Task(_)) => return Some(0),
            (What::Tokens(channel, sends), kind) => {
                let is_call = matches!(kind, NodeKind::Call { .. });
                if !is_call && !uses(std::slice::from_ref(node), *channel, *sends) {
                    return Some(0);
                }
            }
        }
        match &node.kind {
            NodeKind::Task(_) => Some(1),
            NodeKind::ParallelFor { var, over, body } | NodeKind::ForEach { var, over, body } => {
                let (start, end, step) = self.bounds(over, vars)?;
                let step_size = usize::try_from(step).ok().filter(|step| *step > 0)?;
                let trips = if start < end { (end.abs_diff(start) - 1) / step.unsigned_abs() + 1 } else { 0 };
                let indices = (start..end).step_by(step_size);
                self.iterations(trips, body, &[*var], vars, indices.map(|index| [index]))
            }
            NodeKind::Select { var, position, axis, row, body } => {
                let (from, columns) = self.row(*axis, row, vars)?;
                let entries = (from..).zip(columns).map(|(at, column)| [*column, at]);
                match position {
                    Some(at) => self.iterations(columns.len() as u64, body, &[*var, *at], vars, entries),
                    None => {
                        let columns_only = entries.map(|[column, _]| [column]);
                        self.iterations(columns.len() as u64, body, &[*var], vars, columns_only)
                    }
                }
            }
            NodeKind::Cond { condition, then, otherwise } => {
                let holds = self.value(condition, vars)? != 0;
                self.block(if holds { then } else { otherwise }, vars)
            }
            // A condition that ends must change, and only slots do.
            NodeKind::While { condition, .. } => (self.value(condition, vars)? == 0).then_some(0),
            NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
                let mut total = 0u64;
                for block in blocks {
                    total = total.checked_add(self.block(block, vars)?)?;
                }
                Some(total)
            }
            NodeKind::Pipeline { processes } => {
                let mut total = 0u64;
                for process in processes {
                    total = total.checked_add(self.block(&process.body, vars)?)?;
                }
                Some(total)
            }
            // Which slot it is depends on the turns of processes.
            NodeKind::Send { channel, var, body } => self.transfer((*channel, true), *var, body, vars),
            NodeKind::Consume { arms, all } => match arms.as_slice() {
                [arm] if !*all => self.transfer((arm.channel, false), arm.var, &arm.body, vars),
                // How often each is taken depends on the turns of processes.
                _ => None,
            },
            NodeKind::Close { .. } => Some(0),
            NodeKind::Call { workload, args } => {
                let args: Option<Vec<i64>> = args.iter().map(|arg| self.value(arg, vars)).collect();
                self.workload(&self.module.workloads[workload.index()], &args?)
            }
        }
    }

    /// What is counted of a send or a consume.
    fn transfer(
        &mut self,
        end: (ChannelId, bool),
        slot: VarId,
        body: &Block,
        vars: &mut [i64],
    ) -> Option<u64> {
        let own = matches!(self.of, What::Tokens(channel, sends) if (channel, sends) == end);
        let inside = if self.depends(body, &[slot]) { None } else { self.block(body, vars) };
        inside?.checked_add(u64::from(own))
    }

    /// All iterations of a loop: the first times their number where they are alike, else one by one.
    fn iterations<const N: usize>(
        &mut self,
        trips: u64,
        body: &Block,
        vars: &[VarId; N],
        values: &mut [i64],
        indices: impl Iterator<Item = [i64; N]>,
    ) -> Option<u64> {
        let alike = !self.depends(body, vars);
        let mut total = 0u64;
        for index in indices {
            for (var, value) in vars.iter().zip(index) {
                values[var.index()] = value;
            }
            self.visits += 1;
            let tasks = self.block(body, values)?;
            if alike {
                return tasks.checked_mul(trips);
            }
            total = total.checked_add(tasks)?;
        }
        Some(total)
    }

    /// First and end index and step of a loop.
    fn bounds(&self, over: &Iteration, vars: &[i64]) -> Option<(i64, i64, i64)> {
        match over {
            Iteration::Range { lo, hi, step } => {
                let step = step.as_ref().map_or(Some(1), |step| self.value(step, vars));
                Some((self.value(lo, vars)?, self.value(hi, vars)?, step?))
            }
            Iteration::Axis(axis) => match self.bindings.axes[axis.index()] {
                AxisRange::Dense { start, end } => Some((start, end, 1)),
                AxisRange::Ragged | AxisRange::Sparse => None,
            },
            Iteration::Ragged { axis, outer } => {
                let AxisKind::Ragged { lengths, .. } = &self.module.axes[axis.index()].kind else {
                    return None;
                };
                let row = usize::try_from(self.value(outer, vars)?).ok()?;
                Some((0, *self.bindings.table(*lengths).get(row)?, 1))
            }
        }
    }

    /// The first position and the columns of a row of a sparse axis.
    fn row(&self, axis: AxisId, row: &IntExpr, vars: &[i64]) -> Option<(i64, &'m [i64])> {
        let AxisKind::Sparse { indptr, indices, .. } = &self.module.axes[axis.index()].kind else {
            return None;
        };
        let row = usize::try_from(self.value(row, vars)?).ok()?;
        let rows = self.bindings.table(*indptr);
        let (from, to) = (*rows.get(row)?, *rows.get(row.checked_add(1)?)?);
        let columns =
            self.bindings.table(*indices).get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)?;
        Some((from, columns))
    }

    fn value(&self, expr: &IntExpr, vars: &[i64]) -> Option<i64> {
        eval(expr, &mut Given { values: &self.bindings.values, vars }).ok()
    }

    /// Whether the number of tasks of a block may depend on variables.
    fn depends(&mut self, block: &Block, vars: &[VarId]) -> bool {
        block.iter().any(|node| {
            self.visits += 1;
            !matches!(node.kind, NodeKind::Task(_))
                && (node.kind.exprs().into_iter().any(|expr| names(expr, vars))
                    || node.kind.bodies().into_iter().any(|body| self.depends(body, vars)))
        })
    }
}

/// Whether an expression names one of the variables.
fn names(expr: &IntExpr, vars: &[VarId]) -> bool {
    let mut found = false;
    expr.each(&mut |kind| found |= matches!(kind, IntExprKind::Var(var) if vars.contains(var)));
    found
}
