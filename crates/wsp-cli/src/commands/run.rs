//! `wsp run`: compile, run, check, summarise.

use super::{Outcome, Session, data, options};
use crate::args::{RunArgs, StatsFormat};
use crate::codes;
use crate::engine::{self, Loaded, RunOutcome};
use crate::files::write_npz;
use crate::layout::Layout;
use crate::machine;
use crate::reference::{self, Comparison, Context};
use crate::report::{DataSummary, RunReport};
use wsp_ir::diag::Diagnostic;
use wsp_plan::{Arrays, ParamValue};

/// Runs a program.
pub(super) fn run(session: &mut Session, args: &RunArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let module = session.compile(&args.file)?;
    let made_up = args.data.inputs.is_none() && args.data.input.is_empty();
    let check = args.check || (made_up && !args.no_check);
    if check {
        verify_references(session, &module, args.check)?;
    }
    let data = data::load(session, &module, &args.data, &args.launch)?;
    let mut options = options(&args.launch, args.threads.unwrap_or(0), session.interrupt.flag());
    options.layout = data.layout;
    let loaded = Loaded { module, arrays: data.arrays };
    let outcome = session.interrupt.while_running(|| engine::execute(&loaded, &options))?;
    session.warn(&outcome.warnings);
    let checks = if check {
        session.terminal.progress("computing the reference");
        compare(&loaded, &outcome, data.layout)?
    } else {
        Vec::new()
    };
    if let Some(path) = &args.outputs {
        write_npz(path, &outcome.outputs).map_err(|fault| vec![fault])?;
    }
    let report = RunReport {
        program: args.file.display().to_string(),
        seed: data.seed,
        data: DataSummary::of(&loaded.module, &loaded.arrays, data.layout),
        stats: outcome.stats,
        checks,
    };
    match args.stats {
        StatsFormat::Text => session.terminal.print(&report.text()),
        StatsFormat::Json => session.terminal.print_json(&report.json()),
    }
    let faults: Vec<Diagnostic> = report.checks.iter().filter_map(Comparison::diagnostic).collect();
    if faults.is_empty() { Ok(Outcome::Done) } else { Err(faults) }
}

/// Finds mistakes in references before anything runs. Without one there is nothing to check: an error when that was
/// asked for, else worth a warning.
fn verify_references(session: &Session, module: &wsp_ir::Module, asked: bool) -> Result<(), Vec<Diagnostic>> {
    for reference in &module.references {
        reference::verify(reference)?;
    }
    if !module.references.is_empty() {
        return Ok(());
    }
    let fault =
        |d: Diagnostic| d.help("add `PTO_REFERENCE(paged_decode_attention, {.q = …, .kv = …, .output = …})`");
    let message = "there is no reference to check the outputs with";
    if asked {
        return Err(vec![fault(Diagnostic::error(codes::NOTHING_TO_CHECK, message))]);
    }
    session.warn(&[fault(Diagnostic::warning(codes::NOTHING_TO_CHECK, message))]);
    Ok(())
}

/// Compares the outputs of a run with every reference of its program.
pub(super) fn compare(
    loaded: &Loaded,
    outcome: &RunOutcome,
    layout: Layout,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    compare_arrays(&loaded.module, &loaded.arrays, &outcome.outputs, &outcome.params, layout)
}

fn compare_arrays(
    module: &wsp_ir::Module,
    inputs: &Arrays,
    outputs: &Arrays,
    params: &[(String, ParamValue)],
    layout: Layout,
) -> Result<Vec<Comparison>, Vec<Diagnostic>> {
    let value = |name: &str| {
        params.iter().find(|(n, _)| n == name).map(|(_, value)| match *value {
            ParamValue::Int(n) => n as f64,
            ParamValue::Float(x) => x,
            ParamValue::Bool(b) => f64::from(u8::from(b)),
        })
    };
    let cx = Context { inputs, outputs, params: &value, layout, threads: machine::cores() as usize };
    let mut all = Vec::new();
    for reference in &module.references {
        all.extend(reference::check(reference, &cx)?);
    }
    Ok(all)
}
