//! Writing records.

use super::{MAGIC, PendingHeader, PendingKernel, PendingTask, VERSION, is_name};
use crate::{GraphAccess, GraphKernel};
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use wsp_core::pod::{TaskIo, TensorRegion2D};
use wsp_core::words::counted;
use wsp_ir::workload::AccessMode;
use zerocopy::{FromZeros as _, IntoBytes as _};

/// A graph that is written as records.
#[derive(Clone, Copy, Debug)]
pub struct PendingGraph<'g> {
    /// The kernels.
    pub kernels: &'g [GraphKernel],
    /// The kernel of each task.
    pub tasks: &'g [u32],
    /// `(earlier, later)`, by the earlier task; as often as they are found.
    pub edges: &'g [(u32, u32)],
    /// Accesses of all tasks, by task.
    pub accesses: &'g [GraphAccess],
    /// Names of the tensors.
    pub tensors: &'g [String],
}

/// Why a graph has no records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// A task has more accesses than a record has arguments.
    Accesses {
        /// The task.
        task: u32,
        /// How many.
        count: usize,
    },
    /// A region has more than two dimensions, or indices that 31 bits do not hold.
    Region {
        /// The task.
        task: u32,
        /// The number of the access.
        arg: u32,
    },
    /// A name that the tables cannot have: empty, or with a comma, a quote or a character that is not printed.
    Name(String),
    /// More records than can be numbered.
    Records(u64),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Accesses { task, count } => write!(
                f,
                "task {task} has {}, and a record {} arguments",
                counted(*count as u64, "access"),
                PendingTask::ARGS
            ),
            Unfit::Region { task, arg } => {
                write!(f, "access {arg} of task {task} does not fit rows and columns of 31 bits")
            }
            Unfit::Name(name) => {
                write!(f, "the name {name:?} is empty, or has a comma, a quote or a control character")
            }
            Unfit::Records(count) => {
                write!(f, "the graph takes {count} records, and at most {} can be numbered", i32::MAX)
            }
        }
    }
}

impl std::error::Error for Unfit {}

/// What a row has for successors.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Successors {
    /// The ends of these edges.
    Edges(Range<usize>),
    /// These relays.
    Relays(Range<u32>),
}

/// Successors of tasks, in their order, and of relays.
struct Fans {
    tasks: Vec<Successors>,
    relays: Vec<Successors>,
}

impl PendingGraph<'_> {
    /// Whether every task has a record.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), Unfit> {
        for name in self.kernels.iter().map(|kernel| &kernel.name).chain(self.tensors) {
            if !is_name(name) {
                return Err(Unfit::Name(name.clone()));
            }
        }
        for of_task in self.accesses.chunk_by(|a, b| a.task == b.task) {
            if of_task.len() > PendingTask::ARGS {
                return Err(Unfit::Accesses { task: of_task[0].task, count: of_task.len() });
            }
        }
        if let Some(access) = self.accesses.iter().find(|access| argument(access).is_none()) {
            return Err(Unfit::Region { task: access.task, arg: access.arg });
        }
        // A task with so many edges has less than one relay for each 256 of them.
        let most = self.tasks.len() as u64 + self.edges.len() as u64 / 256;
        if most > i32::MAX as u64 { Err(Unfit::Records(most)) } else { Ok(()) }
    }

    /// Writes a graph that [`PendingGraph::check`] takes.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_with(PendingTask::FANOUT, out)
    }

    /// The same with another number of successors of a record.
    pub(super) fn write_with(&self, most: usize, out: &mut dyn Write) -> io::Result<()> {
        let fans = self.fans(most);
        self.write_tables(fans.tasks.len() + fans.relays.len(), out)?;
        let mut fan_in = vec![0i32; self.tasks.len()];
        self.edges.iter().for_each(|(_, to)| fan_in[*to as usize] += 1);
        let mut accesses = self.accesses;
        // One record is made over and over: what it has for one task is taken away for the next.
        let mut record = PendingTask::new_zeroed();
        let rows = fans.tasks.iter().zip(0u32..).zip(self.tasks).zip(&fan_in);
        for (((successors, task), kernel), fan_in) in rows {
            let own = accesses.iter().take_while(|access| access.task == task).count();
            let (of_task, rest) = accesses.split_at(own);
            accesses = rest;
            record.args = [TaskIo::default(); PendingTask::ARGS];
            for (place, argument) in record.args.iter_mut().zip(of_task.iter().filter_map(argument)) {
                *place = argument;
            }
            record.num_args = own as u16;
            (record.task_id, record.func_name, record.fanin) = (task as i32, u64::from(*kernel), *fan_in);
            self.fan_out(successors, &mut record);
            out.write_all(record.as_bytes())?;
        }
        record = PendingTask { fanin: 1, func_name: PendingTask::RELAY, ..PendingTask::new_zeroed() };
        for (successors, id) in fans.relays.iter().zip(self.tasks.len()..) {
            record.task_id = id as i32;
            self.fan_out(successors, &mut record);
            out.write_all(record.as_bytes())?;
        }
        Ok(())
    }

    /// Everything before the records.
    fn write_tables(&self, records: usize, out: &mut dyn Write) -> io::Result<()> {
        let mut names: Vec<u8> = Vec::new();
        let mut named = |name: &str| {
            let at = names.len() as u32;
            names.extend_from_slice(name.as_bytes());
            names.push(0);
            at
        };
        let kernel = |kernel: &GraphKernel| PendingKernel {
            name: named(&kernel.name),
            pool: kernel.unit as u8,
            reserved: [0; 3],
        };
        let kernels: Vec<PendingKernel> = self.kernels.iter().map(kernel).collect();
        let tensors: Vec<u32> = self.tensors.iter().map(|name| named(name)).collect();
        let header = PendingHeader {
            magic: MAGIC,
            version: VERSION,
            records: records as u32,
            kernels: kernels.len() as u32,
            tensors: tensors.len() as u32,
            name_bytes: names.len() as u32,
        };
        out.write_all(header.as_bytes())?;
        out.write_all(kernels.as_bytes())?;
        out.write_all(tensors.as_bytes())?;
        names.resize(names.len() + padding(tensors.len(), names.len()), 0);
        out.write_all(&names)
    }

    /// The successors of all rows, at most so many of each.
    fn fans(&self, most: usize) -> Fans {
        let mut fans = Fans { tasks: Vec::with_capacity(self.tasks.len()), relays: Vec::new() };
        let (mut at, first) = (0, self.tasks.len() as u32);
        for task in 0..first {
            let count = self.edges[at..].iter().take_while(|(from, _)| *from == task).count();
            let mut own = Successors::Edges(at..at + count);
            at += count;
            // A level of relays over the successors, until a row has room for the last.
            while own.len() > most {
                let begin = first + fans.relays.len() as u32;
                let parts = own.parts(most);
                fans.relays.extend(parts);
                own = Successors::Relays(begin..first + fans.relays.len() as u32);
            }
            fans.tasks.push(own);
        }
        fans
    }

    fn fan_out(&self, successors: &Successors, record: &mut PendingTask) {
        record.fanout = [0; PendingTask::FANOUT];
        record.num_fanout = successors.len() as u16;
        match successors {
            Successors::Edges(edges) => {
                let ends = self.edges[edges.clone()].iter();
                record.fanout.iter_mut().zip(ends).for_each(|(place, (_, to))| *place = *to as i32);
            }
            Successors::Relays(relays) => {
                record.fanout.iter_mut().zip(relays.clone()).for_each(|(place, to)| *place = to as i32);
            }
        }
    }
}

impl Successors {
    fn len(&self) -> usize {
        match self {
            Successors::Edges(edges) => edges.len(),
            Successors::Relays(relays) => relays.len(),
        }
    }

    /// The same in parts of at most so many.
    fn parts(&self, most: usize) -> Vec<Successors> {
        match self {
            Successors::Edges(edges) => {
                let part = |at: usize| Successors::Edges(at..edges.end.min(at + most));
                edges.clone().step_by(most).map(part).collect()
            }
            Successors::Relays(relays) => {
                let part = |at: u32| Successors::Relays(at..relays.end.min(at + most as u32));
                relays.clone().step_by(most).map(part).collect()
            }
        }
    }
}

/// Zeros between names and records.
pub(super) fn padding(tensors: usize, name_bytes: usize) -> usize {
    (tensors * size_of::<u32>() + name_bytes).next_multiple_of(8) - (tensors * size_of::<u32>() + name_bytes)
}

/// An access as an argument; none where rows and columns of 31 bits do not say its region.
fn argument(access: &GraphAccess) -> Option<TaskIo> {
    let (lo, hi) = (&access.region.lo, &access.region.hi);
    let flat = lo[2..].iter().all(|lo| *lo == 0) && hi[2..].iter().all(|hi| *hi == 1);
    let extent = |d: usize| i32::try_from(hi[d].checked_sub(lo[d])?).ok();
    let offset = |d: usize| i32::try_from(lo[d]).ok();
    let region = TensorRegion2D {
        base: access.region.tensor.0.into(),
        row_off: offset(0)?,
        col_off: offset(1)?,
        rows: extent(0)?,
        cols: extent(1)?,
    };
    let is_output = match access.mode {
        AccessMode::In => 0,
        AccessMode::Out => 1,
        AccessMode::InOut => TaskIo::BOTH,
    };
    flat.then_some(TaskIo { region, is_output, ..TaskIo::default() })
}
