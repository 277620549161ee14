//! `wsp graph`: the tasks of a program and their dependences, as lists or summed up.

use super::kind::{Kind, wrong_kind};
use super::workload::{ArraysFor, Given, check_graph_memory, host_kernel, planned, read_arrays, refuse_host};
use super::{Outcome, Session, data, launch_options, options, unit};
use crate::args::{Emitted, GraphArgs, LaunchArgs};
use crate::engine::{self, Loaded};
use crate::files::{Filled, Output, place, read_pending};
use crate::graph::{Destination, Rows, Summary, write, write_accesses, write_dot, write_edges, write_tasks};
use crate::report::{GraphReport, Sources};
use pto_wsp::codes;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wsp_backend::pending::PendingGraph;
use wsp_backend::{Detail, GraphOptions};
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::workload::Deps;
use wsp_ordered::OrderedMap;
use wsp_plan::PlanSource;

/// What takes the way in which dependences are found.
const NO_EDGES: &str =
    "has no effect on `--placement`: edges are in `--edges`, `--dot`, `--emit pending` and `--summary`";

/// Lists or sums up a graph.
pub(super) fn graph(session: &mut Session, args: &GraphArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let outputs = Outputs::of(args);
    outputs.check(args).map_err(|fault| vec![fault])?;
    let is_idle = args.deps.is_some() && !outputs.has_graph();
    options::refuse(&[("--deps", is_idle)], NO_EDGES).map_err(|fault| vec![fault])?;
    let kind = Kind::of(&args.file);
    if kind.is_unit() {
        return unit::graph(session, args, kind, &outputs);
    }
    if kind == Kind::Program {
        return program(session, args, &outputs);
    }
    if kind == Kind::Pending {
        return recorded(session, args, &outputs);
    }
    if !kind.is_tasks() {
        return Err(vec![not_a_workload(&args.file, kind)]);
    }
    let kernels = !args.kernels.is_empty() && kind == Kind::Workload;
    options::refuse(&[("--kernels", kernels)], options::OF_UNITS).map_err(|fault| vec![fault])?;
    args.data.check_unused()?;
    let source = session.read_workload(&args.file, &args.kernels)?;
    if outputs.pending.is_some() {
        refuse_host(&source.module, "a record of a task")?;
    }
    let (plan, set) = planned(&source, &args.set, args.schedule.as_deref(), args.target)?;
    session.warn(&plan.schedule.notes);
    let shown = "lists show it as one for any core";
    session.warn(host_kernel(&source.module, Severity::Note, shown).as_slice());
    let Given { args: of_run, sources, .. } =
        read_arrays(&source, &plan, &args.data, set.clone(), ArraysFor::Tasks)?;
    args.data.check_seed(&sources.made)?;
    session.terminal.progress("finding dependences");
    // Complete dependences miss nothing, so that nobody needs to look.
    let deps = args.deps.unwrap_or(plan.schedule.policy.deps);
    let incomplete = matches!(deps, Deps::Exact | Deps::Explicit);
    let detail = Detail {
        accesses: outputs.has_accesses(),
        missed: outputs.summary && incomplete,
        ..Detail::default()
    };
    check_graph_memory(&source, &set, bytes_per_task(detail))?;
    let asked = GraphOptions { deps: args.deps, detail, ..GraphOptions::default() };
    let own = plan.schedule.policy.deps;
    let plan = PlanSource::Workload(Arc::new(plan));
    let picture = args.placement.as_ref().map(|_| engine::placement(&plan, &of_run)).transpose()?;
    let listed = engine::graph(&plan, &of_run, &asked, own)?;
    tell(session, args, &outputs, Told { listed, picture, sources })
}

/// Lists or sums up the tasks of a `.pto` program.
fn program(session: &mut Session, args: &GraphArgs, outputs: &Outputs) -> Result<Outcome, Vec<Diagnostic>> {
    let refused = |option, given, of| options::refuse(&[(option, given)], of).map_err(|fault| vec![fault]);
    refused("--kernels", !args.kernels.is_empty(), options::OF_UNITS)?;
    refused("--deps", args.deps.is_some(), options::OF_WORKLOADS)?;
    args.data.check_unused()?;
    let launch =
        LaunchArgs { set: args.set.clone(), schedule: args.schedule.clone(), isa: None, engine: None };
    let module = session.launched(&args.file, &launch)?;
    let mut options = launch_options(&launch, 0);
    options.target = args.target.unwrap_or(options.target);
    let data = data::load(session, &module, &args.data, &launch)?;
    options.layout = data.layout;
    let sources = data.sources();
    let loaded = Loaded { module, arrays: data.arrays };
    session.terminal.progress("finding dependences");
    let detail = Detail { accesses: outputs.has_accesses(), ..Detail::default() };
    let picture = args.placement.as_ref().map(|_| engine::placed(&loaded, &options)).transpose()?;
    let listed = engine::listed(&loaded, &options, detail)?;
    tell(session, args, outputs, Told { listed, picture, sources })
}

/// Lists or sums up the tasks of a file of records.
fn recorded(session: &Session, args: &GraphArgs, outputs: &Outputs) -> Result<Outcome, Vec<Diagnostic>> {
    let given = [
        ("--deps", args.deps.is_some()),
        ("--set", !args.set.is_empty()),
        ("--inputs", args.data.inputs.is_some()),
        ("--input", !args.data.input.is_empty()),
        ("--allow-unused", args.data.allow_unused),
        ("--fill", !args.data.fill.is_empty()),
        ("--generate", args.data.generate.is_some()),
        ("--seed", args.data.seed.is_some()),
        ("--schedule", args.schedule.is_some()),
        ("--target", args.target.is_some()),
        ("--kernels", !args.kernels.is_empty()),
        ("--placement", args.placement.is_some()),
    ];
    options::refuse(&given, "has no meaning: a list of records has its tasks and edges")
        .map_err(|fault| vec![fault])?;
    session.terminal.progress("reading records");
    let listed = engine::recorded(read_pending(&args.file).map_err(|fault| vec![fault])?);
    tell(session, args, outputs, Told { listed, picture: None, sources: Sources::default() })
}

/// What is printed of a program.
struct Told {
    listed: engine::Listed,
    /// Where it is on an array.
    picture: Option<String>,
    sources: Sources,
}

/// Writes those of the lists and of the summary that were asked for.
fn tell(
    session: &Session,
    args: &GraphArgs,
    outputs: &Outputs,
    Told { listed, picture, sources }: Told,
) -> Result<Outcome, Vec<Diagnostic>> {
    if outputs.has_accesses() {
        let option = if outputs.args.is_some() { "--args" } else { "--emit pending" };
        refuse_high_ranks(&listed, option).map_err(|fault| vec![fault])?;
    }
    let name = args.file.display().to_string();
    let graph = &listed.graph;
    let records = PendingGraph {
        kernels: graph.kernels(),
        tasks: graph.tasks(),
        edges: graph.edges(),
        accesses: &listed.accesses,
        tensors: &listed.tensors,
    };
    if outputs.pending.is_some() {
        let unfit = records.check().map_err(|unfit| Diagnostic::error(codes::NO_RECORD, unfit.to_string()));
        unfit.map_err(|fault| vec![fault.help("leave out `--emit pending`")])?;
    }
    let lists = [
        list(outputs.tasks.as_ref(), |rows| write_tasks(rows, graph))?,
        list(outputs.edges.as_ref(), |rows| write_edges(rows, graph))?,
        list(outputs.args.as_ref(), |rows| write_accesses(rows, &listed.accesses, &listed.tensors))?,
        list(outputs.dot.as_ref(), |rows| write_dot(rows, graph, &name))?,
        list(outputs.pending.as_ref(), |rows| records.write(rows.raw()?))?,
        list(outputs.placement.as_ref(), |rows| {
            rows.raw()?.write_all(picture.as_deref().unwrap_or_default().as_bytes())
        })?,
    ];
    if outputs.summary {
        let report = GraphReport {
            program: name,
            deps: listed.deps.to_owned(),
            sources,
            summary: Summary::of(graph),
            missed: listed.missed,
            grid: listed.grid,
        };
        session.print(|| report.text(), || report.json(), &[]);
    }
    session.keep(lists)
}

/// About what a task takes while its graph is listed, with a few edges: as measured for `llama_table`.
fn bytes_per_task(detail: Detail) -> u64 {
    200 + if detail.missed { 350 } else { 0 } + if detail.accesses { 250 } else { 0 }
}

/// Writes one list, if it was asked for.
pub(super) fn list(
    to: Option<&Destination>,
    mut rows: impl FnMut(&mut Rows<'_>) -> std::io::Result<()>,
) -> Result<Option<Filled>, Vec<Diagnostic>> {
    let Some(to) = to else { return Ok(None) };
    write(to, &mut rows).map_err(|fault| vec![fault])
}

/// The lists that were asked for.
pub(super) struct Outputs {
    pub(super) tasks: Option<Destination>,
    pub(super) edges: Option<Destination>,
    args: Option<Destination>,
    pub(super) dot: Option<Destination>,
    pending: Option<Destination>,
    placement: Option<Destination>,
    pub(super) summary: bool,
}

impl Outputs {
    fn of(args: &GraphArgs) -> Outputs {
        let to = |path: &Option<PathBuf>| path.as_deref().map(Destination::of);
        let mut outputs = Outputs {
            tasks: to(&args.tasks),
            edges: to(&args.edges),
            args: to(&args.args),
            dot: to(&args.dot),
            pending: args.emit.and_then(|Emitted::Pending| to(&args.output)),
            placement: to(&args.placement),
            summary: args.summary || args.json,
        };
        let no_list = outputs.lists().next().is_none();
        outputs.summary |= no_list;
        outputs
    }

    /// Whether more is written than places: a list of the graph, or what is counted of it.
    fn has_graph(&self) -> bool {
        self.summary || self.lists().any(|(option, _)| option != "--placement")
    }

    /// Whether accesses are among what is written.
    fn has_accesses(&self) -> bool {
        self.args.is_some() || self.pending.is_some()
    }

    /// Each list with its option.
    fn lists(&self) -> impl Iterator<Item = (&'static str, &Destination)> {
        let all = [
            ("--tasks", &self.tasks),
            ("--edges", &self.edges),
            ("--args", &self.args),
            ("--dot", &self.dot),
            ("--output", &self.pending),
            ("--placement", &self.placement),
        ];
        all.into_iter().filter_map(|(option, to)| Some((option, to.as_ref()?)))
    }

    /// Refuses outputs that would mix with or replace each other, or replace what is read.
    fn check(&self, args: &GraphArgs) -> Result<(), Diagnostic> {
        let mut taken: OrderedMap<PathBuf, &str> = OrderedMap::new();
        let inputs = args.data.inputs.iter().chain(args.data.input.iter().map(|(_, path)| path));
        let read: Vec<PathBuf> = [&args.file].into_iter().chain(inputs).map(|path| place(path)).collect();
        let mut stdout = self.summary.then(|| "the summary".to_owned());
        for (option, to) in self.lists() {
            let path = match to {
                Destination::File(path) => path,
                Destination::Stdout => match stdout.replace(format!("`{option}`")) {
                    None => continue,
                    Some(other) => {
                        let what = format!("{other} and `{option}` both go to standard output");
                        return Err(collision(what, option));
                    }
                },
            };
            let at = place(path);
            let is_own = option == "--output" && Kind::by_name(path) == Kind::Pending;
            if read.contains(&at) || (is_source(path) && !is_own) {
                let what = format!("`{}` is a source or an input and would be overwritten", path.display());
                return Err(collision(what, option));
            }
            if let Some(other) = taken.insert(at, option) {
                let what = format!("`{other}` and `{option}` both go to `{}`", path.display());
                return Err(collision(what, option));
            }
            // Found out before the graph is built.
            Output::at(path)?;
        }
        Ok(())
    }
}

fn collision(what: String, option: &str) -> Diagnostic {
    Diagnostic::error(codes::OUTPUTS_COLLIDE, what).help(format!("give `{option}` a file of its own"))
}

/// Whether a name is that of a program: lists have other names, and a program is not to be lost to a slip.
fn is_source(path: &Path) -> bool {
    !matches!(Kind::by_name(path), Kind::Arrays | Kind::Unknown)
}

fn not_a_workload(path: &Path, kind: Kind) -> Diagnostic {
    let name = path.display();
    if kind != Kind::Unknown {
        return wrong_kind(path, kind, "programs, workloads, task graphs and lists of records");
    }
    Diagnostic::error(codes::NOT_A_WORKLOAD, format!("`{name}` is not a program of which tasks are listed"))
        .help("give a file whose name ends in `.pto`, `.wsp`, `.tg`, `.ptog` or `.pending`")
}

/// Refuses regions that rows and columns cannot tell apart.
fn refuse_high_ranks(listed: &engine::Listed, option: &str) -> Result<(), Diagnostic> {
    let flat = |a: &crate::graph::GraphAccess| {
        a.region.lo[2..].iter().all(|&lo| lo == 0) && a.region.hi[2..].iter().all(|&hi| hi == 1)
    };
    match listed.accesses.iter().find(|a| !flat(a)) {
        None => Ok(()),
        Some(access) => Err(Diagnostic::error(
            codes::MORE_THAN_ROWS,
            format!(
                "`{option}` has rows and columns, but `{}` has more dimensions",
                listed.tensors[access.region.tensor.index()]
            ),
        )
        .note(format!("task {} accesses it", access.task))
        .help(format!("leave out `{option}`"))),
    }
}
