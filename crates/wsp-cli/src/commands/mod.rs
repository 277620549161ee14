//! One module per command.

mod asm;
mod cached;
mod check;
mod comparison;
mod data;
mod design;
mod disasm;
mod doctor;
mod emit;
mod emptiness;
mod empty;
mod explain;
pub mod fit;
mod given;
mod graph;
mod kernels;
mod kind;
mod listing;
mod measure;
mod models;
mod options;
mod outputs;
mod plan;
mod reference;
mod replay;
mod report;
mod run;
mod sequential;
mod sim;
mod tables;
mod unit;
mod verdict;
mod workload;

pub use comparison::compare;
pub use options::refuse;

use self::kind::{Kind, wrong_kind};
use crate::args::{Cli, Command, Format, LaunchArgs, MessageArgs, Setting};
use crate::engine::{Compiled, Options, Purpose};
use crate::files::{Filled, Output, keep_last, read_source};
use crate::terminal::Terminal;
use clap::CommandFactory as _;
use pto_wsp::catalog::to_json;
use pto_wsp::codes;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wsp_backend::KvLayout;
use wsp_core::ParamId;
use wsp_diag::{Diagnostic, Severity, SourceMap};
use wsp_ir::Module;
use wsp_kernel::{Engine, Mode};
use wsp_ordered::OrderedSet;
use wsp_plan::{ParamValue, params_of_launch};

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As asked.
    Done,
    /// Diagnostics were printed, or a check failed.
    Failed,
    /// Options contradict each other, which was printed.
    Refused,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::FAILURE,
            Outcome::Refused => ExitCode::from(2),
        }
    }
}

/// What every command needs.
pub struct Session {
    /// Where output goes.
    pub terminal: Terminal,
    /// Source files so far.
    pub sources: SourceMap,
    /// How the result is printed.
    format: Format,
    /// Whether it has been printed.
    has_result: Cell<bool>,
    /// What becomes of warnings.
    warnings: Warnings,
    /// Warnings that were reported as errors.
    denied: RefCell<Vec<Diagnostic>>,
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
    let Some(command) = cli.command else {
        Terminal::new(&cli.messages).print(&format!("{}\n", Cli::command().render_long_help()));
        return Outcome::Done;
    };
    let mut session = Session::new(&cli.messages, command.format());
    let result = set_once(settings(&command)).map_err(|fault| vec![fault]);
    let result = result.and_then(|()| command.file().map_or(Ok(()), empty::refuse));
    let result = result.and_then(|()| session.run(command));
    result.unwrap_or_else(|faults| session.fail(&faults))
}

/// The names that `--set` gives values.
fn settings(command: &Command) -> Vec<&str> {
    match command {
        Command::Run(args) => args.launch.set.iter().map(Setting::name).collect(),
        Command::Plan(args) => args.launch.set.iter().map(Setting::name).collect(),
        Command::Graph(args) => args.set.iter().map(Setting::name).collect(),
        Command::Sim(args) => args.set.iter().map(Setting::name).collect(),
        Command::Check(args) => args.set.iter().map(Setting::name).collect(),
        Command::Emit(args) => args.set.iter().map(Setting::name).collect(),
        _ => Vec::new(),
    }
}

/// Refuses a value that is set twice.
///
/// # Errors
/// For the first name that is there before.
pub fn set_once<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Diagnostic> {
    let mut known = OrderedSet::new();
    match names.into_iter().find(|name| !known.insert(*name)) {
        None => Ok(()),
        Some(name) => {
            let fault = Diagnostic::error(codes::TWICE_GIVEN, format!("`{name}` is set twice"));
            Err(fault.help(format!("keep one `--set {name}=…`")))
        }
    }
}

impl Session {
    /// A session that has read nothing yet.
    pub fn new(messages: &MessageArgs, format: Format) -> Session {
        Session {
            terminal: Terminal::new(messages),
            sources: SourceMap::default(),
            format,
            has_result: Cell::new(false),
            warnings: Warnings::Shown,
            denied: RefCell::default(),
        }
    }

    fn run(&mut self, command: Command) -> Result<Outcome, Vec<Diagnostic>> {
        match command {
            Command::Run(args) => run::run(self, &args),
            Command::Check(args) => check::check(self, &args),
            Command::Plan(args) => plan::plan(self, &args),
            Command::Graph(args) => graph::graph(self, &args),
            Command::Sim(args) => sim::sim(self, &args),
            Command::Report(args) => report::report(self, &args),
            Command::Asm(args) => asm::asm(self, &args),
            Command::Emit(args) => emit::emit(self, &args),
            Command::Disasm(args) => disasm::disasm(self, &args),
            Command::Explain(args) => explain::explain(&self.terminal, &args),
            Command::Doctor(args) => doctor::doctor(&self.terminal, &args),
            Command::Config(args) => tables::config(&self.terminal, &args),
            Command::Targets(args) => match &args.model {
                Some(named) => models::print(self, named, &args),
                None => tables::targets(&self.terminal, &args),
            },
        }
    }

    /// Reads and compiles a program; prints its warnings.
    ///
    /// # Errors
    /// What is wrong with the file or the source.
    pub fn compile(&mut self, path: &Path) -> Result<Compiled, Vec<Diagnostic>> {
        match Kind::of(path) {
            kind if kind.is_tasks() => return Err(vec![workload::not_a_program(path)]),
            Kind::Program => {}
            // What is not there, or is a folder, is told by who reads it.
            Kind::Unknown if !path.is_file() => {}
            kind => return Err(vec![wrong_kind(path, kind, "`.pto` programs")]),
        }
        let text = read_source(path).map_err(|fault| vec![fault])?;
        self.compile_text(&path.display().to_string(), text, Purpose::Program)
    }

    /// Reads and compiles a program that is to be launched; prints its warnings.
    ///
    /// # Errors
    /// What is wrong with the file or the source, values that nothing reads, kernels of task graphs alone.
    fn launched(&mut self, path: &Path, launch: &LaunchArgs) -> Result<Module, Vec<Diagnostic>> {
        let module = self.compile(path)?.module;
        refuse_unread(&module, launch)?;
        kind::refuse_entries(path, &module).map_err(|fault| vec![fault])?;
        Ok(module)
    }

    /// Compiles a program; prints its warnings.
    ///
    /// # Errors
    /// What is wrong with the source.
    pub fn compile_text(
        &mut self,
        name: &str,
        text: String,
        purpose: Purpose,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let compiled = crate::engine::compile_for(&mut self.sources, name, &text, purpose);
        let compiled =
            compiled.map_err(|faults| kind::workload_in_a_program(name, &text).unwrap_or(faults))?;
        self.warn(&compiled.warnings);
        Ok(compiled)
    }

    /// Writes statistics to a file that was tried before, where there is one, as the last thing that a command does.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn keep_stats(&self, to: Option<Output>, stats: &Value) -> Result<Outcome, Vec<Diagnostic>> {
        let filled = to.map(|output| output.fill_text(&format!("{stats:#}\n"))).transpose();
        self.keep([filled.map_err(|fault| vec![fault])?])
    }

    /// Prints the result. For machines it holds every fault, for each of which the exit status is not 0.
    fn print(&self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value, faults: &[Diagnostic]) {
        self.has_result.set(true);
        if self.format == Format::Text {
            return self.terminal.print(&text());
        }
        let mut report = json();
        let denied = self.denied.borrow();
        report["errors"] = denied.iter().chain(faults).map(|fault| to_json(fault, &self.sources)).collect();
        self.terminal.print_json(&report);
    }

    /// Reports what has stopped a command. A result for machines that is not printed yet is the list of errors alone.
    pub fn fail(&self, faults: &[Diagnostic]) -> Outcome {
        self.terminal.report(faults, &self.sources);
        if self.format == Format::Json && !self.has_result.get() {
            self.print(String::new, || json!({}), faults);
        }
        let contradicts = |fault: &Diagnostic| fault.code == codes::OPTIONS_CONTRADICT;
        if faults.iter().any(contradicts) { Outcome::Refused } else { Outcome::Failed }
    }

    /// Gives files that are complete their names, as the last thing that a command does.
    fn keep(&self, outputs: impl IntoIterator<Item = Option<Filled>>) -> Result<Outcome, Vec<Diagnostic>> {
        self.keep_after(&[], outputs)
    }

    /// Reports what is wrong, and then gives files that are complete their names, as the last thing that a command does: what
    /// reads the report may be slow, and until the files have their names a signal ends the program with nothing written.
    fn keep_after(
        &self,
        faults: &[Diagnostic],
        outputs: impl IntoIterator<Item = Option<Filled>>,
    ) -> Result<Outcome, Vec<Diagnostic>> {
        self.terminal.report(faults, &self.sources);
        keep_last(outputs.into_iter().flatten().collect()).map_err(|fault| vec![fault])?;
        Ok(if faults.is_empty() { Outcome::Done } else { Outcome::Failed })
    }

    /// The source files that were read, and those that they include.
    fn source_files(&self) -> Vec<PathBuf> {
        self.sources.names().map(PathBuf::from).collect()
    }

    /// Whether `--strict` has taken a warning for an error.
    fn is_denied(&self) -> bool {
        !self.denied.borrow().is_empty()
    }

    /// Stops before the work where `--strict` has taken a warning for an error: what is not sure to be right is not begun.
    ///
    /// # Errors
    /// No more than what has been reported.
    fn refuse_denied(&self) -> Result<(), Vec<Diagnostic>> {
        if self.is_denied() { Err(Vec::new()) } else { Ok(()) }
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
        }
        self.terminal.report(&reported, &self.sources);
        reported.retain(Diagnostic::is_error);
        self.denied.borrow_mut().append(&mut reported);
    }
}

/// Tries the file of an option, before the work whose results it takes.
///
/// # Errors
/// When it could not be written.
pub fn tried(path: Option<&PathBuf>) -> Result<Option<Output>, Vec<Diagnostic>> {
    path.map(|path| Output::data_at(path)).transpose().map_err(|fault| vec![fault])
}

/// Options of a launch as typed.
pub fn launch_options(launch: &LaunchArgs, threads: u32) -> Options {
    let (mode, engine) = machine(launch);
    let mut options = Options {
        threads,
        schedule: launch.schedule.clone(),
        set: params(launch),
        mode,
        engine,
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

/// Why a program takes no options of kernels of files.
const NO_KERNEL_OF_A_FILE: &str = "has no meaning: no kernel comes from a `.pto` file";

/// Refuses options that only kernels of files have; `why` goes on from the name of the first.
fn refuse_machine_options(launch: &LaunchArgs, why: &str) -> Result<(), Diagnostic> {
    let given = [("--isa", launch.isa.is_some()), ("--engine", launch.engine.is_some())];
    options::refuse(&given, why)
}

/// How tile operations of kernels of files are computed, and what runs their scalar code.
fn machine(launch: &LaunchArgs) -> (Mode, Engine) {
    (launch.isa.unwrap_or_default(), launch.engine.unwrap_or_default())
}

/// Refuses values of parameters that a program declares and that its launch never reads.
fn refuse_unread(module: &Module, launch: &LaunchArgs) -> Result<(), Vec<Diagnostic>> {
    if module.entry.is_none() {
        return Ok(());
    }
    let read = params_of_launch(module);
    let is_unread = |name: &str| {
        let mut named = (0..module.params.len()).map(|at| ParamId(at as u32));
        named.find(|id| module.user_names(*id).any(|user| user == name)).is_some_and(|id| !read.contains(&id))
    };
    let faults = params(launch).into_iter().filter(|(name, _)| is_unread(name));
    let faults: Vec<Diagnostic> = faults.map(|(name, _)| options::unread_value(&name)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Values of parameters as typed.
fn params(launch: &LaunchArgs) -> Vec<(String, ParamValue)> {
    let params = launch.set.iter().filter_map(|setting| match setting {
        Setting::Param(name, value) => Some((name.clone(), *value)),
        Setting::Layout(_) | Setting::MaxBlocks(_) => None,
    });
    params.collect()
}

/// Every setting as a name and a value.
///
/// # Errors
/// An order of heads and tokens, which the program does not have: `why` goes on from the option.
fn named(settings: &[Setting], why: &str) -> Result<Vec<(String, ParamValue)>, Diagnostic> {
    let value = |setting: &Setting| match setting {
        Setting::Param(name, value) => Ok((name.clone(), *value)),
        Setting::MaxBlocks(n) => Ok(("max_blocks".to_owned(), ParamValue::Int((*n).into()))),
        Setting::Layout(_) => Err(options::refused("--set kv_layout=…", why)),
    };
    settings.iter().map(value).collect()
}

/// The page layout that `--set kv_layout=…` asks for.
pub fn asked_layout(launch: &LaunchArgs) -> Option<KvLayout> {
    launch.set.iter().rev().find_map(|s| if let Setting::Layout(layout) = s { Some(*layout) } else { None })
}
