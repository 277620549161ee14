//! What AICPUs are given to generate tasks themselves.

use wsp_diag::Diagnostic;
use wsp_plan::ptow::{HostList, ProgramBuf, Transfer};

/// A workload's program, and the bytes of a launch.
#[derive(Debug)]
pub struct Transferred {
    /// The program.
    pub program: ProgramBuf,
    /// Bytes that a launch transfers.
    pub transfer: Transfer,
    /// The list of tasks that a host would transfer instead; none where its length depends on what tasks compute.
    pub list: Option<HostList>,
    /// Whether the bytes of the list's rows leave out parameters and accesses: there are too many tasks to look at each.
    pub rows_only: bool,
    /// What the program does in another way than the schedule says.
    pub notes: Vec<Diagnostic>,
}
