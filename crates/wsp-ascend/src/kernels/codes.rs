//! Codes of kernels for Ascend cores.

wsp_diag::codes! {
    pub(crate) REFUSED = 1720, "no instructions of the platform do this",
        "A cube or vector core of the platform has no instructions that give the result of this operation, by themselves or put together.\n\
         The message says why. Use other operations, or compute it elsewhere and load it.";
    pub(crate) NOT_EMITTED = 1721, "not emitted yet",
        "The platform could do this, but no C++ is written for it yet: the page on Ascend kernels lists what is.\n\
         Use other operations that give the same, or run the program on `cpu_sim`.";
    pub(crate) SEVERAL_TASKS = 1722, "a kernel cannot be split into tasks for cube and vector cores",
        "Matrix products run on cube cores, everything else on vector cores, which share no memory but global memory. A kernel that needs both\n\
         becomes several tasks. A number that one of them finds, an element of a tensor or the maximum of a tile, cannot be handed to\n\
         another: keep it in a tile. What a cube core accumulates over several tasks is added in a tile of the vector core.";
    pub(crate) NOT_SET = 1723, "what the text of a kernel depends on is not set",
        "The text of a kernel depends on sizes of tiles, and on element types of tensors. Set the parameter that a size follows from with\n\
         `--set NAME=VALUE`; declare the element type of a tensor, `Tensor<float> x`. Names of `--set` are those of parameters.";
    pub(crate) TOO_MANY = 1724, "a task takes more arguments than there is room for",
        "A task of an Ascend device takes at most 32 tensors and 16 numbers. Fields of the descriptor, parameters and extents of tensors that a\n\
         kernel uses are numbers, and three for each paged cache. Set parameters with `--set NAME=VALUE`, or use fewer fields or caches.";
    pub(crate) NO_KERNELS = 1725, "there is no kernel to write",
        "Kernels of a file are written as C++ by their names. This file has none, or none of the name that was asked for.";
    pub(crate) LINES = 1726, "tasks of several cores may store to one line of 64 bytes",
        "Cores write global memory in lines of 64 bytes. Where tasks of two cores store different elements of one line, the elements of one of\n\
         them may be lost, and no simulation shows it. Tasks that are a multiple of 64 bytes apart, and begin on a line, share none: pad what\n\
         a task stores, or let one task store all of a line. Where the distance follows from a parameter, set it: `--set NAME=VALUE`.";
    pub(crate) EXTENT = 1727, "rows or columns are 0, below 0 or past the end whenever a statement runs",
        "Valid rows and columns of a load, a store or a fill follow from constants and parameters, and are not above 0. With 0 nothing is\n\
         left of the statement, and nothing is emitted for it. Below 0 a run of `cpu_sim` stops; a core takes the number for 0.\n\
         Rows or columns that a store or an insertion writes may end behind those that there are: a run of `cpu_sim` stops, a core writes there.\n\
         Where a launch decides, the kernel skips what has 0 rows or columns.";
    pub(crate) APART = 1728, "a kernel becomes several tasks where one could do",
        "The cube core and the vector core of a task of this platform move tiles to each other, so that a kernel for both is one task. This one is\n\
         not: the note says what does not fit UB, or which order the eight events from one core to the other do not give. So it is where one core\n\
         stores to a tensor that the other uses, and where the cube core needs a number that the vector core finds. The tasks exchange tiles\n\
         through global memory. Smaller tiles, and fewer products in a loop, make one task of it.";
    pub(crate) SAME_NAME = 1729, "two arguments of a kernel have one name in C++",
        "Names in C++ have no double underscores and none at their ends, so that `n_` and `n` are one name there. Rename one of the two.";
    pub(crate) REQUIREMENT = 1731, "a requirement of the program is not met",
        "A condition of `PTO_REQUIRE` is false by the values of parameters that are known at emission, so a run with them is refused.\n\
         Give other values with `--set NAME=VALUE`. Of a condition that a launch decides the text of a kernel says nothing.";
    pub(crate) CONTRADICTS = 1732, "a parameter is set to another value than arrays have",
        "A parameter that is an extent of arrays is given by `--set NAME=VALUE` and by the arrays that `--inputs`, `--input` or `--generate` name, and the\n\
         two differ. Kernels are made for one of them: leave the other out.";
    pub(crate) SHAPES = 1730, "the valid parts of operands differ whenever an instruction runs",
        "Valid rows and columns of two operands follow from constants and parameters, and do not go together: those of an operation by elements\n\
         are equal, and a column or a row of numbers is as long as the tile that it meets. A run on `cpu_sim` stops where it comes to such an\n\
         operation; the C++ of a core has the extents in its types, and does not compile, whatever decides whether it runs.";
}
