//! The command line of PTO-WSP: files, terminal, environment, made-up data, and the checks against references.
//!
//! **Invariant:** the only crate that touches files, environment, clocks for reporting, and the terminal.
//!
//! The binary `wsp` is [`main`]. The modules are public so that integration tests and the benchmarks share its files,
//! messages and engine.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this is the crate that reads files and clocks")]

pub mod args;
pub mod commands;
pub mod engine;
pub mod files;
pub mod graph;
pub mod interrupt;
pub mod machine;
pub mod report;
pub mod terminal;
pub mod unit;

pub use wsp_backend::KvLayout;

use std::process::ExitCode;

/// The program `wsp`: reads the command line, does what it says, and returns the exit code.
///
/// 0: done. 1: diagnostics were printed or a check failed. 2: the command line is wrong. 128 and the number of a signal: ended by
/// Ctrl-C, SIGTERM, SIGHUP or another one from outside, with nothing written.
pub fn main() -> ExitCode {
    program(commands::dispatch)
}

/// A program with the messages and signals of `wsp` and a command line of its own, which `run` is given. The exit codes are those of
/// [`main`].
pub fn program<C: clap::Parser>(run: impl FnOnce(C) -> commands::Outcome) -> ExitCode {
    interrupt::install();
    match args::parse(std::env::args_os()) {
        Ok(cli) => run(cli).into(),
        Err(error) => {
            let is_json = args::usage::wants_json(std::env::args_os());
            if error.use_stderr() && is_json {
                args::usage::report(&error);
                return ExitCode::from(2);
            }
            let printed = error.print();
            // A message that standard error does not take leaves its exit status.
            if !error.use_stderr() {
                args::usage::terminal(is_json).must_be_written(printed);
            }
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}
