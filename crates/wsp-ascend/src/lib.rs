//! C++ that PTO-WSP emits for Ascend accelerators.
//!
//! What is emitted builds on the headers under `include/`, which travel with it.

#![forbid(unsafe_code)]

mod backend;
pub mod expander;
pub mod graph;
mod headers;
pub mod host;
mod hosted;
pub mod kernels;
mod orchestration;
mod package;
mod places;
pub mod runtime_headers;
mod writer;

pub use backend::AscendBackend;
pub use headers::Headers;
pub use hosted::{Built, HostRunner, Ran};
pub use package::{COMMON_SOURCES, OWN_SOURCES};

/// Headers of packages beside those of expanders.
pub const HEADERS: Headers = Headers(&[
    "pto/wsp/backend/npu/generator.hpp",
    "pto/wsp/backend/npu/launch.hpp",
    "pto/wsp/backend/npu/workload.hpp",
]);

/// The headers of packages whose AICPUs walk a graph.
const GRAPH_WALK: [&str; 3] =
    ["pto/wsp/backend/npu/unit.hpp", "pto/wsp/backend/npu/task_graph.hpp", "wsp_tg.h"];

/// The header of packages of an expansion, if it has one.
fn header_of(expansion: &wsp_backend::Expansion, of_workload: bool) -> Option<(&'static str, &'static str)> {
    let path = match expansion {
        wsp_backend::Expansion::Loops => return None,
        wsp_backend::Expansion::Bytecode if of_workload => "pto/wsp/backend/npu/bytecode.hpp",
        wsp_backend::Expansion::Bytecode => "pto/wsp/backend/npu/generator_code.hpp",
        wsp_backend::Expansion::Table(_) => "pto/wsp/backend/npu/table.hpp",
    };
    Some((path, headers::text(path)))
}

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[kernels::codes::CODES];
