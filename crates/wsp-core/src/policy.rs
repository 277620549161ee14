//! What schedules say, in types that every crate uses: a text form, a plan, the runtime and virtual time mean the same by
//! the same type, and nothing between them translates.
//!
//! Where a value has no data, its word in text (`.wsp`, JSON, Python, the command line) stands beside it.

use crate::limits;

/// Declares enums without data, with the word of each value.
macro_rules! words {
    ($(
        $(#[$meta:meta])*
        enum $name:ident { $( $(#[$of:meta])* $variant:ident $(= $number:literal)? => $word:literal, )+ }
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub enum $name { $( $(#[$of])* $variant $(= $number)?, )+ }

        impl $name {
            /// Every value with its word.
            pub const WORDS: &'static [(&'static str, $name)] = &[$( ($word, $name::$variant), )+];

            /// Its word.
            pub const fn word(self) -> &'static str {
                match self { $( $name::$variant => $word, )+ }
            }
        }
    )+ };
}

words! {
    /// Where the order of tasks comes from.
    ///
    /// Streams, events, fences and ordered scopes order tasks in every mode.
    enum Deps {
        /// A read waits for the newest task that wrote exactly the same region, once per region. Other hazards are not
        /// seen: a run of a workload refuses regions that overlap and differ.
        Exact => "exact",
        /// From the regions that tasks read and write, with all hazards: any two tasks whose regions conflict run in the
        /// order of elaboration.
        #[default]
        Overlap => "overlap",
        /// Only the edges that tasks name (`after`); data must be ordered by them.
        Explicit => "explicit",
        /// Both the regions, as under `Overlap`, and the edges that tasks name.
        Hybrid => "hybrid",
    }

    /// What happens to a task that finds the window full.
    enum WindowMode {
        /// Generation waits.
        #[default]
        Stall => "stall",
        /// The run fails.
        Abort => "abort",
        /// Generation waits, and each wait is recorded.
        Benchmark => "benchmark",
    }

    /// Which ready task is taken next.
    enum Ready {
        /// [`Fifo`](Self::Fifo) with one worker, else [`WorkSteal`](Self::WorkSteal).
        #[default]
        Auto => "auto",
        /// In the order in which tasks become ready, ties by task id. Tasks that ask for a core group or a worker queue there.
        Fifo => "fifo",
        /// A worker prefers what its own last task released; idle workers steal.
        WorkSteal => "work_steal",
        /// The largest priority first, ties in the order of becoming ready: of the tasks that a worker may take, which are
        /// those that ask for it, for its core group, or for no place. Those that ask for another come after these.
        Priority => "priority",
    }

    /// What a schedule asks to have recorded.
    enum Trace {
        /// Nothing.
        #[default]
        None => "none",
        /// Times of every task.
        Measured => "measured",
        /// Virtual time: no kernel runs; each task takes its kernel's `cost`.
        Cycles => "cycles",
    }

    /// The tasks that one count of a gate is for.
    enum GateScope {
        /// All tasks.
        #[default]
        Global => "global",
        /// The tasks of one stream; tasks without a stream pass. Several tasks of a stream are in flight only where such a
        /// gate lets them: they then start in the order of submission.
        PerStream => "per_stream",
        /// The tasks that ask for one kind of execution unit; those for any unit are one kind more.
        PerPool => "per_pool",
    }

    /// An axis of a grid of tiles.
    enum MeshAxis {
        /// Along a row.
        #[default]
        X => "x",
        /// From row to row.
        Y => "y",
    }

    /// The execution units that may run a task. The numbers are those of exported task graphs.
    #[repr(u8)]
    enum ExecPool {
        /// Vector units.
        Vector = 0 => "vector",
        /// Matrix units.
        Cube = 1 => "cube",
        /// Either.
        #[default]
        Any = 255 => "any",
    }
}

impl Deps {
    /// Whether regions make edges.
    pub fn infers(self) -> bool {
        self != Deps::Explicit
    }

    /// Whether edges may be given.
    pub fn takes_edges(self) -> bool {
        matches!(self, Deps::Explicit | Deps::Hybrid)
    }
}

/// The tasks that may be between submission and completion. A stored graph, all of which exists before it runs, has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Most such tasks, 1 to [`limits::MAX_TASK_WINDOW`].
    pub capacity: u32,
    /// What happens at the limit.
    pub mode: WindowMode,
}

impl Window {
    /// A window whose submissions wait.
    pub const fn stall(capacity: u32) -> Window {
        Window { capacity, mode: WindowMode::Stall }
    }
}

impl Default for Window {
    fn default() -> Window {
        Window::stall(limits::TASK_WINDOW)
    }
}

/// How workers divide among execution units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PoolSizes {
    /// Every worker runs every task.
    #[default]
    Shared,
    /// The first workers run vector tasks and the others cube tasks; each also takes tasks for any unit, when it finds
    /// none for its own.
    ByUnit {
        /// Workers for vector tasks, at least 1.
        vector: u32,
        /// Workers for cube tasks, at least 1.
        cube: u32,
    },
}

/// A grid of tiles, which tasks and the parts of tensors are placed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// Tiles of a row, 1 to [`limits::MAX_THREADS`].
    pub x: u32,
    /// Rows, 1 to [`limits::MAX_THREADS`].
    pub y: u32,
}

impl Grid {
    /// How many tiles there are.
    pub const fn tiles(self) -> u32 {
        self.x.saturating_mul(self.y)
    }

    /// Its tiles along an axis, at least 1.
    pub fn along(self, axis: MeshAxis) -> u32 {
        match axis {
            MeshAxis::X => self.x.max(1),
            MeshAxis::Y => self.y.max(1),
        }
    }
}

/// How one dimension of a tensor lies on a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LayoutDim {
    /// Every tile has all of it.
    #[default]
    Replicate,
    /// The tiles along an axis have equal parts of it, one after the other; the last ones may be shorter, or empty.
    Shard(MeshAxis),
}

impl LayoutDim {
    /// The axis that it is sharded over.
    pub const fn axis(self) -> Option<MeshAxis> {
        match self {
            LayoutDim::Replicate => None,
            LayoutDim::Shard(axis) => Some(axis),
        }
    }
}

/// When the first task may start. A stored graph starts when it is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Start {
    /// When all tasks are generated, or generation has to wait.
    AfterOrchestration,
    /// At once.
    #[default]
    Immediate,
    /// When so many tasks, at least 1, are generated; otherwise as `AfterOrchestration`.
    Threshold(u32),
}

/// A limit to the tasks that have started and not finished.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Gate {
    /// Which tasks are counted together.
    pub scope: GateScope,
    /// Most of them, at least 1.
    pub capacity: u32,
}

impl Gate {
    /// How many tasks of one stream these gates let be in flight: 1 without a gate per stream.
    pub fn stream_depth(gates: &[Gate]) -> u32 {
        let per_stream = gates.iter().filter(|gate| gate.scope == GateScope::PerStream);
        per_stream.map(|gate| gate.capacity).min().unwrap_or(1)
    }
}

/// What becomes of partitions, and of what task graphs ask of cores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Hints {
    /// Nothing: every core runs every kernel of its type.
    #[default]
    Ignore,
    /// They decide on which cores kernels run.
    Honour,
}

/// Where the tasks of one value of an axis run: `PTO_AFFINITY`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AffinityPolicy {
    /// Same axis value, same group of cores.
    CoreGroup,
    /// Same axis value, same core.
    CoreLocal,
    /// All over the cores.
    Spread,
}

/// In which order the values of an axis are issued: `PTO_ORDER`. Counts are at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OrderPolicy {
    /// Issued in order.
    Sequential,
    /// Each value only after the one before is complete.
    SequentialStrict,
    /// No order asked.
    Parallel,
    /// Groups of `n` values, one item from each in turn.
    Interleaved(u32),
    /// All values in turn, `n` items from each.
    Blocked(u32),
    /// By falling number of elements of the dynamic axis, equal ones by rising value.
    LongestFirst,
}

/// How a dynamic axis is cut into items: `PTO_SPLIT`. A size is an expression of the language, or a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SplitPolicy<Size> {
    /// One item.
    Whole,
    /// Items of so many elements, at least 1; the last may be shorter.
    Fixed(Size),
    /// Where the shares of equal cores end on the line of all elements; so many elements, at least 1, lie between two
    /// places where a cut may be.
    Balanced(u32),
}

impl<Size> SplitPolicy<Size> {
    /// The same policy with a size of another kind.
    ///
    /// # Errors
    /// The size has none.
    pub fn try_map<T, E>(&self, size: impl FnOnce(&Size) -> Result<T, E>) -> Result<SplitPolicy<T>, E> {
        Ok(match self {
            SplitPolicy::Whole => SplitPolicy::Whole,
            SplitPolicy::Fixed(given) => SplitPolicy::Fixed(size(given)?),
            SplitPolicy::Balanced(align) => SplitPolicy::Balanced(*align),
        })
    }
}

/// What a schedule of spaces says of an axis. A size is an expression of the language.
#[derive(Clone, PartialEq, Debug)]
pub enum AxisPolicy<Size> {
    /// `PTO_AFFINITY(axis, policy)`
    Affinity(AffinityPolicy),
    /// `PTO_ORDER(axis, policy)`; the first statement is the outermost loop.
    Order(OrderPolicy),
    /// `PTO_PREFETCH(axis, depth)`: inputs of so many iterations ahead, at least 1, are fetched.
    Prefetch(u32),
    /// `PTO_SPLIT(axis, policy)`
    Split(SplitPolicy<Size>),
    /// `PTO_PRIORITY(axis)`: of the ready tasks, those of larger indices start first.
    Priority,
}

impl<Size> AxisPolicy<Size> {
    /// The form that says it.
    pub const fn form(&self) -> &'static str {
        match self {
            AxisPolicy::Affinity(_) => "PTO_AFFINITY",
            AxisPolicy::Order(_) => "PTO_ORDER",
            AxisPolicy::Prefetch(_) => "PTO_PREFETCH",
            AxisPolicy::Split(_) => "PTO_SPLIT",
            AxisPolicy::Priority => "PTO_PRIORITY",
        }
    }
}

/// What a schedule of spaces says of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchPolicy {
    /// `PTO_PIPELINE_DEPTH(n)` or `PTO_PIPELINE_DEPTH(n, PTO_PER_POOL)`
    Gate(Gate),
    /// `PTO_POOLS(vector, cube)`
    Pools(PoolSizes),
    /// `PTO_SPATIAL_MAP(x, y)`
    Grid(Grid),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_have_the_numbers_of_exported_graphs() {
        assert_eq!([ExecPool::Vector, ExecPool::Cube, ExecPool::Any].map(|pool| pool as u8), [0, 1, 255]);
    }

    #[test]
    fn every_value_has_one_word() {
        for (at, (word, mode)) in WindowMode::WORDS.iter().enumerate() {
            assert_eq!(mode.word(), *word);
            assert!(WindowMode::WORDS[..at].iter().all(|(other, _)| other != word), "{word}");
        }
        assert_eq!(ExecPool::WORDS.len(), 3);
    }

    #[test]
    fn the_smallest_gate_of_a_stream_counts() {
        let gate = |scope, capacity| Gate { scope, capacity };
        let gates =
            [gate(GateScope::PerStream, 3), gate(GateScope::Global, 1), gate(GateScope::PerStream, 2)];
        assert_eq!((Gate::stream_depth(&gates), Gate::stream_depth(&gates[1..2])), (2, 1));
    }
}
