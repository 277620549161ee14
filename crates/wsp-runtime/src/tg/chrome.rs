//! Timelines of launches for trace viewers.
//!
//! The format is that of [`trace_export`](crate::trace_export): a process per device; in it a row per worker with the blocks it
//! ran, and a row per stream with its launches.

use super::trace::{BlockTrace, LaunchTrace, RunTrace, Trace};
use crate::trace_export::{Events, Micros};
use std::io;
use wsp_ordered::OrderedSet;

/// Rows of streams come after those of workers.
const STREAM_ROWS: u32 = 1_000_000;

/// Writes a trace as Chrome trace events, which Perfetto reads too. Times are nanoseconds since the runtime was made.
///
/// A block has its launch, node, number and cores as arguments, and the cores that its node was granted; a launch has its
/// iteration.
///
/// # Errors
/// Those of `out`, to which much is written in small pieces.
pub fn write_graph_chrome_trace(out: &mut impl io::Write, trace: &Trace) -> io::Result<()> {
    let mut events = Events::open(out, "nanoseconds")?;
    let devices: OrderedSet<u32> = trace.launches.iter().map(|launch| launch.device).collect();
    for &device in &devices {
        events.name("process_name", device, 0, &format_args!("device {device}"))?;
    }
    for (device, worker) in rows(trace) {
        events.name("thread_name", device, worker, &format_args!("worker {worker}"))?;
    }
    let streams: OrderedSet<(u32, u32)> = trace.launches.iter().map(|l| (l.device, l.stream)).collect();
    for (device, stream) in streams {
        events.name("thread_name", device, STREAM_ROWS + stream, &format_args!("stream {stream}"))?;
    }
    for launch in &trace.launches {
        write_launch(&mut events, launch)?;
    }
    for block in &trace.blocks {
        if let Some(run) = trace.runs.get(block.run as usize) {
            write_block(&mut events, run, block)?;
        }
    }
    events.end()
}

/// The workers that ran blocks, by device.
fn rows(trace: &Trace) -> OrderedSet<(u32, u32)> {
    let row = |block: &BlockTrace| Some((trace.runs.get(block.run as usize)?.device, block.worker));
    trace.blocks.iter().filter_map(row).collect()
}

fn write_launch<W: io::Write>(events: &mut Events<'_, W>, launch: &LaunchTrace) -> io::Result<()> {
    let row = (launch.device, STREAM_ROWS + launch.stream);
    events.slice_on(&launch.graph, "launch", row, launch.began, launch.ended)?;
    write!(
        events.out,
        "\"launch\":{},\"iteration\":{},\"submitted\":{},\"failed\":{}}}}}",
        launch.launch.0,
        launch.iteration,
        Micros(launch.submitted),
        launch.has_failed
    )
}

fn write_block<W: io::Write>(
    events: &mut Events<'_, W>,
    run: &RunTrace,
    block: &BlockTrace,
) -> io::Result<()> {
    events.slice_on(&run.name, "block", (run.device, block.worker), block.started, block.finished)?;
    let (node, granted) = (run.node, run.granted);
    write!(events.out, "\"launch\":{},\"node\":{node},\"block\":{}", run.launch.0, block.block)?;
    write!(events.out, ",\"granted\":[{},{},{}]", granted.aic, granted.aiv, granted.aicpu)?;
    write!(events.out, ",\"ready\":{},\"resident\":{}", Micros(run.ready), run.is_resident)?;
    list(events, "iterations", &run.iterations)?;
    list(events, "aic", block.cores.aic().as_slice())?;
    list(events, "aiv", block.cores.aiv())?;
    list(events, "aicpu", block.cores.aicpu().as_slice())?;
    write!(events.out, "}}}}")
}

fn list<W: io::Write>(events: &mut Events<'_, W>, name: &str, numbers: &[u32]) -> io::Result<()> {
    write!(events.out, ",\"{name}\":[")?;
    for (i, number) in numbers.iter().enumerate() {
        write!(events.out, "{}{number}", if i == 0 { "" } else { "," })?;
    }
    write!(events.out, "]")
}
