//! A stored graph as plain records that can be copied to a device: rows, and pools beside them.
//!
//! A [`TaskGraph`] is what a host builds and runs; its counters change while it runs. [`TaskGraphStorage`] is the same graph
//! without state: [`TaskNodePod`] rows in the order of ids, their successors, arguments and accesses in pools. A row counts
//! at most [`limits::MAX_FANOUT`] successors; more are reached through rows that only pass completions on, added behind all
//! others.

use crate::{Affinity, TaskGraph};
use std::fmt;
use wsp_core::pod::{SchedTags, TaskIo, TaskNodePod};
use wsp_core::{ExecDomain, KernelId, TaskId, limits};

/// What a kernel of a graph is called, by its id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelBundle {
    /// Names, which are also the symbols that a device looks up.
    pub symbols: Vec<String>,
}

/// A task graph without state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskGraphStorage {
    /// Tasks and barrier nodes under the ids they have in the graph, then relays.
    pub tasks: Vec<TaskNodePod>,
    /// Successors of all rows, those of one row side by side.
    pub fanout_edges: Vec<u32>,
    /// Arguments of all tasks.
    pub u64_args: Vec<u64>,
    /// Accesses of all tasks.
    pub io: Vec<TaskIo>,
    /// Names of the kernels.
    pub kernel_table: KernelBundle,
}

/// A graph that cannot be stored, or a storage that is no graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StorageError {
    /// A pool has more entries than can be numbered.
    TooLarge {
        /// Which.
        pool: &'static str,
    },
    /// A task has more arguments or accesses than a row can count.
    TooMany {
        /// The task.
        task: TaskId,
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there may be.
        most: u32,
    },
    /// An event that no task signals: a graph with one never ends.
    UnsignalledEvent(TaskId),
    /// A row does not fit the others.
    Inconsistent {
        /// The row.
        row: u32,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageError::TooLarge { pool } => write!(f, "the graph has more than {} {pool}", u32::MAX),
            StorageError::TooMany { task, what, count, most } => {
                write!(f, "task {} has {count} {what}, but at most {most} can be stored", task.0)
            }
            StorageError::UnsignalledEvent(point) => {
                write!(f, "barrier node {} is an event that no task signals", point.0)
            }
            StorageError::Inconsistent { row, what } => write!(f, "row {row}: {what}"),
        }
    }
}

impl std::error::Error for StorageError {}

impl TaskGraphStorage {
    /// The records of a graph. `details` tells the arguments and accesses of a task, which the graph itself does not keep.
    ///
    /// # Errors
    /// [`StorageError`]: something cannot be counted by the records, or an event is never signalled.
    pub fn new<'d>(
        graph: &TaskGraph,
        domain: ExecDomain,
        kernel_table: KernelBundle,
        mut details: impl FnMut(TaskId) -> (&'d [u64], &'d [TaskIo]),
    ) -> Result<TaskGraphStorage, StorageError> {
        if let Some((point, _)) = graph.event_points().find(|(_, signalled)| !signalled) {
            return Err(StorageError::UnsignalledEvent(point));
        }
        let mut storage = TaskGraphStorage { kernel_table, ..TaskGraphStorage::default() };
        let mut successors: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
        for (from, to) in graph.edges() {
            successors[from.index()].push(to.0);
        }
        for task in (0..graph.len() as u32).map(TaskId) {
            let (args, io) = if graph.is_barrier_node(task) { (&[][..], &[][..]) } else { details(task) };
            let row = header(graph, task, domain);
            let num_u64_args = counted(task, "arguments", args.len(), limits::MAX_TASK_ARGS)?;
            let num_io = counted(task, "accesses", io.len(), limits::MAX_TASK_IO)?;
            let args_begin = numbered(storage.u64_args.len(), "arguments")?;
            let io_begin = numbered(storage.io.len(), "accesses")?;
            storage.u64_args.extend_from_slice(args);
            storage.io.extend_from_slice(io);
            storage.tasks.push(TaskNodePod { num_u64_args, num_io, args_begin, io_begin, ..row });
        }
        for (row, successors) in (0..).zip(successors) {
            storage.connect(row, successors)?;
        }
        Ok(storage)
    }

    /// Gives a row its successors, through relays when there are too many.
    fn connect(&mut self, row: u32, mut successors: Vec<u32>) -> Result<(), StorageError> {
        let most = limits::MAX_FANOUT as usize;
        while successors.len() > most {
            let mut relays = Vec::new();
            for part in successors.chunks(most) {
                let id = numbered(self.tasks.len(), "rows")?;
                self.tasks.push(TaskNodePod {
                    id,
                    kernel: TaskNodePod::NO_KERNEL,
                    domain: ExecDomain::HostCpu as u8,
                    pool: wsp_core::ExecPool::Any as u8,
                    stream: TaskNodePod::NONE,
                    affinity: TaskNodePod::NONE,
                    fanin: 1,
                    sched_tags: SchedTags::RELAY.0,
                    ..TaskNodePod::default()
                });
                self.place(id, part)?;
                relays.push(id);
            }
            successors = relays;
        }
        self.place(row, &successors)
    }

    fn place(&mut self, row: u32, successors: &[u32]) -> Result<(), StorageError> {
        let fanout_begin = numbered(self.fanout_edges.len(), "edges")?;
        numbered(self.fanout_edges.len() + successors.len(), "edges")?;
        self.fanout_edges.extend_from_slice(successors);
        let row = &mut self.tasks[row as usize];
        row.fanout_begin = fanout_begin;
        row.fanout_count = successors.len() as u16;
        Ok(())
    }

    /// Successors of a row.
    pub fn successors(&self, row: &TaskNodePod) -> &[u32] {
        let begin = row.fanout_begin as usize;
        &self.fanout_edges[begin..begin + usize::from(row.fanout_count)]
    }

    /// Checks that every begin and count lies in its pool, every successor is a row, and `fanin` counts the edges to a row.
    ///
    /// # Errors
    /// The first row that does not fit.
    pub fn check(&self) -> Result<(), StorageError> {
        let mut fan_in = vec![0u32; self.tasks.len()];
        for (row, number) in self.tasks.iter().zip(0..) {
            let wrong = |what| Err(StorageError::Inconsistent { row: number, what });
            let within = |begin: u32, count: u16, pool: usize| begin as usize + usize::from(count) <= pool;
            if row.id != number {
                return wrong("its id is not its index");
            }
            if !within(row.fanout_begin, row.fanout_count, self.fanout_edges.len()) {
                return wrong("its successors lie outside the pool of edges");
            }
            if !within(row.args_begin, row.num_u64_args, self.u64_args.len()) {
                return wrong("its arguments lie outside their pool");
            }
            if !within(row.io_begin, row.num_io, self.io.len()) {
                return wrong("its accesses lie outside their pool");
            }
            if row.kernel != TaskNodePod::NO_KERNEL
                && usize::from(row.kernel) >= self.kernel_table.symbols.len()
            {
                return wrong("its kernel is not in the table");
            }
            for &to in self.successors(row) {
                match fan_in.get_mut(to as usize) {
                    Some(count) => *count += 1,
                    None => return wrong("a successor is no row"),
                }
            }
        }
        let counted =
            self.tasks.iter().zip(&fan_in).position(|(row, &n)| i64::from(row.fanin) != i64::from(n));
        match counted {
            Some(row) => Err(StorageError::Inconsistent {
                row: row as u32,
                what: "`fanin` is not the number of edges to it",
            }),
            None => Ok(()),
        }
    }

    /// Bytes that would be copied to a device, without the names of kernels.
    pub fn bytes(&self) -> u64 {
        let bytes = size_of_val(self.tasks.as_slice())
            + size_of_val(self.fanout_edges.as_slice())
            + size_of_val(self.u64_args.as_slice())
            + size_of_val(self.io.as_slice());
        bytes as u64
    }
}

/// A row without arguments, accesses and successors.
fn header(graph: &TaskGraph, task: TaskId, domain: ExecDomain) -> TaskNodePod {
    let attributes = graph.attributes(task);
    let is_point = graph.is_barrier_node(task);
    let KernelId(kernel) = graph.kernel(task);
    let affinity = match attributes.affinity {
        Affinity::Local(worker) => u16::try_from(worker).unwrap_or(TaskNodePod::NONE),
        Affinity::Any | Affinity::Group(_) | Affinity::Spread => TaskNodePod::NONE,
    };
    TaskNodePod {
        id: task.0,
        kernel: if is_point { TaskNodePod::NO_KERNEL } else { kernel },
        domain: domain as u8,
        pool: attributes.pool as u8,
        stream: attributes.stream.map_or(TaskNodePod::NONE, |stream| stream.0),
        affinity,
        fanin: graph.predecessor_count(task) as i32,
        sched_tags: if is_point { SchedTags::BARRIER.0 } else { 0 },
        priority: attributes.priority,
        ..TaskNodePod::default()
    }
}

fn counted(task: TaskId, what: &'static str, count: usize, most: u32) -> Result<u16, StorageError> {
    if count > most as usize {
        return Err(StorageError::TooMany { task, what, count, most });
    }
    Ok(count as u16)
}

fn numbered(count: usize, pool: &'static str) -> Result<u32, StorageError> {
    u32::try_from(count).map_err(|_| StorageError::TooLarge { pool })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Deps, TaskSpec};
    use wsp_core::pod::TensorRegion2D;
    use wsp_core::{ExecPool, StreamId};

    fn kernels(n: usize) -> KernelBundle {
        KernelBundle { symbols: (0..n).map(|i| format!("k{i}")).collect() }
    }

    fn store(graph: &TaskGraph) -> TaskGraphStorage {
        let storage =
            TaskGraphStorage::new(graph, ExecDomain::AscendAiCore, kernels(4), |_| (&[1, 2], &[])).unwrap();
        storage.check().unwrap();
        storage
    }

    /// The tasks that run when each row runs once all rows before it have, as a device would do it.
    fn executed(storage: &TaskGraphStorage) -> Vec<u32> {
        let mut remaining: Vec<i32> = storage.tasks.iter().map(|row| row.fanin).collect();
        let mut ready: Vec<u32> = (0..).zip(&remaining).filter(|(_, n)| **n == 0).map(|(id, _)| id).collect();
        let mut order = Vec::new();
        while let Some(id) = ready.pop() {
            let row = &storage.tasks[id as usize];
            if row.kernel != TaskNodePod::NO_KERNEL {
                order.push(id);
            }
            for &to in storage.successors(row) {
                remaining[to as usize] -= 1;
                if remaining[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
        order
    }

    #[test]
    fn rows_have_what_tasks_were_submitted_with() {
        let mut graph = TaskGraph::new(Deps::Explicit);
        let first = graph.submit(TaskSpec { kernel: KernelId(2), ..TaskSpec::default() }).unwrap();
        let spec = TaskSpec {
            kernel: KernelId(3),
            pool: ExecPool::Cube,
            stream: Some(StreamId(5)),
            priority: -7,
            affinity: Affinity::Local(11),
            after: &[first],
            ..TaskSpec::default()
        };
        graph.submit(spec).unwrap();
        let storage = store(&graph);
        let row = storage.tasks[1];
        assert_eq!((row.id, row.kernel, row.domain, row.pool), (1, 3, 1, 1));
        assert_eq!((row.stream, row.priority, row.affinity, row.fanin), (5, -7, 11, 1));
        assert_eq!((row.num_u64_args, row.args_begin, row.num_io), (2, 2, 0));
        assert_eq!(storage.successors(&storage.tasks[0]), [1]);
        assert_eq!(storage.bytes(), 2 * 40 + 4 + 4 * 8);
    }

    #[test]
    fn arguments_accesses_and_the_symbol_of_a_task_are_found_from_its_row() {
        let access = |base, is_output| TaskIo {
            region: TensorRegion2D { base, row_off: 1, col_off: 2, rows: 3, cols: 4 },
            is_output,
            ..TaskIo::default()
        };
        let of_task = [vec![access(7, 0)], vec![access(8, 0), access(9, 1)]];
        let mut graph = TaskGraph::new(Deps::Explicit);
        for kernel in [3, 1] {
            graph.submit(TaskSpec { kernel: KernelId(kernel), ..TaskSpec::default() }).unwrap();
        }
        let storage = TaskGraphStorage::new(&graph, ExecDomain::AscendAiCore, kernels(4), |task| {
            (&[], &of_task[task.index()])
        });
        let storage = storage.unwrap();
        storage.check().unwrap();
        for (row, expected) in storage.tasks.iter().zip(&of_task) {
            let begin = row.io_begin as usize;
            assert_eq!(storage.io[begin..begin + usize::from(row.num_io)], *expected);
        }
        let symbols = storage.tasks.iter().map(|row| &storage.kernel_table.symbols[usize::from(row.kernel)]);
        assert_eq!(symbols.collect::<Vec<_>>(), ["k3", "k1"]);
    }

    #[test]
    fn seventy_thousand_successors_are_reached_through_relays() {
        let mut graph = TaskGraph::new(Deps::Explicit);
        let first = graph.submit(TaskSpec::default()).unwrap();
        for _ in 0..70_000 {
            graph.submit(TaskSpec { after: &[first], ..TaskSpec::default() }).unwrap();
        }
        let storage = store(&graph);
        assert_eq!(storage.tasks.len(), 70_003);
        assert_eq!(storage.successors(&storage.tasks[0]), [70_001, 70_002]);
        let mut order = executed(&storage);
        assert_eq!(order.first(), Some(&0));
        order.sort_unstable();
        assert_eq!(order, (0..70_001).collect::<Vec<u32>>());
    }

    #[test]
    fn barrier_nodes_run_nothing_and_keep_their_order() {
        let mut graph = TaskGraph::new(Deps::Overlap);
        graph.ordered_begin();
        for _ in 0..2 {
            for _ in 0..3 {
                graph.submit(TaskSpec::default()).unwrap();
            }
            graph.ordered_step().unwrap();
        }
        graph.ordered_end().unwrap();
        let storage = store(&graph);
        let order = executed(&storage);
        let kinds: Vec<bool> = order.iter().map(|&id| graph.is_barrier_node(TaskId(id))).collect();
        assert_eq!(kinds, [false; 6]);
        let tasks: Vec<u32> =
            (0..graph.len() as u32).filter(|&id| !graph.is_barrier_node(TaskId(id))).collect();
        let first: Vec<bool> = order.iter().map(|id| tasks[..3].contains(id)).collect();
        assert_eq!(first, [true, true, true, false, false, false]);
    }

    #[test]
    fn a_damaged_storage_is_refused() {
        let mut graph = TaskGraph::new(Deps::Explicit);
        let first = graph.submit(TaskSpec::default()).unwrap();
        graph.submit(TaskSpec { after: &[first], ..TaskSpec::default() }).unwrap();
        let good = store(&graph);
        let damages: [fn(&mut TaskGraphStorage); 7] = [
            |s| s.tasks[1].id = 0,
            |s| s.tasks[0].fanout_count = 2,
            |s| s.tasks[0].fanout_begin = u32::MAX,
            |s| s.tasks[1].args_begin = 3,
            |s| s.tasks[0].num_io = 1,
            |s| s.tasks[1].kernel = 4,
            |s| s.tasks[1].fanin = 2,
        ];
        for damage in damages {
            let mut bad = good.clone();
            damage(&mut bad);
            assert!(matches!(bad.check(), Err(StorageError::Inconsistent { .. })), "{bad:?}");
        }
        let mut bad = good;
        bad.fanout_edges[0] = 2;
        assert_eq!(bad.check(), Err(StorageError::Inconsistent { row: 0, what: "a successor is no row" }));
    }

    #[test]
    fn what_a_row_cannot_count_is_an_error() {
        let mut graph = TaskGraph::new(Deps::Explicit);
        graph.submit(TaskSpec::default()).unwrap();
        let args = [0u64; 17];
        let fault =
            TaskGraphStorage::new(&graph, ExecDomain::HostCpu, kernels(1), |_| (&args, &[])).unwrap_err();
        assert_eq!(fault.to_string(), "task 0 has 17 arguments, but at most 16 can be stored");
        let mut graph = TaskGraph::new(Deps::Explicit);
        let event = graph.event().unwrap();
        graph.submit(TaskSpec { waits: &[event], ..TaskSpec::default() }).unwrap();
        let fault =
            TaskGraphStorage::new(&graph, ExecDomain::HostCpu, kernels(1), |_| (&[], &[])).unwrap_err();
        assert_eq!(fault, StorageError::UnsignalledEvent(TaskId(0)));
    }
}
