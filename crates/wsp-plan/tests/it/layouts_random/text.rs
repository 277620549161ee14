//! The text of programs.

use super::program::{AXES, At, Cond, Expr, Fit, Fold, LOCALS, Lies, Map, Meet, Program, Stmt};
use std::fmt::Write;

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
