//! Tasks that are submitted while others run, in a window of slots that are used again and again.

pub(crate) mod completion;
mod edges;
mod known;
mod order;
mod recent;
mod regions;
mod run;
mod segmented;
pub(crate) mod slot;
pub(crate) mod store;
mod stuck;
mod submit;
mod waits;
mod window;

pub use known::KnownRegions;
pub use run::{run, run_again};
pub use submit::Submitter;
