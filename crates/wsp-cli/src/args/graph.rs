//! `wsp graph`.

use super::DataArgs;
use super::values::{Setting, Words, number, runnable, setting, words};
use clap::Args;
use std::path::PathBuf;
use wsp_backend::Expand;
use wsp_ir::workload::Deps;
use wsp_plan::Target;

/// `wsp graph`.
#[derive(Args, Debug)]
pub(crate) struct GraphArgs {
    /// The program (`.pto`), workload (`.wsp`), task graph (`.tg`, `.ptog`) or list of records of tasks (`.pending`)
    pub(crate) file: PathBuf,

    /// How dependences are found [what the schedule says, else overlap]
    #[arg(long, value_parser = words(DEPS))]
    pub(crate) deps: Option<Deps>,

    /// Write the tasks: task_id,kernel_name,is_cube; of task graphs more (`-` for standard output, as for the other lists)
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

    /// Write a picture of where the program is on the array of --target, and what flows between its tiles
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) placement: Option<PathBuf>,

    /// Write the tasks with accesses and edges to --output
    #[arg(long, value_parser = words(EMITTED), requires = "output")]
    pub(crate) emit: Option<Emitted>,

    /// Where --emit goes (`-` for standard output)
    #[arg(short, long, value_name = "FILE.pending", requires = "emit")]
    pub(crate) output: Option<PathBuf>,

    /// Print sizes, depth, width and fans of the graph [without a list: on]
    #[arg(long)]
    pub(crate) summary: bool,

    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Set a parameter of the program or workload, or of programs kv_layout (NHD, HND) or max_blocks; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Use this schedule instead of the one that the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,

    /// Where it is to run [cpu_sim]
    #[arg(long, value_name = "NAME", value_parser = runnable)]
    pub(crate) target: Option<&'static Target>,

    /// Of task graphs, and programs that generate tasks: one more file of kernels; may be repeated
    #[arg(long, value_name = "FILE.pto")]
    pub(crate) kernels: Vec<PathBuf>,
}

/// `wsp sim`.
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    /// The program (`.pto`), workload (`.wsp`, `.ptows`, `.ptow`) or task graph (`.tg`, `.ptog`)
    pub(crate) file: PathBuf,

    /// Of --fit: more programs (`.pto`)
    #[arg(requires = "fit")]
    pub(crate) more: Vec<PathBuf>,

    /// The machine: a model that comes with `wsp` (`wsp targets --model` lists them), or a file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) model: String,

    /// Set a parameter of the program or workload, or of programs kv_layout (NHD, HND) or max_blocks; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,

    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Use this schedule instead of the one that the source applies
    #[arg(long, value_name = "NAME")]
    pub(crate) schedule: Option<String>,

    /// Let so many AICPUs of the machine generate the tasks, each its own, and issue them [the host, in no time]
    #[arg(long, value_name = "N", value_parser = number::<u16>(1..=1024))]
    pub(crate) aicpus: Option<u16>,

    /// What a launch on AICPUs brings to the device, of workloads: the program, or the list of tasks that the host makes [bytecode]
    #[arg(long, value_parser = words(BROUGHT))]
    pub(crate) expand: Option<Expand>,

    /// Write when and where each task ran, and what it waited for: `.pftrace` for ui.perfetto.dev, `.json` for chrome://tracing too
    #[arg(long, value_name = "FILE.pftrace|.json")]
    pub(crate) trace: Option<PathBuf>,

    /// Show all edges in the trace [of each task that from the last task before it]
    #[arg(long)]
    pub(crate) trace_edges: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Of task graphs and programs that generate tasks (`.ptow`): one more file of kernels; may be repeated
    #[arg(long, value_name = "FILE.pto")]
    pub(crate) kernels: Vec<PathBuf>,

    /// Run the programs on this machine instead, and write the model by whose figures their tasks take what they were measured to take
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = [
        "set", "schedule", "trace", "kernels", "inputs", "input", "allow_unused", "fill", "generate", "seed", "aicpus", "expand", "trace_edges",
    ])]
    pub(crate) fit: Option<PathBuf>,

    /// Of --fit: runs of each program [9]
    #[arg(long, value_name = "N", requires = "fit", value_parser = number::<u32>(1..=1000))]
    pub(crate) repeat: Option<u32>,
}

/// `wsp report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The trace, as `--trace` of `wsp run` and `wsp sim` writes it: `.pftrace` or `.json`
    #[arg(value_name = "TRACE")]
    pub(crate) file: PathBuf,

    /// Another trace of the same program, to be compared with it
    #[arg(value_name = "OTHER")]
    pub(crate) other: Option<PathBuf>,

    /// Write a page that shows it in a browser, without a network
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,

    /// Replace the page if it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Print it as text
    #[arg(long)]
    pub(crate) text: bool,
}

/// What a launch on AICPUs brings.
const BROUGHT: Words<Expand> = &[
    ("host", Expand::Host, "The list of all tasks, which the host makes"),
    ("bytecode", Expand::Bytecode, "The program of the workload"),
];

/// What `wsp graph --emit` takes.
const EMITTED: Words<Emitted> = &[(
    "pending",
    Emitted::Pending,
    "A record for each task, as runtimes have it that are handed task after task",
)];

/// A form of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emitted {
    /// Records of pending tasks.
    Pending,
}

/// What `--deps` takes.
const DEPS: Words<Deps> = &[
    (
        "exact",
        Deps::Exact,
        "Reads after writes of equal regions: an edge from the newest writer for each argument",
    ),
    ("overlap", Deps::Overlap, "Every hazard between overlapping regions: an edge for each pair of tasks"),
    ("explicit", Deps::Explicit, "`after` and ordered loops only"),
];
