//! Statements.

use super::{BinOp, Expr, Ident, Type};
use wsp_diag::Span;

/// `{ … }` of statements.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Its statements.
    pub stmts: Vec<Stmt>,
    /// Braces included.
    pub span: Span,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// All of it.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `{ … }`
    Block(Block),
    /// `T x = e, y;`
    Decl(Decl),
    /// `target op value`; `x++` and `--x` are `x += 1` and `x -= 1`
    Assign {
        /// A name, field or element.
        target: Expr,
        /// Plain or compound.
        op: AssignOp,
        /// The right side; may be a brace list.
        value: Expr,
    },
    /// `e;`
    Expr(Expr),
    /// `if (cond) then else otherwise`
    If {
        /// The condition.
        cond: Expr,
        /// When true.
        then: Box<Stmt>,
        /// When false.
        otherwise: Option<Box<Stmt>>,
    },
    /// `for (init; cond; step) body`
    For {
        /// A declaration, assignment or expression.
        init: Option<Box<Stmt>>,
        /// The condition; true when absent.
        cond: Option<Expr>,
        /// Assignments and expressions, in order.
        step: Vec<Stmt>,
        /// What is repeated.
        body: Box<Stmt>,
    },
    /// `while (cond) body`
    While {
        /// The condition.
        cond: Expr,
        /// What is repeated.
        body: Box<Stmt>,
    },
    /// `do body while (cond);`
    DoWhile {
        /// What is repeated.
        body: Box<Stmt>,
        /// The condition.
        cond: Expr,
    },
    /// `PTO_FOR_EACH(var, start, end) { … }`
    ForEach {
        /// The loop variable.
        var: Ident,
        /// First value.
        start: Expr,
        /// One past the last value.
        end: Expr,
        /// What is repeated.
        body: Block,
    },
    /// `PTO_SCHEDULED_FOR(v, …) { … }`
    ScheduledFor {
        /// The index variables.
        vars: Vec<Ident>,
        /// What is done per item.
        body: Block,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return e;`
    Return(Option<Expr>),
}

/// `T x = e, y;`.
#[derive(Clone, PartialEq, Debug)]
pub struct Decl {
    /// The type of every name.
    pub ty: Type,
    /// The names; at least one.
    pub vars: Vec<Declarator>,
}

/// One name of a declaration.
#[derive(Clone, PartialEq, Debug)]
pub struct Declarator {
    /// The name.
    pub name: Ident,
    /// Its first value.
    pub init: Option<Expr>,
}

/// Assignment operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssignOp {
    /// `=`
    Set,
    /// `+=`, `<<=`, …
    Compound(BinOp),
}
