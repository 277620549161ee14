//! The end of every run: what it wrote is kept, compared and told, in the same steps for programs, workloads and task graphs.

use super::cached;
use super::emptiness::Emptiness;
use super::outputs::Outputs;
use super::reference::compare_with;
use super::{Outcome, Session};
use crate::args::RunArgs;
use crate::report::{Check, Findings, Summary, waits};
use pto_wsp::cache::CachedPlan;
use pto_wsp::codes;
use wsp_backend::Unwritten;
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;
use wsp_plan::{Array, Arrays, ParamValue};
use wsp_runtime::timeline::Timeline;

/// A run that has ended, and what its kind of file says of it.
pub(super) struct Ended<'a, R> {
    /// Whether it is to be checked.
    pub(super) wanted: bool,
    /// Arrays that it was given.
    pub(super) inputs: &'a Arrays,
    /// Names among them that are not the user's.
    pub(super) made: &'a [String],
    /// Values that a reference may take.
    pub(super) params: OrderedMap<String, ParamValue>,
    /// Arrays that it wrote.
    pub(super) outputs: &'a Arrays,
    /// Elements of them that it did not store.
    pub(super) unwritten: Vec<Unwritten>,
    /// What was compiled for it, where that is kept.
    pub(super) cached: Option<&'a CachedPlan>,
    /// When and where tasks ran, where that was asked for.
    pub(super) trace: Option<Timeline>,
    /// That no task ran.
    pub(super) empty: Option<Emptiness<'a>>,
    /// Compares what it wrote, where no file is to.
    pub(super) compare: &'a dyn Fn() -> Result<Check, Vec<Diagnostic>>,
    /// Why there may be no element to compare.
    pub(super) uncompared: &'static str,
    /// What is wrong with outputs that were compared.
    pub(super) differences: &'a dyn Fn(&Check) -> Vec<Diagnostic>,
    /// The summary.
    pub(super) report: Box<dyn FnOnce(Check, Findings) -> R + 'a>,
}

impl Session {
    /// Writes what a run gave, compares it, and prints the summary and every fault. Files get their names last.
    pub(super) fn conclude<R: Summary>(
        &self,
        args: &RunArgs,
        files: Outputs,
        ended: Ended<'_, R>,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        let Ended { wanted, inputs, made, outputs, unwritten, .. } = ended;
        let timeline = ended.trace;
        let (filled, mut faults) = files.fill(outputs, timeline.as_ref());
        let check = match (&ended.empty, wanted) {
            // An error where the run was to be checked, since nothing was, else a warning.
            (Some(empty), true) => {
                faults.push(empty.diagnostic(Diagnostic::error));
                Check::NothingRan
            }
            (Some(empty), false) => {
                self.warn(&[empty.diagnostic(Diagnostic::warning)]);
                Check::NothingRan
            }
            (None, false) => Check::NotDone,
            (None, true) => {
                let compared = match &args.reference {
                    None => (ended.compare)(),
                    Some(file) => {
                        self.terminal.progress("computing the reference");
                        compare_with(file, inputs, outputs, &ended.params).map(Check::Close)
                    }
                };
                // What was computed is worth keeping where it cannot be compared.
                compared.unwrap_or_else(|found| {
                    faults.extend(found);
                    Check::NotDone
                })
            }
        };
        if check.compares_nothing() {
            faults.push(nothing_compared(ended.uncompared));
        }
        let mut findings = Findings::of(unwritten, outputs, &given_arrays(inputs, made), args.strict);
        findings.allow(&args.allow_unwritten, &args.data.fill);
        if let Some(checks) = check.comparisons() {
            findings = findings.judged(checks);
        }
        self.warn(&findings.warnings());
        cached::keep(self, ended.cached);
        faults.extend((ended.differences)(&check));
        let report = (ended.report)(check, findings);
        faults.extend(report.findings().diagnostics());
        let text = || report.text() + &timeline.as_ref().map_or_else(String::new, waits::text);
        let json = || {
            let mut summary = report.json();
            timeline.iter().for_each(|timeline| waits::add_json(timeline, &mut summary));
            summary
        };
        self.print(text, json, &faults);
        self.keep_after(&faults, filled)
    }
}

/// The arrays that the user gives: those that are not made up.
fn given_arrays<'a>(arrays: &'a Arrays, made: &[String]) -> OrderedMap<&'a str, &'a Array> {
    let of_user = arrays.iter().filter(|(name, _)| !made.contains(name));
    of_user.map(|(name, array)| (name.as_str(), array)).collect()
}

/// What to say of a run that was to be checked, and of which no element was compared.
fn nothing_compared(why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOTHING_TO_CHECK, format!("nothing was compared: {why}")).help(
        "store what the program computes to an output of at least one element, or run with `--no-check`",
    )
}
