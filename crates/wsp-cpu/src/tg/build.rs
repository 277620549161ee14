//! How a session is made: checks, elaboration, bodies of kernels, first values.

use super::accounts::Accounts;
use super::code::{DefCode, GraphCode, LocalTensor, Resident, Spans, UNUSED, when};
use super::codes;
use super::identity::Identity;
use super::kernels::{KernelBody, TgKernels};
use super::memory::TensorRange;
use super::open::OpenPairs;
use super::options::SessionOptions;
use super::scalars;
use super::session::Session;
use super::shared::{Shared, no_store};
use super::sizes::check_graph;
use super::tensors::{Given, TensorTable, take_inputs, take_size};
use super::touches::{Launches, OpenUses};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wsp_backend::Recording;
use wsp_backend::claims::{self, Argument};
use wsp_core::tg::{Direction, ExprOp, Instr, StreamNo};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::{ArgDecl, ArgSource, Signatures, TgModule, verify};
use wsp_memory::{Claimed, View};
use wsp_plan::tg::matrix::DeviceModel;
use wsp_plan::tg::plan::{BindItem, ElaborateOptions, GraphPlan, HostKind, TensorKind, UnitPlan};
use wsp_plan::tg::{self, Checked, LintOptions, elaborate};
use wsp_runtime::tg::{
    Affinity, CoreRange, EventInfo, Granted, Graph, GraphParts, KernelInfo, NotifyInfo, Partition, Runtime,
};

impl Session {
    /// Checks a unit, elaborates it, and gives it kernels, memory and first values.
    ///
    /// # Errors
    /// Every error that the checks find; entry symbols without a kernel; inputs, scalars and events that do not fit; settings
    /// out of range.
    pub fn new(
        module: &TgModule,
        kernels: &TgKernels,
        options: SessionOptions,
    ) -> Result<Session, Vec<Diagnostic>> {
        let signatures = kernels.signatures();
        let mut checked = check(module, kernels, &signatures, &options)?;
        let mut plan = elaborate(module, &signatures, &ElaborateOptions::default())?;
        let scalars = scalars::values(module, &options.scalars)?;
        let mut table = TensorTable::new(&plan, module);
        table.recording = options.recording;
        let named: BTreeSet<&str> =
            signatures.iter().flat_map(|kernel| &kernel.resident).map(|of| of.name.as_str()).collect();
        check_gaps(&options)?;
        take_inputs(&mut table, given(&options), &|name| named.contains(name))?;
        take_sizes(&mut table, &plan, &signatures);
        let graphs = std::mem::take(&mut plan.graphs);
        let mut residents = BTreeMap::new();
        let codes = graphs
            .into_iter()
            .enumerate()
            .map(|(at, graph)| code(graph, at as u32, &plan, module, kernels, &options, &mut residents))
            .collect::<Result<Vec<_>, _>>()?;
        check_inputs(&table, &codes)?;
        let bytes = |unit: u32| table[unit as usize].bytes;
        let sizes = codes.iter().flat_map(|code| check_graph(&code.plan, module, kernels, &bytes));
        checked.findings.extend(sizes);
        checked.findings = refused(checked.findings)?;
        let mut codes = codes;
        for code in &mut codes {
            code.open = OpenPairs::new(&code.plan, &checked.open);
            code.uses = OpenUses::new(&code.plan, &code.whens, &checked.launches);
        }
        make(module, plan, table, codes, scalars, checked, options)
    }
}

/// What was found, unless it has errors.
fn refused(found: Vec<Diagnostic>) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(found) }
}

/// Everything that can be found before a run.
fn check(
    module: &TgModule,
    kernels: &TgKernels,
    signatures: &Signatures,
    options: &SessionOptions,
) -> Result<Checked, Vec<Diagnostic>> {
    if let Err(fault) = options.runtime.check() {
        return Err(vec![Diagnostic::error(codes::BAD_OPTION, fault.to_string())]);
    }
    let mut found = refused(verify(module))?;
    let mut graph = wsp_core::tg::GraphNo(0);
    for (at, instr) in module.instrs.iter().enumerate() {
        match *instr {
            Instr::TgBegin { graph_id } => graph = graph_id,
            Instr::TgKernel { kernel_id, entry_symbol, .. } if !kernels.has(module.str(entry_symbol)) => {
                let name = module.name(wsp_ir::tg::Namespace::Kernel, graph, kernel_id.0);
                let fault = kernels.unknown(module.str(entry_symbol), &name);
                found.push(fault.at(module.span(at), "defined here"));
            }
            Instr::TgCheckpoint { .. } | Instr::TgRestore { .. } if options.checkpoints.is_none() => {
                found.push(no_store().at(module.span(at), "needed here"));
            }
            _ => {}
        }
    }
    found = refused(found)?;
    let cores = options.runtime.cores;
    let device = DeviceModel {
        aic: cores.aic,
        aiv: cores.aiv,
        aicpu: cores.aicpu,
        aiv_per_aic: cores.aiv_per_aic,
        l2_domains: cores.l2_domains,
    };
    // Values that stay as they are for the whole session.
    let scalars = scalars::values(module, &options.scalars).unwrap_or_default();
    let is_fixed = |arg: &ArgDecl| arg.source == ArgSource::Launch;
    let scalars: Vec<Option<i64>> =
        module.args.iter().zip(scalars).map(|(arg, value)| is_fixed(arg).then_some(value)).collect();
    let lint = LintOptions { platform: None, device, devices: Some(options.runtime.devices) };
    let checked = tg::check(module, signatures, &lint, &scalars);
    // What is left to the run is no finding of it.
    found.extend(checked.findings.into_iter().filter(|found| found.code != codes::LEFT_OPEN));
    Ok(Checked { findings: refused(found)?, open: checked.open, launches: checked.launches })
}

/// External tensors whose size is not declared get the size that kernels of known shapes need.
fn take_sizes(table: &mut TensorTable, plan: &UnitPlan, signatures: &Signatures) {
    for graph in &plan.graphs {
        for kernel in &graph.kernels {
            let Some(signature) = signatures.get(&graph.defs[kernel.def as usize].entry) else { continue };
            for bind in graph.binds_of(kernel) {
                let arg = signature.args.get(bind.arg as usize);
                let known = arg.filter(|arg| !arg.shape.is_empty() && arg.shape.iter().all(Option::is_some));
                let Some(bytes) = known.and_then(|arg| arg.least_bytes()) else { continue };
                if let (Some(0), Some(0)) = (bind.offset.as_const(), bind.size.as_const()) {
                    for &unit in graph.tensors_of(&bind.tensor) {
                        take_size(table, unit as usize, bytes);
                    }
                }
            }
        }
    }
}

/// Tensors that a graph reads and writes, and bodies for its kernels.
fn code(
    plan: GraphPlan,
    place: u32,
    unit: &UnitPlan,
    module: &TgModule,
    kernels: &TgKernels,
    options: &SessionOptions,
    residents: &mut BTreeMap<String, TensorRange>,
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
            let own = unit.tensors[at].graph.is_some()
                && unit.tensors[at].location != wsp_core::tg::MemLocation::Shared;
            tensors.push(LocalTensor { unit: at as u32, own, written });
        }
    }
    (tensors, locals)
}

/// Everything that is given, by name.
fn given(options: &SessionOptions) -> impl Iterator<Item = (&str, Given<'_>)> {
    let copied = options.inputs.iter().map(|(name, array)| (name.as_str(), Given::from(array)));
    copied.chain(options.views.iter().map(|(name, view)| (name.as_str(), Given::from(view))))
}

/// Kernels are given byte ranges: arrays of the caller must have no gaps between their elements.
fn check_gaps(options: &SessionOptions) -> Result<(), Vec<Diagnostic>> {
    let with_gaps = options.views.iter().filter(|(_, view)| !view.is_dense()).map(|(name, view)| {
        let message = format!("the array for `{name}` does not lie in row-major order without gaps");
        Diagnostic::error(codes::BAD_INPUT, message)
            .note(format!("extents {:?}, strides of {:?} bytes", view.shape(), view.strides()))
            .help("give it to be copied")
    });
    let faults: Vec<Diagnostic> = with_gaps.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Claims the arrays of the caller.
///
/// # Errors
/// What cannot be used where it lies, and what is in use by a run that goes on.
fn claim<'a>(
    table: &TensorTable,
    codes: &[GraphCode],
    options: &'a SessionOptions,
) -> Result<Claimed, Vec<Diagnostic>> {
    let written = |at: usize| {
        codes.iter().flat_map(|code| &code.tensors).any(|of| of.written && of.unit as usize == at)
    };
    let stored = |name: &str| {
        codes.iter().flat_map(|code| &code.defs).any(|def| match &def.body {
            KernelBody::Function(_) => false,
            KernelBody::Pto(entry) => {
                let residents = &entry.signature().resident;
                residents.iter().any(|of| of.name == name && of.direction != Direction::In)
            }
        })
    };
    let argument = |(name, view): (&'a String, &'a View)| {
        let at = table.by_name(name).ok().filter(|&at| table[at].home == TensorKind::Extern);
        let span = at.map(|at| table[at].span).filter(|span| *span != Span::default());
        Argument { name, view, written: at.is_some_and(written) || stored(name), span }
    };
    let views: Vec<Argument<'_>> = options.views.iter().map(argument).collect();
    let copied = options.copied.iter().map(argument);
    let faults = claims::refused(&views.iter().copied().chain(copied).collect::<Vec<_>>());
    if !faults.is_empty() {
        return Err(faults);
    }
    claims::claimed(options.claim.as_ref(), &claims::uses(views)).map_err(|fault| vec![fault])
}

/// The arrays of tensors that a kernel names itself; each is there once, however many kernels name it.
fn residents_of(
    signature: &wsp_ir::tg::KernelSignature,
    options: &SessionOptions,
    known: &mut BTreeMap<String, TensorRange>,
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
            (None, Some(view), _) => Some(TensorRange::of_view(view, Recording::Off)),
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

/// External tensors that are read and neither given nor written have nothing to read.
fn check_inputs(table: &TensorTable, codes: &[GraphCode]) -> Result<(), Vec<Diagnostic>> {
    let mut faults = Vec::new();
    for (at, info) in table.iter() {
        if info.home != TensorKind::Extern || info.given {
            continue;
        }
        let uses = || codes.iter().flat_map(|code| &code.tensors).filter(|of| of.unit as usize == at);
        if uses().next().is_some() && !uses().any(|of| of.written) {
            let message = format!("no array is given for external tensor `{}`, which is read", info.name);
            let fault = Diagnostic::error(super::codes::BAD_INPUT, message);
            let fault = info.declared(fault).help(format!("give one: `--input {}=FILE.npy`", info.name));
            faults.push(fault.python(format!("give one: `graph.run({{\"{}\": array}})`", info.name)));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What the runtime knows of a graph.
fn parts(plan: &GraphPlan, unit: &UnitPlan) -> GraphParts {
    let records = plan.records.clone();
    let event_name = |event: wsp_core::tg::EventNo| {
        let found = unit.events.iter().find(|of| of.no == event);
        found.map_or_else(|| event.0.to_string(), |of| of.name.clone())
    };
    let notify = |item: &wsp_plan::tg::plan::NotifyItem| NotifyInfo {
        device: item.device.0,
        id: item.notify.0,
        name: item.notify.0.to_string(),
    };
    let event =
        |of: &wsp_plan::tg::plan::EventItem| EventInfo { event: of.event.0, name: event_name(of.event) };
    GraphParts {
        nodes: records.nodes,
        needs: records.needs,
        succs: records.succs,
        guards: records.guards,
        decisions: records.decisions,
        loops: records.loops,
        gangs: records.gangs,
        members: records.members,
        top: records.top,
        name: plan.name.clone(),
        kernels: (0..plan.kernels.len()).map(|item| kernel_info(plan, unit, item)).collect(),
        copies: plan.copies.iter().map(|copy| format!("copy.{}", copy.copy)).collect(),
        frees: plan
            .frees
            .iter()
            .map(|free| format!("the release of `{}`", unit.tensors[free.tensor as usize].name))
            .collect(),
        notifies: plan.notifies.iter().map(notify).collect(),
        waits: plan.notify_waits.iter().map(notify).collect(),
        checkpoints: plan.checkpoints.iter().map(|of| of.checkpoint.0).collect(),
        event_waits: plan.event_waits.iter().map(event).collect(),
        signals: plan.signals.iter().map(event).collect(),
        affinities: affinities(plan),
    }
}

fn kernel_info(plan: &GraphPlan, unit: &UnitPlan, item: usize) -> KernelInfo {
    let kernel = &plan.kernels[item];
    let def = &plan.defs[kernel.def as usize];
    let with = |item: &u32| plan.defs[plan.kernels[*item as usize].def as usize].block_dim;
    KernelInfo {
        name: plan.kernel_name(item as u32),
        blocks: def.block_dim + kernel.batch.iter().map(with).sum::<u32>(),
        core_type: def.core_type,
        partition: partitions(unit).get(&def.partition.0).copied(),
        request: def.request.map(|[aic, aiv, aicpu]| Granted { aic, aiv, aicpu }),
        persistent: def.persistent,
    }
}

fn affinities(plan: &GraphPlan) -> Vec<Affinity> {
    let items = |def: &u32| {
        (0..plan.kernels.len() as u32).filter(|&k| plan.kernels[k as usize].def == *def).collect::<Vec<u32>>()
    };
    plan.affinities
        .iter()
        .map(|of| Affinity { kind: of.kind, members: of.members.iter().map(items).collect() })
        .collect()
}

fn partitions(unit: &UnitPlan) -> FxHashMap<u32, Partition> {
    let of = |p: &wsp_plan::tg::plan::PlanPartition| Partition {
        aic: CoreRange { start: p.aic_start, count: p.aic_count },
        aiv: CoreRange { start: p.aiv_start, count: p.aiv_count },
    };
    unit.partitions.iter().map(|partition| (partition.no.0, of(partition))).collect()
}

/// Puts a session together and sets its first values.
fn make(
    module: &TgModule,
    plan: UnitPlan,
    table: TensorTable,
    codes: Vec<GraphCode>,
    scalars: Vec<i64>,
    checked: Checked,
    options: SessionOptions,
) -> Result<Session, Vec<Diagnostic>> {
    let claim = claim(&table, &codes, &options)?;
    let devices = options.runtime.devices;
    let accounts = (0..devices).map(|_| Accounts::new(options.memory)).collect();
    let mut events = Vec::new();
    for event in &options.events {
        events.push(scalars::event(module, event).map_err(|fault| vec![*fault])?);
    }
    let codes: Vec<Arc<GraphCode>> = codes.into_iter().map(Arc::new).collect();
    // Only checkpoints ask whose they are.
    let mut identity = Identity::default();
    if options.checkpoints.is_some() {
        identity = Identity::new(&plan, &codes, &options);
        let names = plan.args.iter().map(|arg| arg.name.clone());
        identity.scalars = names.zip(scalars.iter().copied()).collect();
    }
    let restores = restores(&plan, &codes);
    let shared = Shared::new(table, accounts, identity, restores, scalars, plan.host_loops, &options);
    let shared = shared.ok_or_else(|| {
        vec![Diagnostic::error(codes::OUT_OF_MEMORY, "the machine has no memory for a session")]
    })?;
    let mut shared = shared.with_claim(claim);
    shared.launches = Launches::new(checked.launches, devices);
    for code in &codes {
        let written = code.tensors.iter().filter(|tensor| tensor.written);
        written.for_each(|tensor| shared.memory().set_written(tensor.unit as usize));
    }
    set_inputs(&shared, &options).map_err(|fault| vec![*fault])?;
    let tracing = options.runtime.tracing;
    let runtime = Runtime::new(options.runtime)
        .map_err(|fault| vec![Diagnostic::error(codes::BAD_OPTION, fault.to_string())])?;
    // Only this thread has set them.
    let _ = shared.events.set(runtime.events());
    let streams = module.instrs.iter().filter_map(|instr| match instr {
        Instr::TgLaunch { stream: StreamNo(number), .. } => Some(number + 1),
        _ => None,
    });
    let session = Session {
        by_no: codes.iter().enumerate().map(|(at, code)| (code.plan.no, at)).collect(),
        pools: codes.iter().map(|_| Vec::new()).collect(),
        partitions: partitions(&plan),
        next_stream: streams.max().unwrap_or(1),
        module: module.clone(),
        plan,
        shared: Arc::new(shared),
        codes,
        findings: checked.findings,
        notes: Vec::new(),
        resumed: None,
        stats: wsp_runtime::tg::Stats::default(),
        payload: options.payload,
        tracing,
        streams: BTreeMap::new(),
        runtime,
    };
    events.into_iter().for_each(|event| session.give_signal(event));
    Ok(session)
}

/// Graphs and checkpoints that the host restores.
fn restores(plan: &UnitPlan, codes: &[Arc<GraphCode>]) -> Vec<(u32, u32)> {
    let restored = |op: &wsp_plan::tg::plan::HostOp| match op.kind {
        HostKind::Restore { graph, checkpoint } => Some((codes[graph as usize].plan.no.0, checkpoint.0)),
        _ => None,
    };
    plan.host.iter().filter_map(restored).collect()
}

/// Gives external tensors their first contents.
fn set_inputs(shared: &Shared, options: &SessionOptions) -> Result<(), Box<Diagnostic>> {
    for (name, view) in &options.views {
        let Ok(at) = shared.table.by_name(name) else { continue };
        if shared.table[at].in_place.is_some() {
            shared.memory().adopt(&shared.table, &shared.accounts, at, view)?;
        }
    }
    for (name, array) in &options.inputs {
        let Ok(at) = shared.table.by_name(name) else { continue };
        let range = shared.memory().range(&shared.table, &shared.accounts, at, 0)?;
        range.fill_from(array.bytes());
        // What it begins with is nothing that a kernel has stored.
        range.stored().into_iter().for_each(wsp_memory::Stored::forget);
    }
    Ok(())
}
