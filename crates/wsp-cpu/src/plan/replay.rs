//! Runs what a plan holds.

use super::Plan;
use crate::host::Sink;
use crate::kernels::KernelTable;
use crate::metadata::Metadata;
use crate::options::LaunchOptions;
use crate::planner::Planner;
use crate::prepared::{Prepared, ReadyLaunch, Way};
use crate::program::{Program, of_the_host};
use crate::sizes::Sizes;
use crate::sizing::SizingSink;
use crate::stats::Outcome;
use crate::submit::SubmitSink;
use crate::traps::generator_fault;
use wsp_diag::Diagnostic;
use wsp_kernel::{FlatEvent, Trap};
use wsp_plan::Arrays;
use wsp_runtime::clock;

impl Program {
    /// Runs a plan: as [`Program::execute`], without the generators. The arrays may be others than those it was made for, as
    /// long as lengths, shapes and parameters are the same.
    ///
    /// # Errors
    /// What is wrong with the arrays or the options; a stale plan; the first fault of a kernel.
    pub fn execute_plan(
        &self,
        plan: &Plan,
        arrays: &Arrays,
        options: &LaunchOptions,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        self.run_plan(plan, &mut self.ready_plan(plan, arrays, options)?, arrays)
    }

    /// Everything up to the point where the tasks of a plan could start.
    ///
    /// # Errors
    /// What is wrong with the arrays or the options; a stale plan.
    pub(crate) fn ready_plan(
        &self,
        plan: &Plan,
        arrays: &Arrays,
        options: &LaunchOptions,
    ) -> Result<ReadyLaunch, Vec<Diagnostic>> {
        let way = Way::Planner(self.config(options)?);
        let may_be_absent = |id| self.may_be_absent(id);
        let mut prepared = self.bind(&Metadata::from(arrays), options, self.demand(&may_be_absent))?;
        plan.check_current(self, &prepared.bound, &prepared.slots)?;
        self.compile_kernels(&mut prepared, arrays)?;
        let Prepared { bound, env, kernels, sizes, times, .. } = &mut prepared;
        let started = clock::now();
        for &(axis, size) in &plan.settled.tiles {
            env.set_axis_tile(axis, size);
        }
        *sizes = plan
            .sizes(&mut Planner::new(self.lowered(), bound, env), kernels)
            .map_err(|fault| vec![fault])?;
        times.sizing = clock::nanos_since(started);
        Ok(ReadyLaunch { prepared, generators: Vec::new(), way })
    }

    /// Runs the tasks of a plan, which were made ready for these arrays. What failed is not run again.
    ///
    /// # Errors
    /// There is no memory, arrays of the caller are in use; the first fault of a kernel.
    pub(crate) fn run_plan(
        &self,
        plan: &Plan,
        ready: &mut ReadyLaunch,
        arrays: &Arrays,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        let ReadyLaunch { prepared, way, .. } = ready;
        let config = match way {
            Way::Planner(config) => config,
            Way::Aicpus(_) => return Err(vec![of_the_host()]),
        };
        self.launch(prepared, arrays, config, |planner, kernels, submitter| {
            plan.replay(planner, &mut SubmitSink::new(kernels, submitter)).map_err(generator_fault)
        })
    }
}

impl Plan {
    /// What the sizing run of a launch would find.
    fn sizes(&self, planner: &mut Planner<'_>, kernels: &KernelTable) -> Result<Sizes, Diagnostic> {
        planner.tiles.clone_from(&self.settled.tiles);
        planner.changed_tiles.clone_from(&self.settled.changed_tiles);
        let mut sink = SizingSink::new(planner, kernels, false);
        self.replay(planner, &mut sink)?;
        let mut sizes = sink.finish(planner)?;
        sizes.workspace_bytes = self.settled.workspace_bytes;
        sizes.workspace_slots = self.settled.workspace_slots;
        Ok(sizes)
    }

    /// Gives a sink what the generators emitted.
    fn replay(&self, planner: &mut Planner<'_>, sink: &mut impl Sink) -> Result<(), Trap> {
        let mut stage = None;
        for event in self.flat.events() {
            match event {
                FlatEvent::Fence => sink.fence(),
                FlatEvent::Task { site, fields, hints, .. } => {
                    if stage != Some(site.stage()) {
                        stage = Some(site.stage());
                        planner.enter(site.stage(), self.lowered.stages[site.stage() as usize].space);
                    }
                    sink.emit(planner, site.descriptor(), fields, hints)?;
                }
            }
        }
        Ok(())
    }
}
