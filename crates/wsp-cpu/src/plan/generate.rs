//! Runs generators into a buffer.

use super::{Capacity, Plan, PlanNeed, Settled};
use crate::bind::Bound;
use crate::codes;
use crate::host::{PlanHost, Sink};
use crate::planner::{Planner, at};
use crate::traps::{generator_fault, one};
use wsp_core::words::counted;
use wsp_core::{StructId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::ArrayRef;
use wsp_kernel::{Env, FlatBuffer, GeneratorCode, Growing, Hints, Rate, Trap, Workspace};
use wsp_plan::LoweredPlan;

/// Generators and what they see.
pub(super) struct Run<'a> {
    pub(super) plan: &'a LoweredPlan,
    pub(super) bound: &'a Bound,
    pub(super) env: &'a Env,
}

/// Descriptors beyond the room of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Missed {
    descriptors: u64,
    words: u64,
}

/// Keeps descriptors, and counts those for which there is no room.
struct FlatSink<'f> {
    flat: &'f mut FlatBuffer,
    missed: Missed,
}

impl Sink for FlatSink<'_> {
    fn emit(
        &mut self,
        _: &Planner<'_>,
        descriptor: StructId,
        fields: &[u32],
        hints: Hints<'_>,
    ) -> Result<(), Trap> {
        if self.flat.emit(descriptor, fields, hints).is_err() {
            self.missed.descriptors += 1;
            self.missed.words += fields.len() as u64;
        }
        if self.flat.len() as u64 + self.missed.descriptors > u64::from(limits::MAX_DESCRIPTORS) {
            return Err(Trap::new(
                codes::TOO_MANY_TASKS,
                format!("more than {} are generated", counted(limits::MAX_DESCRIPTORS, "descriptor")),
                Span::default(),
            )
            .note("use larger tiles"));
        }
        Ok(())
    }

    fn flat(&mut self) -> Option<&mut FlatBuffer> {
        Some(self.flat)
    }

    fn fence(&mut self) {
        self.flat.fence();
    }

    fn cancelled(&self, planner: &Planner<'_>) -> bool {
        planner.env.cancelled()
    }
}

/// Compares descriptors with those that are there.
struct CompareSink<'w> {
    words: &'w [u32],
    at: usize,
    same: bool,
}

impl Sink for CompareSink<'_> {
    fn emit(&mut self, _: &Planner<'_>, _: StructId, fields: &[u32], _: Hints<'_>) -> Result<(), Trap> {
        let end = self.at + fields.len();
        self.same &= self.words.get(self.at..end) == Some(fields);
        self.at = end;
        Ok(())
    }

    fn fence(&mut self) {}

    fn cancelled(&self, planner: &Planner<'_>) -> bool {
        planner.env.cancelled()
    }
}

impl Run<'_> {
    /// Runs every generator; descriptors go to `flat`, slots are those of `workspace`, and what these held before is forgotten.
    pub(super) fn fill(
        &self,
        generators: &[GeneratorCode],
        flat: &mut FlatBuffer,
        workspace: &mut Workspace,
    ) -> Result<(Settled, Missed), Vec<Diagnostic>> {
        flat.clear();
        let sink = FlatSink { flat, missed: Missed::default() };
        let (sink, settled) = self
            .each(generators, workspace, sink, |stage, code, host| {
                host.sink.flat.enter(stage);
                code.run(self.env, host, limits::MAX_GENERATOR_STEPS)
            })
            .map_err(|trap| vec![generator_fault(trap)])?;
        Ok((settled, sink.missed))
    }

    /// How what each stage emits follows requests that grow, with the stage's first word; none when it cannot be told.
    /// `words` is what the generators emit now.
    pub(super) fn look_ahead(
        &self,
        generators: &[GeneratorCode],
        rate: &dyn Fn(ArrayRef) -> Rate,
        words: &[u32],
    ) -> Result<Option<Vec<(usize, Growing)>>, Vec<Diagnostic>> {
        let (mut found, mut workspace) = (Vec::<(usize, Growing)>::new(), Workspace::default());
        let (sink, settled) = self
            .each(generators, &mut workspace, CompareSink { words, at: 0, same: true }, |_, code, host| {
                let first = host.sink.at;
                found.push((first, code.grow(self.env, host, rate, limits::MAX_GENERATOR_STEPS)?));
                Ok(())
            })
            .map_err(|trap| vec![generator_fault(trap)])?;
        let all = sink.same && sink.at == words.len();
        Ok((all && !settled.chose_tile).then_some(found))
    }

    /// Lets `run` run the generator of each stage in turn.
    fn each<S: Sink>(
        &self,
        generators: &[GeneratorCode],
        workspace: &mut Workspace,
        sink: S,
        mut run: impl FnMut(u32, &GeneratorCode, &mut PlanHost<'_, '_, S>) -> Result<(), Trap>,
    ) -> Result<(S, Settled), Trap> {
        let mut planner = Planner::new(self.plan, self.bound, self.env);
        workspace.clear();
        planner.workspace = std::mem::take(workspace);
        let mut host = PlanHost { planner: &mut planner, sink };
        for (stage, code) in (0u32..).zip(generators) {
            let space = self.plan.stages[stage as usize].space;
            host.enter(stage, space);
            let span = self.plan.module.spaces[space.index()].span;
            run(stage, code, &mut host).map_err(|trap| at(trap, span))?;
        }
        let sink = host.sink;
        let settled = Settled {
            workspace_bytes: planner.workspace.bytes(),
            workspace_slots: planner.workspace.slots(),
            tiles: planner.tiles,
            changed_tiles: planner.changed_tiles,
            chose_tile: planner.chose_tile,
        };
        *workspace = planner.workspace;
        Ok((sink, settled))
    }
}

/// What a plan needs: a run whose descriptors are counted and dropped.
pub(super) fn need(run: &Run<'_>) -> Result<PlanNeed, Vec<Diagnostic>> {
    let generators = run.plan.stages.iter();
    let generators = generators
        .map(|stage| GeneratorCode::compile(&run.plan.module, stage.generator, run.env))
        .collect::<Result<Vec<_>, _>>()
        .map_err(one)?;
    let mut flat = fixed_buffer(run.plan, 0).map_err(|fault| vec![fault])?;
    let (settled, missed) = run.fill(&generators, &mut flat, &mut Workspace::default())?;
    Ok(PlanNeed {
        descriptors: missed.descriptors,
        words: missed.words,
        workspace_bytes: settled.workspace_bytes,
        workspace_slots: settled.workspace_slots,
    })
}

impl Plan {
    /// Whether what was generated fits.
    pub(super) fn check_capacity(&self, missed: Missed) -> Result<(), Vec<Diagnostic>> {
        let Capacity::Fixed { descriptors, workspace_bytes } = self.capacity else { return Ok(()) };
        let mut faults = Vec::new();
        if missed.descriptors > 0 {
            let need = self.flat.len() as u64 + missed.descriptors;
            faults.push(over("descriptors", need, descriptors.into()));
        }
        if self.settled.workspace_bytes > workspace_bytes {
            faults.push(over("bytes of workspace", self.settled.workspace_bytes, workspace_bytes));
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// A buffer for so many descriptors of any type of the program.
pub(super) fn fixed_buffer(plan: &LoweredPlan, descriptors: u32) -> Result<FlatBuffer, Diagnostic> {
    if descriptors > limits::MAX_DESCRIPTORS {
        let message =
            format!("room for {descriptors} is asked for", descriptors = counted(descriptors, "descriptor"));
        return Err(Diagnostic::error(codes::PLAN_CAPACITY, message)
            .note(format!("a plan has at most {}", limits::MAX_DESCRIPTORS)));
    }
    let longest = plan.module.structs.iter().map(|def| def.fields.len()).max().unwrap_or(0);
    FlatBuffer::fixed(descriptors as usize, longest).ok_or_else(|| {
        let message = format!(
            "there is no memory for {descriptors} of up to {longest}",
            descriptors = counted(descriptors, "descriptor"),
            longest = counted(longest, "word")
        );
        Diagnostic::error(codes::PLAN_CAPACITY, message)
    })
}

fn over(what: &str, need: u64, have: u64) -> Diagnostic {
    Diagnostic::error(codes::PLAN_CAPACITY, format!("the plan needs {need} {what}, but has room for {have}"))
        .help("make one with more room: `workspace_query` says what is needed")
        .python("make one with more room: `program.workspace_query(arrays)` says what is needed")
}
