//! A kernel for the values that are known at emission.
//!
//! The result is a function of the IR without calls, `return`, `break` and `continue`; parameters that are known are literals,
//! capacities and element types of tiles are numbers and types. Values of tiles and single elements of tensors stand by
//! themselves, as the whole value of an assignment, so that they can become instructions. What a launch decides stays a value.

mod expr;
mod jumps;

use crate::codes;
use jumps::Exits;
use wsp_core::{DType, FuncId, LocalId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    ArrayRef, Block, Const, Elem, Expr, ExprKind, FuncKind, Function, LocalTy, ParamSource, ScalarTy, Stmt,
    StmtKind, TileTy, Verified, walk,
};
use wsp_ordered::OrderedMap;

/// What is known at emission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Values of parameters, by parameter; a missing tail is not known. What follows from known parameters need not be given.
    pub params: &'a [Option<Const>],
    /// Element types of tensors whose declaration leaves it to the launch, by tensor.
    pub elems: &'a [Option<DType>],
}

/// The kernel for what is known.
///
/// # Errors
/// The function is no kernel with tiles or statements, the capacity or element type of a tile is not known, or a part cannot stand
/// in a kernel.
pub fn specialise(module: &Verified, kernel: FuncId, known: Known<'_>) -> Result<Function, Vec<Diagnostic>> {
    let not_one = |span, what: String| {
        Err(vec![
            Diagnostic::error(codes::NOT_A_KERNEL, what)
                .at(span, "")
                .help("write the kernel with tile operations"),
        ])
    };
    let Some(function) = module.functions.get(kernel.index()) else {
        let have = module.functions.len();
        return not_one(Span::default(), format!("function {} does not exist; there are {have}", kernel.0));
    };
    if !matches!(function.kind, FuncKind::Kernel { .. }) || function.body.is_empty() {
        return not_one(function.span, format!("`{}` is no kernel with a body", function.name));
    }
    let mut cx = Specialiser::new(module, function, known);
    let mut body = Vec::new();
    cx.function_body(&function.body, None, &mut body);
    cx.capacities();
    if cx.found.is_empty() { Ok(Function { body, ..cx.out }) } else { Err(cx.found) }
}

struct Specialiser<'m> {
    module: &'m Verified,
    known: Known<'m>,
    /// Values of parameters, also of those that follow from others.
    params: Vec<Option<Const>>,
    out: Function,
    /// Variables of the function being copied that have one value, a constant.
    constants: OrderedMap<LocalId, Const>,
    /// Variables of the function being copied that get a value in one place.
    once: Vec<bool>,
    /// The variables that stand for those of an inlined function; its own ids where nothing is inlined.
    renamed: Option<Vec<LocalId>>,
    exits: Exits,
    found: Vec<Diagnostic>,
}

impl<'m> Specialiser<'m> {
    fn new(module: &'m Verified, function: &Function, known: Known<'m>) -> Specialiser<'m> {
        let mut cx = Specialiser {
            module,
            known,
            params: Vec::new(),
            out: Function { body: Vec::new(), ..function.clone() },
            constants: OrderedMap::new(),
            once: assigned_once(function),
            renamed: None,
            exits: Exits::default(),
            found: Vec::new(),
        };
        for (i, param) in module.params.iter().enumerate() {
            let given = known.params.get(i).copied().flatten();
            let value = match &param.source {
                ParamSource::Derived(value) if given.is_none() => cx.pure(value),
                _ => given.and_then(|value| crate::eval::cast(param.ty, value).ok()),
            };
            cx.params.push(value);
        }
        cx
    }

    /// The value of an expression that needs no statements, where it is known.
    fn pure(&mut self, e: &Expr) -> Option<Const> {
        let (mut before, found) = (Vec::new(), self.found.len());
        let folded = self.expr(e, &mut before);
        self.found.truncate(found);
        match folded.kind {
            ExprKind::Const(value) if before.is_empty() => Some(value),
            _ => None,
        }
    }

    /// Names of parameters that a value depends on and that are not known, each once, as users set them.
    fn unknown(&self, e: &Expr, names: &mut Vec<String>) {
        walk::each_subexpr(e, &mut |part| {
            let ExprKind::Param(id) = part.kind else { return };
            if self.params.get(id.index()).is_none_or(Option::is_some) {
                return;
            }
            match &self.module.params[id.index()].source {
                ParamSource::Derived(value) => self.unknown(value, names),
                _ => {
                    let name = self.module.user_names(id).last().unwrap_or("").to_owned();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
        });
    }

    fn report(&mut self, code: wsp_diag::Code, span: Span, message: String, help: &str) {
        self.found.push(Diagnostic::error(code, message).at(span, "").help(help));
    }

    fn capacities(&mut self) {
        for at in 0..self.out.locals.len() {
            let local = self.out.locals[at].clone();
            let LocalTy::Tile(ty) = local.ty else { continue };
            let known =
                [("rows", &ty.rows), ("columns", &ty.cols)].map(|(what, extent)| match self.pure(extent) {
                    Some(Const::Int(n)) if (1..=i128::from(u32::MAX)).contains(&n) => n as u32,
                    Some(_) => {
                        let message = format!("`{}` has no {what}", local.name);
                        self.report(
                            codes::NOT_STATIC,
                            local.span,
                            message,
                            "a tile has 1 row and 1 column at least",
                        );
                        1
                    }
                    None => {
                        let message = format!("the {what} of `{}` are not known at emission", local.name);
                        let mut names = Vec::new();
                        self.unknown(extent, &mut names);
                        let set: Vec<String> =
                            names.iter().map(|name| format!("--set {name}=VALUE")).collect();
                        let help = match set.is_empty() {
                            true => "give them as constants or parameters".to_owned(),
                            false => format!("give what they depend on: `{}`", set.join(" ")),
                        };
                        self.report(codes::NOT_STATIC, local.span, message, &help);
                        1
                    }
                });
            let elem = self.elem(ty.elem).unwrap_or_else(|| {
                let message = format!("the element type of `{}` is not known at emission", local.name);
                let help = "give the tile an element type, or the tensor or cache that it is taken from: `PagedKVCache<half>` in the host entry";
                self.report(codes::NOT_STATIC, local.span, message, help);
                DType::F32
            });
            let [rows, cols] = known.map(|n| Expr::u32(n, local.span));
            self.out.locals[at].ty = LocalTy::Tile(TileTy { elem: Elem::Fixed(elem), rows, cols, ..ty });
        }
    }

    fn elem(&self, elem: Elem) -> Option<DType> {
        match elem {
            Elem::Fixed(dtype) => Some(dtype),
            Elem::Of(tensor) => match self.module.tensors.get(tensor.index())?.elem {
                Elem::Fixed(dtype) => Some(dtype),
                Elem::Of(of) => self.known.elems.get(of.index()).copied().flatten(),
            },
        }
    }

    /// A variable of the function being copied.
    fn renamed(&self, local: LocalId) -> LocalId {
        self.renamed.as_ref().map_or(local, |map| map[local.index()])
    }

    fn array(&self, array: ArrayRef) -> ArrayRef {
        match array {
            ArrayRef::Local(local) => ArrayRef::Local(self.renamed(local)),
            other => other,
        }
    }

    fn fresh(&mut self, name: &str, ty: ScalarTy, span: Span) -> LocalId {
        self.out.add_local(name, LocalTy::Scalar(ty), span)
    }

    /// The statements of a function; a value that it returns goes to `result`.
    fn function_body(&mut self, body: &Block, result: Option<LocalId>, out: &mut Block) {
        let outer = std::mem::take(&mut self.exits);
        self.exits.result = result;
        if body.iter().any(jumps::returns_early) {
            let span = body.first().map_or(Span::default(), |stmt| stmt.span);
            let done = self.fresh("done", ScalarTy::Bool, span);
            self.exits.done = Some(done);
            out.push(set_flag(done, false, span));
        }
        self.block(body, out);
        self.exits = outer;
    }

    fn block(&mut self, block: &[Stmt], out: &mut Block) {
        for (at, stmt) in block.iter().enumerate() {
            if self.stmt(stmt, out) {
                // What follows a jump is never reached.
                return;
            }
            if jumps::escapes(stmt) && at + 1 < block.len() {
                let Some(flag) = self.exits.gone() else { continue };
                let mut rest = Vec::new();
                self.block(&block[at + 1..], &mut rest);
                if !rest.is_empty() {
                    let gone = Expr::local(flag, ScalarTy::Bool, stmt.span);
                    out.push(when(jumps::not(gone), rest, Vec::new(), stmt.span));
                }
                return;
            }
        }
    }

    /// Copies a statement; true where nothing after it is reached.
    fn stmt(&mut self, stmt: &Stmt, out: &mut Block) -> bool {
        let span = stmt.span;
        let push = |out: &mut Block, kind| out.push(Stmt { kind, span });
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                let init = init.as_ref().map(|e| self.expr(e, out));
                if let Some(Expr { kind: ExprKind::Const(value), .. }) = &init
                    && self.once[local.index()]
                {
                    self.constants.insert(*local, *value);
                }
                push(out, StmtKind::Let { local: self.renamed(*local), init });
            }
            StmtKind::LetArray { local, array } => {
                push(out, StmtKind::LetArray { local: self.renamed(*local), array: self.array(*array) });
            }
            StmtKind::Assign { local, value } => {
                let value = self.expr(value, out);
                push(out, StmtKind::Assign { local: self.renamed(*local), value });
            }
            StmtKind::If { cond, then, otherwise } => {
                let cond = self.expr(cond, out);
                match cond.kind {
                    ExprKind::Const(Const::Bool(true)) => self.block(then, out),
                    ExprKind::Const(Const::Bool(false)) => self.block(otherwise, out),
                    _ => {
                        let (mut yes, mut no) = (Vec::new(), Vec::new());
                        self.block(then, &mut yes);
                        self.block(otherwise, &mut no);
                        out.push(when(cond, yes, no, span));
                    }
                }
            }
            StmtKind::For { .. } | StmtKind::While { .. } => self.looped(stmt, out),
            StmtKind::Break => self.exits.leave_loop(span, out),
            StmtKind::Continue => self.exits.next_round(span, out),
            StmtKind::Return(value) => {
                if let (Some(value), Some(local)) = (value, self.exits.result) {
                    let value = self.expr(value, out);
                    push(out, StmtKind::Assign { local, value });
                }
                self.exits.leave_function(span, out);
            }
            StmtKind::Tile(_) | StmtKind::StoreScalar { .. } => {
                let mut copy = stmt.clone();
                let mut before = Vec::new();
                walk::exprs_mut(&mut copy, &mut |e| *e = self.expr(e, &mut before));
                out.append(&mut before);
                out.push(copy);
            }
            StmtKind::Emit { .. }
            | StmtKind::Fence
            | StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::SetTile { .. }
            | StmtKind::SetExtent { .. } => {
                let message = "a statement of generators stands in a kernel".to_owned();
                self.report(codes::NOT_SUPPORTED, span, message, "move it to the generator");
            }
        }
        matches!(stmt.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_))
    }
}

/// Which variables get a value in one place.
fn assigned_once(function: &Function) -> Vec<bool> {
    let mut count = vec![0u32; function.locals.len()];
    count.iter_mut().take(function.params as usize).for_each(|n| *n = 1);
    walk::stmts(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Let { local, .. } | StmtKind::Assign { local, .. } => count[local.index()] += 1,
        // The variable of a loop has many values.
        StmtKind::For { var, .. } => count[var.index()] += 2,
        _ => {}
    });
    count.into_iter().map(|n| n == 1).collect()
}

fn when(cond: Expr, then: Block, otherwise: Block, span: Span) -> Stmt {
    Stmt { kind: StmtKind::If { cond, then, otherwise }, span }
}

fn set_flag(local: LocalId, value: bool, span: Span) -> Stmt {
    let value = Expr::new(ExprKind::Const(Const::Bool(value)), ScalarTy::Bool, span);
    Stmt { kind: StmtKind::Assign { local, value }, span }
}

/// An expression over parameters with what is known folded.
pub fn fold(module: &Verified, known: Known<'_>, e: &Expr) -> Expr {
    // They stand for themselves, and most are of these: no values of parameters are needed.
    if matches!(e.kind, ExprKind::Const(_) | ExprKind::Local(_)) {
        return e.clone();
    }
    let function = Function {
        name: String::new(),
        kind: FuncKind::Helper,
        params: 0,
        locals: Vec::new(),
        ret: None,
        body: Vec::new(),
        span: e.span,
    };
    let mut cx = Specialiser::new(module, &function, known);
    // Variables stand for themselves, whatever the function is.
    cx.expr(e, &mut Vec::new())
}
