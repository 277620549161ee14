//! Expressions outside of functions: over parameters, over descriptors, over selectors.

use super::code::{CompiledFunction, Inst, Op, Origin, What};
use super::compile::{Compiler, Params, Role};
use super::kernel::Scratch;
use super::vm::{self, Buffers, Vm};
use crate::{Env, Trap, Value};
use std::sync::OnceLock;
use wsp_core::limits;
use wsp_core::words::counted;
use wsp_diag::Span;
use wsp_ir::{Expr, ExprKind, Module, ScalarTy};

/// The value of an expression over literals and parameters: an extent, a bound, a default, a size.
///
/// `params` holds what is known so far, by parameter; a missing tail counts as not known.
///
/// # Errors
/// When an operation cannot be done, a parameter is not known, or the expression needs more than parameters.
pub fn eval_launch_expr(module: &Module, expr: &Expr, params: &[Option<Value>]) -> Result<Value, Trap> {
    // Most are one parameter.
    if let ExprKind::Param(id) = expr.kind
        && let Some(Some(value)) = params.get(id.index())
        && value.ty() == expr.ty
    {
        return Ok(*value);
    }
    let env = Env::new(module, Vec::new());
    eval_with(module, &env, Params::SoFar(params), expr)
}

/// The value of an expression over parameters.
pub(crate) fn eval_with(module: &Module, env: &Env, params: Params<'_>, expr: &Expr) -> Result<Value, Trap> {
    let mut compiler = Compiler::with_params(module, env, params, Role::Launch);
    compiler.scalars(|f| {
        let value = f.expr(expr, None)?;
        f.emit(Op::Return, expr.ty, 0, (value.slot, 0), expr.span, What::Plain);
        Ok(())
    })?;
    let program = compiler.into_program();
    let (mut slots, mut buffers) = (Vec::new(), Buffers::default());
    let frame = vm::frame(&mut slots, program.entry());
    let bits = interpret(&mut Vm::new(&program, env, &mut buffers, limits::MAX_GENERATOR_STEPS), frame)?;
    Ok(Value::from_bits(expr.ty, bits))
}

/// Expressions over the fields of a descriptor, as access summaries have them: [`wsp_ir::ExprKind::Field`] of any local
/// is a word of the descriptor. Parameters, bound arrays and launch-known axes may occur too.
#[derive(Debug)]
pub struct ScalarCode {
    /// All expressions in one program, one after the other.
    all: CompiledFunction,
    parts: Vec<Part>,
    /// Each as a program of its own, for when one of them stops: the others still have a value.
    each: OnceLock<Vec<CompiledFunction>>,
    /// Words that a descriptor must have.
    words: usize,
}

/// One of the expressions of a program.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Position of its first instruction.
    start: u32,
    /// The slot that its value is left in.
    slot: u32,
    ty: ScalarTy,
    span: Span,
}

impl ScalarCode {
    /// Compiles expressions against what a launch binds.
    ///
    /// # Errors
    /// When something they use is not bound.
    pub fn compile<'e>(
        module: &'e Module,
        exprs: impl IntoIterator<Item = &'e Expr>,
        env: &'e Env,
    ) -> Result<ScalarCode, Trap> {
        let mut compiler = Compiler::new(module, env, Role::Summary);
        let mut parts: Vec<Part> = Vec::new();
        compiler.scalars(|f| {
            for expr in exprs {
                // No instruction of the expression before is changed for this one: each also runs alone.
                let start = f.asm.here();
                // The slot is never released, so that no later expression takes it.
                let slot = f.expr(expr, None)?.slot;
                parts.push(Part { start, slot, ty: expr.ty, span: expr.span });
            }
            Ok(())
        })?;
        let all = compiler.into_program();
        let words = all.entry().fields.iter().map(|(field, _)| *field as usize + 1).max().unwrap_or(0);
        Ok(ScalarCode { all, parts, each: OnceLock::new(), words })
    }

    /// The program that goes to an expression and returns its value.
    fn alone(&self, index: usize) -> CompiledFunction {
        let Part { start, slot, ty, span } = self.parts[index];
        let mut program = self.all.clone();
        let Some(code) = program.funcs.last_mut() else { return program };
        // The last expression ends at the return of all.
        let end = self.parts.get(index + 1).map_or(code.insts.len() - 1, |next| next.start as usize);
        code.insts[end] = Inst { op: Op::Return, ty, dst: 0, a: slot, b: 0 };
        code.origins[end] = Origin { span, what: What::Plain };
        if start > 0 {
            code.insts[0] = Inst { op: Op::Jump, ty: ScalarTy::Bool, dst: 0, a: 0, b: start };
        }
        program
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Evaluates expression number `index` for a descriptor. `env` is the one it was compiled with.
    ///
    /// # Errors
    /// When an operation cannot be done.
    ///
    /// # Panics
    /// When there is no such expression.
    pub fn eval_one(
        &self,
        index: usize,
        scratch: &mut Scratch,
        env: &Env,
        descriptor: &[u32],
    ) -> Result<Value, Trap> {
        let each = self.each.get_or_init(|| (0..self.parts.len()).map(|index| self.alone(index)).collect());
        let (_, bits) = self.start(&each[index], scratch, env, descriptor)?;
        Ok(Value::from_bits(self.parts[index].ty, bits))
    }

    /// Evaluates every expression for a descriptor; an expression that stops leaves `None` in its place, and
    /// [`ScalarCode::eval_one`] says why.
    ///
    /// # Panics
    /// When `out` is shorter than the number of expressions.
    pub fn eval(&self, scratch: &mut Scratch, env: &Env, descriptor: &[u32], out: &mut [Option<Value>]) {
        let out = &mut out[..self.parts.len()];
        if let Ok((frame, _)) = self.start(&self.all, scratch, env, descriptor) {
            for (out, part) in out.iter_mut().zip(&self.parts) {
                *out = Some(Value::from_bits(part.ty, frame[part.slot as usize]));
            }
            return;
        }
        for (index, out) in out.iter_mut().enumerate() {
            *out = self.eval_one(index, scratch, env, descriptor).ok();
        }
    }

    /// Runs a program on a descriptor; gives its frame and what it returned.
    fn start<'s>(
        &self,
        program: &CompiledFunction,
        scratch: &'s mut Scratch,
        env: &Env,
        descriptor: &[u32],
    ) -> Result<(&'s [u64], u64), Trap> {
        if descriptor.len() < self.words {
            let message =
                format!("a descriptor of {}, not {}", counted(descriptor.len(), "word"), self.words);
            return Err(Trap::internal(message, Span::default()));
        }
        let entry = program.entry();
        let Scratch { slots, buffers, .. } = scratch;
        let frame = vm::frame(slots, entry);
        for (field, slot) in &entry.fields {
            frame[*slot as usize] = u64::from(descriptor[*field as usize]);
        }
        let bits = interpret(&mut Vm::new(program, env, buffers, env.kernel_steps), frame)?;
        Ok((frame, bits))
    }
}

/// Runs expressions: they are too short to be compiled for the machine.
fn interpret(vm: &mut Vm<'_>, frame: &mut [u64]) -> Result<u64, Trap> {
    vm.start()?;
    vm.interpret(frame)
}
