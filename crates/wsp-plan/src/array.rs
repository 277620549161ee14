//! Arrays that a launch takes and gives.

pub use wsp_memory::{Array, ArrayError, Element};

use std::collections::BTreeMap;

/// Arrays by the names of the host entry's parameters: `q`, `kv.k`, `kv.indptr`, ….
pub type Arrays = BTreeMap<String, Array>;
