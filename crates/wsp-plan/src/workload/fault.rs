//! What is wrong with a workload whose tasks are generated, as the user sees it.

use super::Bindings;
use super::codes;
use super::eval::count;
use super::schedule::NoPlace;
use wsp_core::{AxisId, KernelId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Access, WorkloadModule};

/// A module that has nothing to run.
pub(crate) fn no_workload() -> Diagnostic {
    Diagnostic::error(codes::NO_WORKLOAD, "there is no workload to run")
        .note("the file declares no workload, so it is a library")
        .help("write `workload main { … }`")
}

/// A step of a range below 1.
pub(crate) fn step(value: i64, span: Span) -> Diagnostic {
    Diagnostic::error(codes::LOOP_STEP, format!("a step of {value}")).at(span, "steps are 1 or more")
}

/// The outer index of a ragged or sparse axis.
pub(crate) fn row(module: &WorkloadModule, axis: AxisId, (row, rows): (i64, u64), span: Span) -> Diagnostic {
    let axis = &module.axes[axis.index()];
    let message = format!("axis `{}` has no row {row}", axis.name);
    Diagnostic::error(codes::AXIS_ROW, message)
        .at(span, format!("it has {}", count(rows, "row")))
        .label(axis.span, "the axis")
}

/// A `while` that goes on.
pub(crate) fn rounds(max: u64, span: Span) -> Diagnostic {
    let message = format!("the condition of a loop still holds after {}", count(max, "round"));
    Diagnostic::error(codes::WHILE_LIMIT, message)
        .at(span, "")
        .help("let its tasks make the condition false, or write a larger `max`")
        .python("let its tasks make the condition false, or write a larger `max_rounds`")
}

/// A loop that alone has more iterations than are allowed in all.
pub(crate) fn iterations(trip: u64, span: Span) -> Diagnostic {
    too_many_steps().at(span, format!("this loop alone has {}", count(trip, "iteration")))
}

/// No end in sight.
pub(crate) fn too_many_steps() -> Diagnostic {
    Diagnostic::error(codes::TOO_MANY_STEPS, "the workload takes too many iterations")
        .note(format!("the limit is {} iterations and calls in all", limits::MAX_GENERATOR_STEPS))
}

/// A region of an argument that does not lie within its tensor: a dimension, and its bounds there.
pub(crate) fn outside(
    module: &WorkloadModule,
    bindings: &Bindings,
    (kernel, arg): (KernelId, usize),
    access: &Access,
    (dim, lo, hi): (u8, i64, i64),
) -> Diagnostic {
    let tensor = &module.tensors[access.tensor.index()];
    let shape = bindings.shape(access.tensor);
    let kernel = &module.kernels[kernel.index()].name;
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

pub(crate) fn no_place(none: &NoPlace, span: Span) -> Diagnostic {
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

/// Adds where elaboration was: the indices of the loops around, outermost first, and the tasks generated before.
pub(crate) fn located<'n>(
    diagnostic: Diagnostic,
    loops: impl Iterator<Item = (&'n str, i64)>,
    ordinal: Option<u64>,
) -> Diagnostic {
    let diagnostic = match indices(loops) {
        Some(indices) => diagnostic.note(format!("at {indices}")),
        None => diagnostic,
    };
    match ordinal {
        Some(ordinal) => diagnostic.note(format!("after {}", count(ordinal, "task"))),
        None => diagnostic.note("how many tasks come before it was not counted"),
    }
}

/// `i = 1, j = 2`, for loops and their indices; none without loops.
pub(crate) fn indices<'n>(loops: impl Iterator<Item = (&'n str, i64)>) -> Option<String> {
    let written: Vec<String> = loops.map(|(name, index)| format!("{name} = {index}")).collect();
    (!written.is_empty()).then(|| written.join(", "))
}
