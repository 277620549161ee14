//! What a launch runs: its stages, the kernels they reach, and what those do with tensors.

use crate::layout::codes::OTHER_GRID;
use crate::lower::codes;
use crate::{KernelAccess, PlanStage, TensorUse, arrays_read, pools, walk};
use wsp_core::policy::{ExecPool, PoolSizes, Ready};
use wsp_core::{AccessKind, FuncId, GraphId, SpaceId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{
    ArrayRef, BindingSource, Consumer, DependencyRef, Elem, Graph, LaunchTarget, LocalTy, Module, StmtKind,
    Storage, TileTy,
};
use wsp_ordered::OrderedSet;

/// A stage before its generator is lowered.
pub(super) struct StageSource {
    pub(super) name: String,
    pub(super) space: SpaceId,
    pub(super) generator: FuncId,
    pub(super) span: Span,
}

/// The stages of the module's entry, in elaboration order.
pub(super) fn of_entry(module: &Module) -> Result<Vec<StageSource>, Vec<Diagnostic>> {
    let Some(entry) = &module.entry else {
        let d = Diagnostic::error(codes::NO_ENTRY, "there is nothing to launch")
            .note("a file without a host entry is a library")
            .help("add a function with `PTO_LAUNCH(Space, { … });`")
            .help("or run a workload or a task graph that names this file: `use \"FILE.pto\"` in a `.wsp` or `.tg` file")
            .python("add a function with `PTO_LAUNCH(Space, { … });`")
            .python("or call its kernels in a `@workload`: `lib = load(path)`, then `lib.kernel_name(field=…)`");
        return Err(vec![d]);
    };
    let wanted: Vec<(&str, SpaceId, Span)> = match entry.launch.target {
        LaunchTarget::Kernels => Vec::new(),
        LaunchTarget::Space(id) => vec![(&module.spaces[id.index()].name, id, entry.launch.span)],
        LaunchTarget::Graph(id) => {
            graph(module, id).stages.iter().map(|s| (s.name.as_str(), s.space, s.span)).collect()
        }
    };
    let (mut stages, mut wrong) = (Vec::new(), Vec::new());
    for (name, space, span) in wanted {
        let declared = &module.spaces[space.index()];
        match declared.generator {
            Some(generator) => stages.push(StageSource { name: name.to_owned(), space, generator, span }),
            None => wrong.push(
                Diagnostic::error(codes::NO_GENERATOR, format!("space `{}` has no generator", declared.name))
                    .at(span, "launched here")
                    .label(declared.span, "the space")
                    .help(format!("add `PTO_DESCRIPTOR_GEN({}) {{ … }}`", declared.name)),
            ),
        }
    }
    if wrong.is_empty() { Ok(stages) } else { Err(wrong) }
}

/// What the schedules of all stages say of the launch, whose tasks have one set of workers: of each gate the narrowest, the pools of all,
/// and an order of ready tasks where some stage has one.
///
/// # Errors
/// Stages with other pools.
pub(super) fn policy(
    stages: &[PlanStage],
    sources: &[StageSource],
) -> Result<SchedulePolicy, Vec<Diagnostic>> {
    let mut policy = SchedulePolicy { ready: Ready::WorkSteal, ..SchedulePolicy::default() };
    let mut pools: Option<usize> = None;
    for (at, stage) in stages.iter().enumerate() {
        let of = &stage.schedule.policy;
        policy.ready = match (policy.ready, of.ready) {
            (Ready::Priority, _) | (_, Ready::Priority) => Ready::Priority,
            (Ready::Fifo, _) | (_, Ready::Fifo) => Ready::Fifo,
            (other, _) => other,
        };
        for gate in &of.gates {
            match policy.gates.iter_mut().find(|known| known.scope == gate.scope) {
                Some(known) => known.capacity = known.capacity.min(gate.capacity),
                None => policy.gates.push(*gate),
            }
        }
        on_one_grid(&mut policy, of, sources[at].span)?;
        if of.pools == PoolSizes::Shared {
            continue;
        }
        if let Some(first) = pools.filter(|_| policy.pools != of.pools) {
            return Err(vec![
                Diagnostic::error(codes::SCHEDULE_UNCLEAR, "the stages of one launch have other pools")
                    .at(sources[at].span, "`PTO_POOLS` of this stage")
                    .label(sources[first].span, "and of this one")
                    .help("write the same numbers, or leave `PTO_POOLS` out of all schedules but one"),
            ]);
        }
        (policy.pools, pools) = (of.pools, Some(at));
    }
    Ok(policy)
}

/// Takes in the grid and the layouts of a stage: a launch has one grid, and each tensor one layout.
fn on_one_grid(all: &mut SchedulePolicy, of: &SchedulePolicy, span: Span) -> Result<(), Vec<Diagnostic>> {
    let other = |what: String| {
        let fault =
            Diagnostic::error(OTHER_GRID, what).at(span, "the schedule of this stage says it otherwise");
        vec![fault.help("write the same in each schedule, or in one of them only")]
    };
    if let (Some(before), Some(grid)) = (all.grid, of.grid)
        && before != grid
    {
        let (bx, by, x, y) = (before.x, before.y, grid.x, grid.y);
        return Err(other(format!(
            "the stages of one launch have grids of {bx} × {by} and of {x} × {y} tiles"
        )));
    }
    all.grid = all.grid.or(of.grid);
    for (all, of) in [(&mut all.layouts, &of.layouts), (&mut all.relayouts, &of.relayouts)] {
        for layout in of {
            match all.iter().find(|known| known.tensor == layout.tensor) {
                Some(known) if known.dims == layout.dims => {}
                Some(_) => return Err(other(format!("`{}` has two layouts in one launch", layout.tensor))),
                None => all.push(layout.clone()),
            }
        }
    }
    Ok(())
}

/// A warning where the pools of a launch have workers of a unit that no kernel of its stages is for.
pub(super) fn idle_pool(
    module: &Module,
    stages: &[PlanStage],
    sources: &[StageSource],
    pools: PoolSizes,
) -> Option<Diagnostic> {
    let units: Vec<ExecPool> =
        stages.iter().flat_map(|stage| &stage.kernels).map(|kernel| module.unit(*kernel)).collect();
    let with_pools = stages.iter().position(|stage| stage.schedule.policy.pools == pools)?;
    pools::idle_pool(pools, &units, sources[with_pools].span)
}

fn graph(module: &Module, id: GraphId) -> &Graph {
    &module.graphs[id.index()]
}

/// The kernels that run for what a generator emits.
pub(super) fn kernels_of(module: &Module, generator: FuncId) -> OrderedSet<FuncId> {
    let mut kernels = OrderedSet::new();
    walk::stmts(&module.functions[generator.index()].body, &mut |stmt| {
        let StmtKind::Emit { descriptor, .. } = &stmt.kind else { return };
        match module.structs[descriptor.index()].consumer {
            Consumer::Kernel(kernel) => {
                kernels.insert(kernel);
            }
            Consumer::Tiers { set, .. } => {
                kernels.extend(module.tier_sets[set.index()].tiers.iter().map(|tier| tier.kernel));
            }
            // Nobody emits such a descriptor.
            Consumer::None => {}
        }
    });
    kernels
}

/// What these kernels do with each tensor of the module.
pub(super) fn tensor_uses(
    module: &Module,
    accesses: &[Vec<KernelAccess>],
    kernels: &OrderedSet<FuncId>,
) -> Vec<TensorUse> {
    let mut uses = vec![TensorUse::default(); module.tensors.len()];
    for kernel in kernels {
        for access in &accesses[kernel.index()] {
            let used = &mut uses[access.tensor.index()];
            match access.mode {
                AccessKind::Read => used.read = true,
                AccessKind::Write => used.written = true,
            }
        }
        for tensor in arrays_of(module, *kernel) {
            uses[tensor.index()].read = true;
        }
    }
    // Where no task can reach a load, its kernel is compiled with it all the same, for an array that is there. What would only be stored
    // there is an output that is never written.
    let mut functions = OrderedSet::new();
    kernels.iter().for_each(|kernel| walk::callees(module, *kernel, &mut functions));
    for function in functions.iter().map(|id| &module.functions[id.index()]) {
        let mut named = |tensor: TensorId| {
            let used = &mut uses[tensor.index()];
            used.read |= !used.written;
        };
        walk::tensors(&function.body, &mut |tensor, stored| {
            if !stored {
                named(tensor);
            }
        });
        for local in &function.locals {
            if let LocalTy::Tile(TileTy { elem: Elem::Of(tensor), .. }) = &local.ty {
                named(*tensor);
            }
        }
    }
    uses
}

/// Integer arrays of the launch that a kernel and its helpers read.
fn arrays_of(module: &Module, kernel: FuncId) -> impl Iterator<Item = TensorId> {
    arrays_read(module, kernel).into_iter().filter_map(|array| match array {
        ArrayRef::Tensor(tensor) => Some(tensor),
        _ => None,
    })
}

/// Checks the dependencies of the launched graph against what its stages read and write; `uses` is per stage.
pub(super) fn check_dependencies(module: &Module, uses: &[Vec<TensorUse>]) -> Vec<Diagnostic> {
    let Some(LaunchTarget::Graph(id)) = module.entry.as_ref().map(|entry| entry.launch.target) else {
        return Vec::new();
    };
    let graph = graph(module, id);
    let cx = DependencyCx { module, graph, uses };
    graph.dependencies.iter().flat_map(|(reader, writer)| cx.check(reader, writer)).collect()
}

struct DependencyCx<'a> {
    module: &'a Module,
    graph: &'a Graph,
    uses: &'a [Vec<TensorUse>],
}

impl DependencyCx<'_> {
    fn check(&self, reader: &DependencyRef, writer: &DependencyRef) -> Vec<Diagnostic> {
        let (reads, writes) = (self.stage(reader), self.stage(writer));
        let mut wrong = Vec::new();
        if !self.any(writer, |used| used.written) {
            let message = format!("stage `{}` does not write `{}`", writes.0, self.name(writer.tensor));
            wrong.push(
                Diagnostic::error(codes::DEPENDENCY_NOT_WRITTEN, message)
                    .at(writes.1, "no kernel of this stage stores to it")
                    .label(reads.1, "this stage is said to wait for it")
                    .help(self.suggest(writer.stage, "writes", |used| used.written)),
            );
        }
        if !self.any(reader, |used| used.read) {
            let message = format!("stage `{}` does not read `{}`", reads.0, self.name(reader.tensor));
            wrong.push(
                Diagnostic::error(codes::DEPENDENCY_NOT_READ, message)
                    .at(reads.1, "no kernel of this stage loads from it")
                    .help(self.suggest(reader.stage, "reads", |used| used.read)),
            );
        }
        if writer.stage >= reader.stage {
            let message = format!("stage `{}` comes before what it depends on", reads.0);
            wrong.push(
                Diagnostic::error(codes::DEPENDENCY_ORDER, message)
                    .at(reads.1, "reads")
                    .label(writes.1, "writes")
                    .help(format!("declare stage `{}` before stage `{}`", writes.0, reads.0)),
            );
        }
        if !self.same_memory(reader.tensor, writer.tensor) {
            let (a, b) = (self.name(reader.tensor), self.name(writer.tensor));
            wrong.push(
                Diagnostic::error(
                    codes::DEPENDENCY_TENSORS,
                    format!("`{a}` and `{b}` are different tensors"),
                )
                .at(reads.1, format!("`{}` waits for data that `{}` puts elsewhere", reads.0, writes.0))
                .help(format!("name one tensor on both sides, or bind `.{a}` and `.{b}` to one argument")),
            );
        }
        wrong
    }

    fn stage(&self, side: &DependencyRef) -> (&str, Span) {
        self.graph
            .stages
            .get(side.stage as usize)
            .map_or(("?", self.graph.span), |stage| (&stage.name, stage.span))
    }

    fn name(&self, tensor: TensorId) -> &str {
        &self.module.tensors[tensor.index()].name
    }

    /// Whether the stage does this with the tensor, or with the other half of its cache.
    fn any(&self, side: &DependencyRef, test: impl Fn(&TensorUse) -> bool) -> bool {
        let Some(uses) = self.uses.get(side.stage as usize) else { return false };
        self.halves(side.tensor).into_iter().any(|tensor| test(&uses[tensor.index()]))
    }

    fn halves(&self, tensor: TensorId) -> Vec<TensorId> {
        match self.module.tensors[tensor.index()].storage {
            Storage::CacheKeys(cache) | Storage::CacheValues(cache) => {
                let cache = &self.module.caches[cache.index()];
                vec![cache.keys, cache.values]
            }
            Storage::Launch | Storage::Workspace | Storage::Temporary => vec![tensor],
        }
    }

    fn same_memory(&self, a: TensorId, b: TensorId) -> bool {
        let argument = |tensor: TensorId| {
            let bindings = self.module.entry.iter().flat_map(|entry| &entry.launch.bindings);
            let bound = |source: &BindingSource| match (source, &self.module.tensors[tensor.index()].storage)
            {
                (BindingSource::Tensor(t), _) => *t == tensor,
                (BindingSource::Cache(c), Storage::CacheKeys(of) | Storage::CacheValues(of)) => c == of,
                _ => false,
            };
            bindings.filter(|b| bound(&b.source)).map(|b| b.param).next()
        };
        self.halves(a).contains(&b) || argument(a).is_some_and(|first| argument(b) == Some(first))
    }

    fn suggest(&self, stage: u32, what: &str, test: impl Fn(&TensorUse) -> bool) -> String {
        let uses = self.uses.get(stage as usize).map_or(&[][..], Vec::as_slice);
        let names: Vec<&str> = std::iter::zip(&self.module.tensors, uses)
            .filter(|(_, used)| test(used))
            .map(|(tensor, _)| tensor.name.as_str())
            .collect();
        if names.is_empty() {
            return format!("the stage {what} no tensor at all");
        }
        format!("it {what} {}", super::schedule::quoted(&names))
    }
}
