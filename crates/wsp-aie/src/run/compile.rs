//! Bodies of cores into code.

use super::bytes::Touch;
use super::code::{Binary, CallArg, Code, Index, Inst, Lanes, Reg, Scalar, Unary};
use super::not_run;
use super::touch::TOUCH;
use crate::codes;
use crate::design::{Core, Design, Effect};
use crate::mlir::{Attr, Block, Op, Region, Type, Value};
use wsp_core::int::BinOp;
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::OrderedMap;

pub(super) type Made<T> = Result<T, Box<Diagnostic>>;

/// Most lanes of a vector.
const MAX_LANES: u64 = 1 << 12;

/// What a core may use: where its ends of fifos are.
pub(super) struct Compiler<'d> {
    pub(super) design: &'d Design,
    /// The end of a fifo at the core, made where it is not there yet; `true` for the producer's.
    pub(super) end: &'d mut dyn FnMut(&str, bool, Span) -> Made<usize>,
    pub(super) code: Code,
    pub(super) regs: OrderedMap<Value, Reg>,
    /// The end that a subview belongs to, and the register of its first object's number.
    subviews: OrderedMap<Value, (usize, Reg)>,
}

/// The code of a core.
pub(super) fn compile(
    design: &Design,
    core: &Core,
    end: &mut dyn FnMut(&str, bool, Span) -> Made<usize>,
) -> Made<Code> {
    let code = Code { insts: Vec::new(), spans: Vec::new(), registers: 0, views: 0, touches: Vec::new() };
    let mut compiler = Compiler { design, end, code, regs: OrderedMap::new(), subviews: OrderedMap::new() };
    let block = one_block(&core.body, core.span)?;
    for op in &block.ops {
        compiler.op(op)?;
    }
    compiler.push(Inst::End, core.span);
    Ok(compiler.code)
}

pub(super) fn one_block(region: &Region, span: Span) -> Made<&Block> {
    match region.blocks.as_slice() {
        [block] => Ok(block),
        _ => Err(not_run("a body of several blocks", span)),
    }
}

fn unary_of(name: &str) -> Option<Unary> {
    Some(match name {
        "arith.negf" => Unary::Neg,
        "math.absf" => Unary::Abs,
        "math.exp" => Unary::Exp,
        "math.rsqrt" => Unary::Rsqrt,
        "math.sqrt" => Unary::Sqrt,
        "math.tanh" => Unary::Tanh,
        _ => return None,
    })
}

impl Compiler<'_> {
    pub(super) fn push(&mut self, inst: Inst, span: Span) -> u32 {
        self.code.insts.push(inst);
        self.code.spans.push(span);
        self.code.insts.len() as u32 - 1
    }

    pub(super) fn here(&self) -> u32 {
        self.code.insts.len() as u32
    }

    pub(super) fn fault<T>(&self, op: &Op, message: impl Into<String>) -> Made<T> {
        Err(Box::new(Diagnostic::error(codes::ARITY, message).at(op.span, "")))
    }

    pub(super) fn fresh(&mut self, lanes: u32) -> Reg {
        let reg = self.code.registers;
        self.code.registers += lanes;
        reg
    }

    /// Registers for a value that is made.
    pub(super) fn make(&mut self, value: Value, op: &Op) -> Made<Lanes> {
        let lanes = self.lanes(value, op)?;
        let reg = self.fresh(lanes.lanes);
        self.regs.insert(value, reg);
        Ok(Lanes { reg, ..lanes })
    }

    /// How the lanes of a value lie; register 0.
    pub(super) fn lanes(&self, value: Value, op: &Op) -> Made<Lanes> {
        let ty = self.design.module.ty(value);
        let lanes = if let Type::Vector(_) = ty {
            ty.elements().filter(|lanes| *lanes <= MAX_LANES)
        } else {
            Some(1)
        };
        match (Scalar::of(ty), lanes) {
            (Some(scalar), Some(lanes)) if !matches!(ty, Type::MemRef(_) | Type::Tensor(_)) => {
                Ok(Lanes { reg: 0, lanes: lanes as u32, ty: scalar })
            }
            _ if matches!(ty, Type::MemRef(_)) => {
                Err(not_run(&format!("memory that `{}` makes or hands on", op.name), op.span))
            }
            _ => self.fault(op, format!("`{}` has a value of a type that it does not take", op.name)),
        }
    }

    fn operand(&self, op: &Op, at: usize) -> Made<Value> {
        match op.operands.get(at) {
            Some(value) => Ok(*value),
            None => self.fault(op, format!("`{}` has too few operands", op.name)),
        }
    }

    fn result(&self, op: &Op) -> Made<Value> {
        match op.results.as_slice() {
            [value] => Ok(*value),
            _ => self.fault(op, format!("`{}` makes one value", op.name)),
        }
    }

    /// The lanes of an operand.
    pub(super) fn of(&mut self, op: &Op, at: usize) -> Made<Lanes> {
        let value = self.operand(op, at)?;
        let lanes = self.lanes(value, op)?;
        match self.regs.get(&value) {
            Some(reg) => Ok(Lanes { reg: *reg, ..lanes }),
            None => self.fault(op, format!("`{}` is given a value from outside of the core", op.name)),
        }
    }

    /// The register of a memory.
    fn memory(&mut self, op: &Op, at: usize) -> Made<Reg> {
        let value = self.operand(op, at)?;
        if !matches!(self.design.module.ty(value), Type::MemRef(_)) {
            return self.fault(op, format!("operand {at} of `{}` is no memory", op.name));
        }
        if let Some(reg) = self.regs.get(&value) {
            return Ok(*reg);
        }
        let Some(buffer) = self.design.buffers.iter().position(|buffer| buffer.value == value) else {
            return self.fault(op, format!("operand {at} of `{}` is no memory of the tile", op.name));
        };
        let to = self.fresh(1);
        self.push(Inst::Buffer { to, buffer }, op.span);
        Ok(to)
    }

    pub(super) fn op(&mut self, op: &Op) -> Made<()> {
        let span = op.span;
        if let Some(binary) = super::arith::binary_of(&op.name) {
            return self.binary(op, binary);
        }
        if let Some(unary) = unary_of(&op.name) {
            let a = self.of(op, 0)?;
            let to = self.make(self.result(op)?, op)?;
            if !a.ty.is_float() || a.lanes != to.lanes {
                return self.fault(op, format!("`{}` is of numbers", op.name));
            }
            self.push(Inst::Unary { op: unary, to: to.reg, a }, span);
            return Ok(());
        }
        match op.name.as_str() {
            "arith.constant" => self.constant(op),
            "arith.cmpi" | "arith.cmpf" => {
                let predicate = op.find_int("predicate").and_then(|value| u8::try_from(value).ok());
                match predicate {
                    Some(predicate) => self.binary(op, Binary::Compare(predicate)),
                    None => self.fault(op, "a comparison without `predicate`"),
                }
            }
            "arith.select" => self.select(op),
            "arith.extf" | "arith.extsi" | "arith.extui" | "arith.fptosi" | "arith.index_cast"
            | "arith.sitofp" | "arith.truncf" | "arith.trunci" | "arith.uitofp" => self.cast(op),
            "arith.bitcast" => self.bits(op),
            "vector.broadcast" | "vector.fma" => self.lanewise(op),
            "vector.reduction" => self.reduction(op),
            "memref.load" | "vector.load" | "memref.store" | "vector.store" | "memref.alloc"
            | "memref.copy" => self.move_data(op),
            "scf.for" => self.for_loop(op),
            "scf.if" => self.if_else(op),
            "func.call" => self.call(op),
            "aie.end" => Ok(()),
            "aie.use_lock" => self.lock(op),
            TOUCH => self.touch(op),
            "aie.objectfifo.acquire" | "aie.objectfifo.release" => self.objects(op),
            "aie.objectfifo.subview.access" => self.access(op),
            _ => Err(not_run(&format!("`{}` in the body of a core", op.name), span)),
        }
    }

    fn lanewise(&mut self, op: &Op) -> Made<()> {
        let a = self.of(op, 0)?;
        if op.name == "vector.broadcast" {
            let to = self.make(self.result(op)?, op)?;
            if a.lanes != 1 || a.ty != to.ty {
                return self.fault(op, "one value is spread over lanes of its type");
            }
            self.push(Inst::Splat { to: to.reg, from: a.reg, lanes: to.lanes }, op.span);
            return Ok(());
        }
        let (b, c) = (self.of(op, 1)?, self.of(op, 2)?);
        let to = self.make(self.result(op)?, op)?;
        if !a.ty.is_float() || [b, c, to].iter().any(|x| x.lanes != a.lanes || x.ty != a.ty) {
            return self.fault(op, "`vector.fma` is of three vectors of numbers of one type");
        }
        self.push(Inst::Fma { to: to.reg, a, b: b.reg, c: c.reg }, op.span);
        Ok(())
    }

    /// Memory that is made, read, written or copied.
    fn move_data(&mut self, op: &Op) -> Made<()> {
        let inst = match op.name.as_str() {
            "memref.load" | "vector.load" => {
                let (memory, index) = (self.memory(op, 0)?, self.index(op, 0, 1)?);
                let to = self.make(self.result(op)?, op)?;
                self.element(op, 0, to)?;
                Inst::Load { to, memory, index }
            }
            "memref.store" | "vector.store" => {
                let (from, memory) = (self.of(op, 0)?, self.memory(op, 1)?);
                let index = self.index(op, 1, 2)?;
                self.element(op, 1, from)?;
                Inst::Store { from, memory, index }
            }
            "memref.alloc" => {
                let value = self.result(op)?;
                let bytes = self.design.module.ty(value).bytes().filter(|bytes| *bytes <= 1 << 20);
                let Some(bytes) = bytes else {
                    return self.fault(op, "memory of at most 1 MiB and of a fixed size");
                };
                let to = self.fresh(1);
                self.regs.insert(value, to);
                Inst::Alloc { to, bytes }
            }
            _ => {
                let (from, to) = (self.memory(op, 0)?, self.memory(op, 1)?);
                let shape = |at: usize| {
                    let ty = self.design.module.ty(op.operands[at]);
                    ty.shaped().map(|shaped| (shaped.shape.clone(), shaped.element.clone()))
                };
                if shape(0) != shape(1) {
                    return self.fault(op, "`memref.copy` is between memories of one shape and element type");
                }
                Inst::CopyMemory { from, to }
            }
        };
        self.push(inst, op.span);
        Ok(())
    }

    fn binary(&mut self, op: &Op, binary: Binary) -> Made<()> {
        let (a, b) = (self.of(op, 0)?, self.of(op, 1)?);
        let to = self.make(self.result(op)?, op)?;
        let wants_float = op.name.ends_with('f');
        let is_truth = matches!(binary, Binary::Compare(_)) && to.ty == Scalar::Int(1) || to.ty == a.ty;
        if a.lanes != b.lanes
            || a.ty != b.ty
            || a.lanes != to.lanes
            || a.ty.is_float() != wants_float
            || !is_truth
        {
            return self.fault(op, format!("`{}` has operands of other types", op.name));
        }
        self.push(Inst::Binary { op: binary, to: to.reg, a, b: b.reg }, op.span);
        Ok(())
    }

    fn constant(&mut self, op: &Op) -> Made<()> {
        let to = self.make(self.result(op)?, op)?;
        let mut values = Vec::new();
        match op.find("value") {
            Some(Attr::Elements(inner, _)) => flatten(inner, to.ty, &mut values),
            Some(value) => flatten(value, to.ty, &mut values),
            None => {}
        }
        if values.len() == 1 {
            values.resize(to.lanes as usize, values[0]);
        }
        if values.len() != to.lanes as usize {
            return self.fault(op, "a constant of another number of elements than its type has");
        }
        self.push(Inst::Fixed { to: to.reg, values: values.into() }, op.span);
        Ok(())
    }

    fn select(&mut self, op: &Op) -> Made<()> {
        let (condition, a, b) = (self.of(op, 0)?, self.of(op, 1)?, self.of(op, 2)?);
        let to = self.make(self.result(op)?, op)?;
        let fits = condition.lanes == 1 || condition.lanes == a.lanes;
        if !fits || a.lanes != b.lanes || a.ty != b.ty || to.lanes != a.lanes {
            return self.fault(op, "`arith.select` has operands of other types");
        }
        self.push(Inst::Select { to: to.reg, condition, a, b: b.reg }, op.span);
        Ok(())
    }

    fn cast(&mut self, op: &Op) -> Made<()> {
        let from = self.of(op, 0)?;
        let to = self.make(self.result(op)?, op)?;
        let (from_float, to_float) = match op.name.as_str() {
            "arith.extf" | "arith.truncf" => (true, true),
            "arith.fptosi" => (true, false),
            "arith.sitofp" | "arith.uitofp" => (false, true),
            _ => (false, false),
        };
        if from.lanes != to.lanes || from.ty.is_float() != from_float || to.ty.is_float() != to_float {
            return self.fault(op, format!("`{}` is between other types", op.name));
        }
        self.push(
            Inst::Cast { to, from, unsigned: matches!(op.name.as_str(), "arith.extui" | "arith.uitofp") },
            op.span,
        );
        Ok(())
    }

    fn bits(&mut self, op: &Op) -> Made<()> {
        let from = self.of(op, 0)?;
        let to = self.make(self.result(op)?, op)?;
        if from.lanes != to.lanes || from.ty.bytes() != to.ty.bytes() {
            return self.fault(op, "`arith.bitcast` is between types of one size");
        }
        self.push(Inst::Bits { to, from }, op.span);
        Ok(())
    }

    fn reduction(&mut self, op: &Op) -> Made<()> {
        let a = self.of(op, 0)?;
        let to = self.make(self.result(op)?, op)?;
        let kind = match op.find_int("kind") {
            Some(0) => Binary::Plain(BinOp::Add),
            Some(1) => Binary::Plain(BinOp::Mul),
            Some(3 | 12) => Binary::Plain(BinOp::Min),
            Some(4) => Binary::MinNum,
            Some(6 | 11) => Binary::Plain(BinOp::Max),
            Some(7) => Binary::MaxNum,
            Some(8) => Binary::Plain(BinOp::BitAnd),
            Some(9) => Binary::Plain(BinOp::BitOr),
            Some(10) => Binary::Plain(BinOp::BitXor),
            _ => return Err(not_run("this kind of `vector.reduction`", op.span)),
        };
        let of_bits = matches!(
            kind,
            Binary::Plain(BinOp::BitAnd) | Binary::Plain(BinOp::BitOr) | Binary::Plain(BinOp::BitXor)
        );
        if to.lanes != 1 || to.ty != a.ty || of_bits && a.ty.is_float() {
            return self.fault(op, "`vector.reduction` makes one element of the vector's type");
        }
        self.push(Inst::Reduce { op: kind, to: to.reg, a }, op.span);
        Ok(())
    }

    /// What an access moves is of the memory's type.
    fn element(&self, op: &Op, memory: usize, lanes: Lanes) -> Made<()> {
        let ty = self.design.module.ty(self.operand(op, memory)?);
        let moved = if memory == 0 { op.results.first() } else { op.operands.first() };
        let moved = moved.and_then(|value| self.design.module.ty(*value).shaped());
        if moved.is_some_and(|moved| moved.shape.len() > 1) {
            return Err(not_run("a vector of several dimensions", op.span));
        }
        let bare = ty.shaped().is_some_and(|shaped| shaped.rest.is_empty());
        if Scalar::of(ty) != Some(lanes.ty) {
            return self.fault(op, "the memory has elements of another type");
        }
        if !bare {
            return Err(not_run("memory with a layout of its own", op.span));
        }
        Ok(())
    }

    /// The indices of an access, from operand `first` on.
    fn index(&mut self, op: &Op, memory: usize, first: usize) -> Made<Box<[Index]>> {
        let ty = self.design.module.ty(self.operand(op, memory)?).clone();
        let shape = ty.shaped().map(|shaped| shaped.shape.clone()).unwrap_or_default();
        if op.operands.len() != first + shape.len() {
            return self.fault(
                op,
                format!(
                    "memory of {} dimensions is accessed by {} indices",
                    shape.len(),
                    op.operands.len().saturating_sub(first)
                ),
            );
        }
        let mut index = Vec::new();
        let mut stride = 1u64;
        for (i, extent) in shape.iter().enumerate().rev() {
            let Some(extent) = extent else {
                return Err(not_run("memory whose extents a run tells", op.span));
            };
            let at = self.of(op, first + i)?;
            if at.ty != Scalar::Int(64) || at.lanes != 1 {
                return self.fault(op, "an index is of type `index`");
            }
            index.push(Index { reg: at.reg, extent: *extent, stride });
            stride = stride.saturating_mul(*extent);
        }
        index.reverse();
        Ok(index.into())
    }

    fn call(&mut self, op: &Op) -> Made<()> {
        let name = op.find_name("callee").unwrap_or("");
        let Some(kernel) = self.design.kernels.iter().position(|kernel| kernel.name == name) else {
            return Err(Box::new(
                Diagnostic::error(codes::SYMBOL, format!("no function `@{name}` is declared in the device"))
                    .at(op.span, "")
                    .help(format!("declare it there: `func.func private @{name}(…)`")),
            ));
        };
        let mut args = Vec::new();
        for at in 0..op.operands.len() {
            let is_memory = matches!(self.design.module.ty(op.operands[at]), Type::MemRef(_));
            args.push(if is_memory {
                CallArg::Memory(self.memory(op, at)?)
            } else {
                CallArg::Number(self.of(op, at)?)
            });
        }
        let mut results = Vec::new();
        for value in &op.results {
            results.push(self.make(*value, op)?);
        }
        self.push(Inst::Call { kernel, args: args.into(), results: results.into() }, op.span);
        Ok(())
    }

    fn lock(&mut self, op: &Op) -> Made<()> {
        let value = self.operand(op, 0)?;
        let Some(lock) = self.design.locks.iter().position(|lock| lock.value == value) else {
            return match self.design.module.ty(value) {
                Type::Index => Err(not_run("a lock by its number", op.span)),
                _ => self.fault(op, "`aie.use_lock` is of a lock"),
            };
        };
        let (action, value) = (op.find_int("action").unwrap_or(0), op.find_int("value").unwrap_or(1));
        self.push(Inst::Lock { lock, action, value }, op.span);
        Ok(())
    }

    fn touch(&mut self, op: &Op) -> Made<()> {
        let value = self.operand(op, 0)?;
        let (Some(buffer), Some(Attr::Dims(dims)), Some(Attr::Dense(_, factors))) = (
            self.design.buffers.iter().position(|buffer| buffer.value == value),
            op.find("dims"),
            op.find("factors"),
        ) else {
            return self.fault(op, "a use is of a buffer");
        };
        let bytes = self.design.module.ty(value).bytes().unwrap_or(0);
        let int = |name: &str| op.find_int(name).unwrap_or(0);
        let effect = usize::try_from(int("effect")).ok().and_then(|number| Effect::ALL.get(number));
        let how = (*effect.unwrap_or(&Effect::Either), op.span);
        let touch = Touch::new((buffer, bytes), how, (int("offset"), int("width").unsigned_abs()), dims);
        let mut by = Vec::new();
        for (at, factor) in factors.iter().enumerate() {
            by.push((self.of(op, at + 1)?.reg, *factor));
        }
        self.code.touches.push(touch);
        self.push(Inst::Touch { touch: self.code.touches.len() - 1, factors: by.into() }, op.span);
        Ok(())
    }

    fn objects(&mut self, op: &Op) -> Made<()> {
        let name = op.find_name("objFifo_name").unwrap_or("");
        let end = (self.end)(name, op.find_int("port") == Some(0), op.span)?;
        let count = op.find_int("size").and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
        if op.name == "aie.objectfifo.acquire" {
            let to = self.fresh(1);
            self.subviews.insert(self.result(op)?, (end, to));
            self.push(Inst::Acquire { to, end, count }, op.span);
        } else {
            self.push(Inst::Release { end, count }, op.span);
        }
        Ok(())
    }

    fn access(&mut self, op: &Op) -> Made<()> {
        let subview = self.operand(op, 0)?;
        let Some((end, first)) = self.subviews.get(&subview).copied() else {
            return self.fault(op, "an object is one of those that were acquired in this core");
        };
        let to = self.fresh(1);
        self.regs.insert(self.result(op)?, to);
        let index = op.find_int("index").and_then(|index| u32::try_from(index).ok()).unwrap_or(u32::MAX);
        let view = self.code.views;
        self.code.views += 1;
        self.push(Inst::Access { to, first, end, index, view }, op.span);
        Ok(())
    }
}

/// The registers of a constant's elements.
fn flatten(value: &Attr, ty: Scalar, out: &mut Vec<u64>) {
    match (value, ty) {
        (Attr::Array(items), _) => items.iter().for_each(|item| flatten(item, ty, out)),
        (Attr::Bool(truth), Scalar::Int(bits)) => out.push(super::arith::wrap(i64::from(*truth), bits)),
        (Attr::Int(value, _), Scalar::Int(bits)) => out.push(super::arith::wrap(*value, bits)),
        (Attr::Float(value, _), _) if ty.is_float() => out.push(super::arith::from_f64(*value, ty)),
        _ => {}
    }
}
