//! What an AICPU generates tasks with, and why it generates no more.

use wsp_core::ptow::interp::Fault;
use wsp_diag::Diagnostic;
use wsp_runtime::aicpu::Generator;

/// Why an AICPU generates no more.
#[derive(Debug)]
pub(crate) enum GenerationFault {
    /// The program is at fault.
    Program(ProgramFault),
    /// A task cannot be.
    Task(Diagnostic),
    /// An instruction that belongs to no statement.
    Site(u32),
    /// A static partition ends before the tasks, of which there are so many, or so many before the program is at fault.
    Partition { end: u64, total: u64, then: Option<ProgramFault> },
}

/// What one AICPU generates. All kinds are one type, so that the code which drives AICPUs is there once for each kind of kernels.
pub(crate) type AnyGenerator<'a> = Box<dyn Generator<Fault = GenerationFault> + 'a>;

/// A program at fault, and the indices of the loops around.
#[derive(Clone, Debug)]
pub(crate) struct ProgramFault {
    pub(crate) fault: Fault,
    pub(crate) indices: Vec<i64>,
}
