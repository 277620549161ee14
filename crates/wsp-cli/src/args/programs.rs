//! `wsp check`, `wsp plan`, `wsp asm`, `wsp emit`, `wsp disasm`, `wsp explain`, `wsp doctor` and `wsp targets`.

use super::values::{
    EmitStage, Setting, Stage, Words, emit_stage, emitted, folder, kept_folder, lengths, named_file, number,
    runnable, setting, stage, target, words,
};
use super::{DataArgs, LaunchArgs};
use clap::Args;
use std::path::PathBuf;
use wsp_backend::{Expand, Lengths};
use wsp_plan::Target;

/// `wsp check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The programs
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Also tell what this target does with the programs: cpu_sim (cpu) and ascend_host with schedules and the instructions of task graphs; ascend_910b (ascend_npu, a2), ascend_910c (a3) and ascend_950 (a5) with kernels of `.pto` files and the instructions of task graphs; xdna1 (npu1) and xdna2 (npu2) with kernels, schedules and, for the sizes of --set, the design of the launch: cores, places, ways of streams
    #[arg(long, value_name = "NAME", value_parser = target)]
    pub(crate) target: Option<&'static Target>,

    /// Of workloads, and with --target of kernels of `.pto` files: set a parameter, for an array (xdna1, xdna2) an extent too; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// How many devices run a task graph, as `wsp run --devices` has them
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=64))]
    pub(crate) devices: Option<u32>,

    /// Of task graphs, and programs that generate tasks: one more file of kernels; may be repeated
    #[arg(long, value_name = "FILE.pto")]
    pub(crate) kernels: Vec<PathBuf>,

    /// Keep in this folder that a workload is right, and do not look at its tasks again while it and what it uses stay as they are
    #[arg(long, value_name = "FOLDER", value_parser = kept_folder())]
    pub(crate) cache: Option<PathBuf>,

    /// Take warnings for errors: a file with one is not ok, and the exit status is 1
    #[arg(long)]
    pub(crate) strict: bool,
}

/// `wsp doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Measure a machine model, for half a second, and print it instead
    #[arg(long)]
    pub(crate) model: bool,

    /// Of --model: write it to this file
    #[arg(short, long, value_name = "FILE.toml", requires = "model", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `wsp targets`.
#[derive(Args, Debug)]
pub(crate) struct TargetsArgs {
    /// Print what each platform does with each instruction of task graphs instead
    #[arg(long)]
    pub(crate) matrix: bool,

    /// Print what a machine model says instead, and how each figure is known: one that comes with `wsp`, or a file; without a name, which there are
    #[arg(long, value_name = "NAME|FILE", num_args = 0..=1, default_missing_value = "", conflicts_with = "matrix")]
    pub(crate) model: Option<String>,

    /// Of --model with a name: print its file, to begin one of your own with
    #[arg(long, requires = "model", conflicts_with = "json")]
    pub(crate) toml: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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

    /// Where it is to run [cpu_sim]
    #[arg(long, value_name = "NAME", value_parser = runnable)]
    pub(crate) target: Option<&'static Target>,

    /// Keep machine code of generators in this folder, and take what an earlier run has kept
    #[arg(long, value_name = "FOLDER", value_parser = kept_folder())]
    pub(crate) cache: Option<PathBuf>,

    /// Print JSON, with every descriptor
    #[arg(long)]
    pub(crate) json: bool,

    /// Print what a device would be given: the bytes of a workload's program, beside those of a list of its tasks
    #[arg(long, conflicts_with = "limit")]
    pub(crate) bytes: bool,

    /// AICPUs of --bytes [8]; of a `.pto` program, what would run its tasks there
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=1024))]
    pub(crate) aicpus: Option<u16>,

    /// Descriptors printed
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "json", value_parser = number::<usize>(0..=u64::MAX))]
    pub(crate) limit: usize,
}

/// `wsp asm`.
#[derive(Args, Debug)]
pub(crate) struct AsmArgs {
    /// The text of a program, a workload (`.wsp`) to make one of, or the text of a task graph (`.tg`)
    #[arg(value_name = "FILE.ptows")]
    pub(crate) file: PathBuf,

    /// Of a workload: use this schedule instead of the one that the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,

    /// Write the program (`-` for standard output) [standard output, unless that is a terminal]
    #[arg(short, long, value_name = "FILE.ptow")]
    pub(crate) output: Option<PathBuf>,

    /// Of a task graph, or of the tasks of a workload as one: write this stage of its way to a device [ptog]
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    pub(crate) emit: Option<Stage>,

    /// Of a workload with --emit: set a parameter; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// Of a workload with --emit: the elements of a table; may be repeated
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = named_file)]
    pub(crate) input: Vec<(String, PathBuf)>,

    /// Of --emit image: the graph, by name [the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) graph: Option<String>,

    /// Of --emit image: one more file of kernels; may be repeated
    #[arg(long, value_name = "FILE.pto")]
    pub(crate) kernels: Vec<PathBuf>,
}

/// `wsp emit`.
#[derive(Args, Debug)]
pub(crate) struct EmitArgs {
    /// The program (`.pto`), workload (`.wsp`) or task graph (`.tg`, `.ptog`)
    pub(crate) file: PathBuf,

    /// What is written: a package, or of it the kernels, what is known of them (metadata), or what runs on a device; of a task graph its graphs alone (graph); not for designs of arrays, which are one file [package]
    #[arg(long, value_name = "STAGE", value_parser = emit_stage)]
    pub(crate) stage: Option<EmitStage>,

    /// The target: ascend_910b (ascend_npu, a2), ascend_910c (a3) or ascend_950 (a5), for which packages, kernels and task graphs are written; xdna1 (npu1) or xdna2 (npu2), for which a `.pto` program or workload with the arrays or sizes of a launch becomes a design, design.mlir and manifest.json
    #[arg(long, value_name = "NAME", value_parser = emitted)]
    pub(crate) target: &'static Target,

    /// Where the files go
    #[arg(short, long, value_name = "FOLDER", value_parser = folder())]
    pub(crate) output: PathBuf,

    /// Of graphs: one, by name [all]
    #[arg(long, value_name = "NAME")]
    pub(crate) graph: Option<String>,

    /// Of graphs: one more file of kernels; may be repeated
    #[arg(long, value_name = "FILE.pto")]
    pub(crate) kernels: Vec<PathBuf>,

    /// Of kernels: one, by name [all]
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,

    /// Of packages, kernels and designs: set a parameter, of a design an extent of its arrays too; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    /// Of designs for arrays: one design for launches in which a parameter or an extent has these values, with a sequence for each; of a range, NAME=1..=8191, with one sequence that takes the value
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = lengths)]
    pub(crate) lengths: Option<(String, Lengths)>,

    /// Of packages and designs: use this schedule instead of those the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,

    /// Of packages: what generates the tasks [loops]
    #[arg(long, value_parser = words(EXPANSIONS))]
    pub(crate) expand: Option<Expand>,

    /// Of packages and designs: arrays like those of its launches, whose element types and extents kernels are made for
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// What generates the tasks of packages.
const EXPANSIONS: Words<Expand> = &[
    ("loops", Expand::Loops, "Loops of C++"),
    ("bytecode", Expand::Bytecode, "The program of a workload, which AICPUs interpret with libwsp_device.a"),
    ("table", Expand::Table, "Nothing: the package holds the tasks of one launch, whose arrays are given"),
];

/// `wsp disasm`.
#[derive(Args, Debug)]
pub(crate) struct DisasmArgs {
    /// The program, a workload (`.wsp`) whose program is printed, or a task graph (`.ptog`)
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
