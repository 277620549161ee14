//! What is known at emission of the integers of a kernel: how those of different tasks differ, and what rounds of loops add.

use std::collections::BTreeMap;
use wsp_core::{LocalId, StructId};
use wsp_ir::{AxisEnd, BinOp, Block, Expr, ExprKind, FuncKind, Function, StmtKind, UnOp, Verified, walk};
use wsp_tile::{Known, fold};

/// An integer: a part that one task has in all of its rounds, and a part that rounds add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    /// The part of the task is `rest` and a multiple of this; 0 where it is one number.
    pub(super) modulus: i128,
    pub(super) rest: i128,
    /// Whether tasks may have different ones.
    pub(super) varies: bool,
    /// Rounds add multiples of this; 0 where they add nothing.
    pub(super) step: i128,
    /// The least and the most that rounds add, where they are known.
    pub(super) low: Option<i128>,
    pub(super) high: Option<i128>,
}

impl Value {
    pub(super) fn number(n: i128) -> Value {
        Value { modulus: 0, rest: n, varies: false, step: 0, low: Some(0), high: Some(0) }
    }

    /// A number that is not known, and the same in all rounds of a task.
    pub(super) fn unknown(varies: bool) -> Value {
        Value { modulus: 1, varies, ..Value::number(0) }
    }

    /// Anything.
    fn any() -> Value {
        Value { step: 1, low: None, high: None, ..Value::unknown(true) }
    }

    /// What rounds add alone: multiples of `step` from 0 to `high`.
    pub(super) fn rounds(step: i128, high: Option<i128>) -> Value {
        if high == Some(0) {
            return Value::number(0);
        }
        Value { step, high, ..Value::number(0) }
    }

    /// The only number that it is.
    pub(super) fn constant(&self) -> Option<i128> {
        (self.modulus == 0 && self.step == 0).then_some(self.rest)
    }

    /// The number that all values are multiples of, `rest` left out.
    pub(super) fn common(&self) -> i128 {
        gcd(self.modulus, self.step)
    }

    pub(super) fn plus(self, other: Value) -> Value {
        let sum = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        let Some(rest) = self.rest.checked_add(other.rest) else { return Value::any() };
        Value {
            modulus: gcd(self.modulus, other.modulus),
            rest,
            varies: self.varies || other.varies,
            step: gcd(self.step, other.step),
            low: sum(self.low, other.low),
            high: sum(self.high, other.high),
        }
    }

    pub(super) fn times(self, other: Value) -> Value {
        let checked = |a: i128, b: i128| a.checked_mul(b);
        let scaled = |of: Value, by: i128| {
            if by == 0 {
                return Some(Value::number(0));
            }
            let ends = [of.low, of.high].map(|end| end.and_then(|end| checked(end, by)));
            let [low, high] = if by < 0 { [ends[1], ends[0]] } else { ends };
            let [modulus, rest, step] = [of.modulus, of.rest, of.step].map(|part| checked(part, by));
            Some(Value { modulus: modulus?.abs(), rest: rest?, step: step?.abs(), low, high, ..of })
        };
        let product = || {
            // (rest + modulus · m + step · s) times the same of the other, term by term.
            let [a, b] = [self, other].map(|of| gcd(of.modulus, of.rest));
            let parts = [
                checked(self.modulus, other.modulus)?,
                checked(self.modulus, other.rest)?,
                checked(other.modulus, self.rest)?,
            ];
            let turns = [checked(self.step, b)?, checked(other.step, a)?, checked(self.step, other.step)?];
            let step = turns.into_iter().fold(0, gcd);
            let end = if step == 0 { Some(0) } else { None };
            let modulus = parts.into_iter().fold(0, gcd);
            let rest = checked(self.rest, other.rest)?;
            Some(Value { modulus, rest, varies: self.varies || other.varies, step, low: end, high: end })
        };
        let made = match (self.constant(), other.constant()) {
            (_, Some(by)) => scaled(self, by),
            (Some(by), _) => scaled(other, by),
            _ => product(),
        };
        made.unwrap_or(Value::any())
    }

    /// What either is, of one task or another.
    fn or(self, other: Value) -> Value {
        let apart = (self.rest - other.rest).abs();
        Value {
            modulus: gcd(gcd(self.modulus, other.modulus), apart),
            rest: self.rest,
            varies: self.varies || other.varies || self != other,
            ..Value::number(0)
        }
    }

    /// As one number for each round: rounds of what makes tasks are different tasks.
    fn of_tasks(self) -> Value {
        Value {
            modulus: self.common(),
            rest: self.rest,
            varies: self.varies || self.step != 0,
            ..Value::number(0)
        }
    }
}

pub(super) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// What is known of the integers of a function.
pub(super) struct Values<'a> {
    module: &'a Verified,
    known: Known<'a>,
    /// By field of the descriptor; of more nothing is known.
    fields: Vec<Value>,
    locals: BTreeMap<LocalId, Value>,
}

impl<'a> Values<'a> {
    /// Those of a specialised kernel, whose descriptors the generators of the module fill.
    pub(super) fn of_kernel(module: &'a Verified, kernel: &Function, known: Known<'a>) -> Values<'a> {
        let fields = match kernel.kind {
            FuncKind::Kernel { descriptor: Some(of) } => fields(module, of, known),
            _ => Vec::new(),
        };
        let mut values = Values { module, known, fields, locals: BTreeMap::new() };
        values.function(kernel);
        values
    }

    fn function(&mut self, function: &Function) {
        let mut given = vec![0_u32; function.locals.len()];
        given.iter_mut().take(function.params as usize).for_each(|n| *n = 2);
        walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Let { local, .. } | StmtKind::Assign { local, .. } => given[local.index()] += 1,
            StmtKind::For { var, .. } => given[var.index()] += 1,
            StmtKind::ScheduledFor { vars, .. } => vars.iter().for_each(|var| given[var.index()] += 1),
            _ => {}
        });
        self.block(&function.body, function, &given);
    }

    fn block(&mut self, block: &Block, function: &Function, given: &[u32]) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Let { local, init: Some(value) } | StmtKind::Assign { local, value }
                    if given[local.index()] == 1 =>
                {
                    self.locals.insert(*local, self.expr(value));
                }
                StmtKind::For { var, start, end, step, .. } if given[var.index()] == 1 => {
                    let [start, end, step] = [start, end, step].map(|e| self.expr(e));
                    let last = match (start.constant(), end.constant(), step.constant()) {
                        (Some(from), Some(to), Some(step)) if step > 0 => {
                            Some((to - 1 - from).max(0) / step * step)
                        }
                        _ => None,
                    };
                    let rounds = Value::rounds(gcd(gcd(step.modulus, step.rest), step.step), last);
                    self.locals.insert(*var, start.plus(rounds));
                }
                StmtKind::ScheduledFor { vars, .. } => self.items(vars, function),
                _ => {}
            }
            walk::blocks(stmt).for_each(|inner| self.block(inner, function, given));
        }
    }

    /// The variables of the items of a space.
    fn items(&mut self, vars: &[LocalId], function: &Function) {
        let FuncKind::Generator { space } = function.kind else { return };
        let axes = self.module.spaces.get(space.index()).map_or(Vec::new(), |space| space.axes.clone());
        for (var, axis) in vars.iter().zip(axes) {
            let axis = &self.module.axes[axis.index()];
            let start = self.expr(&axis.start);
            let last = match &axis.end {
                AxisEnd::Expr(end) => end_of(start, self.expr(end)),
                AxisEnd::Dynamic => None,
            };
            // An axis in tiles has as many items as elements at most.
            self.locals.insert(*var, start.plus(Value::rounds(1, last)));
        }
    }

    /// What is known of an integer expression.
    pub(super) fn expr(&self, e: &Expr) -> Value {
        match &e.kind {
            ExprKind::Const(_) => e.as_const_int().map_or(Value::unknown(false), Value::number),
            ExprKind::Param(_) => match fold(self.module, self.known, e).as_const_int() {
                Some(n) => Value::number(n),
                None => Value::unknown(false),
            },
            ExprKind::Local(local) => self.locals.get(local).copied().unwrap_or(Value::any()),
            ExprKind::Field(_, at) => self.fields.get(*at as usize).copied().unwrap_or(Value::unknown(true)),
            ExprKind::Unary(UnOp::Neg, a) => self.expr(a).times(Value::number(-1)),
            ExprKind::Cast(a) if a.ty.is_int() => self.expr(a),
            ExprKind::Binary(op, a, b) => binary(*op, self.expr(a), self.expr(b)),
            ExprKind::Chain(first, rest) => {
                rest.iter().fold(self.expr(first), |sum, (op, b)| binary(*op, sum, self.expr(b)))
            }
            ExprKind::AxisExtent(_) | ExprKind::MaxBlocks => Value::unknown(false),
            _ => {
                let (mut varies, mut turns) = (false, false);
                let mut children = 0;
                e.for_each_child(&mut |child| {
                    let child = self.expr(child);
                    (varies, turns) = (varies || child.varies, turns || child.step != 0);
                    children += 1;
                });
                if turns || children == 0 { Value::any() } else { Value::unknown(varies) }
            }
        }
    }
}

/// How many more elements than one an axis has, where that is known.
fn end_of(start: Value, end: Value) -> Option<i128> {
    Some((end.constant()? - start.constant()? - 1).max(0))
}

fn binary(op: BinOp, a: Value, b: Value) -> Value {
    match op {
        BinOp::Add => a.plus(b),
        BinOp::Sub => a.plus(b.times(Value::number(-1))),
        BinOp::Mul => a.times(b),
        _ => match (a.constant(), b.constant()) {
            (Some(x), Some(y)) => of_numbers(op, x, y).map_or(Value::unknown(false), Value::number),
            _ if a.step != 0 || b.step != 0 => Value::any(),
            _ => Value::unknown(a.varies || b.varies),
        },
    }
}

fn of_numbers(op: BinOp, a: i128, b: i128) -> Option<i128> {
    wsp_core::int::Range::binary(op, wsp_core::int::Range::point(a), wsp_core::int::Range::point(b))?.value()
}

/// What all tasks of a kernel have in the fields of their descriptors.
fn fields(module: &Verified, of: StructId, known: Known<'_>) -> Vec<Value> {
    let mut found: Option<Vec<Value>> = None;
    for function in &module.functions {
        let mut values = Values { module, known, fields: Vec::new(), locals: BTreeMap::new() };
        values.function(function);
        walk::stmts(&function.body, &mut |stmt| {
            let StmtKind::Emit { descriptor, fields, .. } = &stmt.kind else { return };
            if *descriptor != of {
                return;
            }
            let fields: Vec<Value> = fields.iter().map(|e| values.expr(e).of_tasks()).collect();
            found = Some(match found.take() {
                None => fields,
                Some(before) => before.into_iter().zip(fields).map(|(a, b)| a.or(b)).collect(),
            });
        });
    }
    found.unwrap_or_default()
}
