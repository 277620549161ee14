//! Operations one after the other, with loops around them, on scalars or on vectors of as many lanes.

use super::boxes::{Boxes, Site, Variable};
use super::homes::{Home, homes};
use super::{Body, Number, Reason, Refusal, type_of, unused};
use crate::mlir::{Attr, Module, Op, Shaped, Type, Value};
use wsp_core::{DType, LocalId};
use wsp_diag::Span;
use wsp_ir::Verified;
use wsp_ir::affine::Affine;
use wsp_ordered::OrderedMap;
use wsp_tile::{BufferId, Extent, Known, LoopId, Tile, TileProgram};

/// Lanes of a vector: what a core adds in one instruction of `f32`.
pub(super) const LANES: u32 = 16;

/// What a dimension of a memory follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Along {
    Rows,
    Cols,
    Neither,
}

/// Elements of a memory by row and column.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    memory: Value,
    pub(super) elem: DType,
    /// The first index of each dimension, and what it follows.
    dims: Vec<(Value, Along)>,
}

impl Grid {
    /// With rows and columns exchanged.
    pub(super) fn turned(&self) -> Grid {
        let turn = |along: Along| match along {
            Along::Rows => Along::Cols,
            Along::Cols => Along::Rows,
            Along::Neither => Along::Neither,
        };
        let dims = self.dims.iter().map(|(first, along)| (*first, turn(*along))).collect();
        Grid { dims, ..self.clone() }
    }
}

/// What values of tiles are computed as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `f32`
    Real,
    /// An integer of so many bits.
    Int(u32),
}

impl Kind {
    pub(super) fn of(elem: DType) -> Kind {
        match elem {
            DType::I8 => Kind::Int(8),
            DType::I32 => Kind::Int(32),
            _ => Kind::Real,
        }
    }

    pub(super) fn scalar(self) -> Type {
        match self {
            Kind::Real => Type::F32,
            Kind::Int(bits) => Type::Int(bits),
        }
    }
}

/// Writes a body.
pub(super) struct Writer<'a> {
    pub(super) module: &'a Verified,
    pub(super) known: Known<'a>,
    pub(super) program: &'a TileProgram,
    pub(super) boxes: Boxes,
    pub(super) text: Module,
    /// Blocks that are written, inner ones last.
    open: Vec<Vec<Op>>,
    /// Constants, which stand before all else.
    constants: Vec<(Attr, Type, Value)>,
    fixed: OrderedMap<Value, i64>,
    operands: Vec<Value>,
    pub(super) numbers: OrderedMap<Number, Value>,
    locals: Vec<Value>,
    homes: Vec<Home>,
    buffers: OrderedMap<BufferId, Value>,
    /// Values of variables.
    pub(super) values: OrderedMap<LocalId, Value>,
    /// How far loops are past their start.
    pub(super) past: OrderedMap<LoopId, Value>,
    /// Lanes of the values that are written.
    pub(super) lanes: u32,
    pub(super) span: Span,
    refused: Option<Refusal>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        module: &'a Verified,
        known: Known<'a>,
        program: &'a TileProgram,
        boxes: Boxes,
    ) -> Writer<'a> {
        let mut text = Module::default();
        let named = |(i, operand): (usize, &super::Operand)| {
            let name = format!("{}{i}", if operand.writes { "to" } else { "from" });
            text.value(name, operand.ty.clone())
        };
        let operands = boxes.operands.iter().enumerate().map(named).collect();
        let mut writer = Writer {
            module,
            known,
            program,
            homes: homes(program, &boxes),
            boxes,
            text,
            open: vec![Vec::new()],
            constants: Vec::new(),
            fixed: OrderedMap::new(),
            operands,
            numbers: OrderedMap::new(),
            locals: Vec::new(),
            buffers: OrderedMap::new(),
            values: OrderedMap::new(),
            past: OrderedMap::new(),
            lanes: 1,
            span: Span::default(),
            refused: None,
        };
        for buffer in &program.buffers {
            if type_of(buffer.elem).is_none() {
                writer.span = buffer.span;
                let what = format!("`{}`, a tile of `{}`,", buffer.name, buffer.elem.name());
                writer.refuse(Reason::Elements, what);
            }
        }
        writer
    }

    /// The body, without what nothing uses.
    pub(super) fn finish(mut self) -> Result<Body, Refusal> {
        if let Some(refused) = self.refused {
            return Err(refused);
        }
        let written = std::mem::take(&mut self.open[0]);
        let constant = |(attr, ty, value): &(Attr, Type, Value)| {
            let _ = ty;
            Op::new("arith.constant").attr("value", attr.clone()).result(*value)
        };
        let mut ops: Vec<Op> = self.constants.iter().map(constant).collect();
        ops.extend(written);
        unused::remove(&mut ops);
        let numbers: Vec<(Number, Value)> = self.numbers.into_iter().collect();
        let mut args = self.operands;
        args.extend(numbers.iter().map(|(_, value)| *value));
        args.extend(&self.locals);
        let types = |values: &[Value]| values.iter().map(|value| self.text.ty(*value).clone()).collect();
        let mut program = 0;
        ops.iter().for_each(|op| op.walk(&mut |op| program += crate::check::size(&self.text, op)));
        Ok(Body {
            name: self.program.name.clone(),
            operands: self.boxes.operands,
            numbers: numbers.iter().map(|(number, value)| (*number, self.text.ty(*value).clone())).collect(),
            locals: types(&self.locals),
            program,
            module: self.text,
            args,
            ops,
        })
    }

    /// Keeps why there is no body; the first reason counts.
    pub(super) fn refuse(&mut self, reason: Reason, what: impl Into<String>) {
        let span = self.span;
        self.refused.get_or_insert_with(|| Refusal { reason, what: what.into(), span });
    }

    /// A value that is made.
    pub(super) fn fresh(&mut self, ty: Type) -> Value {
        let name = format!("v{}", self.text.values.len());
        self.text.value(name, ty)
    }

    pub(super) fn push(&mut self, op: Op) {
        let last = self.open.len() - 1;
        self.open[last].push(op);
    }

    /// Writes an operation that makes a value.
    pub(super) fn op(&mut self, name: &str, operands: &[Value], ty: Type) -> Value {
        self.with(Op::new(name).with(operands.iter().copied()), ty)
    }

    pub(super) fn with(&mut self, op: Op, ty: Type) -> Value {
        let value = self.fresh(ty);
        self.push(op.result(value));
        value
    }

    /// An operation on operands of one type, which the result has too.
    pub(super) fn same(&mut self, name: &str, operands: &[Value]) -> Value {
        let ty = self.text.ty(operands[0]).clone();
        self.op(name, operands, ty)
    }

    pub(super) fn constant(&mut self, attr: Attr, ty: Type) -> Value {
        let bits = |attr: &Attr| if let Attr::Float(value, _) = attr { Some(value.to_bits()) } else { None };
        // Of two zeros one has a sign.
        let found = self
            .constants
            .iter()
            .find(|(have, of, _)| *have == attr && *of == ty && bits(have) == bits(&attr));
        if let Some((_, _, value)) = found {
            return *value;
        }
        let value = self.fresh(ty.clone());
        self.constants.push((attr, ty, value));
        value
    }

    /// A constant of `index`.
    pub(super) fn index(&mut self, n: i64) -> Value {
        let value = self.constant(Attr::Int(n, Type::Index), Type::Index);
        self.fixed.insert(value, n);
        value
    }

    /// An integer in all lanes.
    pub(super) fn int(&mut self, n: i64, bits: u32) -> Value {
        let one = if bits == 1 { Attr::Bool(n != 0) } else { Attr::Int(n, Type::Int(bits)) };
        self.spread(one, Type::Int(bits))
    }

    /// A number of `f32` in all lanes.
    pub(super) fn real(&mut self, x: f64) -> Value {
        self.spread(Attr::Float(f64::from(x as f32), Type::F32), Type::F32)
    }

    fn spread(&mut self, one: Attr, scalar: Type) -> Value {
        let ty = self.ty(scalar);
        let attr = if self.lanes == 1 { one } else { Attr::Elements(Box::new(one), ty.clone()) };
        self.constant(attr, ty)
    }

    /// The numbers 0, 1, 2, … of the lanes, or 0.
    pub(super) fn ramp(&mut self) -> Value {
        if self.lanes == 1 {
            return self.int(0, 32);
        }
        let ty = self.ty(Type::Int(32));
        let one = |n: u32| Attr::Int(i64::from(n), Type::Int(32));
        let all = Attr::Array((0..self.lanes).map(one).collect());
        self.constant(Attr::Elements(Box::new(all), ty.clone()), ty)
    }

    /// The type of the lanes.
    pub(super) fn ty(&self, scalar: Type) -> Type {
        if self.lanes == 1 { scalar } else { Type::Vector(Shaped::of(&[u64::from(self.lanes)], scalar)) }
    }

    /// One value in all lanes.
    pub(super) fn splat(&mut self, value: Value) -> Value {
        if self.lanes == 1 {
            return value;
        }
        let ty = self.ty(self.text.ty(value).clone());
        self.op("vector.broadcast", &[value], ty)
    }

    /// The sum of two places.
    pub(super) fn plus(&mut self, a: Value, b: Value) -> Value {
        match (self.fixed.get(&a), self.fixed.get(&b)) {
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (Some(a), Some(b)) => self.index(a + b),
            _ => self.same("arith.addi", &[a, b]),
        }
    }

    /// A multiple of a place.
    pub(super) fn times(&mut self, a: Value, factor: i64) -> Value {
        match self.fixed.get(&a) {
            _ if factor == 1 => a,
            Some(a) => self.index(a * factor),
            None => {
                let factor = self.index(factor);
                self.same("arith.muli", &[a, factor])
            }
        }
    }

    /// The constant that a place is.
    pub(super) fn fixed(&self, value: Value) -> Option<i64> {
        self.fixed.get(&value).copied()
    }

    /// A number of rows or columns.
    pub(super) fn extent(&mut self, extent: Extent) -> Value {
        match extent {
            Extent::Known(n) => self.index(i64::from(n)),
            Extent::Value { local, .. } => {
                let value = self.variable(local);
                self.op("arith.index_cast", &[value], Type::Index)
            }
        }
    }

    /// A place as an integer of 32 bits.
    pub(super) fn whole(&mut self, place: Value) -> Value {
        match self.fixed(place) {
            Some(n) => self.constant(Attr::Int(n, Type::Int(32)), Type::Int(32)),
            None => self.op("arith.index_cast", &[place], Type::Int(32)),
        }
    }

    /// A loop from 0, which carries values; what they are in the end. One round needs no loop.
    pub(super) fn rounds(
        &mut self,
        (low, end, step): (Value, Value, Value),
        carried: &[Value],
        body: &mut dyn FnMut(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        if let (Some(low_at), Some(end), Some(step)) = (self.fixed(low), self.fixed(end), self.fixed(step)) {
            if low_at >= end {
                return carried.to_vec();
            }
            if low_at + step >= end {
                return body(self, low, carried);
            }
        }
        let i = self.fresh(Type::Index);
        let types: Vec<Type> = carried.iter().map(|value| self.text.ty(*value).clone()).collect();
        let mut args = vec![i];
        args.extend(types.iter().map(|ty| self.fresh(ty.clone())));
        let block = self.block(&mut |writer| body(writer, i, &args[1..]));
        let mut op = Op::new("scf.for")
            .with([low, end, step])
            .with(carried.iter().copied())
            .region(args.clone(), block);
        op.results = types.into_iter().map(|ty| self.fresh(ty)).collect();
        let results = op.results.clone();
        self.push(op);
        results
    }

    /// A loop over places from 0 up to an end.
    pub(super) fn each(
        &mut self,
        end: Value,
        carried: &[Value],
        body: &mut dyn FnMut(&mut Self, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let (low, step) = (self.index(0), self.index(1));
        self.rounds((low, end, step), carried, body)
    }

    /// Two ways; what they yield.
    pub(super) fn ways(
        &mut self,
        condition: Value,
        then: &mut dyn FnMut(&mut Self) -> Vec<Value>,
        otherwise: &mut dyn FnMut(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let mut types = Vec::new();
        let mut typed = |writer: &mut Self, way: &mut dyn FnMut(&mut Self) -> Vec<Value>| {
            writer.block(&mut |writer| {
                let values = way(writer);
                types = values.iter().map(|value| writer.text.ty(*value).clone()).collect();
                values
            })
        };
        let (yes, no) = (typed(self, then), typed(self, otherwise));
        let mut op = Op::new("scf.if").with([condition]).region(Vec::new(), yes);
        if !no.is_empty() {
            op = op.region(Vec::new(), no);
        }
        op.results = types.into_iter().map(|ty| self.fresh(ty)).collect();
        let results = op.results.clone();
        self.push(op);
        results
    }

    /// The operations of a block, which yields values.
    fn block(&mut self, body: &mut dyn FnMut(&mut Self) -> Vec<Value>) -> Vec<Op> {
        self.open.push(Vec::new());
        let yielded = body(self);
        let mut ops = self.open.pop().unwrap_or_default();
        if !yielded.is_empty() {
            ops.push(Op::new("scf.yield").with(yielded));
        }
        ops
    }

    /// Whether a transfer is none, since the tile lies in the operand.
    pub(super) fn is_home(&self, buffer: BufferId, instruction: u32) -> bool {
        self.homes.contains(&Home { buffer, instruction })
    }

    /// The elements of a tile.
    pub(super) fn tile(&mut self, tile: &Tile) -> Grid {
        let buffer = self.program.buffer(tile.buffer);
        if let Some(site) =
            self.homes.iter().find(|home| home.buffer == tile.buffer).map(|home| home.instruction)
        {
            return self.site(site);
        }
        let memory = match self.buffers.get(&tile.buffer) {
            Some(memory) => *memory,
            None => {
                let memory = self.memory(buffer.elem, buffer.rows, buffer.cols);
                self.buffers.insert(tile.buffer, memory);
                memory
            }
        };
        self.whole_of(memory, buffer.elem)
    }

    /// Memory of the core's own, of the shape of a tile.
    pub(super) fn scratch(&mut self, tile: &Tile) -> Grid {
        let buffer = self.program.buffer(tile.buffer);
        let memory = self.memory(buffer.elem, buffer.rows, buffer.cols);
        self.whole_of(memory, buffer.elem)
    }

    fn memory(&mut self, elem: DType, rows: u32, cols: u32) -> Value {
        let ty = Type::memref(&[u64::from(rows), u64::from(cols)], type_of(elem).unwrap_or(Type::F32));
        let memory = self.text.value(format!("own{}", self.locals.len()), ty);
        self.locals.push(memory);
        memory
    }

    fn whole_of(&mut self, memory: Value, elem: DType) -> Grid {
        let zero = self.index(0);
        Grid { memory, elem, dims: vec![(zero, Along::Rows), (zero, Along::Cols)] }
    }

    /// Where an instruction touches a tensor.
    pub(super) fn site(&mut self, instruction: u32) -> Grid {
        let Site { operand, index, along } = self.boxes.sites[&instruction].clone();
        let tensor = self.boxes.operands[operand].tensor;
        let elem = super::boxes::element(self.module, self.known, tensor).unwrap_or(DType::F32);
        let mut dims = Vec::new();
        for (dim, index) in index.iter().enumerate() {
            let first = self.place(index);
            let follows = match along.iter().position(|of| of.map(usize::from) == Some(dim)) {
                Some(0) => Along::Rows,
                Some(_) => Along::Cols,
                None => Along::Neither,
            };
            dims.push((first, follows));
        }
        Grid { memory: self.operands[operand], elem, dims }
    }

    fn place(&mut self, index: &Affine<Variable>) -> Value {
        let mut at = self.index(index.constant as i64);
        for (variable, factor) in &index.terms {
            if let Variable::Loop(id) = variable {
                let past = self.past[id];
                let term = self.times(past, *factor as i64);
                at = self.plus(at, term);
            }
        }
        at
    }

    fn indices(&mut self, grid: &Grid, r: Value, c: Value) -> Vec<Value> {
        let mut indices = Vec::new();
        for (first, along) in &grid.dims {
            indices.push(match along {
                Along::Rows => self.plus(*first, r),
                Along::Cols => self.plus(*first, c),
                Along::Neither => *first,
            });
        }
        indices
    }

    /// Whether neighbours in a row are neighbours in memory.
    pub(super) fn has_rows(grid: &Grid) -> bool {
        grid.dims.last().is_some_and(|(_, along)| *along == Along::Cols)
    }

    /// The lanes from an element on, as they are computed with.
    pub(super) fn load(&mut self, grid: &Grid, r: Value, c: Value) -> Value {
        let mut operands = vec![grid.memory];
        operands.extend(self.indices(grid, r, c));
        let name = if self.lanes == 1 { "memref.load" } else { "vector.load" };
        let ty = self.ty(type_of(grid.elem).unwrap_or(Type::F32));
        let value = self.op(name, &operands, ty);
        if grid.elem != DType::Bf16 {
            return value;
        }
        let wide = self.ty(Type::F32);
        self.op("arith.extf", &[value], wide)
    }

    /// Lanes of the kind of a grid's elements to an element and those behind it.
    pub(super) fn store(&mut self, grid: &Grid, r: Value, c: Value, mut value: Value) {
        if grid.elem == DType::Bf16 {
            let short = self.ty(Type::Bf16);
            value = self.op("arith.truncf", &[value], short);
        }
        let mut operands = vec![value, grid.memory];
        operands.extend(self.indices(grid, r, c));
        let name = if self.lanes == 1 { "memref.store" } else { "vector.store" };
        self.push(Op::new(name).with(operands));
    }

    /// All elements of a tile, one by one.
    pub(super) fn singly(&mut self, tile: &Tile, body: &mut dyn FnMut(&mut Self, Value, Value)) {
        let (rows, cols) = (self.extent(tile.rows), self.extent(tile.cols));
        self.each(rows, &[], &mut |writer, r, _| {
            writer.each(cols, &[], &mut |writer, c, _| {
                body(writer, r, c);
                Vec::new()
            })
        });
    }

    /// All elements of so many rows and columns: in vectors where a row is whole vectors of each of the grids, the rest one by one.
    pub(super) fn all(
        &mut self,
        (rows, cols): (Extent, Extent),
        grids: &[&Grid],
        body: &mut dyn FnMut(&mut Self, Value, Value),
    ) {
        let (rows, end, zero) = (self.extent(rows), self.extent(cols), self.index(0));
        let whole = match cols {
            Extent::Known(n) if grids.iter().all(|grid| Self::has_rows(grid)) => i64::from(n / LANES * LANES),
            _ => 0,
        };
        self.each(rows, &[], &mut |writer, r, _| {
            let (middle, step, one) = (writer.index(whole), writer.index(i64::from(LANES)), writer.index(1));
            writer.lanes = LANES;
            writer.rounds((zero, middle, step), &[], &mut |writer, c, _| {
                body(writer, r, c);
                Vec::new()
            });
            writer.lanes = 1;
            writer.rounds((middle, end, one), &[], &mut |writer, c, _| {
                body(writer, r, c);
                Vec::new()
            });
            Vec::new()
        });
    }
}
