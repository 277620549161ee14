//! Graphs of the task-graph instruction set at run time: launches on streams of simulated devices.
//!
//! A [`Graph`] is an image with what must be known of its nodes. A [`Runtime`] launches it: the image's machine says which
//! nodes are ready, worker threads run their blocks, and each block holds logical cores of its device meanwhile. What a
//! kernel does is the caller's, as [`Bodies`]. [`InlineExecutor`] runs a graph on the calling thread instead, for graphs whose kernels
//! are short.
//!
//! **Level:** the device machine: graphs, dependences, control flow, cores.
//!
//! **Invariant:** which thread runs a block, on which cores, and when, shows in traces only.

mod bodies;
mod config;
mod cores;
mod events;
mod failure;
mod gang;
mod graph;
mod hang;
mod id;
mod inline;
mod launch;
mod order;
mod pace;
mod pick;
mod placement;
mod pump;
mod ready;
mod replay;
mod runtime;
mod shared;
mod singles;
mod state;
mod streams;
mod submit;
mod trace;
mod validate;
mod virtual_time;
mod work;

pub use bodies::{BlockCx, Bodies, NodeCx, StopFlag};
pub use config::{
    CoreCounts, MAX_AIV_PER_AIC, MAX_CORES, MAX_DEVICES, RuntimeConfig, Signals, Time, Tracing,
};
pub use cores::{CoreRange, Cores, Granted};
pub use events::{Epochs, LaunchEvent, LaunchEvents, SavedEvent};
pub use failure::{Cause, LaunchFailure, LaunchFault, Place, Refused, SyncError};
pub use graph::{Affinity, EventInfo, Graph, GraphFault, GraphParts, KernelInfo, NotifyInfo, Partition};
pub use id::{LaunchId, StreamId};
pub use inline::{InlineExecutor, InlineFailure, LocalBodies, NotInline};
pub use launch::{LaunchOptions, Stats};
pub use order::{Replay, Unreplayed};
pub use runtime::{EventsOf, Runtime, Saved};
pub use trace::{BlockTrace, LaunchTrace, RunTrace, Trace};
pub use validate::{TraceFault, validate};
pub use wsp_core::policy::Hints;
