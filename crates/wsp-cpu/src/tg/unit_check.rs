//! What is known of a unit and its kernels without a run.

use super::kernels::TgKernels;
use super::sizes::check_sizes;
use wsp_diag::Diagnostic;
use wsp_ir::tg::{TgModule, verify};
use wsp_tg::matrix::{UnitTarget, diagnose};
use wsp_tg::{ElaborateOptions, LintOptions, elaborate, lint};

/// What is wrong with a unit, or probably not meant: with itself, with its kernels, with their order, with what a platform is asked for, with how
/// a run lays it out and with the sizes of what it binds. Of a unit without kernels, which may be given to it later, entry symbols are not looked for.
pub(crate) fn check_unit(module: &TgModule, kernels: &TgKernels, options: &LintOptions) -> Vec<Diagnostic> {
    let mut found = verify(module);
    if found.iter().any(Diagnostic::is_error) {
        return found;
    }
    if kernels.entries().next().is_some() {
        found.extend(kernels.unresolved(module));
    }
    let signatures = kernels.signatures();
    found.extend(lint(module, &signatures, options));
    found.extend(options.platform.map_or_else(Vec::new, |p| diagnose(module, &UnitTarget::of(p))));
    if !found.iter().any(Diagnostic::is_error) {
        found.extend(match elaborate(module, &signatures, &ElaborateOptions::default()) {
            Ok(plan) => check_sizes(&plan, module, kernels),
            Err(faults) => faults,
        });
    }
    found
}
