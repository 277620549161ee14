//! Workloads whose tasks AICPUs generate, each its own.
//!
//! An AICPU interprets the workload's program ([`Expand::Bytecode`](wsp_backend::Expand::Bytecode)) or goes through a list that the host has made of all
//! tasks ([`Expand::Host`](wsp_backend::Expand::Host)); both give the same tasks to [`wsp_runtime::aicpu`], which orders and runs them.

mod bytecode;
mod check;
mod failed;
mod generation;
mod host_list;
mod issue;
mod moved;
mod outcome;
mod ready;
pub(crate) mod settings;

pub(crate) use generation::{AnyGenerator, GenerationFault};
pub(crate) use moved::{bytes, moved};
pub(crate) use outcome::Ran;
pub(crate) use ready::ReadyAicpus;
pub(crate) use settings::{check_aicpus, settings};

use self::bytecode::Bytecode;
use self::failed::TaskFailure;
use self::host_list::{Collecting, HostList, NoList, Share};
use self::issue::{Issue, IssueDeclared, IssueLibrary};
use self::ready::{AicpuProgram, Source};
use super::declared::{Declared, TaskFault};
use super::equal::NamedTensor;
use super::graph::GraphFault;
use super::inputs::WorkloadOptions;
use super::library::LibraryTasks;
use super::{codes, faults};
use crate::prepared::Launched;
use crate::program::Program;
use std::collections::HashMap;
use wsp_core::ptow::interp::{Interpreter, Mode, workspace_words};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Deps, Task, WorkloadModule};
use wsp_kernel::Trap;
use wsp_plan::ptow::{LaunchData, prefix_sums, statements, transfer};
use wsp_plan::workload::{Bindings, LoweredSchedule, expand};
use wsp_runtime::TaskRunner;
use wsp_runtime::aicpu::{Aicpus, NoSlots, Slots};

/// A workload that AICPUs are to generate.
pub(crate) struct Generated<'a> {
    pub(crate) module: &'a WorkloadModule,
    pub(crate) schedule: &'a LoweredSchedule,
    pub(crate) bindings: &'a Bindings,
    pub(crate) options: &'a WorkloadOptions,
    pub(crate) tensors: &'a [NamedTensor],
}

impl Generated<'_> {
    /// Runs tasks of declared kernels.
    ///
    /// # Errors
    /// Faults of the workload, the first fault of a task.
    pub(crate) fn declared(&self, ready: &mut ReadyAicpus, tasks: &Declared) -> Result<Ran, Vec<Diagnostic>> {
        let fault = |failure: TaskFailure<Box<TaskFault>>| match failure {
            TaskFailure::Fault { failure, .. } => {
                faults::task(self.module, *failure, self.options.payload.as_ref())
            }
            TaskFailure::Panic { message, .. } => {
                Diagnostic::error(codes::TASK_PANICKED, format!("a task panicked: {message}"))
            }
        };
        self.run(ready, (tasks, tasks), || IssueDeclared::new(tasks), fault)
    }

    /// Runs tasks of library kernels.
    ///
    /// # Errors
    /// Faults of the workload, the first fault of a task.
    pub(crate) fn library(
        &self,
        ready: &mut ReadyAicpus,
        program: &Program,
        tasks: &LibraryTasks,
        launched: &Launched<'_, '_>,
    ) -> Result<Ran, Vec<Diagnostic>> {
        let Launched { runner, kernels, planner } = launched;
        let issue = || IssueLibrary(tasks.touch_launched(planner, kernels));
        let fault = |failure: TaskFailure<Trap>| match failure {
            TaskFailure::Fault { kernel, payload, failure } => {
                Diagnostic::from(failure).note(program.describe(kernels, kernel, &payload))
            }
            TaskFailure::Panic { kernel, payload, message } => {
                let trap = Trap::internal(format!("a kernel panicked: {message}"), Span::default());
                Diagnostic::from(trap).note(program.describe(kernels, kernel, &payload))
            }
        };
        self.run(ready, (*runner, &NoSlots), issue, fault)
    }

    /// Runs the tasks; `issue` makes what each AICPU needs to hand them over.
    ///
    /// # Errors
    /// Faults of the workload, the first fault of a task.
    fn run<R: TaskRunner, S: Slots, I: Issue>(
        &self,
        ready: &mut ReadyAicpus,
        (runner, slots): (&R, &S),
        mut issue: impl FnMut() -> I,
        fault: impl FnOnce(TaskFailure<R::Failure>) -> Diagnostic,
    ) -> Result<Ran, Vec<Diagnostic>> {
        if self.schedule.policy.deps == Deps::Exact {
            check::equal_regions(self, &mut issue())?;
        }
        let ReadyAicpus { aicpus, source } = ready;
        match source {
            Source::Program(program) => self.run_program(aicpus, program, (runner, slots), issue, fault),
            Source::List => {
                let list = self.host_list(slots)?;
                let (count, after) = (self.options.aicpus.into(), aicpus.config().after);
                let share =
                    |me| -> AnyGenerator<'_> { Box::new(Share::new(&list, me, count, after, issue())) };
                let stats = aicpus.run((0..count).map(share).collect(), runner, slots);
                let stats = stats.map_err(|failure| vec![self.failed(failure, None, fault)])?;
                Ok(Ran::new(stats, None, Vec::new()))
            }
        }
    }

    /// Runs the tasks of the workload's program.
    fn run_program<R: TaskRunner, S: Slots, I: Issue>(
        &self,
        aicpus: &mut Aicpus,
        known: &AicpuProgram,
        (runner, slots): (&R, &S),
        mut issue: impl FnMut() -> I,
        fault: impl FnOnce(TaskFailure<R::Failure>) -> Diagnostic,
    ) -> Result<Ran, Vec<Diagnostic>> {
        let AicpuProgram { lowered, configs, .. } = known;
        let program = lowered.program.verified();
        let data = LaunchData::new(lowered, self.module, self.bindings);
        let launch = data.as_launch();
        let statements = statements(self.module);
        let mut memory = vec![vec![0; workspace_words(&program)]; configs.len()];
        let mut sums = Vec::new();
        let prefixes = prefix_sums(&program, &launch, &mut sums);
        let mut all: Vec<AnyGenerator<'_>> = Vec::with_capacity(configs.len());
        for (memory, config) in memory.iter_mut().zip(configs) {
            let interpreter = Interpreter::new(program, launch, config, prefixes, memory, Mode::Skip)
                .map_err(|refusal| vec![Diagnostic::error(codes::PROGRAM_REFUSED, refusal.to_string())])?;
            all.push(Box::new(Bytecode::new(interpreter, known, &statements, issue())));
        }
        let stats = aicpus.run(all, runner, slots);
        let stats = stats.map_err(|failure| vec![self.failed(failure, Some(lowered), fault)])?;
        let moved = transfer(&lowered.program, &data, self.options.aicpus);
        Ok(Ran::new(stats, Some(moved), lowered.notes.clone()))
    }

    /// Everything that the host generates.
    fn host_list(&self, slots: &dyn Slots) -> Result<HostList<'_>, Vec<Diagnostic>> {
        let known: HashMap<*const Task, &Task> =
            statements(self.module).into_iter().map(|s| (std::ptr::from_ref(s.task), s.task)).collect();
        let find = |task: &Task| known.get(&std::ptr::from_ref(task)).copied();
        let cancel = self.options.cancel.as_deref();
        let slot_tensors = self.module.slots.iter().map(|slot| slot.tensor).collect();
        let list = HostList::default();
        let mut sink = Collecting { list, find: &find, slots, written: Vec::new(), slot_tensors, cancel };
        let expanded = expand(self.module, self.bindings, self.schedule, &mut sink);
        let instead = [
            "write `--expand bytecode`: AICPUs generate tasks while others run",
            "compile with `expand=\"bytecode\"`: AICPUs generate tasks while others run",
        ];
        let none = |none| match none {
            NoList::Computed(slot) => GraphFault::Computed(slot).diagnostic(self.module, instead),
            NoList::TooMany => GraphFault::TooManyTasks.diagnostic(self.module, instead),
        };
        expanded.map_err(|error| vec![faults::generation(error, none)])?;
        Ok(sink.list)
    }
}
