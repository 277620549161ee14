//! What a launch does when its nodes run: binds kernels, runs their blocks, copies, releases, evaluates.

use super::binding::{Block, bind, run_block};
use super::code::{Bound, Spans};
use super::codes;
use super::cycles::cycles;
use super::dispatched::{Dispatched, Part};
use super::fault::TgFault;
use super::item::{Item, When};
use super::kernels::KernelBody;
use super::launched::Launched;
use super::open::Bindings;
use super::shared::Shared;
use super::snapshot::Paused;
use super::values::Values;
use super::workspaces::Workspace;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wsp_core::tg::image::NodeKind;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_plan::cost;
use wsp_runtime::tg::{BlockCx, Bodies, NodeCx};

/// The work of a launch.
#[derive(Debug)]
pub(crate) struct LaunchBodies {
    /// Gone when the launch has ended: the session keeps none.
    pub(crate) launched: Arc<Launched>,
    pub(crate) shared: Arc<Shared>,
    /// Whether it goes on from a saved state, with its memory as that left it.
    pub(crate) resumes: bool,
    /// What its kernels were bound to, where they have to be compared.
    pub(crate) bindings: Bindings,
    /// Its number among the launches, where they have to be compared.
    pub(crate) number: Option<Arc<u64>>,
}

impl LaunchBodies {
    /// Dispatches a kernel and those that run as one with it.
    fn dispatched(
        &self,
        items: impl Iterator<Item = u32>,
        iterations: &[u32],
    ) -> Result<Dispatched, Box<Diagnostic>> {
        let instance = &self.launched.instance;
        let mut made =
            Dispatched { parts: SmallVec::new(), workspaces: Vec::new(), instance: instance.number() };
        let mut first_block = 0;
        for item in items {
            let part = self.part(item, first_block, iterations, &mut made.workspaces)?;
            first_block += part.blocks;
            made.parts.push(part);
        }
        Ok(made)
    }

    /// Dispatches one kernel; blocks before it are those of other kernels of the same dispatch.
    fn part(
        &self,
        item: u32,
        first_block: u32,
        iterations: &[u32],
        workspaces: &mut Vec<Workspace>,
    ) -> Result<Part, Box<Diagnostic>> {
        let plan = &self.launched.code.plan;
        let def = &plan.defs[plan.kernels[item as usize].def as usize];
        let mut workspace = None;
        if def.workspace != 0 {
            let taken = self.launched.instance.workspaces.take(def.workspace, &def.name)?;
            workspace = Some(taken.range.clone());
            workspaces.push(taken);
        }
        let values = self.launched.values(iterations);
        let bound = Arc::new(bind(item, &values, workspace.as_ref(), &self.shared)?);
        let cycles = self.cycles(item, def.block_dim, &bound)?;
        Ok(Part { item, first_block, blocks: def.block_dim, bound, workspace, cycles })
    }

    /// What the blocks of a kernel take in virtual time on a machine, if there is one.
    fn cycles(&self, item: u32, blocks: u32, bound: &Bound) -> Result<Box<[u64]>, Box<Diagnostic>> {
        let Some(machine) = &self.shared.machine else { return Ok(Box::default()) };
        let plan = &self.launched.code.plan;
        let def = plan.kernels[item as usize].def;
        let located =
            |fault| Box::new(Spans::located(fault, &self.launched.code.spans.kernels, def, "this kernel"));
        match (bound, &self.launched.code.defs[def as usize].body) {
            (Bound::Pto(bound), KernelBody::Pto(entry)) => {
                let cycles = (0..blocks).map(|block| entry.cycles(bound, machine, [block, blocks]));
                cycles.collect::<Result<_, _>>().map_err(Box::new)
            }
            _ => Err(located(cost::without_operations(machine, &plan.kernel_name(item)))),
        }
    }

    /// Compares what is about to start, or to be looked at, with other launches.
    fn compare(&self, item: Item, iterations: &[u32]) -> Result<(), Box<Diagnostic>> {
        match (&self.shared.launches, &self.number) {
            (Some(launches), Some(number)) => {
                launches.compare(**number, item, &self.launched.values(iterations), &self.shared)
            }
            _ => Ok(()),
        }
    }

    /// Refuses tensors that were released since a kernel was bound.
    fn check_held(&self, item: u32) -> Result<(), Box<Diagnostic>> {
        let (plan, values) = (&self.launched.code.plan, self.launched.values(&[]));
        let binds = plan.binds_of(&plan.kernels[item as usize]);
        let mut tensors = binds.iter().flat_map(|bind| plan.tensors_of(&bind.tensor));
        tensors.try_for_each(|&unit| values.range(unit, &self.shared).map(|_| ()))
    }
}

impl Bodies for LaunchBodies {
    type Failure = TgFault;
    type Prepared = Dispatched;

    fn begin(&self) -> Result<(), TgFault> {
        self.launched.begun.store(true, Ordering::Release);
        if self.resumes {
            return Ok(());
        }
        Ok(self.launched.instance.begin()?)
    }

    fn prepare(
        &self,
        cx: &NodeCx<'_>,
        resident: Option<Arc<Dispatched>>,
    ) -> Result<Arc<Dispatched>, TgFault> {
        let batch = &self.launched.code.plan.kernels[cx.item as usize].batch;
        let items = std::iter::once(cx.item).chain(batch.iter().copied());
        if !self.launched.code.open.is_empty() {
            let values = self.launched.values(cx.iterations);
            let compare = |item| self.launched.code.open.compare(item, &values, &self.bindings, &self.shared);
            items.clone().try_for_each(compare)?;
        }
        items.clone().try_for_each(|item| self.compare(Item::Kernel(item), cx.iterations))?;
        let instance = &self.launched.instance;
        let is_the_same =
            || items.clone().all(|item| self.launched.code.whens[item as usize] == When::Always);
        let kept = instance.kept[cx.item as usize].get();
        let earlier =
            kept.cloned().or_else(|| resident.filter(|of| of.instance == instance.number() && is_the_same()));
        if let Some(earlier) = earlier {
            items.clone().try_for_each(|item| self.check_held(item))?;
            return Ok(earlier);
        }
        let made = Arc::new(self.dispatched(items.clone(), cx.iterations)?);
        // Another dispatch has workspaces of its own.
        if made.workspaces.is_empty() && is_the_same() {
            // Where another thread was first, it was dispatched with the same.
            let _ = instance.kept[cx.item as usize].set(Arc::clone(&made));
        }
        Ok(made)
    }

    fn block_cycles(&self, dispatched: &Dispatched, cx: &BlockCx<'_>) -> u64 {
        let part = dispatched.part_of(cx.block);
        if let Some(&cycles) = part.cycles.get((cx.block - part.first_block) as usize) {
            return cycles;
        }
        cycles(part.bound.bytes(part.workspace.as_ref()), part.blocks).max(1)
    }

    fn item_cycles(&self, cx: &NodeCx<'_>) -> u64 {
        let kind = NodeKind::from_code(self.launched.code.runtime.image().nodes[cx.node as usize].kind);
        match kind {
            Some(NodeKind::Copy) => {
                let bytes = self.launched.code.plan.copies[cx.item as usize].size;
                // A machine without a way for copies was refused.
                let machine = self.shared.machine.as_ref();
                machine.and_then(|on| cost::of_copy(on, bytes).ok()).unwrap_or_else(|| cycles(bytes, 1))
            }
            _ => 0,
        }
    }

    fn run_block(&self, dispatched: &Dispatched, cx: &BlockCx<'_>) -> Result<(), TgFault> {
        let part = dispatched.part_of(cx.block);
        let block = Block {
            part,
            block: cx.block - part.first_block,
            iteration: self.launched.iteration,
            device: cx.kernel.device,
        };
        run_block(&self.launched.code, block, &self.shared)
    }

    fn run_item(&self, cx: &NodeCx<'_>) -> Result<(), TgFault> {
        let kind = NodeKind::from_code(self.launched.code.runtime.image().nodes[cx.node as usize].kind);
        if kind == Some(NodeKind::Copy) {
            self.compare(Item::Copy(cx.item), cx.iterations)?;
        }
        run_item(kind, cx.item, &self.launched.values(cx.iterations), &self.shared)?;
        Ok(())
    }

    fn eval(&self, condition: u32, iterations: &[u32]) -> Result<i64, TgFault> {
        self.compare(Item::Condition(condition), iterations)?;
        Ok(evaluate(&self.launched.values(iterations), condition, &self.shared)?)
    }

    fn checkpoint(&self, id: u32, state: &[u32]) -> Result<(), TgFault> {
        let device = self.launched.instance.device();
        Ok(self.shared.save_graph(&self.launched.code, device, id, Paused::Launch(&self.launched, state))?)
    }
}

/// Does a copy or a release.
///
/// # Errors
/// A tensor was released.
pub(crate) fn run_item(
    kind: Option<NodeKind>,
    item: u32,
    values: &Values<'_>,
    shared: &Shared,
) -> Result<(), Box<Diagnostic>> {
    let plan = &values.code.plan;
    if kind == Some(NodeKind::Free) {
        let unit = plan.frees[item as usize].tensor;
        let local = values.code.local(unit);
        return values.instance.release(local, shared.released, &shared.table[unit as usize]);
    }
    let copy = &plan.copies[item as usize];
    let name = |unit: u32| &shared.table[unit as usize].name;
    let located = |fault| Box::new(Spans::located(fault, &values.code.spans.copies, item, "this copy"));
    let part = |unit: u32, offset: u64| {
        let range = values.range(unit, shared)?;
        range.part(offset, copy.size).ok_or_else(|| {
            let (name, bytes) = (name(unit), range.bytes());
            let message = format!(
                "copy.{} takes {} from byte {offset} of `{name}`, which has {bytes}",
                copy.copy,
                counted(copy.size, "byte")
            );
            located(Diagnostic::error(codes::BAD_BINDING, message))
        })
    };
    let (from, to) = (part(copy.src, copy.src_offset)?, part(copy.dst, copy.dst_offset)?);
    to.copy_from(&from).map_err(|first| {
        let (source, target) = (name(copy.src), name(copy.dst));
        let message = format!(
            "copy.{} overwrites `{target}` by bytes of `{source}` that nothing has stored",
            copy.copy
        );
        let first = copy.src_offset + first as u64;
        let fault = Diagnostic::error(crate::codes::NEVER_STORED, message)
            .note(format!("the first such byte of `{source}` is byte {first}"));
        located(fault.help("store all that is copied first, or copy fewer bytes"))
    })
}

/// The value of a condition or a count.
///
/// # Errors
/// It has none.
pub(crate) fn evaluate(values: &Values<'_>, condition: u32, shared: &Shared) -> Result<i64, Box<Diagnostic>> {
    let plan = &values.code.plan;
    values.value(plan.conditions[condition as usize].value).map_err(|fault| {
        let fault = values.why_not(&fault, shared);
        let message = format!("a condition of graph `{}` has no value: {fault}", plan.name);
        let fault = Diagnostic::error(codes::BAD_EXPRESSION, message);
        let fault = Spans::located(fault, &values.code.spans.conditions, condition, "this condition");
        Box::new(values.facts().into_iter().fold(fault, Diagnostic::note))
    })
}
