//! From IR functions to [`Code`].

mod effects;
mod expr;
mod stmt;
mod tiers;
mod tile;

pub(crate) use tile::value_bytes;

use super::asm::{Asm, Label, Operand};
use super::code::{Code, CompiledFunction, Op, Origin, What};
use super::tile_code::TileDecl;
use super::trap::{TOO_COMPLEX, UNBOUND};
use crate::{Env, Trap, Value};
use wsp_core::{FuncId, TensorId, limits};
use wsp_diag::Span;
use wsp_ir::{Expr, FuncKind, Function, Local, LocalTy, Module, ScalarTy};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Who runs the code, which decides what it may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Kernel,
    Generator,
    /// Expressions over descriptor fields and what is bound.
    Summary,
    /// Expressions over parameters, before anything else is bound.
    Launch,
}

/// Compiles one entry function with the helpers it calls.
pub(crate) struct Compiler<'a> {
    module: &'a Module,
    env: &'a Env,
    params: Params<'a>,
    role: Role,
    program: CompiledFunction,
    /// Compiled helpers; none while one is under way.
    helpers: OrderedMap<FuncId, Option<usize>>,
    /// Helpers under way.
    depth: u32,
    nesting: u32,
    pub(crate) tiles: Vec<TileDecl>,
    /// Bytes that their values take together.
    tile_bytes: u64,
    /// Tensors that the kernel stores to.
    pub(crate) stored: OrderedSet<TensorId>,
}

/// Values of parameters.
#[derive(Clone, Copy)]
pub(crate) enum Params<'a> {
    /// All of them.
    Known(&'a [Value]),
    /// Those that are known so far.
    SoFar(&'a [Option<Value>]),
}

impl Params<'_> {
    fn get(self, index: usize) -> Option<Value> {
        match self {
            Params::Known(values) => values.get(index).copied(),
            Params::SoFar(values) => values.get(index).copied().flatten(),
        }
    }
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(module: &'a Module, env: &'a Env, role: Role) -> Compiler<'a> {
        Compiler::with_params(module, env, Params::Known(&env.params), role)
    }

    pub(crate) fn with_params(
        module: &'a Module,
        env: &'a Env,
        params: Params<'a>,
        role: Role,
    ) -> Compiler<'a> {
        Compiler {
            module,
            env,
            params,
            role,
            program: CompiledFunction::default(),
            helpers: OrderedMap::new(),
            depth: 0,
            nesting: 0,
            tiles: Vec::new(),
            tile_bytes: 0,
            stored: OrderedSet::new(),
        }
    }

    /// Compiles a kernel or generator as the entry.
    pub(crate) fn entry(&mut self, id: FuncId) -> Result<(), Trap> {
        let Some(func) = self.module.functions.get(id.index()) else {
            return Err(Trap::internal(format!("function {} does not exist", id.0), Span::default()));
        };
        self.stored = tile::stored_tensors(&func.body);
        self.function(func).map(drop)
    }

    /// Compiles expressions as the entry; `finish` gets their operands.
    pub(crate) fn scalars(
        &mut self,
        build: impl FnOnce(&mut FnCompiler<'_, 'a>) -> Result<(), Trap>,
    ) -> Result<(), Trap> {
        let mut f = FnCompiler::new(self, &[], "expression".to_owned());
        build(&mut f)?;
        let code = f.finish(Span::default());
        self.program.funcs.push(code);
        Ok(())
    }

    pub(crate) fn into_program(self) -> CompiledFunction {
        self.program
    }

    fn function(&mut self, func: &'a Function) -> Result<usize, Trap> {
        let title = match func.kind {
            FuncKind::Kernel { .. } => format!("kernel `{}`", func.name),
            FuncKind::Generator { .. } => format!("generator `{}`", func.name),
            FuncKind::Helper => format!("function `{}`", func.name),
        };
        let mut f = FnCompiler::new(self, &func.locals, title);
        f.declare_locals()?;
        f.block(&func.body)?;
        if func.ret.is_some() {
            let trap = Trap::internal(format!("function `{}` ends without a value", func.name), func.span);
            f.stop(trap);
        }
        let code = f.finish(func.span);
        self.program.funcs.push(code);
        Ok(self.program.funcs.len() - 1)
    }

    /// The index of a helper's code.
    fn helper(&mut self, id: FuncId, span: Span) -> Result<usize, Trap> {
        match self.helpers.get(&id) {
            Some(Some(index)) => return Ok(*index),
            Some(None) => return Err(Trap::internal("a function calls itself", span)),
            None => {}
        }
        let func = self
            .module
            .functions
            .get(id.index())
            .filter(|f| f.kind == FuncKind::Helper && f.ret.is_some())
            .ok_or_else(|| Trap::internal("a call of something that is no helper function", span))?;
        if self.depth >= limits::MAX_NESTING {
            return Err(Trap::new(TOO_COMPLEX, format!("the call of `{}` nests too deep", func.name), span)
                .note(format!("functions may call each other {} deep", limits::MAX_NESTING)));
        }
        self.helpers.insert(id, None);
        self.depth += 1;
        let index = self.function(func)?;
        self.depth -= 1;
        self.helpers.insert(id, Some(index));
        Ok(index)
    }

    /// The value of an expression over parameters.
    fn launch_value(&self, expr: &Expr) -> Result<Value, Trap> {
        super::scalar::eval_with(self.module, self.env, self.params, expr)
    }
}

/// Where a local variable is.
#[derive(Clone, Copy, Debug)]
enum Home {
    Scalar(u32, ScalarTy),
    /// The slot holds the array's number, see [`Env::array`].
    Array(u32),
    Tile(usize),
    Descriptor,
}

/// A loop under construction.
#[derive(Default)]
struct Loop {
    breaks: Label,
    continues: Label,
}

/// Compiles one function.
pub(crate) struct FnCompiler<'c, 'a> {
    cx: &'c mut Compiler<'a>,
    locals: &'a [Local],
    homes: Vec<Home>,
    pub(crate) asm: Asm,
    loops: Vec<Loop>,
    /// What [`wsp_ir::ExprKind::Selector`] stands for.
    pub(crate) selector: Option<(Operand, ScalarTy)>,
    callee_slots: usize,
}

/// Deepest nesting of expressions, statements and calls together. Inlining nests deeper than the front end lets a user.
const MAX_DEPTH: u32 = 5 * limits::MAX_NESTING;

impl<'c, 'a> FnCompiler<'c, 'a> {
    fn new(cx: &'c mut Compiler<'a>, locals: &'a [Local], title: String) -> FnCompiler<'c, 'a> {
        let mut asm = Asm::default();
        asm.code.title = title;
        FnCompiler { cx, locals, homes: Vec::new(), asm, loops: Vec::new(), selector: None, callee_slots: 0 }
    }

    /// Gives every local its home. Parameters come first, so that arguments are the first slots of a frame.
    fn declare_locals(&mut self) -> Result<(), Trap> {
        for local in self.locals {
            let home = match &local.ty {
                LocalTy::Scalar(ty) => Home::Scalar(self.asm.slot(), *ty),
                LocalTy::Array(_) => Home::Array(self.asm.slot()),
                LocalTy::Descriptor(_) => Home::Descriptor,
                LocalTy::Tile(ty) => Home::Tile(self.declare_tile(local, ty)?),
            };
            self.homes.push(home);
        }
        Ok(())
    }

    fn home(&self, local: wsp_core::LocalId, span: Span) -> Result<Home, Trap> {
        self.homes
            .get(local.index())
            .copied()
            .ok_or_else(|| Trap::internal(format!("variable {} does not exist", local.0), span))
    }

    /// Ends the code: falling off the end returns.
    fn finish(mut self, span: Span) -> Code {
        let zero = self.asm.constant(0);
        self.emit(Op::Return, ScalarTy::Bool, 0, (zero.slot, 0), span, What::Plain);
        self.asm.code.depth_slots = self.asm.code.template.len() + self.callee_slots;
        self.asm.code
    }

    pub(crate) fn emit(&mut self, op: Op, ty: ScalarTy, dst: u32, ab: (u32, u32), span: Span, what: What) {
        self.asm.emit(op, ty, dst, ab, Origin { span, what });
    }

    /// Code that stops the run when reached.
    fn stop(&mut self, trap: Trap) {
        let span = trap.span;
        self.asm.code.traps.push(trap);
        let number = self.asm.code.traps.len() as u32 - 1;
        self.emit(Op::Stop, ScalarTy::Bool, 0, (number, 0), span, What::Plain);
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Result<T, Trap>) -> Result<T, Trap> {
        if self.cx.nesting >= MAX_DEPTH {
            return Err(Trap::new(TOO_COMPLEX, "the code nests too deep", span)
                .note(format!("expressions, statements and calls may nest {MAX_DEPTH} deep")));
        }
        self.cx.nesting += 1;
        let result = f(self);
        self.cx.nesting -= 1;
        result
    }

    fn require(&self, role: Role, what: &str, span: Span) -> Result<(), Trap> {
        if self.cx.role == role {
            return Ok(());
        }
        Err(Trap::internal(format!("{what} in a function that cannot do this ({:?})", self.cx.role), span))
    }
}

/// The trap for a tensor or cache that the launch left out.
fn unbound(kind: &str, name: &str, span: Span) -> Trap {
    Trap::new(UNBOUND, format!("{kind} `{name}` is not bound"), span)
}
