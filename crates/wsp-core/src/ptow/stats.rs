//! What an AICPU that generates its tasks counts.

/// What one AICPU did in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AicpuStats {
    /// Tasks that it generated.
    pub tasks: u64,
    /// Edges from its own tasks to its own, of those that were not complete when the later was resolved.
    pub local_edges: u64,
    /// Edges from tasks of other AICPUs to its own, likewise.
    pub cross_edges: u64,
    /// Tasks that had to wait for earlier steps of ordered scopes.
    pub scope_waits: u64,
    /// Tasks that had to wait for counters.
    pub counter_waits: u64,
    /// Notices that it sent.
    pub notices: u64,
    /// Notices that found their ring full.
    pub ring_stalls: u64,
    /// Times its generator had to wait for a place in the window.
    pub window_stalls: u64,
    /// Times its generator had to wait for places in the map.
    pub map_stalls: u64,
    /// Ready tasks that found their queue full.
    pub ready_overflows: u64,
    /// Tasks that found a gate shut when their turn came.
    pub deferred: u64,
    /// Most of its tasks in flight at once.
    pub max_in_flight: u32,
}
