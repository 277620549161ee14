//! `wsp graph` of a unit.

use super::{Kind, NOT_OF_UNITS};
use crate::args::GraphArgs;
use crate::commands::graph::{Outputs, list};
use crate::commands::options::{refuse, refused};
use crate::commands::{Outcome, Session, named};
use crate::report::UnitGraphReport;
use crate::unit::{GraphStats, UnitGraph, drawn_edges, write_unit_dot, write_unit_edges, write_unit_tasks};
use wsp_diag::Diagnostic;
use wsp_tg::plan::TensorKind;
use wsp_tg::{ElaborateOptions, elaborate};

/// Lists or sums up the graphs of a unit.
pub(in crate::commands) fn graph(
    session: &mut Session,
    args: &GraphArgs,
    kind: Kind,
    outputs: &Outputs,
) -> Result<Outcome, Vec<Diagnostic>> {
    refuse_options(args).map_err(|fault| vec![fault])?;
    let module = session.read_verified(&args.file, kind)?;
    let set = named(&args.set, NOT_OF_UNITS).map_err(|fault| vec![fault])?;
    let kernels = session.read_kernels(&args.file, &module, &args.kernels, &set)?;
    kernels.refuse_idle()?;
    let scalars = super::settings::scalars(&module, &kernels, &set)?;
    if let Some((name, _)) = scalars.iter().find(|(name, _)| !kernels.has_param(name)) {
        let option = format!("--set {name}=…");
        return Err(vec![refused(&option, "has no meaning: the graphs are the same for every value")]);
    }
    session.terminal.progress("finding dependences");
    let plan = elaborate(&module, &kernels.signatures(), &ElaborateOptions::default())?;
    let graphs = UnitGraph::all(&plan);
    let name = args.file.display().to_string();
    let edges = || (0..).zip(&graphs).map(|(at, graph)| drawn_edges(&plan, at, graph)).collect::<Vec<_>>();
    let lists = [
        list(outputs.tasks.as_ref(), |rows| write_unit_tasks(rows, &graphs))?,
        list(outputs.edges.as_ref(), |rows| write_unit_edges(rows, &graphs))?,
        list(outputs.dot.as_ref(), |rows| write_unit_dot(rows, &graphs, &edges(), &name))?,
    ];
    if outputs.summary {
        let bytes = |kind: TensorKind| {
            let of_kind = plan.tensors.iter().filter(|tensor| tensor.kind == kind);
            of_kind.filter_map(|tensor| tensor.bytes).fold(0, u64::saturating_add)
        };
        let unknown = plan.tensors.iter().filter(|tensor| tensor.bytes.is_none());
        let report = UnitGraphReport {
            program: name,
            graphs: graphs.iter().map(GraphStats::of).collect(),
            external: bytes(TensorKind::Extern),
            unknown: unknown.map(|tensor| tensor.name.clone()).collect(),
            allocated: bytes(TensorKind::Unit),
        };
        session.print(|| report.text(), || report.json(), &[]);
    }
    session.keep(lists)
}

/// Options of `wsp graph` that task graphs have no use for.
fn refuse_options(args: &GraphArgs) -> Result<(), Diagnostic> {
    let given = [
        ("--deps", args.deps.is_some()),
        ("--args", args.args.is_some()),
        ("--emit", args.emit.is_some()),
        ("--inputs", args.data.inputs.is_some()),
        ("--input", !args.data.input.is_empty()),
        ("--allow-unused", args.data.allow_unused),
        ("--fill", !args.data.fill.is_empty()),
        ("--generate", args.data.generate.is_some()),
        ("--seed", args.data.seed.is_some()),
        ("--schedule", args.schedule.is_some()),
        ("--placement", args.placement.is_some()),
    ];
    refuse(&given, NOT_OF_UNITS)
}
