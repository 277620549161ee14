//! What is wrong with a run, as it is found: the same for programs, workloads and task graphs.

use super::emptiness::Emptiness;
use super::{Outcome, Session};
use crate::args::RunArgs;
use crate::files::Filled;
use crate::report::Findings;
use pto_wsp::codes;
use serde_json::Value;
use std::collections::BTreeMap;
use wsp_backend::Unwritten;
use wsp_check::reference::Comparison;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// The faults of a run so far.
pub(super) struct Verdict<'a> {
    session: &'a Session,
    args: &'a RunArgs,
    /// Whether the run is to be checked.
    wanted: bool,
    faults: Vec<Diagnostic>,
}

/// The arrays of a run.
#[derive(Clone, Copy)]
pub(super) struct RunArrays<'a> {
    /// What it was given.
    pub(super) inputs: &'a Arrays,
    /// Names among them that are not the user's.
    pub(super) made: &'a [String],
    /// What it wrote.
    pub(super) outputs: &'a Arrays,
}

impl<'a> Verdict<'a> {
    /// Of a run whose outputs could not be written because of `faults`.
    pub(super) fn new(
        session: &'a Session,
        args: &'a RunArgs,
        wanted: bool,
        faults: Vec<Diagnostic>,
    ) -> Verdict<'a> {
        Verdict { session, args, wanted, faults }
    }

    /// Whether the run is to be checked.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// No task ran: an error where the run was to be checked, since nothing was, else a warning.
    pub(super) fn nothing_ran(&mut self, of: &Emptiness<'_>) {
        if self.wanted {
            self.faults.push(of.diagnostic(Diagnostic::error));
        } else {
            self.session.warn(&[of.diagnostic(Diagnostic::warning)]);
        }
    }

    /// The result of a comparison; nothing of one that could not be made: what was computed is worth keeping then.
    pub(super) fn compared<T>(&mut self, compared: Result<T, Vec<Diagnostic>>) -> Option<T> {
        compared.map_err(|faults| self.faults.extend(faults)).ok()
    }

    /// A comparison of no element; `why` says how that comes.
    pub(super) fn nothing_compared(&mut self, why: &str) {
        self.faults.push(nothing_compared(why));
    }

    /// What else is found in the outputs, of which `unwritten` were not stored; warns of what is no error. Without `checks` nothing
    /// was compared.
    pub(super) fn findings(
        &self,
        unwritten: Vec<Unwritten>,
        arrays: RunArrays<'_>,
        checks: Option<&[Comparison]>,
    ) -> Findings {
        let given = given_arrays(arrays.inputs, arrays.made);
        let mut findings = Findings::of(unwritten, arrays.outputs, &given, self.args.strict);
        findings.allow(&self.args.allow_unwritten, &self.args.data.fill);
        if let Some(checks) = checks {
            findings = findings.judged(checks);
        }
        self.session.warn(&findings.warnings());
        findings
    }

    /// Prints the summary and every fault, and gives files that are complete their names.
    pub(super) fn finish(
        mut self,
        differences: Vec<Diagnostic>,
        findings: &Findings,
        summary: (impl FnOnce() -> String, impl FnOnce() -> Value),
        filled: Vec<Option<Filled>>,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        self.faults.extend(differences);
        self.faults.extend(findings.diagnostics());
        self.session.print(summary.0, summary.1, &self.faults);
        self.session.keep_after(&self.faults, filled)
    }
}

/// The arrays that the user gives: those that are not made up.
fn given_arrays<'a>(arrays: &'a Arrays, made: &[String]) -> BTreeMap<&'a str, &'a Array> {
    let of_user = arrays.iter().filter(|(name, _)| !made.contains(name));
    of_user.map(|(name, array)| (name.as_str(), array)).collect()
}

/// What to say of a run that was to be checked, and of which no element was compared.
fn nothing_compared(why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOTHING_TO_CHECK, format!("nothing was compared: {why}")).help(
        "store what the program computes to an output of at least one element, or run with `--no-check`",
    )
}
