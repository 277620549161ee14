//! The benchmarks: `cargo xtask bench NAME` builds and runs this program.
//!
//! * `decode`: how fast decode attention is, and how near to what the machine can read; other libraries beside it ([`peers`]).
//! * `aie`, `runtime`, `generate`, `isa`, `plan`, `sim`: see [`aie`], [`runtime`], [`generate`], [`isa`], [`plan`], [`sim`].
//!
//! Files, messages and signals are those of `wsp`, whose library this program uses.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "a program that reads files and clocks")]

mod aie;
mod args;
mod ceiling;
mod commands;
mod generate;
mod isa;
mod peers;
mod plan;
mod runtime;
mod sets;
mod sim;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    wsp_cli::program(commands::dispatch)
}
