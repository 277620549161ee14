//! Shared parts of the parser's tests: trees as short text.

#[path = "../../../wsp-core/tests/stack/mod.rs"]
mod stack;

use super::*;
use crate::ast::*;
use expect_test::{Expect, expect};
use std::fmt::Write;
use wsp_diag::SourceMap;

fn parsed(text: &str) -> (File, String) {
    let mut sources = SourceMap::default();
    let file = sources.add("t.pto", text);
    let (tree, diagnostics) = parse(file, text);
    let mut shown = String::new();
    for d in &diagnostics {
        let label = d.primary.as_ref().expect("every report has a place");
        let (line, column) = sources.line_col(label.span);
        writeln!(shown, "{line}:{column} {} {} ({})", d.code, d.message, label.text).unwrap();
        for other in &d.labels {
            let (line, column) = sources.line_col(other.span);
            writeln!(shown, "  {line}:{column} {}", other.text).unwrap();
        }
    }
    (tree, shown)
}

fn clean(text: &str) -> File {
    let (tree, errors) = parsed(text);
    assert_eq!(errors, "", "errors in {text}");
    tree
}

/// The reports of a file, and what of it was understood.
fn check_errors(text: &str, expected: Expect) {
    let (tree, mut shown) = parsed(text);
    let kept: Vec<String> = tree.items.iter().map(item_name).collect();
    writeln!(shown, "kept: {}", kept.join(" ")).unwrap();
    expected.assert_eq(&shown);
}

/// The reports of the statements of a kernel.
fn check_body(stmts: &str, expected: Expect) {
    let (tree, errors) = parsed(&format!("PTO_KERNEL_IMPL(k) {{\n{stmts}\n}}\nstruct S {{ uint32_t f; }};"));
    let [Item::Kernel(kernel), Item::Struct(_)] = &tree.items[..] else {
        panic!("the items around broken statements stay: {errors}")
    };
    let kept: Vec<String> = kernel.body.stmts.iter().map(show_stmt).collect();
    expected.assert_eq(&format!("{errors}{}\n", kept.join("\n")));
}

fn item_name(item: &Item) -> String {
    match item {
        Item::Shape(x) => format!("shape:{}/{}", x.name.name, x.dims.len()),
        Item::Param(x) => format!("param:{}", x.name.name),
        Item::Const(x) => format!("const:{}", x.name.name),
        Item::Tensor(x) => format!("tensor:{}/{}", x.name.name, x.dims.len()),
        Item::Resident(x) => format!("resident:{}/{}", x.shape.name.name, x.shape.dims.len()),
        Item::Workspace(x) => format!("workspace:{}/{}", x.name.name, x.dims.len()),
        Item::Space(x) => format!("space:{}/{}", x.name.name, x.members.len()),
        Item::TierDef(x) => format!("tiers:{}/{}", x.name.name, x.tiers.len()),
        Item::Schedule(x) => format!("schedule:{}/{}", x.name.name, x.members.len()),
        Item::Struct(x) => format!("struct:{}/{}", x.name.name, x.fields.len()),
        Item::Generator(x) => format!("gen:{}/{}", x.space.name, x.body.stmts.len()),
        Item::Kernel(x) if !x.params.is_empty() => {
            format!("entry:{}/{}/{}", x.name.name, x.params.len(), x.body.stmts.len())
        }
        Item::Kernel(x) => format!("kernel:{}/{}", x.name.name, x.body.stmts.len()),
        Item::Function(x) => format!("fn:{}/{}", x.name.name, x.body.stmts.len()),
        Item::Graph(x) => format!("graph:{}/{}+{}", x.name.name, x.stages.len(), x.dependencies.len()),
        Item::Require(_) => "require".to_owned(),
        Item::Reference(x) => format!("reference:{}/{}", x.name.name, x.roles.len()),
    }
}

fn show_type(ty: &Type) -> String {
    let mut out = if ty.is_const { "const ".to_owned() } else { String::new() };
    match &ty.base {
        TypeBase::Named(name) => out += name.as_str(),
        TypeBase::DtypeOf(e) => write!(out, "dtype({})", show(e)).unwrap(),
    }
    if !ty.args.is_empty() {
        let args: Vec<String> = ty.args.iter().map(show_arg).collect();
        write!(out, "<{}>", args.join(", ")).unwrap();
    }
    out += match ty.indirection {
        Indirection::None => "",
        Indirection::Pointer => "*",
        Indirection::Reference => "&",
    };
    out
}

fn show_arg(arg: &TemplateArg) -> String {
    match arg {
        TemplateArg::Type(ty) => format!("type {}", show_type(ty)),
        TemplateArg::Expr(e) => show(e),
    }
}

fn show(e: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(show).collect::<Vec<_>>().join(", ");
    match &e.kind {
        ExprKind::Int(lit) => {
            format!("{}{}{}", lit.value, if lit.unsigned { "u" } else { "" }, if lit.long { "l" } else { "" })
        }
        ExprKind::Float(lit) => format!("{:?}{}", lit.value, if lit.single { "f" } else { "" }),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Unary(op, a) => format!("({op:?} {})", show(a)),
        ExprKind::Binary(op, a, b) => format!("({} {} {})", op.sign(), show(a), show(b)),
        ExprKind::Chain(first, rest) => rest
            .iter()
            .fold(show(first), |left, (op, operand)| format!("({} {left} {})", op.sign(), show(operand))),
        ExprKind::Ternary(a, b, c) => format!("(? {} {} {})", show(a), show(b), show(c)),
        ExprKind::Cast { ty, expr } => format!("(as {} {})", show_type(ty), show(expr)),
        ExprKind::Call { callee, template_args, args } => {
            let params: Vec<String> = template_args.iter().map(show_arg).collect();
            let params = if params.is_empty() { String::new() } else { format!("<{}>", params.join(", ")) };
            format!("{}{params}({})", callee.as_str(), list(args))
        }
        ExprKind::Index { base, index } => format!("{}[{}]", show(base), show(index)),
        ExprKind::Member { base, field } => format!("{}.{}", show(base), field.as_str()),
        ExprKind::SizeOf(ty) => format!("sizeof({})", show_type(ty)),
        ExprKind::Braces(items) => format!("{{{}}}", list(items)),
        ExprKind::Init { ty, fields } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|f| {
                    let index = f.index.as_ref().map_or(String::new(), |i| format!("[{}]", show(i)));
                    format!(".{}{index} = {}", f.field.as_str(), show(&f.value))
                })
                .collect();
            format!("{}{{{}}}", ty.as_ref().map_or("", |t| t.as_str()), fields.join(", "))
        }
    }
}

fn show_block(block: &Block) -> String {
    format!("{{ {} }}", block.stmts.iter().map(show_stmt).collect::<Vec<_>>().join(" "))
}

fn show_stmt(stmt: &Stmt) -> String {
    match &stmt.kind {
        StmtKind::Empty => ";".to_owned(),
        StmtKind::Block(block) => show_block(block),
        StmtKind::Decl(decl) => {
            let vars: Vec<String> = decl
                .vars
                .iter()
                .map(|v| {
                    format!(
                        "{}{}",
                        v.name.as_str(),
                        v.init.as_ref().map_or(String::new(), |e| format!(" = {}", show(e)))
                    )
                })
                .collect();
            format!("let {}: {};", show_type(&decl.ty), vars.join(", "))
        }
        StmtKind::Assign { target, op, value } => {
            let op = match op {
                AssignOp::Set => "",
                AssignOp::Compound(op) => op.sign(),
            };
            format!("{} {op}= {};", show(target), show(value))
        }
        StmtKind::Expr(e) => format!("{};", show(e)),
        StmtKind::If { cond, then, otherwise } => {
            let otherwise = otherwise.as_ref().map_or(String::new(), |s| format!(" else {}", show_stmt(s)));
            format!("if {} {}{otherwise}", show(cond), show_stmt(then))
        }
        StmtKind::For { init, cond, step, body } => {
            let init = init.as_ref().map_or(";".to_owned(), |s| show_stmt(s));
            let cond = cond.as_ref().map_or(String::new(), show);
            let step: Vec<String> = step.iter().map(show_stmt).collect();
            format!("for {init} {cond}; {} {}", step.join(" "), show_stmt(body))
        }
        StmtKind::While { cond, body } => format!("while {} {}", show(cond), show_stmt(body)),
        StmtKind::DoWhile { body, cond } => format!("do {} while {};", show_stmt(body), show(cond)),
        StmtKind::ForEach { var, start, end, body } => {
            format!("each {} {}..{} {}", var.as_str(), show(start), show(end), show_block(body))
        }
        StmtKind::ScheduledFor { vars, body } => {
            let vars: Vec<&str> = vars.iter().map(Ident::as_str).collect();
            format!("scheduled {} {}", vars.join(","), show_block(body))
        }
        StmtKind::Break => "break;".to_owned(),
        StmtKind::Continue => "continue;".to_owned(),
        StmtKind::Return(e) => format!("return {};", e.as_ref().map_or(String::new(), show)),
    }
}

fn expr(text: &str) -> String {
    let tree = clean(&format!("const uint32_t x = {text};"));
    match &tree.items[..] {
        [Item::Const(c)] => show(&c.value),
        other => panic!("{text}: {other:?}"),
    }
}

fn stmt(text: &str) -> String {
    let tree = clean(&format!("template <uint32_t N> void f() {{ }} PTO_KERNEL_IMPL(k) {{ {text} }}"));
    match &tree.items[..] {
        [_, Item::Kernel(k)] => k.body.stmts.iter().map(show_stmt).collect::<Vec<_>>().join(" "),
        other => panic!("{text}: {other:?}"),
    }
}

mod errors;
mod tree;
