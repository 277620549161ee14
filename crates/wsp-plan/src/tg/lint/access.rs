//! Which kernels and copies use which bytes of which tensors, and how.

use wsp_core::tg::{DependencyType, Direction, ExprOp, Instr, NodeNo, Scalar, TensorNo, TensorRef};
use wsp_ir::tg::outline::{Affine, BlockId, NumberMap, Outline, Variable};
use wsp_ir::tg::{KernelSignature, Signatures, TgModule};

/// Pairs of copies and other users of one tensor beyond which they are not compared.
const MAX_COPY_PAIRS: usize = 1 << 22;

/// A use of some bytes of a tensor by a kernel or copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The node: kernels first, then copies.
    pub(super) node: u32,
    /// The place of the tensor in the outline.
    pub(super) tensor: u32,
    /// The instruction: a binding or a copy.
    pub(super) at: u32,
    /// The graph.
    pub(super) graph: u32,
    /// Where the node stands in the program.
    pub(super) place: u32,
    pub(super) block: BlockId,
    /// First byte that may be used.
    pub(super) low: u64,
    /// One past the last.
    pub(super) high: u64,
    /// Whether exactly these bytes are used, each time.
    pub(super) exact: bool,
    /// What is done with them; `Auto` if nobody says.
    pub(super) direction: Direction,
}

impl Access {
    pub(super) fn reads(&self) -> bool {
        self.direction != Direction::Out
    }

    pub(super) fn writes(&self) -> bool {
        self.direction != Direction::In
    }

    pub(super) fn is_known(&self) -> bool {
        self.direction != Direction::Auto
    }
}

/// Whether two accesses touch a byte in common in one round of the loops around both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Overlap {
    /// They do not.
    Never,
    /// That depends on what is not known here.
    Maybe,
    /// They do.
    Surely,
}

/// A scalar that a condition reads.
#[derive(Clone, Copy, Debug)]
struct Load {
    at: u32,
    tensor: u32,
}

/// All accesses of a unit.
pub(super) struct Accesses {
    /// By tensor, and then in program order.
    pub(super) list: Vec<Access>,
    /// Where the accesses of each tensor begin, and one past the last.
    pub(super) first: Vec<u32>,
    loads: Vec<Load>,
    /// Kernels and the tensors that their `DATA` edges carry away, in order.
    sources: Vec<(u32, u32)>,
    /// Kernels and the tensors that `DATA` edges bring them, in order.
    targets: Vec<(u32, u32)>,
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
        list.sort_by_key(|access| (access.tensor, access.place, access.at));
        let first = (0..=outline.tensors.len() as u32)
            .map(|t| list.partition_point(|a| a.tensor < t) as u32)
            .collect();
        Accesses { list, first, loads, sources, targets }
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

    /// Whether the condition of an instruction reads data of the device.
    pub(super) fn loads_at(&self, at: u32) -> bool {
        self.loads.binary_search_by_key(&at, |load| load.at).is_ok()
    }

    /// Tensors that conditions read.
    pub(super) fn loaded(&self) -> impl Iterator<Item = u32> + '_ {
        self.loads.iter().map(|load| load.tensor)
    }

    /// Tensors that the condition of one instruction reads.
    pub(super) fn loaded_at(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let from = self.loads.partition_point(|load| load.at < at);
        self.loads[from..].iter().take_while(move |load| load.at == at).map(|load| load.tensor)
    }

    /// Kernels and copies before an instruction that may write what its condition reads.
    pub(super) fn writers_before_load(&self, outline: &Outline, at: u32) -> Vec<u32> {
        let block = outline.blocks.around(at);
        let graph = outline.graphs.partition_point(|graph| graph.at < at);
        let mut writers: Vec<u32> = self
            .loaded_at(at)
            .flat_map(|tensor| self.of(tensor))
            .filter(|access| access.graph as usize + 1 == graph && access.place < at && access.writes())
            .filter(|access| !outline.blocks.exclude(access.block, block))
            .map(|access| access.node)
            .collect();
        writers.sort_unstable();
        writers.dedup();
        writers
    }

    /// Pairs of nodes, one of them a copy, that touch bytes in common which one of them writes; the first comes first in
    /// the program.
    pub(super) fn copy_conflicts(&self, module: &TgModule, outline: &Outline) -> Vec<(u32, u32)> {
        let kernels = outline.kernels.len() as u32;
        let mut pairs = Vec::new();
        for tensor in 0..outline.tensors.len() as u32 {
            let all = self.of(tensor);
            let copies: Vec<&Access> = all.iter().filter(|access| access.node >= kernels).collect();
            if copies.len().saturating_mul(all.len()) > MAX_COPY_PAIRS {
                continue;
            }
            for copy in copies {
                for other in all.iter().filter(|other| other.node != copy.node && other.graph == copy.graph) {
                    let conflict = copy.writes() || other.writes();
                    if conflict
                        && !outline.blocks.exclude(copy.block, other.block)
                        && overlap(module, outline, copy, other) != Overlap::Never
                    {
                        let copy_first = copy.place < other.place;
                        pairs.push(if copy_first {
                            (copy.node, other.node)
                        } else {
                            (other.node, copy.node)
                        });
                    }
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

struct Reader<'m> {
    module: &'m TgModule,
    outline: &'m Outline,
    /// Signatures by symbol.
    known: Vec<Option<&'m KernelSignature>>,
    list: Vec<Access>,
    loads: Vec<Load>,
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
                    self.loads_of(at, condition, graph);
                }
                Instr::CfLoop { count, .. } => self.loads_of(at, count, graph),
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
            self.list.push(Access { node, tensor, at, graph, place, block, low, high, exact, direction });
        }
    }

    fn loads_of(&mut self, at: u32, scalar: Scalar, graph: Option<u32>) {
        if graph.is_none() {
            return;
        }
        for op in self.module.scalar(scalar) {
            if let ExprOp::Load(tensor, _) = *op
                && let Some(tensor) = self.outline.tensor_index(tensor)
            {
                self.loads.push(Load { at, tensor });
            }
        }
    }

    fn direction(&self, kernel: u32, arg: u32, given: Direction) -> Direction {
        if given != Direction::Auto || self.known.is_empty() {
            return given;
        }
        let at = self.outline.kernels[kernel as usize].at;
        let Instr::TgKernel { entry_symbol, .. } = self.module.instrs[at as usize] else { return given };
        let signature = self.known.get(entry_symbol.0 as usize).copied().flatten();
        let arg = signature.and_then(|signature| signature.args.get(arg as usize));
        arg.map_or(Direction::Auto, |arg| arg.direction)
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
            let (low, high, constant) = self.hull(offset, size, bytes, def.block);
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
            });
        }
    }

    /// Bytes that may be touched, and whether they are the same each time.
    fn hull(&self, offset: Scalar, size: Scalar, bytes: u64, block: BlockId) -> (u64, u64, bool) {
        if let (Scalar::Const(offset), Scalar::Const(size)) = (offset, size) {
            let (offset, size) = (offset.max(0) as u64, size.max(0) as u64);
            let high = if size == 0 { bytes } else { offset.saturating_add(size) };
            return (offset, high, true);
        }
        let all = (0, bytes, false);
        let (Some(offset), Some(size)) = (Affine::of(self.module, offset), Affine::of(self.module, size))
        else {
            return all;
        };
        let clamp = |value: i128| u64::try_from(value.max(0)).unwrap_or(u64::MAX);
        if offset.terms.is_empty() && size.terms.is_empty() {
            let (offset, size) = (clamp(offset.constant), clamp(size.constant));
            return (offset, if size == 0 { bytes } else { offset.saturating_add(size) }, true);
        }
        let to_end = size == Affine::default();
        let Some(end) = offset.add(&size) else { return all };
        let first = self.outline.extremes(self.module, block, &offset);
        let last = self.outline.extremes(self.module, block, &end);
        let (Some(first), Some(last)) = (first, last) else { return all };
        (clamp(first.least), if to_end { bytes } else { clamp(last.most) }, false)
    }
}

/// Values that variables have where an access takes place.
pub(super) type Values<'v> = &'v [(Variable, i64)];
/// An access with them.
type Where<'v> = (&'v Access, Values<'v>);

/// Whether two accesses of one tensor touch a byte in common.
pub(super) fn overlap(module: &TgModule, outline: &Outline, a: &Access, b: &Access) -> Overlap {
    if a.low >= b.high || b.low >= a.high {
        return Overlap::Never;
    }
    match (table_index(module, a.at), table_index(module, b.at)) {
        (Some(x), Some(y)) if x == y => {}
        (None, None) => {}
        _ => return Overlap::Maybe,
    }
    overlap_of_ranges(module, outline, (a, &[]), (b, &[]))
}

/// The same where both take place with values of their own.
pub(super) fn overlap_where(module: &TgModule, outline: &Outline, a: Where<'_>, b: Where<'_>) -> Overlap {
    match (takes(module, outline, a), takes(module, outline, b)) {
        (Some(false), _) | (_, Some(false)) => Overlap::Never,
        (Some(true), Some(true)) => overlap_of_ranges(module, outline, a, b),
        _ => Overlap::Maybe,
    }
}

/// The same where each is in whatever round of the loops around it; they surely touch the same bytes if they do so in one round.
pub(super) fn overlap_in_any_round(
    module: &TgModule,
    outline: &Outline,
    a: Where<'_>,
    b: Where<'_>,
) -> Overlap {
    let hull = |(access, values): Where<'_>| {
        let (offset, size) = range_where(module, outline, access, values)?;
        let ends = outline.extremes(module, access.block, &offset)?;
        Some((ends.least, ends.most.checked_add(size)?))
    };
    let is_apart = match (hull(a), hull(b)) {
        (Some((low_a, high_a)), Some((low_b, high_b))) => high_a <= low_b || high_b <= low_a,
        _ => a.0.high <= b.0.low || b.0.high <= a.0.low,
    };
    match overlap_where(module, outline, a, b) {
        _ if is_apart => Overlap::Never,
        Overlap::Never if [a, b].iter().any(|of| takes(module, outline, *of) == Some(false)) => {
            Overlap::Never
        }
        Overlap::Never => Overlap::Maybe,
        other => other,
    }
}

/// Whether an access is one to its tensor: a binding to one of several tensors may be one to another.
fn takes(module: &TgModule, outline: &Outline, (access, values): Where<'_>) -> Option<bool> {
    match &module.instrs[access.at as usize] {
        Instr::McBind { tensor_id: tensor_id @ TensorRef::Table { index, .. }, .. } => {
            let index = Affine::of_where(module, Scalar::Expr(*index), values);
            let index = index.filter(|index| index.terms.is_empty())?.constant;
            let taken = usize::try_from(index).ok().and_then(|index| module.tensors_of(tensor_id).get(index));
            Some(taken == Some(&outline.tensors[access.tensor as usize].no))
        }
        _ => Some(true),
    }
}

fn overlap_of_ranges(
    module: &TgModule,
    outline: &Outline,
    (a, of_a): Where<'_>,
    (b, of_b): Where<'_>,
) -> Overlap {
    if a.low >= b.high || b.low >= a.high {
        return Overlap::Never;
    }
    if a.exact && b.exact {
        return Overlap::Surely;
    }
    let range = |access: &Access, values| range_where(module, outline, access, values);
    let (Some((from_a, size_a)), Some((from_b, size_b))) = (range(a, of_a), range(b, of_b)) else {
        return Overlap::Maybe;
    };
    let Some(apart) = difference(outline, module, (&from_a, a.block), (&from_b, b.block)) else {
        return Overlap::Maybe;
    };
    // b begins `apart` bytes behind a: they meet if -size_b < apart < size_a.
    match apart.as_slice() {
        [Term { factor, values: 1 }] => within(*factor, -size_b, size_a),
        [Term { factor: start, values: 1 }, Term { factor, values }] => {
            // Where the distance comes near to 0 from either side.
            let low = (1 - size_b).saturating_sub(*start).div_euclid(*factor);
            let high = (size_a - 1).saturating_sub(*start).div_euclid(*factor);
            let near = [low.saturating_sub(1), low, low.saturating_add(1), high, high.saturating_add(1)];
            let meets = near.into_iter().filter(|n| (0..*values).contains(n));
            let mut meets =
                meets.map(|n| within(start.saturating_add(factor.saturating_mul(n)), -size_b, size_a));
            if meets.any(|meets| meets == Overlap::Surely) { Overlap::Surely } else { Overlap::Never }
        }
        _ => Overlap::Maybe,
    }
}

fn within(value: i128, low: i128, high: i128) -> Overlap {
    if low < value && value < high { Overlap::Surely } else { Overlap::Never }
}

/// The table and the index of a binding to one of several tensors.
fn table_index(module: &TgModule, at: u32) -> Option<(Vec<u32>, Vec<ExprOp>)> {
    match &module.instrs[at as usize] {
        Instr::McBind { tensor_id: tensor_id @ TensorRef::Table { index, .. }, .. } => {
            let tensors = module.tensors_of(tensor_id).iter().map(|tensor| tensor.0).collect();
            Some((tensors, module.expr(*index).to_vec()))
        }
        _ => None,
    }
}

/// The first byte of an access and how many there are, if that is the same number each time.
pub(super) fn range_of(module: &TgModule, outline: &Outline, access: &Access) -> Option<(Affine, i128)> {
    range_where(module, outline, access, &[])
}

fn range_where(
    module: &TgModule,
    outline: &Outline,
    access: &Access,
    values: Values<'_>,
) -> Option<(Affine, i128)> {
    if access.exact {
        let low = Affine { constant: i128::from(access.low), terms: Vec::new() };
        return Some((low, i128::from(access.high) - i128::from(access.low)));
    }
    let Instr::McBind { offset, size, .. } = module.instrs[access.at as usize] else { return None };
    let of = |scalar| Affine::of_where(module, scalar, values);
    let (offset, size) = (of(offset)?, of(size)?);
    let bytes = outline.tensors[access.tensor as usize].bytes;
    match (size.terms.is_empty(), size.constant) {
        (true, 0) if offset.terms.is_empty() => {
            let size = bytes.map_or(i128::from(u64::MAX), i128::from).saturating_sub(offset.constant);
            (size > 0).then_some((offset, size))
        }
        (true, size) if size > 0 => Some((offset, size)),
        _ => None,
    }
}

/// A multiple of a number from 0 up; a constant takes one value, itself.
struct Term {
    factor: i128,
    values: i128,
}

/// How far apart two ranges begin in one round of the loops around both: a constant, and multiples of the variables of loops
/// around one of them. `None` if other values matter.
fn difference(
    outline: &Outline,
    module: &TgModule,
    (a, block_a): (&Affine, BlockId),
    (b, block_b): (&Affine, BlockId),
) -> Option<Vec<Term>> {
    let (meet, ..) = outline.blocks.meet(block_a, block_b);
    let mut shared = Affine { constant: b.constant.checked_sub(a.constant)?, terms: Vec::new() };
    let mut own = Vec::new();
    for (value, block, sign) in [(a, block_a, -1), (b, block_b, 1)] {
        for &(variable, factor) in &value.terms {
            let counted = match variable {
                Variable::Loop(iter) => outline.loop_of(module, block, iter)?,
                _ => meet,
            };
            let factor = factor.checked_mul(sign)?;
            if outline.blocks.is_within(meet, counted) {
                shared = shared.add(&Affine { constant: 0, terms: vec![(variable, factor)] })?;
            } else {
                let count = outline.count_of(module, counted).filter(|count| *count > 0)?;
                own.push(Term { factor, values: i128::from(count) });
            }
        }
    }
    for &(variable, factor) in &shared.terms {
        let Variable::Loop(iter) = variable else { return None };
        let counted = outline.loop_of(module, meet, iter)?;
        let count = outline.count_of(module, counted).filter(|count| *count > 0)?;
        own.push(Term { factor, values: i128::from(count) });
    }
    own.retain(|term| term.values > 1);
    own.insert(0, Term { factor: shared.constant, values: 1 });
    Some(own)
}
