//! Why an interpreter refuses a launch, and what it finds at fault while it runs.

use super::super::bounds::BoundsHalt;
use super::super::dispatch::ConfigFault;
use super::super::eval::ExprFault;
use crate::limits;
use crate::words::counted;
use core::fmt;

/// A program at fault with this launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The instruction at fault: an index into the words of the program.
    pub word: u32,
    /// How many tasks were generated before, whoever owns them.
    pub ordinal: u64,
}

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// An expression.
    Expr(ExprFault),
    /// A region does not lie within its tensor.
    Outside {
        /// Which access of the task, from 0.
        access: u8,
        /// Which dimension.
        dim: u8,
        /// Its first index.
        lo: i64,
        /// One past its last.
        hi: i64,
        /// The tensor's extent.
        extent: u32,
    },
    /// A loop cannot be entered. Expressions at fault are [`FaultKind::Expr`].
    Bounds(BoundsHalt),
    /// A `WHILE` that still holds after so many rounds.
    Rounds {
        /// The most rounds.
        max: u64,
    },
    /// The program takes too many steps.
    Steps,
    /// A priority that does not fit into 32 bits.
    Priority {
        /// The priority.
        value: i64,
    },
    /// A task that comes after the last range of a static partition.
    PastPartition {
        /// Where the last range ends.
        end: u64,
    },
    /// A descriptor generator that this host does not run.
    Generator {
        /// The generator.
        generator: u16,
    },
    /// The depth of a channel that is none.
    Depth {
        /// The depth.
        value: i64,
    },
    /// No process can go on; [`Interpreter::waiting`](super::Interpreter::waiting) has what each waits for.
    Deadlock,
    /// A channel that is closed is sent to, closed again, or has no token that could be taken.
    Closed {
        /// The `CLOSE` that has closed it.
        closed: u32,
    },
    /// A word that a verified program does not have there.
    Structure,
}

/// Why there is no interpreter of a program with this launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The workspace is too small.
    Workspace {
        /// Words needed.
        need: u64,
        /// Words given.
        have: u64,
    },
    /// The program names launch-time values that the launch lacks.
    Values {
        /// How many it names.
        need: u16,
        /// How many there are.
        have: u64,
    },
    /// The program names launch-time tables that the launch lacks.
    Tables {
        /// How many it names.
        need: u16,
        /// How many there are.
        have: u64,
    },
    /// Tensors without extents.
    Extents {
        /// Tensors.
        need: u64,
        /// How many have extents.
        have: u64,
    },
    /// The dispatch configuration does not fit the program.
    Config(ConfigFault),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "word {}: {} (after {})", self.word, self.kind, counted(self.ordinal, "task"))
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FaultKind::Expr(fault) => fault.fmt(f),
            FaultKind::Outside { access, dim, lo, hi, extent } => {
                write!(f, "access {access} is {lo}..{hi} in dimension {dim}, whose extent is {extent}")
            }
            FaultKind::Bounds(halt) => halt.fmt(f),
            FaultKind::Rounds { max } => {
                write!(f, "a WHILE still holds after {max}", max = counted(max, "round"))
            }
            FaultKind::Steps => {
                write!(f, "the program takes more than {} steps", limits::MAX_GENERATOR_STEPS)
            }
            FaultKind::Priority { value } => write!(f, "a priority of {value} does not fit into 32 bits"),
            FaultKind::PastPartition { end } => {
                write!(f, "the ranges of a static partition end at {end}, and there are more tasks")
            }
            FaultKind::Generator { generator } => {
                write!(f, "there is no descriptor generator {generator} here")
            }
            FaultKind::Depth { value } => {
                write!(f, "a channel of depth {value}; depths are 0 to {}", u32::MAX)
            }
            FaultKind::Deadlock => write!(f, "no process can go on"),
            FaultKind::Closed { closed } => write!(f, "the channel was closed by word {closed}"),
            FaultKind::Structure => write!(f, "the program is not well-formed there"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Workspace { need, have } => {
                write!(
                    f,
                    "the interpreter needs {need} of memory, and has {have}",
                    need = counted(need, "word")
                )
            }
            Refusal::Values { need, have } => {
                write!(f, "the program names {need} launch-time values; value {have} is not bound")
            }
            Refusal::Tables { need, have } => {
                write!(f, "the program names {need} launch-time tables; table {have} is not bound")
            }
            Refusal::Extents { need, have } => {
                write!(
                    f,
                    "the program has {need}; tensor {have} has no extents",
                    need = counted(need, "tensor")
                )
            }
            Refusal::Config(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for Fault {}
impl core::error::Error for Refusal {}
