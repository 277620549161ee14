//! Every constant of the system that a user may meet, in one place.

/// A limit with its name, value and meaning, as `wsp config` prints it.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// What gives a program another one.
    pub change: Change,
    /// What it bounds.
    pub meaning: &'static str,
}

/// What gives a program another value than that of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// What to write for one run, in its schedule, its source or the call that begins it.
    By(&'static str),
    /// Nothing: records that are stored or shared with devices have no room for more.
    Format,
    /// Nothing: it bounds the memory and time that a faulty program takes.
    Guard,
    /// Nothing, as no run has asked for another.
    Size,
}

impl Change {
    /// What to write, or why there is nothing.
    pub const fn text(self) -> &'static str {
        match self {
            Change::By(what) => what,
            Change::Format => "fixed: the width of records",
            Change::Guard => "fixed: bounds what a faulty program takes",
            Change::Size => "fixed: one size for all runs",
        }
    }
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident: $ty:ty = $value:expr, $change:expr;)*) => {
        $($(#[doc = $doc])* pub const $name: $ty = $value;)*

        /// Every limit, in the order of this module.
        pub const ALL: &[Limit] = {
            use Change::{By, Format, Guard, Size};
            &[$(Limit { name: stringify!($name), value: $name as u64, change: $change, meaning: concat!($($doc),*) }),*]
        };
    };
}

limits! {
    /// Most tasks in flight between generation and completion.
    TASK_WINDOW: u32 = 8192, By("`task_window(n)` of a schedule, `RunOptions::window`");
    /// Most tasks in flight of a workload all of whose kernels are functions of Python: each takes microseconds, so that generation fills any window.
    /// So many are enough for all threads, and what is kept of them stays in the caches of a processor.
    TASK_WINDOW_OF_FUNCTIONS: u32 = 1024, By("`.task_graph(window=…)` of a schedule");
    /// Cores a 910B offers: 24 cube and 48 vector; the default for `max_blocks`.
    DEFAULT_MAX_BLOCKS: u32 = 72, By("`--set max_blocks=n`, `max_blocks=n` in Python, `CompileOptions::max_blocks`");
    /// Smallest chunk that automatic tiling chooses, in elements of the tiled axis.
    MIN_AUTO_CHUNK: u32 = 256, By("`PTO_TILE(axis, n)`");
    /// Elements between two places where `PTO_BALANCED` may cut, unless a schedule says otherwise.
    SPLIT_ALIGN: u32 = 16, By("`PTO_BALANCED(n)`");
    /// Workers that share a core group.
    CORES_PER_GROUP: u32 = 4, By("`core_groups(n)` of a schedule");
    /// Deepest nesting of statements or expressions that the front end accepts.
    MAX_NESTING: u32 = 128, Guard;
    /// Longest source file, in bytes.
    MAX_SOURCE_BYTES: u32 = 4 << 20, Guard;
    /// Longest text or binary of a task-graph unit, in bytes.
    MAX_UNIT_BYTES: u32 = 256 << 20, Guard;
    /// Bytes of all entries of a cache of plans, unless it is opened with another bound.
    CACHE_BYTES: u64 = 64 << 20, By("`PlanCache::with_most_bytes`");
    /// Largest tile, in bytes.
    MAX_TILE_BYTES: u64 = 16 << 20, Guard;
    /// Most descriptors that one run may emit.
    MAX_DESCRIPTORS: u32 = 1 << 26, Guard;
    /// Most steps that a generator, or a task of a kernel, may take before it is taken to loop for ever: some minutes.
    MAX_GENERATOR_STEPS: u64 = 20_000_000_000, Guard;
    /// Most steps that a generator of a launch may take from one descriptor to the next before it is taken to loop for ever: some
    /// seconds.
    MAX_STEPS_TO_DESCRIPTOR: u64 = 1 << 28, Guard;
    /// Most rounds of a `while` in a workload that gives no maximum.
    MAX_WHILE_ROUNDS: u32 = 1 << 20, By("`while … max n`");
    /// Most diagnostics printed for one file.
    MAX_DIAGNOSTICS: u32 = 50, Guard;
    /// Most tasks and barrier nodes of one run or one stored graph.
    MAX_TASKS: u32 = (1 << 31) - 1, Format;
    /// Most tasks of one graph in memory.
    MAX_GRAPH_TASKS: u32 = 1 << 25, Guard;
    /// Most 64-bit arguments of one task in exported task graphs.
    MAX_TASK_ARGS: u32 = 16, Format;
    /// Most accesses of one task in exported task graphs.
    MAX_TASK_IO: u32 = 16, Format;
    /// Most successors of one row in exported task graphs; more are reached through relays.
    MAX_FANOUT: u32 = 65_535, Format;
    /// Most worker threads of one run.
    MAX_THREADS: u32 = 1024, Guard;
    /// Largest window of tasks in flight that may be asked for.
    MAX_TASK_WINDOW: u32 = 1 << 20, Guard;
    /// Most integers that a kernel of a workload takes.
    MAX_TASK_SCALARS: u32 = 16, Format;
    /// Most tensors that a kernel of a workload takes.
    MAX_TASK_TENSORS: u32 = 16, Format;
    /// Most 32-bit words in the descriptor of one task.
    MAX_PAYLOAD_WORDS: u32 = 16, Format;
    /// Most tasks that one AICPU has in flight, unless a run says otherwise.
    LOCAL_WINDOW_SIZE: u32 = 1024, By("`task_window(n)` of a schedule, which AICPUs share");
    /// Largest window, ready queue or notification ring of an AICPU that may be asked for.
    MAX_LOCAL_WINDOW: u32 = 32_768, Format;
    /// Most 32-bit words in the descriptor of a task in the window of an AICPU.
    MAX_LOCAL_PARAMS: u32 = MAX_PAYLOAD_WORDS, Format;
    /// Most ready tasks in one queue of an AICPU.
    READY_QUEUE_SIZE: u32 = LOCAL_WINDOW_SIZE, Size;
    /// Most accesses in flight over all AICPUs.
    GLOBAL_MAP_SIZE: u32 = 16_384, Size;
    /// Notifications of completion in flight between two AICPUs.
    NOTIFY_RING_SIZE: u32 = 1024, Size;
    /// Most AICPUs that share the tasks of one run.
    MAX_RUN_AICPUS: u32 = 1024, Guard;
    /// Most dimensions of a tensor.
    MAX_RANK: usize = 6, Format;
    /// Largest number of a task graph.
    MAX_GRAPH_ID: u32 = 65_535, Format;
    /// Most blocks of one kernel of a task graph.
    MAX_BLOCK_DIM: u32 = 65_535, Format;
    /// Static loops of task graphs of at most so many iterations are unrolled.
    UNROLL_LIMIT: u64 = 1024, Size;
    /// Rounds after which a `CF_WHILE` that says nothing else is taken to run for ever.
    MAX_WHILE_ITERATIONS: u64 = 1 << 31, By("`CF_WHILE(…, max_iterations = n)`");
    /// Most operations of an expression of a task graph.
    MAX_EXPR_OPS: usize = 1 << 15, Guard;
    /// Deepest nesting of control flow in a task graph.
    MAX_CONTROL_DEPTH: u32 = 64, Guard;
    /// Most nodes of one task graph, with loops that are unrolled.
    MAX_NODES: u32 = 1 << 22, Size;
    /// Most cores of a kind on a simulated device.
    MAX_DEVICE_CORES: u32 = 4096, Guard;
    /// Most loop variables in scope in a program for AICPUs.
    MAX_LOOP_DEPTH: usize = 16, Format;
    /// Most bodies around an instruction of a program for AICPUs, the outermost included.
    MAX_BODY_DEPTH: usize = 64, Format;
    /// Most bodies around an instruction that may wait, within its process, in a program for AICPUs.
    MAX_PROCESS_DEPTH: usize = 16, Format;
    /// Most words of all bodies of a program for AICPUs, and most of all its expressions.
    MAX_WORDS: u32 = 1 << 16, Format;
    /// Most words of one expression of a program for AICPUs.
    MAX_EXPR_WORDS: usize = 256, Format;
    /// Most bytes of all names of a program for AICPUs.
    MAX_NAME_BYTES: u32 = 65_535, Format;
    /// Most bounds of a `threshold`.
    MAX_THRESHOLDS: usize = 8, Format;
}
