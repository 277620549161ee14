//! A unit of task graphs as the program that a package is made of: a graph of kernels becomes a table of their blocks, and its edges order them;
//! one with more than that is walked.

use super::arrays::{GRAPHS_ALONE, def, refused, with_arrays, without_graphs, workspaces};
use super::walk::walked;
use crate::graph::supported;
use crate::kernels::{ArgumentKind, ArrayArgument};
use crate::orchestration::{Made, Walk};
use wsp_backend::codes::NO_FILES;
use wsp_backend::{Expansion, LaunchTable, TableRow, TableTask};
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::{PartitionNo, Platform, Scalar};
use wsp_core::{AccessKind, FuncId, TensorId};
use wsp_diag::{Diagnostic, Diagnostics, Severity};
use wsp_ir::tg::Signatures;
use wsp_ir::{KernelEntry, Module};
use wsp_ordered::OrderedMap;
use wsp_plan::{CompileOptions, KernelFile, LoweredPlan, Target, UnitSource, lower_library};
use wsp_tg::plan::{BindItem, BindTensor, HostKind, KernelDef, PlanTensor, TensorKind};
use wsp_tg::{ElaborateOptions, GraphPlan, UnitPlan, elaborate};

/// A unit as a program.
pub(crate) struct Unit {
    pub(crate) plan: LoweredPlan,
    /// What generates its tasks: the blocks of its kernels, or what AICPUs interpret.
    pub(crate) expansion: Expansion,
    /// The graph that they walk.
    pub(super) walk: Option<Walk>,
    /// What of it has no effect.
    pub(crate) notes: Vec<Diagnostic>,
}

impl Unit {
    /// # Errors
    /// Anything but one launch of a graph, of one device and without events; kernels without bodies; arguments that are no whole tensors, or whose extents
    /// do not follow.
    pub(crate) fn new(
        unit: &UnitSource,
        signatures: &Signatures,
        target: &Target,
    ) -> Result<Unit, Diagnostics> {
        let mut plan = elaborate(&unit.module, signatures, &ElaborateOptions::default())?;
        let platform = if target.platform == Platform::Cpu { Platform::A2 } else { target.platform };
        let at = launched(&plan).map_err(|fault| match supported(&unit.module, platform) {
            Ok(()) => fault,
            Err(lacking) => without_graphs(fault.note(lacking.to_string())),
        })?;
        let (file, of_kernels) = entries(unit, &plan.graphs[at])?;
        if is_walked(&plan.graphs[at]) || has_tensors_in_turn(&plan.graphs[at], &of_kernels) {
            // Rounds are the machine's, so that the package is as long as the unit.
            let options = ElaborateOptions { flows: true, unroll_limit: 0, ..ElaborateOptions::default() };
            plan = elaborate(&unit.module, signatures, &options)?;
            let (file, of_kernels) = entries(unit, &plan.graphs[at])?;
            let mut notes = unheeded(&plan.graphs[at]);
            let (lowered, walk, more) = walked(unit, &plan, (at, platform), (file, &of_kernels))?;
            notes.extend(more);
            return Ok(Unit { plan: lowered, expansion: Expansion::Bytecode, walk: Some(walk), notes });
        }
        let (graph, entries) = (&plan.graphs[at], of_kernels);
        let bound = bindings(&plan, graph, file, &entries)?;
        let workspaces = workspaces(graph, &entries);
        let mut all = bound.clone();
        all.extend(workspaces.iter().map(|(id, of)| (*id, of)));
        let module = with_arrays(file, &entries, &all)?;
        let mut called: Vec<FuncId> = Vec::new();
        for entry in &entries {
            if !called.contains(&entry.function) {
                called.push(entry.function);
            }
        }
        let lowered = lower_library(&module, &called, &CompileOptions::default())?;
        let expansion = Expansion::Table(table(graph, &entries)?);
        Ok(Unit { plan: lowered, expansion, walk: None, notes: unheeded(graph) })
    }

    /// How often kernels run; unknown of a graph that is walked. A block 0 belongs to each.
    pub(crate) fn invocations(&self) -> Option<u64> {
        let Expansion::Table(table) = &self.expansion else { return None };
        Some(table.words.chunks(2).filter(|block| block[0] == 0).count() as u64)
    }
}

/// The graph that the unit launches, once.
fn launched(plan: &UnitPlan) -> Result<usize, Diagnostic> {
    let mut found = None;
    for op in &plan.host {
        match op.kind {
            HostKind::Alloc(_) | HostKind::Free(_) | HostKind::Sync(_) => {}
            HostKind::Launch { graph, .. } if found.is_none() => found = Some(graph as usize),
            HostKind::Launch { .. } => {
                return Err(refused("the unit launches more than one graph".to_owned()));
            }
            _ => {
                let message = "the host does more than launch a graph and wait for it";
                return Err(refused(message.to_owned()));
            }
        }
    }
    let at = found.ok_or_else(|| refused("the unit launches no graph".to_owned()))?;
    let graph = &plan.graphs[at];
    let parts = [
        (
            "notifications",
            !graph.notifies.is_empty() || !graph.notify_waits.is_empty(),
            "they go from device to device, and a package is a launch of one; a2 and a3 have none",
        ),
        (
            "checkpoints",
            !graph.checkpoints.is_empty(),
            "no NPU has `TG_CHECKPOINT`: the table of instructions and targets says so",
        ),
        (
            "events",
            !graph.event_waits.is_empty() || !graph.signals.is_empty(),
            "a host signals them while a graph runs, and that of a package waits for its end",
        ),
    ];
    match parts.iter().find(|(_, has, _)| *has) {
        Some((what, _, why)) => Err(refused(format!("graph `{}` has {what}", graph.name)).note(*why)),
        None => Ok(at),
    }
}

/// Whether a graph is more than kernels and edges: then AICPUs walk it.
fn is_walked(graph: &GraphPlan) -> bool {
    let by_number = |bind: &BindItem| matches!(bind.tensor, BindTensor::Table { .. });
    let plain = graph.loops.is_empty() && graph.conditions.is_empty();
    let apart = graph.records.gangs.is_empty() && graph.kernels.iter().all(|kernel| kernel.batch.is_empty());
    let whole = apart && graph.copies.is_empty() && graph.frees.is_empty();
    !(plain && whole) || graph.binds.iter().any(by_number)
}

/// Whether a tensor of the file of kernels is one of the graph's in one kernel and another in a second: the machine hands over those of each.
/// Kernels with a workspace have one memory for it.
fn has_tensors_in_turn(graph: &GraphPlan, entries: &[&KernelEntry]) -> bool {
    let mut first: OrderedMap<TensorId, u32> = OrderedMap::new();
    let differ = graph.kernels.iter().zip(entries).any(|(item, entry)| {
        let binds = graph.binds_of(item);
        let pairs = binds.iter().filter_map(|bind| match bind.tensor {
            BindTensor::One(of) => Some((entry.arguments().nth(bind.arg as usize)?, of)),
            BindTensor::Table { .. } => None,
        });
        pairs.into_iter().any(|(own, of)| *first.entry(own).or_insert(of) != of)
    });
    let has_one =
        |own: &TensorId| entries.iter().filter(|entry| entry.workspace() == Some(*own)).count() == 1;
    differ && entries.iter().filter_map(|entry| entry.workspace()).all(|own| has_one(&own))
}

/// The entry of each kernel of a graph, and the file that has them.
fn entries<'u>(
    unit: &'u UnitSource,
    graph: &GraphPlan,
) -> Result<(&'u KernelFile, Vec<&'u KernelEntry>), Diagnostic> {
    let mut found: Option<&KernelFile> = None;
    let mut entries = Vec::new();
    for item in &graph.kernels {
        let symbol = &def(graph, item.def).entry;
        let of = |file: &&KernelFile| entry_of(&file.module, symbol).is_some();
        let file = unit.files.iter().find(of).ok_or_else(|| {
            Diagnostic::error(NO_FILES, format!("kernel `{symbol}` of graph `{}` has no body", graph.name))
                .help("name the `.pto` file that has it: `use \"FILE.pto\"` in the unit, or `--kernels FILE.pto`")
                .help(GRAPHS_ALONE)
        })?;
        if found.is_some_and(|other| !std::ptr::eq(other, file)) {
            return Err(refused(format!("kernels of graph `{}` lie in several files", graph.name)));
        }
        found = Some(file);
        entries.extend(entry_of(&file.module, symbol));
    }
    let file = found.ok_or_else(|| refused(format!("graph `{}` has no kernel", graph.name)))?;
    Ok((file, entries))
}

fn entry_of<'m>(module: &'m Module, symbol: &str) -> Option<&'m KernelEntry> {
    module.kernel_entries.iter().find(|entry| module.entry_name(entry) == symbol)
}

/// The tensor of the unit that each tensor of the kernels is.
fn bindings<'p>(
    plan: &'p UnitPlan,
    graph: &GraphPlan,
    file: &KernelFile,
    entries: &[&KernelEntry],
) -> Result<OrderedMap<TensorId, &'p PlanTensor>, Diagnostic> {
    let mut bound: OrderedMap<TensorId, &PlanTensor> = OrderedMap::new();
    for ((at, item), entry) in (0..).zip(&graph.kernels).zip(entries) {
        let name = graph.kernel_name(at);
        if let Some(workspace) = entry.workspace() {
            let users = entries.iter().filter(|other| other.workspace() == Some(workspace));
            if users.count() > 1 {
                return Err(refused(format!("the workspace of `{name}` is that of another kernel, too")));
            }
        }
        let binds = graph.binds_of(item);
        for (arg, tensor) in (0u32..).zip(entry.arguments()) {
            let given = binds.iter().find(|bind| bind.arg == arg);
            let given =
                given.ok_or_else(|| refused(format!("argument {arg} of `{name}` is bound to nothing")))?;
            let of = match given.tensor {
                BindTensor::One(of) => &plan.tensors[of as usize],
                BindTensor::Table { .. } => {
                    return Err(refused(format!("argument {arg} of `{name}` is one of several tensors")));
                }
            };
            let bytes = of.bytes.and_then(|bytes| i64::try_from(bytes).ok());
            let is_whole = |size: i64| size == 0 || Some(size) == bytes;
            let whole = given.offset == Scalar::Const(0)
                && matches!(given.size, Scalar::Const(size) if is_whole(size));
            if !whole {
                return Err(refused(format!("argument {arg} of `{name}` is a part of `{}`", of.name)));
            }
            let own = &file.module.tensors[tensor.index()].name;
            if let Some(other) =
                bound.insert(tensor, of).filter(|other| other.no != of.no || other.graph != of.graph)
            {
                let message = format!(
                    "`{own}` of the kernels is `{}` of the graph, and in `{name}` `{}`",
                    other.name, of.name
                );
                return Err(
                    refused(message).note("a package has one array for each tensor of the file of kernels")
                );
            }
            let twin = bound
                .iter()
                .find(|(id, other)| **id != tensor && other.name == of.name && of.kind != TensorKind::Extern);
            if let Some((id, _)) = twin {
                let other = &file.module.tensors[id.index()].name;
                return Err(refused(format!("`{other}` and `{own}` of the kernels are both `{}`", of.name)));
            }
        }
    }
    Ok(bound)
}

/// Leaves out regions where the edges of a graph order its tasks. They stay where tasks of one block wait for each other by them, and where
/// orchestration reads what tasks wrote.
pub(super) fn without_regions(plan: &LoweredPlan, kernels: &[Made]) -> LoweredPlan {
    let mut plan = plan.clone();
    let mut walked = Vec::new();
    for argument in kernels.iter().flat_map(|made| &made.source.arguments) {
        if let ArgumentKind::Array { array: ArrayArgument::Tensor(id), walked: true, .. } = argument.kind {
            walked.push(plan.memory[id.index()]);
        }
    }
    for made in kernels {
        let accesses = &mut plan.accesses[made.kernel.index()];
        let of = |mode: AccessKind| {
            let of = accesses.iter().filter(|access| access.mode == mode);
            of.map(|access| access.tensor).collect::<Vec<_>>()
        };
        let (read, written) = (of(AccessKind::Read), of(AccessKind::Write));
        let is_both = |id: TensorId| read.contains(&id) && written.contains(&id);
        let has_several = !made.source.tasks.is_empty();
        accesses.retain(|access| walked.contains(&access.tensor) || has_several && is_both(access.tensor));
    }
    plan
}

/// The blocks of the kernels, each behind all blocks of the kernels that it waits for.
fn table(graph: &GraphPlan, entries: &[&KernelEntry]) -> Result<LaunchTable, Diagnostic> {
    let nodes = &graph.records.nodes;
    let mut waits = vec![0u32; nodes.len()];
    let succs = |at: usize| &graph.records.succs[nodes[at].first as usize..nodes[at].end as usize];
    (0..nodes.len()).for_each(|at| succs(at).iter().for_each(|to| waits[*to as usize] += 1));
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    let mut ready: Vec<usize> = (0..nodes.len()).rev().filter(|at| waits[*at] == 0).collect();
    // By kernel: its first ordinal and how many blocks it has.
    let mut blocks = vec![(0u64, 0u32); graph.kernels.len()];
    let (mut table, mut ordinal) = (LaunchTable::default(), 0u64);
    while let Some(at) = ready.pop() {
        let mut seen = std::mem::take(&mut before[at]);
        seen.sort_unstable();
        seen.dedup();
        match NodeKind::from_code(nodes[at].kind) {
            Some(NodeKind::Kernel) => {
                let kernel = nodes[at].item;
                let count = def(graph, graph.kernels[kernel as usize].def).block_dim;
                for block in 0..count {
                    table.words.extend([block, count]);
                    for earlier in &seen {
                        let (first, count) = blocks[*earlier as usize];
                        table.after.extend(first..first + u64::from(count));
                    }
                    table.rows.push(TableRow::Task(TableTask {
                        of: entries[kernel as usize].function.0,
                        words_end: table.words.len() as u32,
                        after_end: table.after.len() as u32,
                        stream: None,
                        priority: 0,
                    }));
                }
                blocks[kernel as usize] = (ordinal, count);
                ordinal += u64::from(count);
                seen = vec![kernel];
            }
            Some(NodeKind::Join) => {}
            _ => return Err(refused(format!("graph `{}` has more than kernels", graph.name))),
        }
        for to in succs(at) {
            before[*to as usize].extend_from_slice(&seen);
            waits[*to as usize] -= 1;
            if waits[*to as usize] == 0 {
                ready.push(*to as usize);
            }
        }
    }
    Ok(table)
}

/// What of a graph has no effect.
fn unheeded(graph: &GraphPlan) -> Vec<Diagnostic> {
    let asks = |def: &KernelDef| {
        def.request.is_some() || def.persistent.is_some() || def.partition != PartitionNo::NONE
    };
    let some = !graph.affinities.is_empty() || graph.defs.iter().any(asks);
    let message = "requests for cores, partitions, affinities and residence of kernels have no effect in a package: cores of a kind run the blocks of any kernel";
    some.then(|| Diagnostic::new(NO_FILES, Severity::Note, message)).into_iter().collect()
}
