//! Building units from Rust: one method per instruction.

mod expr;
mod operand;
mod ops;

pub use expr::{ArgRef, Expr, Table};
pub use operand::IntoOperand;
pub use ops::*;

use super::module::{ArgDecl, ArgSource, ExternTensor, RefValue, Reference, TgModule, Use};
use super::names::Namespace;
use rustc_hash::FxHashMap;
use wsp_core::DType;
use wsp_core::tg::{
    BarrierNo, CheckpointNo, EventNo, GraphNo, Instr, IterNo, KernelNo, NotifyNo, PartitionNo, ScalarType,
    StreamNo, Symbol, TensorNo,
};
use wsp_diag::{Diagnostic, Span};

/// Builds a unit, instruction by instruction, in program order.
///
/// There is one method per instruction, named as it in lower case. A method takes the operands that must be given and returns something
/// that sets the others. Where a number of a kind is wanted (a graph, a kernel, a tensor, …), a name does as well: its
/// first use gives it the next number of its kind, one more than the largest before it, as in text. [`TgBuilder::finish`] checks the rules
/// of units; nothing before it fails.
///
/// ```
/// use wsp_core::DType;
/// use wsp_core::tg::{AffinityType, CoreType, DependencyType};
/// use wsp_ir::tg::TgBuilder;
///
/// let mut b = TgBuilder::new();
/// b.extern_tensor("QK_SCORES", DType::F32, &[1024, 4096]);
/// b.extern_tensor("INPUT_HIDDEN", DType::F16, &[4096, 512]);
/// b.extern_tensor("OUTPUT", DType::F16, &[1024, 128]);
///
/// b.tg_begin("DEEPSEEK_ATTN");
/// b.tg_kernel("MLA_PROLOG", "mla_prolog_entry", 24, CoreType::AicAiv, 64 * 1024);
/// b.tg_kernel("INDEXER_PROLOG", "indexer_prolog_entry", 24, CoreType::AicAiv, 32 * 1024);
/// b.tg_kernel("LIGHTNING_INDEXER", "lightning_indexer_entry", 24, CoreType::Aic, 128 * 1024);
/// b.tg_kernel("SPARSE_FA", "sparse_fa_entry", 24, CoreType::AicAiv, 256 * 1024);
///
/// let data = DependencyType::Data;
/// b.tg_depend("MLA_PROLOG", "SPARSE_FA").dep_type(data).tensor_id("Q_TENSOR");
/// b.tg_depend("INDEXER_PROLOG", "LIGHTNING_INDEXER").dep_type(data).tensor_id("QK_SCORES");
/// b.tg_depend("LIGHTNING_INDEXER", "SPARSE_FA").dep_type(data).tensor_id("TOPK_INDICES");
///
/// b.mc_alloc("WORKSPACE", 512 * 1024 * 1024);
/// b.mc_alloc("Q_TENSOR", 1024 * 128 * 2);
/// b.mc_alloc("KV_CACHE", 4096 * 128 * 2);
/// b.mc_alloc("TOPK_INDICES", 1024 * 256 * 4);
///
/// for (kernel, tensors) in [
///     ("MLA_PROLOG", &["INPUT_HIDDEN", "Q_TENSOR", "KV_CACHE"][..]),
///     ("INDEXER_PROLOG", &["INPUT_HIDDEN", "QK_SCORES"]),
///     ("LIGHTNING_INDEXER", &["QK_SCORES", "TOPK_INDICES"]),
///     ("SPARSE_FA", &["Q_TENSOR", "KV_CACHE", "TOPK_INDICES", "OUTPUT"]),
/// ] {
///     for (arg, &tensor) in tensors.iter().enumerate() {
///         b.mc_bind(kernel, arg as u32, tensor);
///     }
/// }
///
/// b.ca_request("MLA_PROLOG", 12, 24);
/// b.ca_request("INDEXER_PROLOG", 12, 24);
/// b.ca_affinity(["MLA_PROLOG", "SPARSE_FA"], AffinityType::L2Share);
/// b.tg_end("DEEPSEEK_ATTN");
///
/// b.tg_launch("DEEPSEEK_ATTN", "compute_stream");
/// b.tg_sync("DEEPSEEK_ATTN");
/// let unit = b.finish().unwrap();
/// assert_eq!(unit.instrs.len(), 29);
/// ```
#[derive(Debug)]
pub struct TgBuilder {
    unit: TgModule,
    /// Numbers of names; what is a graph's own under the graph.
    named: FxHashMap<(Namespace, GraphNo, Symbol), u32>,
    /// The next number of each kind.
    next: [u32; Namespace::ALL.len()],
    /// The graph that is open.
    graph: GraphNo,
    /// Copies of the graph so far.
    copies: u32,
}

impl Default for TgBuilder {
    fn default() -> Self {
        TgBuilder::new()
    }
}

macro_rules! named {
    ($($(#[$doc:meta])* $method:ident $ty:ident $space:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method(&mut self, name: &str) -> $ty {
            $ty(self.number(Namespace::$space, name))
        }
    )*};
}

impl TgBuilder {
    /// A unit without anything.
    pub fn new() -> TgBuilder {
        let mut next = [0; Namespace::ALL.len()];
        // 0 is no tensor, and the default stream.
        next[Namespace::Tensor as usize] = 1;
        next[Namespace::Stream as usize] = 1;
        TgBuilder {
            unit: TgModule::default(),
            named: FxHashMap::default(),
            next,
            graph: GraphNo(0),
            copies: 0,
        }
    }

    /// The unit, if it keeps the rules of units.
    ///
    /// # Errors
    /// What [`verify`](super::verify) finds: instructions are told by their places, as `instruction 3`.
    pub fn finish(self) -> Result<TgModule, Vec<Diagnostic>> {
        let found = super::verify(&self.unit);
        if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(self.unit) }
    }

    /// The unit, whatever it is. For tests of those that check units.
    pub fn finish_unchecked(self) -> TgModule {
        self.unit
    }

    named! {
        /// The graph of this name.
        graph GraphNo Graph;
        /// The kernel of this name in the open graph.
        kernel KernelNo Kernel;
        /// The tensor of this name.
        tensor TensorNo Tensor;
        /// The event of this name.
        event EventNo Event;
        /// The barrier of this name in the open graph.
        barrier BarrierNo Barrier;
        /// The notification of this name.
        notify NotifyNo Notify;
        /// The partition of this name.
        partition PartitionNo Partition;
        /// The loop variable of this name.
        iter IterNo Iter;
        /// The checkpoint of this name.
        checkpoint CheckpointNo Checkpoint;
    }

    /// The stream of this name; `default` is the default stream.
    pub fn stream(&mut self, name: &str) -> StreamNo {
        if name == "default" { StreamNo(0) } else { StreamNo(self.number(Namespace::Stream, name)) }
    }

    /// Uses the kernels of a file, whose path is relative to the unit's.
    pub fn use_file(&mut self, path: &str) {
        let path = self.unit.strings.intern(path);
        self.unit.uses.push(Use { path, span: Span::default() });
    }

    /// Declares a tensor that whoever runs the unit provides, with the type of its elements and its shape in elements, outermost
    /// dimension first. Kernels say the type if none is given, and the shape if it is empty.
    pub fn extern_tensor(&mut self, name: &str, dtype: impl Into<Option<DType>>, shape: &[u64]) -> TensorNo {
        let tensor = self.tensor(name);
        let (dtype, shape) = (dtype.into(), shape.to_vec());
        self.unit.externs.push(ExternTensor { tensor, dtype, shape, span: Span::default() });
        tensor
    }

    /// Declares an event that whoever runs the unit signals.
    pub fn extern_event(&mut self, name: &str) -> EventNo {
        let event = self.event(name);
        self.unit.extern_events.push((event, Span::default()));
        event
    }

    /// Declares a scalar that is given with the run, with its value if none is.
    pub fn arg(&mut self, name: &str, ty: ScalarType, default: Option<i64>) -> ArgRef {
        self.declare_arg(name, ty, default, ArgSource::Launch)
    }

    /// Declares a scalar of the host that is read when a graph is launched, with its value if none is given.
    pub fn host(&mut self, name: &str, ty: ScalarType, default: Option<i64>) -> ArgRef {
        self.declare_arg(name, ty, default, ArgSource::Host)
    }

    fn declare_arg(&mut self, name: &str, ty: ScalarType, default: Option<i64>, source: ArgSource) -> ArgRef {
        let name = self.unit.strings.intern(name);
        self.unit.args.push(ArgDecl { name, source, ty, default, span: Span::default() });
        ArgRef(self.unit.args.len() as u32 - 1)
    }

    /// Names a computation to compare outputs with, and what its parameters are here.
    pub fn reference(&mut self, name: &str, bindings: &[(&str, RefValue)]) {
        let name = self.unit.strings.intern(name);
        let bindings =
            bindings.iter().map(|(name, value)| (self.unit.strings.intern(name), *value)).collect();
        self.unit.references.push(Reference { name, bindings, span: Span::default() });
    }

    /// The number of a name.
    fn number(&mut self, space: Namespace, name: &str) -> u32 {
        let symbol = self.unit.strings.intern(name);
        let graph = if space.is_per_graph() { self.graph } else { GraphNo(0) };
        if let Some(&number) = self.named.get(&(space, graph, symbol)) {
            return number;
        }
        let number = self.next[space as usize];
        self.given(space, number);
        self.named.insert((space, graph, symbol), number);
        self.unit.names.set(space, graph, number, symbol);
        number
    }

    /// Takes note of a number that is used.
    fn given(&mut self, space: Namespace, number: u32) {
        let next = &mut self.next[space as usize];
        *next = (*next).max(number.saturating_add(1));
    }

    /// Adds an instruction as it is, whose lists and expressions are those of this unit.
    pub fn push(&mut self, instr: Instr) {
        match instr {
            Instr::TgBegin { graph_id } => self.enter(graph_id),
            Instr::McCopy { .. } => self.copies += 1,
            _ => {}
        }
        self.unit.instrs.push(instr);
    }

    fn enter(&mut self, graph: GraphNo) {
        self.graph = graph;
        self.copies = 0;
        self.next[Namespace::Kernel as usize] = 0;
        self.next[Namespace::Barrier as usize] = 0;
    }
}
