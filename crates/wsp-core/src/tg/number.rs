//! Numbers that task graphs have for kernels, tensors, events and the like.

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);
    )*};
}

// Numbers as programs write them: unique where the document says so, but not dense.
numbers! {
    /// A graph of a unit.
    GraphNo;
    /// A kernel of a graph.
    KernelNo;
    /// A tensor of a unit or of a graph. 0 is no tensor.
    TensorNo;
    /// An event of a unit.
    EventNo;
    /// A barrier of a graph.
    BarrierNo;
    /// A notification between devices.
    NotifyNo;
    /// A device.
    DeviceNo;
    /// A partition of the cores of a device.
    PartitionNo;
    /// A loop variable.
    IterNo;
    /// A stream of a device. 0 is the default stream.
    StreamNo;
    /// A checkpoint.
    CheckpointNo;
    /// A kernel or a copy of a graph: a [`KernelNo`], or [`NodeNo::COPY`] plus the place of an `MC_COPY` among those of its
    /// graph.
    NodeNo;
    /// A string of the unit.
    Symbol;
}

impl TensorNo {
    /// No tensor.
    pub const NONE: TensorNo = TensorNo(0);
}

impl PartitionNo {
    /// All cores of the device.
    pub const NONE: PartitionNo = PartitionNo(u32::MAX);
}

impl KernelNo {
    /// No kernel in particular: for operands whose default depends on where the instruction stands.
    pub const NONE: KernelNo = KernelNo(u32::MAX);
}

impl NodeNo {
    /// The bit that tells copies from kernels.
    pub const COPY: u32 = 1 << 31;

    /// The kernel, if it is one.
    pub const fn kernel(self) -> Option<KernelNo> {
        if self.0 & NodeNo::COPY == 0 { Some(KernelNo(self.0)) } else { None }
    }

    /// The place of the copy among those of its graph, if it is one.
    pub const fn copy(self) -> Option<u32> {
        if self.0 & NodeNo::COPY == 0 { None } else { Some(self.0 & !NodeNo::COPY) }
    }
}

impl From<KernelNo> for NodeNo {
    fn from(kernel: KernelNo) -> NodeNo {
        NodeNo(kernel.0)
    }
}
