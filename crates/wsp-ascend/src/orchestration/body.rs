//! Generators and helpers as C++: their statements.

use super::expr::{Needs, Printer, Scope};
use super::names::Names;
use crate::writer::Writer;
use std::cell::RefCell;
use wsp_diag::Span;
use wsp_ir::{
    Block, EmitHints, Expr, ExtentSource, FuncKind, Function, LocalTy, Module, ScalarTy, Stmt, StmtKind,
};

/// A function under way.
pub(super) struct Body<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) printer: Printer<'a>,
}

/// The head of a function.
pub(super) fn head(names: &Names, function: &Function, name: &str) -> String {
    let mut takes = vec!["[[maybe_unused]] const Launch& l".to_owned(), "Planner& s".to_owned()];
    if matches!(function.kind, FuncKind::Generator { .. }) {
        takes.push("Out& out".to_owned());
        return format!("template <class Out> static void {name}({})", takes.join(", "));
    }
    for at in 0..function.params as usize {
        let local = &function.locals[at];
        let name = names.local(wsp_core::LocalId(at as u32));
        takes.push(match &local.ty {
            LocalTy::Array(_) => format!("[[maybe_unused]] const IntArray {name}"),
            LocalTy::Scalar(ty) => format!("[[maybe_unused]] {} {name}", ty.c_name()),
            LocalTy::Tile(_) | LocalTy::Descriptor(_) => format!("int {name}"),
        });
    }
    let result = function.ret.map_or("void", ScalarTy::c_name);
    format!("static {result} {name}({})", takes.join(", "))
}

/// The text of a function.
pub(super) fn function(
    module: &Module,
    names: &Names,
    of: &Function,
    name: &str,
    needs: &RefCell<Needs>,
) -> String {
    let own = names.within(of);
    let printer = Printer { module, names: &own, scope: Scope::Body(of), needs };
    let body = Body { module, function: of, printer };
    let mut out = Writer::default();
    out.open(format!("{} {{", head(&own, of, name)));
    for (at, local) in of.locals.iter().enumerate().skip(of.params as usize) {
        let name = own.local(wsp_core::LocalId(at as u32));
        match &local.ty {
            LocalTy::Scalar(ty) => out.line(format!("[[maybe_unused]] {} {name}{{}};", ty.c_name())),
            LocalTy::Array(_) => out.line(format!("[[maybe_unused]] IntArray {name};")),
            LocalTy::Tile(_) | LocalTy::Descriptor(_) => {}
        }
    }
    body.block(&mut out, &of.body);
    if of.ret.is_some() {
        out.line("return {};");
    }
    out.close("}");
    out.finish()
}

impl Body<'_> {
    fn block(&self, out: &mut Writer, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(out, stmt));
    }

    fn stmt(&self, out: &mut Writer, stmt: &Stmt) {
        let (printer, names) = (&self.printer, self.printer.names);
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                let value = init.as_ref().map_or("{}".to_owned(), |e| printer.expr(e));
                if matches!(self.function.local(*local).ty, LocalTy::Scalar(_)) {
                    out.line(format!("{} = {value};", names.local(*local)));
                }
            }
            StmtKind::LetArray { local, array } => {
                out.line(format!("{} = {};", names.local(*local), printer.array(*array)));
            }
            StmtKind::Assign { local, value } => {
                out.line(format!("{} = {};", names.local(*local), printer.expr(value)));
            }
            StmtKind::If { cond, then, otherwise } => {
                out.open(format!("if ({}) {{", printer.expr(cond)));
                self.block(out, then);
                if !otherwise.is_empty() {
                    out.turn("} else {");
                    self.block(out, otherwise);
                }
                out.close("}");
            }
            StmtKind::For { var, start, end, step, body } => {
                self.counted(out, &names.local(*var), [start, end, step], (body, stmt.span));
            }
            StmtKind::While { cond, step, body } => {
                let place = self.place(stmt.span);
                out.open(format!("for (bool again = false; s.step({place}); again = true) {{"));
                if step.is_empty() {
                    out.line("(void)again;");
                } else {
                    out.open("if (again) {");
                    self.block(out, step);
                    out.close("}");
                }
                out.line(format!("if (!({})) break;", printer.expr(cond)));
                self.block(out, body);
                out.close("}");
            }
            StmtKind::Break => out.line("break;"),
            StmtKind::Continue => out.line("continue;"),
            StmtKind::Return(value) => match value {
                Some(value) => out.line(format!("return {};", printer.expr(value))),
                None => out.line("return;"),
            },
            StmtKind::Emit { descriptor, fields, hints } => {
                let fields: Vec<String> = fields.iter().map(|e| printer.expr(e)).collect();
                let name = &self.module.structs[descriptor.index()].name;
                out.open("{");
                out.line(format!(
                    "const std::uint32_t f[{}] = {{{}}};",
                    fields.len().max(1),
                    fields.join(", ")
                ));
                out.line(format!(
                    "out.emit(l, s, {}, f, {}{});  // {name}",
                    descriptor.0,
                    self.priority(hints),
                    printer.place(stmt.span)
                ));
                out.close("}");
            }
            StmtKind::Fence => out.line("out.fence(s);"),
            StmtKind::SetTile { axis, size } => {
                let place = printer.place(size.span);
                out.line(format!("s.set_tile({}, {}{place});", axis.0, printer.expr(size)));
            }
            StmtKind::SetExtent { axis, extent, last: _ } => match extent {
                ExtentSource::Scalar(e) => {
                    let place = printer.place(stmt.span);
                    out.line(format!("s.set_extent({}, {}{place});", axis.0, printer.expr(e)))
                }
                ExtentSource::PerOuter(array) => {
                    let place = printer.place(stmt.span);
                    out.line(format!("s.set_extents({}, {}{place});", axis.0, printer.array(*array)));
                }
            },
            // Lowering leaves none of the first two; the others stand in kernels.
            StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::Tile(_)
            | StmtKind::StoreScalar { .. } => {}
        }
    }

    fn priority(&self, hints: &EmitHints) -> String {
        match &hints.priority {
            Some(e) => {
                format!(
                    "s.template cast<std::int32_t>({}{})",
                    self.printer.expr(e),
                    self.printer.place(e.span)
                )
            }
            None => "0".to_owned(),
        }
    }

    /// A place as the only argument.
    fn place(&self, span: Span) -> String {
        self.printer.place(span).trim_start_matches(", ").to_owned()
    }

    /// `start`, `end` and `step` are evaluated once.
    fn counted(
        &self,
        out: &mut Writer,
        var: &str,
        [start, end, step]: [&Expr; 3],
        (body, span): (&Block, Span),
    ) {
        let ty = start.ty.c_name();
        out.open("{");
        out.line(format!("const {ty} start = {};", self.printer.expr(start)));
        out.line(format!("const {ty} end = {};", self.printer.expr(end)));
        let place = self.printer.place(step.span);
        out.line(format!("const {ty} step = s.at_least_1({}{place});", self.printer.expr(step)));
        let place = self.place(span);
        out.open(format!(
            "for ({var} = start; {var} < end && s.step({place}); {var} = advance({var}, end, step)) {{"
        ));
        self.block(out, body);
        out.close("}");
        out.close("}");
    }
}
