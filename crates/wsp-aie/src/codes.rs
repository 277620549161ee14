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
    pub(crate) GRAPH = 1850, "graph of processes that does not fit together",
        "\
Nets have nodes at both ends, and nodes stand on tiles of their kind: processes on compute tiles, memories on memory tiles, transfers of the host on shim tiles.";
    pub(crate) CAPACITY = 1851, "more than an array has",
        "\
A compute tile has one core, 64 KiB, and two channels into its memory and out of it; a memory tile has 512 KiB and six of each; a shim tile two of each. Two neighbouring cores need no channel for a flow from one to the other: it goes through a memory that both reach.";
}
