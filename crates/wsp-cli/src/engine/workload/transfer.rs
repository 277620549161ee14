//! What a device is given to generate the tasks of a workload.

use crate::engine::program;
use wsp_backend::Args;
use wsp_diag::Diagnostic;
use wsp_kernel::{Engine, Mode};
use wsp_plan::PlanSource;
use wsp_plan::ptow::{HostList, Transfer};

/// Bytes of a program and its launch, beside those of a list of its tasks.
#[derive(Clone, Debug)]
pub struct Transferred {
    /// What is transferred.
    pub transfer: Transfer,
    /// Words of its bodies.
    pub instructions: u64,
    /// Rows of its tables: axes and ranges of loops, kernels, tensors.
    pub rows: [u64; 3],
    /// Words of its expressions.
    pub words: u64,
    /// AICPUs that get a configuration each.
    pub aicpus: u16,
    /// The list; none where its length depends on what tasks compute.
    pub list: Option<HostList>,
    /// Whether the bytes of its rows leave out parameters and accesses.
    pub rows_only: bool,
    /// What the program does in another way than the schedule says.
    pub notes: Vec<Diagnostic>,
}

/// Lowers a workload and counts bytes.
///
/// # Errors
/// Nothing runs its target, wrong values or tables, a workload that no program can be made of.
pub fn transfer(plan: &PlanSource, args: &Args, aicpus: u16) -> Result<Transferred, Vec<Diagnostic>> {
    let found = program(plan, Mode::default(), Engine::default(), None)?.transfer(args, aicpus, None)?;
    let sections = found.program.verified();
    let sections = sections.program();
    let rows = [sections.axes.len(), sections.kernels.len(), sections.tensors.len()];
    Ok(Transferred {
        transfer: found.transfer,
        instructions: sections.words.len() as u64,
        rows: rows.map(|n| n as u64),
        words: sections.exprs.len() as u64,
        aicpus,
        list: found.list,
        rows_only: found.rows_only,
        notes: found.notes,
    })
}
