//! Building workloads in Rust.
//!
//! A [`ModuleBuilder`] makes what a `.wsp` file says. Declarations return handles of their own types, so that a tensor
//! cannot stand where a table is needed; handles of loops are given to the closures that write their bodies.
//! [`ModuleBuilder::finish`] applies the rules of [`verify`](super::verify), and finds handles of another module or
//! workload.
//!
//! ```
//! use wsp_core::DType;
//! use wsp_ir::workload::build::{ModuleBuilder, TaskGraphPolicy, affinity, sized};
//! use wsp_ir::workload::{Deps, ExecPool};
//!
//! let mut m = ModuleBuilder::new();
//! let seq = m.param("seq", 1024);
//! let tiles = m.derived("tiles", seq / 64);
//! let row = m.dense("row", tiles);
//! let x = m.tensor("x", DType::F32, [seq.into(), 128.into()]);
//! let y = m.tensor("y", DType::F32, [seq.into(), 128.into()]);
//! let norm = m.kernel("rmsnorm").input("x").output("y").on(ExecPool::Vector).cost(120).finish();
//! let add = m.kernel("add").input("x").inout("y").finish();
//!
//! m.workload("main", |w| {
//!     w.parallel_for("i", row, |w, i| {
//!         w.task(norm).arg(x.at((sized(i * 64, 64), ..))).arg(y.at(sized(i * 64, 64)));
//!     });
//!     w.for_each("i", ..tiles, |w, i| {
//!         w.task(add).arg(x).arg(y.at(i * 64..i * 64 + 64));
//!     });
//! });
//! m.schedule(|s| {
//!     let graph = TaskGraphPolicy { deps: Some(Deps::Overlap), ..TaskGraphPolicy::default() };
//!     s.dispatch(affinity(row.index())).streams(4).task_graph(graph);
//! });
//!
//! let module = m.finish().expect("the module keeps the rules");
//! assert!(wsp_ir::workload::text::print(&module).contains("parallel for i in row {"));
//! ```

mod block;
mod expr;
mod handle;
mod kernel;
mod origin;
mod pipeline;
mod place;
mod schedule;

pub use block::{Blocks, Call, Task, WorkloadBuilder};
pub use expr::{Expr, Int};
pub use handle::{
    DenseAxis, Index, Kernel, Label, Param, RaggedAxis, Slot, SparseAxis, Table, Tensor, Workload,
};
pub use kernel::KernelBuilder;
pub use pipeline::{Arms, Channel, Processes};
pub use place::{Argument, Bound, Bounds, Over, Row, TensorRegion, between, range, range_step, sized};
pub use schedule::{
    Policy, ScheduleBuilder, TaskGraphPolicy, Tier, affinity, hash, round_robin, static_partition, work_steal,
};

use self::origin::{Origin, Owner};
use super::verify::{VerifiedWorkload, into_verified, rule};
use super::{AxisKind, IntExpr, ParamSource, WorkloadModule};
use wsp_core::{AxisId, DType, ParamId, SlotId, TableId, TensorId, WorkloadId};
use wsp_diag::{Diagnostic, Diagnostics, Span};

/// Builds a module.
#[derive(Debug)]
pub struct ModuleBuilder {
    module: WorkloadModule,
    owner: Owner,
    faults: Vec<Diagnostic>,
}

impl Default for ModuleBuilder {
    fn default() -> ModuleBuilder {
        ModuleBuilder::new()
    }
}

impl ModuleBuilder {
    /// An empty module.
    #[must_use]
    pub fn new() -> ModuleBuilder {
        ModuleBuilder { module: WorkloadModule::default(), owner: Owner::fresh(), faults: Vec::new() }
    }

    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Diagnostic::error(rule::FOREIGN_HANDLE, message));
    }

    /// Reports handles of another module, or of another workload than `scope`.
    fn check(&mut self, origin: Origin, scope: Option<Owner>, place: &str) {
        if origin.module.is_some_and(|module| module != self.owner) || origin.mixed {
            self.fault(format!("{place} uses a handle of another module, or mixes those of two workloads"));
        } else if origin.scope.is_some() && origin.scope != scope {
            self.fault(format!("{place} uses a variable or label of another workload"));
        }
    }

    fn accept(&mut self, expr: Expr, scope: Option<Owner>, place: &str) -> IntExpr {
        self.check(expr.origin, scope, place);
        expr.tree
    }

    /// `use "path";`: a file of kernels, relative to where the module runs.
    pub fn use_file(&mut self, path: &str) {
        self.module.uses.push(super::Use { path: path.to_owned(), span: Span::default() });
    }

    fn add_param(&mut self, name: &str, source: ParamSource) -> Param {
        let id = ParamId(self.module.params.len() as u32);
        self.module.params.push(super::Param { name: name.to_owned(), source, span: Span::default() });
        Param { id, owner: self.owner }
    }

    /// `param name = value;`.
    pub fn param(&mut self, name: &str, value: impl Into<Expr>) -> Param {
        let value = self.accept(value.into(), None, &format!("parameter `{name}`"));
        self.add_param(name, ParamSource::Set(Some(value)))
    }

    /// `param name;`: a value that must be set.
    pub fn required(&mut self, name: &str) -> Param {
        self.add_param(name, ParamSource::Set(None))
    }

    /// `let name = value;`.
    pub fn derived(&mut self, name: &str, value: impl Into<Expr>) -> Param {
        let value = self.accept(value.into(), None, &format!("value `{name}`"));
        self.add_param(name, ParamSource::Derived(value))
    }

    fn add_table(&mut self, name: &str, len: Option<IntExpr>, values: Option<Vec<i64>>) -> Table {
        let id = TableId(self.module.tables.len() as u32);
        let (name, span) = (name.to_owned(), Span::default());
        self.module.tables.push(super::Table { name, len, values, span });
        Table { id, owner: self.owner }
    }

    /// `table name[len];`: an array of this many elements that is bound at launch.
    pub fn table(&mut self, name: &str, len: impl Into<Expr>) -> Table {
        let len = self.accept(len.into(), None, &format!("table `{name}`"));
        self.add_table(name, Some(len), None)
    }

    /// `table name;`: an array of any length that is bound at launch.
    pub fn open_table(&mut self, name: &str) -> Table {
        self.add_table(name, None, None)
    }

    /// `table name = [...];`: elements that hold unless an array is bound at launch.
    pub fn table_of(&mut self, name: &str, values: impl IntoIterator<Item = i64>) -> Table {
        self.add_table(name, None, Some(values.into_iter().collect()))
    }

    fn add_axis(&mut self, name: &str, kind: AxisKind) -> AxisId {
        let id = AxisId(self.module.axes.len() as u32);
        self.module.axes.push(super::Axis { name: name.to_owned(), kind, span: Span::default() });
        id
    }

    /// `axis name = dense(end);`.
    pub fn dense(&mut self, name: &str, end: impl Into<Expr>) -> DenseAxis {
        self.dense_range(name, 0, end)
    }

    /// `axis name = dense(start, end);`.
    pub fn dense_range(&mut self, name: &str, start: impl Into<Expr>, end: impl Into<Expr>) -> DenseAxis {
        let place = format!("axis `{name}`");
        let start = self.accept(start.into(), None, &place);
        let end = self.accept(end.into(), None, &place);
        DenseAxis { id: self.add_axis(name, AxisKind::Dense { start, end }), owner: self.owner }
    }

    /// `axis name = dense_dyn(param);`: its extent is bound anew at each launch.
    pub fn dense_dyn(&mut self, name: &str, extent: Param) -> DenseAxis {
        self.check(Origin::of_module(extent.owner), None, &format!("axis `{name}`"));
        DenseAxis { id: self.add_axis(name, AxisKind::DenseDyn(extent.id)), owner: self.owner }
    }

    /// `axis name = ragged(outer, lengths);`.
    pub fn ragged(&mut self, name: &str, outer: DenseAxis, lengths: Table) -> RaggedAxis {
        let origin = Origin::of_module(outer.owner).and(Origin::of_module(lengths.owner));
        self.check(origin, None, &format!("axis `{name}`"));
        let kind = AxisKind::Ragged { outer: outer.id, lengths: lengths.id };
        RaggedAxis { id: self.add_axis(name, kind), owner: self.owner }
    }

    /// `axis name = sparse(outer, indptr, indices);`.
    pub fn sparse(&mut self, name: &str, outer: DenseAxis, indptr: Table, indices: Table) -> SparseAxis {
        let tables = Origin::of_module(indptr.owner).and(Origin::of_module(indices.owner));
        self.check(tables.and(Origin::of_module(outer.owner)), None, &format!("axis `{name}`"));
        let kind = AxisKind::Sparse { outer: outer.id, indptr: indptr.id, indices: indices.id };
        SparseAxis { id: self.add_axis(name, kind), owner: self.owner }
    }

    /// `tensor name: dtype[dims];`, outermost dimension first.
    pub fn tensor(&mut self, name: &str, dtype: DType, dims: impl IntoIterator<Item = Expr>) -> Tensor {
        let place = format!("tensor `{name}`");
        let dims = dims.into_iter().map(|extent| self.accept(extent, None, &place)).collect();
        self.add_tensor(name, dtype, dims)
    }

    fn add_tensor(&mut self, name: &str, dtype: DType, dims: Vec<IntExpr>) -> Tensor {
        let id = TensorId(self.module.tensors.len() as u32);
        self.module.tensors.push(super::Tensor { name: name.to_owned(), dtype, dims, span: Span::default() });
        Tensor { id, owner: self.owner }
    }

    /// `slot name = init;`.
    pub fn slot(&mut self, name: &str, init: impl Into<Expr>) -> Slot {
        let init = self.accept(init.into(), None, &format!("slot `{name}`"));
        let tensor = self.add_tensor(name, DType::I64, vec![1.into()]);
        let id = SlotId(self.module.slots.len() as u32);
        self.module.slots.push(super::Slot { tensor: tensor.id, init, span: Span::default() });
        Slot { id, tensor }
    }

    /// `kernel name(…);`.
    pub fn kernel(&mut self, name: &str) -> KernelBuilder<'_> {
        KernelBuilder::new(self, name, Some(Vec::new()))
    }

    /// `kernel name;`: a kernel of a used file.
    pub fn library_kernel(&mut self, name: &str) -> KernelBuilder<'_> {
        KernelBuilder::new(self, name, None)
    }

    /// `workload name { … }`. The one named `main` runs, else the last.
    pub fn workload(&mut self, name: &str, body: impl FnOnce(&mut WorkloadBuilder<'_>)) -> Workload {
        self.workload_of(name, [], |w, []| body(w))
    }

    /// `workload name(i, j) { … }`: `m.workload_of("tile", ["i", "j"], |w, [i, j]| …)`.
    pub fn workload_of<const N: usize>(
        &mut self,
        name: &str,
        formals: [&str; N],
        body: impl FnOnce(&mut WorkloadBuilder<'_>, [Index; N]),
    ) -> Workload {
        let mut workload = super::Workload {
            name: name.to_owned(),
            params: N as u32,
            vars: Vec::new(),
            labels: Vec::new(),
            channels: Vec::new(),
            body: Vec::new(),
            span: Span::default(),
        };
        let mut builder = WorkloadBuilder::new(self, &mut workload, Owner::fresh());
        let formals = formals.map(|formal| builder.var(formal));
        body(&mut builder, formals);
        workload.body = builder.into_block();
        let id = WorkloadId(self.module.workloads.len() as u32);
        self.module.workloads.push(workload);
        Workload { id, owner: self.owner }
    }

    /// `schedule { … }`: the schedule that is applied.
    pub fn schedule(&mut self, body: impl FnOnce(&mut ScheduleBuilder<'_>)) {
        self.schedule_named("", body);
    }

    /// `schedule name { … }`: one that is chosen by its name.
    pub fn schedule_named(&mut self, name: &str, body: impl FnOnce(&mut ScheduleBuilder<'_>)) {
        let mut builder = ScheduleBuilder::new(self, name);
        body(&mut builder);
        builder.finish();
    }

    /// The module.
    ///
    /// # Errors
    /// Handles of another module or workload (WSP0788), else what [`verify`](super::verify) finds.
    pub fn finish(mut self) -> Result<VerifiedWorkload, Diagnostics> {
        if !self.faults.is_empty() {
            return Err(self.faults.into());
        }
        self.module.entry = self.module.runs();
        Ok(into_verified(self.module)?)
    }
}
