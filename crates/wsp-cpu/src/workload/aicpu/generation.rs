//! What an AICPU generates tasks with, and why it generates no more.

use wsp_diag::Diagnostic;
use wsp_plan::ptow::Found;
use wsp_runtime::aicpu::Generator;

/// Why an AICPU generates no more.
#[derive(Debug)]
pub(crate) enum GenerationFault {
    /// The program is at fault.
    Program(Found),
    /// A task cannot be.
    Task(Diagnostic),
    /// An instruction that belongs to no statement.
    Site(u32),
    /// A static partition ends before the tasks, of which there are so many, or so many before the program is at fault.
    Partition { end: u64, total: u64, then: Option<Found> },
}

/// What one AICPU generates. All kinds are one type, so that the code which drives AICPUs is there once for each kind of kernels.
pub(crate) type AnyGenerator<'a> = Box<dyn Generator<Fault = GenerationFault> + 'a>;
