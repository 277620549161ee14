//! What is known at emission of the integers of a kernel: how those of different tasks differ, and what rounds of loops add.

use wsp_core::int::Range;
use wsp_core::{LocalId, StructId};
use wsp_ir::{
    AxisEnd, BinOp, Block, Expr, ExprKind, FuncKind, Function, Stmt, StmtKind, UnOp, Verified, walk,
};
use wsp_ordered::OrderedMap;
use wsp_tile::{Known, fold};

/// What the rounds of a loop, or the rows of a tile, add to a number: multiples of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turns {
    /// Never 0.
    pub(super) step: i128,
    /// The least and the most, where they are known.
    pub(super) ends: Option<(i128, i128)>,
}

/// An integer: a part that one task has whatever it repeats, and what it adds then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Value {
    /// The part of the task is `rest` and a multiple of this; 0 where it is one number.
    pub(super) modulus: i128,
    pub(super) rest: i128,
    /// Whether tasks may have different ones.
    pub(super) varies: bool,
    pub(super) turns: Vec<Turns>,
}

impl Value {
    pub(super) fn number(n: i128) -> Value {
        Value { modulus: 0, rest: n, varies: false, turns: Vec::new() }
    }

    /// A number that is not known, and is the same whatever a task repeats.
    pub(super) fn unknown(varies: bool) -> Value {
        Value { modulus: 1, varies, ..Value::number(0) }
    }

    /// Anything.
    fn any() -> Value {
        Value::unknown(true).repeated(1, None)
    }

    /// With multiples of a step added.
    pub(super) fn repeated(mut self, step: i128, ends: Option<(i128, i128)>) -> Value {
        if step != 0 && ends != Some((0, 0)) {
            self.turns.push(Turns { step: step.saturating_abs(), ends });
        }
        self
    }

    /// The only number that it is.
    pub(super) fn constant(&self) -> Option<i128> {
        (self.modulus == 0 && self.turns.is_empty()).then_some(self.rest)
    }

    /// The largest number of which every value is a multiple.
    fn divisor(&self) -> i128 {
        self.turns.iter().fold(gcd(self.modulus, self.rest), |all, turns| gcd(all, turns.step))
    }

    pub(super) fn plus(mut self, other: Value) -> Value {
        let Some(rest) = self.rest.checked_add(other.rest) else { return Value::any() };
        self.turns.extend(other.turns);
        Value {
            modulus: gcd(self.modulus, other.modulus),
            rest,
            varies: self.varies || other.varies,
            turns: self.turns,
        }
    }

    pub(super) fn times(self, other: Value) -> Value {
        let made = match (self.constant(), other.constant()) {
            (_, Some(by)) => self.scaled(by),
            (Some(by), _) => other.scaled(by),
            _ => self.product(&other),
        };
        made.unwrap_or(Value::any())
    }

    fn scaled(&self, by: i128) -> Option<Value> {
        if by == 0 {
            return Some(Value::number(0));
        }
        let turns = |of: &Turns| {
            let ends = of.ends.and_then(|(low, high)| Some((low.checked_mul(by)?, high.checked_mul(by)?)));
            let ends = ends.map(|(a, b)| (a.min(b), a.max(b)));
            Some(Turns { step: of.step.checked_mul(by)?.checked_abs()?, ends })
        };
        Some(Value {
            modulus: self.modulus.checked_mul(by)?.checked_abs()?,
            rest: self.rest.checked_mul(by)?,
            varies: self.varies,
            turns: self.turns.iter().map(turns).collect::<Option<_>>()?,
        })
    }

    /// The parts of the tasks, term by term; of the others what all are multiples of.
    fn product(&self, other: &Value) -> Option<Value> {
        let parts = [
            self.modulus.checked_mul(other.modulus)?,
            self.modulus.checked_mul(other.rest)?,
            other.modulus.checked_mul(self.rest)?,
        ];
        let made = Value {
            modulus: parts.into_iter().fold(0, gcd),
            rest: self.rest.checked_mul(other.rest)?,
            varies: self.varies || other.varies,
            turns: Vec::new(),
        };
        let mut step = 0;
        for (of, by) in [(self, other), (other, self)] {
            for turns in &of.turns {
                step = gcd(step, turns.step.checked_mul(by.divisor())?);
            }
        }
        Some(made.repeated(step, None))
    }

    /// What either is, of one task or another.
    fn or(self, other: Value) -> Value {
        let apart = self.rest.checked_sub(other.rest).unwrap_or(1);
        Value {
            modulus: gcd(gcd(self.modulus, other.modulus), apart),
            rest: self.rest,
            varies: self.varies || other.varies || self != other,
            turns: Vec::new(),
        }
    }

    /// As a number of tasks: what a generator repeats makes other tasks, and what a task chooses of its rounds is its own.
    pub(super) fn of_tasks(self) -> Value {
        Value {
            modulus: self.turns.iter().fold(self.modulus, |all, turns| gcd(all, turns.step)),
            rest: self.rest,
            varies: self.varies || !self.turns.is_empty(),
            turns: Vec::new(),
        }
    }
}

pub(super) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.checked_abs().unwrap_or(1) } else { gcd(b, a.wrapping_rem(b)) }
}

/// What decides whether, and how often, the blocks of a statement run.
pub(super) fn decides(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::If { cond, .. } | StmtKind::While { cond, .. } => vec![cond],
        StmtKind::For { start, end, step, .. } => vec![start, end, step],
        _ => Vec::new(),
    }
}

/// A value that a variable is given; none at its declaration, which gives 0.
struct Given<'f> {
    value: Option<&'f Expr>,
    /// What decides whether it is, and whether that is a condition and no loop.
    under: Vec<(&'f Expr, bool)>,
}

/// The values that variables are given, in the order of the text.
fn given<'f>(
    block: &'f Block,
    under: &mut Vec<(&'f Expr, bool)>,
    found: &mut OrderedMap<LocalId, Vec<Given<'f>>>,
) {
    for stmt in block {
        let (local, value) = match &stmt.kind {
            StmtKind::Let { local, init } => (Some(*local), init.as_ref()),
            StmtKind::Assign { local, value } => (Some(*local), Some(value)),
            _ => (None, None),
        };
        if let Some(local) = local {
            found.entry(local).or_default().push(Given { value, under: under.clone() });
        }
        let outer = under.len();
        let is_condition = matches!(stmt.kind, StmtKind::If { .. });
        under.extend(decides(stmt).into_iter().map(|e| (e, is_condition)));
        walk::blocks(stmt).for_each(|inner| given(inner, under, found));
        under.truncate(outer);
    }
}

/// What is known of the integers of a function.
pub(super) struct Values<'a> {
    module: &'a Verified,
    known: Known<'a>,
    /// By field of the descriptor; of more nothing is known.
    fields: Vec<Value>,
    locals: OrderedMap<LocalId, Value>,
}

impl<'a> Values<'a> {
    /// Those of a function, of whose descriptors nothing is known.
    pub(super) fn of_text(module: &'a Verified, function: &Function, known: Known<'a>) -> Values<'a> {
        Values { module, known, fields: Vec::new(), locals: OrderedMap::new() }.with(function)
    }

    /// Those of a specialised kernel, whose descriptors the generators of the module fill.
    pub(super) fn of_kernel(module: &'a Verified, kernel: &Function, known: Known<'a>) -> Values<'a> {
        let fields = match kernel.kind {
            FuncKind::Kernel { descriptor: Some(of) } => fields(module, of, known),
            _ => Vec::new(),
        };
        Values { module, known, fields, locals: OrderedMap::new() }.with(kernel)
    }

    /// With the variables of a function. One that gets several values is anything, unless all but the first add to it.
    fn with(mut self, function: &Function) -> Values<'a> {
        let mut all = OrderedMap::new();
        given(&function.body, &mut Vec::new(), &mut all);
        self.block(&function.body, function, &all);
        self
    }

    fn block(&mut self, block: &Block, function: &Function, given: &OrderedMap<LocalId, Vec<Given<'_>>>) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Let { local, .. } | StmtKind::Assign { local, .. }
                    if local.0 >= function.params && !self.locals.contains_key(local) =>
                {
                    let value = given.get(local).and_then(|values| self.variable(*local, values));
                    self.locals.insert(*local, value.unwrap_or(Value::any()));
                }
                StmtKind::For { var, start, end, step, .. } => {
                    let [start, end, step] = [start, end, step].map(|e| self.expr(e));
                    let last = match (start.constant(), end.constant(), step.constant()) {
                        (Some(from), Some(to), Some(step)) if step > 0 => {
                            Some((0, to.saturating_sub(1).saturating_sub(from).max(0) / step * step))
                        }
                        _ => None,
                    };
                    let varies = start.varies || end.varies || step.varies;
                    self.locals.insert(*var, Value { varies, ..start.repeated(step.divisor(), last) });
                }
                StmtKind::ScheduledFor { vars, .. } => self.items(vars, function),
                _ => {}
            }
            walk::blocks(stmt).for_each(|inner| self.block(inner, function, given));
        }
    }

    /// A variable with these values: the first, and what the others add to it. What a condition adds for some tasks and not for others is a part
    /// of the task.
    fn variable(&self, local: LocalId, values: &[Given<'_>]) -> Option<Value> {
        let first = values.first()?.value.map_or(Value::number(0), |e| self.expr(e));
        let (mut step, mut varies, mut chosen) = (0, first.varies, false);
        let around = values.first()?.under.len();
        for added in &values[1..] {
            let (ExprKind::Binary(BinOp::Add, a, b), ExprKind::Local(own)) =
                (&added.value?.kind, &ExprKind::Local(local))
            else {
                return None;
            };
            let by = match (&a.kind, &b.kind) {
                (ExprKind::Local(of), _) if of == own => b,
                (_, ExprKind::Local(of)) if of == own => a,
                _ => return None,
            };
            let by = self.expr(by);
            step = gcd(step, by.divisor());
            let differs = |(e, _): &&(&Expr, bool)| self.expr(e).varies;
            varies |= by.varies || added.under.iter().any(|of| differs(&of));
            chosen |= added.under.iter().skip(around).filter(differs).any(|(_, is_condition)| *is_condition);
        }
        let value = Value { varies, ..first.repeated(step, None) };
        Some(if chosen { value.of_tasks() } else { value })
    }

    /// The variables of the items of a space.
    fn items(&mut self, vars: &[LocalId], function: &Function) {
        let FuncKind::Generator { space } = function.kind else { return };
        let axes = self.module.spaces.get(space.index()).map_or(Vec::new(), |space| space.axes.clone());
        for (var, axis) in vars.iter().zip(axes) {
            let axis = &self.module.axes[axis.index()];
            let start = self.expr(&axis.start);
            // An axis in tiles has as many items as elements at most.
            let last = match &axis.end {
                AxisEnd::Expr(end) => self.expr(end).constant().zip(start.constant()),
                AxisEnd::Dynamic => None,
            };
            let last = last.map(|(end, start)| (0, end.saturating_sub(1).saturating_sub(start).max(0)));
            self.locals.insert(*var, start.repeated(1, last));
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
            ExprKind::Local(local) => self.locals.get(local).cloned().unwrap_or(Value::any()),
            ExprKind::Field(_, at) => self.fields.get(*at as usize).cloned().unwrap_or(Value::unknown(true)),
            ExprKind::Unary(UnOp::Neg, a) => self.expr(a).times(Value::number(-1)),
            ExprKind::Cast(a) if a.ty.is_int() => self.expr(a),
            ExprKind::Binary(op, a, b) => binary(*op, self.expr(a), self.expr(b)),
            ExprKind::Chain(first, rest) => {
                rest.iter().fold(self.expr(first), |sum, (op, b)| binary(*op, sum, self.expr(b)))
            }
            ExprKind::AxisExtent(_) | ExprKind::MaxBlocks => Value::unknown(false),
            _ => {
                let mut children = Vec::new();
                e.for_each_child(&mut |child| children.push(self.expr(child)));
                // What has no operands follows from a tile, a tensor or an item.
                if children.is_empty() { Value::any() } else { of_children(&children) }
            }
        }
    }
}

fn of_children(children: &[Value]) -> Value {
    let made = Value::unknown(children.iter().any(|child| child.varies));
    let repeats = children.iter().any(|child| !child.turns.is_empty());
    if repeats { made.repeated(1, None) } else { made }
}

fn binary(op: BinOp, a: Value, b: Value) -> Value {
    match (op, a.constant(), b.constant()) {
        (BinOp::Add, ..) => a.plus(b),
        (BinOp::Sub, ..) => a.plus(b.times(Value::number(-1))),
        (BinOp::Mul, ..) => a.times(b),
        (_, Some(x), Some(y)) => Range::binary(op, Range::point(x), Range::point(y))
            .and_then(Range::value)
            .map_or(Value::unknown(false), Value::number),
        _ => of_children(&[a, b]),
    }
}

/// What all tasks of a kernel have in the fields of their descriptors.
fn fields(module: &Verified, of: StructId, known: Known<'_>) -> Vec<Value> {
    let mut found: Option<Vec<Value>> = None;
    for function in &module.functions {
        let values = Values::of_text(module, function, known);
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
