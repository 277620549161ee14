//! Programs as trees, and their text.

use std::fmt::Write as _;

/// A type of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Bool,
    I32,
    U32,
    I64,
    U64,
}

impl Ty {
    pub(super) fn name(self) -> &'static str {
        match self {
            Ty::Bool => "bool",
            Ty::I32 => "int32_t",
            Ty::U32 => "uint32_t",
            Ty::I64 => "int64_t",
            Ty::U64 => "uint64_t",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    BitAnd,
    BitOr,
    BitXor,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    And,
    Or,
    Min,
    Max,
    CeilDiv,
}

impl Op {
    /// The operator, or the name of the function.
    fn text(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::Rem => "%",
            Op::Shl => "<<",
            Op::Shr => ">>",
            Op::BitAnd => "&",
            Op::BitOr => "|",
            Op::BitXor => "^",
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
            Op::Eq => "==",
            Op::Ne => "!=",
            Op::And => "&&",
            Op::Or => "||",
            Op::Min => "PTO_MIN",
            Op::Max => "PTO_MAX",
            Op::CeilDiv => "PTO_CEIL_DIV",
        }
    }
}

/// An integer array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arr {
    Lens,
    Vals,
    /// That parameter of the helper.
    Param(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Ex {
    /// Not negative.
    Lit(Ty, i128),
    /// A variable of the function.
    Var(usize),
    /// A value of the launch, by number.
    Known(usize),
    /// What a tier condition tests.
    Selector,
    Elem(Arr, Box<Ex>),
    /// A word of the descriptor.
    Field(usize),
    Neg(Box<Ex>),
    Not(Box<Ex>),
    Flip(Box<Ex>),
    Bin(Op, Box<Ex>, Box<Ex>),
    Cond(Box<[Ex; 3]>),
    Cast(Ty, Box<Ex>),
    /// A helper with arrays and numbers.
    Call(usize, Vec<Arr>, Vec<Ex>),
    Select(usize, Box<Ex>),
    /// A slot of a tier of a set, with its indices.
    Alloc(usize, Box<Ex>, Vec<Ex>),
    MaxOf(Arr, Box<Ex>),
    SumOf(Arr, Box<Ex>),
    Blocks,
    /// Items of the third axis for the indices at hand.
    Count,
}

#[derive(Clone, Debug)]
pub(super) enum St {
    Let(usize, Option<Ex>),
    /// With an operator, the value is combined with the old one.
    Set(usize, Option<Op>, Ex),
    If(Ex, Vec<St>, Vec<St>),
    /// `PTO_FOR_EACH`
    Each(usize, Ex, Ex, Vec<St>),
    /// `for (T v = start; v < end; v += step)`
    For(usize, [Ex; 3], Vec<St>),
    While(Ex, Vec<St>),
    Do(Vec<St>, Ex),
    Break,
    Continue,
    Return(Ex),
    /// A task of a descriptor type.
    Emit(Kind, Vec<Ex>),
    /// An inline function.
    Inline(usize, Vec<Ex>),
    /// `PTO_SCHEDULED_FOR` over the axes of the space, with what stands before it.
    Items(String, [usize; 3], Vec<St>),
}

/// A descriptor type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Of the kernels of a tier set.
    Tiered(usize),
    /// Loads what lies in a slot.
    Look,
    /// Adds up what lies in all slots of a key.
    Join,
}

/// In place of the offset of a slot: the task has none. No slot begins there.
pub(super) const NO_SLOT: u32 = (1 << 22) + 1;

pub(super) const TIERED: [&str; 7] = ["tier", "id", "ws", "f0", "f1", "a[0]", "a[1]"];
const LOOK: [&str; 2] = ["id", "ws"];
const JOIN: [&str; 4] = ["tier", "id", "ws", "count"];

#[derive(Clone, Debug)]
pub(super) struct Tier {
    /// None for the default.
    pub(super) cond: Option<Ex>,
    /// Slots' worth of bytes that it reserves per slot.
    pub(super) slots: u32,
    /// The kernel: statements, then the value that it stores.
    pub(super) locals: Vec<Ty>,
    pub(super) body: Vec<St>,
    pub(super) value: Ex,
}

/// A function: of numbers and arrays, or, without a type, inline.
#[derive(Clone, Debug)]
pub(super) struct Func {
    pub(super) ret: Option<Ty>,
    /// Number of array parameters, which come first.
    pub(super) arrays: usize,
    /// Number of parameters among the variables.
    pub(super) params: usize,
    pub(super) locals: Vec<Ty>,
    pub(super) body: Vec<St>,
}

/// The space of the generator.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// First and last index, exclusive, of the second axis.
    pub(super) second: (u32, u32),
    /// Elements per item of the third axis, if it has a tile.
    pub(super) tile: Option<u32>,
    /// Statements of the schedule.
    pub(super) schedule: Option<String>,
}

/// A value of the launch: a parameter, or a constant made of those before it.
#[derive(Clone, Debug)]
pub(super) enum Launch {
    Param(Ty, i128),
    Const(Ty, Ex),
}

#[derive(Clone, Debug)]
pub(super) struct Prog {
    pub(super) known: Vec<Launch>,
    pub(super) sets: Vec<Vec<Tier>>,
    pub(super) funcs: Vec<Func>,
    pub(super) space: Space,
    pub(super) locals: Vec<Ty>,
    pub(super) body: Vec<St>,
    pub(super) lens: Vec<u32>,
    pub(super) vals: Vec<u32>,
    /// Whether `lens` are those of a paged cache.
    pub(super) paged: bool,
}

/// How many statements emit tasks that load slots.
pub(super) fn loading(body: &[St]) -> usize {
    let each = |st: &St| match st {
        St::Emit(Kind::Look | Kind::Join, _) => 1,
        St::If(_, then, other) => loading(then) + loading(other),
        St::Each(.., body)
        | St::For(.., body)
        | St::While(_, body)
        | St::Do(body, _)
        | St::Items(.., body) => loading(body),
        _ => 0,
    };
    body.iter().map(each).sum()
}

impl Prog {
    pub(super) fn text(&self) -> String {
        let mut out =
            String::from("PTO_SHAPE(vals, M)\nPTO_SHAPE(y, rows, 1)\nPTO_PARAM(uint32_t, rows, 1)\n");
        match self.paged {
            true => out.push_str("PTO_SHAPE(kv_cache, B, PTO_DYNAMIC, 1, 1)\n"),
            false => out.push_str("PTO_SHAPE(lens, B)\n"),
        }
        out.push_str("PTO_WORKSPACE(p, float, 1, 1)\nconst uint32_t FIELDS = PTO_SLOT_BYTES;\n");
        for (n, known) in self.known.iter().enumerate() {
            let line = match known {
                // Its value is given at launch.
                Launch::Param(ty, _) => format!("PTO_PARAM({}, g{n}, 0)\n", ty.name()),
                Launch::Const(ty, e) => format!("const {} g{n} = {};\n", ty.name(), text(e)),
            };
            out.push_str(&line);
        }
        self.space(&mut out);
        out.push_str("struct L { uint32_t id, ws; };\nstruct J { uint32_t tier, id, ws, count; };\n");
        for (s, set) in self.sets.iter().enumerate() {
            let _ = writeln!(out, "struct D{s} {{ uint32_t tier, id, ws, f0, f1; uint32_t a[2]; }};");
            self.tiers(s, set, &mut out);
        }
        for (n, f) in self.funcs.iter().enumerate() {
            self.function(n, f, &mut out);
        }
        out.push_str("PTO_DESCRIPTOR_GEN(S) {\n");
        if self.paged {
            out.push_str("  const uint32_t* lens = PTO_GET_INPUT_LENS(kv_cache);\n");
        }
        block(&self.locals, &self.body, &mut out);
        out.push_str("}\n");
        out.push_str("PTO_KERNEL_IMPL(look) { auto d = PTO_GET_DESCRIPTOR<L>(); PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(p, {d.ws, 0, 0}), {d.id, 0}); }\n");
        out.push_str("PTO_KERNEL_IMPL(join) { auto d = PTO_GET_DESCRIPTOR<J>(); float sum = 0.0f;\n");
        out.push_str("  for (uint32_t j = 0; j < d.count; ++j) { sum += PTO_LOAD_SCALAR(p, {d.ws + j * PTO_TIER_SLOT_BYTES(T0, d.tier), 0, 0}); }\n");
        out.push_str("  PTO_STORE_SCALAR(y, sum, {d.id, 0}); }\n");
        match self.paged {
            true => out.push_str("void go(PagedKVCache kv, uint32_t* vals, Tensor<float> y) { PTO_LAUNCH(S, { .kv_cache = kv, .vals = vals, .y = y }); }\n"),
            false => out.push_str("void go(uint32_t* lens, uint32_t* vals, Tensor<float> y) { PTO_LAUNCH(S, { .lens = lens, .vals = vals, .y = y }); }\n"),
        }
        out
    }

    fn space(&self, out: &mut String) {
        let (first, end) = self.space.second;
        let _ = write!(
            out,
            "PTO_SPACE(S) {{ PTO_AXIS(b, 0, B) PTO_AXIS(h, {first}, {end}) PTO_AXIS(c, 0, PTO_DYNAMIC)"
        );
        if let Some(tile) = self.space.tile {
            let _ = write!(out, " PTO_TILE(c, {tile})");
        }
        out.push_str(" }\n");
        if let Some(schedule) = &self.space.schedule {
            let _ = writeln!(out, "PTO_SCHEDULE(Q) {{ {schedule} }}");
        }
    }

    fn tiers(&self, s: usize, set: &[Tier], out: &mut String) {
        let _ = write!(out, "PTO_TIER_DEF(T{s}) {{");
        for (t, tier) in set.iter().enumerate() {
            let bytes = match tier.slots {
                0 => String::new(),
                1 => ", PTO_SLOT_BYTES".to_owned(),
                n => format!(", PTO_SLOT_BYTES * {n}"),
            };
            let _ = match &tier.cond {
                Some(cond) => write!(out, " PTO_TIER({}, k{s}_{t}{bytes})", text(cond)),
                None => write!(out, " PTO_DEFAULT(k{s}_{t}{bytes})"),
            };
        }
        out.push_str(" }\n");
        for (t, tier) in set.iter().enumerate() {
            let _ = writeln!(out, "PTO_KERNEL_IMPL(k{s}_{t}) {{\n  auto d = PTO_GET_DESCRIPTOR<D{s}>();");
            block(&tier.locals, &tier.body, out);
            let _ = writeln!(
                out,
                "  PTO_STORE_SCALAR(y, float((int64_t)({}) % 8191), {{d.id, 0}});",
                text(&tier.value)
            );
            if tier.slots > 0 {
                let _ = writeln!(
                    out,
                    "  if (d.ws != {NO_SLOT}) {{ for (uint32_t j = 0; j < {}; ++j) {{
                    PTO_STORE_SCALAR(p, float((d.id * 7 + j + {t}) % 509), {{d.ws + j * FIELDS, 0, 0}}); }} }}",
                    tier.slots
                );
            }
            out.push_str("}\n");
        }
    }

    fn function(&self, n: usize, f: &Func, out: &mut String) {
        let arrays = (0..f.arrays).map(|a| format!("const uint32_t* a{a}"));
        let numbers = f.locals[..f.params].iter().enumerate().map(|(v, ty)| format!("{} v{v}", ty.name()));
        let params = arrays.chain(numbers).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "{} f{n}({params}) {{", f.ret.map_or("void", Ty::name));
        block(&f.locals, &f.body, out);
        out.push_str("}\n");
    }
}

fn block(locals: &[Ty], body: &[St], out: &mut String) {
    for st in body {
        statement(locals, st, out);
    }
}

fn braced(locals: &[Ty], body: &[St], out: &mut String) {
    out.push_str(" {\n");
    block(locals, body, out);
    out.push_str("}\n");
}

fn statement(locals: &[Ty], st: &St, out: &mut String) {
    let _ = match st {
        St::Let(v, None) => writeln!(out, "  {} v{v};", locals[*v].name()),
        St::Let(v, Some(e)) => writeln!(out, "  {} v{v} = {};", locals[*v].name(), text(e)),
        St::Set(v, None, e) => writeln!(out, "  v{v} = {};", text(e)),
        St::Set(v, Some(op), e) => writeln!(out, "  v{v} {}= {};", op.text(), text(e)),
        St::If(c, then, other) => {
            let _ = write!(out, "  if ({})", text(c));
            braced(locals, then, out);
            if !other.is_empty() {
                out.push_str("  else");
                braced(locals, other, out);
            }
            Ok(())
        }
        St::Each(v, start, end, body) => {
            let _ = write!(out, "  PTO_FOR_EACH(v{v}, {}, {})", text(start), text(end));
            braced(locals, body, out);
            Ok(())
        }
        St::For(v, [start, end, step], body) => {
            let ty = locals[*v].name();
            let _ = write!(
                out,
                "  for ({ty} v{v} = {}; v{v} < {}; v{v} += {})",
                text(start),
                text(end),
                text(step)
            );
            braced(locals, body, out);
            Ok(())
        }
        St::While(c, body) => {
            let _ = write!(out, "  while ({})", text(c));
            braced(locals, body, out);
            Ok(())
        }
        St::Do(body, c) => {
            out.push_str("  do");
            braced(locals, body, out);
            writeln!(out, "  while ({});", text(c))
        }
        St::Break => writeln!(out, "  break;"),
        St::Continue => writeln!(out, "  continue;"),
        St::Return(e) => writeln!(out, "  return {};", text(e)),
        St::Emit(kind, fields) => writeln!(out, "  PTO_EMIT_DESCRIPTOR({});", descriptor(*kind, fields)),
        St::Inline(f, args) => writeln!(out, "  f{f}({});", list(args)),
        St::Items(before, [b, h, c], body) => {
            let _ = write!(out, "  {before}PTO_SCHEDULED_FOR(v{b}, v{h}, v{c})");
            braced(locals, body, out);
            Ok(())
        }
    };
}

fn descriptor(kind: Kind, fields: &[Ex]) -> String {
    let named = |name: &str, fields: &[&str], values: &[Ex]| {
        let set = fields.iter().zip(values).map(|(f, e)| format!(".{f} = {}", text(e)));
        format!("{name}{{ {} }}", set.collect::<Vec<_>>().join(", "))
    };
    match kind {
        Kind::Tiered(s) => named(&format!("D{s}"), &TIERED, fields),
        Kind::Look => named("L", &LOOK, fields),
        Kind::Join => named("J", &JOIN, fields),
    }
}

fn array(a: Arr) -> String {
    match a {
        Arr::Lens => "lens".to_owned(),
        Arr::Vals => "vals".to_owned(),
        Arr::Param(n) => format!("a{n}"),
    }
}

fn list(list: &[Ex]) -> String {
    list.iter().map(text).collect::<Vec<_>>().join(", ")
}

pub(super) fn text(e: &Ex) -> String {
    match e {
        Ex::Lit(Ty::Bool, v) => (*v != 0).to_string(),
        Ex::Lit(ty, v) => {
            let suffix = match ty {
                Ty::U32 => "u",
                Ty::I64 => "ll",
                Ty::U64 => "ull",
                Ty::I32 | Ty::Bool => "",
            };
            format!("{v}{suffix}")
        }
        Ex::Var(v) => format!("v{v}"),
        Ex::Known(n) => format!("g{n}"),
        Ex::Selector => "len".to_owned(),
        Ex::Elem(a, i) => format!("{}[{}]", array(*a), text(i)),
        Ex::Field(f) => format!("d.{}", TIERED[*f]),
        Ex::Neg(a) => format!("(-{})", text(a)),
        Ex::Not(a) => format!("(!{})", text(a)),
        Ex::Flip(a) => format!("(~{})", text(a)),
        Ex::Bin(op @ (Op::Min | Op::Max | Op::CeilDiv), a, b) => {
            format!("{}({}, {})", op.text(), text(a), text(b))
        }
        Ex::Bin(op, a, b) => format!("({} {} {})", text(a), op.text(), text(b)),
        Ex::Cond(parts) => format!("({} ? {} : {})", text(&parts[0]), text(&parts[1]), text(&parts[2])),
        Ex::Cast(ty, a) => format!("({})({})", ty.name(), text(a)),
        Ex::Call(f, arrays, args) => {
            let all: Vec<String> = arrays.iter().map(|a| array(*a)).chain(args.iter().map(text)).collect();
            format!("f{f}({})", all.join(", "))
        }
        Ex::Select(s, e) => format!("PTO_SELECT_TIER(T{s}, {})", text(e)),
        Ex::Alloc(_, tier, args) => {
            let all: Vec<String> = std::iter::once(&**tier).chain(args).map(text).collect();
            format!("PTO_ALLOC_WS({})", all.join(", "))
        }
        Ex::MaxOf(a, n) => format!("*std::max_element({0}, {0} + {1})", array(*a), text(n)),
        Ex::SumOf(a, n) => format!("std::accumulate({0}, {0} + {1}, 0)", array(*a), text(n)),
        Ex::Blocks => "PTO_GET_MAX_BLOCKS()".to_owned(),
        Ex::Count => "PTO_ITEM_COUNT(c)".to_owned(),
    }
}
