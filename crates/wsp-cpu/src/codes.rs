//! Codes of the diagnostics that this crate reports.

pub(crate) use wsp_backend::codes::{WRONG_EXTENT, WRONG_RANK};
use wsp_diag::Code;

wsp_diag::codes! {
    pub(crate) MISSING_ARRAY = 550, "an input is missing",
        "A parameter of the host entry, a tensor of a workload that tasks read first, or an `extern` tensor of a task \
            graph that is read has no array or value. Arrays take the names of parameters and tensors; a `PagedKVCache kv` takes \
            `kv.k`, `kv.v`, `kv.indptr`, `kv.indices` and `kv.last_page_len`. \
            Put them into one `.npz` and pass `--inputs FILE.npz`, or give single ones with `--input NAME=FILE.npy`. Where any \
            array is given, others are made up only if `--fill NAME` names them or `--generate` asks for all that are missing; \
            in Rust, of declared kernels. Scalars are given with `--set NAME=VALUE`.";
    pub(crate) WRONG_DTYPE = 553, "an array has the wrong element type",
        "Tensors that kernels load hold f16, bf16 or f32 (a uint16 array is read as bf16); page tables and \
            lengths hold integers. A parameter declared `Tensor<float>` takes exactly that type.";
    pub(crate) BAD_INDPTR = 554, "the row pointer of a page table is not valid",
        "`NAME.indptr` has one entry more than there are requests, starts at 0, never decreases, and ends at or \
            before the number of entries of `NAME.indices`: request b holds pages indices[indptr[b]..indptr[b + 1]].";
    pub(crate) BAD_PAGE = 555, "a page id is out of range",
        "Every entry of `NAME.indices` that a request uses is the number of a page of `NAME.k` and `NAME.v`, \
            so it is at least 0 and below the first extent of these arrays.";
    pub(crate) BAD_LAST_PAGE = 556, "the token count of a last page is out of range",
        "`NAME.last_page_len[b]` says how many tokens of request b's last page are used: 1 to the page size, \
            or 0 for a request without pages. A full last page is the page size, not 0.";
    pub(crate) LENGTHS_DISAGREE = 557, "lengths and page table disagree",
        "The array bound as `kv_lens` and the page table both tell how many tokens each request has: \
            (pages - 1) * page_size + last_page_len. They must be the same for every request.";
    pub(crate) UNKNOWN_PARAMETER = 558, "a parameter cannot be set",
        "`--set NAME=VALUE` takes the parameters that the source declares with `PTO_PARAM`, scalar parameters of \
            the host entry, and `max_blocks` and `kv_layout`. Names that follow from array shapes or from other values \
            cannot be set: change the arrays instead.";
    pub(crate) BAD_PARAMETER = 559, "a value does not fit its parameter",
        "The value given with `--set` is not one of the parameter's type: a negative number or a fraction for a \
            `uint32_t`, say. Nothing is rounded or wrapped.";
    pub(crate) UNKNOWN_ARRAY = 560, "an array that the program does not take",
        "No parameter of the host entry, no table or tensor of the workload, and no external tensor of the task graph \
            has the name of this array. Often the name is misspelt: the help shows the nearest one.";
    pub(crate) ZERO_EXTENT = 561, "an extent is zero",
        "A page size, a number of heads or a head dimension of 0 leaves nothing to compute with. An empty batch \
            is fine; an empty cache of an empty batch has 0 pages but still a page size, heads and a head dimension.";
    pub(crate) TOO_LARGE = 562, "an extent is too large",
        "Indices are 32-bit unsigned integers, so no dimension of a tensor may exceed 4294967295 elements, and \
            a workspace or temporary tensor must fit the machine's memory.";
    pub(crate) EXTENT_UNKNOWN = 564, "an extent has no value",
        "A name in a shape takes its value from the first array whose shape mentions it. If that tensor is only \
            written, there is no array to read it from. Name the extent in the shape of an input, or declare it with \
            `PTO_PARAM`. A dynamic dimension belongs to a paged cache only.";
    pub(crate) BAD_INTEGER = 565, "an integer is out of range",
        "Lengths, page ids and row pointers are 32-bit unsigned integers. Arrays may be stored as int32, \
            uint32, int64 or uint64, but every value must lie in 0..=4294967295.";
    pub(crate) BAD_OPTION = 567, "a launch option is out of range",
        "The number of threads, the cores per group, the window and `max_blocks` are at least 1 and at most \
            what the message says. 0 threads means one per core.";
    pub(crate) NO_ENTRY = 568, "there is nothing to run",
        "A file without a function that calls `PTO_LAUNCH` is a library of kernels: it can be checked, but not \
            run. Add a host entry: `void run(Tensor x) { PTO_LAUNCH(Space, { .x = x }); }`.";
    pub(crate) REQUIREMENT = 569, "a requirement of the program is not met",
        "The source says with `PTO_REQUIRE(condition)` what inputs it takes, and these inputs do not \
            fulfil it. The note shows the values that the condition is about.";
    pub(crate) TOO_MANY_TASKS = 571, "too many descriptors",
        "A generator emits more descriptors than one run may have (`wsp config` prints the limit). That is \
            nearly always a tile that is far too small for the data; use larger tiles.";
    pub(crate) NO_EXTENT = 572, "an extent or tile is not known",
        "The extents of a dynamic axis come from `PTO_SET_EXTENT`, from a guard at the start of \
            `PTO_SCHEDULED_FOR`, or from the lengths of the only paged cache. An axis must not end before it starts, a tile \
            has at least one element, and a temporary tensor over a dynamic axis is sized by stores whose index is bounded \
            by descriptor fields.";
    pub(crate) BAD_TIER = 573, "a descriptor picks a tier that does not exist",
        "The `tier` field of a descriptor is the index of a tier of its tier set, as `PTO_SELECT_TIER` returns \
            it: 0 for the first, the number of `PTO_TIER`s for the default.";
    pub(crate) STOPPED = 574, "the run was cancelled",
        "The run was stopped from outside, by Ctrl-C for instance. Tasks that were running have finished, the \
            others never started, and no output was written.";
    pub(crate) DESCRIPTOR_TOO_LONG = 575, "a descriptor is too long",
        "A descriptor holds indices and bounds, at most as many 32-bit words as `wsp config` prints. Larger data \
            belong into a tensor that the kernel loads with an index from the descriptor.";
    pub(crate) TILE_CHANGES = 576, "a tile changes while kernels need it",
        "The generator sets the tile of an axis to another size after it has emitted a task, and a kernel asks \
            for it with `PTO_GET_TILE`. Tasks run beside the generator, so which size one would see depends on timing. Set \
            the tile once, before the first descriptor, or give the size to the kernel as a field of its descriptor.";
    pub(crate) TOO_MANY_KERNELS = 577, "too many kernels",
        "One launch can reach at most 65536 kernels. Kernels that differ in a number only can be one kernel \
            with that number as a field of its descriptor.";
    pub(crate) STALE_PLAN = 578, "a plan is stale",
        "A plan holds what the generators emitted for certain lengths, shapes and parameters. The arrays or options \
            of this run have others, or the plan is another program's; the message names the first difference with both \
            values. Bring the plan up to date with `advance` when requests grew, or make another.";
    pub(crate) PLAN_CAPACITY = 579, "a plan has too little room",
        "A plan of fixed capacity never moves its descriptors, so it takes as many descriptors and as much \
            workspace as it was made for. `workspace_query` says what a launch needs; make the plan with the most \
            that may come.";
    pub(crate) BAD_GROWTH = 580, "a plan cannot follow this growth",
        "`advance` changes the lengths of the requests of one paged cache. It takes one length per \
            request, and no length of more than 4294967295 tokens; a launch with several caches, or a generator that reads page \
            ids, needs the arrays themselves: make another plan.";
    pub(crate) TOO_MANY_LENGTHS = 581, "more lengths than indices",
        "`PTO_SET_EXTENT(axis, lengths)` gives the extent of a dynamic axis for each index of the first axis of the \
            space. An array with more lengths than the first axis has indices would be cut short without a word: let the \
            first axis run over all of them, or bind an array of as many lengths as there are indices.";
    pub(crate) NO_AICPUS = 1760, "a machine model has no AICPUs, or fewer than asked for",
        "In virtual time on a machine model tasks may run on AICPUs of the machine, which have the costs and the number of threads that the table `[aicpu]` of its \
            model says. `cpu` has no such table; ask for no AICPUs, or for fewer, or take a model that has them: docs/reference/models.md.";
    pub(crate) LARGE_FIGURE = 1761, "what a machine model says of AICPUs or launches is too large",
        "Every figure of `[aicpu]` and `[launch]`, and the transfer of a program or of a list of tasks, takes less than 2^62 cycles of the model's clock. \
            The figure is of another order of magnitude: times are in seconds, rates in bytes a second.";
}
pub(crate) const NEVER_STORED: Code = Code(616);
/// A generator or kernel was stopped, as `wsp_kernel` reports it.
pub(crate) const FUNCTION_STOPPED: Code = Code(607);
