//! What a target that runs elsewhere says of the kernels of a file.

use super::{Session, named};
use crate::args::Setting;
use pto_wsp::registry;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wsp_backend::codes::KERNELS_UNSEEN;
use wsp_backend::{CheckedKernel, KernelsSource};
use wsp_core::ParamId;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Severity};
use wsp_ir::{Const, Expr, ExprKind, Module, ParamSource};
use wsp_plan::{KernelFile, Target};

/// What `--set` is for.
pub(super) const TAKE_SET: &str = "is for workloads, and for kernels of `.pto` files with the target that they are written for: `--target ascend_910b`";

/// The module whose parameters have these values by default: the check of a plan takes no others. What no parameter can have is left to [`check`].
pub(super) fn with_values(module: &Module, set: &[Setting]) -> Module {
    let mut module = module.clone();
    for (name, value) in named(set, "is for programs that run").unwrap_or_default() {
        let ids = (0..module.params.len()).map(|id| ParamId(id as u32));
        let of = ids.into_iter().find(|id| module.user_names(*id).any(|known| known == name));
        let Some(param) = of.map(|id| &mut module.params[id.index()]) else { continue };
        if let (ParamSource::Set { default }, true) = (&mut param.source, value.fits(param.ty)) {
            let value = match value {
                Const::Int(n) if param.ty.is_float() => Const::Float(n as f64),
                value => value,
            };
            *default = Expr::new(ExprKind::Const(value), param.ty, param.span);
        }
    }
    module
}

/// Prints a line for each kernel that can be written for the target, and what is probably not meant; the faults of all others.
pub(super) fn check(
    session: &Session,
    path: &Path,
    module: Arc<Module>,
    target: &'static Target,
    set: &[Setting],
) -> Vec<Diagnostic> {
    let set = match named(set, "is for programs that run") {
        Ok(set) => set,
        Err(fault) => return vec![fault],
    };
    let source = KernelsSource { file: KernelFile { module, set }, kernel: None, target };
    let checked = registry().check_kernels(&source);
    let (faults, others): (Vec<Diagnostic>, Vec<Diagnostic>) =
        checked.found.into_iter().partition(Diagnostic::is_error);
    session.warn(&others);
    for kernel in &checked.kernels {
        session.terminal.print(&format!("{}: {}\n", path.display(), line(kernel)));
    }
    faults
}

/// The kernels of a unit lie in files of their own, which a check of the unit for a target does not look at: a note for each file.
pub(super) fn unseen(files: &[PathBuf], target: &'static Target) -> Vec<Diagnostic> {
    if !registry().has_kernels(target) {
        return Vec::new();
    }
    let one = |path: &PathBuf| {
        let (path, target) = (path.display(), target.name);
        let message = format!("kernels of `{path}` were not looked at for target `{target}`");
        Diagnostic::new(KERNELS_UNSEEN, Severity::Note, message)
            .help(format!("`wsp check {path} --target {target}` does"))
    };
    files.iter().map(one).collect()
}

fn line(kernel: &CheckedKernel) -> String {
    let CheckedKernel { name, tasks, memories } = kernel;
    let mut text = format!("kernel {name}: {}", counted(*tasks, "task"));
    for of in memories {
        // Writing to a string does not fail.
        let _ =
            write!(text, ", {} {} of {} bytes", of.memory, in_thousands(of.used), in_thousands(of.capacity));
    }
    text
}

/// `12,288`
fn in_thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
