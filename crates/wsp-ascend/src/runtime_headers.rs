//! Headers of the executor, which runs the tasks of emitted orchestration on AICPUs and cores, and of programs around it.
//!
//! They travel with emitted packages beside [`HEADERS`](crate::expander::HEADERS), and include `tensor.h` of the platform, for which a host has
//! [`FILES`](crate::host::FILES).

use crate::Headers;

/// What runs on a device.
pub const EXECUTOR: Headers = Headers(&[
    "pto/wsp/graph/types.hpp",
    "pto/wsp/graph/storage.hpp",
    "pto/wsp/graph/tensor_map.hpp",
    "pto/wsp/graph/ready_queue.hpp",
    "pto/wsp/graph/runtime.hpp",
    "pto/wsp/backend/npu/task_sink.hpp",
    "pto/wsp/backend/npu/handshake.hpp",
    "pto/wsp/backend/npu/executor_config.hpp",
    "pto/wsp/backend/npu/executor_heap.hpp",
    "pto/wsp/backend/npu/executor_nodes.hpp",
    "pto/wsp/backend/npu/executor_submit.hpp",
    "pto/wsp/backend/npu/executor.hpp",
    "pto/rt/graph/types.hpp",
    "pto/rt/graph/storage.hpp",
    "pto/rt/graph/tensor_map.hpp",
    "pto/rt/graph/ready_queue.hpp",
    "pto/rt/graph/runtime.hpp",
    "pto/rt/backend/npu/task_sink.hpp",
    "pto/rt/backend/npu/handshake.hpp",
    "pto/rt/backend/npu/executor.hpp",
]);

/// What runs the executor on a host, on steps of one thread at a time or on threads.
pub const HOST_RUN: Headers = Headers(&[
    "pto/wsp/concurrent/utilities.hpp",
    "pto/wsp/backend/npu/domain_handshake.hpp",
    "pto/wsp/backend/npu/cross_plan.hpp",
    "pto/wsp/backend/npu/executor_text.hpp",
    "pto/wsp/backend/npu/host_tasks.hpp",
    "pto/wsp/backend/npu/host_run.hpp",
    "pto/wsp/backend/npu/host_side.hpp",
    "pto/rt/backend/npu/host_run.hpp",
]);

/// What hands tasks to the public task runtime in place of the executor; its header `pto_orchestration_api.h` is not among them.
pub const TASK_RUNTIME: Headers =
    Headers(&["pto/wsp/backend/npu/runtime_sink.hpp", "pto/wsp/backend/npu/runtime_entry.hpp"]);

/// What programs around emitted code may include: graphs of kernels, streams, launches, signals of the two sides, and what `.pto` programs name.
pub const PROGRAMS: Headers = Headers(&[
    "pto/runtime/descriptor.hpp",
    "pto/runtime/schedule.hpp",
    "pto/wsp/concurrent/utilities.hpp",
    "pto/wsp/backend/npu/domain_handshake.hpp",
    "pto/wsp/backend/npu/graph.hpp",
    "pto/wsp/backend/npu/graph_executor.hpp",
    "pto/wsp/backend/npu/kernel_launch.hpp",
    "pto/wsp/backend/npu/stream_manager.hpp",
    "pto/rt/concurrent/utilities.hpp",
    "pto/rt/backend/npu/domain_handshake.hpp",
    "pto/rt/backend/npu/graph.hpp",
    "pto/rt/backend/npu/graph_executor.hpp",
    "pto/rt/backend/npu/kernel_launch.hpp",
    "pto/rt/backend/npu/stream_manager.hpp",
]);
