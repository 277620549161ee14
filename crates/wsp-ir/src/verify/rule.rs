//! The codes of the rules.
//!
//! Sources that a front end accepts keep these rules; a module that breaks one was written by hand as IR text, or shows a fault of ours.

wsp_diag::codes! {
    pub(crate) TOO_DEEP = 300, "code is nested too deep",
        "Statements and expressions inside each other form a chain that is longer than the verifier allows, 4 times\n\
         `MAX_NESTING` (see `wsp config`). Inlining adds the nesting of the called function to that of the call.\n\
         Move inner blocks to a function, or split a long expression with variables.";
    pub(crate) UNKNOWN_ID = 301, "an id names nothing",
        "An id is an index into a table of the module, and the table is shorter. In IR text the number after the letters\n\
         counts, the name behind it does not: `t3.output` is the fourth tensor. Use the index of an entry that exists.";
    pub(crate) PARAM_ORDER = 302, "a parameter uses a later parameter",
        "Parameters get their values in order, so the default or value of one can use those above it only.\n\
         Declare the other parameter first. Two that need each other have no value.";
    pub(crate) NOT_AT_LAUNCH = 303, "a value is not known at launch",
        "Axis bounds, tensor dimensions, tile shapes, workspace sizes, requirements and parameter values are computed once,\n\
         before anything runs. They may hold literals, parameters, operators, casts, `?:` and functions of one float.\n\
         Compute anything else inside the generator or kernel.";
    pub(crate) TENSOR = 304, "a tensor has an impossible form",
        "A tensor has at most `MAX_RANK` indices. Only a paged cache has a dynamic dimension: the second of its four, the\n\
         position. Only a temporary has a dimension that is an axis. An element type `(of t)` needs a tensor `t` to which\n\
         an array is bound at launch. A cache and its tensors of keys and values name each other.";
    pub(crate) SPACE = 305, "a space has an impossible form",
        "An axis belongs to one space and stands in it once. The generator that a space names is a function of kind\n\
         `generator` for that same space.";
    pub(crate) TIERS = 306, "a tier set has an impossible form",
        "Tiers are tried from first to last. The last has no condition and takes the rest; all others have one.\n\
         What a tier names is a kernel.";
    pub(crate) SELECTOR = 307, "the tier selector is misused",
        "The selector is the value given to `PTO_SELECT_TIER`. It has a meaning in the conditions of a tier set only, and\n\
         must be given with the type that the conditions use: `uint32_t` thresholds want a `uint32_t` value.";
    pub(crate) CONSUMER = 308, "a descriptor goes to a kernel that takes another",
        "Each descriptor type has a consumer: one kernel, or the tier that its `tier` field picks. A kernel that takes a\n\
         descriptor takes exactly that type. Let the kernel read this type, or emit the other.";
    pub(crate) SIGNATURE = 309, "a function has an impossible form",
        "The first variable of a kernel is its descriptor, and there is no other descriptor in it. Generators take nothing\n\
         and yield nothing. Helpers take scalars and integer arrays and yield a scalar. Only kernels have tiles.";
    pub(crate) OPERAND = 310, "a value has the wrong type",
        "Both operands of an operator have one type, and the result is what the operator makes of it: comparisons and logic\n\
         make `bool`, all else keeps the type. `%`, bits, shifts and array indices need integers, functions of one float\n\
         need floats. Insert a cast where types differ; to make a `bool`, compare.";
    pub(crate) CONDITION = 311, "a condition is not a bool",
        "Conditions of `if`, loops, `?:`, tiers, `PTO_WHERE` and `PTO_REQUIRE` are `bool`. Compare a number with 0.";
    pub(crate) CALL = 312, "a call does not fit the function",
        "Only helpers are called: functions that yield a scalar. The call gives one argument per parameter, a scalar of its\n\
         type or an array of its element type.";
    pub(crate) FIELD = 313, "a field does not exist",
        "Fields are read from the descriptor variable of a kernel, by index in declared order; element `i` of an array\n\
         field is a field of its own.";
    pub(crate) ARRAY = 314, "not an array of integers",
        "Elements, lengths, largest values and sums are taken of integer arrays: a parameter or variable of array type, a\n\
         one-dimensional launch tensor of a known integer type, or page-table data of a cache.";
    pub(crate) GENERATOR_ONLY = 315, "allowed in a generator only",
        "`PTO_EMIT_DESCRIPTOR`, `PTO_SCHEDULED_FOR`, `PTO_APPLY_SCHEDULE`, `PTO_SET_TILE`, `PTO_SET_EXTENT` and workspace\n\
         allocation make the work of a launch. They stand in `PTO_DESCRIPTOR_GEN`, not in kernels and helpers.";
    pub(crate) KERNEL_ONLY = 316, "allowed in a kernel only",
        "Tile operations, values of tiles, descriptor fields and single elements of float tensors belong to a running task.\n\
         They stand in `PTO_KERNEL_IMPL` and what is inlined there, not in generators and helpers.";
    pub(crate) JUMP = 317, "a jump without a loop",
        "`break` and `continue` act on the innermost loop around them, and there is none. `PTO_SCHEDULED_FOR` can be\n\
         continued, not left: its items have an order that the schedule decides.";
    pub(crate) RETURN = 318, "a return does not fit the function",
        "A helper returns a value of its result type; kernels and generators return nothing.";
    pub(crate) VARIABLE = 319, "a value does not fit the variable",
        "A scalar variable takes values of its own type. An array variable names an array of its element type and is not\n\
         assigned. A tile is declared without a value and filled by tile operations.";
    pub(crate) LOOP_VARIABLE = 320, "the variable of a counted loop is misused",
        "A counted loop knows before it starts how often it runs: its variable is an integer, bounds and step have its\n\
         type, and nothing inside assigns it. Use a `while` loop for anything else.";
    pub(crate) EMIT = 321, "an emit does not fit the descriptor",
        "An emit gives one `uint32_t` per field, in declared order, of a descriptor that some kernel takes. So are\n\
         the values that a schedule attaches to it.";
    pub(crate) SCHEDULED_FOR = 322, "PTO_SCHEDULED_FOR is misused",
        "It runs over all items of the generator's space: one `uint32_t` variable per axis, in the order of the space. It\n\
         stands in no other loop, and once in a generator.";
    pub(crate) AXIS = 323, "an axis cannot be used like this",
        "`PTO_SET_TILE` wants an axis with `PTO_TILE`, `PTO_SET_EXTENT` one that ends in `PTO_DYNAMIC`, both of the\n\
         generator's own space. The extent of a dynamic axis is no number that could be read: it differs per request.";
    pub(crate) PLACE = 324, "a place does not fit the tensor",
        "A place has a `uint32_t` index for each dimension of the tensor. The dimensions that rows and columns of the tile\n\
         follow exist and differ; a tile with more than one row or column needs one to follow.";
    pub(crate) TILE = 325, "not a tile of floats",
        "Operands of tile operations are tile variables with float elements. Tensors that tiles and single elements are\n\
         moved to and from have float elements. `TROWMAX` and `TROWSUM` as values need a tile of one row.";
    pub(crate) TILE_SCALAR = 326, "a value that meets a tile has the wrong type",
        "Tile arithmetic is in `float`: fill values, scalar operands and mask values are `float`. Row and column counts\n\
         are `uint32_t`.";
    pub(crate) RECURSION = 327, "a helper calls itself",
        "Helpers run without a stack, so none may call itself, directly or through others. Write a loop.";
    pub(crate) BINDING = 328, "a launch argument is bound to another kind",
        "Arrays and tensors of the entry become launch tensors, a paged cache becomes a cache, a scalar becomes a\n\
         parameter that the entry gives; each target once.";
    pub(crate) LITERAL = 329, "a literal is not of its type",
        "The literal is outside the range of its integer type, is no exact `float`, or is of another kind than its type.";
    pub(crate) KERNEL_ENTRY = 330, "not an entry of task graphs",
        "The kernel of an entry has a descriptor of its own kind: two words, the number of the block and how many there are,\n\
         which nothing emits. Every kernel of a module with entries is one, and such a module has no generator and no host\n\
         entry.";
    pub(crate) ENTRY_TENSOR = 331, "a tensor does not belong to the entry",
        "What an entry loads and stores is bound to it: its parameters and the tensors that are resident. Each is another\n\
         tensor of the launch, with a fixed element type, and at most one is the workspace.";
    pub(crate) UNIT = 332, "a unit does not fit the kernel",
        "A unit is that of a kernel which takes descriptors, and a kernel has one. Of an entry of task graphs `TG_KERNEL` says\n\
         on which cores it runs.";
    pub(crate) LAUNCH_COUNT = 333, "a count of a schedule is out of range",
        "`PTO_PIPELINE_DEPTH` lets at least one task run, and `PTO_POOLS` has at least one worker of each kind, and of both together\n\
         as many as a run has at most (`wsp config`).";
}
