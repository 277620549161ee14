//! Faults of elaboration, as the user sees them.

use super::super::codes;
use super::super::eval::{self, count};
use super::super::schedule::NoPlace;
use super::program::{CompiledModule, Site, SiteArg};
use wsp_core::{AxisId, limits};
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

/// A module that has nothing to run.
pub(crate) fn no_workload() -> Diagnostic {
    Diagnostic::error(codes::NO_WORKLOAD, "there is no workload to run")
        .note("the file declares no workload, so it is a library")
        .help("write `workload main { … }`")
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
            outside(program, site, *arg as usize, (*dim, *lo, *hi))
        }
        Fault::Step { value, span } => {
            Diagnostic::error(codes::LOOP_STEP, format!("a step of {value}")).at(*span, "steps are 1 or more")
        }
        Fault::Row { axis, row, rows, span } => {
            let axis = &module.axes[axis.index()];
            let message = format!("axis `{}` has no row {row}", axis.name);
            Diagnostic::error(codes::AXIS_ROW, message)
                .at(*span, format!("it has {}", count(*rows, "row")))
                .label(axis.span, "the axis")
        }
        Fault::Rounds { max, span } => {
            let message = format!("the condition of a loop still holds after {}", count(*max, "round"));
            Diagnostic::error(codes::WHILE_LIMIT, message)
                .at(*span, "")
                .help("let its tasks make the condition false, or write a larger `max`")
                .python("let its tasks make the condition false, or write a larger `max_rounds`")
        }
        Fault::Steps => too_many_steps(),
        Fault::Iterations { more, span } => too_many_steps()
            .at(*span, format!("this loop alone has {}", count(more.saturating_add(1), "iteration"))),
        Fault::Place(none, span) => no_place(none, *span),
        Fault::Deadlock(deadlock) => deadlocked(program, deadlock),
    };
    located(program, diagnostic, context)
}

fn too_many_steps() -> Diagnostic {
    Diagnostic::error(codes::TOO_MANY_STEPS, "the workload takes too many iterations")
        .note(format!("the limit is {} iterations and calls in all", limits::MAX_GENERATOR_STEPS))
}

/// A region that does not lie within its tensor.
fn outside(
    program: &CompiledModule<'_>,
    site: &Site<'_>,
    arg: usize,
    (dim, lo, hi): (u8, i64, i64),
) -> Diagnostic {
    let module = program.module;
    let SiteArg::Region { access, .. } = &site.args[arg] else {
        return Diagnostic::error(codes::REGION_OUTSIDE, "a region lies outside its tensor")
            .at(site.span, "");
    };
    let tensor = &module.tensors[access.tensor.index()];
    let shape = program.bindings.shape(access.tensor);
    let kernel = &module.kernels[site.kernel.index()].name;
    let message = if hi < lo {
        format!("a region of tensor `{}` ends before it begins", tensor.name)
    } else {
        format!("a region of tensor `{}` lies outside it", tensor.name)
    };
    let extent = shape[dim as usize];
    Diagnostic::error(codes::REGION_OUTSIDE, message)
        .at(access.span, format!("dimension {dim}: {lo}..{hi}, and the extent is {extent}"))
        .label(tensor.span, format!("its extents are {shape:?}"))
        .note(format!("argument {} of `{kernel}`", arg + 1))
        .help("let the loop end earlier, or bound the region by the extent with `min`")
        .python("keep the region inside the tensor: a shorter loop, a smaller tile, a larger tensor, or `P.min` with the extent")
}

fn no_place(none: &NoPlace, span: Span) -> Diagnostic {
    match none {
        NoPlace::PastPartition { end } => {
            Diagnostic::error(codes::PARTITION, "a static partition does not tile the tasks")
                .at(span, "no range holds this task")
                .note(format!("its ranges end at {end}"))
        }
        NoPlace::Priority { value, span: key } => {
            Diagnostic::error(codes::NO_PLACE, format!("a priority of {value} does not fit into 32 bits"))
                .at(*key, "")
                .label(span, "of this task")
                .help(format!(
                    "give a key from {} to {}: divide it, or take the smaller of it and a limit",
                    i32::MIN,
                    i32::MAX
                ))
        }
    }
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
        let at = match indices(program, &waiting.loops, &waiting.indices) {
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

/// Adds where elaboration was.
fn located(program: &CompiledModule<'_>, diagnostic: Diagnostic, context: &Context<'_>) -> Diagnostic {
    let diagnostic = match indices(program, context.loops, context.indices) {
        Some(indices) => diagnostic.note(format!("at {indices}")),
        None => diagnostic,
    };
    diagnostic.note(format!("after {}", count(context.ordinal, "task")))
}

/// `i = 1, j = 2`, for loops and their indices; none without loops.
fn indices(program: &CompiledModule<'_>, loops: &[u32], indices: &[i64]) -> Option<String> {
    let name = |id: u32| {
        let loop_ = &program.loops[id as usize];
        &program.module.workloads[loop_.workload.index()].vars[loop_.var.index()].name
    };
    let written: Vec<String> =
        loops.iter().zip(indices).map(|(id, index)| format!("{} = {index}", name(*id))).collect();
    (!written.is_empty()).then(|| written.join(", "))
}
