//! What a launch gives a program, and how much that is.

use super::{Lowered, ProgramBuf};
use crate::workload::Bindings;
use wsp_core::MAX_RANK;
use wsp_core::TensorId;
use wsp_core::pod::{PendingTask, TaskIo, TaskNodePod};
use wsp_core::ptow::{DispatchConfig, Launch};
use wsp_ir::workload::WorkloadModule;

/// The values, tables and extents of one launch.
#[derive(Clone, Debug)]
pub struct LaunchData<'b> {
    values: Vec<i64>,
    tables: Vec<&'b [i64]>,
    extents: Vec<[u32; MAX_RANK]>,
}

impl<'b> LaunchData<'b> {
    /// What bindings of the module that was lowered give its program.
    pub fn new(lowered: &Lowered, module: &WorkloadModule, bindings: &'b Bindings) -> LaunchData<'b> {
        let extents = |tensor: u32| {
            let mut extents = [1; MAX_RANK];
            for (to, from) in extents.iter_mut().zip(bindings.shape(TensorId(tensor))) {
                *to = *from;
            }
            extents
        };
        LaunchData {
            values: lowered.values.iter().map(|param| bindings.param(*param)).collect(),
            tables: lowered.tables.iter().map(|table| bindings.table(*table)).collect(),
            extents: (0..module.tensors.len() as u32).map(extents).collect(),
        }
    }

    /// As interpreters take it.
    pub fn as_launch(&self) -> Launch<'_> {
        Launch { values: &self.values, tables: &self.tables, extents: &self.extents }
    }
}

/// Bytes that a launch transfers to a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transfer {
    /// The program without its names.
    pub program: u64,
    /// Names, which no device needs.
    pub names: u64,
    /// One configuration per AICPU.
    pub configs: u64,
    /// Launch-time values, 8 bytes each.
    pub values: u64,
    /// Extents of tensors, 4 bytes each.
    pub extents: u64,
    /// Address and length of each table, 16 bytes.
    pub table_rows: u64,
    /// Elements of tables, 8 bytes each.
    pub tables: u64,
}

impl Transfer {
    /// All of it but the names.
    pub fn total(&self) -> u64 {
        self.program + self.configs + self.values + self.extents + self.table_rows + self.tables
    }

    /// What is the same for every launch: the program and one configuration.
    pub fn program_and_config(&self) -> u64 {
        self.program + size_of::<DispatchConfig>() as u64
    }
}

/// Bytes that a launch on `aicpus` AICPUs transfers.
pub fn transfer(program: &ProgramBuf, launch: &LaunchData<'_>, aicpus: u16) -> Transfer {
    let all = program.as_bytes().len() as u64;
    let stripped = program.strip_names().as_bytes().len() as u64;
    let rows = |rows: usize, size: usize| rows as u64 * size as u64;
    Transfer {
        program: stripped,
        names: all - stripped,
        configs: u64::from(aicpus) * size_of::<DispatchConfig>() as u64,
        values: rows(launch.values.len(), size_of::<i64>()),
        extents: rows(launch.extents.len(), size_of::<[u32; MAX_RANK]>()),
        table_rows: rows(launch.tables.len(), 2 * size_of::<u64>()),
        tables: launch.tables.iter().map(|table| rows(table.len(), size_of::<i64>())).sum(),
    }
}

/// Bytes of the list of tasks that a host would have to transfer instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostList {
    /// Tasks in the list.
    pub tasks: u64,
    /// As records of document 001.
    pub pending_tasks: u64,
    /// As rows of exported task graphs, without successors.
    pub rows: u64,
}

impl HostList {
    /// Bytes of one record of document 001: number, name, function, 16 arguments, fan-in, and 512 successors of 4 bytes.
    pub const PENDING_TASK: u64 = size_of::<PendingTask>() as u64;

    /// The list of `tasks` tasks that have so many parameters and accesses in all.
    pub fn new(tasks: u64, parameters: u64, accesses: u64) -> HostList {
        let rows = [
            (tasks, size_of::<TaskNodePod>()),
            (parameters, size_of::<u64>()),
            (accesses, size_of::<TaskIo>()),
        ];
        let bytes = rows.into_iter().map(|(count, size)| count.saturating_mul(size as u64));
        HostList {
            tasks,
            pending_tasks: tasks.saturating_mul(HostList::PENDING_TASK),
            rows: bytes.fold(0, u64::saturating_add),
        }
    }
}
