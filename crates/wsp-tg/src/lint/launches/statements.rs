//! The statements of the host that decide which launches it submits.

use super::super::Cx;
use super::conditions::{Condition, Forms};
use super::restores::Restores;
use std::collections::HashSet;
use std::rc::Rc;
use wsp_core::tg::{CheckpointNo, ExprOp, Instr, IterNo, Scalar, StreamNo};
use wsp_ordered::Arrange;

/// Left sides of the `&&` and `||` around what is read, and whether they are not 0 where it is.
pub(super) type Sides = Vec<(Vec<ExprOp>, bool)>;

/// A scalar that decides something.
pub(super) struct Test {
    pub(super) scalar: Scalar,
    /// What it says, where that does not depend on rounds of loops.
    pub(super) fixed: Option<Condition>,
}

/// How often a loop runs.
pub(super) enum Rounds {
    Count(Scalar),
    While(Scalar),
}

/// A statement of the host.
pub(super) enum Statement {
    Launch {
        graph: u32,
        stream: StreamNo,
        iteration: Scalar,
        at: u32,
    },
    Sync {
        graph: u32,
        at: u32,
    },
    Free {
        tensor: u32,
        at: u32,
    },
    /// Saves a checkpoint between two tasks of the graph, or after it.
    Save {
        graph: u32,
        checkpoint: CheckpointNo,
    },
    /// Waits for a graph, writes what it writes, and launches what was saved.
    Restore {
        graph: u32,
        checkpoint: CheckpointNo,
        at: u32,
        /// What the graph writes.
        tensors: Rc<[u32]>,
    },
    /// Reads memory: the host waits for launches in flight that may write it.
    Read {
        at: u32,
        /// Of each graph, whether it may.
        writers: Vec<bool>,
        sides: Sides,
    },
    If {
        test: Test,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Loop {
        rounds: Rounds,
        at: u32,
        /// Its variable, if statements in it depend on that.
        variable: Option<IterNo>,
        body: Vec<Statement>,
    },
    Break(Test),
}

/// Reads them.
pub(super) struct Reader<'f, 'c, 'm> {
    cx: &'c Cx<'m>,
    at: u32,
    forms: &'f mut Forms,
    pub(super) restores: Restores,
    /// Variables of loops that statements so far depend on.
    variables: HashSet<IterNo>,
}

impl<'f, 'c, 'm> Reader<'f, 'c, 'm> {
    pub(super) fn new(cx: &'c Cx<'m>, forms: &'f mut Forms) -> Reader<'f, 'c, 'm> {
        Reader { cx, at: 0, forms, restores: Restores::new(cx), variables: HashSet::new() }
    }

    /// The statements of the host. Where they launch nothing, a run launches each graph once: those that are written, then those that are fused.
    pub(super) fn host(&mut self) -> Vec<Statement> {
        let mut statements = self.block();
        if !launches_something(self.cx) {
            let graphs = &self.cx.outline.graphs;
            let mut order: Vec<u32> = (0..graphs.len() as u32).collect();
            order.arrange_by_key(|graph| graphs[*graph as usize].parts.is_some());
            statements.extend(order.into_iter().map(|graph| {
                let (stream, iteration, at) = (StreamNo(0), Scalar::Const(0), graphs[graph as usize].at);
                Statement::Launch { graph, stream, iteration, at }
            }));
        }
        statements
    }

    /// Statements from the instruction at hand on, up to the end of their block.
    fn block(&mut self) -> Vec<Statement> {
        let cx = self.cx;
        let mut statements = Vec::new();
        while let Some(instr) = cx.module.instrs.get(self.at as usize) {
            let at = self.at;
            self.at += 1;
            match *instr {
                Instr::TgBegin { graph_id } => {
                    if let Some(graph) = cx.outline.graph(graph_id) {
                        self.at = cx.outline.graphs[graph as usize].end + 1;
                    }
                }
                Instr::TgLaunch { graph_id, stream, .. } => {
                    let (graph, iteration) = (cx.outline.graph(graph_id), Scalar::Const(0));
                    statements.extend(graph.map(|graph| Statement::Launch { graph, stream, iteration, at }));
                }
                Instr::TgInvoke { graph_id, iteration } => {
                    self.reads(at, iteration, &mut statements);
                    let (graph, stream) = (cx.outline.graph(graph_id), StreamNo(0));
                    statements.extend(graph.map(|graph| Statement::Launch { graph, stream, iteration, at }));
                }
                Instr::TgSync { graph_id } => {
                    statements.extend(cx.outline.graph(graph_id).map(|graph| Statement::Sync { graph, at }));
                }
                Instr::McFree { tensor_id } => {
                    let tensor = cx.outline.tensor_index(tensor_id);
                    statements.extend(tensor.map(|tensor| Statement::Free { tensor, at }));
                }
                Instr::TgCheckpoint { graph_id, checkpoint_id: checkpoint } => {
                    let graph = cx.outline.graph(graph_id);
                    statements.extend(graph.map(|graph| Statement::Save { graph, checkpoint }));
                }
                Instr::TgRestore { graph_id, checkpoint_id: checkpoint } => {
                    statements.extend(cx.outline.graph(graph_id).map(|graph| {
                        let tensors = self.restores.written(graph);
                        Statement::Restore { graph, checkpoint, at, tensors }
                    }));
                }
                Instr::CfIf { .. } | Instr::CfLoop { .. } | Instr::CfWhile { .. } => {
                    self.control(at, *instr, &mut statements);
                }
                Instr::CfBreak { condition } => {
                    self.reads(at, condition, &mut statements);
                    statements.push(Statement::Break(self.test(condition)));
                }
                Instr::CfElse {} | Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {} => break,
                _ => {}
            }
        }
        statements
    }

    /// A statement with blocks in it; none if they are empty.
    fn control(&mut self, at: u32, instr: Instr, statements: &mut Vec<Statement>) {
        match instr {
            Instr::CfIf { condition } => {
                self.reads(at, condition, statements);
                let then = self.block();
                let ended = self.cx.module.instrs.get(self.at as usize - 1);
                let has_else = matches!(ended, Some(Instr::CfElse {}));
                let otherwise = if has_else { self.block() } else { Vec::new() };
                if !then.is_empty() || !otherwise.is_empty() {
                    let test = self.test(condition);
                    statements.push(Statement::If { test, then, otherwise });
                }
            }
            Instr::CfLoop { count, iterator, .. } => {
                self.reads(at, count, statements);
                let body = self.block();
                if !body.is_empty() {
                    let variable = self.variables.contains(&iterator).then_some(iterator);
                    statements.push(Statement::Loop { rounds: Rounds::Count(count), at, variable, body });
                }
            }
            Instr::CfWhile { condition, .. } => {
                self.reads(at, condition, statements);
                let mut body = self.block();
                self.reads(at, condition, &mut body);
                if !body.is_empty() {
                    let rounds = Rounds::While(condition);
                    statements.push(Statement::Loop { rounds, at, variable: None, body });
                }
            }
            _ => {}
        }
    }

    fn reads(&mut self, at: u32, scalar: Scalar, statements: &mut Vec<Statement>) {
        let cx = self.cx;
        let mut reads: Vec<(Vec<u32>, Sides)> = Vec::new();
        for (at, op) in cx.module.scalar(scalar).iter().enumerate() {
            let ExprOp::Load(tensor, _) = *op else { continue };
            let Some(tensor) = cx.outline.tensor_index(tensor) else { continue };
            let sides = sides(cx.known.scalar(scalar), at);
            match reads.iter_mut().find(|(_, of)| *of == sides) {
                Some((tensors, _)) => tensors.push(tensor),
                None => reads.push((vec![tensor], sides)),
            }
        }
        for (loaded, sides) in reads {
            let graphs = 0..cx.outline.graphs.len() as u32;
            let writes = |graph: u32| {
                let written = self.restores.written(graph);
                loaded.iter().any(|tensor| written.binary_search(tensor).is_ok())
            };
            statements.push(Statement::Read { at, writers: graphs.map(writes).collect(), sides });
        }
        self.variables.extend(cx.module.scalar(scalar).iter().filter_map(|op| match op {
            ExprOp::Iter(variable) => Some(*variable),
            _ => None,
        }));
    }

    fn test(&mut self, scalar: Scalar) -> Test {
        let moves = self.cx.module.scalar(scalar).iter().any(|op| matches!(op, ExprOp::Iter(_)));
        let fixed = (!moves).then(|| self.forms.condition(self.cx, scalar, &|_| None));
        Test { scalar, fixed }
    }
}

/// Left sides of the `&&` and `||` around an operation of an expression, and whether they are not 0 where it is done.
fn sides(ops: &[ExprOp], of: usize) -> Sides {
    // Where the operations of each value begin.
    let (mut begins, mut sides) = (Vec::new(), Vec::new());
    for (at, op) in ops.iter().enumerate().take(of) {
        match *op {
            ExprOp::SkipZero(past) | ExprOp::SkipNonZero(past) => {
                if let Some(&begin) = begins.last().filter(|_| of - at <= past as usize) {
                    sides.push((ops[begin..at].to_vec(), matches!(op, ExprOp::SkipZero(_))));
                }
            }
            op => {
                let rest = begins.len().saturating_sub(op.operands());
                let begin = begins.get(rest).copied().unwrap_or(at);
                begins.truncate(rest);
                begins.push(begin);
            }
        }
    }
    sides
}

/// Whether the host launches a graph anywhere.
pub(super) fn launches_something(cx: &Cx<'_>) -> bool {
    cx.module.instrs.iter().any(|instr| {
        matches!(instr, Instr::TgLaunch { .. } | Instr::TgInvoke { .. } | Instr::TgRestore { .. })
    })
}
