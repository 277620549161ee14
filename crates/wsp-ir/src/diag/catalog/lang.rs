//! Names and types of .pto source: WSP0100-WSP0299.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(100),
        title: "name defined twice",
        explanation: "\
Two items of a file, two variables of one block, or two parameters have one name. All names of a file except axes
and stages share one namespace. Rename one of them; an inner block may reuse the name of an outer variable.",
    },
    CodeInfo {
        code: Code(101),
        title: "name of the language",
        explanation: "\
Names that start with `PTO_`, tile operations such as `TADD` and constants such as `INFINITY` cannot be defined by
a program. Choose another name.",
    },
    CodeInfo {
        code: Code(102),
        title: "unknown name",
        explanation: "\
Nothing has this name where a number, an array, a cache or a tile is needed. Look for a typing error. Kernels see
their descriptor, file-scope constants and parameters, not the variables of the generator: what they need travels
as a descriptor field.",
    },
    CodeInfo {
        code: Code(103),
        title: "unknown function",
        explanation: "\
The call names neither a function of the file nor a predefined one. Look for a typing error, or define the
function; its place in the file does not matter.",
    },
    CodeInfo {
        code: Code(104),
        title: "unknown type",
        explanation: "\
The name is no type of the language and no `struct` of the file. Numbers are `uint32_t`, `int32_t`, `uint64_t`,
`int64_t`, `float`, `double` and `bool`; a descriptor type must be declared with `struct`.",
    },
    CodeInfo {
        code: Code(105),
        title: "undeclared tensor",
        explanation: "\
A kernel loads from or stores to a tensor that the file does not declare. Arrays of the launch need a `PTO_SHAPE`
and a binding in `PTO_LAUNCH`; intermediate results need `PTO_TENSOR` (indexed) or `PTO_WORKSPACE` (one per
workspace slot). `partial_out` is another name of a declared `partial_o`.",
    },
    CodeInfo {
        code: Code(106),
        title: "unknown axis",
        explanation: "\
A space has no axis of this name, or no space has, or, outside of a generator, several have. Axes are declared with
`PTO_AXIS` inside `PTO_SPACE`.",
    },
    CodeInfo {
        code: Code(107),
        title: "unknown space",
        explanation: "\
`PTO_DESCRIPTOR_GEN`, `PTO_STAGE` or `PTO_LAUNCH` names a space that is not declared. Declare it with `PTO_SPACE`,
or correct the name.",
    },
    CodeInfo {
        code: Code(108),
        title: "unknown kernel",
        explanation: "\
A tier names a kernel that the file does not define. Every kernel is compiled before the launch, so it must be
there: `PTO_KERNEL_IMPL(name) { … }`.",
    },
    CodeInfo {
        code: Code(109),
        title: "unknown tier set",
        explanation: "\
`PTO_SELECT_TIER` names a tier set that is not declared. Declare it with `PTO_TIER_DEF`, or correct the name.",
    },
    CodeInfo {
        code: Code(110),
        title: "unknown schedule",
        explanation: "\
`PTO_APPLY_SCHEDULE` names a schedule that is not declared. Declare it with `PTO_SCHEDULE`, or correct the name.",
    },
    CodeInfo {
        code: Code(111),
        title: "unknown stage",
        explanation: "\
`PTO_DEPENDENCY` names a stage that its graph does not have. Stages are declared with `PTO_STAGE` in the same
`PTO_GRAPH`.",
    },
    CodeInfo {
        code: Code(112),
        title: "name of another kind",
        explanation: "\
The name is defined, but as something else than what is needed: for instance a tensor where a number must stand.
The message says what it is and what is needed.",
    },
    CodeInfo {
        code: Code(120),
        title: "value depends on itself",
        explanation: "\
The value of a constant or parameter needs, directly or through others, its own value. Break the circle by giving
one of them a value of its own.",
    },
    CodeInfo {
        code: Code(121),
        title: "not known at launch",
        explanation: "\
Sizes of tensors, tiles, workspaces and axes, and values of constants, are worked out before the program runs. They
are made of literals, parameters, file-scope constants, template parameters and `const` variables over those;
descriptor fields, array elements and calls are not known yet.",
    },
    CodeInfo {
        code: Code(122),
        title: "constant out of range",
        explanation: "\
A constant expression divides by 0, overflows its type, shifts too far, or is converted to a type that cannot hold
it, such as -1 to `uint32_t`. Integer arithmetic is checked everywhere, it never wraps. Use a wider type or another
constant, for instance `UINT32_MAX`. On the right of `&&` and `||` and in `?:`, where only some runs need the value, it is a
warning, and a fault of these runs.",
    },
    CodeInfo {
        code: Code(130),
        title: "value of another type",
        explanation: "\
A number, array, tile, descriptor or list stands where another of these is needed. The message names both. An
element of an array is `a[i]`, a field of a descriptor `d.f`.",
    },
    CodeInfo {
        code: Code(131),
        title: "operands do not fit the operator",
        explanation: "\
`%`, shifts, `&`, `|`, `^`, `~` and `PTO_CEIL_DIV` work on integers only. Convert the operands first, for instance
`uint32_t(x)`.",
    },
    CodeInfo {
        code: Code(132),
        title: "not assignable",
        explanation: "\
Descriptor fields, array elements, constants, parameters of the file, tiles and loop variables of `PTO_FOR_EACH`
and `PTO_SCHEDULED_FOR` are read-only. Declare a variable for a value that changes; tiles are filled by tile
operations.",
    },
    CodeInfo {
        code: Code(133),
        title: "wrong number of arguments",
        explanation: "\
A function or tile operation is called with too few or too many arguments. The message says how many it takes.",
    },
    CodeInfo {
        code: Code(134),
        title: "not allowed here",
        explanation: "\
The call exists but has no meaning at this place: tile operations and descriptors belong to kernels, emitting,
workspace and schedules to generators, `PTO_LAUNCH` to the host entry, and calls without a value are statements.",
    },
    CodeInfo {
        code: Code(135),
        title: "argument not understood",
        explanation: "\
An argument must be a name, an index list `{i, j}`, a literal index in range, or one of a few words, and is
something else. The message says which.",
    },
    CodeInfo {
        code: Code(136),
        title: "type not allowed here",
        explanation: "\
The type exists but cannot be used at this place: variables have 32 or 64 bits, tiles and temporaries hold `float`,
`half` or `bfloat16_t`, only kernels have tiles, descriptors are not variables, and the entry takes tensors,
caches, arrays and numbers.",
    },
    CodeInfo {
        code: Code(140),
        title: "recursion",
        explanation: "\
A function calls itself, directly or through others. Functions are expanded before a program runs, so there is no
recursion. Use a loop.",
    },
    CodeInfo {
        code: Code(141),
        title: "return does not fit",
        explanation: "\
A function with a result must return a value on every path; kernels and generators return nothing; a `void`
function becomes part of its callers and cannot return early. Use `if` and `else` instead.",
    },
    CodeInfo {
        code: Code(142),
        title: "parameter or result not allowed",
        explanation: "\
Functions with a result take numbers and integer arrays (`const uint32_t*`). Functions that return `void` may also
take tiles by reference and `const T&` descriptors. Tensors are not passed: every function names them directly.",
    },
    CodeInfo {
        code: Code(143),
        title: "template arguments do not fit",
        explanation: "\
The call gives another number of template arguments than the function has parameters, or one that is not a
constant. Template arguments of functions with a result are literals or `const` values made of literals: every instance
is compiled before the launch. Functions that return nothing also take values that are known at launch.",
    },
    CodeInfo {
        code: Code(144),
        title: "outside of a loop",
        explanation: "\
`break` and `continue` need a loop around them. A loop around the call of an inline function does not count.",
    },
    CodeInfo {
        code: Code(145),
        title: "nested too deep",
        explanation: "\
Statements, expressions, calls of inline functions and constants that need each other are nested deeper than the
compiler follows. Split the code.",
    },
    CodeInfo {
        code: Code(146),
        title: "too much copied code",
        explanation: "\
Inline functions and templates are copied to every call, and the copies have grown beyond a fixed limit, usually
because functions call each other several times over many levels. Use loops, or functions with a result, which are
not copied.",
    },
    CodeInfo {
        code: Code(150),
        title: "shape missing",
        explanation: "\
`PTO_LAUNCH` binds an array whose dimensions are not declared, or the batch size is asked for and no tensor has
one. Add a line `PTO_SHAPE(name, d0, d1, …)`: a name that nothing else defines takes its value from the array.",
    },
    CodeInfo {
        code: Code(151),
        title: "not the shape of a cache",
        explanation: "\
A paged KV cache has exactly four dimensions, [batch, position, head, lane], and its position is `PTO_DYNAMIC`:
`PTO_SHAPE(kv_cache, batch_size, PTO_DYNAMIC, num_kv_heads, HEAD_DIM)`.",
    },
    CodeInfo {
        code: Code(152),
        title: "too many dimensions",
        explanation: "\
A tensor has more dimensions than the system supports; for a workspace field the slot counts as one. Join
dimensions that are always used together.",
    },
    CodeInfo {
        code: Code(153),
        title: "shape of nothing",
        explanation: "\
`PTO_SHAPE` describes a name that `PTO_LAUNCH` does not bind, so no array would ever be behind it. Bind it, or
remove the line. Intermediate results are declared with `PTO_TENSOR` or `PTO_WORKSPACE`.",
    },
    CodeInfo {
        code: Code(154),
        title: "bad dimension",
        explanation: "\
A dimension is 0, or `PTO_DYNAMIC` outside of the position of a paged cache, or names an axis of which there are
several. Name the extent; a name that nothing else defines takes its value from the array.",
    },
    CodeInfo {
        code: Code(160),
        title: "two axes of one name",
        explanation: "\
A space declares two axes with the same name. Rename one; different spaces may share names.",
    },
    CodeInfo {
        code: Code(161),
        title: "axis tiled twice",
        explanation: "\
A space has two `PTO_TILE` lines for one axis. Keep one.",
    },
    CodeInfo {
        code: Code(162),
        title: "tile of size 0",
        explanation: "\
`PTO_TILE` gives an axis a tile of 0 elements, which would never end. Give at least 1, or `PTO_AUTO`.",
    },
    CodeInfo {
        code: Code(163),
        title: "axis ends before it starts",
        explanation: "\
The end of an axis is less than its start. Axes are half-open, [start, end): an end equal to the start is an empty
axis, a smaller one is a mistake.",
    },
    CodeInfo {
        code: Code(164),
        title: "space without axes",
        explanation: "\
A `PTO_SPACE` has no `PTO_AXIS`, so there is nothing to iterate over. Add an axis.",
    },
    CodeInfo {
        code: Code(165),
        title: "two generators",
        explanation: "\
A space has two `PTO_DESCRIPTOR_GEN`. Join them, or give each its own space and chain the spaces with `PTO_GRAPH`.",
    },
    CodeInfo {
        code: Code(170),
        title: "tier set without default",
        explanation: "\
A `PTO_TIER_DEF` does not say what runs when no condition holds. End it with `PTO_DEFAULT(kernel)`.",
    },
    CodeInfo {
        code: Code(171),
        title: "default is not last",
        explanation: "\
Tiers are tried from top to bottom and `PTO_DEFAULT` takes every value, so whatever follows it never runs. Put it
last, once.",
    },
    CodeInfo {
        code: Code(172),
        title: "unreachable tier",
        explanation: "\
Earlier tiers already take every value that this tier would take, or its condition never holds. List tiers from the
smallest bound to the largest.",
    },
    CodeInfo {
        code: Code(173),
        title: "two selectors",
        explanation: "\
The conditions of one tier set use two names that nothing defines. One free name is the value that
`PTO_SELECT_TIER` tests; other names must be declared, for instance with `PTO_PARAM`.",
    },
    CodeInfo {
        code: Code(174),
        title: "tier of which set",
        explanation: "\
`PTO_ALLOC_WS` takes the size of a slot from a tier, and the file has no tier set, or several and the tier was not
taken from one of them, or from more than one. Pass a variable that `PTO_SELECT_TIER` set.",
    },
    CodeInfo {
        code: Code(175),
        title: "distance of slots not known",
        explanation: "\
In functions `PTO_SLOT_BYTES` is how far apart the slots lie that `PTO_ALLOC_WS` gives. Here tiers reserve different numbers
of bytes per slot, and of which tier the slots are does not follow from the descriptor. Give the descriptor a field
`uint32_t tier`, or write `PTO_TIER_SLOT_BYTES(set, tier)`.",
    },
    CodeInfo {
        code: Code(176),
        title: "slot that all rounds of a loop share",
        explanation: "\
`PTO_ALLOC_WS` adds the indices of the loops around it to the arguments that it is given, so that each round has a slot of its
own. A `while`, a `do` and a `for` over no number have no index: their rounds share a slot, and what one round stores there
the next replaces. Give a number of the round as an argument, or write the loop as `for (uint32_t i = 0; i < n; i++)`.",
    },
    CodeInfo {
        code: Code(177),
        title: "float index of a loop around a slot",
        explanation: "\
`PTO_ALLOC_WS` adds the indices of the loops around it to the arguments that it is given, so that each round has a slot of its
own. A float is no such index: sums of fractions are rounded, and what reads as two rounds may be one number, or the other way
round. Count the rounds with an integer, or give the number of the round as an argument.",
    },
    CodeInfo {
        code: Code(180),
        title: "two policies for one axis",
        explanation: "\
A schedule has two statements of one kind for one axis. Keep one: the order of one axis, say, cannot be both
sequential and parallel.",
    },
    CodeInfo {
        code: Code(181),
        title: "schedule does not fit the space",
        explanation: "\
A schedule is applied to a space that lacks an axis the schedule names. Remove the statement, or write a schedule
for this space.",
    },
    CodeInfo {
        code: Code(190),
        title: "field type",
        explanation: "\
Descriptors hold `uint32_t` fields only: indices, bounds and offsets, never pointers or floats, so that they are
small and mean the same on every device. A range is two fields, begin and end.",
    },
    CodeInfo {
        code: Code(191),
        title: "field given twice",
        explanation: "\
Two fields of a descriptor have one name, or one field is set twice where the descriptor is emitted.",
    },
    CodeInfo {
        code: Code(192),
        title: "unknown field",
        explanation: "\
A descriptor has no field of this name. The message lists its fields.",
    },
    CodeInfo {
        code: Code(193),
        title: "missing fields",
        explanation: "\
`PTO_EMIT_DESCRIPTOR` must set every field of the descriptor. The message lists those it leaves out.",
    },
    CodeInfo {
        code: Code(194),
        title: "descriptor too long",
        explanation: "\
A descriptor has more 32-bit words than `wsp config` prints as `MAX_PAYLOAD_WORDS`. One is copied for every task; 5 to 10
words are usual. Keep indices and bounds and let the kernel work out the rest, or put the data into a tensor that the
kernel loads with an index from the descriptor.",
    },
    CodeInfo {
        code: Code(195),
        title: "length of a field",
        explanation: "\
The length of an array field is 0, too large, or not a constant. Descriptors have a fixed layout: use a literal, or
a `const` made of literals.",
    },
    CodeInfo {
        code: Code(196),
        title: "descriptor without a kernel",
        explanation: "\
A descriptor type is emitted that no kernel asks for, so its tasks could not run. Let a kernel take it: `auto desc
= PTO_GET_DESCRIPTOR<T>();`.",
    },
    CodeInfo {
        code: Code(197),
        title: "descriptor with several kernels",
        explanation: "\
Several kernels take one descriptor type and no tier set holds them all, or the kernels of one tier set take
different types. Which kernel runs must follow from the type and its `tier` field.",
    },
    CodeInfo {
        code: Code(198),
        title: "no tier field",
        explanation: "\
Several kernels of a tier set take a descriptor type that has no field `tier`, so which of them runs is unknown.
Add `uint32_t tier;` and set it with `PTO_SELECT_TIER`.",
    },
    CodeInfo {
        code: Code(199),
        title: "unclear descriptor type",
        explanation: "\
A descriptor is asked for or emitted without the name of its type, and the file has none, or several that could be
meant. Name it: `PTO_GET_DESCRIPTOR<T>()`, `PTO_EMIT_DESCRIPTOR(T{…})`.",
    },
    CodeInfo {
        code: Code(200),
        title: "two descriptors in one kernel",
        explanation: "\
A kernel asks for two different descriptor types. A task has one descriptor; write a kernel for each type.",
    },
    CodeInfo {
        code: Code(210),
        title: "variables and axes differ in number",
        explanation: "\
`PTO_SCHEDULED_FOR` needs one variable per axis of the generator's space, in the order of the axes.",
    },
    CodeInfo {
        code: Code(211),
        title: "scheduled loop inside a loop",
        explanation: "\
`PTO_SCHEDULED_FOR` goes over the whole space in schedule order; inside another loop it would do so again and
again. Write it at the level of the generator, and use `PTO_FOR_EACH` for inner loops.",
    },
    CodeInfo {
        code: Code(212),
        title: "tile cannot be set",
        explanation: "\
`PTO_SET_TILE` sets the tile of an axis that has none or whose size is fixed. Declare `PTO_TILE(axis, PTO_AUTO)`.",
    },
    CodeInfo {
        code: Code(213),
        title: "wrong kind of axis",
        explanation: "\
`PTO_GET_DIM` needs an axis whose end is known at launch, `PTO_SET_EXTENT` one whose end is `PTO_DYNAMIC`.",
    },
    CodeInfo {
        code: Code(220),
        title: "bad tile type",
        explanation: "\
A tile type is `VecTile<T, rows, cols>` (or `LeftTile`, `RightTile`, `AccTile`) with an element type and two
positive sizes that are known at launch; the tile must not exceed the size limit that `wsp config` prints.",
    },
    CodeInfo {
        code: Code(221),
        title: "tile shapes do not fit",
        explanation: "\
The shapes of the tiles of an operation do not go together. Constant extents must be equal, others the same
expression; a constant and an expression are compared at launch. A column is spread over a tile by `TROWEXPAND…`, a
row by `TCOLEXPAND…`.",
    },
    CodeInfo {
        code: Code(222),
        title: "wrong memory for a matrix product",
        explanation: "\
A tile of this type cannot play this part in `TMATMUL`: the right operand is a `RightTile` or `VecTile`, the left
one a `LeftTile`, `VecTile` or `AccTile`, the result an `AccTile` or `VecTile`. Declare the tile with another type.",
    },
    CodeInfo {
        code: Code(223),
        title: "transpose does not fit",
        explanation: "\
The inner dimensions of a matrix product agree only when the right operand is transposed, or only when it is not.
Keys are stored [position, lane], so scores are `TMATMUL(s, q, PTO_TRANSPOSE(k))`.",
    },
    CodeInfo {
        code: Code(224),
        title: "too many indices",
        explanation: "\
An index list has more indices than the tensor has dimensions. For a workspace field the first index is the byte
offset that `PTO_ALLOC_WS` returned.",
    },
    CodeInfo {
        code: Code(225),
        title: "tile does not fit its place",
        explanation: "\
The index list leaves no dimension for the rows or for the columns of the tile, or marks two dimensions for its
rows. Leave the last index out so that columns run along it, and mark the dimension of the rows with `PTO_ROWS`.",
    },
    CodeInfo {
        code: Code(226),
        title: "operation in place",
        explanation: "\
Matrix products, transposition and reductions cannot write to one of their operands. Use another tile for the
result.",
    },
    CodeInfo {
        code: Code(227),
        title: "value of several rows",
        explanation: "\
`TROWMAX(tile)` and `TROWSUM(tile)` are one value only for a tile of one row. For more rows reduce into a tile of
one column: `TROWMAX(dst, src);`.",
    },
    CodeInfo {
        code: Code(230),
        title: "two entries",
        explanation: "\
A file has two functions that launch, or one that launches twice. One program launches one space or graph; chain
spaces with `PTO_GRAPH`.",
    },
    CodeInfo {
        code: Code(231),
        title: "launch not understood",
        explanation: "\
`PTO_LAUNCH` takes the name of a space or graph and a list of what it works on: `PTO_LAUNCH(Space, { .q = q, … })`.",
    },
    CodeInfo {
        code: Code(232),
        title: "bad launch argument",
        explanation: "\
A launch argument must be a parameter of the entry, and an array of the launch must have the shape its parameter
type says: `uint32_t*` has one dimension.",
    },
    CodeInfo {
        code: Code(233),
        title: "bound twice",
        explanation: "\
A launch argument or the role of a reference is given twice. Keep one.",
    },
    CodeInfo {
        code: Code(234),
        title: "statement in the host entry",
        explanation: "\
The host entry only launches; other statements would run nowhere. Compute in `PTO_DESCRIPTOR_GEN`, or declare
`PTO_PARAM` and `const` values.",
    },
    CodeInfo {
        code: Code(235),
        title: "space without a generator",
        explanation: "\
A space is launched, or is a stage of a graph, and has no `PTO_DESCRIPTOR_GEN`, so nothing would run. Write one.",
    },
    CodeInfo {
        code: Code(240),
        title: "bad parameter of an entry",
        explanation: "\
A kernel with parameters is an entry of task graphs. It takes `Tensor<T>`, which `MC_BIND` binds in the order of the
parameters, and at most one `Workspace<T>`, all with a type of elements. The name of a parameter is that of a
`PTO_SHAPE`; kernels that share a name agree on its type. Numbers are given with `PTO_PARAM`, or bound as a tensor.",
    },
    CodeInfo {
        code: Code(241),
        title: "kernels of tasks and of task graphs in one file",
        explanation: "\
Kernels with parameters are run by task graphs, kernels without by tasks that a generator emits. A file has one kind
only: move generators, host entry and the kernels of tasks to another file. `PTO_RESIDENT` is for task graphs.",
    },
    CodeInfo {
        code: Code(242),
        title: "tensor that the kernel is not given",
        explanation: "\
A kernel with parameters loads and stores its parameters and tensors declared with `PTO_RESIDENT`, nothing else. Add a
parameter and bind it with `MC_BIND`, or declare the tensor resident if it is the same for every launch, as weights
are. Functions with a result are given arrays as parameters.",
    },
    CodeInfo {
        code: Code(243),
        title: "entry of task graphs used as a task",
        explanation: "\
A kernel with parameters has no descriptor and no tier: a task graph runs it in blocks. `get_block_idx()` and
`get_block_num()` say which block runs and how many there are. A kernel of tasks has no parameters.",
    },
];
