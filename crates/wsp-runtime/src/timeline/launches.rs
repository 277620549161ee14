//! Timelines of task graphs: a process per device, in it a row per worker with the blocks that it ran, and a row per stream with its launches.

use super::{Detail, Heading, Row, Span, TaskRecord, Timeline};
use crate::clock::Clock;
use crate::tg::{BlockTrace, LaunchTrace, RunTrace, Trace};
use rustc_hash::FxHashMap;
use wsp_core::{KernelId, TaskId, WhyLate};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// Rows of streams are numbered after those of workers.
pub const STREAM_ROWS: u32 = 1_000_000;

/// Cores of one kind: the kind, the device, the number.
type Core = (u8, u32, u32);

impl Timeline {
    /// The timeline of what a runtime of task graphs recorded. A block, a copy or a release is a task, numbered in the order in which they
    /// finished; its kernel is the name of its node.
    pub fn of_launches(trace: &Trace) -> Timeline {
        let mut rows = Rows::of(trace);
        let heading = Heading { program: String::new(), workers: 0, kernels: Vec::new() };
        let mut timeline = heading.timeline(Clock::Nanoseconds, Vec::new());
        timeline.processes = rows.devices.iter().map(|device| format!("device {device}")).collect();
        timeline.rows = std::mem::take(&mut rows.rows);
        timeline.spans = trace.launches.iter().map(|launch| span(&rows, launch)).collect();
        let mut kernels: FxHashMap<&str, KernelId> = FxHashMap::default();
        let began: FxHashMap<_, _> =
            trace.launches.iter().map(|launch| (launch.launch, (launch.submitted, launch.began))).collect();
        let busy = Busy::of(trace);
        timeline.about.workers = Some(trace.workers);
        for (task, block) in (0..).map(TaskId).zip(&trace.blocks) {
            let Some(run) = trace.runs.get(block.run as usize) else { continue };
            let kernel = *kernels.entry(&run.name).or_insert_with(|| {
                timeline.kernels.push(run.name.clone());
                KernelId(u16::try_from(timeline.kernels.len() - 1).unwrap_or(u16::MAX))
            });
            let row = rows.places.get(&(run.device, block.worker)).copied();
            let mut record = TaskRecord::new(task, kernel, row);
            let (submitted, began) = began.get(&run.launch).copied().unwrap_or((run.ready, run.ready));
            record.ready = run.ready.min(block.started);
            record.submitted = submitted.min(record.ready);
            (record.started, record.ended) = (block.started, block.finished);
            let released_by = run.released_by.filter(|&by| by != task.0 && trace.blocks.len() > by as usize);
            let last = released_by.map(TaskId);
            let end_of_last = released_by.map(|by| trace.blocks[by as usize].finished);
            let cause = match busy.before[task.index()].filter(|(end, _)| *end > record.ready) {
                Some((_, busy_with)) => WhyLate::Worker { busy_with },
                None => match last.filter(|_| end_of_last > Some(began)) {
                    Some(task) => WhyLate::Predecessor(task),
                    None => WhyLate::Generation { resumed_by: None },
                },
            };
            record.set_cause(cause, last);
            timeline.before.push(last);
            timeline.indices.push(run.iterations.iter().copied());
            timeline.details.push(details(run, block));
            timeline.tasks.push(record);
        }
        timeline
    }
}

/// Places of rows: workers by device, then streams by device.
struct Rows {
    devices: OrderedSet<u32>,
    rows: Vec<Row>,
    places: OrderedMap<(u32, u32), u32>,
}

impl Rows {
    fn of(trace: &Trace) -> Rows {
        let devices: OrderedSet<u32> = trace
            .launches
            .iter()
            .map(|launch| launch.device)
            .chain(trace.runs.iter().map(|run| run.device))
            .collect();
        let worker = |block: &BlockTrace| Some((trace.runs.get(block.run as usize)?.device, block.worker));
        let workers: OrderedSet<(u32, u32)> = trace.blocks.iter().filter_map(worker).collect();
        let streams: OrderedSet<(u32, u32)> =
            trace.launches.iter().map(|launch| (launch.device, STREAM_ROWS + launch.stream)).collect();
        let (mut rows, mut places) = (Vec::new(), OrderedMap::new());
        for (device, number) in workers.into_iter().chain(streams) {
            let name = match number.checked_sub(STREAM_ROWS) {
                Some(stream) => format!("stream {stream}"),
                None => format!("worker {number}"),
            };
            places.insert((device, number), rows.len() as u32);
            let process = devices.iter().take_while(|other| **other < device).count() as u32;
            rows.push(Row { process, number, name });
        }
        Rows { devices, rows, places }
    }
}

fn span(rows: &Rows, launch: &LaunchTrace) -> Span {
    // The turn of a launch that failed may never have come.
    let begin = if launch.began == 0 { launch.ended } else { launch.began };
    Span {
        row: rows.places.get(&(launch.device, STREAM_ROWS + launch.stream)).copied().unwrap_or(0),
        name: launch.graph.clone(),
        begin,
        end: launch.ended.max(begin),
        details: vec![
            ("launch", Detail::Number(launch.launch.0.cast_signed())),
            ("iteration", Detail::Number(launch.iteration)),
            ("submitted", Detail::Number(launch.submitted.cast_signed())),
            ("failed", Detail::Flag(launch.has_failed)),
        ],
    }
}

fn details(run: &RunTrace, block: &BlockTrace) -> Vec<(&'static str, Detail)> {
    let granted = vec![run.granted.aic, run.granted.aiv, run.granted.aicpu];
    vec![
        ("launch", Detail::Number(run.launch.0.cast_signed())),
        ("node", Detail::Number(run.node.into())),
        ("block", Detail::Number(block.block.into())),
        ("granted", Detail::Numbers(granted)),
        ("resident", Detail::Flag(run.is_resident)),
        ("aic", Detail::Numbers(block.cores.aic().as_slice().to_vec())),
        ("aiv", Detail::Numbers(block.cores.aiv().to_vec())),
        ("aicpu", Detail::Numbers(block.cores.aicpu().as_slice().to_vec())),
    ]
}

/// Which block held each worker and each core before another.
struct Busy {
    before: Vec<Option<(u64, TaskId)>>,
}

impl Busy {
    fn of(trace: &Trace) -> Busy {
        let mut order: Vec<usize> = (0..trace.blocks.len()).collect();
        order.arrange_by_key(|&at| (trace.blocks[at].started, trace.blocks[at].finished, at));
        let mut newest: FxHashMap<Core, (u64, TaskId)> = FxHashMap::default();
        let mut before = vec![None; trace.blocks.len()];
        for at in order {
            let block = &trace.blocks[at];
            let device = trace.runs.get(block.run as usize).map_or(0, |run| run.device);
            // A worker is a thread of all devices.
            let mut held: Vec<Core> = vec![(0, 0, block.worker)];
            held.extend(block.cores.aic().map(|core| (1, device, core)));
            held.extend(block.cores.aiv().iter().map(|core| (2, device, *core)));
            held.extend(block.cores.aicpu().map(|core| (3, device, core)));
            let ended = held.iter().filter_map(|core| newest.get(core)).copied();
            before[at] = ended.filter(|(end, _)| *end <= block.started).max();
            held.into_iter().for_each(|core| {
                newest.insert(core, (block.finished, TaskId(at as u32)));
            });
        }
        Busy { before }
    }
}
