//! Arrays that a launch takes and gives.

pub use wsp_memory::{Array, ArrayError, Element};

use wsp_ordered::OrderedMap;

/// Arrays by the names of the host entry's parameters: `q`, `kv.k`, `kv.indptr`, ….
pub type Arrays = OrderedMap<String, Array>;
