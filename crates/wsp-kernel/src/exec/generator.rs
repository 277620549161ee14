//! Generators: compiled and run once per launch.

use super::code::Program;
use super::compile::{Compiler, Role};
use super::host::GeneratorHost;
use super::vm::{self, Vm};
use crate::{Env, Trap};
use wsp_core::FuncId;
use wsp_ir::{FuncKind, Module, Span};

/// A generator in the form that runs.
#[derive(Debug)]
pub struct GeneratorCode {
    program: Program,
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
        Ok(GeneratorCode { program: compiler.into_program() })
    }

    /// Runs the generator; `env` is the one it was compiled with, `steps_limit` the loop iterations and calls it may take
    /// ([`wsp_core::limits::MAX_GENERATOR_STEPS`] of a usual run).
    ///
    /// # Errors
    /// When an operation cannot be done, the host refuses something, the limit is reached, or the host says that the run
    /// is cancelled.
    pub fn run(&self, env: &Env, host: &mut dyn GeneratorHost, steps_limit: u64) -> Result<(), Trap> {
        let (mut slots, mut words) = (Vec::new(), Vec::new());
        let frame = vm::frame(&mut slots, self.program.entry());
        let mut vm = Vm::new(&self.program, env, &mut words, steps_limit);
        vm.host = Some(host);
        vm.run(frame).map(drop)
    }
}
