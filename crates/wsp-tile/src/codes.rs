//! Codes of tile programs.

wsp_diag::codes! {
    pub(crate) TABLE = 1700, "a table of memories is wrong",
        "The table of memories, units, transfers and operations that describes a target names something that it does not have, or\n\
         gives a memory a size of 0 or an alignment that is no power of two. Repair the table of the target.";
    pub(crate) NOT_STATIC = 1701, "a tile's capacity is not known at emission",
        "Buffers of a core have a fixed size. Rows and columns of every tile, and its element type, are known when code is emitted:\n\
         give the parameters that they depend on with `--set NAME=VALUE`, which the help names, or write a constant.";
    pub(crate) NOT_A_KERNEL = 1702, "not a kernel with a body",
        "Only kernels that are written with tile operations become tile programs. One that is a Python function, or that is declared\n\
         only, has nothing to translate. Write its body in `.pto`, or with the operations of `pto`.";
    pub(crate) NO_UNIT = 1703, "no unit does an operation",
        "No unit of the target computes this operation on tiles of these element types.\n\
         Use other operations that give the same, or another element type.";
    pub(crate) NO_MOVE = 1704, "no unit moves a tile to where it is needed",
        "An operation needs its operands in certain memories, and no unit of the target transfers there from where a tile is, not even by\n\
         way of other memories. Split the kernel in two that exchange the tile through a tensor.";
    pub(crate) DOES_NOT_FIT = 1705, "buffers do not fit their memory",
        "More bytes of tiles are needed at the same time than the memory has. The notes list the buffers at the worst point, largest\n\
         first. Make the largest smaller: fewer rows or columns per tile, a loop over parts, or a tile that is reused.";
    pub(crate) EMPTY_RESULT = 1706, "a result of nothing cannot be written",
        "An operation may get a tile with no elements and still have a result, the sum of nothing for instance, and no unit of the target\n\
         fills the memory of the result. Give the extent a lower bound of 1.";
    pub(crate) NOT_SUPPORTED = 1707, "a statement has no form in a tile program",
        "The kernel has a statement or an expression that a core of the target cannot evaluate by itself.\n\
         Compute it in the generator and hand it over as a field of the descriptor.";
    pub(crate) RACE = 1710, "two instructions are not ordered",
        "Two instructions of different units touch the same bytes, one of them writes, and nothing makes the second wait for the first.\n\
         An event from the first unit to the second, or a barrier, is missing or stands too early.";
    pub(crate) EVENT = 1711, "an event is used wrong",
        "An event is a flag: a unit sets it once, another waits for it once, then it may be set again. It is clear at the end of a kernel,\n\
         whatever the loops do. An event set twice, waited for and never set, or left set hangs the next kernel or orders nothing.";
    pub(crate) UNWRITTEN = 1712, "an instruction reads what was not written",
        "An instruction reads bytes of a buffer that nothing wrote before, or that another tile has written since: two live tiles share\n\
         the bytes.";
    pub(crate) BOUNDS = 1713, "an instruction reaches past the end",
        "An instruction touches bytes past the end of a memory or of its buffer, or elements past the end of a tensor.";
    pub(crate) NO_ELEMENTS = 1714, "an instruction has an extent of 0",
        "Units of real machines do not end, or do too much, when they are given 0 rows or columns. Every instruction is skipped then.";
    pub(crate) STOPPED = 1715, "a tile program cannot go on",
        "A scalar expression has no value: an integer overflows, a division is by 0, an array is read past its end, or a loop never ends.";
    pub(crate) BARRIER_NOTE = 1716, "a barrier stands in place of an event",
        "The units have no events for each other, or all their events are in use at this point. All units wait there for each other.\n\
         The results are right; units overlap less.";
    pub(crate) ADDRESS = 1717, "a buffer's address is wrong",
        "A buffer lies past the end of its memory, or its address is not aligned as the memory asks.";
}
