//! Faults of elaboration, as the user sees them.

use super::super::schedule::NoPlace;
use super::super::{codes, eval, fault};
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

/// A process that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) process: u32,
    pub(super) transfer: u32,
    pub(super) want: Want,
    /// Slots of the channel that are taken.
    pub(super) held: u64,
    /// Ids and indices of the loops around it, from the pipeline on.
    pub(super) loops: Vec<u32>,
    pub(super) indices: Vec<i64>,
}

/// What a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// A free slot to send.
    Slot,
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
        Fault::Deadlock(deadlock) => deadlocked(program, deadlock),
    };
    fault::located(diagnostic, loops(program, context.loops, context.indices), context.ordinal)
}

/// Who waits for what in a pipeline.
fn deadlocked(program: &CompiledModule<'_>, deadlock: &Deadlock) -> Diagnostic {
    let span = program.pipelines[deadlock.pipeline as usize].span;
    let mut diagnostic =
        Diagnostic::error(codes::DEADLOCK, "no process of the pipeline can go on").at(span, "");
    for waiting in &deadlock.waiting {
        let transfer = &program.transfers[waiting.transfer as usize];
        let channel = &program.channels[transfer.channel as usize];
        let (held, depth) = (waiting.held, channel.depth);
        let slots = if depth == 1 { "slot" } else { "slots" };
        let what = match waiting.want {
            Want::Slot => format!("waits to send to `{}` ({held} of {depth} {slots} full)", channel.name),
            Want::Token if held == 0 => format!("waits to consume from `{}` (empty)", channel.name),
            Want::Token => {
                let name = channel.name;
                format!(
                    "waits to consume from `{name}` ({held} of {depth} {slots} in use, none to be consumed)"
                )
            }
        };
        let at = match fault::indices(loops(program, &waiting.loops, &waiting.indices)) {
            Some(indices) => format!(" at {indices}"),
            None => String::new(),
        };
        let name = program.processes[waiting.process as usize].name;
        diagnostic = diagnostic.label(transfer.span, format!("`{name}` {what}{at}"));
    }
    for process in &deadlock.ended {
        diagnostic = diagnostic.note(format!("`{}` has ended", program.processes[*process as usize].name));
    }
    let sends = deadlock.waiting.iter().any(|waiting| waiting.want == Want::Slot);
    diagnostic.help(if sends {
        "declare channels deeper, or let a process consume before it sends"
    } else {
        "send as many tokens as are consumed, and let one process send before it consumes"
    })
}

/// Names and indices of loops.
fn loops<'c>(
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
