//! Rules of units that need no kernels.
//!
//! Structure, by [`Outline`]:
//! * an instruction stands where it may: in a graph, or on the host; graphs are defined outside of control flow;
//! * graphs do not nest, and each is ended under its own number; numbers of graphs are at most [`MAX_GRAPH_ID`];
//! * numbers of graphs, kernels of one graph, tensors and partitions are given once; tensor 0 is no tensor;
//! * blocks of control flow nest, at most [`MAX_CONTROL_DEPTH`] deep; a `CF_BREAK` stands in a loop; two nested loops count with
//!   two variables.
//!
//! Kernels and edges (`graph`):
//! * a kernel has 1 to [`MAX_BLOCK_DIM`] blocks; edges join two kernels or copies of the graph;
//! * the second kernel of a `BARRIER` is defined after the first; the tensor of an edge can be seen by the graph;
//! * a kernel's partition exists and has the cores that the kernel needs.
//!
//! Memory (`memory`):
//! * sizes are not 0, alignments are powers of two, and what is declared can be counted;
//! * tensors are known, and not those of another graph; a binding or copy lies within its tensor, for every value of the
//!   variables of loops of constant count; parts of one tensor that are copied onto each other do not overlap;
//! * the arguments of a kernel are bound once each, without a hole;
//! * a graph releases what it allocates, once, and nothing uses it afterwards.
//!
//! Scalars (`scalar`): expressions are complete, use variables of loops around them and declared scalars, and read within tensors.
//!
//! Cores and synchronisation (`sync`):
//! * sets name kernels of the graph, each once; members of a gang stand in one block and are not joined by an edge;
//! * requests are for some core, partitions do not overlap;
//! * whatever is waited for is signalled in the unit, or external; a notification follows a kernel.
//!
//! Host (`host`): what is launched is complete, what is waited for was launched, a fused graph is of two graphs, and what is
//! restored is a checkpoint of its graph.
//!
//! [`MAX_GRAPH_ID`]: wsp_core::tg::MAX_GRAPH_ID
//! [`MAX_BLOCK_DIM`]: wsp_core::tg::MAX_BLOCK_DIM
//! [`MAX_CONTROL_DEPTH`]: wsp_core::tg::MAX_CONTROL_DEPTH

mod declare;
mod graph;
mod host;
mod memory;
pub(crate) mod rule;
mod scalar;
mod sync;

use super::outline::{BlockId, Blocks, NumberMap, Outline};
use super::{Namespace, TgModule};
use rule::Placed as _;
use wsp_core::tg::{GraphNo, Instr, KernelNo, TensorNo};
use wsp_diag::{Code, Diagnostic, Sink, did_you_mean};

/// Everything that breaks a rule of the instruction set, in program order; empty for a unit that can be planned. What
/// breaks the structure of a unit hides the rest.
pub fn verify(module: &TgModule) -> Vec<Diagnostic> {
    verify_with_outline(module).1
}

/// [`verify`], and the outline that it made.
pub fn verify_with_outline(module: &TgModule) -> (Outline, Vec<Diagnostic>) {
    let mut faults = Sink::default();
    let outline = Outline::new(module, &mut faults);
    if faults.is_empty() {
        let mut checker = Checker::new(module, &outline, &mut faults);
        checker.declarations();
        for (at, instr) in module.instrs.iter().enumerate() {
            checker.at = at as u32;
            checker.instr(instr);
        }
        checker.finish();
    }
    let found = faults.merge(Sink::default(), rule::TOO_MANY);
    (outline, found)
}

/// What the rules know while they go through a unit.
struct Checker<'m> {
    module: &'m TgModule,
    outline: &'m Outline,
    faults: &'m mut Sink,
    /// The instruction.
    at: u32,
    /// The open graph: its place in the outline.
    graph: Option<u32>,
    /// The innermost block around the instruction.
    block: BlockId,
    /// Blocks opened so far: they are numbered in this order.
    opened: u32,
    /// Kernels by number; those of graphs before this one are stale.
    kernels: NumberMap,
    /// Bound arguments of each kernel, of the first 64.
    args: Vec<u64>,
    /// Kernel, argument and instruction of bindings beyond.
    more_args: Vec<(u32, u32, u32)>,
    sync: sync::Seen,
    host: host::Seen,
    memory: memory::Seen,
}

impl<'m> Checker<'m> {
    fn new(module: &'m TgModule, outline: &'m Outline, faults: &'m mut Sink) -> Checker<'m> {
        Checker {
            module,
            outline,
            faults,
            at: 0,
            graph: None,
            block: Blocks::HOST,
            opened: 1,
            kernels: NumberMap::new(module.instrs.len()),
            args: vec![0; outline.kernels.len()],
            more_args: Vec::new(),
            sync: sync::Seen::new(module),
            host: host::Seen::new(outline),
            memory: memory::Seen::new(outline),
        }
    }

    #[inline(always)]
    fn instr(&mut self, instr: &'m Instr) {
        match *instr {
            Instr::McBind { kernel_id, arg_index, ref tensor_id, offset, size, direction: _ } => {
                self.bind(kernel_id, arg_index, tensor_id, offset, size);
            }
            Instr::TgDepend { src_kernel, dst_kernel, dep_type, tensor_id } => {
                self.depend(src_kernel, dst_kernel, dep_type, tensor_id);
            }
            Instr::TgKernel {
                kernel_id,
                entry_symbol,
                block_dim,
                core_type,
                workspace_size: _,
                partition,
            } => {
                self.kernel(kernel_id, entry_symbol, block_dim, core_type, partition);
            }
            Instr::McAlloc { tensor_id, size, alignment, location: _ } => {
                self.alloc(tensor_id, size, alignment)
            }
            Instr::McFree { tensor_id } => self.free(tensor_id),
            Instr::McCopy { src_tensor, dst_tensor, size, src_offset, dst_offset } => {
                self.copy((src_tensor, src_offset), (dst_tensor, dst_offset), size);
            }
            Instr::McFence { scope: _ } => {}
            Instr::TgBegin { graph_id } => self.begin(graph_id),
            Instr::TgEnd { .. } => self.end(),
            Instr::TgPersistent { kernel_id, duration: _ } => self.persistent(kernel_id),
            Instr::TgLaunch { .. }
            | Instr::TgSync { .. }
            | Instr::TgInvoke { .. }
            | Instr::TgFuse { .. }
            | Instr::TgSetPriority { .. }
            | Instr::TgCheckpoint { .. }
            | Instr::TgRestore { .. } => self.host(instr),
            Instr::CfIf { .. }
            | Instr::CfElse {}
            | Instr::CfEndif {}
            | Instr::CfLoop { .. }
            | Instr::CfEndloop {}
            | Instr::CfBreak { .. }
            | Instr::CfWhile { .. }
            | Instr::CfEndwhile {} => self.control(instr),
            Instr::CaRequest { .. }
            | Instr::CaAffinity { .. }
            | Instr::CaPartition { .. }
            | Instr::SySignal { .. }
            | Instr::SyWait { .. }
            | Instr::SyBarrier { .. }
            | Instr::SyNotify { .. }
            | Instr::SyWaitNotify { .. } => self.synchronise(instr),
        }
    }

    fn begin(&mut self, no: GraphNo) {
        let Some(graph) = self.outline.graph(no) else { return };
        self.outline.kernel_map(graph, &mut self.kernels);
        self.graph = Some(graph);
        self.open();
    }

    fn end(&mut self) {
        if let Some(graph) = self.graph.take() {
            self.arguments_of(graph);
            self.gangs_of(graph);
        }
        self.block = Blocks::HOST;
    }

    fn open(&mut self) {
        self.block = BlockId(self.opened);
        self.opened += 1;
    }

    fn control(&mut self, instr: &Instr) {
        match *instr {
            Instr::CfIf { condition } | Instr::CfBreak { condition } => self.condition(condition),
            Instr::CfLoop { count, .. } => self.count(count),
            Instr::CfWhile { condition, max_iterations } => self.rounds(condition, max_iterations),
            _ => {}
        }
        match *instr {
            Instr::CfIf { .. } | Instr::CfLoop { .. } | Instr::CfWhile { .. } | Instr::CfElse {} => {
                self.open()
            }
            Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {} => {
                self.block = self.outline.blocks.get(self.block).parent;
                self.host_block_ends();
            }
            _ => {}
        }
    }

    fn finish(&mut self) {
        self.waits();
        self.partitions();
        self.restores();
    }

    /// The kernel of the open graph with this number: its place in the outline.
    #[inline]
    fn kernel_at(&self, no: KernelNo) -> Option<u32> {
        let at = self.kernels.get(no.0)?;
        (Some(self.outline.kernels[at as usize].graph) == self.graph).then_some(at)
    }

    /// [`Self::kernel_at`], with a fault for a number without a kernel.
    #[inline]
    fn known_kernel(&mut self, no: KernelNo) -> Option<u32> {
        let found = self.kernel_at(no);
        if found.is_none() {
            self.unknown_kernel(no);
        }
        found
    }

    #[cold]
    fn unknown_kernel(&mut self, no: KernelNo) {
        if self.faults.is_full() {
            // Only counted: the nearest name is not worth looking for.
            return self.report(Diagnostic::error(rule::UNKNOWN_NODE, "unknown kernel"));
        }
        let graph = self.graph_no();
        let name = self.module.name(Namespace::Kernel, graph, no.0);
        let message = format!("graph `{}` has no kernel `{name}`", self.graph_name(graph));
        let kernels = self.kernels_here().map(|kernel| kernel.no);
        let names: Vec<String> =
            kernels.map(|no| self.module.name(Namespace::Kernel, graph, no.0)).take(10_000).collect();
        let help = match did_you_mean(&name, names.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "define it with TG_KERNEL".to_owned(),
            None => format!("define it with TG_KERNEL; the graph has {}", listed(&names)),
        };
        self.fault(rule::UNKNOWN_NODE, message, "not defined in this graph").help(help).report(self);
    }

    fn kernels_here(&self) -> impl Iterator<Item = &super::outline::KernelDef> {
        let range = self.graph.map_or(0..0, |graph| self.outline.graphs[graph as usize].kernels.clone());
        self.outline.kernels[range.start as usize..range.end as usize].iter()
    }

    fn graph_no(&self) -> GraphNo {
        self.graph.map_or(GraphNo(0), |graph| self.outline.graphs[graph as usize].no)
    }

    fn graph_name(&self, no: GraphNo) -> String {
        self.module.name(Namespace::Graph, GraphNo(0), no.0)
    }

    fn kernel_name(&self, no: KernelNo) -> String {
        self.module.name(Namespace::Kernel, self.graph_no(), no.0)
    }

    fn tensor_name(&self, no: TensorNo) -> String {
        self.module.name(Namespace::Tensor, GraphNo(0), no.0)
    }

    fn name(&self, space: Namespace, number: u32) -> String {
        self.module.name(space, self.graph_no(), number)
    }

    /// A fault of the instruction.
    fn fault(&self, code: Code, message: impl Into<String>, label: &str) -> Diagnostic {
        Diagnostic::error(code, message).on(self.module, self.at, label)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.faults.push(diagnostic);
    }
}

/// `.report(checker)` at the end of a fault that is being told.
trait Report {
    fn report(self, checker: &mut Checker<'_>);
}

impl Report for Diagnostic {
    fn report(self, checker: &mut Checker<'_>) {
        checker.report(self);
    }
}

/// Some names, for a message.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(6).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() {
        format!(" and {} more", names.len() - shown.len())
    } else {
        String::new()
    };
    shown.join(", ") + &more
}
