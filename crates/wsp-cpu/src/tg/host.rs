//! The host program: where a run stands in it, and what comes next.

use super::codes;
use wsp_core::tg::{EvalFault, Scalar};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_runtime::tg::LaunchId;
use wsp_tg::plan::{HostKind, HostOp};

/// Where a run stands: between two statements.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HostState {
    /// The next statement.
    pub(crate) at: u32,
    /// Of every loop, its number and its count.
    pub(crate) loops: Vec<(i64, i64)>,
    /// Numbers of graphs that were launched, rising.
    pub(crate) launched: Vec<u32>,
    /// Numbers of tensors of the unit that were released, rising.
    pub(crate) released: Vec<u32>,
    /// Priorities that were set, by number of the graph.
    pub(crate) priorities: Vec<(u32, i8)>,
}

/// Steps through control flow after which the caller is asked whether to go on.
const MOST_STEPS: u32 = 1 << 12;

/// What comes next.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Turn {
    /// This statement; the run stands behind it already.
    Do(HostOp),
    /// A scalar is not known yet: these launches may write it, and are in flight. The run stands before the statement that needs it.
    Wait(Vec<LaunchId>),
    /// Nothing yet: the run stands in a loop in which no statement has done anything for [`MOST_STEPS`] steps.
    Pause,
    /// Nothing.
    End,
}

/// The value of a scalar of the host program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HostValue {
    Known(i64),
    /// These launches may write it, and are in flight.
    Waits(Vec<LaunchId>),
}

/// Why the host program cannot go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A scalar of this statement has no value.
    Value(u32, EvalFault),
    /// It cannot go on behind this statement.
    Fault(u32, Box<Diagnostic>),
}

impl HostState {
    /// At the beginning of a program with so many loops.
    pub(crate) fn new(loops: u32) -> HostState {
        HostState { loops: vec![(0, 0); loops as usize], ..HostState::default() }
    }

    /// Whether it can be one of this program.
    pub(crate) fn fits(&self, ops: &[HostOp], loops: u32) -> bool {
        self.at as usize <= ops.len() && self.loops.len() == loops as usize
    }

    /// Notes that a graph was launched.
    pub(crate) fn launch(&mut self, graph: u32) {
        if let Err(at) = self.launched.binary_search(&graph) {
            self.launched.insert(at, graph);
        }
    }

    /// Goes through control flow and past the next statement that does something. `value` gives scalars their values, or
    /// launches that may write one.
    ///
    /// # Errors
    /// A scalar has no value, a count is negative, or a loop goes on for too long.
    pub(crate) fn next(
        &mut self,
        ops: &[HostOp],
        value: impl Fn(&HostState, Scalar) -> Result<HostValue, EvalFault>,
    ) -> Result<Turn, Stop> {
        for _ in 0..MOST_STEPS {
            let Some(&op) = ops.get(self.at as usize) else { return Ok(Turn::End) };
            macro_rules! value {
                ($scalar:expr) => {
                    match value(self, $scalar).map_err(|fault| Stop::Value(self.at, fault))? {
                        HostValue::Known(value) => value,
                        HostValue::Waits(on) => return Ok(Turn::Wait(on)),
                    }
                };
            }
            let next = self.at + 1;
            self.at = match op.kind {
                HostKind::Unless { condition, target } => {
                    if value!(condition) == 0 {
                        target
                    } else {
                        next
                    }
                }
                HostKind::Jump(target) => target,
                HostKind::LoopBegin { slot, count, target } => {
                    let count = value!(count);
                    if count < 0 {
                        return Err(Stop::Fault(self.at, negative(count)));
                    }
                    self.loops[slot as usize] = (0, count);
                    if count == 0 { target } else { next }
                }
                HostKind::LoopEnd { slot, target } => {
                    let (number, count) = &mut self.loops[slot as usize];
                    *number += 1;
                    if *number < *count { target } else { next }
                }
                HostKind::WhileBegin { slot } => {
                    self.loops[slot as usize] = (0, i64::MAX);
                    next
                }
                HostKind::WhileTest { slot, condition, most, target } => {
                    let (condition, number) = (value!(condition), self.loops[slot as usize].0);
                    if condition != 0 && number.cast_unsigned() >= most {
                        return Err(Stop::Fault(self.at, endless(most, condition)));
                    }
                    if condition == 0 { target } else { next }
                }
                HostKind::WhileEnd { slot, target } => {
                    self.loops[slot as usize].0 += 1;
                    target
                }
                HostKind::Break { condition, target } => {
                    if value!(condition) == 0 {
                        next
                    } else {
                        target
                    }
                }
                _ => {
                    self.at = next;
                    return Ok(Turn::Do(op));
                }
            };
        }
        Ok(Turn::Pause)
    }
}

fn negative(count: i64) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::BAD_EXPRESSION, format!("a loop of the host has a count of {count}")))
}

fn endless(most: u64, value: i64) -> Box<Diagnostic> {
    let message = format!("a `CF_WHILE` of the host goes on after {most}", most = counted(most, "round"));
    Box::new(
        Diagnostic::error(codes::TOO_MANY_ROUNDS, message)
            .note(format!("its condition is still {value}"))
            .help("raise `max_iterations`, or look at what writes the condition"),
    )
}
