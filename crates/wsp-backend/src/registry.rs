//! The backends that there are.

use crate::args::Args;
use crate::backend::Backend;
use crate::codes::{BACKEND_EXISTS, NO_BACKEND, NO_FILES, OPTION_OF_OTHERS, UNKNOWN_BACKEND};
use crate::package::{CheckedKernels, CheckedLaunch, EmitOptions, Emitted, KernelsSource};
use std::fmt;
use std::sync::Arc;
use wsp_diag::{Diagnostic, Diagnostics, did_you_mean};
use wsp_ir::Module;
use wsp_plan::target::listed;
use wsp_plan::{ParamValue, PlanSource, Target, UnitSource};
use wsp_tg::LintOptions;

/// Backends by name. Of those that take a plan, the one that was registered first is selected.
#[derive(Clone, Default)]
pub struct Registry {
    backends: Vec<Arc<dyn Backend>>,
}

/// The backend for a plan, and why it is that one.
#[derive(Clone)]
pub struct Selection {
    backend: Arc<dyn Backend>,
    target: &'static Target,
    /// Those that were asked before, with what they cannot do.
    passed_over: Vec<PassedOver>,
}

/// A backend that does not take a plan.
#[derive(Clone, Debug)]
struct PassedOver {
    name: &'static str,
    why: Why,
}

#[derive(Clone, Debug)]
enum Why {
    /// It runs other targets.
    Targets(Vec<&'static Target>),
    /// It cannot do all of the plan.
    Findings(Vec<Diagnostic>),
}

impl Registry {
    /// No backends.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a backend.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn register(&mut self, backend: Arc<dyn Backend>) -> Result<(), Diagnostic> {
        if self.backends.iter().any(|known| known.name() == backend.name()) {
            let message = format!("backend `{}` is registered already", backend.name());
            return Err(Diagnostic::error(BACKEND_EXISTS, message).help("give one of them another name"));
        }
        self.backends.push(backend);
        Ok(())
    }

    /// The backend of a name.
    ///
    /// # Errors
    /// There is none: the names that there are.
    pub fn backend(&self, name: &str) -> Result<&Arc<dyn Backend>, Diagnostic> {
        let found = self.backends.iter().find(|backend| backend.name() == name);
        found.ok_or_else(|| {
            let fault = Diagnostic::error(UNKNOWN_BACKEND, format!("there is no backend `{name}`"));
            let fault = fault.note(format!("backends: {}", quoted(self.names())));
            match did_you_mean(name, self.names()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault,
            }
        })
    }

    /// Names of the backends, in the order in which they were registered.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.backends.iter().map(|backend| backend.name())
    }

    /// Targets that some backend runs, each once.
    pub fn targets(&self) -> Vec<&'static Target> {
        let mut all = Vec::new();
        for target in self.backends.iter().flat_map(|backend| backend.targets()) {
            if !all.contains(target) {
                all.push(*target);
            }
        }
        all
    }

    /// The target of a name, which some backend runs.
    ///
    /// # Errors
    /// There is no such target, or nothing runs it: those that can be run.
    pub fn target(&self, name: &str) -> Result<&'static Target, Diagnostic> {
        let runs = self.targets();
        let target = Target::named_of(name, &runs)?;
        if runs.contains(&target) {
            return Ok(target);
        }
        Err(Diagnostic::error(NO_BACKEND, format!("no backend runs target `{}`", target.name))
            .note(format!("targets that run here: {}", listed(runs.into_iter()))))
    }

    /// The target of a name, for which some backend writes files.
    ///
    /// # Errors
    /// There is no such target, or nothing writes files for it: those for which something does.
    pub fn emitted(&self, name: &str) -> Result<&'static Target, Diagnostic> {
        let all: Vec<_> = self.backends.iter().flat_map(|backend| backend.emits().iter().copied()).collect();
        let target = Target::named_of(name, &all)?;
        if all.contains(&target) { Ok(target) } else { Err(self.no_files(target)) }
    }

    /// Checks what every launch with the defaults of a `.pto` program refuses, by the backend that runs this target; nothing where none does.
    ///
    /// # Errors
    /// As [`Backend::check_defaults`].
    pub fn check_defaults(&self, module: &Module, target: &Target) -> Result<(), Diagnostics> {
        self.that_runs(target).map_or(Ok(()), |backend| backend.check_defaults(module))
    }

    /// What is wrong with a unit of task graphs, or probably not meant, by the backend that runs its target; nothing where none does.
    pub fn check_unit(&self, unit: &UnitSource, options: &LintOptions) -> Vec<Diagnostic> {
        self.that_runs(unit.target).map_or_else(Vec::new, |backend| backend.check_unit(unit, options))
    }

    fn that_runs(&self, target: &Target) -> Option<&Arc<dyn Backend>> {
        self.backends.iter().find(|backend| backend.targets().contains(&target))
    }

    /// Writes a plan as files, by the backend that writes them for its target.
    ///
    /// # Errors
    /// None does, or it cannot write all of the plan.
    pub fn emit(&self, plan: &PlanSource, options: &EmitOptions) -> Result<Emitted, Diagnostics> {
        let target = options.target.unwrap_or_else(|| plan.target());
        if options.lengths.is_some() && !self.emits_one_launch(target) {
            let message = format!("option `lengths` has no meaning on target `{}`", target.name);
            return Err(Diagnostic::error(OPTION_OF_OTHERS, message)
                .help("leave it out: a package for this target takes launches of all lengths")
                .into());
        }
        match self.that_emits(target) {
            Some(backend) => backend.emit(plan, options),
            None => Err(self.no_files(target).into()),
        }
    }

    /// Whether files for a target are of one launch.
    pub fn emits_one_launch(&self, target: &Target) -> bool {
        self.that_emits(target).is_some_and(|backend| backend.emits_one_launch())
    }

    /// Writes the kernels of a file, by the backend that writes files for the target.
    ///
    /// # Errors
    /// None does, or it cannot write all of them.
    pub fn emit_kernels(&self, source: &KernelsSource) -> Result<Emitted, Diagnostics> {
        match self.that_emits(source.target) {
            Some(backend) => backend.emit_kernels(source),
            None => Err(self.no_files(source.target).into()),
        }
    }

    /// Whether a backend writes files for a target, and so looks at kernels for it.
    pub fn has_kernels(&self, target: &Target) -> bool {
        self.that_emits(target).is_some()
    }

    /// Looks at the kernels of a file, by the backend that writes files for the target; nothing where none does.
    pub fn check_kernels(&self, source: &KernelsSource) -> CheckedKernels {
        self.that_emits(source.target)
            .map_or_else(CheckedKernels::default, |backend| backend.check_kernels(source))
    }

    /// Looks at a launch of a plan, by the backend that writes files for its target; nothing where none does.
    pub fn check_launch(&self, plan: &PlanSource, launch: &Args) -> CheckedLaunch {
        self.that_emits(plan.target())
            .map_or_else(CheckedLaunch::default, |backend| backend.check_launch(plan, launch))
    }

    /// Looks at a launch before its arrays are made, by the backend that runs its plan; nothing where none does.
    ///
    /// # Errors
    /// As [`Backend::check_values`].
    pub fn check_values(
        &self,
        plan: &PlanSource,
        values: &[(String, ParamValue)],
    ) -> Result<(), Diagnostics> {
        self.select(plan).map_or(Ok(()), |selected| selected.backend().check_values(plan, values))
    }

    fn that_emits(&self, target: &Target) -> Option<&Arc<dyn Backend>> {
        self.backends.iter().find(|backend| backend.emits().contains(&target))
    }

    fn no_files(&self, target: &Target) -> Diagnostic {
        let all = self.backends.iter().flat_map(|backend| backend.emits().iter().copied());
        Diagnostic::error(NO_FILES, format!("no backend writes files for target `{}`", target.name))
            .help(format!("choose a target with files: {}", listed(all)))
    }

    /// The backend for a plan.
    ///
    /// # Errors
    /// None runs its target or takes all of it: what each of them says.
    pub fn select(&self, plan: &PlanSource) -> Result<Selection, Diagnostics> {
        let target = plan.target();
        let mut passed_over = Vec::new();
        for backend in &self.backends {
            let why = match backend.targets().contains(&target) {
                false => Why::Targets(backend.targets().to_vec()),
                true => match backend.supports(plan) {
                    found if found.is_empty() => {
                        return Ok(Selection { backend: backend.clone(), target, passed_over });
                    }
                    found => Why::Findings(found),
                },
            };
            passed_over.push(PassedOver { name: backend.name(), why });
        }
        let message = format!("no backend runs this {} on target `{}`", plan.kind(), target.name);
        let fault = Diagnostic::error(NO_BACKEND, message);
        let fault = passed_over.iter().fold(fault, |fault, of| fault.note(of.to_string()));
        let findings = passed_over.into_iter().flat_map(|of| match of.why {
            Why::Targets(_) => Vec::new(),
            Why::Findings(found) => found,
        });
        Err(Diagnostics([fault].into_iter().chain(findings).collect()))
    }
}

impl Selection {
    /// The backend.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` runs target `{}` and takes all of the plan", self.backend.name(), self.target.name)?;
        self.passed_over.iter().try_for_each(|of| write!(f, "; {of}"))
    }
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Targets(targets) if targets.is_empty() => write!(f, "`{}` runs nothing", self.name),
            Why::Targets(targets) => {
                write!(f, "`{}` runs {}", self.name, listed(targets.iter().copied()))
            }
            Why::Findings(found) => {
                let found: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
                write!(f, "`{}` does not take it: {}", self.name, found.join(", "))
            }
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string())
    }
}

fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
