//! What a session is given besides its unit and kernels.

use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_backend::PayloadSlot;
use wsp_backend::{CheckpointStore, Recording, Released};
use wsp_memory::{Claim, View};
use wsp_plan::Arrays;
use wsp_plan::target::model::Model;
use wsp_runtime::tg::RuntimeConfig;

/// What a [`Session`](super::Session) is given besides its unit and kernels.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Threads, devices, cores, hints, tracing, and the flag that cancels.
    pub runtime: RuntimeConfig,
    /// External tensors, and tensors that kernels name themselves, by name; they are copied. External tensors begin with
    /// zeros if they are not given, unless kernels or copies read them before others can have written them: those have to be given.
    pub inputs: Arrays,
    /// The same, as arrays of the caller that are read and written where they lie, and are not among the outputs. They are claimed as
    /// long as the session lives.
    pub views: BTreeMap<String, View>,
    /// Where arrays of the caller lie of which inputs are copies, by name: they are refused as views are, and not claimed.
    pub copied: BTreeMap<String, View>,
    /// The claim on the views that the caller has made for this session; without one on all of them the session makes its own.
    pub claim: Option<Arc<Claim>>,
    /// Where inputs come from, by name, such as `read from x.npy`: messages say it if a checkpoint was saved with other contents.
    pub origins: BTreeMap<String, String>,
    /// Declared scalars by name; the others have their defaults.
    pub scalars: Vec<(String, i64)>,
    /// External events that are signalled before anything runs.
    pub events: Vec<String>,
    /// Bytes of memory of each device; without it only the machine sets a bound.
    pub memory: Option<u64>,
    /// What becomes of memory that is released.
    pub released: Released,
    /// Whether to record what is stored to external tensors: then [`Session::unwritten`](super::Session::unwritten) lists what no kernel stored. Of what
    /// is allocated it is always known: a kernel of a `.pto` file that loads what nothing has stored fails.
    pub recording: Recording,
    /// Where checkpoints are kept.
    pub checkpoints: Option<Arc<dyn CheckpointStore>>,
    /// What says what blocks and copies take in virtual time; without it a cycle for each four bytes.
    pub machine: Option<Arc<Model>>,
    /// Receives what a function of the caller handed over with its fault.
    pub payload: Option<PayloadSlot>,
}
