//! Runs programs on interpreters, and records what their hosts see.

use crate::asm::{Code, Policy};
use crate::oracle::{Data, Event, Got, plan_tasks, slot_value};
use std::collections::BTreeSet;
use wsp_core::SlotId;
use wsp_core::ptow::interp::{
    Fault, Host, InterpStats, Interpreter, Mode, Ordered, Progress, Task, workspace_words,
};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::summary::{summarise, summary_words};
use wsp_core::ptow::{DispatchConfig, Launch, Verified};

/// A host that takes everything, or refuses every so many calls once.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
    /// Refuse what is handed over for the first time.
    pub(crate) stubborn: bool,
    refused: bool,
    /// Slots have no value when asked for the first time.
    pub(crate) slow: bool,
    asked: BTreeSet<(u32, u64)>,
}

/// It takes no more for now.
#[derive(Debug)]
pub(crate) struct Refused;

impl Recorder {
    fn take(&mut self, event: Event) -> Result<(), Refused> {
        self.refused = self.stubborn && !self.refused;
        if self.refused {
            return Err(Refused);
        }
        self.events.push(event);
        Ok(())
    }
}

impl Host for Recorder {
    type Stop = Refused;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Refused> {
        let regions = task.regions.iter().zip(task.modes).map(|(region, mode)| {
            let bounds = region.lo.iter().copied().zip(region.hi.iter().copied()).collect();
            (*mode, region.tensor.0, bounds)
        });
        self.take(Event::Task(Box::new(Got {
            ordinal: task.ordinal,
            kernel: task.kernel.0,
            pool: task.pool as u8,
            params: task.params.to_vec(),
            regions: regions.collect(),
            after: task.after.to_vec(),
            label: task.label.map(|label| label.0),
            stream: task.stream,
            priority: task.priority,
            vars: task.vars.to_vec(),
            indices: task.indices.to_vec(),
            owner: 0,
        })))
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Refused> {
        self.take(match event {
            Ordered::Begin => Event::Begin(ordinal),
            Ordered::Step => Event::Step(ordinal),
            Ordered::End => Event::End(ordinal),
        })
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        let first = self.slow && self.asked.insert((slot.0, ordinal));
        (!first).then(|| slot_value(slot.0, ordinal))
    }

    fn plan(&mut self, generator: u16, ordinal: u64) -> Result<Option<u64>, Refused> {
        self.take(Event::Plan(generator, ordinal))?;
        Ok(Some(plan_tasks(generator)))
    }
}

/// What an AICPU came to.
pub(crate) struct Outcome {
    pub(crate) events: Vec<Event>,
    pub(crate) fault: Option<Fault>,
    pub(crate) stats: InterpStats,
}

/// How an interpreter is run.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) mode: Mode,
    /// Tasks and steps of a call.
    pub(crate) budget: (u32, u32),
    pub(crate) stubborn: bool,
    pub(crate) sums: Sums,
    /// Calls after which it is not run further.
    pub(crate) calls: u32,
}

/// Whether there are prefix sums.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sums {
    Without,
    With,
}

pub(crate) const NAIVE: How = How {
    mode: Mode::Naive,
    budget: (u32::MAX, u32::MAX),
    stubborn: false,
    sums: Sums::Without,
    calls: u32::MAX,
};
pub(crate) const SKIP: How = How { mode: Mode::Skip, ..NAIVE };

/// The configuration of an AICPU.
pub(crate) fn config(policy: &Policy, n: u16, me: u16) -> DispatchConfig {
    let mut config = DispatchConfig::round_robin(n, me);
    match policy {
        Policy::RoundRobin => {}
        Policy::Affinity(depth) => {
            config.policy_type = 1;
            config.params[0] = *depth as u8;
        }
        other => panic!("{other:?} is written as a filter in these tests"),
    }
    config
}

/// Runs one AICPU to its end, or for so many calls.
pub(crate) fn run(code: &Code, data: &Data, config: &DispatchConfig, how: How) -> Outcome {
    let program = code.verified();
    let mut workspace = vec![0x5555_5555_5555_5555; workspace_words(&program)];
    let tables: Vec<&[i64]> = data.tables.iter().map(Vec::as_slice).collect();
    let launch = Launch { values: &data.values, tables: &tables, extents: &data.extents };
    let mut memory = Vec::new();
    let sums = sums(&program, &launch, how.sums, &mut memory);
    let mut interpreter = Interpreter::new(program, launch, config, sums, &mut workspace, how.mode)
        .unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut host = Recorder { stubborn: how.stubborn, slow: how.stubborn, ..Recorder::default() };
    let (mut fault, mut watermark) = (None, 0);
    for call in 0..how.calls {
        assert!(call < 1_000_000, "it should come to an end");
        let before = host.events.len();
        let progress = interpreter.run(&mut host, how.budget.0, how.budget.1);
        let tasks = host.events[before..].iter().filter(|event| matches!(event, Event::Task(_))).count();
        assert!(tasks <= how.budget.0 as usize, "a budget is kept");
        let mut handed_over = host.events[before..].iter().filter_map(ordinal_of);
        assert!(
            handed_over.clone().all(|ordinal| ordinal >= watermark),
            "all before the watermark are there"
        );
        assert!(handed_over.next_back().is_none_or(|last| interpreter.watermark() > last));
        watermark = interpreter.watermark();
        match progress {
            Ok(Progress::Finished) => {
                assert_eq!(interpreter.watermark(), u64::MAX);
                break;
            }
            Ok(Progress::Fault(found)) => {
                fault = Some(found);
                break;
            }
            Ok(Progress::Yielded | Progress::Waits(_)) | Err(Refused) => {
                assert_ne!(interpreter.watermark(), u64::MAX, "it has not ended");
            }
        }
    }
    Outcome { events: host.events, fault, stats: interpreter.stats() }
}

fn sums<'m>(
    program: &Verified<'_>,
    launch: &Launch<'_>,
    sums: Sums,
    memory: &'m mut Vec<u64>,
) -> Prefixes<'m> {
    if sums == Sums::Without {
        return Prefixes::none();
    }
    let program = program.program();
    let mut scratch = vec![0; summary_words(program)];
    let summaries = summarise(program, launch, &mut scratch);
    memory.resize(Prefixes::words_needed(program, launch, &summaries), 0);
    Prefixes::build(program, launch, &summaries, memory)
}

/// The ordinal of a task.
pub(crate) fn ordinal_of(event: &Event) -> Option<u64> {
    match event {
        Event::Task(task) => Some(task.ordinal),
        _ => None,
    }
}
