//! Kernels over tensors on a grid, and their text.

use std::fmt::Write;

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
    /// The follower is told that tasks reach all of the tensors that they touch, not the boxes that they touch.
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

fn name(tensor: usize) -> char {
    char::from(b'a' + tensor as u8)
}

impl Expr {
    fn text(&self) -> String {
        match self {
            Expr::Const(value) => value.to_string(),
            Expr::Task => "desc.i".to_owned(),
            Expr::Loop(at) => format!("v{at}"),
            Expr::Local(at) => format!("n{at}"),
            Expr::Of(op, a, b) => format!("({} {op} {})", a.text(), b.text()),
        }
    }
}

impl Cond {
    fn text(&self) -> String {
        match self {
            Cond::Less(a, b) => format!("{} < {}", a.text(), b.text()),
            Cond::Same(a, b) => format!("{} == {}", a.text(), b.text()),
            Cond::Large => "f > 4.0f".to_owned(),
        }
    }
}

/// A tile of one column needs the dimension of its rows.
fn at_text(at: &At, columns: usize) -> String {
    let (row, column) = (at[0].text(), at[1].text());
    if columns == 1 { format!("{{PTO_ROWS({row}), {column}}}") } else { format!("{{{row}, {column}}}") }
}

impl Stmt {
    /// A statement without statements in it.
    fn line(&self, vars: &[[usize; 2]]) -> String {
        let place = |at: &At, var: usize, upright: bool| at_text(at, if upright { 2 } else { vars[var][1] });
        match self {
            Stmt::Load { var, tensor, at, upright } => {
                format!("TLOAD(t{var}, {}, {})", name(*tensor), place(at, *var, *upright))
            }
            Stmt::Store { tensor, var, at, adds, upright } => {
                let op = if *adds { "TSTORE_ATOMIC_ADD" } else { "TSTORE" };
                format!("{op}({}, t{var}, {})", name(*tensor), place(at, *var, *upright))
            }
            Stmt::Fill { var, value } => format!("TASSIGN(t{var}, {value}.0f)"),
            Stmt::Map { map, dst, src } => match map {
                Map::Mov => format!("TMOV(t{dst}, t{src})"),
                Map::Neg => format!("TNEG(t{dst}, t{src})"),
                Map::Exp => format!("TEXP(t{dst}, t{src})"),
                Map::Abs => format!("TABS(t{dst}, t{src})"),
                Map::Clamp => format!("TCLAMP(t{dst}, t{src}, 1.0f, 4.0f)"),
                Map::Scale => format!("TMULS(t{dst}, t{src}, 3.0f)"),
                Map::Shift => format!("TADDS(t{dst}, t{src}, 5.0f)"),
                Map::Divide => format!("TDIVS(t{dst}, t{src}, 3.0f)"),
                Map::ScaleBy => format!("TMULS(t{dst}, t{src}, f)"),
                Map::Cumsum => format!("TCUMSUM(t{dst}, t{src})"),
                Map::Trans => format!("TTRANS(t{dst}, t{src})"),
            },
            Stmt::Meet { meet, fit, dst, a, b } => {
                let fit = match fit {
                    Fit::Same => "T",
                    Fit::Column => "TROWEXPAND",
                    Fit::Row => "TCOLEXPAND",
                };
                let meet = match meet {
                    Meet::Add => "ADD",
                    Meet::Sub => "SUB",
                    Meet::Mul => "MUL",
                    Meet::Max => "MAX",
                    Meet::Min => "MIN",
                    Meet::Less => "CMP_LT",
                };
                format!("{fit}{meet}(t{dst}, t{a}, t{b})")
            }
            Stmt::Fold { fold, rows, dst, src } => {
                let along = if *rows { "TCOL" } else { "TROW" };
                let fold = match fold {
                    Fold::Sum => "SUM",
                    Fold::Max => "MAX",
                    Fold::Argmax => "ARGMAX",
                };
                format!("{along}{fold}(t{dst}, t{src})")
            }
            Stmt::Product { dst, a, b, turned, adds } => {
                let op = if *adds { "TMATMUL_ACC" } else { "TMATMUL" };
                let b = if *turned { format!("PTO_TRANSPOSE(t{b})") } else { format!("t{b}") };
                format!("{op}(t{dst}, t{a}, {b})")
            }
            Stmt::Extract { dst, src, at: [r, c] } => format!("TEXTRACT(t{dst}, t{src}, {r}, {c})"),
            Stmt::Insert { dst, src, at: [r, c] } => format!("TINSERT(t{dst}, t{src}, {r}, {c})"),
            Stmt::Iota { var } => format!("TCI(t{var}, 0)"),
            Stmt::Select { dst, mask, a, b } => format!("TSEL(t{dst}, t{mask}, t{a}, t{b})"),
            Stmt::Gather { dst, src, places, rows } => {
                let op = if *rows { "TGATHER_ROWS" } else { "TGATHER" };
                format!("{op}(t{dst}, t{src}, t{places})")
            }
            Stmt::Number { tensor, at } => {
                format!("f = PTO_LOAD_SCALAR({}, {})", name(*tensor), at_text(at, 2))
            }
            Stmt::SumOf { var } => format!("f = TROWSUM(t{var})"),
            Stmt::StoreNumber { tensor, at } => {
                format!("PTO_STORE_SCALAR({}, f, {})", name(*tensor), at_text(at, 2))
            }
            Stmt::Set { local, to } => format!("n{local} = {}", to.text()),
            Stmt::Break => "break".to_owned(),
            Stmt::Continue => "continue".to_owned(),
            Stmt::Return => "return".to_owned(),
            Stmt::If { .. } | Stmt::For { .. } => String::new(),
        }
    }

    fn write(&self, vars: &[[usize; 2]], depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        let _ = match self {
            Stmt::If { cond, then, other } => {
                let _ = writeln!(text, "{indent}if ({}) {{", cond.text());
                then.iter().for_each(|stmt| stmt.write(vars, depth + 1, text));
                if !other.is_empty() {
                    let _ = writeln!(text, "{indent}}} else {{");
                    other.iter().for_each(|stmt| stmt.write(vars, depth + 1, text));
                }
                writeln!(text, "{indent}}}")
            }
            Stmt::For { var, from, to, step, body } => {
                let (from, to) = (from.text(), to.text());
                let _ = writeln!(
                    text,
                    "{indent}for (uint32_t v{var} = {from}; v{var} < {to}; v{var} += {step}) {{"
                );
                body.iter().for_each(|stmt| stmt.write(vars, depth + 1, text));
                writeln!(text, "{indent}}}")
            }
            simple => writeln!(text, "{indent}{};", simple.line(vars)),
        };
    }
}

impl Program {
    /// Its kernels and tensors: a file that a workload may use.
    pub(super) fn library(&self) -> String {
        let mut text = String::new();
        for (at, tensor) in self.tensors.iter().enumerate() {
            let (name, [rows, columns]) = (name(at), tensor.shape);
            let _ = match tensor.inner {
                true => writeln!(text, "PTO_TENSOR({name}, float, {rows}, {columns})"),
                false => writeln!(text, "PTO_SHAPE({name}, {rows}, {columns})"),
            };
        }
        for (at, kernel) in self.kernels.iter().enumerate() {
            let _ = writeln!(text, "struct D{at} {{ uint32_t i; }};\nPTO_KERNEL_IMPL(k{at}) {{");
            let _ = writeln!(text, "    auto desc = PTO_GET_DESCRIPTOR<D{at}>();");
            for (var, [rows, columns]) in kernel.vars.iter().enumerate() {
                let _ = writeln!(text, "    VecTile<float, {rows}, {columns}> t{var};");
            }
            for local in 0..LOCALS {
                let _ = writeln!(text, "    uint32_t n{local} = 0;");
            }
            text += "    float f = 0.0f;\n";
            kernel.body.iter().for_each(|stmt| stmt.write(&kernel.vars, 1, &mut text));
            text += "}\n";
        }
        text
    }

    /// All of it, as it is launched.
    pub(super) fn text(&self) -> String {
        let [x, y] = self.grid;
        let reach = if self.whole { "all of what they touch" } else { "the boxes that they touch" };
        let mut text = format!("// Tasks reach {reach}.\n{}", self.library());
        let _ = writeln!(text, "PTO_SCHEDULE(Sharded) {{\n    PTO_SPATIAL_MAP({x}, {y})");
        let dims = |lies: Lies| {
            let dim = |axis: Option<usize>| {
                axis.map_or("PTO_REPLICATE".to_owned(), |axis| format!("PTO_SHARD({})", AXES[axis]))
            };
            format!("{}, {}", dim(lies[0]), dim(lies[1]))
        };
        for (at, tensor) in self.tensors.iter().enumerate() {
            let name = name(at);
            let said: Vec<char> =
                (0..2).filter(|axis| tensor.pending[*axis]).map(|axis| AXES[axis]).collect();
            let note = if said.is_empty() { String::new() } else { format!("   // pending over {said:?}") };
            if let Some(lies) = tensor.stored {
                let _ = writeln!(text, "    PTO_LAYOUT({name}, {}){note}", dims(lies));
            }
            if let Some(lies) = tensor.read {
                let _ = writeln!(text, "    PTO_RELAYOUT({name}, {})", dims(lies));
            }
        }
        text += "}\n";
        let mut stages = String::new();
        for (at, kernel) in self.kernels.iter().enumerate() {
            let _ = write!(stages, " PTO_STAGE(s{at}, S{at})");
            let _ = writeln!(
                text,
                "PTO_SPACE(S{at}) {{ PTO_AXIS(i{at}, 0, {}) }}\nPTO_DESCRIPTOR_GEN(S{at}) {{\n    \
                 PTO_APPLY_SCHEDULE(Sharded);\n    \
                 PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{at}{{ .i = i }}); }}\n}}",
                kernel.tasks
            );
        }
        let launched: Vec<char> =
            (0..self.tensors.len()).filter(|at| !self.tensors[*at].inner).map(name).collect();
        let params: Vec<String> = launched.iter().map(|name| format!("Tensor<float> {name}")).collect();
        let bound: Vec<String> = launched.iter().map(|name| format!(".{name} = {name}")).collect();
        let (params, bound) = (params.join(", "), bound.join(", "));
        let _ = writeln!(text, "PTO_GRAPH(All) {{{stages} }}");
        let _ = writeln!(text, "void launch({params}) {{ PTO_LAUNCH(All, {{ {bound} }}); }}");
        text
    }
}
