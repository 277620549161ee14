//! Kernels over tensors on a grid.

/// An axis of the grid for each dimension of a tensor that is sharded.
pub(super) type Lies = [Option<usize>; 2];

/// The words of the axes.
pub(super) const AXES: [char; 2] = ['x', 'y'];

#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) shape: [usize; 2],
    /// Its layout where it is stored, and where it is loaded, if they are written.
    pub(super) stored: Option<Lies>,
    pub(super) read: Option<Lies>,
    /// What its layout says of sums.
    pub(super) pending: [bool; 2],
    /// It lives for one launch.
    pub(super) inner: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// Capacities of its tile variables.
    pub(super) vars: Vec<[usize; 2]>,
    pub(super) tasks: usize,
    pub(super) body: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) grid: [usize; 2],
    pub(super) tensors: Vec<Tensor>,
    pub(super) kernels: Vec<Kernel>,
    /// The follower takes tasks to reach all of the tensors that they touch, not the boxes that they touch.
    pub(super) whole: bool,
}

/// A whole number from 0 on.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Const(usize),
    /// The field of the task.
    Task,
    /// The variable of a loop.
    Loop(usize),
    /// One of the variables that kernels have.
    Local(usize),
    Of(char, Box<Expr>, Box<Expr>),
}

pub(super) fn of(op: char, a: Expr, b: Expr) -> Expr {
    Expr::Of(op, Box::new(a), Box::new(b))
}

#[derive(Clone, Debug)]
pub(super) enum Cond {
    Less(Expr, Expr),
    Same(Expr, Expr),
    /// A number that was loaded is large.
    Large,
}

/// What is done with each element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Map {
    Mov,
    Neg,
    Exp,
    Abs,
    Clamp,
    Scale,
    Shift,
    Divide,
    /// By the number that was loaded.
    ScaleBy,
    Cumsum,
    Trans,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Meet {
    Add,
    Sub,
    Mul,
    Max,
    Min,
    Less,
}

/// The second operand of a meeting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fit {
    Same,
    Column,
    Row,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fold {
    Sum,
    Max,
    Argmax,
}

pub(super) type At = [Expr; 2];

#[derive(Clone, Debug)]
pub(super) enum Stmt {
    /// The rows of an upright tile of one column run along the columns of the tensor.
    Load {
        var: usize,
        tensor: usize,
        at: At,
        upright: bool,
    },
    Store {
        tensor: usize,
        var: usize,
        at: At,
        adds: bool,
        upright: bool,
    },
    Fill {
        var: usize,
        value: u64,
    },
    Map {
        map: Map,
        dst: usize,
        src: usize,
    },
    Meet {
        meet: Meet,
        fit: Fit,
        dst: usize,
        a: usize,
        b: usize,
    },
    /// Over all rows, or over all columns.
    Fold {
        fold: Fold,
        rows: bool,
        dst: usize,
        src: usize,
    },
    Product {
        dst: usize,
        a: usize,
        b: usize,
        turned: bool,
        adds: bool,
    },
    Extract {
        dst: usize,
        src: usize,
        at: [usize; 2],
    },
    Insert {
        dst: usize,
        src: usize,
        at: [usize; 2],
    },
    Iota {
        var: usize,
    },
    Select {
        dst: usize,
        mask: usize,
        a: usize,
        b: usize,
    },
    /// In each row, or in each column, the elements that `places` says.
    Gather {
        dst: usize,
        src: usize,
        places: usize,
        rows: bool,
    },
    /// A number of a tensor, or the sum of a tile with one row.
    Number {
        tensor: usize,
        at: At,
    },
    SumOf {
        var: usize,
    },
    StoreNumber {
        tensor: usize,
        at: At,
    },
    Set {
        local: usize,
        to: Expr,
    },
    If {
        cond: Cond,
        then: Vec<Stmt>,
        other: Vec<Stmt>,
    },
    For {
        var: usize,
        from: Expr,
        to: Expr,
        step: usize,
        body: Vec<Stmt>,
    },
    Break,
    Continue,
    Return,
}

/// Whole-number variables that each kernel has.
pub(super) const LOCALS: usize = 2;

impl Stmt {
    /// The tile variables that are computed with.
    pub(super) fn operands(&self) -> Vec<usize> {
        match self {
            Stmt::Map { src, .. } | Stmt::Fold { src, .. } | Stmt::Extract { src, .. } => vec![*src],
            Stmt::Meet { a, b, .. } | Stmt::Select { a, b, .. } => vec![*a, *b],
            Stmt::Product { a, b, .. } => vec![*a, *b],
            Stmt::Insert { dst, src, .. } => vec![*dst, *src],
            Stmt::Gather { src, .. } => vec![*src],
            _ => Vec::new(),
        }
    }

    /// The tile variable that gets a value, if it is not of itself.
    fn gives(&self) -> Option<usize> {
        match self {
            Stmt::Load { var, .. } | Stmt::Fill { var, .. } | Stmt::Iota { var } => Some(*var),
            Stmt::Map { dst, src, .. } => (dst != src).then_some(*dst),
            Stmt::Meet { dst, .. } | Stmt::Fold { dst, .. } | Stmt::Product { dst, .. } => Some(*dst),
            Stmt::Extract { dst, .. } | Stmt::Insert { dst, .. } => Some(*dst),
            Stmt::Select { dst, .. } | Stmt::Gather { dst, .. } => Some(*dst),
            _ => None,
        }
    }
}

impl Kernel {
    /// How many statements give each tile variable a value.
    pub(super) fn given(&self) -> Vec<usize> {
        fn count(body: &[Stmt], given: &mut [usize]) {
            for stmt in body {
                if let Some(var) = stmt.gives() {
                    given[var] += 1;
                }
                match stmt {
                    Stmt::If { then, other, .. } => {
                        count(then, given);
                        count(other, given);
                    }
                    Stmt::For { body, .. } => count(body, given),
                    _ => {}
                }
            }
        }
        let mut given = vec![0; self.vars.len()];
        count(&self.body, &mut given);
        given
    }
}
