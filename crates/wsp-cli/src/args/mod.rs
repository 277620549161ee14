//! What can be typed.

mod graph;
mod programs;
mod run;
mod unit;
pub(crate) mod usage;
mod values;

pub(crate) use graph::{Emitted, GraphArgs, ReportArgs, SimArgs};
pub(crate) use programs::{
    AsmArgs, CheckArgs, DisasmArgs, DoctorArgs, EmitArgs, ExplainArgs, PlanArgs, TargetsArgs,
};
pub(crate) use run::RunArgs;
pub(crate) use unit::UnitArgs;
pub(crate) use values::EmitStage;
pub(crate) use values::{Cores, Stage};
pub use values::{Replayed, Setting, Words, engine, number, seed, words};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};
use values::{mode, named_file, setting};
use wsp_check::generate::{self, Pairs};
use wsp_kernel::{Engine, Mode};

/// Workloads, schedules and backends kept apart: compile, check and run `.pto` programs, `.wsp` workloads and `.tg` task graphs.
#[derive(Parser, Debug)]
#[command(name = "wsp", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) messages: MessageArgs,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// How messages are printed.
#[derive(Args, Debug)]
pub struct MessageArgs {
    /// How errors and warnings are printed
    #[arg(long, global = true, value_enum, display_order = 100, default_value_t = Format::Text)]
    pub(crate) error_format: Format,

    /// When errors and warnings are coloured
    #[arg(long, global = true, value_enum, display_order = 101, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// Reads the command line. A number below 0 is the value of the option before it, not an option.
pub(crate) fn parse<C: Parser>(
    words: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<C, clap::Error> {
    let mut command = numbers_below_0(C::command());
    let words: Vec<std::ffi::OsString> = words.into_iter().collect();
    let matches = command.try_get_matches_from_mut(&words);
    let matches = matches.map_err(|error| elsewhere(of_a_value(error, &words, &command)))?;
    C::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A value that begins with `-` behind the name of an option is taken for an option. No `--` before it helps, and none does before
/// the name of an option that the command does not have.
fn of_a_value(mut error: clap::Error, words: &[std::ffi::OsString], command: &clap::Command) -> clap::Error {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidArg) else { return error };
    let is_value = |pair: &&[std::ffi::OsString]| {
        let before = pair[0].to_string_lossy();
        before.strip_prefix("--").is_some_and(|long| takes_value(command, long)) && pair[1] == **value
    };
    let tip = words.windows(2).find(is_value).map(|pair| {
        format!("a value that begins with `-` is written with `=`: `{}={value}`", pair[0].to_string_lossy())
    });
    match (tip, error.kind()) {
        (Some(tip), ErrorKind::UnknownArgument) => {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        (None, ErrorKind::UnknownArgument) if value.starts_with("--") => {
            error.remove(ContextKind::Suggested);
        }
        _ => {}
    }
    error
}

/// Whether some command has an option with this name and a value.
fn takes_value(command: &clap::Command, long: &str) -> bool {
    let mut options = command.get_arguments().filter(|arg| arg.get_action().takes_values());
    options.any(|arg| arg.get_long() == Some(long))
        || command.get_subcommands().any(|inner| takes_value(inner, long))
}

/// The benchmarks are no command.
fn elsewhere(mut error: clap::Error) -> clap::Error {
    let is_bench =
        error.get(ContextKind::InvalidSubcommand) == Some(&ContextValue::String("bench".to_owned()));
    if is_bench {
        let tip = "benchmarks are a program of their own: `cargo xtask bench`";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn numbers_below_0(command: clap::Command) -> clap::Command {
    let takes = |arg: &clap::Arg| {
        let is_path = arg.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>();
        !arg.is_positional() && arg.get_action().takes_values() && !is_path
    };
    command
        .mut_args(|arg| if takes(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(numbers_below_0)
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compile a program, run it, and check what it gives
    Run(Box<RunArgs>),
    /// Compile programs and print what is wrong with them
    Check(CheckArgs),
    /// Print what would run: descriptors, tiers, workspace, balance
    Plan(Box<PlanArgs>),
    /// List the tasks of a program, a workload or a task graph and their dependences, or sum them up
    Graph(Box<GraphArgs>),
    /// Run a program or a workload in virtual time on a machine model, and tell what its tasks waited for
    Sim(Box<SimArgs>),
    /// Show a trace: when and where tasks ran, why each was late, and what is another in a second trace
    Report(ReportArgs),
    /// Assemble the text of a task graph, or of a program that generates tasks, and check it
    Asm(AsmArgs),
    /// Write a task graph, or kernels, as files for a target that runs elsewhere
    Emit(EmitArgs),
    /// Print a task graph, or a program that generates tasks, as text
    Disasm(DisasmArgs),
    /// Explain a diagnostic code, or list all of them
    Explain(ExplainArgs),
    /// Describe this machine as the program sees it, or measure a machine model of it
    Doctor(DoctorArgs),
    /// Print every limit and constant
    Config(JsonArgs),
    /// Print what each target does with each schedule primitive, each platform with each instruction of task graphs, or what a machine model says
    Targets(TargetsArgs),
}

impl Command {
    /// The file that it is about, of commands with one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Command::Run(args) => Some(&args.file),
            Command::Plan(args) => Some(&args.file),
            Command::Graph(args) => Some(&args.file),
            Command::Sim(args) => Some(&args.file),
            Command::Report(args) => Some(&args.file),
            Command::Asm(args) => Some(&args.file),
            Command::Disasm(args) => Some(&args.file),
            _ => None,
        }
    }

    /// How its result is printed.
    pub(crate) fn format(&self) -> Format {
        let json = match self {
            Command::Run(args) => return args.stats,
            Command::Plan(args) => args.json,
            Command::Graph(args) => args.json,
            Command::Sim(args) => args.json,
            Command::Targets(args) => args.json,
            Command::Doctor(args) => args.json,
            _ => false,
        };
        Format::of(json)
    }
}

/// When output is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    /// When it goes to a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How results, tables or messages are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// JSON objects; of messages, one per line
    Json,
}

impl Format {
    /// That of a command with `--json`.
    pub(crate) fn of(json: bool) -> Format {
        if json { Format::Json } else { Format::Text }
    }
}

/// A command that can print JSON.
#[derive(Args, Debug)]
pub(crate) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where data come from.
#[derive(Args, Clone, Debug)]
pub(crate) struct DataArgs {
    /// Arrays in one archive, by the names of tensors and tables, of `.pto` programs those of the host entry: q, kv.k, kv.indptr, …
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) inputs: Option<PathBuf>,

    /// One array; may be repeated
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = named_file)]
    pub(crate) input: Vec<(String, PathBuf)>,

    /// Pass over entries of --inputs and --input that nothing uses, if there are any
    #[arg(long)]
    pub(crate) allow_unused: bool,

    /// Make up this array, an output too, and no other that is not given unless --generate says so; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) fill: Vec<String>,

    /// Make up all arrays that are read and not given, beside those that --fill names, by KEY=VALUE pairs such as batch=16,len=4096 [without --inputs, --input and --fill: on, a ragged batch]
    #[arg(long, value_name = "SPEC", num_args = 0..=1, default_missing_value = "", value_parser = str::parse::<Pairs>, long_help = generate::HELP)]
    pub(crate) generate: Option<Pairs>,

    /// Seed of made-up data [1]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Whether only element types and shapes matter
    #[arg(skip)]
    pub(crate) forms: bool,
}

impl DataArgs {
    /// All arrays made up with the usual sizes and seed.
    pub(crate) fn made_up() -> DataArgs {
        let (input, fill) = (Vec::new(), Vec::new());
        DataArgs { inputs: None, input, allow_unused: false, fill, generate: None, seed: None, forms: false }
    }
}

/// How a program is launched.
#[derive(Args, Debug)]
pub struct LaunchArgs {
    /// Set a parameter of the program, or kv_layout (NHD, HND) or max_blocks; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<Setting>,

    /// Use this schedule instead of those the source applies
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,

    /// Instruction set of tile operations: auto, plain, portable, avx2, avx512, avx512_bf16, neon
    #[arg(long, value_name = "NAME", value_parser = mode)]
    pub isa: Option<Mode>,

    /// What runs scalar code: auto, interpreter, native
    #[arg(long, value_name = "NAME", value_parser = engine)]
    pub engine: Option<Engine>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use wsp_ir::workload::Deps;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// What `--help` says of `--target` of `check` and `emit`: each target that they take, by all of its names.
    #[test]
    fn helps_name_all_targets() {
        let help = |command: &str| {
            let cli = Cli::command();
            let of = cli
                .find_subcommand(command)
                .and_then(|of| of.get_arguments().find(|arg| arg.get_id() == "target"));
            of.and_then(|arg| arg.get_help()).map(ToString::to_string).unwrap_or_default()
        };
        let emitted = |name: &str| pto_wsp::registry().emitted(name).is_ok();
        for target in &wsp_plan::target::TARGETS {
            for name in [target.name].iter().chain(target.aliases) {
                assert!(help("check").contains(name), "check: {name}");
                assert_eq!(help("emit").contains(name), emitted(target.name), "emit: {name}");
            }
        }
    }

    #[test]
    fn a_list_without_a_file_goes_to_standard_output() {
        let parse = |args: &[&str]| match Cli::try_parse_from([&["wsp", "graph"], args].concat()) {
            Ok(Cli { command: Some(Command::Graph(args)), .. }) => args,
            other => panic!("{other:?}"),
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(parse(&["a.wsp", "--dot"]).dot, path("-"));
        assert_eq!(parse(&["a.wsp", "--dot", "a.dot", "--summary"]).dot, path("a.dot"));
        assert_eq!(parse(&["a.wsp", "--dot", "--summary"]).dot, path("-"));
        let args = parse(&["a.wsp", "--edges", "-", "--deps", "exact", "--set", "max_blocks=3"]);
        assert_eq!((args.edges, args.deps, args.dot), (path("-"), Some(Deps::Exact), None));
        assert_eq!(args.set, [Setting::MaxBlocks(3)]);
    }

    #[test]
    fn wrong_lists_and_values_are_refused() {
        for args in [
            &["--deps", "exact"][..],
            &["a.wsp", "--deps", "all"],
            &["a.wsp", "--tasks"],
            &["a.wsp", "--set", "seq"],
            &["a.wsp", "--set", "seq="],
            &["a.wsp", "--set", "=3"],
            &["a.wsp", "--set", "seq=long"],
            &["a.wsp", "--input", "lens"],
        ] {
            assert!(Cli::try_parse_from([&["wsp", "graph"], args].concat()).is_err(), "{args:?}");
        }
    }

    #[test]
    fn a_value_that_looks_like_an_option_is_told_how_it_is_written() {
        let said = |args: &[&str]| {
            let words = [&["wsp", "run", "a.pto"], args].concat().into_iter().map(Into::into);
            parse::<Cli>(words).unwrap_err().to_string()
        };
        assert!(said(&["--outputs", "-1"]).contains("`--outputs=-1`"), "{}", said(&["--outputs", "-1"]));
        assert!(!said(&["--nonsense"]).contains("is written with"));
        assert!(parse::<Cli>(["wsp", "run", "a.pto", "--outputs=-1"].into_iter().map(Into::into)).is_ok());
    }

    #[test]
    fn data_come_from_files_or_are_asked_for() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["wsp", "run", "a.pto"], args].concat());
        assert!(parse(&["--inputs", "a.npz", "--input", "q=q.npy"]).is_ok());
        assert!(parse(&["--generate", "batch=3", "--seed", "9"]).is_ok());
        assert!(parse(&["--inputs", "a.npz", "--generate"]).is_ok());
        assert!(parse(&["--inputs", "a.npz", "--fill", "q", "--fill", "k", "--seed", "3"]).is_ok());
        assert!(parse(&["--fill", "q", "--generate", "batch=3"]).is_ok());
        assert!(parse(&["--input", "q"]).is_err());
        assert!(parse(&["--threads", "0"]).is_err());
        assert!(parse(&["--check", "--no-check"]).is_err());
        let fault = parse(&["--generate", "batch"]).unwrap_err().to_string();
        assert!(fault.contains("has no value"), "{fault}");
    }
}
