//! Plans: what a program's generators emitted, kept to be run any number of times.
//!
//! A plan depends on the lengths of requests, on shapes and on parameters, not on what the arrays hold: every layer of a
//! model can run the same one. [`Program::execute_plan`] says when a plan does not fit the arrays it is given, and
//! [`Plan::advance`] brings it up to date in place when requests grow.

mod advance;
mod balance;
mod costs;
mod current;
mod generate;
mod kept;
mod patches;
mod replay;
mod table;

pub use balance::Balance;

use crate::bind::Bound;
use crate::memory::SlotLayout;
use crate::metadata::Metadata;
use crate::options::LaunchOptions;
use crate::program::Program;
use crate::traps::one;
use std::sync::Arc;
use wsp_core::{AxisId, StructId, TensorId, limits};
use wsp_diag::Diagnostic;
use wsp_ir::ArrayRef;
use wsp_kernel::{Env, FlatBuffer, FlatEvent, GeneratorCode, Workspace};
use wsp_plan::LoweredPlan;
use wsp_runtime::clock;

/// Room of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Capacity {
    /// As much as the first run of the generators needs; when a later one needs more, the descriptors move.
    #[default]
    Exact,
    /// So much and no more: the descriptors never move, and a plan that needs more is an error.
    Fixed {
        /// Descriptors of all types together.
        descriptors: u32,
        /// Bytes of workspace.
        workspace_bytes: u64,
    },
}

/// What a plan needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PlanNeed {
    /// Descriptors of all types together.
    pub descriptors: u64,
    /// 32-bit words of all descriptors.
    pub words: u64,
    /// Bytes of workspace.
    pub workspace_bytes: u64,
    /// Slots of workspace.
    pub workspace_slots: u64,
}

/// A descriptor of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanDescriptor<'a> {
    /// Index of the stage.
    pub stage: u32,
    /// Its type.
    pub descriptor: StructId,
    /// Name of the type.
    pub name: &'a str,
    /// Its first word in [`Plan::words`].
    pub first: usize,
    /// Values in field order.
    pub words: &'a [u32],
}

/// What a generator run settles besides descriptors.
#[derive(Clone, Debug, Default)]
struct Settled {
    workspace_bytes: u64,
    workspace_slots: u64,
    /// Tiles in the order in which they were settled.
    tiles: Vec<(AxisId, u32)>,
    changed_tiles: Vec<AxisId>,
    /// Whether some tile was chosen for the lengths that there are.
    chose_tile: bool,
}

/// Descriptors of a launch, ready to run.
#[derive(Debug)]
pub struct Plan {
    lowered: Arc<LoweredPlan>,
    bound: Bound,
    /// Metadata only: no memory.
    env: Env,
    slots: SlotLayout,
    generators: Vec<GeneratorCode>,
    /// The array that holds lengths of requests, if the program has one.
    kv_lens: Option<TensorId>,
    /// Arrays of the launch that the generators read.
    reads: Vec<ArrayRef>,
    capacity: Capacity,
    flat: FlatBuffer,
    settled: Settled,
    /// Room for what a run of the generators reserves.
    workspace: Workspace,
    /// Whether the descriptors are those of `bound`: not so after an advance that failed.
    whole: bool,
    /// Whether `env`, and what generators read of `bound` but lengths, are still those of the last run of the generators.
    behind: bool,
    patches: patches::Patches,
    generated_ns: u64,
}

impl Program {
    /// Runs the generators for these arrays and keeps what they emit. No kernel runs, and of arrays other than integer ones
    /// only shapes and element types are looked at, so that [`Metadata`] are enough.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the program; a plan that does not fit `capacity`.
    pub fn plan<'a>(
        &self,
        arrays: impl Into<Metadata<'a>>,
        options: &LaunchOptions,
        capacity: Capacity,
    ) -> Result<Plan, Vec<Diagnostic>> {
        let (bound, env, slots) = self.bind_metadata(&arrays.into(), options)?;
        let lowered = Arc::clone(self.shared());
        let generators = lowered.stages.iter();
        let generators = generators
            .map(|stage| GeneratorCode::compile(&lowered.module, stage.generator, &env))
            .collect::<Result<Vec<_>, _>>()
            .map_err(one)?;
        let reads = current::reads(&lowered);
        let flat = match capacity {
            Capacity::Exact => FlatBuffer::growing(limits::MAX_DESCRIPTORS as usize),
            Capacity::Fixed { descriptors, .. } => {
                generate::fixed_buffer(&lowered, descriptors).map_err(|fault| vec![fault])?
            }
        };
        let mut plan = Plan {
            kv_lens: lowered.module.tensor_named("kv_lens"),
            lowered,
            bound,
            env,
            slots,
            generators,
            reads,
            capacity,
            flat,
            settled: Settled::default(),
            workspace: Workspace::default(),
            whole: false,
            patches: patches::Patches::default(),
            behind: false,
            generated_ns: 0,
        };
        plan.generate()?;
        Ok(plan)
    }

    /// What a plan for these arrays needs, exactly, without keeping one.
    ///
    /// # Errors
    /// What is wrong with the arrays, the options or the program.
    pub fn workspace_query<'a>(
        &self,
        arrays: impl Into<Metadata<'a>>,
        options: &LaunchOptions,
    ) -> Result<PlanNeed, Vec<Diagnostic>> {
        let (bound, env, _) = self.bind_metadata(&arrays.into(), options)?;
        generate::need(&generate::Run { plan: self.lowered(), bound: &bound, env: &env })
    }
}

impl Plan {
    /// The program it was made from, lowered.
    pub fn lowered(&self) -> &LoweredPlan {
        &self.lowered
    }

    /// Every descriptor in issue order.
    pub fn descriptors(&self) -> impl Iterator<Item = PlanDescriptor<'_>> {
        self.flat.events().filter_map(|event| match event {
            FlatEvent::Fence => None,
            FlatEvent::Task { site, first, fields, .. } => Some(PlanDescriptor {
                stage: site.stage(),
                descriptor: site.descriptor(),
                name: &self.lowered.module.structs[site.descriptor().index()].name,
                first,
                words: fields,
            }),
        })
    }

    /// The fields of all descriptors, one descriptor after another without gaps. With [`Capacity::Fixed`] they lie at one
    /// address as long as the plan lives.
    pub fn words(&self) -> &[u32] {
        self.flat.words()
    }

    /// What it needs: exactly what it has.
    pub fn need(&self) -> PlanNeed {
        PlanNeed {
            descriptors: self.flat.len() as u64,
            words: self.flat.words().len() as u64,
            workspace_bytes: self.settled.workspace_bytes,
            workspace_slots: self.settled.workspace_slots,
        }
    }

    /// Bytes of workspace that its descriptors use.
    pub fn workspace_bytes(&self) -> u64 {
        self.settled.workspace_bytes
    }

    /// Its room.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Tokens per request of each paged cache, as planned.
    pub fn lengths(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.bound.caches.iter().map(|cache| (cache.name.as_str(), &cache.lengths[..]))
    }

    /// The tile of each axis that the generators set or that was chosen automatically.
    pub fn tiles(&self) -> impl Iterator<Item = (&str, u32)> {
        let name = |axis: AxisId| self.lowered.module.axes[axis.index()].name.as_str();
        self.settled.tiles.iter().map(move |&(axis, size)| (name(axis), size))
    }

    /// Nanoseconds that the generators took when they ran last.
    pub fn generated_ns(&self) -> u64 {
        self.generated_ns
    }

    /// Runs the generators again, for the lengths that the plan has.
    ///
    /// # Errors
    /// A fault of a generator; more descriptors or workspace than there is room for. Then the plan cannot be run.
    pub fn regenerate(&mut self) -> Result<(), Vec<Diagnostic>> {
        self.generate()
    }

    fn generate(&mut self) -> Result<(), Vec<Diagnostic>> {
        self.whole = false;
        self.patches.forget();
        self.catch_up()?;
        let started = clock::now();
        let run = generate::Run { plan: &self.lowered, bound: &self.bound, env: &self.env };
        let (settled, missed) = run.fill(&self.generators, &mut self.flat, &mut self.workspace)?;
        self.generated_ns = clock::nanos_since(started);
        self.settled = settled;
        self.check_capacity(missed)?;
        self.whole = true;
        Ok(())
    }
}
