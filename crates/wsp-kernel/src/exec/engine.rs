//! Which engine runs a program.

use super::cache::Shared;
use super::code::CompiledFunction;
use super::native::Native;
use super::trap::TOO_COMPLEX;
use super::vm::Vm;
use crate::{Engine, Env, Trap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wsp_diag::Span;

/// Steps that [`Engine::Auto`] interprets of a program before it compiles it. Compiling takes a few milliseconds, a step of the
/// interpreter a tenth of a microsecond: what runs shorter ends before the compiler would.
const INTERPRETED_STEPS: u64 = 20_000;

/// A program with what runs it.
#[derive(Debug)]
pub(crate) struct Runnable {
    program: CompiledFunction,
    engine: Engine,
    /// Arrays of the surroundings that it was compiled for: its array numbers are below this.
    arrays: usize,
    shared: Arc<Shared>,
}

impl Runnable {
    /// A program for the engine of `env`.
    ///
    /// # Errors
    /// [`Engine::Native`] is asked for and cannot have the program.
    pub(crate) fn new(program: CompiledFunction, env: &Env) -> Result<Runnable, Trap> {
        let engine = match env.engine {
            Engine::Auto if !Native::is_supported() => Engine::Interpreter,
            engine => engine,
        };
        let shared = env.code.entry(&program);
        if engine == Engine::Native && shared.compiled(&program).is_none() {
            let message = format!("{} cannot be compiled for this machine", program.entry().title);
            return Err(Trap::new(TOO_COMPLEX, message, Span::default())
                .note("run it with `--engine interpreter` or `--engine auto`"));
        }
        Ok(Runnable { program, engine, arrays: env.array_count(), shared })
    }

    /// For tests: the program on one engine, whatever it was made for.
    #[cfg(test)]
    pub(crate) fn on(self, engine: Engine) -> Runnable {
        if engine == Engine::Native {
            self.shared.compiled(&self.program).expect("the program should compile");
        }
        Runnable { engine, ..self }
    }

    /// The program.
    pub(crate) fn program(&self) -> &CompiledFunction {
        &self.program
    }

    /// Runs the program on slots from [`super::vm::frame`].
    pub(crate) fn run(&self, vm: &mut Vm<'_>, slots: &mut [u64]) -> Result<u64, Trap> {
        vm.start()?;
        if self.engine == Engine::Interpreter {
            return vm.interpret(slots);
        }
        match self.shared.native.get() {
            Some(Some(native)) => {
                if self.arrays != vm.env.array_count() {
                    return Err(Trap::internal("a run in other surroundings", Span::default()));
                }
                native.run(vm, slots)
            }
            Some(None) => vm.interpret(slots),
            None => {
                let result = vm.interpret(slots);
                let before = self.shared.steps.fetch_add(vm.steps, Ordering::Relaxed);
                // Whichever run crosses the line compiles; those beside it go on interpreting.
                if before < INTERPRETED_STEPS && before.saturating_add(vm.steps) >= INTERPRETED_STEPS {
                    self.shared.compiled(&self.program);
                }
                result
            }
        }
    }
}
