//! Units of task graphs as the command line sees them: their graphs as lists and statistics, and the tensors that a run
//! is given.

mod listing;
mod picture;
mod summary;
mod tensors;

pub use listing::{write_unit_dot, write_unit_edges, write_unit_tasks};
pub use picture::{DrawnEdge, drawn_edges};
pub use summary::GraphStats;
pub use tensors::{UnitTensor, tensors};
pub use wsp_tg::{UnitEdge, UnitGraph, UnitNode};
