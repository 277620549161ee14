//! What a user may choose at launch.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;
use wsp_kernel::{Engine, Mode};
use wsp_plan::ParamValue;

/// Order of tokens and heads inside a page of a KV cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum KvLayout {
    /// `[pages, page_size, heads, dim]`
    #[default]
    Nhd,
    /// `[pages, heads, page_size, dim]`
    Hnd,
}

impl KvLayout {
    /// The dimensions of a page array.
    pub(crate) fn axes(self) -> &'static str {
        match self {
            KvLayout::Nhd => "[pages, page_size, heads, dim]",
            KvLayout::Hnd => "[pages, heads, page_size, dim]",
        }
    }

    /// The name, as `--set kv_layout` takes it, of the other one.
    pub(crate) fn other(self) -> &'static str {
        match self {
            KvLayout::Nhd => "HND",
            KvLayout::Hnd => "NHD",
        }
    }
}

/// Whether a run records what tasks store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Recording {
    /// It does not, and costs nothing.
    #[default]
    Off,
    /// The outcome lists the elements of outputs that were never stored, and a load of elements of a workspace slot, a temporary
    /// or an output that was not given is a fault where no task has stored them.
    On,
}

/// Options of a launch.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// Worker threads; 0 takes one per core of this machine.
    pub threads: u32,
    /// Layout of every paged cache.
    pub kv_layout: KvLayout,
    /// Values of parameters, in the order the user gave them.
    pub set: Vec<(String, ParamValue)>,
    /// Workers that form one core group.
    pub cores_per_group: u32,
    /// Most tasks in flight; none takes what `wsp config` prints as `TASK_WINDOW`.
    pub window: Option<u32>,
    /// Picks among choices that schedules leave open; never changes a result.
    pub seed: u64,
    /// Records every task's times and edges.
    pub trace: bool,
    /// Whether to record what tasks store.
    pub recording: Recording,
    /// How tile operations are computed.
    pub mode: Mode,
    /// What runs the scalar code of generators and kernels.
    pub engine: Engine,
    /// Stops the run when it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for LaunchOptions {
    fn default() -> LaunchOptions {
        LaunchOptions {
            threads: 0,
            kv_layout: KvLayout::Nhd,
            set: Vec::new(),
            cores_per_group: limits::CORES_PER_GROUP,
            window: None,
            seed: 0,
            trace: false,
            recording: Recording::Off,
            mode: Mode::default(),
            engine: Engine::default(),
            cancel: None,
        }
    }
}
