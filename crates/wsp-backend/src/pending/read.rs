//! Reading records. Total: any bytes give a graph or a fault.

use super::write::padding;
use super::{MAGIC, PendingHeader, PendingKernel, PendingTask, VERSION, is_name};
use crate::{GraphAccess, GraphKernel, GraphListing};
use std::fmt;
use std::io::{self, Read};
use wsp_core::pod::TaskIo;
use wsp_core::{ExecPool, Region, TensorId, limits};
use wsp_ir::workload::AccessMode;
use zerocopy::{FromBytes, FromZeros as _, IntoBytes};

/// Why bytes are no graph.
#[derive(Debug)]
pub enum PendingFault {
    /// They cannot be read.
    Io(io::Error),
    /// They begin otherwise.
    Magic(u32),
    /// Of another version.
    Version(u32),
    /// They end early.
    CutOff {
        /// Where.
        at: u64,
    },
    /// More follows.
    Trailing {
        /// Where.
        at: u64,
    },
    /// More of something than there can be.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u32,
        /// At most.
        most: u32,
    },
    /// A row of a table of names.
    Row {
        /// Which table.
        table: &'static str,
        /// Which row.
        row: u32,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A field of a record.
    Record {
        /// Which record.
        record: u32,
        /// The field.
        field: &'static str,
        /// What was found.
        found: i64,
        /// What should be there.
        expected: &'static str,
    },
}

impl fmt::Display for PendingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PendingFault::Io(error) => error.fmt(f),
            PendingFault::Magic(found) => {
                write!(f, "it begins with {found:#010x}, a file of records with {MAGIC:#010x}")
            }
            PendingFault::Version(found) => write!(f, "it is of version {found}; version {VERSION} is read"),
            PendingFault::CutOff { at } => write!(f, "it is cut off at byte {at}"),
            PendingFault::Trailing { at } => {
                write!(f, "more follows behind its last record, from byte {at} on")
            }
            PendingFault::TooMany { what, count, most } => {
                write!(f, "it has {count} {what}; at most {most} are read")
            }
            PendingFault::Row { table, row, fault } => write!(f, "row {row} of its {table}: {fault}"),
            PendingFault::Record { record, field, found, expected } => {
                write!(f, "record {record}: `{field}` is {found}; {expected}")
            }
        }
    }
}

impl std::error::Error for PendingFault {}

/// Most rows of a table, and bytes of names.
const MOST_ROWS: u32 = 1 << 24;

/// Reads a graph. Relays are taken away, edges stand by the later task as often as they are found.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(input: &mut dyn Read) -> Result<GraphListing, PendingFault> {
    let mut bytes = Bytes { input, at: 0 };
    let mut header = PendingHeader::new_zeroed();
    bytes.fill(header.as_mut_bytes())?;
    let PendingHeader { magic, version, records, kernels, tensors, name_bytes } = header;
    if magic != MAGIC {
        return Err(PendingFault::Magic(magic));
    }
    if version != VERSION {
        return Err(PendingFault::Version(version));
    }
    for (what, count, most) in [
        ("records", records, limits::MAX_GRAPH_TASKS),
        ("kernels", kernels, MOST_ROWS),
        ("tensors", tensors, MOST_ROWS),
        ("bytes of names", name_bytes, MOST_ROWS),
    ] {
        if count > most {
            return Err(PendingFault::TooMany { what, count, most });
        }
    }
    let kernel_rows = bytes.take(kernels as usize * size_of::<PendingKernel>())?;
    let tensor_rows = bytes.take(tensors as usize * size_of::<u32>())?;
    let names = bytes.take(name_bytes as usize)?;
    let zeros = bytes.take(padding(tensors as usize, names.len()))?;
    if zeros.iter().any(|zero| *zero != 0) {
        return Err(PendingFault::Row { table: "names", row: 0, fault: "what is behind them is not 0" });
    }
    let mut graph = Records { tensors, ..Records::default() };
    for (row, chunk) in (0..).zip(kernel_rows.chunks_exact(size_of::<PendingKernel>())) {
        graph.kernels.push(kernel(row, chunk, &names)?);
    }
    let mut tensors = Vec::new();
    for (row, chunk) in (0..).zip(tensor_rows.chunks_exact(size_of::<u32>())) {
        let at = chunk.try_into().map_or(u32::MAX, u32::from_le_bytes);
        tensors.push(name("tensors", row, at, &names)?);
    }
    let mut record = PendingTask::new_zeroed();
    for id in 0..records {
        bytes.fill(record.as_mut_bytes())?;
        graph.record(id, records, &record)?;
    }
    bytes.end()?;
    let (tasks, accesses) = (std::mem::take(&mut graph.tasks), std::mem::take(&mut graph.accesses));
    let edges = graph.edges(tasks.len() as u32)?;
    let kernels = graph.kernels;
    Ok(GraphListing { kernels, tasks, edges, tensors, accesses, ..GraphListing::default() })
}

/// Bytes on their way in.
struct Bytes<'r> {
    input: &'r mut dyn Read,
    at: u64,
}

impl Bytes<'_> {
    fn fill(&mut self, to: &mut [u8]) -> Result<(), PendingFault> {
        let at = self.at;
        self.at += to.len() as u64;
        self.input.read_exact(to).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => PendingFault::CutOff { at },
            _ => PendingFault::Io(error),
        })
    }

    /// So many bytes. Memory grows as they come: what a file claims costs nothing.
    fn take(&mut self, count: usize) -> Result<Vec<u8>, PendingFault> {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        while bytes.len() < count {
            let part = &mut part[..(count - bytes.len()).min(4096)];
            self.fill(part)?;
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }

    fn end(&mut self) -> Result<(), PendingFault> {
        match self.fill(&mut [0]) {
            Err(PendingFault::CutOff { .. }) => Ok(()),
            Err(other) => Err(other),
            Ok(()) => Err(PendingFault::Trailing { at: self.at - 1 }),
        }
    }
}

fn kernel(row: u32, bytes: &[u8], names: &[u8]) -> Result<GraphKernel, PendingFault> {
    let wrong = |fault| PendingFault::Row { table: "kernels", row, fault };
    let kernel = PendingKernel::read_from_bytes(bytes).map_err(|_| wrong("it is cut off"))?;
    let unit = match kernel.pool {
        0 => ExecPool::Vector,
        1 => ExecPool::Cube,
        255 => ExecPool::Any,
        _ => return Err(wrong("its pool is none: 0 is vector, 1 cube, 255 any")),
    };
    if kernel.reserved != [0; 3] {
        return Err(wrong("a byte that should be 0 is not"));
    }
    Ok(GraphKernel { name: name("kernels", row, kernel.name, names)?, unit })
}

fn name(table: &'static str, row: u32, at: u32, names: &[u8]) -> Result<String, PendingFault> {
    let wrong = |fault| PendingFault::Row { table, row, fault };
    let rest = names.get(at as usize..).ok_or_else(|| wrong("its name begins outside the names"))?;
    let end = rest.iter().position(|byte| *byte == 0).ok_or_else(|| wrong("its name has no end"))?;
    let name = std::str::from_utf8(&rest[..end]).ok().filter(|name| is_name(name));
    Ok(name.ok_or_else(|| wrong("its name is empty, or has a character that names do not have"))?.to_owned())
}

/// Records that are read.
#[derive(Default)]
struct Records {
    kernels: Vec<GraphKernel>,
    tensors: u32,
    tasks: Vec<u32>,
    accesses: Vec<GraphAccess>,
    /// Of every record.
    fan_in: Vec<i32>,
    /// Among records.
    named: Vec<(u32, u32)>,
}

impl Records {
    /// Takes a record.
    fn record(&mut self, id: u32, records: u32, record: &PendingTask) -> Result<(), PendingFault> {
        let wrong =
            |field, found: i64, expected| Err(PendingFault::Record { record: id, field, found, expected });
        let PendingTask { task_id, reserved, func_name, func_ptr, fanin, num_args, num_fanout, .. } = *record;
        if i64::from(task_id) != i64::from(id) {
            return wrong("task_id", task_id.into(), "it should be the number of the record");
        }
        if reserved != 0 || func_ptr != 0 {
            let field = if reserved != 0 { "reserved" } else { "func_ptr" };
            return wrong(
                field,
                if reserved != 0 { reserved.into() } else { func_ptr as i64 },
                "it should be 0 in a file",
            );
        }
        let is_relay = func_name == PendingTask::RELAY;
        if !is_relay {
            if func_name >= self.kernels.len() as u64 {
                return wrong("func_name", func_name as i64, "it should be a row of the kernels");
            }
            if self.tasks.len() as u32 != id {
                return wrong(
                    "func_name",
                    func_name as i64,
                    "it should be that of a relay, as of the record before",
                );
            }
            self.tasks.push(func_name as u32);
        } else if fanin != 1 {
            return wrong("fanin", fanin.into(), "a relay has one predecessor");
        }
        let most_args = if is_relay { 0 } else { PendingTask::ARGS };
        let (args, behind) = match record.args.split_at_checked(usize::from(num_args)) {
            Some(parts) if usize::from(num_args) <= most_args => parts,
            _ => return wrong("num_args", num_args.into(), "at most 16, and none of a relay"),
        };
        if behind.iter().any(|arg| *arg != TaskIo::default()) {
            return wrong("num_args", num_args.into(), "arguments behind them should be 0");
        }
        for (arg, number) in args.iter().zip(0..) {
            let access = self.access(id, number, arg);
            match access {
                Ok(access) => self.accesses.push(access),
                Err((field, found, expected)) => return wrong(field, found, expected),
            }
        }
        let Some((fanout, behind)) = record.fanout.split_at_checked(usize::from(num_fanout)) else {
            return wrong("num_fanout", num_fanout.into(), "at most 512");
        };
        if behind.iter().any(|to| *to != 0) {
            return wrong("num_fanout", num_fanout.into(), "successors behind them should be 0");
        }
        for to in fanout {
            match u32::try_from(*to).ok().filter(|to| *to < records) {
                Some(to) => self.named.push((id, to)),
                None => return wrong("fanout", (*to).into(), "it should be the number of a record"),
            }
        }
        self.fan_in.push(fanin);
        Ok(())
    }

    /// An argument as an access, or the field that is wrong.
    fn access(
        &self,
        task: u32,
        arg: u32,
        io: &TaskIo,
    ) -> Result<GraphAccess, (&'static str, i64, &'static str)> {
        let mode = match io.is_output {
            0 => AccessMode::In,
            1 => AccessMode::Out,
            TaskIo::BOTH => AccessMode::InOut,
            other => return Err(("is_output", other.into(), "0 is read, 1 written, 2 both")),
        };
        if io.reserved != [0; 7] {
            return Err((
                "reserved",
                io.reserved.iter().map(|byte| i64::from(*byte)).sum(),
                "it should be 0",
            ));
        }
        if io.region.base >= u64::from(self.tensors) {
            return Err(("base", io.region.base as i64, "it should be a row of the tensors"));
        }
        let bounds = |field, offset: i32, extent: i32| match (u32::try_from(offset), u32::try_from(extent)) {
            // Twice 31 bits fit into 32.
            (Ok(lo), Ok(extent)) => Ok((lo, lo + extent)),
            _ => Err((field, i64::from(offset.min(extent)), "offsets and extents are not negative")),
        };
        let rows = bounds("rows", io.region.row_off, io.region.rows)?;
        let columns = bounds("cols", io.region.col_off, io.region.cols)?;
        let region = Region::new(TensorId(io.region.base as u32), &[rows.0, columns.0], &[rows.1, columns.1]);
        let region = region.ok_or(("rows", 0, "two dimensions"))?;
        Ok(GraphAccess { task, arg, mode, region })
    }

    /// The edges between so many tasks.
    fn edges(&self, tasks: u32) -> Result<Vec<(u32, u32)>, PendingFault> {
        let wrong = |record, field, found: u32, expected| {
            Err(PendingFault::Record { record, field, found: found.into(), expected })
        };
        let mut counted = vec![0i32; self.fan_in.len()];
        self.named.iter().for_each(|(_, to)| counted[*to as usize] += 1);
        if let Some(at) = counted.iter().zip(&self.fan_in).position(|(counted, said)| counted != said) {
            let (record, found) = (at as u32, self.fan_in[at].into());
            let expected = "it should be the number of times that records name this one";
            return Err(PendingFault::Record { record, field: "fanin", found, expected });
        }
        // Each relay is named once: by a task, or by a relay with a larger number, whose task is then known.
        let mut task_of: Vec<u32> = vec![0; self.fan_in.len() - tasks as usize];
        let (of_tasks, of_relays) =
            self.named.split_at(self.named.partition_point(|(from, _)| *from < tasks));
        let to_relays = of_tasks.iter().chain(of_relays.iter().rev()).filter(|(_, to)| *to >= tasks);
        for (from, to) in to_relays {
            let task = match from.checked_sub(tasks) {
                None => *from,
                Some(relay) if from > to => task_of[relay as usize],
                Some(_) => return wrong(*from, "fanout", *to, "a relay names tasks, and relays before it"),
            };
            task_of[(to - tasks) as usize] = task;
        }
        let mut edges = Vec::with_capacity(self.named.len());
        for (from, to) in self.named.iter().filter(|(_, to)| *to < tasks) {
            let task = from.checked_sub(tasks).map_or(*from, |relay| task_of[relay as usize]);
            if task >= *to {
                return wrong(*from, "fanout", *to, "edges lead from smaller to larger numbers of tasks");
            }
            edges.push((task, *to));
        }
        Ok(edges)
    }
}
