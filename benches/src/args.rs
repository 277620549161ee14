//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use wsp_backend::KvLayout;
use wsp_check::generate;
use wsp_cli::args::{LaunchArgs, MessageArgs, Words, engine, number, seed, words};
use wsp_kernel::Engine;

/// The benchmarks of PTO-WSP, and other systems beside it
#[derive(Parser, Debug)]
#[command(name = "wsp-bench", bin_name = "cargo xtask bench", version, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) messages: MessageArgs,

    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

/// What can be measured.
#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// Designs for AIE arrays: places and ways of graphs, checks, and elements that are interpreted a second
    Aie(BenchAieArgs),
    /// Decode attention: time, GB/s of keys and values, and the ratio to what this machine can read
    Decode(Box<BenchArgs>),
    /// Generation of tasks on AICPUs, beside a loop written by hand and a list that the host makes
    Generate(BenchGenerateArgs),
    /// Task graphs: assembling, loading and re-running them, beside other runtimes
    Isa(BenchIsaArgs),
    /// Plans of decode attention: planning time, balance, updates, for batches of many lengths
    Plan(BenchPlanArgs),
    /// The task runtime: build, run and memory per task, METG, streams and inference, beside other runtimes
    Runtime(BenchRuntimeArgs),
    /// Virtual time: simulated tasks a second, what traces take and cost
    Sim(BenchSimArgs),
}

/// `cargo xtask bench aie`.
#[derive(Args, Debug)]
pub(crate) struct BenchAieArgs {
    /// Graphs that are placed [200; quick: 2]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=100_000))]
    pub(crate) graphs: Option<u32>,

    /// Two graphs, and one round of the rest: shows that everything runs, measures little
    #[arg(long)]
    pub(crate) quick: bool,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// `cargo xtask bench plan`.
#[derive(Args, Debug)]
pub(crate) struct BenchPlanArgs {
    /// A folder of `.txt` files with one length per line [18 batches that come with this program]
    #[arg(long, value_name = "DIR")]
    pub(crate) lens: Option<PathBuf>,

    /// Numbers of cores to plan for
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "72,132",
          value_parser = number::<u32>(1..=65536))]
    pub(crate) cores: Vec<u32>,

    /// What runs the generators: auto, interpreter, native
    #[arg(long, value_name = "NAME", value_parser = engine)]
    pub(crate) engine: Option<Engine>,

    /// Measurements of which the median is taken, after some to warm up
    #[arg(long, value_name = "N", default_value_t = 51, value_parser = number::<u32>(1..=100_000))]
    pub(crate) repeats: u32,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// `cargo xtask bench isa`.
#[derive(Args, Debug)]
pub(crate) struct BenchIsaArgs {
    /// Small units: shows that everything runs, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measurements of which the median is taken, after one to warm up [7; quick: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1000))]
    pub(crate) rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) peers: PeersArgs,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// Where the programs are that ours is compared with.
#[derive(Args, Debug)]
pub(crate) struct PeersArgs {
    /// The folder with the peers' sources [benches/peers]
    #[arg(long, value_name = "DIR", conflicts_with = "no_peers")]
    pub(crate) peers: Option<PathBuf>,

    /// Measure ours alone
    #[arg(long)]
    pub(crate) no_peers: bool,

    /// The folder that holds taskflow/taskflow.hpp [where the compiler looks]
    #[arg(long, value_name = "DIR", conflicts_with = "no_peers")]
    pub(crate) taskflow: Option<PathBuf>,
}

/// `cargo xtask bench sim`.
#[derive(Args, Debug)]
pub(crate) struct BenchSimArgs {
    /// Parts of the table
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_enum,
        default_value = "simulate,trace,predict"
    )]
    pub(crate) sections: Vec<SimSection>,

    /// Tiny graphs: shows that everything runs, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measurements of which the median is taken, after one to warm up [5; quick: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A part of the table of `cargo xtask bench sim`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SimSection {
    /// Simulated tasks a second
    Simulate,
    /// Bytes of records and files, and what recording costs a run
    Trace,
    /// Times of examples by a model that is fitted to others
    Predict,
}

/// `cargo xtask bench runtime`.
#[derive(Args, Debug)]
pub(crate) struct BenchRuntimeArgs {
    /// Parts of the table
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_enum,
        default_value = "graphs,metg,stream,inference,execute,channels"
    )]
    pub(crate) sections: Vec<RuntimeSection>,

    /// Tiny graphs: shows that everything runs, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Streams of 10^8 tasks instead of 10^6
    #[arg(long, conflicts_with = "quick")]
    pub(crate) full: bool,

    /// Measurements of which the median is taken, after one to warm up [5; quick: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1000))]
    pub(crate) repeats: Option<u32>,

    /// Times that ours and the peers are measured in turn [3; quick: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1000))]
    pub(crate) rounds: Option<u32>,

    #[command(flatten)]
    pub(crate) peers: PeersArgs,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// `cargo xtask bench generate`.
#[derive(Args, Debug)]
pub(crate) struct BenchGenerateArgs {
    /// Parts of the table
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_enum,
        default_value = "dense,expanders,flat,ragged,llama"
    )]
    pub(crate) sections: Vec<GenerateSection>,

    /// Tiny programs: shows that everything runs, measures nothing
    #[arg(long)]
    pub(crate) quick: bool,

    /// Measurements of which the median is taken, after one to warm up [5; quick: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A part of the table of `cargo xtask bench generate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GenerateSection {
    /// A nest of two loops on one thread
    Dense,
    /// Both expansions of the host
    Expanders,
    /// One AICPU among more and more
    Flat,
    /// Rows of different lengths
    Ragged,
    /// The attention of LLaMA-7B: bytes, first task, memory
    Llama,
}

/// A part of the table of `cargo xtask bench runtime`.
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
    /// A prepared program of few empty tasks
    Execute,
    /// Tokens between two processes, beside crossbeam-channel
    Channels,
}

impl RuntimeSection {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RuntimeSection::Graphs => "graphs",
            RuntimeSection::Metg => "metg",
            RuntimeSection::Stream => "stream",
            RuntimeSection::Inference => "inference",
            RuntimeSection::Execute => "execute",
            RuntimeSection::Channels => "channels",
        }
    }
}

/// `cargo xtask bench decode`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// The program [the decode attention example]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Sets of lengths: a (16 x 4096), b (64 ragged), c (1 x 131072), d (256 x 128), e (8 x 16, to see that all runs)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "a,b,c,d")]
    pub(crate) sets: Vec<SetName>,

    /// Element types: f16, bf16
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum, default_value = "f16,bf16")]
    pub(crate) dtypes: Vec<BenchType>,

    /// Page layouts: nhd, hnd
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = words(LAYOUTS), default_value = "nhd,hnd")]
    pub(crate) layouts: Vec<KvLayout>,

    /// Numbers of worker threads
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2",
          value_parser = number::<u32>(1..=1024))]
    pub(crate) threads: Vec<u32>,

    /// Runs of which the median is taken, after one to warm up
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = number::<u32>(1..=1000))]
    pub(crate) repeats: u32,

    /// Seed of the data
    #[arg(long, value_name = "N", default_value_t = generate::DEFAULT_SEED, value_parser = seed)]
    pub(crate) seed: u64,

    /// Also compare each first run with the f64 reference
    #[arg(long)]
    pub(crate) check: bool,

    /// Clock that rates and ratios are taken from
    #[arg(long, value_enum, default_value_t = BenchClock::Wall)]
    pub(crate) clock: BenchClock,

    /// Measure other libraries on the same arrays in turn; DIR holds their programs [benches/peers/decode]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true,
          default_missing_value = "benches/peers/decode")]
    pub(crate) peers: Option<PathBuf>,

    /// First install what the peers need into the project's target folder, from the package index
    #[arg(long, requires = "peers")]
    pub(crate) install: bool,

    /// Write the numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// A clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BenchClock {
    /// Time that passes
    Wall,
    /// Time that each thread computes on average: for machines that are busy with other work
    Cpu,
}

impl BenchClock {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            BenchClock::Wall => "wall",
            BenchClock::Cpu => "cpu",
        }
    }
}

/// A set of lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SetName {
    A,
    B,
    C,
    D,
    E,
}

/// An element type to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BenchType {
    F16,
    Bf16,
}

/// Layouts to measure.
const LAYOUTS: Words<KvLayout> = &[("nhd", KvLayout::Nhd, ""), ("hnd", KvLayout::Hnd, "")];
