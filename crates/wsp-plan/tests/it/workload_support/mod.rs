//! Workloads in tests: reading, binding, and a sink that keeps everything.
#![allow(dead_code)]

pub(crate) mod copies;
pub(crate) mod networks;
pub(crate) mod oracle;
pub(crate) mod pipelines;
pub(crate) mod random;

use wsp_core::{Region, SlotId};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::workload::{WorkloadModule, text};
use wsp_ordered::OrderedMap;
use wsp_plan::ParamValue;
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::{
    Bindings, ExpandError, ExpandStats, LoweredSchedule, Placement, TaskRecord, TaskSink, bind, expand,
    lower_schedule,
};

/// The module of a text that has no errors.
pub(crate) fn module(source: &str) -> WorkloadModule {
    let mut sources = SourceMap::default();
    let (module, found) = text::parse("test.wsp", source, &mut sources);
    module.unwrap_or_else(|| panic!("{}", wsp_diag::render_all(&found, &sources, false)))
}

/// Bindings with integers set and tables bound.
pub(crate) fn try_bind(
    module: &WorkloadModule,
    set: &[(&str, i64)],
    tables: &[(&str, &[i64])],
) -> Result<Bindings, Vec<Diagnostic>> {
    let set: Vec<_> = set.iter().map(|(n, v)| ((*n).to_owned(), ParamValue::Int(i128::from(*v)))).collect();
    let tables: OrderedMap<_, _> = tables.iter().map(|(n, v)| ((*n).to_owned(), v.to_vec())).collect();
    bind(module, &set, &tables)
}

pub(crate) fn bound(module: &WorkloadModule, set: &[(&str, i64)]) -> Bindings {
    try_bind(module, set, &[]).expect("everything is given")
}

/// The applied schedule.
pub(crate) fn schedule(module: &WorkloadModule) -> LoweredSchedule {
    lower_schedule(module, None, CPU_SIM).expect("the schedule is supported")
}

/// What a sink was told.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    Task(Box<Seen>),
    Begin,
    Step,
    End,
}

/// A task as it was seen.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seen {
    pub(crate) ordinal: u64,
    pub(crate) kernel: u16,
    pub(crate) scalars: Vec<i64>,
    pub(crate) reads: Vec<Region>,
    pub(crate) writes: Vec<Region>,
    pub(crate) regions: Vec<Region>,
    pub(crate) after: Vec<u64>,
    pub(crate) place: Placement,
    pub(crate) indices: Vec<i64>,
}

/// Keeps events; slots take their values from a list in turn, and then 0.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) events: Vec<Event>,
    pub(crate) slots: Vec<i64>,
    pub(crate) asked: usize,
}

impl Record {
    pub(crate) fn tasks(&self) -> Vec<&Seen> {
        let task = |event: &'_ Event| matches!(event, Event::Task(_));
        self.events
            .iter()
            .filter(|event| task(event))
            .map(|event| match event {
                Event::Task(seen) => &**seen,
                Event::Begin | Event::Step | Event::End => unreachable!("filtered"),
            })
            .collect()
    }

    /// The value of a slot, counted.
    pub(crate) fn next_slot(&mut self) -> i64 {
        self.asked += 1;
        self.slots.get(self.asked - 1).copied().unwrap_or(0)
    }
}

impl TaskSink for Record {
    type Error = String;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), String> {
        self.events.push(Event::Task(Box::new(Seen {
            ordinal: task.ordinal,
            kernel: task.kernel.0,
            scalars: task.scalars.to_vec(),
            reads: task.reads.to_vec(),
            writes: task.writes.to_vec(),
            regions: task.regions.to_vec(),
            after: task.after.to_vec(),
            place: task.place,
            indices: task.indices.to_vec(),
        })));
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), String> {
        self.events.push(Event::Begin);
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), String> {
        self.events.push(Event::Step);
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), String> {
        self.events.push(Event::End);
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, String> {
        Ok(self.next_slot())
    }
}

/// Expands into a record.
pub(crate) fn expanded(
    module: &WorkloadModule,
    bindings: &Bindings,
    slots: &[i64],
) -> (Record, Result<ExpandStats, ExpandError<String>>) {
    let mut record = Record { slots: slots.to_vec(), ..Record::default() };
    let result = expand(module, bindings, &schedule(module), &mut record);
    (record, result)
}

/// The tasks of a text that is not at fault.
pub(crate) fn tasks(source: &str, set: &[(&str, i64)]) -> Vec<Seen> {
    let module = module(source);
    let (record, result) = expanded(&module, &bound(&module, set), &[]);
    let stats = result.expect("no fault");
    let tasks: Vec<Seen> = record.tasks().into_iter().cloned().collect();
    assert_eq!(stats.tasks, tasks.len() as u64);
    tasks
}

/// The fault of a text.
pub(crate) fn fault(source: &str, set: &[(&str, i64)]) -> (Diagnostic, usize) {
    let module = module(source);
    let (record, result) = expanded(&module, &bound(&module, set), &[]);
    match result {
        Err(ExpandError::Fault(diagnostic)) => (*diagnostic, record.tasks().len()),
        other => panic!("no fault: {other:?}"),
    }
}
