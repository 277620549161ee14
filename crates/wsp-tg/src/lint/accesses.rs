//! Which kernels and copies use which bytes of which tensors, and how; which bytes conditions load.

use super::access::{Access, Load, OF_CONDITION};
use super::launches::ExclusiveArms;
use wsp_core::tg::{DependencyType, Direction, ExprOp, Instr, NodeNo, Scalar, TensorNo, TensorRef};
use wsp_ir::tg::outline::{Affine, BlockId, NumberMap, Outline};
use wsp_ir::tg::{KernelSignature, Signatures, TgModule};
use wsp_ordered::Arrange;

/// All accesses of a unit.
pub(super) struct Accesses {
    /// By tensor, and then in program order.
    pub(super) list: Vec<Access>,
    /// Where the accesses of each tensor begin, and one past the last.
    pub(super) first: Vec<u32>,
    /// What conditions and counts of graphs load, in program order.
    pub(super) loads: Vec<Access>,
    /// Kernels and the tensors that their `DATA` edges carry away, in order.
    sources: Vec<(u32, u32)>,
    /// Kernels and the tensors that `DATA` edges bring them, in order.
    targets: Vec<(u32, u32)>,
    /// Arms of which a launch runs at most one.
    exclusive: ExclusiveArms,
}

impl Accesses {
    pub(super) fn new(module: &TgModule, outline: &Outline, signatures: &Signatures) -> Accesses {
        let known: Vec<Option<&KernelSignature>> = if signatures.is_empty() {
            Vec::new()
        } else {
            let symbols = 0..module.strings.len() as u32;
            symbols.map(|symbol| signatures.get(module.str(wsp_core::tg::Symbol(symbol)))).collect()
        };
        let mut reader = Reader {
            module,
            outline,
            known,
            list: Vec::new(),
            loads: Vec::new(),
            copies: 0,
            sources: Vec::new(),
            targets: Vec::new(),
        };
        reader.read();
        let Reader { mut list, loads, mut sources, mut targets, .. } = reader;
        sources.sort_unstable();
        targets.sort_unstable();
        list.arrange_by_key(|access| (access.tensor, access.place, access.at));
        let first = (0..=outline.tensors.len() as u32)
            .map(|t| list.partition_point(|a| a.tensor < t) as u32)
            .collect();
        Accesses { list, first, loads, sources, targets, exclusive: ExclusiveArms::new(module) }
    }

    /// Whether at most one of two accesses takes place in a launch, so that bytes put them in no order.
    pub(super) fn exclude(&self, outline: &Outline, a: &Access, b: &Access) -> bool {
        outline.blocks.exclude(a.block, b.block) || self.exclusive.exclude_blocks(outline, a.block, b.block)
    }

    /// Accesses of a tensor, in program order.
    pub(super) fn of(&self, tensor: u32) -> &[Access] {
        &self.list[self.first[tensor as usize] as usize..self.first[tensor as usize + 1] as usize]
    }

    /// Whether an edge says that a node gives a tensor to others.
    pub(super) fn gives(&self, node: u32, tensor: u32) -> bool {
        self.sources.binary_search(&(node, tensor)).is_ok()
    }

    /// Whether an edge says that a node takes a tensor from another.
    pub(super) fn takes(&self, node: u32, tensor: u32) -> bool {
        self.targets.binary_search(&(node, tensor)).is_ok()
    }

    /// Whether the condition or count of an instruction reads data of the device.
    pub(super) fn loads_at(&self, at: u32) -> bool {
        self.loaded_at(at).next().is_some()
    }

    /// Tensors that conditions and counts load.
    pub(super) fn loaded(&self) -> impl Iterator<Item = u32> + '_ {
        self.loads.iter().map(|load| load.tensor)
    }

    /// What the condition or count of one instruction loads.
    fn loaded_at(&self, at: u32) -> impl Iterator<Item = &Access> + '_ {
        let from = self.loads.partition_point(|load| load.at < at);
        self.loads[from..].iter().take_while(move |load| load.at == at)
    }

    /// Accesses of the graph, before an instruction and behind it, that write what its condition or count loads, as a run orders them: by node, each with
    /// the load. Where a run knows the byte, it takes that, else all of the tensor; a byte that is another in each round of an unrolled loop is left out.
    pub(super) fn writers_around_load(
        &self,
        (module, outline): (&TgModule, &Outline),
        at: u32,
    ) -> [Vec<(Access, Access)>; 2] {
        let mut writers = [Vec::new(), Vec::new()];
        for load in self.loaded_at(at) {
            let offset = load.load.map_or(&[][..], |load| load.offset(module));
            let size = load.load.map_or(0, |load| load.size);
            let (low, high) = match offset.last() {
                Some(ExprOp::Const(first)) if *first >= 0 => {
                    (*first as u64, (*first as u64).saturating_add(size))
                }
                Some(ExprOp::Iter(_)) => continue,
                _ => (0, u64::MAX),
            };
            let load = Access { low, high, exact: true, ..*load };
            let meets = |access: &&Access| {
                access.graph == load.graph
                    && access.writes()
                    && access.low < load.high
                    && load.low < access.high
                    && !self.exclude(outline, access, &load)
            };
            for access in self.of(load.tensor).iter().filter(meets) {
                writers[usize::from(access.place > at)].push((*access, load));
            }
        }
        for writers in &mut writers {
            writers.arrange_by_key(|(writer, _)| writer.node);
        }
        writers
    }
}

struct Reader<'m> {
    module: &'m TgModule,
    outline: &'m Outline,
    /// Signatures by symbol.
    known: Vec<Option<&'m KernelSignature>>,
    list: Vec<Access>,
    loads: Vec<Access>,
    copies: u32,
    sources: Vec<(u32, u32)>,
    targets: Vec<(u32, u32)>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let module = self.module;
        let mut kernels = NumberMap::new(module.instrs.len());
        let mut graph = None;
        for (at, instr) in module.instrs.iter().enumerate() {
            let at = at as u32;
            match *instr {
                Instr::TgBegin { graph_id } => {
                    graph = self.outline.graph(graph_id);
                    if let Some(graph) = graph {
                        self.outline.kernel_map(graph, &mut kernels);
                    }
                }
                Instr::TgEnd { .. } => graph = None,
                Instr::McBind { kernel_id, arg_index, ref tensor_id, offset, size, direction } => {
                    if let Some(kernel) = kernels.get(kernel_id.0) {
                        let direction = self.direction(kernel, arg_index, direction);
                        self.bind(at, kernel, tensor_id, (offset, size), direction);
                    }
                }
                Instr::TgDepend { src_kernel, dst_kernel, dep_type: DependencyType::Data, tensor_id } => {
                    let Some(tensor) = self.outline.tensor_index(tensor_id) else { continue };
                    let kernel = |node: NodeNo| node.kernel().and_then(|no| kernels.get(no.0));
                    self.sources.extend(kernel(src_kernel).map(|kernel| (kernel, tensor)));
                    self.targets.extend(kernel(dst_kernel).map(|kernel| (kernel, tensor)));
                }
                Instr::McCopy { src_tensor, dst_tensor, size, src_offset, dst_offset } => {
                    let from = (src_tensor, src_offset, Direction::In);
                    let to = (dst_tensor, dst_offset, Direction::Out);
                    self.copy(at, graph.unwrap_or(0), size, [from, to]);
                }
                Instr::CfIf { condition }
                | Instr::CfWhile { condition, .. }
                | Instr::CfBreak { condition } => {
                    self.decides(at, condition, graph);
                }
                Instr::CfLoop { count, .. } => self.decides(at, count, graph),
                _ => {}
            }
        }
    }

    fn copy(&mut self, at: u32, graph: u32, size: u64, ends: [(TensorNo, u64, Direction); 2]) {
        let node = self.outline.kernels.len() as u32 + self.copies;
        let block = self.outline.copies[self.copies as usize].block;
        self.copies += 1;
        for (tensor, low, direction) in ends {
            let Some(tensor) = self.outline.tensor_index(tensor) else { continue };
            let high = low.saturating_add(size);
            let (place, exact) = (at, true);
            let load = None;
            self.list.push(Access {
                node,
                tensor,
                at,
                graph,
                place,
                block,
                low,
                high,
                exact,
                direction,
                load,
            });
        }
    }

    /// What a condition or count in a graph loads.
    fn decides(&mut self, at: u32, scalar: Scalar, graph: Option<u32>) {
        let (Scalar::Expr(expr), Some(graph)) = (scalar, graph) else { return };
        let block = self.outline.blocks.around(at);
        let mut decided = 0;
        for (op, it) in (0u32..).zip(self.module.expr(expr)) {
            match *it {
                ExprOp::SkipZero(past) | ExprOp::SkipNonZero(past) => {
                    decided = decided.max(op.saturating_add(past));
                }
                ExprOp::Load(tensor, ty) => {
                    let Some(tensor) = self.outline.tensor_index(tensor) else { continue };
                    let load =
                        Load { expr, op, size: ty.size(), is_conditional: op <= decided && decided > 0 };
                    let bytes = self.outline.tensors[tensor as usize].bytes.unwrap_or(u64::MAX);
                    let offset = Affine::on_top(load.offset(self.module), &[]);
                    let size = Affine { constant: i128::from(load.size), ..Affine::default() };
                    let (low, high, exact) = self.hull((offset, Some(size)), bytes, block);
                    self.loads.push(Access {
                        node: OF_CONDITION,
                        tensor,
                        at,
                        graph,
                        place: at,
                        block,
                        low,
                        high,
                        exact,
                        direction: Direction::In,
                        load: Some(load),
                    });
                }
                _ => {}
            }
        }
    }

    /// What a kernel does with an argument: what its binding says, and what its signature says beside that.
    fn direction(&self, kernel: u32, arg: u32, given: Direction) -> Direction {
        let at = self.outline.kernels[kernel as usize].at;
        let Instr::TgKernel { entry_symbol, .. } = self.module.instrs[at as usize] else { return given };
        let signature = self.known.get(entry_symbol.0 as usize).copied().flatten();
        let does = signature.and_then(|signature| signature.args.get(arg as usize));
        match (given, does.map_or(Direction::Auto, |arg| arg.direction)) {
            (given, Direction::Auto) => given,
            (Direction::Auto, does) => does,
            (given, does) if given == does => given,
            _ => Direction::InOut,
        }
    }

    fn bind(
        &mut self,
        at: u32,
        kernel: u32,
        tensor: &TensorRef,
        (offset, size): (Scalar, Scalar),
        direction: Direction,
    ) {
        let def = self.outline.kernels[kernel as usize];
        let is_table = matches!(tensor, TensorRef::Table { .. });
        for tensor in self.module.tensors_of(tensor) {
            let Some(tensor) = self.outline.tensor_index(*tensor) else { continue };
            let bytes = self.outline.tensors[tensor as usize].bytes.unwrap_or(u64::MAX);
            let range = (Affine::of(self.module, offset), Affine::of(self.module, size));
            let (low, high, constant) = self.hull(range, bytes, def.block);
            self.list.push(Access {
                node: kernel,
                tensor,
                at,
                graph: def.graph,
                place: def.at,
                block: def.block,
                low,
                high,
                exact: constant && !is_table,
                direction,
                load: None,
            });
        }
    }

    /// Bytes that may be touched, and whether they are the same each time; of no bytes all to the end.
    fn hull(
        &self,
        (offset, size): (Option<Affine>, Option<Affine>),
        bytes: u64,
        block: BlockId,
    ) -> (u64, u64, bool) {
        let all = (0, bytes, false);
        let (Some(offset), Some(size)) = (offset, size) else { return all };
        let clamp = |value: i128| u64::try_from(value.max(0)).unwrap_or(u64::MAX);
        if offset.terms.is_empty() && size.terms.is_empty() {
            let (offset, size) = (clamp(offset.constant), clamp(size.constant));
            return (offset, if size == 0 { bytes } else { offset.saturating_add(size) }, true);
        }
        // A size of 0 in some round stands for all bytes to the end in it.
        let to_end = self.outline.extremes(self.module, block, &size).is_none_or(|size| size.low <= 0);
        let Some(end) = offset.add(&size) else { return all };
        let first = self.outline.extremes(self.module, block, &offset);
        let last = self.outline.extremes(self.module, block, &end);
        let (Some(first), Some(last)) = (first, last) else { return all };
        (clamp(first.low), if to_end { bytes } else { clamp(last.high) }, false)
    }
}
