//! A graph that is bound once and run any number of times on the calling thread.

use super::binding::{Block, bind, bind_arg, kernel_fault, run_block};
use super::bodies::{evaluate, run_item};
use super::code::GraphCode;
use super::codes;
use super::cx::{BoundArg, TgCx};
use super::dispatched::Part;
use super::fault::{TgFault, cancelled};
use super::faults;
use super::instance::Instance;
use super::item::When;
use super::kernels::{Body, KernelBody};
use super::memory::TensorRange;
use super::open::Bindings;
use super::record::SavedLaunch;
use super::session::Session;
use super::shared::Shared;
use super::snapshot::Paused;
use super::values::Values;
use super::workspaces::Workspace;
use std::sync::Arc;
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::machine::{Fault, Scalars};
use wsp_core::tg::{Direction, GraphNo, PartitionNo};
use wsp_diag::{Diagnostic, Span};
use wsp_kernel::Trap;
use wsp_ordered::OrderedMap;
use wsp_runtime::Failure;
use wsp_runtime::tg::{InlineExecutor, LocalBodies};
use wsp_tg::plan::KernelDef;

/// A graph with everything bound: [`invoke`](Self::invoke) only runs it, on the calling thread. Nothing is elaborated, allocated
/// or bound again, save bindings that the iteration changes.
pub struct Prepared<'s> {
    here: InlineExecutor<'s>,
    run: LocalRun<'s>,
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("graph", &self.run.code.plan.name).finish_non_exhaustive()
    }
}

/// What runs the nodes.
struct LocalRun<'s> {
    code: &'s GraphCode,
    shared: &'s Shared,
    instance: Arc<Instance>,
    scalars: Vec<i64>,
    iteration: i64,
    /// Kernels, by place.
    kernels: Vec<LocalKernel<'s>>,
    /// Arguments of functions, kernel by kernel.
    args: Vec<BoundArg>,
    /// Entries with their arguments, and kernels with a workspace, by place of the kernel.
    parts: OrderedMap<u32, Part>,
    /// What all kernels with a workspace have in turn.
    workspace: Option<Workspace>,
    /// Kernels whose arguments the iteration changes.
    changing: Vec<u32>,
    /// Which iteration the arguments are of.
    bound_for: Option<i64>,
    /// What kernels of the run were bound to, where they have to be compared.
    bindings: Bindings,
    /// Whether a run releases tensors, which the next one takes back.
    releases: bool,
}

/// A kernel, in few bytes: runs go through all of them.
struct LocalKernel<'s> {
    /// The function, if that is all there is to it: it is bound before the run, and has no workspace.
    body: Option<&'s Body>,
    def: &'s KernelDef,
    first_arg: u32,
    args: u32,
}

impl Session {
    /// Binds a graph for runs on the calling thread. Waits for launches that are in flight. Scalars have their present values.
    ///
    /// # Errors
    /// There is no such graph; it has kernels that start together, or waits for others; it cannot be bound; memory is lacking.
    pub fn prepare(&mut self, graph: GraphNo) -> Result<Prepared<'_>, Box<Diagnostic>> {
        let index = self.index(graph)?;
        self.wait(|_| true)?;
        self.shared.waited_for_all()?;
        let instance = self.instance_for_prepared(index)?;
        let (code, shared): (&GraphCode, &Shared) = (&self.codes[index], &self.shared);
        let here = InlineExecutor::new(&code.runtime).map_err(|reason| {
            let message = format!("graph `{}` cannot run on one thread: {reason}", code.plan.name);
            Box::new(Diagnostic::error(codes::REFUSED_LAUNCH, message))
        })?;
        let mut run = LocalRun {
            code,
            shared,
            scalars: shared.view().scalars.clone(),
            iteration: 0,
            kernels: Vec::with_capacity(code.plan.kernels.len()),
            args: Vec::with_capacity(code.plan.binds.len()),
            parts: OrderedMap::new(),
            changing: Vec::new(),
            workspace: None,
            bound_for: None,
            bindings: Bindings::default(),
            releases: !code.plan.frees.is_empty(),
            instance,
        };
        run.bind_all()?;
        Ok(Prepared { here, run })
    }
}

impl Prepared<'_> {
    /// Runs the graph once. Bindings see `iteration`.
    ///
    /// # Errors
    /// A kernel failed, an argument does not lie in its tensor, or a loop goes on for too long. The graph can be run again.
    pub fn invoke(&mut self, iteration: i64) -> Result<(), Box<Diagnostic>> {
        self.run.begin(iteration)?;
        self.here.run(&mut self.run).map_err(|fault| match fault {
            Failure::Source(Fault::Condition(fault)) => fault.diagnostic,
            Failure::Source(Fault::Endless { in_loop, most, value }) => {
                Box::new(faults::endless(Some(self.run.code), in_loop, most, value))
            }
            Failure::Source(Fault::Count { in_loop, most, value }) => {
                Box::new(faults::count(Some(self.run.code), in_loop, most, value))
            }
            Failure::Stuck(report) => {
                let message = format!("nodes of graph `{}` wait for each other", self.run.code.plan.name);
                Box::new(Diagnostic::error(codes::STUCK, message).note(report.to_string()))
            }
            Failure::Task { failure, .. } => match failure {},
            // A run on this thread starts nothing, catches nothing and asks of no flag.
            other @ (Failure::Start(_) | Failure::Panic { .. } | Failure::Cancelled) => {
                Box::new(Trap::internal(format!("{other:?}"), Span::default()).into())
            }
        })
    }
}

impl LocalRun<'_> {
    fn values<'a>(&'a self, iterations: &'a [u32]) -> Values<'a> {
        Values {
            code: self.code,
            instance: &self.instance,
            scalars: &self.scalars,
            iteration: self.iteration,
            device: 0,
            devices: self.shared.devices,
            iterations,
        }
    }

    /// Binds every kernel whose arguments are the same for every run, and makes one workspace for all.
    fn bind_all(&mut self) -> Result<(), Box<Diagnostic>> {
        let code = self.code;
        let largest = code.plan.defs.iter().max_by_key(|def| def.workspace).filter(|def| def.workspace != 0);
        self.workspace = match largest {
            Some(def) => Some(self.instance.workspaces.take(def.workspace, &def.name)?),
            None => None,
        };
        for (item, kernel) in code.plan.kernels.iter().enumerate() {
            let (item, def) = (item as u32, &code.plan.defs[kernel.def as usize]);
            let of = self.workspace.as_ref().and_then(|of| of.range.part(0, def.workspace));
            let own = of.filter(|_| def.workspace != 0);
            let when = code.whens[item as usize];
            let first_arg = self.args.len() as u32;
            let body = match &code.defs[kernel.def as usize].body {
                KernelBody::Function(body) => {
                    let nothing = BoundArg { range: self.shared.nothing.clone(), direction: Direction::In };
                    self.args.extend(std::iter::repeat_n(nothing, kernel.binds as usize));
                    Some(&**body)
                }
                KernelBody::Pto(_) => None,
            };
            let is_simple =
                body.is_some() && own.is_none() && when != When::Dispatch && kernel.batch.is_empty();
            if body.is_none() || own.is_some() {
                let bound = Arc::clone(&self.shared.unbound);
                let part = Part {
                    item,
                    first_block: 0,
                    blocks: def.block_dim,
                    bound,
                    workspace: own,
                    cycles: Box::default(),
                };
                self.parts.insert(item, part);
            }
            let body = body.filter(|_| is_simple);
            self.kernels.push(LocalKernel { body, def, first_arg, args: kernel.binds });
            match when {
                When::Always => self.bind(item, &[])?,
                When::Launch => self.changing.push(item),
                When::Dispatch => {}
            }
        }
        Ok(())
    }

    /// Before a run: takes back what the last one released, and binds what the iteration changes.
    fn begin(&mut self, iteration: i64) -> Result<(), Box<Diagnostic>> {
        self.shared.check_cancel()?;
        if self.releases {
            self.instance.begin()?;
        }
        self.iteration = iteration;
        if !self.code.open.is_empty() {
            self.code.open.compare_known(&self.values(&[]), self.shared)?;
            self.bindings = Bindings::default();
        }
        if self.changing.is_empty() || self.bound_for == Some(iteration) {
            return Ok(());
        }
        self.bound_for = None;
        for at in 0..self.changing.len() {
            self.bind(self.changing[at], &[])?;
        }
        self.bound_for = Some(iteration);
        Ok(())
    }

    /// Binds a kernel: a function in place, an entry anew.
    fn bind(&mut self, item: u32, iterations: &[u32]) -> Result<(), Box<Diagnostic>> {
        let plan = &self.code.plan;
        let kernel = &plan.kernels[item as usize];
        if let KernelBody::Pto(_) = self.code.defs[kernel.def as usize].body {
            let workspace = self.parts.get(&item).and_then(|part| part.workspace.as_ref());
            let bound = Arc::new(bind(item, &self.values(iterations), workspace, self.shared)?);
            if let Some(part) = self.parts.get_mut(&item) {
                part.bound = bound;
            }
            return Ok(());
        }
        let first = self.kernels[item as usize].first_arg as usize;
        for (n, of) in plan.binds_of(kernel).iter().enumerate() {
            self.args[first + n] = bind_arg(item, of, &self.values(iterations), self.shared)?;
        }
        Ok(())
    }

    /// Runs a kernel with all that a kernel can have.
    fn run_any(&mut self, item: u32, iterations: &[u32]) -> Result<(), TgFault> {
        if self.code.whens[item as usize] == When::Dispatch {
            self.bind(item, iterations)?;
        }
        let def = self.code.plan.kernels[item as usize].def as usize;
        match &self.code.defs[def].body {
            KernelBody::Function(body) => {
                let workspace = self.parts.get(&item).and_then(|part| part.workspace.as_ref());
                self.run_function(&self.kernels[item as usize], &**body, workspace)
            }
            KernelBody::Pto(_) => {
                let part = &self.parts[&item];
                (0..part.blocks).try_for_each(|block| {
                    let block = Block { part, block, iteration: self.iteration, device: 0 };
                    run_block(self.code, block, self.shared)
                })
            }
        }
    }

    #[inline]
    fn run_function(
        &self,
        kernel: &LocalKernel<'_>,
        body: &Body,
        workspace: Option<&TensorRange>,
    ) -> Result<(), TgFault> {
        let first = kernel.first_arg as usize;
        let blocks = kernel.def.block_dim;
        for block in 0..blocks {
            let mut cx = TgCx {
                def: kernel.def,
                args: &self.args[first..first + kernel.args as usize],
                workspace,
                block,
                blocks,
                iteration: self.iteration,
                device: 0,
                devices: self.shared.devices,
            };
            body(&mut cx).map_err(|fault| kernel_fault(&cx, fault))?;
        }
        Ok(())
    }
}

impl Scalars for LocalRun<'_> {
    type Fault = TgFault;

    fn eval(&mut self, condition: u32, iterations: &[u32]) -> Result<i64, TgFault> {
        if self.shared.check_cancel().is_err() {
            return Err(cancelled().into());
        }
        Ok(evaluate(&self.values(iterations), condition, self.shared)?)
    }

    fn round(&mut self) -> Result<(), TgFault> {
        Ok(self.shared.check_cancel()?)
    }
}

impl LocalBodies for LocalRun<'_> {
    #[inline]
    fn kernel(&mut self, kernel: u32, iterations: &[u32]) -> Result<(), TgFault> {
        let code = self.code;
        if !code.open.is_empty() {
            let items =
                std::iter::once(kernel).chain(code.plan.kernels[kernel as usize].batch.iter().copied());
            let (values, bindings) = (self.values(iterations), &self.bindings);
            items.into_iter().try_for_each(|item| code.open.compare(item, &values, bindings, self.shared))?;
        }
        let local = &self.kernels[kernel as usize];
        if let Some(body) = local.body {
            return self.run_function(local, body, None);
        }
        self.run_any(kernel, iterations)?;
        code.plan.kernels[kernel as usize].batch.iter().try_for_each(|&item| self.run_any(item, iterations))
    }

    fn copy(&mut self, copy: u32) -> Result<(), TgFault> {
        Ok(run_item(Some(NodeKind::Copy), copy, &self.values(&[]), self.shared)?)
    }

    fn free(&mut self, free: u32) -> Result<(), TgFault> {
        Ok(run_item(Some(NodeKind::Free), free, &self.values(&[]), self.shared)?)
    }

    fn checkpoint(&mut self, checkpoint: u32, state: &[u32]) -> Result<(), TgFault> {
        let number = self.code.plan.checkpoints[checkpoint as usize].checkpoint;
        let launch = SavedLaunch {
            graph: self.code.plan.no.0,
            iteration: self.iteration,
            partition: PartitionNo::NONE.0,
            scalars: self.scalars.clone(),
            words: Some(state.to_vec()),
            ..SavedLaunch::default()
        };
        Ok(self.shared.save_graph(self.code, 0, number.0, Paused::Here(&launch))?)
    }
}
