//! How a session is made: checks, elaboration, and what puts the parts together.

use super::accounts::Accounts;
use super::code::GraphCode;
use super::codes;
use super::graph_code::code;
use super::graph_parts::partitions;
use super::identity::Identity;
use super::inputs::{check_gaps, check_inputs, claim, given, set_inputs, take_sizes};
use super::kernels::{KernelBody, TgKernels};
use super::launches::Launches;
use super::open_pairs::OpenPairs;
use super::open_uses::OpenUses;
use super::options::SessionOptions;
use super::scalars;
use super::session::Session;
use super::shared::{Shared, no_store};
use super::sizes::check_graph;
use super::tensors::{TensorTable, take_inputs};
use std::sync::Arc;
use wsp_core::tg::{Direction, Instr, StreamNo};
use wsp_diag::Diagnostic;
use wsp_ir::tg::{ArgDecl, ArgSource, Signatures, TgModule, verify};
use wsp_ordered::OrderedMap;
use wsp_plan::target::DeviceModel;
use wsp_runtime::tg::Runtime;
use wsp_tg::plan::{ElaborateOptions, HostKind, UnitPlan};
use wsp_tg::{Checked, LintOptions, elaborate};

/// A unit that is checked, elaborated and tied to kernels for what it is given: what all sessions have in common that begin with the same.
#[derive(Debug)]
pub(crate) struct CheckedUnit {
    module: Arc<TgModule>,
    /// Without its graphs.
    plan: Arc<UnitPlan>,
    table: TensorTable,
    codes: Vec<Arc<GraphCode>>,
    scalars: Vec<i64>,
    checked: Checked,
}

/// Whether arrays and values are what a unit takes.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn fits(
    module: &TgModule,
    kernels: &TgKernels,
    options: &SessionOptions,
) -> Result<(), Vec<Diagnostic>> {
    let signatures = kernels.signatures();
    let plan = elaborate(module, &signatures, &ElaborateOptions::default())?;
    scalars::values(module, &options.scalars)?;
    table(module, &plan, &signatures, options).map(drop)
}

/// The tensors of a unit, with the arrays that they are given.
fn table(
    module: &TgModule,
    plan: &UnitPlan,
    signatures: &Signatures,
    options: &SessionOptions,
) -> Result<TensorTable, Vec<Diagnostic>> {
    let mut table = TensorTable::new(plan, module);
    let named: Vec<&str> =
        signatures.iter().flat_map(|kernel| &kernel.resident).map(|of| of.name.as_str()).collect();
    take_inputs(&mut table, given(options), &named)?;
    Ok(table)
}

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
        CheckedUnit::new(module, kernels, &options)?.session(options)
    }
}

impl CheckedUnit {
    /// Checks and elaborates a unit.
    ///
    /// # Errors
    /// As [`Session::new`], but for what memory, events and claims are refused for.
    pub(crate) fn new(
        module: &TgModule,
        kernels: &TgKernels,
        options: &SessionOptions,
    ) -> Result<CheckedUnit, Vec<Diagnostic>> {
        let signatures = kernels.signatures();
        let mut checked = check(module, kernels, &signatures, options)?;
        let mut plan = elaborate(module, &signatures, &ElaborateOptions::default())?;
        let scalars = scalars::values(module, &options.scalars)?;
        check_gaps(options)?;
        let mut table = table(module, &plan, &signatures, options)?;
        table.recording = options.recording;
        take_sizes(&mut table, &plan, &signatures);
        let graphs = std::mem::take(&mut plan.graphs);
        let mut residents = OrderedMap::new();
        let mut codes = graphs
            .into_iter()
            .enumerate()
            .map(|(at, graph)| code(graph, at as u32, &plan, module, kernels, options, &mut residents))
            .collect::<Result<Vec<_>, _>>()?;
        check_inputs(&table, &plan, &codes, (&scalars, options.runtime.devices))?;
        let bytes = |unit: u32| table[unit as usize].bytes;
        let sizes = codes.iter().flat_map(|code| check_graph(&code.plan, module, kernels, &bytes));
        checked.findings.extend(sizes);
        checked.findings = refused(checked.findings)?;
        for code in &mut codes {
            code.open = OpenPairs::new(&code.plan, &checked.open);
            code.uses = OpenUses::new(&code.plan, &code.whens, &checked.launches);
        }
        let (module, plan) = (Arc::new(module.clone()), Arc::new(plan));
        let codes = codes.into_iter().map(Arc::new).collect();
        Ok(CheckedUnit { module, plan, table, codes, scalars, checked })
    }

    /// Whether every session begins with what the first began with: no kernel stores to a tensor that it names itself, of which sessions share
    /// one copy.
    pub(crate) fn is_lasting(&self) -> bool {
        self.codes.iter().flat_map(|code| &code.defs).all(|def| match &def.body {
            KernelBody::Function(_) => true,
            KernelBody::Pto(entry) => {
                entry.signature().resident.iter().all(|of| of.direction == Direction::In)
            }
        })
    }

    /// A session of the unit, which begins with what it is given. The options are those for which it was checked, but for the claim.
    ///
    /// # Errors
    /// There is no memory, an event is unknown; arrays of the caller cannot be used, or are in use.
    pub(crate) fn session(&self, options: SessionOptions) -> Result<Session, Vec<Diagnostic>> {
        let CheckedUnit { module, plan, codes, .. } = self;
        let claim = claim(&self.table, &self.codes, &options)?;
        let devices = options.runtime.devices;
        let accounts = (0..devices).map(|_| Accounts::new(options.memory)).collect();
        let mut events = Vec::new();
        for event in &options.events {
            events.push(scalars::event(module, event).map_err(|fault| vec![*fault])?);
        }
        // Only checkpoints ask whose they are.
        let mut identity = Identity::default();
        if options.checkpoints.is_some() {
            identity = Identity::new(plan, codes, &options);
            let names = plan.args.iter().map(|arg| arg.name.clone());
            identity.scalars = names.zip(self.scalars.iter().copied()).collect();
        }
        let restores = restores(plan, codes);
        let shared = Shared::new(
            self.table.clone(),
            accounts,
            identity,
            restores,
            self.scalars.clone(),
            plan.host_loops,
            &options,
        );
        let shared = shared.ok_or_else(|| {
            vec![Diagnostic::error(codes::OUT_OF_MEMORY, "the machine has no memory for a session")]
        })?;
        let mut shared = shared.with_claim(claim);
        shared.launches = Launches::new(self.checked.launches.clone(), devices);
        shared.releases_are_open = self.checked.releases_are_open;
        for code in codes {
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
            most_live: super::session::FEWEST_LIVE,
            partitions: partitions(plan),
            next_stream: streams.max().unwrap_or(1),
            module: module.clone(),
            plan: plan.clone(),
            shared: Arc::new(shared),
            codes: codes.clone(),
            findings: self.checked.findings.clone(),
            notes: Vec::new(),
            resumed: None,
            stats: wsp_runtime::tg::Stats::default(),
            payload: options.payload,
            tracing,
            streams: OrderedMap::new(),
            runtime,
        };
        events.into_iter().try_for_each(|event| session.give_signal(event)).map_err(|fault| vec![*fault])?;
        Ok(session)
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
    found.extend(kernels.unresolved(module));
    if options.checkpoints.is_none() {
        let needs = |instr: &Instr| matches!(instr, Instr::TgCheckpoint { .. } | Instr::TgRestore { .. });
        let needing = (0..module.instrs.len()).filter(|at| needs(&module.instrs[*at]));
        found.extend(needing.map(|at| no_store().at(module.span(at), "needed here")));
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
    let mut checked = wsp_tg::check(module, signatures, &lint, &scalars);
    // What is left to the run is no finding of it.
    let findings = std::mem::take(&mut checked.findings);
    found.extend(findings.into_iter().filter(|found| found.code != codes::LEFT_OPEN));
    Ok(Checked { findings: refused(found)?, ..checked })
}

/// Graphs and checkpoints that the host restores.
fn restores(plan: &UnitPlan, codes: &[Arc<GraphCode>]) -> Vec<(u32, u32)> {
    let restored = |op: &wsp_tg::plan::HostOp| match op.kind {
        HostKind::Restore { graph, checkpoint } => Some((codes[graph as usize].plan.no.0, checkpoint.0)),
        _ => None,
    };
    plan.host.iter().filter_map(restored).collect()
}
