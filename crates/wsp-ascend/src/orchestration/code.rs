//! Generators as code that AICPUs interpret: words for `pto/wsp/backend/npu/generator_code.hpp`.

use super::Source;
use super::launch::printer;
use super::workload::{hex, list};
use crate::kernels::codes;
use crate::writer::Writer;
use wsp_core::{FuncId, LocalId, ParamId, TierSetId};
use wsp_diag::Diagnostic;
use wsp_ir::{
    Arg, ArrayRef, BinOp, Block, Const, Expr, ExprKind, ExtentSource, LaunchArray, MathFn, MetaKind,
    ScalarTy, Stmt, StmtKind, UnOp, WsSlot,
};

macro_rules! ops {
    ($($name:ident = $text:literal,)*) => {
        /// An operation, by its place among those of the header.
        #[derive(Clone, Copy)]
        #[repr(u8)]
        enum Op { $($name,)* }

        /// Their names in the header.
        #[cfg(test)]
        const OPS: &[&str] = &[$($text,)*];
    };
}

ops! {
    Halt = "halt",
    Constant = "constant",
    Parameter = "parameter",
    Local = "local",
    Set = "set",
    Not = "no",
    Neg = "neg",
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    Div = "div",
    Rem = "rem",
    CeilDiv = "ceil_div",
    Min = "min",
    Max = "max",
    Shl = "shl",
    Shr = "shr",
    BitAnd = "bit_and",
    BitOr = "bit_or",
    BitXor = "bit_xor",
    Lt = "lt",
    Le = "le",
    Gt = "gt",
    Ge = "ge",
    Eq = "eq",
    Ne = "ne",
    Cast = "cast",
    Math = "math",
    Load = "load",
    ArrayMax = "array_max",
    ArraySum = "array_sum",
    ArrayLen = "array_len",
    Jump = "jump",
    JumpZero = "jump_zero",
    Step = "step",
    AtLeast1 = "at_least_1",
    Advance = "advance",
    Call = "call",
    Result = "result",
    Leave = "leave",
    NoTier = "no_tier",
    Alloc = "alloc",
    MaxBlocks = "max_blocks",
    AxisExtent = "axis_extent",
    AxisTile = "axis_tile",
    SetTile = "set_tile",
    SetExtent = "set_extent",
    SetExtents = "set_extents",
    Enter = "enter",
    Emit = "emit",
    Fence = "fence",
}

/// All ones: none.
const NONE: u32 = u32::MAX;

/// The file of the code.
pub(super) const FILE: &str = "program.inc";

/// Generators as code.
pub(super) struct Code {
    words: Vec<u32>,
    /// Where each function begins, what it takes and its variables.
    functions: Vec<[u32; 3]>,
    /// Arrays of the launch that they read.
    arrays: Vec<ArrayRef>,
}

/// A function under way.
struct Coder<'a> {
    source: &'a Source<'a>,
    code: Code,
    /// Functions by their places: generators of stages, then helpers as they are called.
    called: Vec<FuncId>,
    /// Variables of the function, with those for values on the way.
    locals: u32,
    /// What a condition of tiers is about: its variable and type.
    selector: Option<(u32, ScalarTy)>,
    loops: Vec<Loop>,
    found: Vec<Diagnostic>,
}

/// Words that are to lead out of a loop, and to its next pass.
#[derive(Default)]
struct Loop {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

/// The code of all generators.
///
/// # Errors
/// Expressions over tiles.
pub(super) fn code(source: &Source<'_>) -> Result<Code, Vec<Diagnostic>> {
    let (module, stages) = (&source.plan.module, &source.plan.stages);
    let mut coder = Coder {
        source,
        code: Code { words: Vec::new(), functions: Vec::new(), arrays: Vec::new() },
        called: stages.iter().map(|stage| stage.generator).collect(),
        locals: 0,
        selector: None,
        loops: Vec::new(),
        found: Vec::new(),
    };
    for (at, stage) in (0..).zip(stages) {
        let axes = &module.spaces[stage.space.index()].axes;
        coder.op(Op::Enter);
        coder.words([at, axes.len() as u32]);
        coder.words(axes.iter().map(|axis| axis.0));
        coder.op(Op::Call);
        coder.words([at]);
    }
    coder.op(Op::Halt);
    while let Some(function) = coder.called.get(coder.code.functions.len()) {
        coder.function(*function);
    }
    if coder.found.is_empty() { Ok(coder.code) } else { Err(coder.found) }
}

impl Code {
    /// `program.inc`.
    pub(super) fn text(&self, source: &Source<'_>) -> String {
        let mut out = Writer::default();
        out.line("// The generators of the program as code, which AICPUs interpret. Emitted by PTO-WSP; do not edit.");
        out.line("#include \"pto/wsp/backend/npu/generator_code.hpp\"");
        out.line("");
        out.line("namespace program {");
        out.line("");
        hex(&mut out, "words", self.words.iter().copied());
        out.line("// Where each function begins, what it takes and its variables.");
        let functions =
            self.functions.iter().map(|[entry, params, locals]| format!("{{{entry}, {params}, {locals}}}"));
        list(&mut out, "static const code::Function", "functions", "{0, 0, 0}", functions);
        out.line("// Words of each descriptor.");
        let structs = &source.plan.module.structs;
        let fields = structs.iter().map(|def| def.fields.len().to_string());
        list(&mut out, "static const std::uint32_t", "fields", "0", fields);
        out.line(format!(
            "static const code::Program generators{{words, {}, functions, {}, fields, {}}};",
            self.words.len(),
            self.functions.len(),
            structs.len()
        ));
        out.line("");
        out.line("}  // namespace program");
        out.finish()
    }

    /// The function that runs them.
    pub(super) fn generate(&self, out: &mut Writer, source: &Source<'_>) {
        let (params, printer) = (source.plan.module.params.len(), printer(source));
        out.line("// Runs every generator.");
        out.open("template <class Out> static void generate(const Launch& l, Planner& s, Out& out) {");
        let words =
            (0..params as u32).map(|at| format!("generator::word(l.{})", source.names.param(ParamId(at))));
        list(out, "const std::uint64_t", "params", "0", words);
        list(out, "const IntArray", "arrays", "{}", self.arrays.iter().map(|array| printer.array(*array)));
        let arrays = self.arrays.len();
        out.line(format!(
            "code::run(generators, code::Given{{params, {params}, arrays, {arrays}}}, l, s, out);"
        ));
        out.close("}");
        out.line("");
    }
}

impl Coder<'_> {
    fn words(&mut self, words: impl IntoIterator<Item = u32>) {
        self.code.words.extend(words);
    }

    fn op(&mut self, op: Op) {
        self.words([op as u32]);
    }

    fn typed(&mut self, op: Op, ty: ScalarTy) {
        self.words([op as u32 | code_of(ty) << 8]);
    }

    fn here(&self) -> u32 {
        self.code.words.len() as u32
    }

    /// A jump whose end comes later.
    fn jump(&mut self, op: Op) -> usize {
        self.op(op);
        self.words([NONE]);
        self.code.words.len() - 1
    }

    fn land(&mut self, jumps: impl IntoIterator<Item = usize>) {
        let here = self.here();
        jumps.into_iter().for_each(|at| self.code.words[at] = here);
    }

    fn variable(&mut self) -> u32 {
        self.locals += 1;
        self.locals - 1
    }

    fn local(&mut self, op: Op, at: u32) {
        self.op(op);
        self.words([at]);
    }

    fn bits(&mut self, bits: u64) {
        self.op(Op::Constant);
        self.words([bits as u32, (bits >> 32) as u32]);
    }

    fn function(&mut self, id: FuncId) {
        let function = &self.source.plan.module.functions[id.index()];
        let entry = self.here();
        self.locals = function.locals.len() as u32;
        self.block(&function.body);
        if function.ret.is_some() {
            self.bits(0);
            self.op(Op::Result);
        } else {
            self.op(Op::Leave);
        }
        self.code.functions.push([entry, function.params, self.locals]);
    }

    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { local, init } => {
                match init {
                    Some(init) => self.expr(init),
                    None => self.bits(0),
                }
                self.local(Op::Set, local.0);
            }
            StmtKind::LetArray { local, array } => {
                self.array(*array);
                self.local(Op::Set, local.0);
            }
            StmtKind::Assign { local, value } => {
                self.expr(value);
                self.local(Op::Set, local.0);
            }
            StmtKind::If { cond, then, otherwise } => {
                self.expr(cond);
                let no = self.jump(Op::JumpZero);
                self.block(then);
                let end = (!otherwise.is_empty()).then(|| self.jump(Op::Jump));
                self.land([no]);
                self.block(otherwise);
                self.land(end);
            }
            StmtKind::For { var, start, end, step, body } => self.counted(*var, [start, end, step], body),
            StmtKind::While { cond, step, body } => self.conditional(cond, step, body),
            StmtKind::Break => {
                let at = self.jump(Op::Jump);
                self.loops.last_mut().into_iter().for_each(|of| of.breaks.push(at));
            }
            StmtKind::Continue => {
                let at = self.jump(Op::Jump);
                self.loops.last_mut().into_iter().for_each(|of| of.continues.push(at));
            }
            StmtKind::Return(Some(value)) => {
                self.expr(value);
                self.op(Op::Result);
            }
            StmtKind::Return(None) => self.op(Op::Leave),
            StmtKind::Emit { descriptor, fields, hints } => {
                fields.iter().for_each(|field| self.expr(field));
                match &hints.priority {
                    Some(priority) => self.cast(priority, ScalarTy::I32),
                    None => self.bits(0),
                }
                self.op(Op::Emit);
                self.words([descriptor.0]);
            }
            StmtKind::Fence => self.op(Op::Fence),
            StmtKind::SetTile { axis, size } => {
                self.expr(size);
                self.op(Op::SetTile);
                self.words([axis.0]);
            }
            StmtKind::SetExtent { axis, extent, last: _ } => {
                let op = match extent {
                    ExtentSource::Scalar(e) => {
                        self.expr(e);
                        Op::SetExtent
                    }
                    ExtentSource::PerOuter(array) => {
                        self.array(*array);
                        Op::SetExtents
                    }
                };
                self.op(op);
                self.words([axis.0]);
            }
            // Lowering leaves none of the first two; the others stand in kernels.
            StmtKind::ScheduledFor { .. }
            | StmtKind::ApplySchedule(_)
            | StmtKind::Tile(_)
            | StmtKind::StoreScalar { .. } => {}
        }
    }

    /// `start`, `end` and `step` are evaluated once.
    fn counted(&mut self, var: LocalId, [start, end, step]: [&Expr; 3], body: &Block) {
        let (to, by) = (self.variable(), self.variable());
        [start, end, step].into_iter().for_each(|e| self.expr(e));
        self.typed(Op::AtLeast1, start.ty);
        [by, to, var.0].into_iter().for_each(|at| self.local(Op::Set, at));
        let again = self.here();
        self.local(Op::Local, var.0);
        self.local(Op::Local, to);
        self.typed(Op::Lt, start.ty);
        let end = self.jump(Op::JumpZero);
        self.op(Op::Step);
        self.loops.push(Loop::default());
        self.block(body);
        let Loop { breaks, continues } = self.loops.pop().unwrap_or_default();
        self.land(continues);
        [var.0, to, by].into_iter().for_each(|at| self.local(Op::Local, at));
        self.typed(Op::Advance, start.ty);
        self.local(Op::Set, var.0);
        self.local(Op::Jump, again);
        self.land(breaks.into_iter().chain([end]));
    }

    fn conditional(&mut self, cond: &Expr, step: &Block, body: &Block) {
        self.op(Op::Step);
        let first = self.jump(Op::Jump);
        let again = self.here();
        self.op(Op::Step);
        self.block(step);
        self.land([first]);
        self.expr(cond);
        let end = self.jump(Op::JumpZero);
        self.loops.push(Loop::default());
        self.block(body);
        let Loop { breaks, continues } = self.loops.pop().unwrap_or_default();
        self.local(Op::Jump, again);
        continues.into_iter().for_each(|at| self.code.words[at] = again);
        self.land(breaks.into_iter().chain([end]));
    }

    fn cast(&mut self, e: &Expr, to: ScalarTy) {
        self.expr(e);
        self.convert(e.ty, to);
    }

    fn convert(&mut self, from: ScalarTy, to: ScalarTy) {
        self.words([Op::Cast as u32 | code_of(to) << 8 | code_of(from) << 16]);
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Const(value) => self.bits(bits_of(*value, e.ty)),
            ExprKind::Param(id) => self.local(Op::Parameter, id.0),
            ExprKind::Local(local) => self.local(Op::Local, local.0),
            ExprKind::Selector => {
                let Some((at, ty)) = self.selector else { return self.lacks(e) };
                self.local(Op::Local, at);
                self.convert(ty, e.ty);
            }
            ExprKind::Unary(op, a) => {
                self.expr(a);
                self.typed(if *op == UnOp::Not { Op::Not } else { Op::Neg }, e.ty);
            }
            ExprKind::Binary(op, a, b) => {
                self.expr(a);
                self.joined(*op, a.ty, b);
            }
            ExprKind::Chain(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(op, b)| self.joined(*op, e.ty, b));
            }
            ExprKind::Cast(a) => self.cast(a, e.ty),
            ExprKind::Select(cond, a, b) => self.choose(cond, |own| own.expr(a), |own| own.expr(b)),
            ExprKind::Math(f, a) => {
                self.expr(a);
                self.typed(Op::Math, e.ty);
                self.words([number_of(*f)]);
            }
            ExprKind::Load(array, at) => self.elements(Op::Load, *array, at, e.ty),
            ExprKind::ArrayMax(array, n) => self.elements(Op::ArrayMax, *array, n, e.ty),
            ExprKind::ArraySum(array, n) => self.elements(Op::ArraySum, *array, n, e.ty),
            ExprKind::ArrayLen(array) => {
                self.array(*array);
                self.typed(Op::ArrayLen, e.ty);
            }
            ExprKind::Call(function, args) => self.call(*function, args),
            ExprKind::SelectTier(set, value) => self.tier(*set, value),
            ExprKind::AllocWs(slot) => self.alloc(slot),
            ExprKind::MaxBlocks => self.op(Op::MaxBlocks),
            ExprKind::AxisExtent(axis) => self.local(Op::AxisExtent, axis.0),
            ExprKind::AxisTile(axis) => {
                let lengths = LaunchArray::Meta(wsp_core::CacheId(0), MetaKind::Lengths);
                let lengths = match self.source.plan.module.caches.as_slice() {
                    [_] => self.array_number(lengths.into()),
                    _ => NONE,
                };
                self.op(Op::AxisTile);
                self.words([axis.0, lengths]);
            }
            ExprKind::Field(..)
            | ExprKind::ItemBegin(_)
            | ExprKind::ItemEnd(_)
            | ExprKind::ItemCount(_)
            | ExprKind::TileMax(_)
            | ExprKind::TileSum(_)
            | ExprKind::TileRows(_)
            | ExprKind::TileCols(_)
            | ExprKind::LoadScalar(..) => self.lacks(e),
        }
    }

    /// The left side of an operator is on the stack.
    fn joined(&mut self, op: BinOp, ty: ScalarTy, b: &Expr) {
        if op.is_logic() {
            let decides = u64::from(op == BinOp::Or);
            if op == BinOp::Or {
                self.op(Op::Not);
            }
            let short = self.jump(Op::JumpZero);
            self.expr(b);
            let end = self.jump(Op::Jump);
            self.land([short]);
            self.bits(decides);
            return self.land([end]);
        }
        self.expr(b);
        self.typed(op_of(op), ty);
    }

    fn choose(&mut self, cond: &Expr, a: impl FnOnce(&mut Self), b: impl FnOnce(&mut Self)) {
        self.expr(cond);
        let no = self.jump(Op::JumpZero);
        a(self);
        let end = self.jump(Op::Jump);
        self.land([no]);
        b(self);
        self.land([end]);
    }

    fn elements(&mut self, op: Op, array: ArrayRef, at: &Expr, ty: ScalarTy) {
        self.array(array);
        self.expr(at);
        self.typed(op, ty);
    }

    fn array_number(&mut self, array: ArrayRef) -> u32 {
        let at = self.code.arrays.iter().position(|known| *known == array);
        at.unwrap_or_else(|| {
            self.code.arrays.push(array);
            self.code.arrays.len() - 1
        }) as u32
    }

    /// An array is its number.
    fn array(&mut self, array: ArrayRef) {
        match array {
            ArrayRef::Local(local) => self.local(Op::Local, local.0),
            array => {
                let at = self.array_number(array);
                self.bits(at.into());
            }
        }
    }

    fn call(&mut self, function: FuncId, args: &[Arg]) {
        for arg in args {
            match arg {
                Arg::Scalar(e) => self.expr(e),
                Arg::Array(array) => self.array(*array),
            }
        }
        let at = self.called.iter().position(|known| *known == function).unwrap_or_else(|| {
            self.called.push(function);
            self.called.len() - 1
        });
        self.local(Op::Call, at as u32);
    }

    /// The first tier whose condition holds.
    fn tier(&mut self, set: TierSetId, value: &Expr) {
        let tiers = &self.source.plan.module.tier_sets[set.index()].tiers;
        let at = self.variable();
        self.expr(value);
        self.local(Op::Set, at);
        let outer = self.selector.replace((at, value.ty));
        let mut ends = Vec::new();
        let mut is_open = true;
        for (number, tier) in (0u64..).zip(tiers) {
            let Some(cond) = &tier.cond else {
                self.bits(number);
                is_open = false;
                break;
            };
            self.expr(cond);
            let next = self.jump(Op::JumpZero);
            self.bits(number);
            ends.push(self.jump(Op::Jump));
            self.land([next]);
        }
        if is_open {
            self.op(Op::NoTier);
        }
        self.land(ends);
        self.selector = outer;
    }

    fn alloc(&mut self, slot: &WsSlot) {
        slot.key.iter().for_each(|e| self.expr(e));
        self.bytes(slot.tiers, &slot.tier);
        self.expr(&slot.count);
        self.expr(&slot.index);
        self.op(Op::Alloc);
        self.words([slot.tiers.0, slot.key.len() as u32]);
    }

    /// How many bytes of workspace a tier has.
    fn bytes(&mut self, set: TierSetId, tier: &Expr) {
        let tiers = &self.source.plan.module.tier_sets[set.index()].tiers;
        let at = self.variable();
        self.expr(tier);
        self.local(Op::Set, at);
        let mut ends = Vec::new();
        for (number, tier) in (0u64..).zip(tiers) {
            self.local(Op::Local, at);
            self.bits(number);
            self.typed(Op::Eq, ScalarTy::U32);
            let next = self.jump(Op::JumpZero);
            match &tier.workspace {
                Some(bytes) => self.cast(bytes, ScalarTy::U32),
                None => self.bits(0),
            }
            ends.push(self.jump(Op::Jump));
            self.land([next]);
        }
        self.op(Op::NoTier);
        self.land(ends);
    }

    fn lacks(&mut self, e: &Expr) {
        let message = "an expression over tiles in a generator has no code";
        self.found.push(Diagnostic::error(codes::NOT_EMITTED, message).at(e.span, "here"));
    }
}

/// The number of a type in the header.
fn code_of(ty: ScalarTy) -> u32 {
    match ty {
        ScalarTy::Bool => 0,
        ScalarTy::I32 => 1,
        ScalarTy::U32 => 2,
        ScalarTy::I64 => 3,
        ScalarTy::U64 => 4,
        ScalarTy::F32 => 5,
        ScalarTy::F64 => 6,
    }
}

fn bits_of(value: Const, ty: ScalarTy) -> u64 {
    match value {
        Const::Bool(value) => value.into(),
        Const::Int(value) if ty.is_float() => real(value as f64, ty),
        // The lower bits of the two's complement.
        Const::Int(value) => value as u64,
        Const::Float(value) => real(value, ty),
    }
}

fn real(value: f64, ty: ScalarTy) -> u64 {
    if ty == ScalarTy::F32 { (value as f32).to_bits().into() } else { value.to_bits() }
}

fn number_of(f: MathFn) -> u32 {
    match f {
        MathFn::Exp => 0,
        MathFn::Exp2 => 1,
        MathFn::Log => 2,
        MathFn::Log2 => 3,
        MathFn::Sqrt => 4,
        MathFn::Abs => 5,
        MathFn::Sin => 6,
        MathFn::Cos => 7,
    }
}

fn op_of(op: BinOp) -> Op {
    match op {
        BinOp::Add => Op::Add,
        BinOp::Sub => Op::Sub,
        BinOp::Mul => Op::Mul,
        BinOp::Div => Op::Div,
        BinOp::Rem => Op::Rem,
        BinOp::Lt => Op::Lt,
        BinOp::Le => Op::Le,
        BinOp::Gt => Op::Gt,
        BinOp::Ge => Op::Ge,
        BinOp::Eq | BinOp::And | BinOp::Or => Op::Eq,
        BinOp::Ne => Op::Ne,
        BinOp::BitAnd => Op::BitAnd,
        BinOp::BitOr => Op::BitOr,
        BinOp::BitXor => Op::BitXor,
        BinOp::Shl => Op::Shl,
        BinOp::Shr => Op::Shr,
        BinOp::Min => Op::Min,
        BinOp::Max => Op::Max,
        BinOp::CeilDiv => Op::CeilDiv,
    }
}

#[cfg(test)]
mod tests {
    use super::OPS;

    /// The header lists the same operations in the same order.
    #[test]
    fn operations_are_those_of_the_header() {
        let header = include_str!("../../include/pto/wsp/backend/npu/generator_code.hpp");
        let (_, from) = header.split_once("enum class Op : std::uint8_t {").unwrap();
        let (list, _) = from.split_once("};").unwrap();
        let names: Vec<&str> =
            list.lines().filter_map(|line| line.trim().split_once(',')).map(|(name, _)| name).collect();
        assert_eq!(names.split_last(), Some((&"count", OPS)));
    }
}
