//! Faults of elaboration, as the user sees them.

use super::super::schedule::NoPlace;
use super::super::{codes, eval, fault};
use super::deadlock;
use super::program::{CompiledModule, SiteArg};
use wsp_core::AxisId;
use wsp_diag::{Diagnostic, Span};

/// What is wrong.
#[derive(Debug)]
pub(super) enum Fault {
    /// An expression.
    Expr(eval::Fault),
    /// A region of a statement does not lie within its tensor; the statement, the argument, and the bounds.
    Outside { site: u32, arg: u32, dim: u8, lo: i64, hi: i64 },
    /// A step of a range below 1.
    Step { value: i64, span: Span },
    /// The outer index of a ragged or sparse axis.
    Row { axis: AxisId, row: i64, rows: u64, span: Span },
    /// A `while` that goes on.
    Rounds { max: u64, span: Span },
    /// No end in sight.
    Steps,
    /// A loop alone has too many iterations: so many after its first.
    Iterations { more: u64, span: Span },
    /// No process of a pipeline can go on.
    Deadlock(Box<Deadlock>),
    /// A channel is closed.
    Closed(Closed),
    /// A schedule has no place for the task.
    Place(NoPlace, Span),
}

/// A pipeline in which no process can go on.
#[derive(Debug)]
pub(super) struct Deadlock {
    pub(super) pipeline: u32,
    pub(super) waiting: Vec<Waiting>,
    /// Processes that have ended.
    pub(super) ended: Vec<u32>,
}

/// What is done with a channel that is closed: where, and what has closed it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Closed {
    /// A token is sent.
    Send { at: Span, closed: u32 },
    /// It is closed.
    Again { at: Span, closed: u32 },
    /// One more token is consumed than was sent.
    Consume { at: Span, closed: u32 },
}

/// A process that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) process: u32,
    pub(super) want: Want,
    /// The transfers of which it waits for one, and how many slots of the channel of each are taken.
    pub(super) transfers: Vec<(u32, u64)>,
    /// Ids and indices of the loops around it, from the pipeline on.
    pub(super) loops: Vec<u32>,
    pub(super) indices: Vec<i64>,
}

/// What a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// A free slot to send.
    Slot,
    /// That the token that it sent is taken.
    Taken,
    /// A token to consume.
    Token,
}

impl From<eval::Fault> for Fault {
    fn from(fault: eval::Fault) -> Fault {
        Fault::Expr(fault)
    }
}

/// Where elaboration was when it met a fault.
pub(super) struct Context<'c> {
    /// Ids and indices of the loops around it, outermost first.
    pub(super) loops: &'c [u32],
    pub(super) indices: &'c [i64],
    /// Tasks generated before.
    pub(super) ordinal: u64,
}

/// The diagnostic of a fault, with the indices of the loops around it.
pub(super) fn diagnostic(program: &CompiledModule<'_>, fault: &Fault, context: &Context<'_>) -> Diagnostic {
    let module = program.module;
    let diagnostic = match fault {
        Fault::Expr(fault) => fault.diagnostic(module, &program.bindings.values),
        Fault::Outside { site, arg, dim, lo, hi } => {
            let site = &program.sites[*site as usize];
            match &site.args[*arg as usize] {
                SiteArg::Region { access, .. } => {
                    let argument = (site.kernel, *arg as usize);
                    fault::outside(module, program.bindings, argument, access, (*dim, *lo, *hi))
                }
                SiteArg::Scalar { .. } => {
                    Diagnostic::error(codes::REGION_OUTSIDE, "a region lies outside its tensor")
                        .at(site.span, "")
                }
            }
        }
        Fault::Step { value, span } => fault::step(*value, *span),
        Fault::Row { axis, row, rows, span } => fault::row(module, *axis, (*row, *rows), *span),
        Fault::Rounds { max, span } => fault::rounds(*max, *span),
        Fault::Steps => fault::too_many_steps(),
        Fault::Iterations { more, span } => fault::iterations(more.saturating_add(1), *span),
        Fault::Place(none, span) => fault::no_place(none, *span),
        Fault::Deadlock(deadlock) => deadlock::diagnostic(program, deadlock),
        Fault::Closed(closed) => deadlock::closed(program, *closed),
    };
    fault::located(diagnostic, loops(program, context.loops, context.indices), context.ordinal)
}

/// Names and indices of loops.
pub(super) fn loops<'c>(
    program: &'c CompiledModule<'_>,
    loops: &'c [u32],
    indices: &'c [i64],
) -> impl Iterator<Item = (&'c str, i64)> {
    let name = |id: u32| {
        let loop_ = &program.loops[id as usize];
        &*program.module.workloads[loop_.workload.index()].vars[loop_.var.index()].name
    };
    loops.iter().zip(indices).map(move |(id, index)| (name(*id), *index))
}
