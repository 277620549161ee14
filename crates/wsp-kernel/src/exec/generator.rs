//! Generators: compiled and run once per launch.

use super::code::CompiledFunction;
use super::compile::{Compiler, Role};
use super::engine::Runnable;
use super::host::GeneratorHost;
use super::vm::{self, Buffers, Vm};
use crate::{Env, Trap};
use wsp_core::FuncId;
use wsp_diag::Span;
use wsp_ir::{FuncKind, Module};

/// A generator in the form that runs.
#[derive(Debug)]
pub struct GeneratorCode {
    code: Runnable,
}

impl GeneratorCode {
    /// Compiles a generator against what a launch binds.
    ///
    /// # Errors
    /// When something it uses is not bound or an expression over parameters stops.
    pub fn compile(module: &Module, func: FuncId, env: &Env) -> Result<GeneratorCode, Trap> {
        match module.functions.get(func.index()).map(|f| (f.kind, f.span)) {
            Some((FuncKind::Generator { .. }, _)) => {}
            other => return Err(Trap::internal("not a generator", other.map_or(Span::default(), |f| f.1))),
        }
        let mut compiler = Compiler::new(module, env, Role::Generator);
        compiler.entry(func)?;
        Ok(GeneratorCode { code: Runnable::new(compiler.into_program(), env)? })
    }

    /// The code that the interpreter runs.
    pub(super) fn program(&self) -> &CompiledFunction {
        self.code.program()
    }

    #[cfg(test)]
    pub(crate) fn on(self, engine: crate::Engine) -> GeneratorCode {
        GeneratorCode { code: self.code.on(engine) }
    }

    /// Runs the generator; `env` is the one it was compiled with, `steps_limit` the loop iterations and calls it may take
    /// ([`wsp_core::limits::MAX_GENERATOR_STEPS`] of a usual run).
    ///
    /// # Errors
    /// When an operation cannot be done, the host refuses something, the limit is reached, or the host says that the run
    /// is cancelled.
    pub fn run(&self, env: &Env, host: &mut dyn GeneratorHost, steps_limit: u64) -> Result<(), Trap> {
        let (mut slots, mut buffers) = (Vec::new(), Buffers::default());
        let program = self.program();
        let frame = vm::frame(&mut slots, program.entry());
        let mut vm = Vm::new(program, env, &mut buffers, steps_limit);
        vm.host = Some(host);
        self.code.run(&mut vm, frame).map(drop)
    }
}
