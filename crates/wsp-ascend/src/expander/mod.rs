//! Expanders: a program as C++ that generates the tasks of one AICPU.
//!
//! [`emit_expander`] prints a [`Verified`] program as one C++17 translation unit: its bodies become nested loops, its
//! expressions C++ expressions, its names identifiers. What the unit includes comes with it. The code holds no extent and no
//! address: it is given a launch and a dispatch configuration, and hands tasks over one by one. It uses no containers, no
//! exceptions, no recursion and no memory but its stack; arithmetic is checked, and whatever a launch says, it ends with all
//! tasks or with a fault.
//!
//! The tasks are those of [`wsp_core::ptow`]'s interpreter, in the same order. They are found in another way: ownership is
//! worked out where a loop is entered, by code that is made for this loop. Which iterations hold tasks of this AICPU follows
//!
//! * of rules that look at ordinals, from the number of tasks of an iteration: the loop goes from one own task to the next;
//! * of rules that look at the loop's variable or at a key that grows evenly with it, from a congruence: the loop goes in
//!   steps;
//! * of other rules, from a test in each iteration, where its tasks can be counted.
//!
//! A body whose tasks cannot be counted (it reads slots, sets labels, has a filter of its own, or processes) is walked. A single AICPU
//! walks everything, and meets every fault. Several together meet the first fault that a task, or a bound or condition
//! around a task, has; what holds nobody's task may be left out unseen.
//!
//! The metric of a threshold in the configuration is an expression of the program that names an axis; other metrics are
//! refused.

mod body;
mod count;
mod emitter;
mod expr;
mod filter;
mod names;
mod process;
mod summary;
mod task;
mod tree;
mod unit;

use crate::Headers;
use std::fmt;
use wsp_core::ptow::{Op, Verified};

/// Most labels of a program: their tasks are kept on the expander's stack.
pub const MAX_LABELS: u16 = 4096;

/// How an expander is named.
#[derive(Clone, Copy, Debug)]
pub struct ExpanderNames<'n> {
    /// The function that is called, with C linkage.
    pub entry: &'n str,
    /// The namespace of everything else, inside `pto::wsp::backend::npu`.
    pub namespace: &'n str,
}

impl Default for ExpanderNames<'_> {
    fn default() -> Self {
        ExpanderNames { entry: "wsp_expand", namespace: "program" }
    }
}

/// An expander.
#[derive(Clone, Debug)]
pub struct ExpanderSource {
    /// The translation unit.
    pub translation_unit: String,
    /// What it includes. The same for every program.
    pub headers: Headers,
}

/// The headers of every expander.
pub const HEADERS: Headers = Headers(&[
    "wsp_ptow.h",
    "pto/wsp/backend/npu/on_device_gen.hpp",
    "pto/wsp/backend/npu/expander_int.hpp",
    "pto/wsp/backend/npu/expander_state.hpp",
    "pto/wsp/backend/npu/expander_support.hpp",
    "pto/wsp/backend/npu/expander_turns.hpp",
    "pto/wsp/version.hpp",
    "pto/rt/version.hpp",
    "pto/rt/backend/npu/on_device_gen.hpp",
    "pto/rt/backend/npu/expander_int.hpp",
    "pto/rt/backend/npu/expander_state.hpp",
    "pto/rt/backend/npu/expander_support.hpp",
    "pto/rt/backend/npu/expander_turns.hpp",
]);

/// Why a program has no expander.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmitError {
    /// An instruction that expanders do not run.
    Unsupported {
        /// The instruction.
        op: Op,
        /// Where it stands.
        word: u32,
    },
    /// More labels than [`MAX_LABELS`].
    Labels {
        /// How many.
        count: u16,
    },
    /// The entry or the namespace is no identifier, or the namespace is that of the headers.
    Name,
    /// A word that a verified program does not have there.
    Malformed {
        /// Where it stands.
        word: u32,
    },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmitError::Unsupported { op, word } => write!(
                f,
                "word {word}: an expander does not run {}; expand the program on the host",
                op.info().mnemonic
            ),
            EmitError::Labels { count } => {
                write!(f, "the program has {count} labels; an expander keeps at most {MAX_LABELS}")
            }
            EmitError::Name => f.write_str(
                "the entry and the namespace of an expander are identifiers: a letter, then letters, digits and single \
                 underscores; the namespace is not `expander`",
            ),
            EmitError::Malformed { word } => write!(f, "word {word}: the program is not well-formed there"),
        }
    }
}

impl std::error::Error for EmitError {}

/// Emits the expander of a program.
///
/// # Errors
/// As [`EmitError`] tells.
pub fn emit_expander(program: &Verified<'_>, names: ExpanderNames<'_>) -> Result<ExpanderSource, EmitError> {
    // The support headers have a namespace of this name.
    let taken = names.namespace == "expander";
    if taken || !names::is_identifier(names.entry) || !names::is_identifier(names.namespace) {
        return Err(EmitError::Name);
    }
    let program = program.program();
    if program.counts.labels > MAX_LABELS {
        return Err(EmitError::Labels { count: program.counts.labels });
    }
    let body = tree::Reader::new(program).read()?;
    Ok(ExpanderSource { translation_unit: unit::unit(program, &body, names), headers: HEADERS })
}
