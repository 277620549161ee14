//! The tables of a module: everything but the code of functions.

use super::node::{
    Args, Choice, Form, Names, Parsed, Text, choice, parse_choice, plain_choice, print_choice, record,
};
use super::tree::Tree;
use crate::{
    AffinityPolicy, Axis, AxisEnd, AxisPolicy, AxisStatement, AxisTile, Binding, BindingSource, Cache,
    Consumer, DependencyRef, Dim, Elem, Entry, EntryParam, EntryTy, Field, FuncKind, Function, Graph,
    KernelEntry, KernelParam, KernelUnit, Launch, LaunchStatement, LaunchTarget, Layout, LayoutStatement,
    Local, LocalTy, Module, OrderPolicy, Param, ParamSource, Reference, Requirement, ScalarTy, Schedule,
    ShapeOwner, Space, SplitPolicy, Stage, Storage, StructDef, Tensor, Tier, TierSet, TileRole, TileSize,
    TileTy,
};
use wsp_core::policy::{Gate, GateScope, Grid, LaunchPolicy, LayoutDim, MeshAxis, PoolSizes};
use wsp_core::{DType, ExecPool};

record! {
    "module" => Module {
        params, tensors, caches, axes, spaces, tier_sets, schedules, structs, functions, units, kernel_entries, graphs, entry,
        requirements, references
    };
    "param" => Param { name, ty, source; span };
    "tensor" => Tensor { name, elem, dims, storage; span };
    "cache" => Cache { name, keys, values; span };
    "tile" => AxisTile { size, pad_last; span };
    "axis" => Axis { name, start, end, tile; span };
    "space" => Space { name, axes, constraints, generator; span };
    "tier" => Tier { cond, kernel, workspace; span };
    "tier_set" => TierSet { name, selector, tiers; span };
    "about" => AxisStatement { axis, policy; span };
    "all" => LaunchStatement { policy; span };
    "gate" => Gate { scope, capacity };
    "tiles" => Grid { x, y };
    "held" => Layout { tensor, dims, pending; span };
    "layout" => LayoutStatement { layout, where_read; span };
    "schedule" => Schedule { name, axes, launch, layouts; span };
    "field" => Field { name; span };
    "struct" => StructDef { name, fields, consumer; span };
    "function" => Function { name, kind, params, locals, ret, body; span } within;
    "unit" => KernelUnit { function, unit; span };
    "kernel_entry" => KernelEntry { function, params, residents; span };
    "local" => Local { name, ty; span };
    "matrix" => TileTy { role, elem, rows, cols };
    "stage" => Stage { name, space; span };
    "of" => DependencyRef { stage, tensor };
    "graph" => Graph { name, stages, dependencies; span };
    "entry_param" => EntryParam { name, ty; span };
    "binding" => Binding { param, source };
    "launch" => Launch { target, bindings; span };
    "entry" => Entry { name, params, launch; span };
    "requirement" => Requirement { cond; span };
    "reference" => Reference { name, roles; span };
}

choice! {
    ScalarTy {
        "bool" => Bool, "i32" => I32, "u32" => U32, "i64" => I64, "u64" => U64, "f32" => F32, "f64" => F64,
    }
    DType {
        "f32" => F32, "f64" => F64, "f16" => F16, "bf16" => Bf16, "u8" => U8, "u16" => U16, "i32" => I32,
        "u32" => U32, "i64" => I64, "u64" => U64, "f8e4m3" => F8E4m3, "f8e5m2" => F8E5m2, "i8" => I8,
        "i16" => I16, "bool" => Bool,
    }
    Elem { "fixed" => Fixed(dtype), "of" => Of(tensor) }
    TileRole { "vec" => Vec, "left" => Left, "right" => Right, "acc" => Acc }
    ParamSource {
        "entry" => Entry, "set" => Set { default }, "shape" => Shape { of, dim }, "derived" => Derived(value),
    }
    ShapeOwner { "tensor" => Tensor(tensor), "cache" => Cache(cache) }
    Dim { "dynamic" => Dynamic, "extent" => Expr(value), "axis" => Axis(axis) }
    Storage {
        "launch" => Launch, "keys" => CacheKeys(cache), "values" => CacheValues(cache), "workspace" => Workspace,
        "temporary" => Temporary,
    }
    AxisEnd { "dynamic" => Dynamic, "at" => Expr(value) }
    TileSize { "auto" => Auto, "fixed" => Fixed(value) }
    AffinityPolicy { "core_group" => CoreGroup, "core_local" => CoreLocal, "spread" => Spread }
    OrderPolicy {
        "sequential" => Sequential, "sequential_strict" => SequentialStrict, "parallel" => Parallel,
        "interleaved" => Interleaved(n), "blocked" => Blocked(n), "longest_first" => LongestFirst,
    }
    SplitPolicy { "whole" => Whole, "pieces" => Fixed(size), "balanced" => Balanced(align) }
    AxisPolicy {
        "affinity" => Affinity(policy), "order" => Order(policy), "prefetch" => Prefetch(depth), "split" => Split(policy),
        "priority" => Priority,
    }
    GateScope { "global" => Global, "per_stream" => PerStream, "per_pool" => PerPool }
    PoolSizes { "shared" => Shared, "by_unit" => ByUnit { vector, cube } }
    LaunchPolicy { "gates" => Gate(gate), "pools" => Pools(pools), "grid" => Grid(grid) }
    MeshAxis { "x" => X, "y" => Y }
    LayoutDim { "replicate" => Replicate, "shard" => Shard(axis) }
    ExecPool { "vector" => Vector, "cube" => Cube, "any" => Any }
    Consumer { "nobody" => None, "tiers" => Tiers { set, field }, "kernel" => Kernel(function) }
    FuncKind { "helper" => Helper, "kernel" => Kernel { descriptor }, "generator" => Generator { space } }
    LocalTy { "scalar" => Scalar(ty), "array" => Array(ty), "tile" => Tile(ty), "descriptor" => Descriptor(def) }
    KernelParam { "argument" => Argument(tensor), "workspace" => Workspace(tensor) }
    EntryTy { "cache" => PagedKvCache, "tensor" => Tensor(dtype), "array" => Array(ty), "scalar" => Scalar(ty) }
    BindingSource { "tensor" => Tensor(tensor), "cache" => Cache(cache), "param" => Param(param) }
    LaunchTarget { "space" => Space(space), "graph" => Graph(graph), "kernels" => Kernels }
}

plain_choice! {
    ScalarTy DType Elem TileRole ParamSource ShapeOwner Dim Storage AxisEnd TileSize AffinityPolicy OrderPolicy
    SplitPolicy AxisPolicy GateScope PoolSizes LaunchPolicy MeshAxis LayoutDim ExecPool Consumer FuncKind LocalTy KernelParam EntryTy BindingSource LaunchTarget
}
