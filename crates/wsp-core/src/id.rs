//! Typed indices, so that an index into one table cannot be used in another.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($repr:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The id as an index into its table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// An axis of a space, counted over the whole module.
    AxisId(u32);
    /// A paged KV cache of a module.
    CacheId(u32);
    /// A channel of a workload.
    ChannelId(u32);
    /// An event of one run: signalled by one task, awaited by any number.
    EventId(u32);
    /// A function of a module: kernel, generator or helper.
    FuncId(u32);
    /// A graph of stages.
    GraphId(u32);
    /// A labelled task statement of a workload.
    LabelId(u32);
    /// A kernel as the runtime sees it.
    KernelId(u16);
    /// A local variable of one function.
    LocalId(u32);
    /// A launch-time scalar of a module.
    ParamId(u32);
    /// A schedule of a module.
    ScheduleId(u32);
    /// A value that tasks compute and a workload reads.
    SlotId(u32);
    /// An iteration space of a module.
    SpaceId(u32);
    /// A stream of one run: its tasks run one after another.
    StreamId(u16);
    /// A descriptor type of a module.
    StructId(u32);
    /// An integer array of a workload.
    TableId(u32);
    /// A task of one run; ids follow elaboration order.
    TaskId(u32);
    /// A tensor of a module.
    TensorId(u32);
    /// A set of kernel tiers.
    TierSetId(u32);
    /// A variable of a workload.
    VarId(u32);
    /// A workload of a program.
    WorkloadId(u32);
}
