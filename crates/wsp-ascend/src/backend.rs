//! Ascend behind the seam of backends: it writes files, and has the host run packages of them.

use crate::graph::{GraphSource, emit_graph};
use crate::hosted::{HostProgram, HostRunner, not_a_package, signatures};
use crate::package::{self, Source, Unit};
use std::path::PathBuf;
use std::sync::Arc;
use wsp_backend::codes::NO_FILES;
use wsp_backend::{
    Backend, CheckedKernels, EmitOptions, Emitted, Expansion, KernelsSource, Package, PackagePart, Program,
};
use wsp_diag::{Diagnostic, Diagnostics, Severity, did_you_mean};
use wsp_ir::workload::StatementKind;
use wsp_plan::target::TARGETS;
use wsp_plan::{PlanSource, Target, UnitSource};
use wsp_tg::{ElaborateOptions, UnitPlan, elaborate};

/// The targets that have AICPUs.
static ASCEND: [&Target; 3] = [&TARGETS[1], &TARGETS[2], &TARGETS[3]];

/// The target that packages run on here.
static HOST: [&Target; 1] = [&TARGETS[4]];

/// C++ of programs for Ascend accelerators, and packages of it that run on the host.
#[derive(Clone, Default)]
pub struct AscendBackend {
    /// Builds and runs packages; without it none run.
    pub runner: Option<Arc<dyn HostRunner>>,
}

impl Backend for AscendBackend {
    fn name(&self) -> &'static str {
        "ascend"
    }

    fn targets(&self) -> &'static [&'static Target] {
        if self.runner.is_some() { &HOST } else { &[] }
    }

    /// None: of what is behind the seam, it writes task graphs only.
    fn supports_statement(&self, _: StatementKind) -> bool {
        false
    }

    fn supports(&self, plan: &PlanSource) -> Vec<Diagnostic> {
        match plan {
            PlanSource::Spaces(_) => Vec::new(),
            PlanSource::Workload(plan) => {
                Source::workload(plan, &Expansion::Bytecode).err().map_or_else(Vec::new, |found| found.0)
            }
            PlanSource::Unit(unit) => {
                Unit::new(unit, &signatures(unit), unit.target).err().map_or_else(Vec::new, |found| found.0)
            }
        }
    }

    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics> {
        match &self.runner {
            Some(runner) => Ok(Box::new(HostProgram::new(plan, runner.clone())?)),
            None => Err(not_a_package(plan.kind()).into()),
        }
    }

    /// Another process runs packages.
    fn copies_arrays(&self) -> bool {
        true
    }

    fn emits(&self) -> &'static [&'static Target] {
        &ASCEND
    }

    fn emit(&self, plan: &PlanSource, options: &EmitOptions) -> Result<Emitted, Diagnostics> {
        match plan {
            PlanSource::Unit(unit) if options.part == PackagePart::Graphs => graphs(unit, options),
            PlanSource::Unit(unit) => {
                let target = options.target.unwrap_or(unit.target);
                let made = Unit::new(unit, &options.signatures, target)?;
                let own = EmitOptions { expansion: made.expansion.clone(), ..options.clone() };
                package::emit(&Source::of_unit(made), target, &own)
            }
            PlanSource::Spaces(plan) => {
                package::emit(&Source::spaces(plan)?, options.target.unwrap_or(plan.options.target), options)
            }
            PlanSource::Workload(plan) => package::emit(
                &Source::workload(plan, &options.expansion)?,
                options.target.unwrap_or(plan.options.target),
                options,
            ),
        }
    }

    fn emit_kernels(&self, source: &KernelsSource) -> Result<Emitted, Diagnostics> {
        crate::kernels::files::emit(source)
    }

    fn check_kernels(&self, source: &KernelsSource) -> CheckedKernels {
        crate::kernels::files::check(source)
    }
}

/// A translation unit for each graph, and what they include.
fn graphs(unit: &UnitSource, options: &EmitOptions) -> Result<Emitted, Diagnostics> {
    let flows = ElaborateOptions { flows: true, ..ElaborateOptions::default() };
    let plan = elaborate(&unit.module, &options.signatures, &flows)?;
    let mut emitted = Emitted::default();
    for at in wanted(&plan, options.graph.as_deref())? {
        let source = emit_graph(&unit.module, &plan, at, unit.target.platform).map_err(|fault| {
            let message = format!("there is no C++ for graph `{}`", plan.graphs[at].name);
            Diagnostic::error(NO_FILES, message).note(fault.to_string())
        })?;
        add(&mut emitted, source);
    }
    Ok(emitted)
}

/// Adds the files of a graph; graphs share what they include.
fn add(emitted: &mut Emitted, source: GraphSource) {
    let GraphSource { translation_unit, namespace, headers, notes } = source;
    let Package { files, .. } = &mut emitted.package;
    files.push((PathBuf::from(format!("{namespace}.cpp")), translation_unit.into_bytes()));
    for (path, text) in headers {
        let header = (PathBuf::from(path), text.as_bytes().to_vec());
        if !files.contains(&header) {
            files.push(header);
        }
    }
    for note in notes {
        let note = Diagnostic::new(NO_FILES, Severity::Note, &note);
        if !emitted.notes.contains(&note) {
            emitted.notes.push(note);
        }
    }
}

/// The graphs that are asked for.
fn wanted(plan: &UnitPlan, graph: Option<&str>) -> Result<Vec<usize>, Diagnostic> {
    let names = || plan.graphs.iter().map(|graph| graph.name.as_str());
    if plan.graphs.is_empty() {
        return Err(Diagnostic::error(NO_FILES, "the unit has no graph")
            .help("define one: `TG_BEGIN(NAME)` … `TG_END(NAME)`"));
    }
    let Some(name) = graph else { return Ok((0..plan.graphs.len()).collect()) };
    names().position(|other| other == name).map(|at| vec![at]).ok_or_else(|| {
        let fault = Diagnostic::error(NO_FILES, format!("the unit has no graph `{name}`"));
        match did_you_mean(name, names()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.note(format!("it has {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}
