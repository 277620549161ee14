//! Diagnostic codes of names, types and lowering, WSP0100-WSP0259.

wsp_diag::codes! {
    pub(crate) REDEFINED = 100, "name defined twice",
        "\
Two items of a file, two variables of one block, or two parameters have one name. All names of a file except axes
and stages share one namespace. Rename one of them; an inner block may reuse the name of an outer variable.";
    pub(crate) RESERVED_NAME = 101, "name of the language",
        "\
Names that start with `PTO_`, tile operations such as `TADD` and constants such as `INFINITY` cannot be defined by
a program. Choose another name.";
    pub(crate) UNKNOWN_NAME = 102, "unknown name",
        "\
Nothing has this name where a number, an array, a cache or a tile is needed. Look for a typing error. Kernels see
their descriptor, file-scope constants and parameters, not the variables of the generator: what they need travels
as a descriptor field.";
    pub(crate) UNKNOWN_FUNCTION = 103, "unknown function",
        "\
The call names neither a function of the file nor a predefined one. Look for a typing error, or define the
function; its place in the file does not matter.";
    pub(crate) UNKNOWN_TYPE = 104, "unknown type",
        "\
The name is no type of the language and no `struct` of the file. Numbers are `uint32_t`, `int32_t`, `uint64_t`,
`int64_t`, `float`, `double` and `bool`; a descriptor type must be declared with `struct`.";
    pub(crate) UNKNOWN_TENSOR = 105, "undeclared tensor",
        "\
A kernel loads from or stores to a tensor that the file does not declare. Arrays of the launch need a `PTO_SHAPE`
and a binding in `PTO_LAUNCH`; intermediate results need `PTO_TENSOR` (indexed) or `PTO_WORKSPACE` (one per
workspace slot). `partial_out` is another name of a declared `partial_o`.";
    pub(crate) UNKNOWN_AXIS = 106, "unknown axis",
        "\
A space has no axis of this name, or no space has, or, outside of a generator, several have. Axes are declared with
`PTO_AXIS` inside `PTO_SPACE`.";
    pub(crate) UNKNOWN_SPACE = 107, "unknown space",
        "\
`PTO_DESCRIPTOR_GEN`, `PTO_STAGE` or `PTO_LAUNCH` names a space that is not declared. Declare it with `PTO_SPACE`,
or correct the name.";
    pub(crate) UNKNOWN_KERNEL = 108, "unknown kernel",
        "\
A tier names a kernel that the file does not define. Every kernel is compiled before the launch, so it must be
there: `PTO_KERNEL_IMPL(name) { … }`.";
    pub(crate) UNKNOWN_TIERS = 109, "unknown tier set",
        "\
`PTO_SELECT_TIER` names a tier set that is not declared. Declare it with `PTO_TIER_DEF`, or correct the name.";
    pub(crate) UNKNOWN_SCHEDULE = 110, "unknown schedule",
        "\
`PTO_APPLY_SCHEDULE` names a schedule that is not declared. Declare it with `PTO_SCHEDULE`, or correct the name.";
    pub(crate) UNKNOWN_STAGE = 111, "unknown stage",
        "\
`PTO_DEPENDENCY` names a stage that its graph does not have. Stages are declared with `PTO_STAGE` in the same
`PTO_GRAPH`.";
    pub(crate) WRONG_KIND = 112, "name of another kind",
        "\
The name is defined, but as something else than what is needed: for instance a tensor where a number must stand.
The message says what it is and what is needed.";
    pub(crate) CYCLE = 120, "value depends on itself",
        "\
The value of a constant or parameter needs, directly or through others, its own value. Break the cycle by giving
one of them a value of its own.";
    pub(crate) NOT_LAUNCH_KNOWN = 121, "not known at launch",
        "\
Sizes of tensors, tiles, workspaces and axes, and values of constants, are worked out before the program runs. They
are made of literals, parameters, file-scope constants, template parameters and `const` variables over those;
descriptor fields, array elements and calls are not known yet.";
    pub(crate) CONST_FAULT = 122, "constant out of range",
        "\
A constant expression divides by 0, overflows its type, shifts too far, or is converted to a type that cannot hold
it, such as -1 to `uint32_t`. Or a constant index, count or tier is past a size that is a constant: an element of an array or
a tensor, a slot, a tier of a set. Integer arithmetic is checked everywhere, it never wraps. Use a wider type or another
constant, for instance `UINT32_MAX`. On the right of `&&` and `||`, in `?:`, in the branches of an `if` in a loop that may have no round, and after a `return` of some runs, where only some runs
need the value, it is a warning, and a fault of these runs; where a constant rules the branch out, it is neither.";
    pub(crate) TYPE_MISMATCH = 130, "value of another type",
        "\
A number, array, tile, descriptor or list stands where another of these is needed. The message names both. An
element of an array is `a[i]`, a field of a descriptor `d.f`.";
    pub(crate) BAD_OPERANDS = 131, "operands do not fit the operator",
        "\
`%`, shifts, `&`, `|`, `^`, `~` and `PTO_CEIL_DIV` work on integers only. Convert the operands first, for instance
`uint32_t(x)`.";
    pub(crate) NOT_ASSIGNABLE = 132, "not assignable",
        "\
Descriptor fields, array elements, constants, parameters of the file, tiles and loop variables of `PTO_FOR_EACH`
and `PTO_SCHEDULED_FOR` are read-only. Declare a variable for a value that changes; tiles are filled by tile
operations.";
    pub(crate) ARGUMENT_COUNT = 133, "wrong number of arguments",
        "\
A function or tile operation is called with too few or too many arguments. The message says how many it takes.";
    pub(crate) NOT_HERE = 134, "not allowed here",
        "\
The call exists but has no meaning at this place: tile operations and descriptors belong to kernels, emitting,
workspace and schedules to generators, `PTO_LAUNCH` to the host entry, and calls without a value are statements.";
    pub(crate) BAD_ARGUMENT = 135, "argument not understood",
        "\
An argument must be a name, an index list `{i, j}`, a literal index in range, or one of a few words, and is
something else. The message says which.";
    pub(crate) TYPE_NOT_ALLOWED = 136, "type not allowed here",
        "\
The type exists but cannot be used at this place: variables have 32 or 64 bits, tiles and temporaries hold `float`,
`half` or `bfloat16_t`, only kernels have tiles, descriptors are not variables, and the entry takes tensors,
caches, arrays and numbers.";
    pub(crate) RECURSION = 140, "recursion",
        "\
A function calls itself, directly or through others. Functions are expanded before a program runs, so there is no
recursion. Use a loop.";
    pub(crate) BAD_RETURN = 141, "return does not fit",
        "\
A function with a result must return a value on every path; kernels and generators return nothing; a `void`
function becomes part of its callers and cannot return early. Use `if` and `else` instead.";
    pub(crate) BAD_SIGNATURE = 142, "parameter or result not allowed",
        "\
Functions with a result take numbers and integer arrays (`const uint32_t*`). Functions that return `void` may also
take tiles by reference and `const T&` descriptors. Tensors are not passed: every function names them directly.";
    pub(crate) TEMPLATE_ARGUMENTS = 143, "template arguments do not fit",
        "\
The call gives another number of template arguments than the function has parameters, or one that is not a
constant. Template arguments of functions with a result are literals or `const` values made of literals: every instance
is compiled before the launch. Functions that return nothing also take values that are known at launch.";
    pub(crate) OUTSIDE_LOOP = 144, "outside of a loop",
        "\
`break` and `continue` need a loop around them. A loop around the call of an inline function does not count.";
    pub(crate) TOO_DEEP = 145, "nested too deep",
        "\
Statements, expressions, calls of inline functions and constants that need each other are nested deeper than the
compiler follows. Split the code.";
    pub(crate) TOO_LARGE = 146, "too much copied code",
        "\
Inline functions and templates are copied to every call, and the copies have grown beyond a fixed limit, usually
because functions call each other several times over many levels. Use loops, or functions with a result, which are
not copied.";
    pub(crate) MISSING_SHAPE = 150, "shape missing",
        "\
`PTO_LAUNCH` binds an array whose dimensions are not declared, or the batch size is asked for and no tensor has
one. Add a line `PTO_SHAPE(name, d0, d1, …)`: a name that nothing else defines takes its value from the array.";
    pub(crate) BAD_CACHE_SHAPE = 151, "not the shape of a cache",
        "\
A paged KV cache has exactly four dimensions, [batch, position, head, lane], and its position is `PTO_DYNAMIC`:
`PTO_SHAPE(kv_cache, batch_size, PTO_DYNAMIC, num_kv_heads, HEAD_DIM)`.";
    pub(crate) TOO_MANY_DIMS = 152, "too many dimensions",
        "\
A tensor has more dimensions than the system supports; for a workspace field the slot counts as one. Join
dimensions that are always used together.";
    pub(crate) UNBOUND_SHAPE = 153, "shape of nothing",
        "\
`PTO_SHAPE` describes a name that `PTO_LAUNCH` does not bind, so no array would ever be behind it. Bind it, or
remove the line. Intermediate results are declared with `PTO_TENSOR` or `PTO_WORKSPACE`.";
    pub(crate) BAD_DIM = 154, "bad dimension",
        "\
A dimension is 0, or `PTO_DYNAMIC` outside of the position of a paged cache, or names an axis of which there are
several. Name the extent; a name that nothing else defines takes its value from the array.";
    pub(crate) DUPLICATE_AXIS = 160, "two axes of one name",
        "\
A space declares two axes with the same name. Rename one; different spaces may share names.";
    pub(crate) DUPLICATE_TILE = 161, "axis tiled twice",
        "\
A space has two `PTO_TILE` lines for one axis. Keep one.";
    pub(crate) ZERO_TILE = 162, "tile of size 0",
        "\
`PTO_TILE` gives an axis a tile of 0 elements, which would never end. Give at least 1, or `PTO_AUTO`.";
    pub(crate) BACKWARD_AXIS = 163, "axis ends before it starts",
        "\
The end of an axis is less than its start. Axes are half-open, [start, end): an end equal to the start is an empty
axis, a smaller one is a mistake.";
    pub(crate) EMPTY_SPACE = 164, "space without axes",
        "\
A `PTO_SPACE` has no `PTO_AXIS`, so there is nothing to iterate over. Add an axis.";
    pub(crate) DUPLICATE_GENERATOR = 165, "two generators",
        "\
A space has two `PTO_DESCRIPTOR_GEN`. Join them, or give each its own space and chain the spaces with `PTO_GRAPH`.";
    pub(crate) MISSING_DEFAULT = 170, "tier set without default",
        "\
A `PTO_TIER_DEF` does not say what runs when no condition holds. End it with `PTO_DEFAULT(kernel)`.";
    pub(crate) DEFAULT_NOT_LAST = 171, "default is not last",
        "\
Tiers are tried from top to bottom and `PTO_DEFAULT` takes every value, so whatever follows it never runs. Put it
last, once.";
    pub(crate) UNREACHABLE_TIER = 172, "unreachable tier",
        "\
Earlier tiers already take every value that this tier would take, or its condition never holds. List tiers from the
smallest bound to the largest.";
    pub(crate) TWO_SELECTORS = 173, "two selectors",
        "\
The conditions of one tier set use two names that nothing defines. One free name is the value that
`PTO_SELECT_TIER` tests; other names must be declared, for instance with `PTO_PARAM`.";
    pub(crate) AMBIGUOUS_TIERS = 174, "tier of which set",
        "\
`PTO_ALLOC_WS` takes the size of a slot from a tier, and the file has no tier set, or several and the tier was not
taken from one of them, or from more than one. Pass a variable that `PTO_SELECT_TIER` set.";
    pub(crate) SLOT_DISTANCE = 175, "distance of slots not known",
        "\
In functions `PTO_SLOT_BYTES` is how far apart the slots lie that `PTO_ALLOC_WS` gives. Here tiers reserve different numbers
of bytes per slot, and of which tier the slots are does not follow from the descriptor. Give the descriptor a field
`uint32_t tier`, or write `PTO_TIER_SLOT_BYTES(set, tier)`.";
    pub(crate) SHARED_SLOT = 176, "slot that all rounds of a loop share",
        "\
`PTO_ALLOC_WS` adds the indices of the loops around it to the arguments that it is given, so that each round has a slot of its
own. A `while`, a `do` and a `for` over no number have no index: their rounds share a slot, and what one round stores there
the next replaces. Give a number of the round as an argument, or write the loop as `for (uint32_t i = 0; i < n; i++)`.";
    pub(crate) FLOAT_INDEX = 177, "float index of a loop around a slot",
        "\
`PTO_ALLOC_WS` adds the indices of the loops around it to the arguments that it is given, so that each round has a slot of its
own. A float is no such index: sums of fractions are rounded, and what reads as two rounds may be one number, or the other way
round. Count the rounds with an integer, or give the number of the round as an argument.";
    pub(crate) DUPLICATE_POLICY = 180, "two policies for one axis",
        "\
A schedule has two statements of one kind for one axis. Keep one: the order of one axis, say, cannot be both
sequential and parallel.";
    pub(crate) SCHEDULE_MISMATCH = 181, "schedule does not fit the space",
        "\
A schedule is applied to a space that lacks an axis the schedule names. Remove the statement, or write a schedule
for this space.";
    pub(crate) BAD_LAYOUT = 182, "layout that a tensor cannot have",
        "\
`PTO_LAYOUT` and `PTO_RELAYOUT` name a tensor of the file and say of each of its dimensions `PTO_REPLICATE`, `PTO_SHARD(x)` or
`PTO_SHARD(y)`, each axis once, in a schedule with `PTO_SPATIAL_MAP(x, y)`: the tiles along an axis hold one dimension in parts.";
    pub(crate) BAD_FIELD_TYPE = 190, "field type",
        "\
Descriptors hold `uint32_t` fields only: indices, bounds and offsets, never pointers or floats, so that they are
small and mean the same on every device. A range is two fields, begin and end.";
    pub(crate) DUPLICATE_FIELD = 191, "field given twice",
        "\
Two fields of a descriptor have one name, or one field is set twice where the descriptor is emitted.";
    pub(crate) UNKNOWN_FIELD = 192, "unknown field",
        "\
A descriptor has no field of this name. The message lists its fields.";
    pub(crate) MISSING_FIELD = 193, "missing fields",
        "\
`PTO_EMIT_DESCRIPTOR` must set every field of the descriptor. The message lists those it leaves out.";
    pub(crate) LARGE_DESCRIPTOR = 194, "descriptor too long",
        "\
A descriptor has more 32-bit words than `wsp config` prints as `MAX_PAYLOAD_WORDS`. One is copied for every task; 5 to 10
words are usual. Keep indices and bounds and let the kernel work out the rest, or put the data into a tensor that the
kernel loads with an index from the descriptor.";
    pub(crate) BAD_FIELD_COUNT = 195, "length of a field",
        "\
The length of an array field is 0, too large, or not a constant. Descriptors have a fixed layout: use a literal, or
a `const` made of literals.";
    pub(crate) NO_CONSUMER = 196, "descriptor without a kernel",
        "\
A descriptor type is emitted that no kernel asks for, so its tasks could not run. Let a kernel take it: `auto desc
= PTO_GET_DESCRIPTOR<T>();`.";
    pub(crate) MIXED_CONSUMERS = 197, "descriptor with several kernels",
        "\
Several kernels take one descriptor type and no tier set holds them all, or the kernels of one tier set take
different types. Which kernel runs must follow from the type and its `tier` field.";
    pub(crate) MISSING_TIER_FIELD = 198, "no tier field",
        "\
Several kernels of a tier set take a descriptor type that has no field `tier`, so which of them runs is unknown.
Add `uint32_t tier;` and set it with `PTO_SELECT_TIER`.";
    pub(crate) UNCLEAR_DESCRIPTOR = 199, "unclear descriptor type",
        "\
A descriptor is asked for or emitted without the name of its type, and the file has none, or several that could be
meant. Name it: `PTO_GET_DESCRIPTOR<T>()`, `PTO_EMIT_DESCRIPTOR(T{…})`.";
    pub(crate) TWO_DESCRIPTORS = 200, "two descriptors in one kernel",
        "\
A kernel asks for two different descriptor types. A task has one descriptor; write a kernel for each type.";
    pub(crate) SCHEDULED_FOR_ARITY = 210, "variables and axes differ in number",
        "\
`PTO_SCHEDULED_FOR` needs one variable per axis of the generator's space, in the order of the axes.";
    pub(crate) NESTED_SCHEDULED_FOR = 211, "scheduled loop inside a loop",
        "\
`PTO_SCHEDULED_FOR` goes over the whole space in schedule order; inside another loop it would do so again and
again. Write it at the level of the generator, and use `PTO_FOR_EACH` for inner loops.";
    pub(crate) NOT_AUTO_TILED = 212, "tile cannot be set",
        "\
`PTO_SET_TILE` sets the tile of an axis that has none or whose size is fixed. Declare `PTO_TILE(axis, PTO_AUTO)`.";
    pub(crate) WRONG_AXIS_KIND = 213, "wrong kind of axis",
        "\
`PTO_GET_DIM` needs an axis whose end is known at launch, `PTO_SET_EXTENT` one whose end is `PTO_DYNAMIC`.";
    pub(crate) BAD_TILE_TYPE = 220, "bad tile type",
        "\
A tile type is `VecTile<T, rows, cols>` (or `LeftTile`, `RightTile`, `AccTile`) with an element type and two
positive sizes that are known at launch; the tile must not exceed the size limit that `wsp config` prints.";
    pub(crate) TILE_SHAPE = 221, "tile shapes do not fit",
        "\
The shapes of the tiles of an operation do not go together. Constant extents must be equal, others the same
expression; a constant and an expression are compared at launch. A column is spread over a tile by `TROWEXPAND…`, a
row by `TCOLEXPAND…`.";
    pub(crate) MATMUL_ROLE = 222, "wrong memory for a matrix product",
        "\
A tile of this type cannot play this part in `TMATMUL`: the right operand is a `RightTile` or `VecTile`, the left
one a `LeftTile`, `VecTile` or `AccTile`, the result an `AccTile` or `VecTile`. Declare the tile with another type.";
    pub(crate) MISSING_TRANSPOSE = 223, "transpose does not fit",
        "\
The inner dimensions of a matrix product agree only when the right operand is transposed, or only when it is not.
Keys are stored [position, lane], so scores are `TMATMUL(s, q, PTO_TRANSPOSE(k))`.";
    pub(crate) TOO_MANY_INDICES = 224, "too many indices",
        "\
An index list has more indices than the tensor has dimensions. For a workspace field the first index is the byte
offset that `PTO_ALLOC_WS` returned.";
    pub(crate) BAD_PLACE = 225, "tile does not fit its place",
        "\
The index list leaves no dimension for the rows or for the columns of the tile, or marks two dimensions for its
rows. Leave the last index out so that columns run along it, and mark the dimension of the rows with `PTO_ROWS`.";
    pub(crate) TILE_OVERLAP = 226, "operation in place",
        "\
Matrix products, transposition and reductions cannot write to one of their operands. Use another tile for the
result.";
    pub(crate) NOT_ONE_ROW = 227, "value of several rows",
        "\
`TROWMAX(tile)` and `TROWSUM(tile)` are one value only for a tile of one row. For more rows reduce into a tile of
one column: `TROWMAX(dst, src);`.";
    pub(crate) TWO_ENTRIES = 230, "two entries",
        "\
A file has two functions that launch, or one that launches twice. One program launches one space or graph; chain
spaces with `PTO_GRAPH`.";
    pub(crate) BAD_LAUNCH = 231, "launch not understood",
        "\
`PTO_LAUNCH` takes the name of a space or graph and a list of what it works on: `PTO_LAUNCH(Space, { .q = q, … })`.";
    pub(crate) BAD_BINDING = 232, "bad launch argument",
        "\
A launch argument must be a parameter of the entry, and an array of the launch must have the shape its parameter
type says: `uint32_t*` has one dimension.";
    pub(crate) DUPLICATE_BINDING = 233, "bound twice",
        "\
A launch argument or the role of a reference is given twice. Keep one.";
    pub(crate) ENTRY_BODY = 234, "statement in the host entry",
        "\
The host entry only launches; other statements would run nowhere. Compute in `PTO_DESCRIPTOR_GEN`, or declare
`PTO_PARAM` and `const` values.";
    pub(crate) NO_GENERATOR = 235, "space without a generator",
        "\
A space is launched, or is a stage of a graph, and has no `PTO_DESCRIPTOR_GEN`, so nothing would run. Write one.";
    pub(crate) BAD_ENTRY_PARAM = 240, "bad parameter of an entry",
        "\
A kernel with parameters is an entry of task graphs. It takes `Tensor<T>`, which `MC_BIND` binds in the order of the
parameters, and at most one `Workspace<T>`, all with a type of elements. The name of a parameter is that of a
`PTO_SHAPE`; kernels that share a name agree on its type. Numbers are given with `PTO_PARAM`, or bound as a tensor.";
    pub(crate) MIXED_KERNELS = 241, "kernels of tasks and of task graphs in one file",
        "\
Kernels with parameters are run by task graphs, kernels without by tasks that a generator emits. A file has one kind
only: move generators, host entry and the kernels of tasks to another file. `PTO_RESIDENT` is for task graphs.";
    pub(crate) NOT_GIVEN = 242, "tensor that the kernel is not given",
        "\
A kernel with parameters loads and stores its parameters and tensors declared with `PTO_RESIDENT`, nothing else. Add a
parameter and bind it with `MC_BIND`, or declare the tensor resident if it is the same for every launch, as weights
are. Functions with a result are given arrays as parameters.";
    pub(crate) NOT_A_TASK = 243, "entry of task graphs used as a task",
        "\
A kernel with parameters has no descriptor and no tier: a task graph runs it in blocks. `get_block_idx()` and
`get_block_num()` say which block runs and how many there are. A kernel of tasks has no parameters.";
}
