//! Ways through the statements of the host: which launches a host submits, as its conditions go.
//!
//! A condition or a count that is not known goes both ways: a loop runs no round or [`ROUNDS`]. An expression of values that stay as they are
//! for the whole unit goes the same way wherever it stands.

use super::super::Cx;
use super::Steps;
use std::collections::HashMap;
use wsp_core::tg::{ConstEnv, ExprOp, Instr, Scalar, StreamNo, eval};
use wsp_ir::tg::ArgSource;

/// Ways that are followed one after the other. If there are more, as many are drawn of all, so that each decision goes both ways.
const MOST_WAYS: u64 = 64;
/// Rounds that a loop is taken to have at most.
const ROUNDS: i64 = 3;
/// Steps along one way.
const STEPS_OF_WAY: usize = 1 << 22;
/// What a launch costs of them: no way has more than 4096.
const STEPS_OF_LAUNCH: usize = 1 << 10;

/// How a condition or a count goes.
#[derive(Clone, Copy)]
enum Value {
    Known(i64),
    /// Not known, and the same for all with this number.
    Fixed(u32),
    /// Not known, each time anew.
    Open,
}

/// A statement of the host.
enum Statement {
    Launch {
        graph: u32,
        stream: StreamNo,
        at: u32,
    },
    Sync(u32),
    Free {
        tensor: u32,
        at: u32,
    },
    /// Reads memory: the host waits for everything in flight.
    Read,
    If {
        value: Value,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Loop {
        count: Value,
        at: u32,
        body: Vec<Statement>,
    },
    Break(Value),
}

/// A launch on a way.
#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub(super) graph: u32,
    /// The instruction.
    pub(super) at: u32,
    /// The launch before it on its stream.
    pub(super) before: Option<usize>,
    /// How many waits of the host come before it.
    pub(super) waits: usize,
    /// The wait of the host that it is over behind.
    pub(super) over: Option<usize>,
    /// The last loop before it that is taken to run no round.
    pub(super) skipped: Option<u32>,
}

/// A release by the host.
pub(super) struct Free {
    pub(super) tensor: u32,
    pub(super) at: u32,
    /// How many launches and waits of the host come before it.
    launches: usize,
    waits: usize,
}

/// What stands on one way.
#[derive(Default)]
pub(super) struct Way {
    pub(super) launches: Vec<Launch>,
    pub(super) frees: Vec<Free>,
    /// Waits of the host.
    pub(super) waits: usize,
    /// The last launch on each stream.
    last: HashMap<StreamNo, usize>,
    skipped: Option<u32>,
}

impl Way {
    /// Launches that may be in flight at a release.
    pub(super) fn flying(&self, free: &Free) -> impl Iterator<Item = &Launch> {
        let waits = free.waits;
        self.launches[..free.launches].iter().filter(move |launch| launch.over.is_none_or(|at| at >= waits))
    }

    fn wait(&mut self, is_waited_for: impl Fn(&Launch) -> bool) {
        let wait = self.waits;
        let flying = self.launches.iter_mut().filter(|launch| launch.over.is_none() && is_waited_for(launch));
        flying.for_each(|launch| launch.over = Some(wait));
        self.waits += 1;
    }
}

/// Decisions on a way, and those that are still to be made the other way.
#[derive(Default)]
struct Choices {
    taken: Vec<bool>,
    next: usize,
    /// Where decisions are drawn, the last number drawn.
    drawn: Option<u64>,
    /// How expressions go that go the same way everywhere.
    fixed: HashMap<u32, bool>,
}

impl Choices {
    fn choose(&mut self, value: Value, known: impl Fn(i64) -> bool) -> bool {
        match value {
            Value::Known(value) => known(value),
            Value::Open => self.take(),
            Value::Fixed(number) => match self.fixed.get(&number) {
                Some(&taken) => taken,
                None => {
                    let taken = self.take();
                    self.fixed.insert(number, taken);
                    taken
                }
            },
        }
    }

    fn take(&mut self) -> bool {
        if let Some(number) = &mut self.drawn {
            *number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            return *number >> 63 == 1;
        }
        if self.next == self.taken.len() {
            self.taken.push(false);
        }
        self.next += 1;
        self.taken[self.next - 1]
    }

    /// Goes to the next way; `false` if there is none.
    fn advance(&mut self) -> bool {
        self.next = 0;
        self.fixed.clear();
        while let Some(last) = self.taken.pop() {
            if !last {
                self.taken.push(true);
                return true;
            }
        }
        false
    }
}

/// Calls `found` with every way until it says `false`. `false` if there are too many ways, or one is too long and ends early.
pub(super) fn ways(cx: &Cx<'_>, mut found: impl FnMut(&Way) -> bool) -> bool {
    let mut reader = Reader { cx, at: 0, numbers: HashMap::new() };
    let statements = reader.block();
    let (mut choices, mut is_whole) = (Choices::default(), true);
    for number in 0..2 * MOST_WAYS {
        if number >= MOST_WAYS {
            choices =
                Choices { drawn: Some(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)), ..Choices::default() };
        }
        let (mut way, mut steps) = (Way::default(), Steps::new(STEPS_OF_WAY));
        Follower { way: &mut way, choices: &mut choices, steps: &mut steps }.follow(&statements);
        is_whole &= !steps.are_over();
        if !found(&way) || (number < MOST_WAYS && !choices.advance()) {
            return is_whole;
        }
    }
    false
}

struct Reader<'c, 'm> {
    cx: &'c Cx<'m>,
    at: u32,
    /// Numbers of conditions and counts, which are apart, by their expressions.
    numbers: HashMap<(bool, Vec<ExprOp>), u32>,
}

impl Reader<'_, '_> {
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
                    let graph = cx.outline.graph(graph_id);
                    statements.extend(graph.map(|graph| Statement::Launch { graph, stream, at }));
                }
                Instr::TgInvoke { graph_id, iteration } => {
                    self.reads(iteration, &mut statements);
                    let (graph, stream) = (cx.outline.graph(graph_id), StreamNo(0));
                    statements.extend(graph.map(|graph| Statement::Launch { graph, stream, at }));
                }
                Instr::TgSync { graph_id } => {
                    statements.extend(cx.outline.graph(graph_id).map(Statement::Sync));
                }
                Instr::McFree { tensor_id } => {
                    let tensor = cx.outline.tensor_index(tensor_id);
                    statements.extend(tensor.map(|tensor| Statement::Free { tensor, at }));
                }
                Instr::CfIf { .. } | Instr::CfLoop { .. } | Instr::CfWhile { .. } => {
                    self.control(at, *instr, &mut statements);
                }
                Instr::CfBreak { condition } => {
                    self.reads(condition, &mut statements);
                    statements.push(Statement::Break(self.value(condition, false)));
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
                self.reads(condition, statements);
                let then = self.block();
                let ended = self.cx.module.instrs.get(self.at as usize - 1);
                let has_else = matches!(ended, Some(Instr::CfElse {}));
                let otherwise = if has_else { self.block() } else { Vec::new() };
                if !then.is_empty() || !otherwise.is_empty() {
                    let value = self.value(condition, false);
                    statements.push(Statement::If { value, then, otherwise });
                }
            }
            Instr::CfLoop { count, .. } => {
                self.reads(count, statements);
                let body = self.block();
                if !body.is_empty() {
                    let count = self.value(count, true);
                    statements.push(Statement::Loop { count, at, body });
                }
            }
            Instr::CfWhile { condition, .. } => {
                self.reads(condition, statements);
                let mut body = self.block();
                self.reads(condition, &mut body);
                if !body.is_empty() {
                    let count = match self.value(condition, false) {
                        Value::Known(0) => Value::Known(0),
                        Value::Known(_) => Value::Known(ROUNDS),
                        _ => Value::Open,
                    };
                    statements.push(Statement::Loop { count, at, body });
                }
            }
            _ => {}
        }
    }

    fn reads(&self, scalar: Scalar, statements: &mut Vec<Statement>) {
        if self.cx.module.scalar(scalar).iter().any(|op| matches!(op, ExprOp::Load(..))) {
            statements.push(Statement::Read);
        }
    }

    fn value(&mut self, scalar: Scalar, is_count: bool) -> Value {
        let ops = self.cx.known.scalar(scalar);
        if let Some(value) = scalar.as_const().or_else(|| eval(ops, &ConstEnv).ok()) {
            return Value::Known(value);
        }
        let stays = |op: &ExprOp| match *op {
            ExprOp::Arg(arg) => {
                self.cx.module.args.get(arg as usize).is_some_and(|arg| arg.source == ArgSource::Launch)
            }
            ExprOp::Load(..) | ExprOp::Iter(_) | ExprOp::Iteration => false,
            _ => true,
        };
        if !ops.iter().all(stays) {
            return Value::Open;
        }
        let number = self.numbers.len() as u32;
        Value::Fixed(*self.numbers.entry((is_count, ops.to_vec())).or_insert(number))
    }
}

struct Follower<'f> {
    way: &'f mut Way,
    choices: &'f mut Choices,
    steps: &'f mut Steps,
}

impl Follower<'_> {
    /// Follows statements; `false` if a break leaves the loop around them, or no steps are left.
    fn follow(&mut self, statements: &[Statement]) -> bool {
        statements.iter().all(|statement| self.step(statement))
    }

    fn step(&mut self, statement: &Statement) -> bool {
        if !self.steps.spend(1) {
            return false;
        }
        match statement {
            Statement::Launch { graph, stream, at } => self.launch(*graph, *stream, *at),
            Statement::Sync(graph) => self.wait(|launch| launch.graph == *graph),
            Statement::Read => self.wait(|_| true),
            Statement::Free { tensor, at } => {
                let (launches, waits) = (self.way.launches.len(), self.way.waits);
                self.way.frees.push(Free { tensor: *tensor, at: *at, launches, waits });
            }
            Statement::If { value, then, otherwise } => {
                let is_taken = self.choices.choose(*value, |value| value != 0);
                return self.follow(if is_taken { then } else { otherwise });
            }
            Statement::Loop { count, at, body } => return self.rounds(*count, *at, body),
            Statement::Break(value) => return !self.choices.choose(*value, |value| value != 0),
        }
        true
    }

    fn launch(&mut self, graph: u32, stream: StreamNo, at: u32) {
        if !self.steps.spend(STEPS_OF_LAUNCH) {
            return;
        }
        let way = &mut *self.way;
        let before = way.last.insert(stream, way.launches.len());
        let (waits, skipped) = (way.waits, way.skipped);
        way.launches.push(Launch { graph, at, before, waits, over: None, skipped });
    }

    fn wait(&mut self, is_waited_for: impl Fn(&Launch) -> bool) {
        self.steps.spend(self.way.launches.len());
        self.way.wait(is_waited_for);
    }

    /// A loop goes on behind a break in it, and ends where no steps are left.
    fn rounds(&mut self, count: Value, at: u32, body: &[Statement]) -> bool {
        let rounds = match count {
            Value::Known(count) => count.clamp(0, ROUNDS),
            _ if self.choices.choose(count, |_| false) => 0,
            _ => ROUNDS,
        };
        if rounds == 0 && !matches!(count, Value::Known(_)) {
            self.way.skipped = Some(at);
        }
        let _ = (0..rounds).all(|_| self.follow(body));
        !self.steps.are_over()
    }
}
