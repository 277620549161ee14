//! Workloads as commands meet them: reading them and what they use, `wsp check` and `wsp run` of them.

mod arrays;
mod bytes;
mod dry;
mod run;
mod source;

pub(super) use arrays::{Given, Purpose as ArraysFor, read as read_arrays};
pub(super) use bytes::{bytes, host_kernel, program_bytes, refuse_host, unit};
pub(super) use dry::{LAYOUTS, layouts_undecided};
pub(super) use run::{SIMULATED_TASK_BYTES, planned, run, steals};
pub(super) use source::Source;

use super::kind::Kind;
use super::{Session, named};
use crate::args::Setting;
use crate::engine::Purpose;
use crate::files::{read_program, read_source};
use pto_wsp::cache::{PlanCache, PlanKey};
use pto_wsp::shared::only_used;
use pto_wsp::{codes, registry};
use std::path::{Path, PathBuf};
use wsp_backend::{Args, CheckedLaunch};
use wsp_check::check_memory;
use wsp_core::limits;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_ir::workload::{Use, text, warnings};
use wsp_isa::ptow::{assemble, workload};
use wsp_plan::flow::flow;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{CompileOptions, ParamValue, Target, library_entry};

/// Whether a file is a workload, by its name.
pub(super) fn is_workload(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wsp"))
}

/// A workload where the command wants a `.pto` program.
pub(super) fn not_a_program(path: &Path) -> Diagnostic {
    let name = path.display();
    Diagnostic::error(
        codes::OPTION_OF_OTHERS,
        format!("`{name}` is a workload; this command takes `.pto` programs"),
    )
    .help(format!(
        "`wsp graph {name}` lists or sums up its tasks, `wsp plan --bytes {name}` tells what generates them on a device, `wsp run {name}` runs it"
    ))
}

impl Session {
    /// Reads a workload and the kernels that it uses; prints warnings. A program that generates tasks is read as the workload that does,
    /// which uses these kernels.
    pub(super) fn read_workload(
        &mut self,
        path: &Path,
        kernels: &[PathBuf],
    ) -> Result<Source, Vec<Diagnostic>> {
        let (name, kind) = (path.display().to_string(), Kind::of(path));
        let source = match kind.is_generator() {
            true => self.read_generator(path, kind, kernels)?,
            false => read_source(path).map_err(|fault| vec![fault])?,
        };
        // Diagnostics have places in the text that was made of it.
        let name = if kind.is_generator() { format!("{name}, as a workload") } else { name };
        let (module, found) = text::parse(&name, &source, &mut self.sources);
        let Some(module) = module else { return Err(found) };
        self.warn(&found);
        self.warn(&warnings(&module));
        let library = only_used(&module.uses).map_err(|fault| vec![fault])?;
        let library = library.map(|one| self.read_library(path, one)).transpose()?;
        Ok(Source { module, library })
    }

    /// The text of the workload that a program is which generates tasks. The paths of its kernels do not go by its folder.
    fn read_generator(
        &mut self,
        path: &Path,
        kind: Kind,
        kernels: &[PathBuf],
    ) -> Result<String, Vec<Diagnostic>> {
        // A file that cannot be read is the fault, not that kernels of the program are in none.
        kernels.iter().try_for_each(|file| read_source(file).map(drop)).map_err(|fault| vec![fault])?;
        let name = path.display().to_string();
        let bytes = match kind {
            Kind::GeneratorText => {
                let text = read_source(path).map_err(|fault| vec![fault])?;
                assemble(&name, &text, &mut self.sources)?
            }
            _ => read_program(path).map_err(|fault| vec![fault])?,
        };
        let used = kernels.iter().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()));
        let used: Vec<String> = used.map(|file| file.display().to_string()).collect();
        workload(&name, &bytes, &used)
    }

    /// Compiles a used file; its path is relative to the file that says it.
    fn read_library(&mut self, user: &Path, used: &Use) -> Result<Module, Vec<Diagnostic>> {
        let path = used_file(user, used);
        let text = read_source(&path).map_err(|fault| vec![fault.at(used.span, "used here")])?;
        let mut library = self.compile_text(&path.display().to_string(), text, Purpose::Library)?.module;
        if library.entry.is_none() {
            library.entry = Some(library_entry(&library));
        }
        Ok(library)
    }
}

/// Refuses a task graph that this machine has no memory for, before it is built.
pub(super) fn check_graph_memory(
    source: &Source,
    set: &[(String, ParamValue)],
    bytes_per_task: u64,
) -> Result<(), Vec<Diagnostic>> {
    let tasks = dry::known_tasks(&source.module, set).unwrap_or(0);
    let most = u64::from(limits::MAX_GRAPH_TASKS);
    // A graph of more is refused for its tasks.
    if tasks > most {
        return Ok(());
    }
    check_memory(&format!("the graph of {tasks}", tasks = counted(tasks, "task")), tasks * bytes_per_task)
        .map_err(|fault| vec![fault])
}

/// Where a used file is: its path is relative to the file that says it.
fn used_file(user: &Path, used: &Use) -> PathBuf {
    user.parent().unwrap_or(Path::new("")).join(&used.path)
}

/// The files that a workload uses.
fn used_files(user: &Path, source: &Source) -> Vec<PathBuf> {
    source.module.uses.iter().map(|used| used_file(user, used)).collect()
}

/// What is wrong with order, layouts and costs of tasks, over arrays that are made up.
fn of_tasks(source: &Source, plans: &[WorkloadPlan]) -> Vec<Diagnostic> {
    let asked: Vec<&WorkloadPlan> = plans.iter().filter(|plan| dry::asks_order(plan)).collect();
    let arrays = asked.first().and_then(|plan| arrays::made_up(source, plan));
    let has_layouts = |plan: &WorkloadPlan| !plan.schedule.policy.layouts.is_empty();
    let is_followed =
        asked.iter().copied().any(has_layouts) && (source.library.is_none() || arrays.is_some());
    let is_open = plans.iter().any(has_layouts) && !is_followed;
    let arrays = arrays.unwrap_or_default();
    let found = asked.into_iter().flat_map(|plan| dry::check_order(plan, &arrays));
    is_open.then(dry::layouts_undecided).into_iter().chain(found).collect()
}

/// What is wrong with a workload with these values: with itself, its kernels, each of its schedules, and, where every value
/// is known, with its tasks. A workload that a cache knows to be right is not looked at again.
pub(super) fn check(
    session: &mut Session,
    path: &Path,
    kernels: &[PathBuf],
    target: &'static Target,
    cache: Option<&Path>,
    set: &[Setting],
) -> Result<Checked, Vec<Diagnostic>> {
    let first = session.sources.names().count();
    let mut source = session.read_workload(path, kernels)?;
    // What the used file declares too is an extent of arrays: the launch is checked with it.
    let is_extent = |name: &str| {
        registry().emits_one_launch(target)
            && source.library.as_ref().is_some_and(|library| library.param_named(name).is_some())
    };
    let own: Vec<Setting> = set.iter().filter(|setting| !is_extent(setting.name())).cloned().collect();
    let max_blocks = run::set_defaults(&mut source, &own)?;
    let pipelines = flow(&source.module, &[]);
    let mut lines = pipelines
        .as_ref()
        .map_or(Vec::new(), |flow| flow.lines(&source.module, |span| session.sources.line_col(span).0));
    let options = CompileOptions { target, ..CompileOptions::default() };
    let checked = if set.is_empty() { "check".to_owned() } else { format!("check {set:?}") };
    let key = || PlanKey::of_files(&session.sources, first, &options).for_use(&checked);
    let cached = cache.map(|folder| PlanCache::open(folder)?.find(key())).transpose();
    let cached = cached.map_err(|fault| vec![fault])?;
    if let Some(cached) = &cached {
        session.warn(cached.note().as_slice());
        if cached.is_checked() {
            return Ok(Checked { cache: Some(cached.found()), lines });
        }
    }
    let schedules =
        source.module.schedules.iter().filter(|s| !s.name.is_empty()).map(|s| Some(s.name.as_str()));
    let (mut found, mut plans) = (Vec::new(), Vec::new());
    for schedule in [None].into_iter().chain(schedules) {
        match source::plan(&source, schedule, max_blocks, target) {
            Ok(plan) => plans.push(plan),
            Err(faults) => found.extend(faults),
        }
    }
    if max_blocks.is_some() && found.is_empty() && !plans.iter().any(WorkloadPlan::reads_max_blocks) {
        found.push(run::unread_max_blocks());
    }
    found.extend(plans.iter().flat_map(|plan| plan.schedule.notes.iter().cloned()));
    if !found.iter().any(Diagnostic::is_error) {
        session.terminal.progress("expanding");
        found.extend(dry::check_defaults(&source.module));
    }
    if !found.iter().any(Diagnostic::is_error) {
        found.extend(pipelines.iter().flat_map(|flow| flow.faults()));
    }
    if !found.iter().any(Diagnostic::is_error) {
        found.extend(of_tasks(&source, &plans));
    }
    if !found.iter().any(Diagnostic::is_error) && registry().emits_one_launch(target) {
        let launch = Args {
            values: named(set, "is for programs that run").map_err(|fault| vec![fault])?,
            ..Args::default()
        };
        session.terminal.progress("placing");
        for (at, plan) in plans.into_iter().enumerate() {
            let CheckedLaunch { lines: of_launch, found: of_plan } =
                registry().check_launch(&plan.into(), &launch);
            found.extend(of_plan);
            lines.extend(of_launch.into_iter().filter(|_| at == 0));
        }
    }
    found.extend(pipelines.iter().flat_map(|flow| flow.left(&source.module)));
    // Schedules share faults of the kernels.
    let mut distinct: Vec<Diagnostic> = Vec::new();
    for diagnostic in found {
        if !distinct.contains(&diagnostic) {
            distinct.push(diagnostic);
        }
    }
    if distinct.iter().any(Diagnostic::is_error) {
        return Err(distinct);
    }
    session.warn(&distinct);
    let Some(cached) = cached else { return Ok(Checked { cache: None, lines }) };
    let found = cached.found();
    // What was found is said again by the next check.
    if distinct.is_empty()
        && let Err(note) = cached.keep_checked()
    {
        session.warn(&[note]);
    }
    Ok(Checked { cache: Some(found), lines })
}

/// What a check tells beside that a file is right.
#[derive(Default)]
pub(super) struct Checked {
    /// What the cache had of it.
    pub(super) cache: Option<String>,
    /// Its pipelines.
    pub(super) lines: Vec<String>,
}
