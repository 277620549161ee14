//! `wsp plan`: what would run.

use super::kind::refuse_entries;
use super::{Outcome, Session, data, launch_options, options, refuse_unread, workload};
use crate::args::PlanArgs;
use crate::engine::{self, Loaded};
use crate::report::DataSummary;
use pto_wsp::codes;
use wsp_diag::Diagnostic;

/// Runs the generators and prints what they issue.
pub(super) fn plan(session: &mut Session, args: &PlanArgs) -> Result<Outcome, Vec<Diagnostic>> {
    options::refuse_unused(args.data.files()).map_err(|fault| vec![fault])?;
    if args.bytes {
        return match workload::is_workload(&args.file) {
            true => workload::bytes(session, args),
            false => Err(vec![
                options::refused("--bytes", options::OF_WORKLOADS)
                    .note("what a `.pto` program generates are descriptors, which `wsp plan` lists"),
            ]),
        };
    }
    if args.aicpus.is_some() {
        return Err(vec![match workload::is_workload(&args.file) {
            true => Diagnostic::error(codes::OPTIONS_CONTRADICT, "`--aicpus` needs `--bytes`")
                .help("add `--bytes`"),
            false => options::refused("--aicpus", options::OF_WORKLOADS),
        }]);
    }
    let given = [("--isa", args.launch.isa.is_some())];
    options::refuse(&given, "has no meaning: generators have no tile operations")
        .map_err(|fault| vec![fault])?;
    let compiled = session.compile(&args.file)?;
    refuse_unread(&compiled, &args.launch)?;
    let module = compiled.module;
    refuse_entries(&args.file, &module).map_err(|fault| vec![fault])?;
    let data = data::load(session, &module, &args.data, &args.launch)?;
    let mut options = launch_options(&args.launch, 0);
    options.layout = data.layout;
    options.target = args.target.unwrap_or(options.target);
    let sources = data.sources();
    let loaded = Loaded { module, arrays: data.arrays };
    let mut report = engine::plan(&loaded, &options)?;
    session.warn(&report.warnings);
    report.program = args.file.display().to_string();
    report.data = DataSummary::of(&loaded.module, &loaded.arrays, data.layout);
    report.sources = sources;
    session.print(|| report.text(args.limit), || report.json(), &[]);
    Ok(Outcome::Done)
}
