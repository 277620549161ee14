//! What a user may choose at launch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::{KvLayout, Progress, Recording, Starts};
use wsp_core::limits;
use wsp_kernel::{Engine, Mode};
use wsp_memory::{Claim, View};
use wsp_plan::ParamValue;

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
    /// One task after another, each generated when the one before is complete: of the schedule nothing but the order of issue counts.
    pub sequential: bool,
    /// AICPUs that run the generators, each for its own tasks, and issue them to cores; 0 leaves generation to the host. Then `threads`
    /// drive AICPUs and cores.
    pub aicpus: u16,
    /// Picks among choices that schedules leave open; never changes a result.
    pub seed: u64,
    /// Whose order of starts tasks keep to, if any.
    pub replay: Option<Arc<Starts>>,
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
    /// Where the run writes how far it is.
    pub progress: Option<Arc<Progress>>,
}

impl Default for LaunchOptions {
    fn default() -> LaunchOptions {
        LaunchOptions {
            threads: 0,
            kv_layout: KvLayout::Nhd,
            set: Vec::new(),
            cores_per_group: limits::CORES_PER_GROUP,
            window: None,
            sequential: false,
            aicpus: 0,
            seed: 0,
            replay: None,
            trace: false,
            recording: Recording::Off,
            mode: Mode::default(),
            engine: Engine::default(),
            views: BTreeMap::new(),
            claim: None,
            cancel: None,
            progress: None,
        }
    }
}
