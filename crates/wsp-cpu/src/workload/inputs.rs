//! What a launch of a workload is given and what it gives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::PayloadSlot;
use wsp_backend::{Absent, Expand, Progress, Recording, Starts};
use wsp_core::Poll;
use wsp_memory::{Claim, View};
use wsp_plan::{Arrays, ParamValue};

/// Values and arrays of a launch.
#[derive(Clone, Debug, Default)]
pub struct WorkloadInputs {
    /// Values of parameters, in the order the user gave them.
    pub set: Vec<(String, ParamValue)>,
    /// Arrays by name: tables (integers, one dimension), tensors, and what a library of kernels takes.
    pub arrays: Arrays,
    /// Arrays of the caller by name, which tensors of declared kernels are bound to: tasks read and write them where they
    /// lie, and they are not among the outputs. A run claims them, and is refused where another one writes them or uses what it writes.
    pub views: BTreeMap<String, View>,
    /// Tensors of declared kernels whose elements are made up. Refused for one that an array or view is given for. A used
    /// file must be given its arrays.
    pub made_up: Vec<String>,
    /// What tensors of declared kernels begin with that neither array nor view is given for.
    pub absent: Absent,
    /// Made-up elements follow from it.
    pub seed: u64,
    /// Has tasks of kernels without a body mix what they read into what they write, so that what they leave depends on which
    /// task ran before which. Without it such a kernel is an error.
    pub mixing: bool,
}

impl WorkloadInputs {
    /// What a tensor of declared kernels begins with if neither array nor view is given for it.
    pub(crate) fn begins(&self, name: &str) -> Absent {
        if self.made_up.iter().any(|other| other == name) { Absent::MadeUp } else { self.absent }
    }

    /// Whether an array or a view is given for a tensor.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.arrays.contains_key(name) || self.views.contains_key(name)
    }

    /// No values, every tensor of declared kernels made up from a seed, and kernels without a body mix: to look at the order of
    /// tasks.
    pub fn all_made_up(seed: u64) -> WorkloadInputs {
        WorkloadInputs { absent: Absent::MadeUp, seed, mixing: true, ..WorkloadInputs::default() }
    }
}

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct WorkloadOptions {
    /// Worker threads; 0 takes what the schedule's pools need, else one per core of this machine.
    pub threads: u32,
    /// Most tasks in flight, in place of what the schedule says.
    pub window: Option<u32>,
    /// Picks among choices that schedules leave open; never changes a result.
    pub seed: u64,
    /// Whose order of starts tasks keep to, if any. Refused on AICPUs.
    pub replay: Option<Arc<Starts>>,
    /// Records times of every task, also when the schedule does not ask for it.
    pub trace: bool,
    /// Whether to record what tasks store. Tensors of declared kernels begin with elements, so that a task may load those that no
    /// other has stored; a tensor of which that happens is an input as well.
    pub recording: Recording,
    /// Runs one task after another in elaboration order: the oracle for all other ways. Takes the place of `threads`,
    /// `window`, `seed`, `aicpus` and the schedule, and is refused with `trace`. Declared kernels run on the calling thread, those
    /// of a used file on one worker with plain tile operations.
    pub sequential: bool,
    /// Runs the plain tile operations of library kernels instead of the fast ones. Refused where there are none.
    pub plain: bool,
    /// AICPUs that generate the tasks, each its own, and issue them to cores; 0 leaves generation to the host, which hands
    /// tasks to workers one by one. At most [`wsp_core::limits::MAX_RUN_AICPUS`]. Then `threads` drive AICPUs and cores, and
    /// a `seed` other than 0 delays their steps at random.
    pub aicpus: u16,
    /// Who makes the tasks that AICPUs issue. Without AICPUs it has no meaning.
    pub expand: Expand,
    /// Fails tasks of declared kernels that leave elements of a region unwritten which their kernel declares `out`, or compute elements from
    /// what it held; these are then as they were before the task. What [`KernelCx::store`](super::KernelCx::store) replaces is written. A region whose
    /// address a body is given is filled with a pattern and compared afterwards; a function over such regions of integers or 8-bit floats is
    /// called twice, over other patterns. Of compiled kernels regions of `i8`, `i16`, `u8`, `u16`, `bool`, `f8e4m3` and `f8e5m2` are not looked at.
    pub whole_outs: bool,
    /// The claim on the views that the caller has made for this run; without it the run makes its own. One run at a time has it.
    pub claim: Option<Arc<Claim>>,
    /// Stops the run when it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Where the run writes how far it is.
    pub progress: Option<Arc<Progress>>,
    /// Asked on the calling thread, now and then, whether to stop: in a sequential run of declared kernels between tasks and
    /// within kernels over views, in a run with workers while tasks are generated. Refused where the calling thread does
    /// neither: on AICPUs and for kernels of a used file.
    pub poll: Option<Arc<dyn Poll>>,
    /// Receives what the failing task of a registered kernel hands over.
    pub payload: Option<PayloadSlot>,
}
