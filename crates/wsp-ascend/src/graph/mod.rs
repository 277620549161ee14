//! Graphs: a planned task graph as C++ that runs it on an AICPU.
//!
//! [`emit_graph`] prints a graph of a [`UnitPlan`] as one C++17 translation unit: the image for the machine of `wsp_tg.h`, which is
//! the machine that `cpu_sim` runs, tables that say what its nodes are, and functions for arguments, conditions and fences. The
//! class `RuntimeExtensionInterpreter` of the header that comes with it runs them on a `Device`.
//!
//! Fences stand before the nodes that need them: `DATA` edges imply one, `AFTER` edges none (document 000, section 9.3), explicit
//! fences upgrade the `AFTER` edges that cross them. On A2, which has no fence for the L2 cache alone, that is one for
//! global memory, with a note.

mod expr;
mod fences;
mod unit;

use crate::Headers;
use std::fmt;
use wsp_core::tg::{FenceScope, Platform, Support};
use wsp_ir::tg::TgModule;
use wsp_tg::{GraphPlan, UnitPlan};

/// Most arguments of a kernel, most loops of a graph, most members of a gang: what the header has room for.
pub const MOST: [(&str, usize); 3] =
    [("arguments of a kernel", 64), ("loops", 256), ("members of a gang", 256)];

/// What an emitted graph includes.
pub const HEADERS: Headers =
    Headers(&["pto/wsp/backend/npu/task_graph.hpp", "pto/wsp/version.hpp", "wsp_tg.h"]);

/// A graph as C++.
#[derive(Clone, Debug)]
pub struct GraphSource {
    /// The translation unit. It defines `const Graph GRAPH` in [`GraphSource::namespace`].
    pub translation_unit: String,
    /// The namespace, within `pto::wsp::backend::npu`.
    pub namespace: String,
    /// What it includes.
    pub headers: Headers,
    /// What the target does not do as written, a sentence each.
    pub notes: Vec<String>,
}

/// Why there is no C++ for a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GraphEmitError {
    /// The plan has no such graph.
    NoGraph {
        /// Its place.
        graph: usize,
        /// How many there are.
        graphs: usize,
    },
    /// C++ is emitted for devices.
    NoDevice,
    /// The target does not have an instruction of the unit.
    Unsupported {
        /// Its name.
        mnemonic: &'static str,
        /// Where it stands.
        instr: usize,
        /// The target.
        target: Platform,
    },
    /// More than the header has room for.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// The most.
        most: usize,
    },
    /// The plan was made without flows, from which fences follow.
    NoFlows,
    /// An expression that is not well-formed, of a plan that was not made by elaboration.
    Malformed,
}

impl fmt::Display for GraphEmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphEmitError::NoGraph { graph, graphs } => {
                write!(f, "there is no graph {graph}, the unit has {graphs}")
            }
            GraphEmitError::NoDevice => {
                f.write_str("C++ is emitted for devices; the simulation on a CPU runs the unit itself")
            }
            GraphEmitError::Unsupported { mnemonic, instr, target } => write!(
                f,
                "instruction {instr}: {target:?} does not have {mnemonic}; `wsp targets --matrix` shows which target has"
            ),
            GraphEmitError::TooMany { what, count, most } => {
                write!(f, "the graph has {count} {what}, emitted code has room for {most}; split it")
            }
            GraphEmitError::NoFlows => {
                f.write_str("the plan does not say which fences it needs; elaborate with `flows: true`")
            }
            GraphEmitError::Malformed => f.write_str("an expression of the plan is not well-formed"),
        }
    }
}

impl std::error::Error for GraphEmitError {}

/// Emits a graph of a planned unit.
///
/// # Errors
/// As [`GraphEmitError`] tells.
pub fn emit_graph(
    module: &TgModule,
    plan: &UnitPlan,
    graph: usize,
    target: Platform,
) -> Result<GraphSource, GraphEmitError> {
    let graphs = plan.graphs.len();
    let source = plan.graphs.get(graph).ok_or(GraphEmitError::NoGraph { graph, graphs })?;
    supported(module, target)?;
    within_limits(source)?;
    let flows = source.flows.as_deref().ok_or(GraphEmitError::NoFlows)?;
    let mut fences = fences::fences(module, source, flows);
    let notes = lower_fences(&mut fences, target);
    let namespace = format!("graph_{}_{}", source.no.0, identifier(&source.name));
    let translation_unit = unit::unit(plan, source, &fences, &namespace, target)?;
    Ok(GraphSource { translation_unit, namespace, headers: HEADERS, notes })
}

/// Refuses a unit with instructions that the target does not have.
///
/// # Errors
/// The first of them.
pub(crate) fn supported(module: &TgModule, target: Platform) -> Result<(), GraphEmitError> {
    if target == Platform::Cpu {
        return Err(GraphEmitError::NoDevice);
    }
    for (at, instr) in module.instrs.iter().enumerate() {
        let info = instr.op().info();
        if info.support[target as usize] == Support::No {
            return Err(GraphEmitError::Unsupported { mnemonic: info.mnemonic, instr: at, target });
        }
    }
    Ok(())
}

fn within_limits(graph: &GraphPlan) -> Result<(), GraphEmitError> {
    let arguments = graph.kernels.iter().map(|kernel| kernel.binds as usize).max().unwrap_or(0);
    let members = graph.records.gangs.iter().map(|gang| gang.len as usize).max().unwrap_or(0);
    for ((what, most), count) in MOST.into_iter().zip([arguments, graph.records.loops.len(), members]) {
        if count > most {
            return Err(GraphEmitError::TooMany { what, count, most });
        }
    }
    Ok(())
}

/// Replaces fences that the target does not have by stronger ones.
fn lower_fences(fences: &mut [Option<fences::Fence>], target: Platform) -> Vec<String> {
    if target != Platform::A2 {
        return Vec::new();
    }
    let mut lowered = 0;
    for fence in fences.iter_mut().flatten().filter(|fence| fence.scope == FenceScope::L2) {
        fence.scope = FenceScope::Gm;
        lowered += 1;
    }
    match lowered {
        0 => Vec::new(),
        _ => vec![format!(
            "MC_FENCE(L2) is MC_FENCE(GM) on A2, which has no fence for the L2 cache alone: {lowered} of them"
        )],
    }
}

/// A name with nothing in it but letters, digits and single underscores.
fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c != '_' || !text.ends_with('_') {
            text.push(c);
        }
    }
    text.trim_matches('_').to_owned()
}
