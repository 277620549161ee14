//! One module per command.

mod asm;
mod bench;
mod bench_generate;
mod bench_isa;
mod bench_peers;
mod bench_plan;
mod bench_runtime;
mod check;
mod data;
mod disasm;
mod doctor;
mod explain;
mod graph;
mod kind;
mod peers;
mod plan;
mod run;
mod tables;
mod unit;
mod workload;

use self::kind::{Kind, wrong_kind};
use crate::args::{BenchCommand, Cli, Command, LaunchArgs, Setting};
use crate::codes;
use crate::engine::{Options, Purpose};
use crate::files::read_source;
use crate::interrupt::{self, Interrupt};
use crate::layout::Layout;
use crate::terminal::Terminal;
use clap::CommandFactory as _;
use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_ir::diag::{Diagnostic, Severity};
use wsp_ir::{Module, SourceMap};
use wsp_plan::ParamValue;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// As asked.
    Done,
    /// Diagnostics were printed, or a check failed.
    Failed,
    /// By Ctrl-C.
    Interrupted,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::FAILURE,
            Outcome::Interrupted => ExitCode::from(interrupt::EXIT_CODE),
        }
    }
}

/// What every command needs.
pub(crate) struct Session {
    /// Where output goes.
    pub(crate) terminal: Terminal,
    /// Source files so far.
    pub(crate) sources: SourceMap,
    /// What Ctrl-C does.
    pub(crate) interrupt: Interrupt,
    /// What becomes of warnings.
    warnings: Warnings,
    /// Whether a warning was reported as an error.
    denied: Cell<bool>,
}

/// What becomes of warnings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Warnings {
    /// They are printed.
    Shown,
    /// They are printed as errors.
    Errors,
}

/// Runs what was typed.
pub(crate) fn dispatch(cli: Cli) -> Outcome {
    let terminal = Terminal::new(cli.error_format, cli.color);
    let Some(command) = cli.command else {
        terminal.print(&format!("{}\n", Cli::command().render_long_help()));
        return Outcome::Done;
    };
    let mut session = Session {
        terminal,
        sources: SourceMap::default(),
        interrupt: Interrupt::install(),
        warnings: Warnings::Shown,
        denied: Cell::new(false),
    };
    let result = match command {
        Command::Run(args) => run::run(&mut session, &args),
        Command::Check(args) => check::check(&mut session, &args),
        Command::Plan(args) => plan::plan(&mut session, &args),
        Command::Graph(args) => graph::graph(&mut session, &args),
        Command::Asm(args) => asm::asm(&mut session, &args),
        Command::Disasm(args) => disasm::disasm(&mut session, &args),
        Command::Explain(args) => explain::explain(&session.terminal, &args),
        Command::Doctor(args) => doctor::doctor(&session.terminal, &args),
        Command::Bench(BenchCommand::Decode(args)) => bench::decode(&mut session, &args),
        Command::Bench(BenchCommand::Generate(args)) => bench_generate::generate(&mut session, &args),
        Command::Bench(BenchCommand::Isa(args)) => bench_isa::isa(&mut session, &args),
        Command::Bench(BenchCommand::Plan(args)) => bench_plan::plan(&mut session, &args),
        Command::Bench(BenchCommand::Runtime(args)) => bench_runtime::runtime(&mut session, &args),
        Command::Config(args) => tables::config(&session.terminal, &args),
        Command::Targets(args) => tables::targets(&session.terminal, &args),
    };
    result.unwrap_or_else(|diagnostics| {
        session.terminal.report(&diagnostics, &session.sources);
        if session.interrupt.pressed() { Outcome::Interrupted } else { Outcome::Failed }
    })
}

impl Session {
    /// Reads and compiles a program; prints its warnings.
    fn compile(&mut self, path: &Path) -> Result<Module, Vec<Diagnostic>> {
        match Kind::of(path) {
            Kind::Workload => return Err(vec![workload::not_a_program(path)]),
            Kind::Program | Kind::Unknown => {}
            kind => return Err(vec![wrong_kind(path, kind, "`.pto` programs")]),
        }
        let text = read_source(path).map_err(|fault| vec![fault])?;
        self.compile_text(&path.display().to_string(), text, Purpose::Program)
    }

    /// Compiles a program; prints its warnings.
    fn compile_text(
        &mut self,
        name: &str,
        text: String,
        purpose: Purpose,
    ) -> Result<Module, Vec<Diagnostic>> {
        let compiled = crate::engine::compile_for(&mut self.sources, name, &text, purpose)?;
        self.warn(&compiled.warnings);
        Ok(compiled.module)
    }

    fn warn(&self, warnings: &[Diagnostic]) {
        if warnings.is_empty() {
            return;
        }
        if self.warnings == Warnings::Shown {
            return self.terminal.report(warnings, &self.sources);
        }
        let mut reported = warnings.to_vec();
        for diagnostic in reported.iter_mut().filter(|d| d.severity == Severity::Warning) {
            diagnostic.severity = Severity::Error;
            diagnostic.notes.push("a warning, which `--strict` takes for an error".to_owned());
            self.denied.set(true);
        }
        self.terminal.report(&reported, &self.sources);
    }
}

/// Options of a launch as typed.
fn options(launch: &LaunchArgs, threads: u32, cancel: Arc<AtomicBool>) -> Options {
    let mut options = Options {
        threads,
        schedule: launch.schedule.clone(),
        cancel,
        set: params(launch),
        mode: launch.isa.unwrap_or_default(),
        engine: launch.engine.unwrap_or_default(),
        ..Options::default()
    };
    for setting in &launch.set {
        match setting {
            Setting::Layout(layout) => options.layout = *layout,
            Setting::MaxBlocks(n) => options.max_blocks = Some(*n),
            Setting::Param(..) => {}
        }
    }
    options
}

/// Refuses options that only the kernels of a `.pto` program have.
fn refuse_machine_options(launch: &LaunchArgs) -> Result<(), Diagnostic> {
    let given = [("--isa", launch.isa.is_some()), ("--engine", launch.engine.is_some())];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(Diagnostic::error(codes::OPTION_OF_OTHERS, format!("`{option}` is for `.pto` programs"))
                .help(format!("leave out `{option}`")))
        }
        None => Ok(()),
    }
}

/// Values of parameters as typed.
fn params(launch: &LaunchArgs) -> Vec<(String, ParamValue)> {
    let params = launch.set.iter().filter_map(|setting| match setting {
        Setting::Param(name, value) => Some((name.clone(), *value)),
        Setting::Layout(_) | Setting::MaxBlocks(_) => None,
    });
    params.collect()
}

/// The page layout that `--set kv_layout=…` asks for.
fn asked_layout(launch: &LaunchArgs) -> Option<Layout> {
    launch.set.iter().rev().find_map(|s| if let Setting::Layout(layout) = s { Some(*layout) } else { None })
}
