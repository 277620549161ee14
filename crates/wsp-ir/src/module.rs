//! A module: everything one source file says.

use crate::{Elem, Expr, Function, KernelEntry, ScalarTy, Schedule};
use wsp_core::{AxisId, CacheId, ExecPool, FuncId, GraphId, ParamId, SpaceId, TensorId, TierSetId};
use wsp_diag::Span;

/// A program before lowering.
///
/// Ids index the tables of the same module.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// Launch-time scalars, in an order in which each depends on earlier ones only.
    pub params: Vec<Param>,
    /// Tensors that kernels load and store.
    pub tensors: Vec<Tensor>,
    /// Paged KV caches.
    pub caches: Vec<Cache>,
    /// Axes of all spaces.
    pub axes: Vec<Axis>,
    /// Iteration spaces.
    pub spaces: Vec<Space>,
    /// Kernel tiers.
    pub tier_sets: Vec<TierSet>,
    /// Schedules.
    pub schedules: Vec<Schedule>,
    /// Descriptor types.
    pub structs: Vec<StructDef>,
    /// Kernels, generators, helpers.
    pub functions: Vec<Function>,
    /// Kernels for one execution unit; no function is there twice. Others run on any.
    pub units: Vec<KernelUnit>,
    /// Kernels of task graphs. Of a module that has some, all kernels are.
    pub kernel_entries: Vec<KernelEntry>,
    /// Graphs of stages.
    pub graphs: Vec<Graph>,
    /// The host entry; a library of kernels has none.
    pub entry: Option<Entry>,
    /// What a launch must fulfil, `PTO_REQUIRE`.
    pub requirements: Vec<Requirement>,
    /// How to check results, `PTO_REFERENCE`.
    pub references: Vec<Reference>,
}

/// The unit that a kernel is for: `PTO_KERNEL_IMPL(name) on cube`.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelUnit {
    /// The kernel.
    pub function: FuncId,
    /// The unit.
    pub unit: ExecPool,
    /// Where it stands.
    pub span: Span,
}

/// A launch-time scalar.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ScalarTy,
    /// Where its value comes from.
    pub source: ParamSource,
    /// Where it is declared.
    pub span: Span,
}

/// Where a parameter's value comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamSource {
    /// `PTO_PARAM(type, name, default)`: the user, else this value.
    Set {
        /// When the user says nothing; an expression over earlier parameters.
        default: Expr,
    },
    /// An extent that `PTO_SHAPE` names; arrays that disagree are an error.
    Shape {
        /// The first tensor or cache that names it.
        of: ShapeOwner,
        /// Its dimension there.
        dim: u32,
    },
    /// `const T name = expr;` over earlier parameters.
    Derived(Expr),
    /// A scalar parameter of the host entry.
    Entry,
}

/// What a shape belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShapeOwner {
    /// A tensor.
    Tensor(TensorId),
    /// A paged cache, with dimensions `[batch, position, head, lane]`.
    Cache(CacheId),
}

/// One dimension of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Dim {
    /// Known at launch: an expression over parameters.
    Expr(Expr),
    /// Differs per index of the first dimension: the length of a request.
    Dynamic,
    /// The number of iterations of an axis, known once the generator's extents are; ragged when the axis is.
    Axis(AxisId),
}

/// Where a tensor's elements are.
#[derive(Clone, PartialEq, Debug)]
pub enum Storage {
    /// An array of the launch: an input, or an output when some kernel stores to it.
    Launch,
    /// Keys of a cache.
    CacheKeys(CacheId),
    /// Values of a cache.
    CacheValues(CacheId),
    /// A field of every workspace slot, `PTO_WORKSPACE`: the first dimension is the slot, and its index in kernels is the
    /// byte offset that `PTO_ALLOC_WS` returned.
    Workspace,
    /// Lives for one launch, `PTO_TENSOR`.
    Temporary,
}

/// A tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Element type: [`Elem::Of`] itself means that of the bound array.
    pub elem: Elem,
    /// Its dimensions; for [`Storage::Workspace`] those of one slot, without the slot dimension.
    pub dims: Vec<Dim>,
    /// Where its elements are.
    pub storage: Storage,
    /// Where it is declared.
    pub span: Span,
}

impl Tensor {
    /// Number of indices that reach one element.
    pub fn rank(&self) -> usize {
        self.dims.len() + usize::from(self.storage == Storage::Workspace)
    }
}

/// A paged KV cache: two tensors `[batch, position, head, lane]` behind one page table.
#[derive(Clone, PartialEq, Debug)]
pub struct Cache {
    /// The launch name.
    pub name: String,
    /// The tensor of keys.
    pub keys: TensorId,
    /// The tensor of values.
    pub values: TensorId,
    /// Where it is declared.
    pub span: Span,
}

/// The end of an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum AxisEnd {
    /// Known at launch.
    Expr(Expr),
    /// `PTO_DYNAMIC`.
    Dynamic,
}

/// How many elements a tile has.
#[derive(Clone, PartialEq, Debug)]
pub enum TileSize {
    /// An expression over parameters.
    Fixed(Expr),
    /// `PTO_AUTO`.
    Auto,
}

/// `PTO_TILE`.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisTile {
    /// Elements per tile.
    pub size: TileSize,
    /// `PTO_PAD_LAST`.
    pub pad_last: bool,
    /// Where it stands.
    pub span: Span,
}

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// First index, over parameters.
    pub start: Expr,
    /// Its end.
    pub end: AxisEnd,
    /// Its tiling.
    pub tile: Option<AxisTile>,
    /// Where it is declared.
    pub span: Span,
}

/// `PTO_SPACE`.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    /// Its name.
    pub name: String,
    /// Its axes, outermost first.
    pub axes: Vec<AxisId>,
    /// `PTO_WHERE`: items for which one is false do not exist. [`crate::ExprKind::Local`] `n` is the index of axis `n`
    /// of this space.
    pub constraints: Vec<Expr>,
    /// The generator, if the source has one.
    pub generator: Option<FuncId>,
    /// Where its name stands.
    pub span: Span,
}

/// One tier.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    /// A `bool` over [`crate::ExprKind::Selector`] and parameters; none for `PTO_DEFAULT`.
    pub cond: Option<Expr>,
    /// What runs.
    pub kernel: FuncId,
    /// Bytes per workspace slot, over parameters.
    pub workspace: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// `PTO_TIER_DEF`; `PTO_DEFAULT` is the last tier.
#[derive(Clone, PartialEq, Debug)]
pub struct TierSet {
    /// Its name.
    pub name: String,
    /// The free name of its conditions.
    pub selector: Option<String>,
    /// First match counts.
    pub tiers: Vec<Tier>,
    /// Where its name stands.
    pub span: Span,
}

/// A descriptor field: `count` words of 32 bits.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Its name; element `i` of an array field is `name[i]`, one [`Field`] each.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// Who takes a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Consumer {
    /// Nobody: such a descriptor cannot be emitted.
    None,
    /// The tier that the `tier` field picks.
    Tiers {
        /// The tier set.
        set: TierSetId,
        /// Index of the `tier` field.
        field: u32,
    },
    /// One kernel.
    Kernel(FuncId),
}

/// A descriptor type: 32-bit fields in declared order.
#[derive(Clone, PartialEq, Debug)]
pub struct StructDef {
    /// Its name.
    pub name: String,
    /// Its words.
    pub fields: Vec<Field>,
    /// Who takes it.
    pub consumer: Consumer,
    /// Where its name stands.
    pub span: Span,
}

/// A stage of a graph.
#[derive(Clone, PartialEq, Debug)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// What it generates.
    pub space: SpaceId,
    /// Where it stands.
    pub span: Span,
}

/// One side of `PTO_DEPENDENCY`: `stage.tensor`.
#[derive(Clone, PartialEq, Debug)]
pub struct DependencyRef {
    /// Index of the stage.
    pub stage: u32,
    /// The tensor (of a cache: its keys).
    pub tensor: TensorId,
}

/// `PTO_GRAPH`: stages in order, chained by what they read and write.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// Its name.
    pub name: String,
    /// In order of declaration, which is elaboration order.
    pub stages: Vec<Stage>,
    /// `(reader, writer)` pairs. Edges are inferred from accesses; these are checked against them.
    pub dependencies: Vec<(DependencyRef, DependencyRef)>,
    /// Where its name stands.
    pub span: Span,
}

/// The type of a parameter of the host entry.
#[derive(Clone, PartialEq, Debug)]
pub enum EntryTy {
    /// `Tensor` or `Tensor<T>`.
    Tensor(Option<wsp_core::DType>),
    /// `PagedKVCache`.
    PagedKvCache,
    /// `uint32_t*` and its like.
    Array(ScalarTy),
    /// A scalar.
    Scalar(ScalarTy),
}

/// A parameter of the host entry; its name names the array.
#[derive(Clone, PartialEq, Debug)]
pub struct EntryParam {
    /// The user's name for it.
    pub name: String,
    /// Its type.
    pub ty: EntryTy,
    /// Where it stands.
    pub span: Span,
}

/// What a launch argument becomes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BindingSource {
    /// A tensor of the module, with [`Storage::Launch`].
    Tensor(TensorId),
    /// A paged cache.
    Cache(CacheId),
    /// A scalar.
    Param(ParamId),
}

/// One argument of `PTO_LAUNCH`.
#[derive(Clone, PartialEq, Debug)]
pub struct Binding {
    /// Index of the entry parameter.
    pub param: u32,
    /// What it becomes inside.
    pub source: BindingSource,
}

/// What `PTO_LAUNCH` launches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaunchTarget {
    /// A space through its generator.
    Space(SpaceId),
    /// A graph.
    Graph(GraphId),
    /// Nothing: tasks of the kernels come from elsewhere.
    Kernels,
}

/// `PTO_LAUNCH`.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// What runs.
    pub target: LaunchTarget,
    /// Its arguments.
    pub bindings: Vec<Binding>,
    /// Where it stands.
    pub span: Span,
}

/// The host entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<EntryParam>,
    /// What it launches.
    pub launch: Launch,
    /// Where its name stands.
    pub span: Span,
}

/// `PTO_REQUIRE(cond)`: a launch for which the condition is false is refused.
#[derive(Clone, PartialEq, Debug)]
pub struct Requirement {
    /// A `bool` over parameters.
    pub cond: Expr,
    /// Where it stands.
    pub span: Span,
}

/// `PTO_REFERENCE(name, {.role = entry_param, …})`: an independent way to compute the outputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// Which reference, for instance `paged_decode_attention`.
    pub name: String,
    /// What plays which role: role, and the name of an entry parameter or of a [`Param`].
    pub roles: Vec<(String, String)>,
    /// Where it stands.
    pub span: Span,
}

impl Module {
    /// The tensor with this name.
    pub fn tensor_named(&self, name: &str) -> Option<TensorId> {
        self.tensors.iter().position(|t| t.name == name).map(|i| TensorId(i as u32))
    }

    /// The parameter with this name.
    pub fn param_named(&self, name: &str) -> Option<ParamId> {
        self.params.iter().position(|p| p.name == name).map(|i| ParamId(i as u32))
    }

    /// Names by which users set a parameter: its own, and that of the host entry's parameter that is bound to it.
    pub fn user_names(&self, id: ParamId) -> impl Iterator<Item = &str> {
        let bound = self.entry.iter().flat_map(move |entry| {
            let bindings = entry.launch.bindings.iter().filter(move |b| b.source == BindingSource::Param(id));
            bindings.filter_map(|b| entry.params.get(b.param as usize)).map(|param| param.name.as_str())
        });
        self.params.get(id.index()).map(|param| param.name.as_str()).into_iter().chain(bound)
    }

    /// The units that may run a kernel.
    pub fn unit(&self, kernel: FuncId) -> ExecPool {
        self.units.iter().find(|of| of.function == kernel).map_or(ExecPool::Any, |of| of.unit)
    }

    /// The function with this name.
    pub fn function_named(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().position(|f| f.name == name).map(|i| FuncId(i as u32))
    }

    /// The entry whose function this is.
    pub fn kernel_entry(&self, function: FuncId) -> Option<&KernelEntry> {
        self.kernel_entries.iter().find(|entry| entry.function == function)
    }

    /// The name of an entry: that of its function.
    ///
    /// # Panics
    /// When the entry is not of this module, or the module is not verified.
    pub fn entry_name(&self, entry: &KernelEntry) -> &str {
        &self.functions[entry.function.index()].name
    }
}
