//! Codes of layouts.

wsp_diag::codes! {
    pub(crate) PENDING = 430, "a pending sum is read",
        "A kernel adds up over a dimension that is sharded over an axis of the grid (a product of matrices along it, a sum of a row \
            or column), or a `layout` says `pending`: each tile along the axis has a part of the sum, and none has the sum. Write \
            `relayout(tensor, […])` for the tensor that holds it (`PTO_RELAYOUT` in a `.pto` file): tasks that read it have the \
            parts added up. Or bring an operand into a layout whose inner dimension is not sharded, so that no sum is split.";
    pub(crate) UNLIKE = 431, "layouts do not fit together",
        "Two dimensions meet in an operation of a kernel, or in a store, and are sharded over different axes, or both dimensions of a \
            result would be sharded over one. Or something is not followed across tiles: a maximum along a sharded dimension, a number \
            taken from one, a tile that branches leave in different layouts. No tile has what it needs. Write `relayout(tensor, […])` for the tensor that the message \
            names (`PTO_RELAYOUT` in a `.pto` file), or give it another `layout`.";
    pub(crate) SHARDED_EXTENT = 432, "a dimension cannot be sharded",
        "Which tile has which part of a dimension follows from its extent, which has to be known when a launch begins. Dimensions that \
            follow the lengths of requests or a dynamic axis have none: `replicate` them.";
    pub(crate) OTHER_GRID = 433, "stages of a launch have different grids or layouts",
        "A launch has one grid of tiles, and a tensor has one layout in it. Write the same numbers in every schedule, or the statement \
            in one of them only.";
}
