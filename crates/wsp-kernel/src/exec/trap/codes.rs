//! Codes of what stops a function.

wsp_diag::codes! {
    /// The workspace cannot be laid out: its offsets do not fit 32 bits, or a key is asked for in two ways.
    pub WORKSPACE = 570, "the workspace cannot be laid out",
        "`PTO_ALLOC_WS` returns 32-bit byte offsets, so all slots together must stay below 4 GiB: use larger \
chunks, or fewer at once. A tier reserves at least the fields of a slot, `PTO_SLOT_BYTES`, and a multiple of 64 bytes. \
And one key is always asked for with the same tier and number of slots.";
    /// `+ - * <<` or negation left the range of the type.
    pub(crate) OVERFLOW = 600, "arithmetic overflow",
        "\
The result of `+`, `-`, `*`, `/`, `<<`, a negation or an array sum does not fit the type of its operands.
Integer arithmetic is checked and never wraps; the message shows the values. An unsigned difference must
not be negative, and a left shift must not lose bits.
Compute in a wider type, for instance `(uint64_t)a * b`, or test the operands first.";
    /// Integer division or remainder by zero.
    pub(crate) DIVISION_BY_ZERO = 601, "division by zero",
        "\
The right operand of an integer `/`, `%` or `PTO_CEIL_DIV` is 0, or an element by which `TDIV` divides one of a tile of integers.
Often a size or count came from an empty array: test it first, or use `PTO_MAX(n, 1)`.";
    /// A conversion would change the value.
    pub(crate) LOSSY_CONVERSION = 602, "lossy conversion",
        "\
A conversion to an integer type would change the value: a negative number to an unsigned type, a number
outside of the type's range, or NaN or an infinity. A fraction is cut off towards zero, which is no fault. The same holds of `TCVT` to a
tile of integers from real numbers, and of a number that meets such a tile.
As in C a comparison or a sum of an `int32_t` and a `uint32_t` converts the former: `q < n` with a `q` of -1 and an
unsigned `n` is this fault; write `q < (int32_t)n`. A loop `for (int32_t q = 0; q < n; ++q)` converts `n`, which
has to fit: declare `q` as `uint32_t` if it may not.
Test the value first or convert to a wider type.";
    /// A shift by the width of the type or more.
    pub(crate) SHIFT_RANGE = 603, "shift out of range",
        "\
The amount of `<<` or `>>` is negative, or not below the number of bits of the left operand's type.
Shift a 64-bit value, as in `(uint64_t)x << n`, or test the amount first.";
    /// An index past the end of an integer array.
    pub(crate) ARRAY_BOUNDS = 604, "array index out of bounds",
        "\
An element outside of an integer array is read, or `std::max_element` and `std::accumulate` go past its
end. The message has the index and the number of elements. Per-request arrays have one element per
request; `indptr` has one more.";
    /// A counted loop with a step below 1.
    pub(crate) LOOP_STEP = 605, "loop step below 1",
        "\
The increment of a counted loop is 0 or negative when the loop starts, so that it would never end.
Make the step at least 1, for instance with `PTO_MAX(step, 1)`.";
    /// Too many steps: taken to loop for ever.
    pub(crate) STEP_LIMIT = 606, "a function does not end",
        "\
A generator or kernel took more steps (loop iterations and calls) than any sensible one needs and is
taken to loop for ever. Check that the condition of the loop shown becomes false.
`wsp config` prints the limits: of a whole run, and of a generator from one descriptor to the next.";
    /// The run was cancelled from outside.
    pub(crate) CANCELLED = 607, "run cancelled",
        "\
The run was stopped from outside, by the user or because another task failed. Not a fault of the program.";
    /// An index past the end of a tensor.
    pub(crate) TENSOR_BOUNDS = 610, "access outside of a tensor",
        "\
A load starts past the end of a dimension, a store would go past it, or a workspace offset is not one that
`PTO_ALLOC_WS` gave. A load is cut off at the end of the dimensions that the tile's rows and columns
follow, but every other index must exist; a store is never cut off. Where nothing is left of a load, its
tile has no value, and using it is a fault, unless the load asks for 0 rows or columns itself, or begins at
index 0 of a dimension that has no element.
Load fewer rows or columns (the optional arguments of `TLOAD`), or check the indices that the descriptor carries.";
    /// Operands of a tile operation whose shapes do not go together.
    pub(crate) TILE_SHAPE = 611, "tile shapes do not go together",
        "\
The valid parts of the operands do not have the shapes that the operation needs: two equal shapes for
`TADD` and its like, a column with the same rows for `TROWEXPAND…`, a row with the same columns for
`TCOLEXPAND…`, the product's shape for the accumulator of `TMATMUL_ACC`, one row for a reduction that is
used as a value. The notes show every operand. Partial tiles at the end of an axis are the usual reason.";
    /// A result larger than its destination's capacity.
    pub(crate) TILE_CAPACITY = 612, "result larger than its tile",
        "\
The valid part of a result does not fit the capacity of the destination tile.
Declare the destination with as many rows and columns as the operands.";
    /// A tile without elements, or larger than the limit.
    pub(crate) TILE_SIZE = 613, "impossible tile size",
        "\
With the launch's parameters a tile has no rows or no columns, is larger than a tile may be, or the tiles
of one kernel are too large together. The message has the capacity it comes to; `wsp config` prints the
limit. Check the parameters, such as extents that the arrays define, or tile the dimension.";
    /// A tile that is read before anything was written to it.
    pub(crate) TILE_UNWRITTEN = 614, "tile used before it is written",
        "\
An operation reads a tile that nothing was loaded, assigned or computed into since its declaration. A
declaration inside a loop makes its tile empty in every pass; `TMATMUL_ACC` reads its destination.
Write the tile first, for instance with `TASSIGN(tile, 0.0f)`, or declare it outside of the loop.";
    /// An access to elements of another kind than are expected.
    pub(crate) TILE_ELEMENT = 615, "elements do not go together",
        "\
A tile, a load or a store of real numbers meets an array of integers, or of integers of another type.
Load integers to tiles of their own type, `VecTile<int32_t, …>`, read integer arrays element by element (`lens[i]`), and check the element
type of the array that is given.";
    /// A load of elements that no task has stored.
    pub(crate) NEVER_STORED = 616, "load of what no task has stored",
        "\
A kernel loads elements of a workspace slot or a temporary that no task has stored before; of an output that is not given as well, in a
run that records what is stored (a run that checks, or `--strict`; every run of a workload over a used file); or elements of a tensor
of a workload that is neither given nor made up and that tasks write or read under a condition, or write in part. They would
read as zeros.
Usually an index or a slot is another one in the kernel that loads than in the one that stores, a store is
left out, or the order is not stated. Store the elements first; give an output that is meant to begin with
values as an input (`--input NAME=FILE.npy`, or made up: `--fill NAME`). In a task graph, `MC_COPY` of such bytes over a
tensor that comes from outside is one as well: they would replace values by what nothing has stored.";
    /// An index of a tile of indices that leads nowhere.
    pub(crate) TILE_INDEX = 617, "no such row or column of a tile",
        "\
`TGATHER` takes elements of a tile by an index that is no whole number, below 0, or not below the columns (with `TGATHER_ROWS` the rows) that
are valid of it. Nothing was taken. Indices are counted from 0; `TROWARGMAX` and `TTOPK` give -1 where they found nothing, which `TMAXS`
or `TSEL` replaces.";
    /// A tier index past the end of its tier set.
    pub(crate) TIER_INDEX = 620, "no such tier",
        "\
A tier index is not below the number of tiers of its set, or no tier takes the value.
Take the index from `PTO_SELECT_TIER` and end the set with `PTO_DEFAULT`.";
    /// A workspace slot at or past the reserved count.
    pub(crate) WORKSPACE_INDEX = 621, "workspace slot outside of its reservation",
        "\
`PTO_ALLOC_WS` asks for a slot whose index is not below the number of slots reserved for its key, which is
the extent of the dynamic axis. Usually an index of that axis is computed past its end.";
    /// An axis whose tile or extent is not known.
    pub(crate) AXIS_UNKNOWN = 622, "tile of an axis is not known",
        "\
`PTO_GET_TILE` is evaluated before the axis has a tile, or `PTO_SET_TILE` sets it to 0.
Give the axis a `PTO_TILE` in its space, or call `PTO_SET_TILE` before the first descriptor is emitted.";
    /// An array, tensor or parameter that the launch did not bind.
    pub(crate) UNBOUND = 623, "something is not bound",
        "\
A function uses an array, cache, parameter or extent that the launch gives no value.
Bind it in `PTO_LAUNCH`, or pass it on the command line.";
    /// Code that is too large or too deep to run.
    pub(crate) TOO_COMPLEX = 624, "code nests too deep",
        "\
After inlining, the statements, expressions and calls of a function nest deeper than can be run.
Split long expressions, and chains of functions that call each other.";
    /// A fault of PTO-WSP itself.
    pub(crate) INTERNAL = 639, "internal error",
        "\
PTO-WSP met something that its verifier or its lowering rules out. This is a fault of PTO-WSP and not of
the program: please report it, with the program and the message.";
}
