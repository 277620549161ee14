//! Expressions outside of functions: over parameters, over descriptors, over selectors.

use super::code::{CompiledFunction, Op, What};
use super::compile::{Compiler, Params, Role};
use super::kernel::Scratch;
use super::vm::{self, Buffers, Vm};
use crate::{Env, Trap, Value};
use wsp_core::limits;
use wsp_core::words::counted;
use wsp_diag::Span;
use wsp_ir::{Expr, Module, ScalarTy};

/// The value of an expression over literals and parameters: an extent, a bound, a default, a size.
///
/// `params` holds what is known so far, by parameter; a missing tail counts as not known.
///
/// # Errors
/// When an operation cannot be done, a parameter is not known, or the expression needs more than parameters.
pub fn eval_launch_expr(module: &Module, expr: &Expr, params: &[Option<Value>]) -> Result<Value, Trap> {
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
    /// All expressions in one program, and the slots their values are left in.
    all: CompiledFunction,
    slots: Vec<u32>,
    /// Each as a program of its own, for when one of them stops: the others still have a value.
    each: Vec<(CompiledFunction, ScalarTy)>,
    /// Words that a descriptor must have.
    words: usize,
}

impl ScalarCode {
    /// Compiles expressions against what a launch binds.
    ///
    /// # Errors
    /// When something they use is not bound.
    pub fn compile(module: &Module, exprs: &[Expr], env: &Env) -> Result<ScalarCode, Trap> {
        let each = exprs
            .iter()
            .map(|expr| Ok((scalar_program(module, env, std::slice::from_ref(expr))?.0, expr.ty)))
            .collect::<Result<Vec<_>, Trap>>()?;
        let (all, slots) = scalar_program(module, env, exprs)?;
        let words = all.entry().fields.iter().map(|(field, _)| *field as usize + 1).max().unwrap_or(0);
        Ok(ScalarCode { all, slots, each, words })
    }

    /// Number of expressions.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
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
        let (program, ty) = &self.each[index];
        let (_, bits) = self.start(program, scratch, env, descriptor)?;
        Ok(Value::from_bits(*ty, bits))
    }

    /// Evaluates every expression for a descriptor; an expression that stops leaves `None` in its place, and
    /// [`ScalarCode::eval_one`] says why.
    ///
    /// # Panics
    /// When `out` is shorter than the number of expressions.
    pub fn eval(&self, scratch: &mut Scratch, env: &Env, descriptor: &[u32], out: &mut [Option<Value>]) {
        let out = &mut out[..self.each.len()];
        if let Ok((frame, _)) = self.start(&self.all, scratch, env, descriptor) {
            for ((out, slot), (_, ty)) in out.iter_mut().zip(&self.slots).zip(&self.each) {
                *out = Some(Value::from_bits(*ty, frame[*slot as usize]));
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

/// A program that leaves the values of expressions in slots and returns the last one.
fn scalar_program(module: &Module, env: &Env, exprs: &[Expr]) -> Result<(CompiledFunction, Vec<u32>), Trap> {
    let mut compiler = Compiler::new(module, env, Role::Summary);
    let mut slots = Vec::with_capacity(exprs.len());
    compiler.scalars(|f| {
        for expr in exprs {
            // Never released, so that no later expression takes the slot.
            slots.push(f.expr(expr, None)?.slot);
        }
        if let (Some(slot), Some(expr)) = (slots.last(), exprs.last()) {
            f.emit(Op::Return, expr.ty, 0, (*slot, 0), expr.span, What::Plain);
        }
        Ok(())
    })?;
    Ok((compiler.into_program(), slots))
}
