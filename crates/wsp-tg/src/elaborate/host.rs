//! The statements of the host as a list with jumps.

use super::Faults;
use super::scalars::{IterValue, Pool, ScalarFault, Surroundings};
use super::unit::Unit;
use crate::plan::{HostKind, HostOp};
use std::collections::HashMap;
use wsp_core::tg::{ExprOp, GraphNo, Instr, Scalar, TensorNo};

/// The statements of the host.
pub(super) struct Host {
    pub(super) ops: Vec<HostOp>,
    pub(super) loops: u32,
    pub(super) exprs: Vec<ExprOp>,
}

/// A block that is open.
enum Open {
    /// The test of a `CF_IF`, or the jump before its `CF_ELSE`.
    If(usize),
    Count {
        begin: usize,
        slot: u32,
        breaks: Vec<usize>,
    },
    While {
        begin: usize,
        slot: u32,
        breaks: Vec<usize>,
    },
}

struct Writer<'w, 'm> {
    unit: &'w Unit<'m>,
    graphs: &'w HashMap<GraphNo, u32>,
    faults: &'w mut Faults,
    pool: Pool,
    around: Surroundings,
    ops: Vec<HostOp>,
    open: Vec<Open>,
    loops: u32,
    at: usize,
}

/// Reads the statements between graphs. `graphs` has the place of each graph in the plan.
pub(super) fn read(unit: &Unit<'_>, graphs: &HashMap<GraphNo, u32>, faults: &mut Faults) -> Host {
    let around = Surroundings { graph: GraphNo(u32::MAX), ..Surroundings::default() };
    let mut writer = Writer {
        unit,
        graphs,
        faults,
        pool: Pool::default(),
        around,
        ops: Vec::new(),
        open: Vec::new(),
        loops: 0,
        at: 0,
    };
    for at in 0..unit.module.instrs.len() {
        if unit.graph_at(at).is_none() {
            writer.at = at;
            writer.statement(unit.module.instrs[at]);
        }
    }
    if !writer.open.is_empty() {
        writer.fault("is followed by the end of the unit, where a block is open");
    }
    Host { ops: writer.ops, loops: writer.loops, exprs: writer.pool.ops }
}

impl Writer<'_, '_> {
    fn fault(&mut self, what: &str) {
        self.faults.unverified(self.unit.module, self.at, what);
    }

    fn push(&mut self, kind: HostKind) -> usize {
        self.ops.push(HostOp { instr: self.at as u32, kind });
        self.ops.len() - 1
    }

    fn graph(&mut self, no: GraphNo) -> u32 {
        self.graphs.get(&no).copied().unwrap_or_else(|| {
            self.fault("names a graph that the unit does not define");
            0
        })
    }

    fn tensor(&mut self, no: TensorNo) -> u32 {
        self.unit.tensor(GraphNo(u32::MAX), no).unwrap_or_else(|| {
            self.fault("names a tensor that the unit does not allocate");
            0
        })
    }

    fn scalar(&mut self, scalar: Scalar) -> Scalar {
        match self.pool.scalar(self.unit, &self.around, scalar) {
            Ok(scalar) => scalar,
            Err(ScalarFault::Unknown(op)) => {
                self.fault(&format!("has an operand that has no value there: {op:?}"));
                Scalar::Const(0)
            }
            Err(ScalarFault::Value(fault, _)) => {
                self.faults.value(self.unit.module, self.at, fault);
                Scalar::Const(0)
            }
        }
    }

    fn statement(&mut self, instr: Instr) {
        match instr {
            Instr::McAlloc { tensor_id, .. } => {
                let tensor = self.tensor(tensor_id);
                self.push(HostKind::Alloc(tensor));
            }
            Instr::McFree { tensor_id } => {
                let tensor = self.tensor(tensor_id);
                self.push(HostKind::Free(tensor));
            }
            Instr::TgLaunch { graph_id, stream, partition } => {
                let graph = self.graph(graph_id);
                self.push(HostKind::Launch { graph, stream, partition });
            }
            Instr::TgSync { graph_id } => {
                let graph = self.graph(graph_id);
                self.push(HostKind::Sync(graph));
            }
            Instr::TgInvoke { graph_id, iteration } => {
                let (graph, iteration) = (self.graph(graph_id), self.scalar(iteration));
                self.push(HostKind::Invoke { graph, iteration });
            }
            Instr::TgSetPriority { graph_id, priority } => {
                let graph = self.graph(graph_id);
                self.push(HostKind::SetPriority { graph, priority });
            }
            Instr::TgCheckpoint { graph_id, checkpoint_id: checkpoint } => {
                let graph = self.graph(graph_id);
                self.push(HostKind::Checkpoint { graph, checkpoint });
            }
            Instr::TgRestore { graph_id, checkpoint_id: checkpoint } => {
                let graph = self.graph(graph_id);
                self.push(HostKind::Restore { graph, checkpoint });
            }
            Instr::CfIf { .. }
            | Instr::CfElse {}
            | Instr::CfEndif {}
            | Instr::CfLoop { .. }
            | Instr::CfEndloop {}
            | Instr::CfBreak { .. }
            | Instr::CfWhile { .. }
            | Instr::CfEndwhile {} => self.control(instr),
            // Graphs are read elsewhere, fused graphs and partitions found for the whole unit.
            Instr::TgBegin { .. }
            | Instr::TgEnd { .. }
            | Instr::TgFuse { .. }
            | Instr::CaPartition { .. } => {}
            _ => self.fault("does not belong outside of graphs"),
        }
    }

    fn control(&mut self, instr: Instr) {
        match instr {
            Instr::CfIf { condition } => {
                let condition = self.scalar(condition);
                let test = self.push(HostKind::Unless { condition, target: 0 });
                self.open.push(Open::If(test));
            }
            Instr::CfElse {} => match self.open.pop() {
                Some(Open::If(test)) => {
                    let jump = self.push(HostKind::Jump(0));
                    self.land(test);
                    self.open.push(Open::If(jump));
                }
                _ => self.fault("belongs to no CF_IF"),
            },
            Instr::CfEndif {} => match self.open.pop() {
                Some(Open::If(test)) => self.land(test),
                _ => self.fault("ends no CF_IF"),
            },
            Instr::CfLoop { count, iterator, .. } => {
                let (count, slot) = (self.scalar(count), self.loops);
                self.loops += 1;
                let begin = self.push(HostKind::LoopBegin { slot, count, target: 0 });
                self.around.iters.push((iterator, IterValue::Loop(slot)));
                self.open.push(Open::Count { begin, slot, breaks: Vec::new() });
            }
            Instr::CfEndloop {} => match self.open.pop() {
                Some(Open::Count { begin, slot, breaks }) => {
                    self.around.iters.pop();
                    self.push(HostKind::LoopEnd { slot, target: begin as u32 + 1 });
                    breaks.into_iter().chain([begin]).for_each(|at| self.land(at));
                }
                _ => self.fault("ends no CF_LOOP"),
            },
            Instr::CfWhile { condition, max_iterations: most } => {
                let (condition, slot) = (self.scalar(condition), self.loops);
                self.loops += 1;
                self.push(HostKind::WhileBegin { slot });
                let begin = self.push(HostKind::WhileTest { slot, condition, most, target: 0 });
                self.open.push(Open::While { begin, slot, breaks: Vec::new() });
            }
            Instr::CfEndwhile {} => match self.open.pop() {
                Some(Open::While { begin, slot, breaks }) => {
                    self.push(HostKind::WhileEnd { slot, target: begin as u32 });
                    breaks.into_iter().chain([begin]).for_each(|at| self.land(at));
                }
                _ => self.fault("ends no CF_WHILE"),
            },
            Instr::CfBreak { condition } => {
                let condition = self.scalar(condition);
                let at = self.push(HostKind::Break { condition, target: 0 });
                let innermost = self.open.iter_mut().rev().find_map(|open| match open {
                    Open::Count { breaks, .. } | Open::While { breaks, .. } => Some(breaks),
                    Open::If(_) => None,
                });
                match innermost {
                    Some(breaks) => breaks.push(at),
                    None => self.fault("leaves no loop"),
                }
            }
            _ => {}
        }
    }

    /// Makes a statement go on behind the last.
    fn land(&mut self, at: usize) {
        let end = self.ops.len() as u32;
        match &mut self.ops[at].kind {
            HostKind::Unless { target, .. }
            | HostKind::Jump(target)
            | HostKind::LoopBegin { target, .. }
            | HostKind::WhileTest { target, .. }
            | HostKind::Break { target, .. } => *target = end,
            _ => {}
        }
    }
}
