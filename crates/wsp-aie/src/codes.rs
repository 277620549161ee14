//! What the codes of this crate mean.

wsp_diag::codes! {
    pub(crate) SYNTAX = 1800, "text that is no MLIR",
        "\
Something else stands in the text of a design than MLIR has there. Read are operations in the generic spelling of MLIR and in their own.";
    pub(crate) OPERATION = 1801, "operation that is not known",
        "\
Designs are read with the operations that are printed: `aie` and `aiex` for arrays, `arith`, `scf`, `memref`, `func`, `math` and `vector` in the bodies of cores.";
    pub(crate) VALUE = 1802, "value or block that is not there, or there twice",
        "\
A value `%name` is made once, before it is used, and blocks `^name` have names of their own in a region.";
    pub(crate) NUMBER = 1803, "number that does not fit",
        "\
A number in the text of a design has no place in its type.";
    pub(crate) TYPE = 1804, "type that is not known",
        "\
Types are integers, `index`, `f16`, `bf16`, `f32`, `f64`, memory references, vectors, functions, and fifos of `aie`.";
    pub(crate) ARITY = 1805, "operands or results of other number or type",
        "\
An operation has operands, results or types that it does not take.";
    pub(crate) ATTRIBUTE = 1806, "attribute that is missing, wrong or given twice",
        "\
An operation needs an attribute that is not there, or has one of another kind.";
    pub(crate) DEVICE = 1807, "array that is not known",
        "\
Designs are made for `npu1` (XDNA1, four columns) and `npu2` (XDNA2, eight columns), and for parts of them of fewer columns, such as `npu2_4col`.";
    pub(crate) SYMBOL = 1808, "symbol that is not there",
        "\
A design names a fifo, a kernel or a channel that it does not have.";
    pub(crate) PLACE = 1820, "tile that the array does not have",
        "\
A tile has a column and a row of the array, and is named once.";
    pub(crate) KIND = 1821, "tile of the wrong kind",
        "\
Cores stand on compute tiles, one on each; buffers on tiles with memory; channels of the host on shim tiles; ends of a fifo on tiles of their own.";
    pub(crate) LINK = 1822, "link of fifos that do not fit",
        "\
Fifos that are linked share objects on one tile: one goes on in one, one is distributed to several, or several are joined in one, each part with an offset within
the object.";
    pub(crate) PORT = 1823, "end of a fifo that a core does not have",
        "\
A core acquires and releases objects of fifos that begin or end on its tile, as the producer or as a consumer, and that do not go on through a link there.";
    pub(crate) CHANNELS = 1824, "more streams than channels",
        "\
Each end of a fifo that does not go by shared memory takes a channel of its tile: a compute tile and a shim tile have 2 each way, a memory tile 6. Neighbouring cores with one
consumer share memory and take none.";
    pub(crate) MEMORY = 1825, "more bytes than a tile has",
        "\
Stack, buffers and the objects of fifos share the memory of a tile: 64 KiB of a compute tile, 512 KiB of a memory tile. Objects are counted as upstream's lowering makes them.";
    pub(crate) TRANSFER = 1826, "transfer that its memory does not hold",
        "\
A transfer, or the dimensions of a fifo, name elements beyond the array or the object, or sizes that are none.";
    pub(crate) LOCKS = 1827, "lock that a tile does not have",
        "\
A compute tile has 16 locks, a memory tile 64; the objects of a fifo take 2 wherever they lie. A lock has values from 0 to 63.";
    pub(crate) DESCRIPTORS = 1828, "descriptor that a tile does not have",
        "\
Each object takes a descriptor at each end of a channel, each time that it is sent. Compute and shim tiles have 16; memory tiles have 48, of which even channels use the first half
and odd channels the second.";
    pub(crate) SIZE = 1829, "size that no field holds",
        "\
Sizes of dimensions but the outermost lie in fields of 8 bits (compute tiles) or 10 bits, those of the innermost in words of 4 bytes. A transfer that is one after the other has no such
limit.";
    pub(crate) STRIDE = 1830, "stride that no field holds",
        "\
Strides lie in fields of 13 bits (compute tiles), 17 bits (memory tiles) or 20 bits (shim tiles), in words of 4 bytes.";
    pub(crate) GRANULE = 1831, "transfer that is not of whole words",
        "\
Streams carry words of 4 bytes: sizes and strides are multiples of them, and elements of fewer bytes lie one after the other in the innermost dimension.";
    pub(crate) ITERATION = 1832, "descriptor that is repeated too often",
        "\
The outermost of four dimensions of a transfer of the host repeats its descriptor, at most 64 times.";
    pub(crate) DIMS = 1833, "descriptor with too many dimensions",
        "\
Descriptors of compute and shim tiles have three dimensions, those of memory tiles four.";
    pub(crate) CHANNEL = 1834, "channel that a tile does not have",
        "\
Channels of compute and shim tiles are 0 and 1, those of memory tiles 0 to 5.";
    pub(crate) DEPTH = 1835, "more objects held than there are",
        "\
A core acquires at most as many objects as the fifo is deep at its end. With more it waits for ever; no pass of upstream says so.";
    pub(crate) OBJECT = 1836, "object of another type, or one that is not held",
        "\
Objects have the type of their fifo, and one that is used is among those that were acquired.";
    pub(crate) FED = 1837, "fifo that nothing feeds",
        "\
A fifo that begins on a shim tile needs a transfer of a sequence, one that begins on a memory tile a link, one that begins on a core's tile a core that releases objects as the producer.
Without, all that waits for its objects hangs.";
    pub(crate) DRAINED = 1838, "fifo that nothing drains",
        "\
A fifo ends in transfers of a sequence, a link, or a core that releases objects as a consumer. Without, the producer hangs once all objects are full.";
    pub(crate) REPLAY = 1839, "broadcast too shallow for what is sent again",
        "\
Where the cores behind a broadcast make objects that are sent again, `T` times each, arrays were measured to hang unless twice the depth is at least the number of cores times `T`. Broadcasts that the
host fills with the same data count as one. The interpreter, which knows no times, does not show it.";
    pub(crate) REPEAT = 1840, "objects that are sent again where they cannot be",
        "\
`repeat_count` is for fifos that begin on memory tiles or cores, and is at least 1.";
    pub(crate) METADATA = 1841, "transfer of what the host does not reach",
        "\
A transfer or a wait of a sequence names a fifo that begins or ends on a shim tile, or a channel of one. Other tools pass any name on to the driver.";
    pub(crate) REUSE = 1842, "descriptor that is used again too early",
        "\
A descriptor of a shim tile is free once a wait has told that its transfer is done.";
    pub(crate) WAIT = 1843, "wait for a transfer that does not tell its end",
        "\
A transfer with `issue_token = true` can be waited for, once.";
    pub(crate) REACH = 1844, "memory that a core does not reach",
        "\
A core reaches the memory and locks of its own tile and of those to the west, north and south, if they are compute tiles.";
    pub(crate) TWICE = 1845, "symbol of two things",
        "\
Fifos, kernels, buffers, locks, channels and sequences of a device have names of their own.";
    pub(crate) FLOW = 1846, "stream between ports that are not there",
        "\
A stream begins at a port into the switch of a tile and ends at one out of it, alone. Memory tiles have none to the east and west, and tiles at an edge none beyond it.";
    pub(crate) PACKET = 1847, "packets with a wrong number or source",
        "\
Packets have numbers from 0 to 31 and one source; a number leaves a port once.";
    pub(crate) CASCADE = 1848, "cascade between cores that are not neighbours",
        "\
A cascade goes from a core to the next to the east or south.";
    pub(crate) BALANCE = 1849, "fifo that is given too few objects, or too many",
        "\
From what the host takes follows how often each core repeats its body, and from that how many objects it needs. A memory tile does not send an object again unless `repeat_count` says so.
Objects that a sequence leaves in a fifo, and no core holds, are the first that the next launch takes: this is a warning.";
    pub(crate) CALL = 1850, "call of a kernel that is declared otherwise",
        "\
A kernel is declared in the device with the types that it is called with.";
    pub(crate) PROGRAM = 1851, "program that a core does not hold",
        "\
A core has 16 KiB of program. Counted are 16 bytes for each operation, and for each 16 lanes of a vector; kernels that are linked are not counted.";
    pub(crate) STALL = 1852, "design that hangs whatever its data",
        "\
Objects, locks and transfers are followed without their data, where loops are of fixed bounds and no branch has objects. The notes go from what the host waits for to the cause.";
    pub(crate) CHAIN = 1853, "block of a chain that is more than one descriptor",
        "\
A block of `aie.mem`, `aie.memtile_dma` or `aie.shim_dma` becomes one descriptor: it has one `aie.dma_bd`, acquires one lock at most and releases one.";
    pub(crate) INITIAL = 1854, "initial objects that are not those of the fifo",
        "\
A fifo that begins with objects has as many of them as its producer has buffers, each with all elements of the object's type, and begins on a tile with memory.";
    pub(crate) GUARD = 1855, "lock that guards nothing",
        "\
A lock keeps two users of memory apart where one of them releases what the other acquires. One that is released only, acquired only (by several, or by one more often than its first value allows), or used by one core or channel alone keeps nothing apart.";
    pub(crate) SHARED = 1856, "memory that two use at once",
        "\
Cores and channels that use one buffer take turns where each acquires a lock that the other releases behind its use, or where objects of a fifo go from one to the other. A lock that begins with more units than
there are buffers lets both use one at once; so does a use before the lock is acquired, or behind its release.";
    pub(crate) DEADLOCK = 1860, "design that hangs",
        "\
Nothing can go on, and the host still waits for a transfer. The notes go from what it waits for to the cause: a circle of cores and streams each of which waits for the
next, or something that never comes.";
    pub(crate) FAULT = 1861, "fault of a core that runs",
        "\
A core accesses an element beyond its memory, divides by 0, uses an object that it has given back or does not hold, gives back one that it does not hold, or calls a kernel that no function stands for; it or a descriptor
releases a lock beyond 63; or a launch takes too many instructions.";
    pub(crate) LAUNCH = 1862, "launch with other values than the sequence takes",
        "\
A runtime sequence takes as many values as it names: arrays of as many bytes as their types have, and numbers.";
    pub(crate) EXTRA = 1863, "design that runs only by a buffer more than declared",
        "\
Upstream's lowering gives a core's end of a fifo one buffer more than the core holds at once, whatever depth is declared. With the declared depths the design hangs.";
    pub(crate) NOT_RUN = 1864, "part of a design that is not run here",
        "\
The interpreter runs fifos, links, cores and the transfers of the host. Chains of descriptors, streams without fifos, and attributes that change what fifos do are read and checked only.";
    pub(crate) PART = 1868, "array of which transfers write a part",
        "\
The transfers of a sequence write some elements of an array that it does not read; the others stay as they were. Of a program, its tasks store a part: a bound, a size or a condition leaves out
the rest. Where that is meant, nothing is to be done.";
    pub(crate) UNWAITED = 1869, "output that a sequence does not wait for",
        "\
A sequence ends, and with it the launch, while a transfer into the memory of the host may go on: no wait tells that it is done. The host may read the array before its elements are there. A check warns of
it; a run has no result then.";
    pub(crate) GRAPH = 1870, "graph of processes that does not fit together",
        "\
Nets have nodes at both ends, and nodes stand on tiles of their kind: processes on compute tiles, memories on memory tiles, transfers of the host on shim tiles.";
    pub(crate) CAPACITY = 1871, "more than an array has",
        "\
A compute tile has one core, 64 KiB, and two channels into its memory and out of it; a memory tile has 512 KiB and six of each; a shim tile two of each. Two neighbouring cores need no channel for a flow from one to the other: it goes through a memory that both reach.";
    pub(crate) KERNEL = 1872, "kernel that has no body for a core",
        "\
Kernels become bodies of cores where tiles have elements of `f32`, `bf16`, `i8` or `i32`, functions are those that cores compute, loops are counted, and what is loaded and stored lies in
boxes of tensors whose size is fixed. Nothing is added to what a tensor holds.";
    pub(crate) LOWERING = 1880, "program without a form on an array",
        "\
An array runs tasks that are known before it starts, on cores that pass boxes of tensors through fifos: boxes of one tensor have one size, are the same or apart where tasks write them, and
are read in the order in which they are written. Each process of a pipeline is a core; tasks outside of pipelines are dealt to as many cores as they can be dealt to evenly. `docs/reference/aie.md`
has the rules.";
}

/// The code of a run that its caller has stopped, on any target.
pub(crate) const STOPPED: wsp_diag::Code = wsp_diag::Code(574);
