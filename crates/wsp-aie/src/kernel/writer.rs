//! Operations one after the other, with loops around them, on scalars or on vectors of as many lanes.

use super::boxes::Boxes;
use super::homes::{Home, homes};
use super::stored::Stores;
use super::{Body, Number, Reason, Refusal, type_of, unused};
use crate::mlir::{Attr, Module, Op, Shaped, Type, Value};
use std::sync::Arc;
use wsp_core::{DType, LocalId};
use wsp_diag::Span;
use wsp_ir::Verified;
use wsp_ordered::OrderedMap;
use wsp_tile::{BufferId, Extent, Known, LoopId, TileProgram};

/// Lanes of a vector: what a core adds in one instruction of `f32`.
pub(super) const LANES: u32 = 16;

/// Most loops and branches inside each other: the text of a design has 64 levels.
const LEVELS: usize = 48;

/// Most values that are written: many times what a core's program holds.
const VALUES: usize = 1 << 16;

/// Writes a round of a loop from its place and the values that it carries; what it hands on.
type Round<'r, W> = dyn FnMut(&mut W, Value, &[Value]) -> Vec<Value> + 'r;

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
    pub(super) operands: Vec<Value>,
    pub(super) numbers: OrderedMap<Number, Value>,
    pub(super) locals: Vec<Value>,
    pub(super) homes: Vec<Home>,
    pub(super) buffers: OrderedMap<BufferId, Value>,
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
    pub(super) fn finish(mut self, stores: Arc<Stores>) -> Result<Body, Refusal> {
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
        // What was left out counts.
        let mut program = if self.text.values.len() > VALUES { crate::device::PROGRAM } else { 0 };
        ops.iter().for_each(|op| op.walk(&mut |op| program += crate::check::size(&self.text, op)));
        Ok(Body {
            name: self.program.name.clone(),
            operands: self.boxes.operands,
            numbers: numbers.iter().map(|(number, value)| (*number, self.text.ty(*value).clone())).collect(),
            locals: types(&self.locals),
            program,
            stores,
            module: self.text,
            args,
            ops,
        })
    }

    /// Whether what is written is far too much, so that no more need be.
    pub(super) fn is_too_long(&self) -> bool {
        self.text.values.len() > VALUES
    }

    /// Keeps why there is no body; the first reason counts.
    pub(super) fn refuse(&mut self, reason: Reason, what: impl Into<String>) {
        let span = self.span;
        self.refused.get_or_insert_with(|| Refusal::new(reason, what.into(), span));
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
        body: &mut Round<'_, Self>,
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
    pub(super) fn each(&mut self, end: Value, carried: &[Value], body: &mut Round<'_, Self>) -> Vec<Value> {
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
        if self.open.len() > LEVELS {
            self.refuse(Reason::Host, format!("a kernel with loops in more than {LEVELS} levels"));
            return Vec::new();
        }
        self.open.push(Vec::new());
        let yielded = body(self);
        let mut ops = self.open.pop().unwrap_or_default();
        if !yielded.is_empty() {
            ops.push(Op::new("scf.yield").with(yielded));
        }
        ops
    }
}
