//! What can be typed.

use crate::generate::{self, Pairs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use wsp_plan::ParamValue;

/// Workloads, schedules and backends kept apart: compile, check and run `.pto` programs.
#[derive(Parser, Debug)]
#[command(name = "wsp", version, max_term_width = 110)]
pub(crate) struct Cli {
    /// How errors and warnings are printed
    #[arg(long, global = true, value_enum, display_order = 100, default_value_t = ErrorFormat::Text)]
    pub(crate) error_format: ErrorFormat,

    /// When errors and warnings are coloured
    #[arg(long, global = true, value_enum, display_order = 101, default_value_t = Color::Auto)]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
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
    /// List the tasks of a workload and their dependences, or sum them up
    Graph(Box<GraphArgs>),
    /// Assemble the text of a program that generates tasks, and check it
    Asm(AsmArgs),
    /// Print a program that generates tasks as text
    Disasm(DisasmArgs),
    /// Explain a diagnostic code, or list all of them
    Explain(ExplainArgs),
    /// Describe this machine as the program sees it
    Doctor(JsonArgs),
    /// Measure
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print every limit and constant
    Config(JsonArgs),
    /// Print what each target does with each schedule primitive
    Targets(JsonArgs),
}

/// How errors and warnings are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ErrorFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
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

/// How the summary is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StatsFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

/// A command that can print JSON.
#[derive(Args, Debug)]
pub(crate) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where data come from.
#[derive(Args, Debug)]
pub(crate) struct DataArgs {
    /// Arrays in one archive, named as the parameters of the host entry: q, kv.k, kv.indptr, …
    #[arg(long, value_name = "FILE.npz", conflicts_with = "generate")]
    pub(crate) inputs: Option<PathBuf>,

    /// One array; may be repeated, and takes precedence over --inputs
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = named_file, conflicts_with = "generate")]
    pub(crate) input: Vec<(String, PathBuf)>,

    /// Make data up: KEY=VALUE pairs, such as batch=16,len=4096 [plain run: a ragged batch]
    #[arg(long, value_name = "SPEC", value_parser = str::parse::<Pairs>, long_help = generate::HELP)]
    pub(crate) generate: Option<Pairs>,

    /// Seed of made-up data
    #[arg(long, value_name = "N", default_value_t = generate::DEFAULT_SEED, conflicts_with_all = ["inputs", "input"])]
    pub(crate) seed: u64,
}

/// How a program is launched.
#[derive(Args, Debug)]
pub(crate) struct LaunchArgs {
    /// Set a parameter of the program, or kv_layout (NHD, HND) or max_blocks; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// Use this schedule instead of those the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,
}

/// `wsp run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The program
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Write the outputs to an archive (bf16 as uint16)
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) outputs: Option<PathBuf>,

    /// Worker threads [one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,

    /// Compare the outputs with the program's PTO_REFERENCE in f64, or with a plain sequential run [made-up data: on]
    #[arg(long, overrides_with = "no_check")]
    pub(crate) check: bool,

    /// Do not compare
    #[arg(long, overrides_with = "check")]
    pub(crate) no_check: bool,

    /// How the summary is printed
    #[arg(long, value_enum, default_value_t = StatsFormat::Text)]
    pub(crate) stats: StatsFormat,

    /// Let so many AICPUs generate the tasks of a workload, each its own, and issue them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=32))]
    pub(crate) aicpus: Option<u16>,

    /// Who makes the tasks of a workload [with --aicpus: bytecode, else host]
    #[arg(long, value_enum)]
    pub(crate) expand: Option<ExpandArg>,

    /// Write when and where each task of a workload ran, for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
}

/// Who makes the tasks of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ExpandArg {
    /// The host, which hands over tasks
    Host,
    /// AICPUs, which the host hands a program (one AICPU, unless --aicpus says otherwise)
    Bytecode,
}

/// `wsp check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The programs
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// `wsp plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The program
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Print JSON, with every descriptor
    #[arg(long)]
    pub(crate) json: bool,

    /// Print what a device would be given: the bytes of a workload's program, beside those of a list of its tasks
    #[arg(long, conflicts_with_all = ["limit", "seed"])]
    pub(crate) bytes: bool,

    /// AICPUs of --bytes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 8, requires = "bytes")]
    pub(crate) aicpus: u16,

    /// Descriptors printed
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

/// `wsp graph`.
#[derive(Args, Debug)]
pub(crate) struct GraphArgs {
    /// The workload
    pub(crate) file: PathBuf,

    /// How dependences are found [what the schedule says, else overlap]
    #[arg(long, value_enum)]
    pub(crate) deps: Option<DepsArg>,

    /// Write the tasks: task_id,kernel_name,is_cube (`-` for standard output, as for the other lists)
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) tasks: Option<PathBuf>,

    /// Write the edges: src,dst
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) edges: Option<PathBuf>,

    /// Write what tasks access: task_id,arg,dir,tensor,row_off,col_off,rows,cols
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) args: Option<PathBuf>,

    /// Write the graph for Graphviz [to standard output]
    #[arg(long, value_name = "FILE.dot", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) dot: Option<PathBuf>,

    /// Print sizes, depth, width and fans of the graph [without a list: on]
    #[arg(long)]
    pub(crate) summary: bool,

    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Set a parameter of the workload; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, ParamValue)>,

    /// Tables in one archive, by name
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) inputs: Option<PathBuf>,

    /// One table; may be repeated, and takes precedence over --inputs
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = named_file)]
    pub(crate) input: Vec<(String, PathBuf)>,

    /// Use this schedule instead of the one that the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,
}

/// How `wsp graph` finds dependences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DepsArg {
    /// Reads after writes of equal boxes: an edge from the newest writer for each argument
    Exact,
    /// Every hazard between overlapping boxes: an edge for each pair of tasks
    Overlap,
    /// `after` and ordered loops only
    Explicit,
}

/// `wsp asm`.
#[derive(Args, Debug)]
pub(crate) struct AsmArgs {
    /// The text, or a workload (`.wsp`) to make a program of
    #[arg(value_name = "FILE.ptows")]
    pub(crate) file: PathBuf,

    /// Of a workload: use this schedule instead of the one that the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,

    /// Write the program (`-` for standard output) [standard output, unless that is a terminal]
    #[arg(short, long, value_name = "FILE.ptow")]
    pub(crate) output: Option<PathBuf>,
}

/// `wsp disasm`.
#[derive(Args, Debug)]
pub(crate) struct DisasmArgs {
    /// The program, or a workload (`.wsp`) whose program is printed
    #[arg(value_name = "FILE.ptow")]
    pub(crate) file: PathBuf,

    /// Of a workload: use this schedule instead of the one that the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,

    /// Write the text (`-` for standard output) [standard output]
    #[arg(short, long, value_name = "FILE.ptows")]
    pub(crate) output: Option<PathBuf>,
}

/// `wsp explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The code: WSP0031, wsp31 or 31; none lists all
    pub(crate) code: Option<String>,
}

/// What can be measured.
#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// Decode attention: time, GB/s of keys and values, and the ratio to what this machine can read
    Decode(Box<BenchArgs>),
    /// Generation of tasks on AICPUs, beside a loop written by hand and a list that the host makes
    Generate(BenchGenerateArgs),
    /// The task runtime: build, run and memory per task, METG, streams and inference, beside other runtimes
    Runtime(BenchRuntimeArgs),
}

/// `wsp bench runtime`.
#[derive(Args, Debug)]
pub(crate) struct BenchRuntimeArgs {
    /// Parts of the table
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_enum,
        default_value = "graphs,metg,stream,inference"
    )]
    pub(crate) sections: Vec<RuntimeSection>,

    /// Tiny graphs: shows that everything runs, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Streams of 10^8 tasks instead of 10^6
    #[arg(long, conflicts_with = "quick")]
    pub(crate) full: bool,

    /// Measurements of which the median is taken, after one to warm up [5; quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: Option<u32>,

    /// Times that ours and the peers are measured in turn [3; quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// The folder with the peers' sources [benches/peers]
    #[arg(long, value_name = "DIR", conflicts_with = "no_peers")]
    pub(crate) peers: Option<PathBuf>,

    /// Measure ours alone
    #[arg(long)]
    pub(crate) no_peers: bool,

    /// The folder that holds taskflow/taskflow.hpp [where the compiler looks]
    #[arg(long, value_name = "DIR", conflicts_with = "no_peers")]
    pub(crate) taskflow: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// `wsp bench generate`.
#[derive(Args, Debug)]
pub(crate) struct BenchGenerateArgs {
    /// Parts of the table
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_enum,
        default_value = "dense,flat,ragged,llama"
    )]
    pub(crate) sections: Vec<GenerateSection>,

    /// Tiny programs: shows that everything runs, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measurements of which the median is taken, after one to warm up [5; quick: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A part of the table of `wsp bench generate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GenerateSection {
    /// A nest of two loops on one thread
    Dense,
    /// One AICPU among more and more
    Flat,
    /// Rows of different lengths
    Ragged,
    /// The attention of LLaMA-7B: bytes, first task, memory
    Llama,
}

/// A part of the table of `wsp bench runtime`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum RuntimeSection {
    /// Stored graphs: build, run, re-run, bytes
    Graphs,
    /// Task Bench: the smallest useful task
    Metg,
    /// Tasks that run while others are submitted
    Stream,
    /// Dependences from boxes
    Inference,
}

impl RuntimeSection {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RuntimeSection::Graphs => "graphs",
            RuntimeSection::Metg => "metg",
            RuntimeSection::Stream => "stream",
            RuntimeSection::Inference => "inference",
        }
    }
}

/// `wsp bench decode`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// The program [the decode attention example]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Sets of lengths: a (16 x 4096), b (64 ragged), c (1 x 131072), d (256 x 128)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "a,b,c,d")]
    pub(crate) sets: Vec<SetName>,

    /// Element types: f16, bf16
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "f16,bf16")]
    pub(crate) dtypes: Vec<BenchType>,

    /// Page layouts: nhd, hnd
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "nhd,hnd")]
    pub(crate) layouts: Vec<BenchLayout>,

    /// Numbers of worker threads
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Runs of which the median is taken, after one to warm up
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,

    /// Seed of the data
    #[arg(long, value_name = "N", default_value_t = generate::DEFAULT_SEED)]
    pub(crate) seed: u64,

    /// Also compare each first run with the f64 reference
    #[arg(long)]
    pub(crate) check: bool,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A set of lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SetName {
    A,
    B,
    C,
    D,
}

/// An element type to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BenchType {
    F16,
    Bf16,
}

/// A layout to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BenchLayout {
    Nhd,
    Hnd,
}

/// One `--set NAME=VALUE`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Setting {
    /// `kv_layout=…`
    Layout(crate::Layout),
    /// `max_blocks=…`
    MaxBlocks(u32),
    /// A parameter of the program.
    Param(String, ParamValue),
}

fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.trim().is_empty() && !file.is_empty() => {
            Ok((name.trim().to_owned(), PathBuf::from(file)))
        }
        _ => Err("write NAME=FILE.npy, as in `--input q=q.npy`".to_owned()),
    }
}

fn setting(text: &str) -> Result<Setting, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!(
            "write NAME=VALUE, as in `--set {}=8`",
            if text.is_empty() { "chunk" } else { text }
        ));
    };
    let (name, value) = (name.trim(), value.trim());
    match name {
        "" => Err("there is no name before the `=`".to_owned()),
        "kv_layout" => crate::Layout::from_name(value)
            .map(Setting::Layout)
            .ok_or_else(|| format!("`kv_layout` is NHD ([pages, page_size, heads, dim]) or HND ([pages, heads, page_size, dim]), not `{value}`")),
        "max_blocks" => match value.parse::<u32>() {
            Ok(n) if n > 0 => Ok(Setting::MaxBlocks(n)),
            _ => Err(format!("`max_blocks` is a whole number from 1, not `{value}`")),
        },
        _ => param_value(value)
            .map(|value| Setting::Param(name.to_owned(), value))
            .ok_or_else(|| format!("`{value}` is no integer, real number, true or false")),
    }
}

/// One `--set NAME=VALUE` of a workload, whose parameters may have any name.
fn assignment(text: &str) -> Result<(String, ParamValue), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    match (name.trim(), value.trim()) {
        ("", _) => Err("write NAME=VALUE, as in `--set seq=1024`".to_owned()),
        (name, "") => Err(format!("write NAME=VALUE, as in `--set {name}=1024`")),
        (name, value) => param_value(value)
            .map(|value| (name.to_owned(), value))
            .ok_or_else(|| format!("`{value}` is no integer, real number, true or false")),
    }
}

fn param_value(text: &str) -> Option<ParamValue> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    if let Some(hex) = hex {
        return i128::from_str_radix(hex, 16).ok().filter(|n| *n >= 0).map(|n| ParamValue::Int(sign * n));
    }
    match text {
        "true" => return Some(ParamValue::Bool(true)),
        "false" => return Some(ParamValue::Bool(false)),
        _ => {}
    }
    if let Ok(n) = text.parse::<i128>() {
        return Some(ParamValue::Int(n));
    }
    text.parse::<f64>().ok().filter(|x| x.is_finite()).map(ParamValue::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_are_typed_by_how_they_are_written() {
        let value = |text: &str| match setting(text) {
            Ok(Setting::Param(_, value)) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value("chunk=0x10"), ParamValue::Int(16));
        assert_eq!(value("chunk=-3"), ParamValue::Int(-3));
        assert_eq!(value("chunk = 7"), ParamValue::Int(7));
        assert_eq!(value("sm_scale=1e-3"), ParamValue::Float(1e-3));
        assert_eq!(value("flag=true"), ParamValue::Bool(true));
        assert_eq!(setting("kv_layout=hnd"), Ok(Setting::Layout(crate::Layout::Hnd)));
        assert_eq!(setting("max_blocks=144"), Ok(Setting::MaxBlocks(144)));
    }

    #[test]
    fn wrong_settings_say_what_to_type() {
        for text in
            ["chunk", "=3", "chunk=", "chunk=many", "x=nan", "x=0x-3", "x=0x", "kv_layout=x", "max_blocks=0"]
        {
            assert!(setting(text).is_err(), "{text}");
        }
        assert!(setting("chunk").unwrap_err().contains("--set chunk=8"));
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
        assert_eq!((args.edges, args.deps, args.dot), (path("-"), Some(DepsArg::Exact), None));
        assert_eq!(args.set, [("max_blocks".to_owned(), ParamValue::Int(3))]);
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
        assert!(assignment("seq").unwrap_err().contains("--set seq=1024"));
    }

    #[test]
    fn data_come_from_one_place() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["wsp", "run", "a.pto"], args].concat());
        assert!(parse(&["--inputs", "a.npz", "--input", "q=q.npy"]).is_ok());
        assert!(parse(&["--generate", "batch=3", "--seed", "9"]).is_ok());
        assert!(parse(&["--generate", "batch=3", "--inputs", "a.npz"]).is_err());
        assert!(parse(&["--seed", "3", "--inputs", "a.npz"]).is_err());
        assert!(parse(&["--input", "q"]).is_err());
        assert!(parse(&["--threads", "0"]).is_err());
        assert!(parse(&["--check", "--no-check"]).is_ok());
        let fault = parse(&["--generate", "batch"]).unwrap_err().to_string();
        assert!(fault.contains("has no value"), "{fault}");
    }
}
