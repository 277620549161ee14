//! `wsp plan`: what would run.

use super::kind::Kind;
use super::{Outcome, Session, cached, data, launch_options, options, workload};
use crate::args::PlanArgs;
use crate::engine::{self, Loaded};
use crate::report::DataSummary;
use pto_wsp::codes;
use wsp_diag::Diagnostic;

/// Runs the generators and prints what they issue.
pub(super) fn plan(session: &mut Session, args: &PlanArgs) -> Result<Outcome, Vec<Diagnostic>> {
    args.data.check_unused()?;
    if args.bytes {
        let given = [("--cache", args.cache.is_some())];
        options::refuse(&given, "has no meaning: the bytes of a program hold no machine code")
            .map_err(|fault| vec![fault])?;
        return match Kind::of(&args.file).is_tasks() {
            true => workload::bytes(session, args),
            false => Err(vec![
                options::refused("--bytes", options::OF_WORKLOADS)
                    .note("what a `.pto` program generates are descriptors, which `wsp plan` lists"),
            ]),
        };
    }
    if args.aicpus.is_some() && Kind::of(&args.file).is_tasks() {
        let fault = Diagnostic::error(codes::OPTIONS_CONTRADICT, "`--aicpus` needs `--bytes`");
        return Err(vec![fault.help("add `--bytes`")]);
    }
    let given = [("--isa", args.launch.isa.is_some())];
    options::refuse(&given, "has no meaning: generators have no tile operations")
        .map_err(|fault| vec![fault])?;
    let module = session.launched(&args.file, &args.launch)?;
    let mut options = launch_options(&args.launch, 0);
    options.target = args.target.unwrap_or(options.target);
    options.aicpus = args.aicpus.unwrap_or(0);
    let cached = cached::find(session, args.cache.as_ref(), options.engine, &options.compile())?;
    options.code = cached::code(cached.as_ref());
    let data = data::load(session, &module, &args.data, &args.launch)?;
    options.layout = data.layout;
    let sources = data.sources();
    let loaded = Loaded { module, arrays: data.arrays };
    let mut report = engine::plan(&loaded, &options)?;
    session.warn(&report.warnings);
    report.program = args.file.display().to_string();
    report.data = DataSummary::of(&loaded.module, &loaded.arrays, data.layout);
    report.sources = sources;
    cached::keep(session, cached.as_ref());
    report.cache = cached.map(|cached| cached.statistics());
    session.print(|| report.text(args.limit), || report.json(), &[]);
    Ok(Outcome::Done)
}
