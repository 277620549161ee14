//! Parameters, tensors, caches, axes, spaces, tiers and descriptor types: WSP0301 to WSP0308.

use super::expr::ExprPlace;
use super::{Checker, rule};
use crate::{
    AxisEnd, Consumer, Dim, Elem, Expr, FuncKind, LaunchPolicy, LaunchStatement, ParamSource, ScalarTy,
    Schedule, ShapeOwner, Space, Storage, StructDef, Tensor, TierSet, TileSize,
};
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::PoolSizes;
use wsp_core::words::counted;
use wsp_core::{FuncId, MAX_RANK, SpaceId, StructId, TensorId};
use wsp_diag::Span;

/// Dimensions of a paged cache: request, position, head, lane.
const CACHE_RANK: usize = 4;

/// Checks every table but the functions.
pub(super) fn check(cx: &mut Checker<'_>) {
    let module = cx.module;
    params(cx);
    for (i, tensor) in module.tensors.iter().enumerate() {
        check_tensor(cx, TensorId(i as u32), tensor);
    }
    caches(cx);
    axes(cx);
    let mut seen = vec![false; module.axes.len()];
    for (i, space) in module.spaces.iter().enumerate() {
        check_space(cx, SpaceId(i as u32), space, &mut seen);
    }
    for size in module.schedules.iter().flat_map(Schedule::sizes) {
        cx.launch_int(size, "the size of a split");
    }
    for statement in module.schedules.iter().flat_map(|s| &s.launch) {
        check_launch(cx, statement);
    }
    for (i, of) in module.units.iter().enumerate() {
        cx.kernel(of.function, of.span, rule::UNIT);
        let again = module.units[..i].iter().any(|other| other.function == of.function);
        let is_entry = module.kernel_entry(of.function).is_some();
        cx.require(!again && !is_entry, rule::UNIT, of.span, || {
            "a unit is given again, or to an entry of task graphs".to_owned()
        });
    }
    for set in &module.tier_sets {
        check_tiers(cx, set);
    }
    for (i, def) in module.structs.iter().enumerate() {
        check_consumer(cx, StructId(i as u32), def);
    }
}

/// Counts of a statement about the launch are counts.
fn check_launch(cx: &mut Checker<'_>, statement: &LaunchStatement) {
    let (counts, most) = match statement.policy {
        LaunchPolicy::Gate(gate) => (vec![gate.capacity], u32::MAX),
        LaunchPolicy::Pools(PoolSizes::ByUnit { vector, cube }) => (vec![vector, cube], MAX_THREADS),
        LaunchPolicy::Pools(PoolSizes::Shared) => return,
        LaunchPolicy::Grid(grid) => (vec![grid.x, grid.y], MAX_THREADS),
    };
    let wrong = counts.iter().find(|count| !(1..=most).contains(*count));
    cx.require(wrong.is_none(), rule::LAUNCH_COUNT, statement.span, || {
        format!("a count is {} and has to be from 1 to {most}", wrong.unwrap_or(&0))
    });
    if let (None, LaunchPolicy::Pools(PoolSizes::ByUnit { vector, cube })) = (wrong, statement.policy) {
        let workers = vector + cube;
        cx.require(workers <= MAX_THREADS, rule::LAUNCH_COUNT, statement.span, || {
            format!(
                "pools of {vector} and {cube} have {workers} workers, and a run has at most {MAX_THREADS}"
            )
        });
    }
}

fn params(cx: &mut Checker<'_>) {
    let module = cx.module;
    for (i, param) in module.params.iter().enumerate() {
        match &param.source {
            ParamSource::Set { default: value } | ParamSource::Derived(value) => {
                cx.expr(value, ExprPlace::Launch { params: i });
                let (name, want, have) = (&param.name, param.ty.name(), value.ty.name());
                cx.require(want == have, rule::OPERAND, value.span, || {
                    format!("parameter `{name}` is `{want}` and its value `{have}`")
                });
            }
            ParamSource::Shape { of, dim } => {
                let rank = match of {
                    ShapeOwner::Tensor(id) => {
                        cx.lookup(&module.tensors, id.index(), "tensor", param.span).map(|t| t.dims.len())
                    }
                    ShapeOwner::Cache(id) => {
                        cx.lookup(&module.caches, id.index(), "cache", param.span).map(|_| CACHE_RANK)
                    }
                };
                let (dim, rank) = (*dim as usize, rank.unwrap_or(usize::MAX));
                cx.require(dim < rank, rule::UNKNOWN_ID, param.span, || {
                    format!("dimension {dim} does not exist; there are {rank}")
                });
                let (name, ty) = (&param.name, param.ty);
                cx.require(ty == ScalarTy::U32, rule::OPERAND, param.span, || {
                    format!("parameter `{name}` is an extent and must be `u32`, not `{}`", ty.name())
                });
            }
            ParamSource::Entry => {}
        }
    }
}

impl<'m> Checker<'m> {
    /// An integer that is known at launch.
    pub(super) fn launch_int(&mut self, value: &'m Expr, what: &str) {
        self.expr(value, ExprPlace::Launch { params: self.module.params.len() });
        self.require(value.ty.is_int(), rule::OPERAND, value.span, || {
            format!("{what} must be an integer, not `{}`", value.ty.name())
        });
    }

    /// The kernel with this id, or a report.
    fn kernel(&mut self, id: FuncId, span: Span, code: wsp_diag::Code) -> Option<Option<StructId>> {
        let function = self.lookup(&self.module.functions, id.index(), "function", span)?;
        if let FuncKind::Kernel { descriptor } = function.kind {
            return Some(descriptor);
        }
        self.report(code, span, format!("`{}` is not a kernel", function.name));
        None
    }
}

fn check_tensor<'m>(cx: &mut Checker<'m>, id: TensorId, tensor: &'m Tensor) {
    let module = cx.module;
    let (name, span) = (&tensor.name, tensor.span);
    if let Elem::Of(of) = tensor.elem
        && let Some(source) = cx.lookup(&module.tensors, of.index(), "tensor", span)
    {
        let bound =
            matches!(source.storage, Storage::Launch | Storage::CacheKeys(_) | Storage::CacheValues(_));
        let direct = matches!(source.elem, Elem::Fixed(_)) || source.elem == Elem::Of(of);
        cx.require(bound && direct, rule::TENSOR, span, || {
            format!("`{name}` takes its element type from `{}`, which has none of its own", source.name)
        });
    }
    let rank = tensor.rank();
    cx.require(rank <= MAX_RANK, rule::TENSOR, span, || {
        format!("`{name}` has {rank}; at most {MAX_RANK} are", rank = counted(rank, "index"))
    });
    let paged = match tensor.storage {
        Storage::CacheKeys(cache) => {
            let owner = cx.lookup(&module.caches, cache.index(), "cache", span);
            Some(owner.is_none_or(|c| c.keys == id))
        }
        Storage::CacheValues(cache) => {
            let owner = cx.lookup(&module.caches, cache.index(), "cache", span);
            Some(owner.is_none_or(|c| c.values == id))
        }
        Storage::Launch | Storage::Workspace | Storage::Temporary => None,
    };
    cx.require(paged != Some(false), rule::TENSOR, span, || {
        format!("the cache of `{name}` names another tensor")
    });
    let paged = paged.is_some();
    cx.require(!paged || tensor.dims.len() == CACHE_RANK, rule::TENSOR, span, || {
        format!(
            "`{name}` is of a cache and has {}; a cache has {CACHE_RANK}",
            counted(tensor.dims.len(), "dimension")
        )
    });
    for (d, dim) in tensor.dims.iter().enumerate() {
        match dim {
            Dim::Expr(value) => {
                cx.launch_int(value, "a dimension");
                cx.require(!paged || d != 1, rule::TENSOR, span, || {
                    format!("dimension 1 of `{name}` must be dynamic")
                });
            }
            Dim::Dynamic => cx.require(paged && d == 1, rule::TENSOR, span, || {
                format!("dimension {d} of `{name}` is dynamic; only dimension 1 of a cache may be")
            }),
            Dim::Axis(axis) => {
                cx.lookup(&module.axes, axis.index(), "axis", span);
                cx.require(tensor.storage == Storage::Temporary, rule::TENSOR, span, || {
                    format!("dimension {d} of `{name}` is an axis; only a temporary may have one")
                });
            }
        }
    }
}

fn caches(cx: &mut Checker<'_>) {
    let module = cx.module;
    for (i, cache) in module.caches.iter().enumerate() {
        let keys = cx.lookup(&module.tensors, cache.keys.index(), "tensor", cache.span);
        let values = cx.lookup(&module.tensors, cache.values.index(), "tensor", cache.span);
        let keys = keys.is_none_or(|t| matches!(t.storage, Storage::CacheKeys(id) if id.index() == i));
        let values = values.is_none_or(|t| matches!(t.storage, Storage::CacheValues(id) if id.index() == i));
        let name = &cache.name;
        cx.require(keys && values, rule::TENSOR, cache.span, || {
            format!("a tensor of cache `{name}` is not its own")
        });
    }
}

fn axes(cx: &mut Checker<'_>) {
    for axis in &cx.module.axes {
        cx.launch_int(&axis.start, "the start of an axis");
        if let AxisEnd::Expr(end) = &axis.end {
            cx.launch_int(end, "the end of an axis");
        }
        if let Some(TileSize::Fixed(size)) = axis.tile.as_ref().map(|t| &t.size) {
            cx.launch_int(size, "a tile size");
        }
    }
}

fn check_space<'m>(cx: &mut Checker<'m>, id: SpaceId, space: &'m Space, seen: &mut [bool]) {
    let module = cx.module;
    for axis in &space.axes {
        if let Some(found) = cx.lookup(&module.axes, axis.index(), "axis", space.span) {
            let again = std::mem::replace(&mut seen[axis.index()], true);
            let name = &found.name;
            cx.require(!again, rule::SPACE, found.span, || {
                format!("axis `{name}` belongs to two spaces, or twice to one")
            });
        }
    }
    for constraint in &space.constraints {
        cx.condition(constraint, ExprPlace::Constraint { axes: space.axes.len() });
    }
    if let Some(generator) = space.generator
        && let Some(function) = cx.lookup(&module.functions, generator.index(), "function", space.span)
    {
        let mutual = function.kind == FuncKind::Generator { space: id };
        let name = &space.name;
        cx.require(mutual, rule::SPACE, space.span, || {
            format!("`{}` is named as generator of `{name}` and is not", function.name)
        });
    }
}

fn check_tiers<'m>(cx: &mut Checker<'m>, set: &'m TierSet) {
    let last = set.tiers.len().wrapping_sub(1);
    let name = &set.name;
    cx.require(!set.tiers.is_empty(), rule::TIERS, set.span, || format!("`{name}` has no tiers"));
    for (i, tier) in set.tiers.iter().enumerate() {
        cx.require(tier.cond.is_none() == (i == last), rule::TIERS, tier.span, || {
            format!("the default tier of `{name}` must be its last and only one")
        });
        if let Some(cond) = &tier.cond {
            cx.condition(cond, ExprPlace::TierCondition);
        }
        if let Some(bytes) = &tier.workspace {
            cx.launch_int(bytes, "a workspace size");
        }
        cx.kernel(tier.kernel, tier.span, rule::TIERS);
    }
}

fn check_consumer<'m>(cx: &mut Checker<'m>, id: StructId, def: &'m StructDef) {
    let module = cx.module;
    match def.consumer {
        Consumer::None => {}
        Consumer::Kernel(kernel) => takes(cx, id, def, kernel),
        Consumer::Tiers { set, field } => {
            cx.require((field as usize) < def.fields.len(), rule::CONSUMER, def.span, || {
                format!("`{}` has no field {field} to pick a tier", def.name)
            });
            if let Some(set) = cx.lookup(&module.tier_sets, set.index(), "tier set", def.span) {
                set.tiers.iter().for_each(|tier| takes(cx, id, def, tier.kernel));
            }
        }
    }
}

/// A kernel takes the descriptor, or none at all.
fn takes<'m>(cx: &mut Checker<'m>, id: StructId, def: &'m StructDef, kernel: FuncId) {
    if let Some(Some(other)) = cx.kernel(kernel, def.span, rule::CONSUMER) {
        let name = &cx.module.functions[kernel.index()].name;
        cx.require(other == id, rule::CONSUMER, def.span, || {
            format!("`{name}` is run for `{}` and takes another descriptor", def.name)
        });
    }
}
