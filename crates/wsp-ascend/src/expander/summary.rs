//! What is known of a body without a launch: how its tasks can be counted, and which variables and axes it brings.

use super::tree::{Bound, Kind, Over, Row, Statement};
use wsp_core::ptow::{MAX_LOOP_DEPTH, Program, X_LAST, XOp};
use wsp_ordered::OrderedSet;

/// What is known of a body.
#[derive(Clone, Default)]
pub(super) struct Summary {
    /// Whether its tasks can be counted without generating them.
    pub(super) uncountable: bool,
    /// Its tasks, where they are a fixed number.
    pub(super) fixed: Option<u64>,
    /// Depths of the variables outside that their number depends on.
    pub(super) depends: u32,
    /// Axes of the loops in it.
    pub(super) axes: OrderedSet<u16>,
    /// Depths of the variables that it brings.
    pub(super) brings: u32,
    /// Whether it has a filter of its own.
    pub(super) filters: bool,
    /// Whether a process waits in it for others.
    pub(super) waits: bool,
}

impl Summary {
    /// The summary of the statements of a body with `depth` variables in scope.
    pub(super) fn of(program: &Program<'_>, statements: &[Statement], depth: usize) -> Summary {
        let mut summary = Summary { fixed: Some(0), ..Summary::default() };
        for statement in statements {
            summary.statement(program, &statement.kind, depth);
        }
        summary
    }

    fn statement(&mut self, program: &Program<'_>, kind: &Kind, depth: usize) {
        match kind {
            Kind::Task(task) => {
                self.uncountable |= task.label.is_some();
                self.fixed = self.fixed.and_then(|fixed| fixed.checked_add(1));
            }
            Kind::Loop(loop_) => {
                self.fixed = None;
                self.axes.insert(loop_.axis);
                self.names(over_names(program, &loop_.over));
                self.inside(&loop_.body.summary, Some(depth));
            }
            Kind::Let { value, body } => {
                self.add_fixed(&body.summary);
                self.inside(&body.summary, Some(depth));
                // Without a task nobody would meet a fault of the value.
                self.uncountable |= body.summary.fixed == Some(0);
                if body.summary.depends & bit(depth) != 0 {
                    self.names(Leaves::of(program, *value));
                }
            }
            Kind::While { body, .. } => {
                self.fixed = None;
                self.uncountable = true;
                self.inside(&body.summary, Some(depth));
            }
            Kind::Cond { condition, then, otherwise } => {
                self.fixed = None;
                self.names(Leaves::of(program, *condition));
                for body in std::iter::once(then).chain(otherwise) {
                    self.inside(&body.summary, None);
                }
            }
            Kind::Combine(bodies) | Kind::Sequential(bodies) => {
                for body in bodies {
                    self.add_fixed(&body.summary);
                    self.inside(&body.summary, None);
                }
            }
            Kind::Process(bodies) => {
                self.fixed = None;
                self.uncountable = true;
                bodies.iter().for_each(|body| self.inside(&body.summary, None));
                // What is around them waits for none.
                self.waits = false;
            }
            Kind::Send { .. } | Kind::Receive { .. } => {
                (self.fixed, self.uncountable) = (None, true);
                for body in kind.transfers() {
                    self.inside(&body.summary, Some(depth));
                }
                self.waits = true;
            }
            Kind::Reset { .. } | Kind::Channel { .. } | Kind::Close { .. } => self.uncountable = true,
            Kind::Filter(_) => self.filters = true,
            Kind::StreamBy { .. } | Kind::Priority { .. } => {}
        }
    }

    fn add_fixed(&mut self, body: &Summary) {
        self.fixed = self.fixed.and_then(|fixed| fixed.checked_add(body.fixed?));
    }

    /// Takes in a body inside, to which its statement gives a variable at `own`, if any.
    fn inside(&mut self, body: &Summary, own: Option<usize>) {
        let own = own.map_or(0, bit);
        self.uncountable |= body.uncountable;
        self.filters |= body.filters;
        self.waits |= body.waits;
        self.axes.extend(&body.axes);
        self.brings |= body.brings | own;
        self.depends |= body.depends & !own;
    }

    fn names(&mut self, leaves: Leaves) {
        self.depends |= leaves.variables;
        self.uncountable |= leaves.slots;
    }

    /// The deepest variable that it brings; `otherwise` when it brings none.
    pub(super) fn deepest(&self, otherwise: usize) -> usize {
        (0..MAX_LOOP_DEPTH).rev().find(|depth| self.brings & bit(*depth) != 0).unwrap_or(otherwise)
    }
}

/// The bit of a depth.
pub(super) fn bit(depth: usize) -> u32 {
    1u32.checked_shl(depth as u32).unwrap_or(0)
}

/// What an expression names.
#[derive(Clone, Default)]
pub(super) struct Leaves {
    /// Depths of variables and positions.
    pub(super) variables: u32,
    pub(super) axes: OrderedSet<u16>,
    pub(super) slots: bool,
}

impl Leaves {
    /// What the expression that begins at a word names.
    pub(super) fn of(program: &Program<'_>, expr: u32) -> Leaves {
        let mut leaves = Leaves::default();
        for word in program.exprs.iter().skip(expr as usize) {
            match XOp::from_code(word.opcode) {
                Some(XOp::XVar | XOp::XPos) => leaves.variables |= bit(word.operand2 as usize),
                Some(XOp::XAxis) => {
                    leaves.axes.insert(word.operand2 as u16);
                }
                Some(XOp::XSlot) => leaves.slots = true,
                _ => {}
            }
            if word.flags & X_LAST != 0 {
                break;
            }
        }
        leaves
    }

    fn and(mut self, other: Leaves) -> Leaves {
        self.variables |= other.variables;
        self.axes.extend(other.axes);
        self.slots |= other.slots;
        self
    }
}

/// What the bounds of a loop name.
fn over_names(program: &Program<'_>, over: &Over) -> Leaves {
    let of = |expr: u32| Leaves::of(program, expr);
    let bound = |bound: &Bound| match bound {
        Bound::Expr(expr) => of(*expr),
        Bound::Fixed(_) | Bound::Value(_) => Leaves::default(),
    };
    match over {
        Over::Dense { lo, hi } => bound(lo).and(bound(hi)),
        Over::Range { lo, hi, step } => of(*lo).and(of(*hi)).and(step.map(of).unwrap_or_default()),
        Over::Ragged { row, .. } | Over::Sparse { row, .. } => match row {
            Row::Expr(expr) => of(*expr),
            Row::Variable(depth) => Leaves { variables: bit(*depth), ..Leaves::default() },
        },
    }
}
