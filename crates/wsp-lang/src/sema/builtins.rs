//! The functions and constants that every program has: one table each, for lowering and for suggestions.

use wsp_ir::{BinOp, Const, MathFn, MetaKind, ScalarTy};

/// A predefined constant.
pub(crate) struct Constant {
    /// Its name.
    pub(crate) name: &'static str,
    value: Const,
    ty: ScalarTy,
}

/// The predefined constants.
pub(crate) const CONSTANTS: &[Constant] = &[
    Constant { name: "INFINITY", value: Const::Float(f64::INFINITY), ty: ScalarTy::F32 },
    Constant { name: "LOG2E", value: Const::Float(std::f32::consts::LOG2_E as f64), ty: ScalarTy::F32 },
    Constant { name: "FLT_MAX", value: Const::Float(f32::MAX as f64), ty: ScalarTy::F32 },
    Constant { name: "FLT_MIN", value: Const::Float(f32::MIN_POSITIVE as f64), ty: ScalarTy::F32 },
    Constant { name: "FLT_EPSILON", value: Const::Float(f32::EPSILON as f64), ty: ScalarTy::F32 },
    Constant { name: "INT32_MAX", value: Const::Int(i32::MAX as i128), ty: ScalarTy::I32 },
    Constant { name: "UINT32_MAX", value: Const::Int(u32::MAX as i128), ty: ScalarTy::U32 },
    Constant { name: "UINT64_MAX", value: Const::Int(u64::MAX as i128), ty: ScalarTy::U64 },
];

/// Value and type of a predefined constant.
pub(crate) fn find_constant(name: &str) -> Option<(Const, ScalarTy)> {
    CONSTANTS.iter().find(|c| c.name == name).map(|c| (c.value, c.ty))
}

/// Whether the language gives the name a value.
pub(crate) fn is_constant(name: &str) -> bool {
    name == "PTO_SLOT_BYTES" || find_constant(name).is_some()
}

/// What a predefined function does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Builtin {
    /// Two numbers of one type.
    Binary(BinOp),
    /// A function of one float.
    Math(MathFn),
    /// `*std::max_element(p, p + n)`
    MaxElement,
    /// `std::accumulate(p, p + n, 0)`
    Accumulate,
    /// `PTO_GET_INPUT_META(cache, kind)`, an array
    InputMeta,
    /// `PTO_GET_INPUT_LENS(cache)`, an array
    InputLens,
    /// `PTO_GET_BATCH_SIZE()`
    BatchSize,
    /// `PTO_GET_PARAM(name)`
    GetParam,
    /// `PTO_GET_DIM(axis)`
    GetDim,
    /// `PTO_GET_MAX_BLOCKS()`
    MaxBlocks,
    /// `PTO_GET_TILE(axis)`
    GetTile,
    /// `PTO_ITEM_BEGIN(axis)`
    ItemBegin,
    /// `PTO_ITEM_END(axis)`
    ItemEnd,
    /// `PTO_ITEM_COUNT(axis)`
    ItemCount,
    /// `PTO_SELECT_TIER(set, value)`
    SelectTier,
    /// `PTO_ALLOC_WS(tier, …)`
    AllocWs,
    /// `PTO_TIER_SLOT_BYTES(set, tier)`
    TierSlotBytes,
    /// `PTO_GET_DESCRIPTOR<T>()`, a descriptor
    GetDescriptor,
    /// `get_block_idx()`
    BlockIdx,
    /// `get_block_num()`
    BlockNum,
    /// `PTO_LOAD_SCALAR(tensor, {…})`
    LoadScalar,
    /// `PTO_VALID_ROWS(tile)`
    ValidRows,
    /// `PTO_VALID_COLS(tile)`
    ValidCols,
    /// `PTO_EMIT_DESCRIPTOR(T{…})`, a statement
    Emit,
    /// `PTO_APPLY_SCHEDULE(schedule)`, a statement
    ApplySchedule,
    /// `PTO_SET_TILE(axis, size)`, a statement
    SetTile,
    /// `PTO_SET_EXTENT(axis, extent)`, a statement
    SetExtent,
    /// `PTO_LAUNCH(target, {…})`, a statement of the host entry
    Launch,
    /// A marker inside another form: `PTO_ROWS(e)`, `PTO_TRANSPOSE(t)`
    Marker,
}

/// Where a predefined function may be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    /// Wherever a number may stand.
    Anywhere,
    /// In function bodies.
    Functions,
    /// In `PTO_DESCRIPTOR_GEN` and inline functions it calls.
    Generators,
    /// In `PTO_KERNEL_IMPL` and inline functions it calls.
    Kernels,
}

/// A predefined function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltinFn {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) does: Builtin,
    /// Fewest and most arguments.
    pub(crate) arity: (usize, usize),
    /// Where it may be called.
    pub(crate) place: Where,
}

const fn entry(name: &'static str, does: Builtin, arity: (usize, usize), place: Where) -> BuiltinFn {
    BuiltinFn { name, does, arity, place }
}

/// The predefined functions; tile operations have a table of their own.
pub(crate) const FUNCTIONS: &[BuiltinFn] = &[
    entry("PTO_MIN", Builtin::Binary(BinOp::Min), (2, 2), Where::Anywhere),
    entry("PTO_MAX", Builtin::Binary(BinOp::Max), (2, 2), Where::Anywhere),
    entry("PTO_CEIL_DIV", Builtin::Binary(BinOp::CeilDiv), (2, 2), Where::Anywhere),
    entry("min", Builtin::Binary(BinOp::Min), (2, 2), Where::Anywhere),
    entry("max", Builtin::Binary(BinOp::Max), (2, 2), Where::Anywhere),
    entry("std::min", Builtin::Binary(BinOp::Min), (2, 2), Where::Anywhere),
    entry("std::max", Builtin::Binary(BinOp::Max), (2, 2), Where::Anywhere),
    entry("PTO_EXP", Builtin::Math(MathFn::Exp), (1, 1), Where::Anywhere),
    entry("PTO_EXP2", Builtin::Math(MathFn::Exp2), (1, 1), Where::Anywhere),
    entry("PTO_LOG", Builtin::Math(MathFn::Log), (1, 1), Where::Anywhere),
    entry("PTO_LOG2", Builtin::Math(MathFn::Log2), (1, 1), Where::Anywhere),
    entry("PTO_SQRT", Builtin::Math(MathFn::Sqrt), (1, 1), Where::Anywhere),
    entry("PTO_SIN", Builtin::Math(MathFn::Sin), (1, 1), Where::Anywhere),
    entry("PTO_COS", Builtin::Math(MathFn::Cos), (1, 1), Where::Anywhere),
    entry("exp", Builtin::Math(MathFn::Exp), (1, 1), Where::Anywhere),
    entry("exp2", Builtin::Math(MathFn::Exp2), (1, 1), Where::Anywhere),
    entry("log", Builtin::Math(MathFn::Log), (1, 1), Where::Anywhere),
    entry("log2", Builtin::Math(MathFn::Log2), (1, 1), Where::Anywhere),
    entry("sqrt", Builtin::Math(MathFn::Sqrt), (1, 1), Where::Anywhere),
    entry("sin", Builtin::Math(MathFn::Sin), (1, 1), Where::Anywhere),
    entry("cos", Builtin::Math(MathFn::Cos), (1, 1), Where::Anywhere),
    entry("fabs", Builtin::Math(MathFn::Abs), (1, 1), Where::Anywhere),
    entry("std::exp", Builtin::Math(MathFn::Exp), (1, 1), Where::Anywhere),
    entry("std::exp2", Builtin::Math(MathFn::Exp2), (1, 1), Where::Anywhere),
    entry("std::log", Builtin::Math(MathFn::Log), (1, 1), Where::Anywhere),
    entry("std::log2", Builtin::Math(MathFn::Log2), (1, 1), Where::Anywhere),
    entry("std::sqrt", Builtin::Math(MathFn::Sqrt), (1, 1), Where::Anywhere),
    entry("std::sin", Builtin::Math(MathFn::Sin), (1, 1), Where::Anywhere),
    entry("std::cos", Builtin::Math(MathFn::Cos), (1, 1), Where::Anywhere),
    entry("std::fabs", Builtin::Math(MathFn::Abs), (1, 1), Where::Anywhere),
    entry("std::max_element", Builtin::MaxElement, (2, 2), Where::Functions),
    entry("std::accumulate", Builtin::Accumulate, (3, 3), Where::Functions),
    entry("PTO_GET_BATCH_SIZE", Builtin::BatchSize, (0, 0), Where::Anywhere),
    entry("PTO_GET_PARAM", Builtin::GetParam, (1, 1), Where::Anywhere),
    entry("PTO_GET_INPUT_META", Builtin::InputMeta, (2, 2), Where::Functions),
    entry("PTO_GET_INPUT_LENS", Builtin::InputLens, (1, 1), Where::Functions),
    entry("PTO_GET_DIM", Builtin::GetDim, (1, 1), Where::Functions),
    entry("PTO_GET_MAX_BLOCKS", Builtin::MaxBlocks, (0, 0), Where::Functions),
    entry("PTO_GET_TILE", Builtin::GetTile, (1, 1), Where::Functions),
    entry("PTO_ITEM_BEGIN", Builtin::ItemBegin, (1, 1), Where::Generators),
    entry("PTO_ITEM_END", Builtin::ItemEnd, (1, 1), Where::Generators),
    entry("PTO_ITEM_COUNT", Builtin::ItemCount, (1, 1), Where::Generators),
    entry("PTO_SELECT_TIER", Builtin::SelectTier, (2, 2), Where::Functions),
    entry("PTO_ALLOC_WS", Builtin::AllocWs, (1, 64), Where::Generators),
    entry("PTO_ALLOC_WORKSPACE", Builtin::AllocWs, (1, 64), Where::Generators),
    entry("PTO_TIER_SLOT_BYTES", Builtin::TierSlotBytes, (2, 2), Where::Functions),
    entry("PTO_GET_DESCRIPTOR", Builtin::GetDescriptor, (0, 0), Where::Kernels),
    entry("get_block_idx", Builtin::BlockIdx, (0, 0), Where::Kernels),
    entry("get_block_num", Builtin::BlockNum, (0, 0), Where::Kernels),
    entry("PTO_LOAD_SCALAR", Builtin::LoadScalar, (2, 2), Where::Kernels),
    entry("PTO_VALID_ROWS", Builtin::ValidRows, (1, 1), Where::Kernels),
    entry("PTO_VALID_COLS", Builtin::ValidCols, (1, 1), Where::Kernels),
    entry("PTO_EMIT_DESCRIPTOR", Builtin::Emit, (1, 1), Where::Generators),
    entry("PTO_APPLY_SCHEDULE", Builtin::ApplySchedule, (1, 1), Where::Generators),
    entry("PTO_SET_TILE", Builtin::SetTile, (2, 2), Where::Generators),
    entry("PTO_SET_EXTENT", Builtin::SetExtent, (2, 3), Where::Generators),
    entry("PTO_LAUNCH", Builtin::Launch, (2, 2), Where::Functions),
    entry("PTO_ROWS", Builtin::Marker, (1, 1), Where::Anywhere),
    entry("PTO_TRANSPOSE", Builtin::Marker, (1, 1), Where::Anywhere),
];

/// The predefined function with this name.
pub(crate) fn find(name: &str) -> Option<&'static BuiltinFn> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// The page-table array with this name.
pub(crate) fn meta_kind(name: &str) -> Option<MetaKind> {
    META_KINDS.iter().find(|(n, _)| *n == name).map(|(_, kind)| *kind)
}

/// The page-table arrays of a cache.
pub(crate) const META_KINDS: &[(&str, MetaKind)] = &[
    ("lengths", MetaKind::Lengths),
    ("indptr", MetaKind::Indptr),
    ("indices", MetaKind::Indices),
    ("last_page_len", MetaKind::LastPageLen),
];

/// The function that programs without one of their own get.
pub(crate) const SEARCH_NAME: &str = "BinarySearchChunkSize";

/// Its definition: the smallest chunk, not below 256, for which all chunks fit the cores at once; the longest request
/// uncut if none does.
pub(crate) const SEARCH_SOURCE: &str = "\
uint32_t BinarySearchChunkSize(
    const uint32_t* kv_lens, uint32_t batch_size,
    uint32_t num_heads, uint32_t max_blocks
) {
    uint32_t low = 256;
    uint32_t high = *std::max_element(kv_lens, kv_lens + batch_size);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        uint64_t total_blocks = 0;
        for (uint32_t b = 0; b < batch_size; ++b) {
            total_blocks += (uint64_t)PTO_CEIL_DIV(kv_lens[b], mid) * num_heads;
        }
        if (total_blocks > max_blocks) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}
";
