//! Which box of each tensor a program touches: where it begins, and how large it is.
//!
//! An index is a sum of what a launch decides, which moves the box as a whole, and of constants and counted loops, which make its size. Places of a tensor that differ in what a
//! launch decides lie in boxes of their own, where nothing writes the tensor.

use super::{Number, Operand, Reason, Refusal, type_of};
use crate::mlir::Type;
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::affine::Affine;
use wsp_ir::{BinOp, Const, Elem, Expr, ExprKind, Place, Storage, TileOp, Verified};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::{Head, Known, LoopId, Node, Op, TileProgram};

/// Most elements of a box: no tile has so many bytes.
const MOST: u64 = 1 << 20;

/// A variable of an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Variable {
    Number(Number),
    /// How far a loop is past its start.
    Loop(LoopId),
}

/// Where an instruction touches a tensor.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Site {
    /// The box.
    pub(super) operand: usize,
    /// The first element in the box, by dimension; of loops only.
    pub(super) index: Vec<Affine<Variable>>,
    /// The dimensions that rows and columns follow.
    pub(super) along: [Option<u8>; 2],
}

/// The boxes of a program.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Boxes {
    pub(super) operands: Vec<Operand>,
    /// By instruction.
    pub(super) sites: OrderedMap<u32, Site>,
}

/// What is known of a place before boxes are.
struct Found {
    instruction: u32,
    tensor: TensorId,
    index: Vec<Affine<Variable>>,
    along: [Option<u8>; 2],
    /// Rows and columns at most.
    size: [u64; 2],
    reads: bool,
    writes: bool,
    span: Span,
}

/// The least and greatest index of a box, by dimension.
type Bounds = Vec<[i128; 2]>;

type Values = OrderedMap<LocalId, Affine<Variable>>;

struct Finder<'a> {
    module: &'a Verified,
    /// Variables whose value is a sum.
    values: Values,
    /// How far loops go past their start, where that is fixed.
    reach: OrderedMap<LoopId, i128>,
    found: Vec<Found>,
}

impl Boxes {
    pub(super) fn of(module: &Verified, known: Known<'_>, program: &TileProgram) -> Result<Boxes, Refusal> {
        let mut finder =
            Finder { module, values: OrderedMap::new(), reach: OrderedMap::new(), found: Vec::new() };
        finder.nodes(&program.body)?;
        let mut boxes = Boxes::default();
        let mut bounds: Vec<Bounds> = Vec::new();
        for found in &finder.found {
            finder.place(found, (module, known), &mut boxes, &mut bounds)?;
        }
        for (operand, bounds) in boxes.operands.iter_mut().zip(&bounds) {
            let shape: Vec<u64> = bounds.iter().map(|[low, high]| (high - low) as u64).collect();
            let Type::MemRef(shaped) = &operand.ty else { continue };
            operand.ty = Type::memref(&shape, (*shaped.element).clone());
            for (origin, [low, _]) in operand.origin.iter_mut().zip(bounds) {
                origin.constant = *low;
            }
        }
        for site in boxes.sites.values_mut() {
            for (index, [low, _]) in site.index.iter_mut().zip(&bounds[site.operand]) {
                index.constant -= low;
            }
        }
        boxes.written_once(&finder.found)?;
        Ok(boxes)
    }

    /// A tensor that is written has one box: of two, one would not see what is written in the other.
    fn written_once(&self, found: &[Found]) -> Result<(), Refusal> {
        for (i, operand) in self.operands.iter().enumerate() {
            let other = self.operands[..i].iter().find(|other| other.tensor == operand.tensor);
            if other.is_some_and(|other| other.writes || operand.writes) {
                let span =
                    found.iter().rev().find(|found| found.tensor == operand.tensor).map(|found| found.span);
                let what = "a tensor that is written in places whose distance a launch decides";
                return Err(Refusal::new(Reason::Box, what.to_owned(), span.unwrap_or_default()));
            }
        }
        Ok(())
    }
}

impl Finder<'_> {
    fn nodes(&mut self, nodes: &[Node]) -> Result<(), Refusal> {
        for node in nodes {
            match node {
                Node::Set { local, value } => match self.affine(value) {
                    Some(value) => {
                        self.values.insert(*local, value);
                    }
                    None => {
                        self.values.remove(local);
                    }
                },
                Node::If { then, otherwise, .. } => {
                    let before = self.values.clone();
                    self.nodes(then)?;
                    let after = std::mem::replace(&mut self.values, before);
                    self.nodes(otherwise)?;
                    self.values.retain(|local, value| after.get(local) == Some(value));
                }
                Node::Loop(inner) => {
                    let changed = changed(&inner.body);
                    self.values.retain(|local, _| !changed.contains(local));
                    if let Head::Counted { var, start, end, step } = &inner.head {
                        let [start, end, step] = [start, end, step].map(|bound| self.affine(bound));
                        let constant =
                            |of: &Option<Affine<Variable>>| of.as_ref().and_then(Affine::as_constant);
                        let length =
                            end.zip(start.as_ref()).and_then(|(end, start)| end.minus(start)?.as_constant());
                        if let (Some(length), Some(step)) = (length, constant(&step).filter(|step| *step > 0))
                        {
                            self.reach.insert(inner.id, (length - 1).max(0) / step * step);
                        }
                        if let Some(value) =
                            start.and_then(|start| start.add(&Affine::variable(Variable::Loop(inner.id))))
                        {
                            self.values.insert(*var, value);
                        }
                    }
                    self.nodes(&inner.body)?;
                    self.values.retain(|local, _| !changed.contains(local));
                }
                Node::Run(instruction) => self.instruction(instruction)?,
                Node::Name { .. } | Node::Sync(_) => {}
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &wsp_tile::Instruction) -> Result<(), Refusal> {
        let span = instruction.span;
        let (tensor, index, along, size, [reads, writes]) = match &instruction.op {
            Op::Tile(TileOp::Load { dst: tile, tensor, at, .. }) => {
                (*tensor, &at.index, along(at), Some(tile), [true, false])
            }
            Op::Tile(TileOp::Store { tensor, src, at, add, .. }) => {
                if *add {
                    let what = "an addition to what a tensor holds".to_owned();
                    return Err(Refusal::new(Reason::InPlace, what, span));
                }
                (*tensor, &at.index, along(at), Some(src), [false, true])
            }
            Op::LoadScalar { local, tensor, index } => {
                self.values.remove(local);
                (*tensor, index, [None; 2], None, [true, false])
            }
            Op::StoreScalar { tensor, index, .. } => (*tensor, index, [None; 2], None, [false, true]),
            Op::Reduce { local, .. } => {
                self.values.remove(local);
                return Ok(());
            }
            Op::Tile(_) | Op::Move { .. } => return Ok(()),
        };
        let refused = |what: &str| {
            let name = &self.module.tensors[tensor.index()].name;
            Refusal::new(Reason::Box, format!("{what} of `{name}`"), span)
        };
        let storage = &self.module.tensors[tensor.index()].storage;
        if !matches!(storage, Storage::Launch | Storage::Temporary) {
            return Err(Refusal { reason: Reason::Host, ..refused("the page table or workspace") });
        }
        let mut sums = Vec::new();
        for e in index {
            sums.push(self.affine(e).ok_or_else(|| refused("an index that is no sum of multiples,"))?);
        }
        let size = size.map_or([1, 1], |tile| [tile.rows.high(), tile.cols.high()].map(u64::from));
        let id = instruction.id;
        self.found.push(Found { instruction: id, tensor, index: sums, along, size, reads, writes, span });
        Ok(())
    }

    /// Where a place begins by what a launch decides, and its least and greatest index in each dimension beside that.
    fn bounds(&self, found: &Found) -> Result<(Vec<Affine<Number>>, Bounds), Refusal> {
        let name = &self.module.tensors[found.tensor.index()].name;
        let refused = |what| Refusal::new(Reason::Box, what, found.span);
        let (mut origin, mut ends) = (Vec::new(), Vec::new());
        for (dim, index) in found.index.iter().enumerate() {
            let mut base = Affine::default();
            let [mut low, mut high] = [index.constant; 2];
            for (variable, factor) in &index.terms {
                match variable {
                    Variable::Number(number) => base.terms.push((*number, *factor)),
                    Variable::Loop(id) => match self.reach.get(id) {
                        Some(reach) if *factor < 0 => low += reach * factor,
                        Some(reach) => high += reach * factor,
                        None => {
                            let what = format!("a box of `{name}` whose size a launch decides");
                            return Err(refused(what));
                        }
                    },
                }
            }
            let size = match found.along.iter().position(|along| along.map(usize::from) == Some(dim)) {
                Some(which) => found.size[which],
                None => 1,
            };
            origin.push(base);
            ends.push([low, high + i128::from(size)]);
        }
        let extent = |[low, high]: &[i128; 2]| u64::try_from(high - low).unwrap_or(u64::MAX);
        let elements = ends.iter().map(extent).fold(1, u64::saturating_mul);
        if elements > MOST {
            let what = format!("a box of `{name}` of {elements} elements (no tile has room for {MOST})");
            return Err(Refusal { elements: Some(elements), ..refused(what) });
        }
        Ok((origin, ends))
    }

    /// Adds a place to the box that it lies in.
    fn place(
        &self,
        found: &Found,
        (module, known): (&Verified, Known<'_>),
        boxes: &mut Boxes,
        bounds: &mut Vec<Bounds>,
    ) -> Result<(), Refusal> {
        let name = &module.tensors[found.tensor.index()].name;
        let (origin, ends) = self.bounds(found)?;
        let ty = element(module, known, found.tensor).and_then(type_of).ok_or_else(|| {
            Refusal::new(Reason::Elements, format!("the type of the elements of `{name}`"), found.span)
        })?;
        let same = |operand: &Operand| operand.tensor == found.tensor && operand.origin == origin;
        let at = boxes.operands.iter().position(same).unwrap_or(boxes.operands.len());
        if at == boxes.operands.len() {
            let (tensor, ty) = (found.tensor, Type::memref(&[], ty));
            boxes.operands.push(Operand { tensor, origin, ty, reads: false, writes: false });
            bounds.push(ends.clone());
        }
        boxes.operands[at].reads |= found.reads;
        boxes.operands[at].writes |= found.writes;
        for (bounds, [low, high]) in bounds[at].iter_mut().zip(ends) {
            *bounds = [bounds[0].min(low), bounds[1].max(high)];
        }
        let loops = |index: &Affine<Variable>| Affine {
            constant: index.constant,
            terms: index.terms.iter().copied().filter(|(of, _)| matches!(of, Variable::Loop(_))).collect(),
        };
        let index = found.index.iter().map(loops).collect();
        boxes.sites.insert(found.instruction, Site { operand: at, index, along: found.along });
        Ok(())
    }

    /// The sum that an expression is.
    fn affine(&self, e: &Expr) -> Option<Affine<Variable>> {
        let number = |number: Number| Some(Affine::variable(Variable::Number(number)));
        if e.ty.is_float() {
            return None;
        }
        match &e.kind {
            ExprKind::Const(Const::Int(n)) => Some(Affine { constant: *n, terms: Vec::new() }),
            ExprKind::Param(id) => number(Number::Param(*id)),
            ExprKind::Field(_, at) => number(Number::Field(*at)),
            ExprKind::AxisExtent(axis) => number(Number::Extent(*axis)),
            ExprKind::Local(local) => self.values.get(local).cloned(),
            ExprKind::Cast(inner) => self.affine(inner),
            ExprKind::Binary(op, a, b) => joined(*op, &self.affine(a)?, &self.affine(b)?),
            ExprKind::Chain(first, rest) => {
                rest.iter().try_fold(self.affine(first)?, |sum, (op, operand)| {
                    joined(*op, &sum, &self.affine(operand)?)
                })
            }
            _ => None,
        }
    }
}

fn joined(op: BinOp, a: &Affine<Variable>, b: &Affine<Variable>) -> Option<Affine<Variable>> {
    match op {
        BinOp::Add => a.add(b),
        BinOp::Sub => a.minus(b),
        BinOp::Mul => a.multiply(b),
        _ => None,
    }
}

fn along(at: &Place) -> [Option<u8>; 2] {
    [at.row_dim, at.col_dim]
}

/// The elements of a tensor.
pub(super) fn element(module: &Verified, known: Known<'_>, tensor: TensorId) -> Option<DType> {
    match module.tensors[tensor.index()].elem {
        Elem::Fixed(elem) => Some(elem),
        Elem::Of(of) => known.elems.get(of.index()).copied().flatten(),
    }
}

/// The variables that nodes give values.
pub(super) fn changed(nodes: &[Node]) -> OrderedSet<LocalId> {
    fn walk(nodes: &[Node], found: &mut OrderedSet<LocalId>) {
        for node in nodes {
            match node {
                Node::Set { local, .. } => {
                    found.insert(*local);
                }
                Node::Run(instruction) => {
                    if let Op::Reduce { local, .. } | Op::LoadScalar { local, .. } = &instruction.op {
                        found.insert(*local);
                    }
                }
                _ => {}
            }
            node.blocks().for_each(|block| walk(block, found));
        }
    }
    let mut found = OrderedSet::new();
    walk(nodes, &mut found);
    found
}
