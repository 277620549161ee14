//! Faults of elaboration, as the user sees them.

use super::super::deadlock::{self, Want};
use super::super::schedule::NoPlace;
use super::super::{codes, eval, fault};
use super::program::{CompiledModule, SiteArg};
use wsp_core::AxisId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::StatementKind;

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
    /// What is done with a channel that is closed, where, and the close.
    Closed { done: StatementKind, at: Span, by: u32 },
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
    pub(super) want: Want,
    /// The transfers of which it waits for one.
    pub(super) transfers: Vec<Awaited>,
    /// Ids and indices of the loops around it, from the pipeline on.
    pub(super) loops: Vec<u32>,
    pub(super) indices: Vec<i64>,
}

/// A transfer that cannot be.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) id: u32,
    /// How many slots of its channel are taken.
    pub(super) held: u64,
    /// Whether all of them are those of a send under way, and of sends after it.
    pub(super) sending: bool,
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
    /// Tasks generated before; none where tasks were left out.
    pub(super) ordinal: Option<u64>,
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
        Fault::Deadlock(found) => deadlock::diagnostic(&deadlocked(program, found)),
        Fault::Closed { done, at, by } => {
            let close = &program.closes[*by as usize];
            let channel = program.channels[close.channel as usize].declared;
            deadlock::closed(*done, channel, *at, close.span)
        }
    };
    fault::located(diagnostic, loops(program, context.loops, context.indices), context.ordinal)
}

/// A pipeline in which no process can go on, by names.
fn deadlocked<'c>(program: &'c CompiledModule<'_>, found: &'c Deadlock) -> deadlock::Deadlock<'c> {
    let name = |process: u32| program.processes[process as usize].name;
    let waiting = |waiting: &'c Waiting| {
        let transfer = |id: u32| &program.transfers[id as usize];
        let of = |Awaited { id, held, sending }: &Awaited| {
            let channel = &program.channels[transfer(*id).channel as usize];
            // The slots of a send under way are freed behind it.
            let by = if *sending { 0 } else { usize::from(waiting.want.sends()) };
            let other = channel.ends[by].map(name);
            let (sends, closes) = (channel.sends, channel.closes);
            deadlock::Full {
                channel: channel.declared,
                held: *held,
                sending: *sending,
                depth: channel.depth,
                other,
                sends,
                closes,
            }
        };
        deadlock::Waiting {
            process: name(waiting.process),
            want: waiting.want,
            span: waiting.transfers.first().map_or(Span::default(), |of| transfer(of.id).span),
            channels: waiting.transfers.iter().map(of).collect(),
            loops: loops(program, &waiting.loops, &waiting.indices).collect(),
        }
    };
    deadlock::Deadlock {
        span: program.pipelines[found.pipeline as usize].span,
        waiting: found.waiting.iter().map(waiting).collect(),
        ended: found.ended.iter().map(|process| name(*process)).collect(),
    }
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
