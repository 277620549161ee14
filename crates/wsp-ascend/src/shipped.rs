//! Headers that programs of a host and of its AICPUs include: graphs of kernels, launches, streams, hand-shakes, and what `.pto` programs name.

macro_rules! headers {
    ($($path:literal),* $(,)?) => {
        /// The headers: paths as they are included, and contents.
        pub const HEADERS: &[(&str, &str)] = &[$(($path, include_str!(concat!("../include/", $path)))),*];
    };
}

headers! {
    "pto/runtime/descriptor.hpp",
    "pto/runtime/schedule.hpp",
    "pto/wsp/version.hpp",
    "pto/wsp/concurrent/utilities.hpp",
    "pto/wsp/backend/npu/domain_handshake.hpp",
    "pto/wsp/backend/npu/graph.hpp",
    "pto/wsp/backend/npu/graph_executor.hpp",
    "pto/wsp/backend/npu/handshake.hpp",
    "pto/wsp/backend/npu/kernel_launch.hpp",
    "pto/wsp/backend/npu/on_device_gen.hpp",
    "pto/wsp/backend/npu/stream_manager.hpp",
    "pto/rt/version.hpp",
    "pto/rt/concurrent/utilities.hpp",
    "pto/rt/backend/npu/domain_handshake.hpp",
    "pto/rt/backend/npu/graph.hpp",
    "pto/rt/backend/npu/graph_executor.hpp",
    "pto/rt/backend/npu/handshake.hpp",
    "pto/rt/backend/npu/kernel_launch.hpp",
    "pto/rt/backend/npu/on_device_gen.hpp",
    "pto/rt/backend/npu/stream_manager.hpp",
}
