//! What a backend compiles.

use crate::lower::LoweredPlan;
use crate::options::ParamValue;
use crate::target::Target;
use crate::workload::WorkloadPlan;
use std::fmt;
use std::sync::Arc;
use wsp_diag::SourceMap;
use wsp_ir::Module;
use wsp_ir::tg::TgModule;

/// A program of one of three kinds, lowered up to where a backend takes over. It is data only: bodies of kernels are functions
/// of the modules in it, or belong to the backend.
#[derive(Clone, Debug)]
pub enum PlanSource {
    /// Generators over spaces, of a `.pto` file.
    Spaces(Arc<LoweredPlan>),
    /// A workload.
    Workload(Arc<WorkloadPlan>),
    /// A unit of task graphs.
    Unit(Arc<UnitSource>),
}

/// A unit of task graphs with the files of its kernels.
#[derive(Clone, Debug)]
pub struct UnitSource {
    /// The unit.
    pub module: TgModule,
    /// Files whose kernels the unit calls by their entry symbols.
    pub files: Vec<KernelFile>,
    /// Where it is to run.
    pub target: &'static Target,
}

/// A file of kernels of task graphs.
#[derive(Clone, Debug)]
pub struct KernelFile {
    /// The file.
    pub module: Arc<Module>,
    /// Values of its parameters; the others have their defaults.
    pub set: Vec<(String, ParamValue)>,
}

/// A kind of program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProgramKind {
    /// Generators over spaces.
    Spaces,
    /// A workload.
    Workload,
    /// A unit of task graphs.
    Unit,
}

impl PlanSource {
    /// Its kind.
    pub fn kind(&self) -> ProgramKind {
        match self {
            PlanSource::Spaces(_) => ProgramKind::Spaces,
            PlanSource::Workload(_) => ProgramKind::Workload,
            PlanSource::Unit(_) => ProgramKind::Unit,
        }
    }

    /// Where it is to run.
    pub fn target(&self) -> &'static Target {
        match self {
            PlanSource::Spaces(plan) => plan.options.target,
            PlanSource::Workload(plan) => plan.options.target,
            PlanSource::Unit(unit) => unit.target,
        }
    }
}

impl PlanSource {
    /// The plan with the texts that its spans are of: packages name places of the source by them. A unit has none.
    #[must_use]
    pub fn with_sources(self, sources: &SourceMap) -> PlanSource {
        let sources = Some(Arc::new(sources.clone()));
        match self {
            PlanSource::Spaces(mut plan) => {
                Arc::make_mut(&mut plan).sources = sources;
                PlanSource::Spaces(plan)
            }
            PlanSource::Workload(mut plan) => {
                Arc::make_mut(&mut plan).sources = sources;
                PlanSource::Workload(plan)
            }
            PlanSource::Unit(unit) => PlanSource::Unit(unit),
        }
    }
}

impl From<LoweredPlan> for PlanSource {
    fn from(plan: LoweredPlan) -> PlanSource {
        PlanSource::Spaces(Arc::new(plan))
    }
}

impl From<WorkloadPlan> for PlanSource {
    fn from(plan: WorkloadPlan) -> PlanSource {
        PlanSource::Workload(Arc::new(plan))
    }
}

impl From<UnitSource> for PlanSource {
    fn from(unit: UnitSource) -> PlanSource {
        PlanSource::Unit(Arc::new(unit))
    }
}

impl fmt::Display for ProgramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProgramKind::Spaces => "program of spaces",
            ProgramKind::Workload => "workload",
            ProgramKind::Unit => "task graph",
        })
    }
}
