//! `wsp run`.

use super::unit::UnitArgs;
use super::values::{Replayed, Words, aicpus, kept_folder, number, replayed, runnable, words};
use super::{DataArgs, Format, LaunchArgs};
use clap::Args;
use std::path::PathBuf;
use wsp_backend::Expand;
use wsp_plan::Target;

/// `wsp run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The program
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Write the outputs to an archive (bf16 as uint16, e4m3 as uint8)
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) outputs: Option<PathBuf>,

    /// Where it runs [cpu_sim]
    #[arg(long, value_name = "NAME", value_parser = runnable)]
    pub(crate) target: Option<&'static Target>,

    /// Worker threads [one per core]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1024))]
    pub(crate) threads: Option<u32>,

    /// Compare the outputs with the program's reference in f64, or with a plain run on one thread [made-up data and declared kernels: on]
    #[arg(long, conflicts_with = "no_check")]
    pub(crate) check: bool,

    /// Compare the outputs with what a function of this file computes: `def reference(x, n): return {"y": …}`, over numpy arrays (float64, integers) and parameters that it names
    #[arg(long, value_name = "FILE.py", conflicts_with = "no_check")]
    pub(crate) reference: Option<PathBuf>,

    /// Do not compare
    #[arg(long)]
    pub(crate) no_check: bool,

    /// Record what is stored: outputs that are not fully written, arrays of the launch that no kernel uses and loads of what was never stored are errors [with a check: on]; with a check, NaN that no reference explains is one too; warnings are errors, those of the text and of checks before anything runs
    #[arg(long)]
    pub(crate) strict: bool,

    /// An output of which tasks are meant to write a part only; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_unwritten: Vec<String>,

    /// How the summary is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) stats: Format,

    /// Keep machine code of generators and kernels in this folder, and take what an earlier run has kept: for `.pto` programs, and workloads over their kernels
    #[arg(long, value_name = "FOLDER", value_parser = kept_folder())]
    pub(crate) cache: Option<PathBuf>,

    /// Let so many AICPUs generate the tasks, each its own, and issue them: of `.pto` programs and workloads
    #[arg(long, value_name = "N", value_parser = aicpus())]
    pub(crate) aicpus: Option<u16>,

    /// Who makes the tasks of a workload [with --aicpus: bytecode, else host]; of a package, workload or `.pto` program [loops]
    #[arg(long, value_parser = words(EXPAND))]
    pub(crate) expand: Option<Expand>,

    /// Let the host and cores take turns, in place of waiting for single tasks of the other side: of packages (--target ascend_host) of workloads with kernels of the host
    #[arg(long)]
    pub(crate) phases: bool,

    /// Write when and where each task, or each block of a task graph, ran, and what it waited for: `.pftrace` for ui.perfetto.dev, `.json` for chrome://tracing too
    #[arg(long, value_name = "FILE.pftrace|.json")]
    pub(crate) trace: Option<PathBuf>,

    /// Start the tasks in the order of a run before, each on its worker: as its trace says, or as a run in virtual time with this seed has it; on as many threads as that run had, or on one; with --aicpus of a trace alone, on any number
    #[arg(long, value_name = "FILE.pftrace|.json|seed=N", value_parser = replayed)]
    pub(crate) replay: Option<Replayed>,

    /// Show all edges in the trace [of each task that from the last task before it]
    #[arg(long)]
    pub(crate) trace_edges: bool,

    #[command(flatten)]
    pub(crate) unit: UnitArgs,
}

/// Who makes the tasks of a workload.
const EXPAND: Words<Expand> = &[
    ("host", Expand::Host, "The host, which hands over tasks"),
    (
        "bytecode",
        Expand::Bytecode,
        "AICPUs, which the host hands a program (one AICPU, unless --aicpus says otherwise)",
    ),
    ("loops", Expand::Loops, "Loops that were compiled: of packages (--target ascend_host)"),
    ("table", Expand::Table, "A table of this launch's tasks: of packages (--target ascend_host)"),
];

impl RunArgs {
    /// Whether to compare, and so to record: as asked, and else whenever data are made up, or kernels only mix (`computes` is false).
    pub(crate) fn wants_check(&self, computes: bool) -> bool {
        let asked = self.check || self.reference.is_some();
        asked || !(self.no_check || computes && self.data.reads_files())
    }
}
