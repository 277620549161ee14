//! What a user may choose at launch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;
use wsp_kernel::{Engine, Mode};
use wsp_memory::{Claim, View};
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
    /// Its name in files, in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            KvLayout::Nhd => "NHD",
            KvLayout::Hnd => "HND",
        }
    }

    /// The layout with this name, in either case.
    pub fn from_name(name: &str) -> Option<KvLayout> {
        [KvLayout::Nhd, KvLayout::Hnd].into_iter().find(|l| l.name().eq_ignore_ascii_case(name))
    }

    /// The shape of an array of pages.
    pub fn shape(self, pages: u64, page_size: u64, heads: u64, dim: u64) -> [u64; 4] {
        match self {
            KvLayout::Nhd => [pages, page_size, heads, dim],
            KvLayout::Hnd => [pages, heads, page_size, dim],
        }
    }

    /// The dimensions of a page array.
    pub(crate) fn axes(self) -> &'static str {
        match self {
            KvLayout::Nhd => "[pages, page_size, heads, dim]",
            KvLayout::Hnd => "[pages, heads, page_size, dim]",
        }
    }

    /// The other one.
    pub(crate) fn other(self) -> KvLayout {
        match self {
            KvLayout::Nhd => KvLayout::Hnd,
            KvLayout::Hnd => KvLayout::Nhd,
        }
    }
}

impl std::fmt::Display for KvLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
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
    /// Arrays of the caller by name, of real numbers, beside those that are given to be read or copied: kernels read and write them where
    /// they lie, and they are not among the outputs. A run claims them, and is refused where another one writes them or uses what it
    /// writes.
    pub views: BTreeMap<String, View>,
    /// The claim on the views that the caller has made for this launch; without it the launch makes its own. One run at a time has it.
    pub claim: Option<Arc<Claim>>,
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
            views: BTreeMap::new(),
            claim: None,
            cancel: None,
        }
    }
}
