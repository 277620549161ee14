//! Every constant of the system that a user may meet, in one place.

/// A limit with its name, value and meaning, as `wsp config` prints it.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// What it bounds.
    pub meaning: &'static str,
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident: $ty:ty = $value:expr;)*) => {
        $($(#[doc = $doc])* pub const $name: $ty = $value;)*

        /// Every limit, in the order of this module.
        pub const ALL: &[Limit] = &[$(Limit { name: stringify!($name), value: $name as u64, meaning: concat!($($doc),*) }),*];
    };
}

limits! {
    /// Most tasks in flight between generation and completion.
    TASK_WINDOW: u32 = 8192;
    /// Cores a 910B offers: 24 cube and 48 vector; the default for `max_blocks`.
    DEFAULT_MAX_BLOCKS: u32 = 72;
    /// Smallest chunk that automatic tiling chooses, in elements of the tiled axis.
    MIN_AUTO_CHUNK: u32 = 256;
    /// Elements between two places where `PTO_BALANCED` may cut, unless a schedule says otherwise.
    SPLIT_ALIGN: u32 = 16;
    /// Workers that share a core group.
    CORES_PER_GROUP: u32 = 4;
    /// Deepest nesting of statements or expressions that the front end accepts.
    MAX_NESTING: u32 = 128;
    /// Longest source file, in bytes.
    MAX_SOURCE_BYTES: u32 = 4 << 20;
    /// Longest text or binary of a task-graph unit, in bytes.
    MAX_UNIT_BYTES: u32 = 256 << 20;
    /// Bytes of all entries of a cache of plans, unless it is opened with another bound.
    CACHE_BYTES: u64 = 64 << 20;
    /// Largest tile, in bytes.
    MAX_TILE_BYTES: u64 = 16 << 20;
    /// Most descriptors that one run may emit.
    MAX_DESCRIPTORS: u32 = 1 << 26;
    /// Most steps that a generator, or a task of a kernel, may take before it is taken to loop for ever: some minutes.
    MAX_GENERATOR_STEPS: u64 = 20_000_000_000;
    /// Most steps that a generator of a launch may take from one descriptor to the next before it is taken to loop for ever: some
    /// seconds.
    MAX_STEPS_TO_DESCRIPTOR: u64 = 1 << 28;
    /// Most rounds of a `while` in a workload that gives no maximum.
    MAX_WHILE_ROUNDS: u32 = 1 << 20;
    /// Most diagnostics printed for one file.
    MAX_DIAGNOSTICS: u32 = 50;
    /// Most tasks and barrier nodes of one run or one stored graph.
    MAX_TASKS: u32 = (1 << 31) - 1;
    /// Most tasks of one graph in memory.
    MAX_GRAPH_TASKS: u32 = 1 << 25;
    /// Most 64-bit arguments of one task in exported task graphs.
    MAX_TASK_ARGS: u32 = 16;
    /// Most accesses of one task in exported task graphs.
    MAX_TASK_IO: u32 = 16;
    /// Most successors of one row in exported task graphs; more are reached through relays.
    MAX_FANOUT: u32 = 65_535;
    /// Most worker threads of one run.
    MAX_THREADS: u32 = 1024;
    /// Largest window of tasks in flight that may be asked for.
    MAX_TASK_WINDOW: u32 = 1 << 20;
    /// Most integers that a kernel of a workload takes.
    MAX_TASK_SCALARS: u32 = 16;
    /// Most tensors that a kernel of a workload takes.
    MAX_TASK_TENSORS: u32 = 16;
    /// Most 32-bit words in the descriptor of one task.
    MAX_PAYLOAD_WORDS: u32 = 16;
    /// Most tasks that one AICPU has in flight, unless a run says otherwise.
    LOCAL_WINDOW_SIZE: u32 = 1024;
    /// Largest window, ready queue or notification ring of an AICPU that may be asked for.
    MAX_LOCAL_WINDOW: u32 = 32_768;
    /// Most 32-bit words in the descriptor of a task in the window of an AICPU.
    MAX_LOCAL_PARAMS: u32 = MAX_PAYLOAD_WORDS;
    /// Most ready tasks in one queue of an AICPU, unless a run says otherwise.
    READY_QUEUE_SIZE: u32 = LOCAL_WINDOW_SIZE;
    /// Most accesses in flight over all AICPUs, unless a run says otherwise.
    GLOBAL_MAP_SIZE: u32 = 16_384;
    /// Notifications of completion in flight between two AICPUs, unless a run says otherwise.
    NOTIFY_RING_SIZE: u32 = 1024;
    /// Most AICPUs that share the tasks of one run.
    MAX_RUN_AICPUS: u32 = 1024;
}
