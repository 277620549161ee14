//! The tasks of one launch, as a package has them as constants.

use wsp_core::ptow::interp::Ordered;
use wsp_core::{AxisId, TableId};
use wsp_ir::LaunchArray;
use wsp_plan::ParamValue;

/// What generates the tasks of a package.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Expansion {
    /// Loops of C++.
    #[default]
    Loops,
    /// The program of a workload, which AICPUs interpret.
    Bytecode,
    /// Nothing: they are those of one launch.
    Table(LaunchTable),
}

/// The tasks of one launch in the order of their ordinals, and what they follow from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaunchTable {
    /// Tasks, and what stands between them.
    pub rows: Vec<TableRow>,
    /// Words of the descriptors of all tasks.
    pub words: Vec<u32>,
    /// Ordinals that tasks wait for, of all tasks.
    pub after: Vec<u64>,
    /// Bytes of workspace that the tasks use.
    pub workspace_bytes: u64,
    /// Tiles of axes that generators set or chose.
    pub tiles: Vec<(AxisId, u32)>,
    /// Values of the parameters, in the order of the program, where the launch has them; of a workload those of the workload.
    pub params: Vec<Option<ParamValue>>,
    /// Elements of the arrays that generation reads.
    pub arrays: Vec<(TableArray, Vec<i64>)>,
}

/// A row of a [`LaunchTable`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableRow {
    /// A task.
    Task(TableTask),
    /// Later tasks start after all earlier ones are complete.
    Fence,
    /// A boundary of an ordered scope.
    Ordered(Ordered),
}

/// A task of a [`LaunchTable`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableTask {
    /// Its descriptor, by number in the program; of a workload its kernel.
    pub of: u32,
    /// Where its words end in [`LaunchTable::words`]; they begin where those of the task before it end.
    pub words_end: u32,
    /// Where its ordinals end in [`LaunchTable::after`]; they begin where those of the task before it end.
    pub after_end: u32,
    /// Its stream.
    pub stream: Option<u16>,
    /// Larger first.
    pub priority: i32,
}

/// An array that generation reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableArray {
    /// Of a launch of a program of spaces.
    Launch(LaunchArray),
    /// A table of a workload.
    Table(TableId),
}
