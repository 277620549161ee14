//! Binding arrays and values to a launch: WSP0550-WSP0599.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(550),
        title: "an input is missing",
        explanation: "A parameter of the host entry, a tensor of a workload that tasks read first, or an `extern` tensor of a task \
            graph that is read has no array or value. Arrays take the names of parameters and tensors; a `PagedKVCache kv` takes \
            `kv.k`, `kv.v`, `kv.indptr`, `kv.indices` and `kv.last_page_len`. \
            Put them into one `.npz` and pass `--inputs FILE.npz`, or give single ones with `--input NAME=FILE.npy`. Where any \
            array is given, others are made up only if `--fill NAME` names them or `--generate` asks for all that are missing; \
            in Rust, if `WorkloadInputs::made_up` names them. Scalars are given with `--set NAME=VALUE`.",
    },
    CodeInfo {
        code: Code(551),
        title: "an array has the wrong number of dimensions",
        explanation: "`PTO_SHAPE` declares how many dimensions a tensor has, and the array has more or fewer. A paged cache \
            always has four: [pages, page_size, heads, dim], or [pages, heads, page_size, dim] with `--set kv_layout=HND`.",
    },
    CodeInfo {
        code: Code(552),
        title: "an array has the wrong extent",
        explanation: "A name that stands in several shapes has one value in all of them: the first array that names it \
            decides, and every other must agree. The note shows the array's shape beside the declared one.",
    },
    CodeInfo {
        code: Code(553),
        title: "an array has the wrong element type",
        explanation: "Tensors that kernels load hold f16, bf16 or f32 (a uint16 array is read as bf16); page tables and \
            lengths hold integers. A parameter declared `Tensor<float>` takes exactly that type.",
    },
    CodeInfo {
        code: Code(554),
        title: "the row pointer of a page table is not valid",
        explanation: "`NAME.indptr` has one entry more than there are requests, starts at 0, never decreases, and ends at or \
            before the number of entries of `NAME.indices`: request b holds pages indices[indptr[b]..indptr[b + 1]].",
    },
    CodeInfo {
        code: Code(555),
        title: "a page id is out of range",
        explanation: "Every entry of `NAME.indices` that a request uses is the number of a page of `NAME.k` and `NAME.v`, \
            so it is at least 0 and below the first extent of these arrays.",
    },
    CodeInfo {
        code: Code(556),
        title: "the token count of a last page is out of range",
        explanation: "`NAME.last_page_len[b]` says how many tokens of request b's last page are used: 1 to the page size, \
            or 0 for a request without pages. A full last page is the page size, not 0.",
    },
    CodeInfo {
        code: Code(557),
        title: "lengths and page table disagree",
        explanation: "The array bound as `kv_lens` and the page table both tell how many tokens each request has: \
            (pages - 1) * page_size + last_page_len. They must be the same for every request.",
    },
    CodeInfo {
        code: Code(558),
        title: "a parameter cannot be set",
        explanation: "`--set NAME=VALUE` takes the parameters that the source declares with `PTO_PARAM`, scalar parameters of \
            the host entry, and `max_blocks` and `kv_layout`. Names that follow from array shapes or from other values \
            cannot be set: change the arrays instead.",
    },
    CodeInfo {
        code: Code(559),
        title: "a value does not fit its parameter",
        explanation: "The value given with `--set` is not one of the parameter's type: a negative number or a fraction for a \
            `uint32_t`, say. Nothing is rounded or wrapped.",
    },
    CodeInfo {
        code: Code(560),
        title: "an array is not used",
        explanation: "No parameter of the host entry, and no table or tensor of the workload, has the name of this array. \
            The run goes on without it. If the name is a slip, the help shows the nearest name.",
    },
    CodeInfo {
        code: Code(561),
        title: "an extent is zero",
        explanation: "A page size, a number of heads or a head dimension of 0 leaves nothing to compute with. An empty batch \
            is fine; an empty cache of an empty batch has 0 pages but still a page size, heads and a head dimension.",
    },
    CodeInfo {
        code: Code(562),
        title: "an extent is too large",
        explanation: "Indices are 32-bit unsigned integers, so no dimension of a tensor may exceed 4294967295 elements, and \
            a workspace or temporary tensor must fit the machine's memory.",
    },
    CodeInfo {
        code: Code(564),
        title: "an extent has no value",
        explanation: "A name in a shape takes its value from the first array whose shape mentions it. If that tensor is only \
            written, there is no array to read it from. Name the extent in the shape of an input, or declare it with \
            `PTO_PARAM`. A dynamic dimension belongs to a paged cache only.",
    },
    CodeInfo {
        code: Code(565),
        title: "an integer is out of range",
        explanation: "Lengths, page ids and row pointers are 32-bit unsigned integers. Arrays may be stored as int32, \
            uint32, int64 or uint64, but every value must lie in 0..=4294967295.",
    },
    CodeInfo {
        code: Code(567),
        title: "a launch option is out of range",
        explanation: "The number of threads, the cores per group, the window and `max_blocks` are at least 1 and at most \
            what the message says. 0 threads means one per core.",
    },
    CodeInfo {
        code: Code(568),
        title: "there is nothing to run",
        explanation: "A file without a function that calls `PTO_LAUNCH` is a library of kernels: it can be checked, but not \
            run. Add a host entry: `void run(Tensor x) { PTO_LAUNCH(Space, { .x = x }); }`.",
    },
    CodeInfo {
        code: Code(569),
        title: "a requirement of the program is not met",
        explanation: "The source says with `PTO_REQUIRE(condition)` what inputs it takes, and these inputs do not \
            fulfil it. The note shows the values that the condition is about.",
    },
    CodeInfo {
        code: Code(570),
        title: "the workspace cannot be laid out",
        explanation: "`PTO_ALLOC_WS` returns 32-bit byte offsets, so all slots together must stay below 4 GiB: use larger \
            chunks, or fewer at once. A tier reserves at least the fields of a slot, `PTO_SLOT_BYTES`, and a multiple of 64 bytes. \
            And one key is always asked for with the same tier and number of slots.",
    },
    CodeInfo {
        code: Code(571),
        title: "too many descriptors",
        explanation: "A generator emits more descriptors than one run may have (`wsp config` prints the limit). That is \
            nearly always a tile that is far too small for the data; use larger tiles.",
    },
    CodeInfo {
        code: Code(572),
        title: "an extent or tile is not known",
        explanation: "The extents of a dynamic axis come from `PTO_SET_EXTENT`, from a guard at the start of \
            `PTO_SCHEDULED_FOR`, or from the lengths of the only paged cache. An axis must not end before it starts, a tile \
            has at least one element, and a temporary tensor over a dynamic axis is sized by stores whose index is bounded \
            by descriptor fields.",
    },
    CodeInfo {
        code: Code(573),
        title: "a descriptor picks a tier that does not exist",
        explanation: "The `tier` field of a descriptor is the index of a tier of its tier set, as `PTO_SELECT_TIER` returns \
            it: 0 for the first, the number of `PTO_TIER`s for the default.",
    },
    CodeInfo {
        code: Code(574),
        title: "the run was cancelled",
        explanation: "The run was stopped from outside, by Ctrl-C for instance. Tasks that were running have finished, the \
            others never started, and no output was written.",
    },
    CodeInfo {
        code: Code(575),
        title: "a descriptor is too long",
        explanation: "A descriptor holds indices and bounds, at most as many 32-bit words as `wsp config` prints. Larger data \
            belong into a tensor that the kernel loads with an index from the descriptor.",
    },
    CodeInfo {
        code: Code(576),
        title: "a tile changes while kernels need it",
        explanation: "The generator sets the tile of an axis to another size after it has emitted a task, and a kernel asks \
            for it with `PTO_GET_TILE`. Tasks run beside the generator, so which size one would see depends on timing. Set \
            the tile once, before the first descriptor, or give the size to the kernel as a field of its descriptor.",
    },
    CodeInfo {
        code: Code(577),
        title: "too many kernels",
        explanation: "One launch can reach at most 65536 kernels. Kernels that differ in a number only can be one kernel \
            with that number as a field of its descriptor.",
    },
    CodeInfo {
        code: Code(578),
        title: "a plan is stale",
        explanation: "A plan holds what the generators emitted for certain lengths, shapes and parameters. The arrays or options \
            of this run have others, or the plan is another program's; the message names the first difference with both \
            values. Bring the plan up to date with `Plan::advance` when requests grew, or make another with `Program::plan`.",
    },
    CodeInfo {
        code: Code(579),
        title: "a plan has too little room",
        explanation: "A plan of fixed capacity never moves its descriptors, so it takes as many descriptors and as much \
            workspace as it was made for. `Program::workspace_query` says what a launch needs; make the plan with the most \
            that may come.",
    },
    CodeInfo {
        code: Code(580),
        title: "a plan cannot follow this growth",
        explanation: "`Plan::advance` changes the lengths of the requests of one paged cache. It takes one length per \
            request, and no length of more than 4294967295 tokens; a launch with several caches, or a generator that reads page \
            ids, needs the arrays themselves: make another plan with `Program::plan`.",
    },
    CodeInfo {
        code: Code(581),
        title: "more lengths than indices",
        explanation: "`PTO_SET_EXTENT(axis, lengths)` gives the extent of a dynamic axis for each index of the first axis of the \
            space. An array with more lengths than the first axis has indices would be cut short without a word: let the \
            first axis run over all of them, or bind an array of as many lengths as there are indices.",
    },
];
