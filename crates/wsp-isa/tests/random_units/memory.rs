//! Tensors, and the order of those who use them.

use super::{Maker, Purpose};
use wsp_core::tg::{DependencyType, Direction, GraphNo, KernelNo, MemLocation, NodeNo, TensorNo, TensorRef};
use wsp_ir::tg::{Expr, Table};

/// A tensor and who used it.
#[derive(Clone)]
pub(super) struct Tensor {
    pub(super) no: TensorNo,
    pub(super) bytes: u64,
    /// The graph that allocates it.
    home: Option<GraphNo>,
    /// The graph whose kernels write it, in a unit to be run.
    written_by: Option<GraphNo>,
    /// Graphs whose kernels read it.
    read_by: Vec<GraphNo>,
    writer: Option<NodeNo>,
    readers: Vec<NodeNo>,
    freed: bool,
}

impl Tensor {
    pub(super) fn new(no: TensorNo, bytes: u64, home: Option<GraphNo>) -> Tensor {
        Tensor {
            no,
            bytes,
            home,
            written_by: None,
            read_by: Vec::new(),
            writer: None,
            readers: Vec::new(),
            freed: false,
        }
    }
}

impl Maker<'_, '_> {
    /// Allocates a tensor, for the graph that is open or for the unit.
    pub(super) fn allocate(&mut self, graph: Option<GraphNo>) {
        let name = self.name("T");
        let no = self.b.tensor(&name);
        let bytes = 64 + 64 * self.choices.below(4) as u64;
        let late = graph.is_some() && self.choices.once_in(4);
        let shared = graph.is_none() && self.choices.once_in(3);
        if late {
            self.current.late.push((no, bytes));
        } else {
            let alloc = self.b.mc_alloc(no, bytes);
            let alloc = match self.choices.below(5) {
                1 => alloc.alignment(64u32),
                2 => alloc.location(MemLocation::L2),
                3 => alloc.alignment(4096u32).location(MemLocation::Hbm),
                _ => alloc,
            };
            if shared {
                alloc.location(MemLocation::Shared);
            }
        }
        if graph.is_some() && !late {
            self.current.releasable.push(no);
        }
        self.tensors.push(Tensor::new(no, bytes, graph));
    }

    /// Begins a graph: nobody has used a tensor in it.
    pub(super) fn forget_users(&mut self) {
        for tensor in &mut self.tensors {
            tensor.writer = None;
            tensor.readers.clear();
        }
    }

    /// Tensors that the open graph may use in a direction.
    fn usable(&self, writes: TensorAccess) -> Vec<usize> {
        let graph = self.current.graph;
        let free = |tensor: &Tensor| match (self.is_run(), writes) {
            (false, _) => true,
            (true, TensorAccess::Reads) => tensor.written_by.is_none_or(|by| by == graph),
            (true, TensorAccess::Writes) => {
                tensor.written_by.is_none_or(|by| by == graph) && tensor.read_by.iter().all(|by| *by == graph)
            }
        };
        let visible = |tensor: &Tensor| !tensor.freed && tensor.home.is_none_or(|home| home == graph);
        (0..self.tensors.len()).filter(|&at| visible(&self.tensors[at]) && free(&self.tensors[at])).collect()
    }

    fn pick(&mut self, access: TensorAccess, but: &[usize]) -> Option<usize> {
        let usable: Vec<usize> = self.usable(access).into_iter().filter(|at| !but.contains(at)).collect();
        self.choices.pick(&usable).copied()
    }

    /// Tensors that the open graph can name.
    pub(super) fn visible_tensors(&self) -> Vec<TensorNo> {
        self.usable(TensorAccess::Reads).into_iter().map(|at| self.tensors[at].no).collect()
    }

    /// A tensor that a condition can read, and that is allocated already.
    pub(super) fn readable(&mut self) -> Option<TensorNo> {
        let at = self.pick(TensorAccess::Reads, &[])?;
        let tensor = &mut self.tensors[at];
        if self.limits.purpose == Purpose::Run {
            // Nothing orders a condition with a kernel that writes the tensor later: nobody may.
            if tensor.written_by.is_some() {
                return None;
            }
            tensor.read_by.push(GraphNo(u32::MAX));
        }
        Some(tensor.no)
    }

    /// Binds the arguments of a kernel, and orders it with those that share its tensors if that matters.
    pub(super) fn bind_all(&mut self, kernel: KernelNo, may_wait: MayWait) {
        let mut bound = Vec::new();
        for arg in 0..self.choices.below(4) as u32 {
            let direction = match self.choices.below(4) {
                0 => Direction::In,
                1 => Direction::Out,
                2 => Direction::InOut,
                _ if self.is_run() => Direction::In,
                _ => Direction::Auto,
            };
            let access = if direction == Direction::In { TensorAccess::Reads } else { TensorAccess::Writes };
            let Some(at) = self.pick(access, &bound) else { break };
            if may_wait == MayWait::No && self.is_used(at, access) {
                break;
            }
            bound.push(at);
            self.uses(at, kernel.into(), access);
            self.bind(kernel, arg, at, direction);
        }
    }

    fn is_used(&self, at: usize, access: TensorAccess) -> bool {
        let tensor = &self.tensors[at];
        self.is_run()
            && (tensor.writer.is_some() || (access == TensorAccess::Writes && !tensor.readers.is_empty()))
    }

    /// Takes note of a use, with the edges that it needs.
    fn uses(&mut self, at: usize, node: NodeNo, access: TensorAccess) {
        if !self.is_run() {
            return;
        }
        let graph = self.current.graph;
        let Tensor { no, writer, readers, .. } = self.tensors[at].clone();
        if let Some(writer) = writer.filter(|writer| *writer != node) {
            self.b.tg_depend(writer, node).dep_type(DependencyType::Data).tensor_id(no);
        }
        if access == TensorAccess::Writes {
            for reader in readers.into_iter().filter(|reader| *reader != node) {
                self.b.tg_depend(reader, node);
            }
        }
        let tensor = &mut self.tensors[at];
        match access {
            TensorAccess::Reads => {
                tensor.readers.push(node);
                tensor.read_by.push(graph);
            }
            TensorAccess::Writes => {
                tensor.writer = Some(node);
                tensor.readers.clear();
                tensor.written_by = Some(graph);
            }
        }
    }

    fn bind(&mut self, kernel: KernelNo, arg: u32, at: usize, direction: Direction) {
        let Tensor { no, bytes, .. } = self.tensors[at];
        let kind = self.choices.below(5);
        let offset = match kind {
            1 => Expr::from(8 * self.choices.below(4) as i64),
            // Within the first 32 bytes, whatever the variable is.
            2 => self.scalar_of_binding() % 8 * 4,
            _ => Expr::from(0),
        };
        let offset = if kind == 2 { offset.max(0) } else { offset };
        let size = if kind == 0 { 0 } else { 4 * self.choices.below(8) as i64 };
        let second = if kind == 4 && !self.is_run() { self.pick(TensorAccess::Reads, &[at]) } else { None };
        let tensor = match second {
            Some(other) => {
                let index = (self.scalar_of_binding() % 2).max(0);
                let tensors = vec![no, self.tensors[other].no];
                wsp_ir::tg::IntoOperand::<TensorRef>::into_operand(Table { tensors, index }, &mut self.b)
            }
            None => TensorRef::Tensor(no),
        };
        debug_assert!(bytes >= 64);
        self.b.mc_bind(kernel, arg, tensor).offset(offset).size(size).direction(direction);
    }

    /// Copies between two tensors.
    pub(super) fn copy(&mut self) {
        let Some(from) = self.pick(TensorAccess::Reads, &[]) else { return };
        let Some(to) = self.pick(TensorAccess::Writes, &[from]) else { return };
        let (src, dst) = (self.tensors[from].no, self.tensors[to].no);
        let size = 8 + 8 * self.choices.below(3) as u64;
        let offset = 8 * self.choices.below(4) as u64;
        let copy = self.b.mc_copy(src, dst, size);
        let copy = if self.choices.once_in(2) { copy.src_offset(offset) } else { copy };
        let copy = if self.choices.once_in(2) { copy.dst_offset(offset) } else { copy };
        let node = copy.node();
        self.uses(from, node, TensorAccess::Reads);
        self.uses(to, node, TensorAccess::Writes);
        self.current.nodes.push(node);
    }

    /// Releases a tensor of the open graph.
    pub(super) fn release(&mut self, no: TensorNo) {
        if let Some(tensor) = self.tensors.iter_mut().find(|tensor| tensor.no == no) {
            tensor.freed = true;
        }
        self.b.mc_free(no);
    }
}

/// What is done with a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TensorAccess {
    Reads,
    Writes,
}

/// Whether a kernel may come after others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MayWait {
    Yes,
    No,
}
