//! Scalar expressions as C++, and what a kernel takes as arguments for them.

use super::paged::{self, Pages};
use super::{Told, codes};
use crate::places::literal_place;
use std::cell::RefCell;
use std::fmt::Write as _;
use wsp_core::{AxisId, CacheId, DType, LocalId, ParamId, TensorId};
use wsp_diag::{Diagnostic, SourceMap, Span};
use wsp_ir::{
    ArrayRef, BinOp, Const, Dim, Elem, Expr, ExprKind, Function, Local, LocalTy, MathFn, ScalarTy, UnOp,
    Verified,
};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::{Known, fold};

/// A number that a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Number {
    /// A word of the descriptor.
    Field(u32),
    /// A parameter of the program.
    Param(ParamId),
    /// How many elements an axis has.
    Extent(AxisId),
    /// How many iterations an axis has: a dimension of a temporary tensor.
    Iterations(AxisId),
    /// How the pages of a cache lie.
    Pages(CacheId, Pages),
    /// A variable of the kernel that a task is part of: what runs the tasks computes it.
    Local(LocalId),
}

/// What a kernel takes: found while it is printed.
#[derive(Clone, Default)]
pub(super) struct Arguments {
    pub(super) tensors: OrderedSet<TensorId>,
    pub(super) numbers: OrderedSet<Number>,
    /// Tensors of which expressions read elements.
    pub(super) elements: OrderedSet<TensorId>,
}

/// Prints expressions of one kernel.
pub(super) struct Scalars<'a> {
    pub(super) module: &'a Verified,
    known: Known<'a>,
    sources: Option<&'a SourceMap>,
    kernel: String,
    fields: Vec<String>,
    tensors: Vec<String>,
    pub(super) locals: &'a [Local],
    /// What array variables stand for.
    arrays: RefCell<OrderedMap<LocalId, ArrayRef>>,
    pub(super) arguments: RefCell<Arguments>,
    found: RefCell<Vec<Diagnostic>>,
}

/// The size or the distance of a dimension.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Size {
    Known(u64),
    Text(String),
}

impl Size {
    /// As a value of 64 bits in C++.
    pub(super) fn text(&self) -> String {
        match self {
            Size::Known(n) => n.to_string(),
            Size::Text(text) => text.clone(),
        }
    }

    /// The known value.
    pub(super) fn known(&self) -> Option<u64> {
        match self {
            Size::Known(n) => Some(*n),
            Size::Text(_) => None,
        }
    }

    pub(super) fn times(&self, other: &Size) -> Size {
        match (self, other) {
            (Size::Known(a), Size::Known(b)) => Size::Known(a.saturating_mul(*b)),
            (Size::Known(1), other) | (other, Size::Known(1)) => other.clone(),
            (a, b) => Size::Text(format!("{} * {}", a.text(), b.text())),
        }
    }
}

impl<'a> Scalars<'a> {
    pub(super) fn new(
        module: &'a Verified,
        function: &Function,
        (known, sources): Told<'a>,
        locals: &'a [Local],
    ) -> Scalars<'a> {
        let mut fields = Vec::new();
        if let Some(Local { ty: LocalTy::Descriptor(id), .. }) = function.locals.first()
            && let Some(of) = module.structs.get(id.index())
        {
            fields = apart(of.fields.iter().map(|field| identifier(&field.name)).collect());
        }
        let tensors = apart(module.tensors.iter().map(|tensor| identifier(&tensor.name)).collect());
        Scalars {
            module,
            known,
            sources,
            kernel: function.name.clone(),
            fields,
            tensors,
            locals,
            arrays: RefCell::default(),
            arguments: RefCell::default(),
            found: RefCell::default(),
        }
    }

    /// What could not be printed.
    pub(super) fn finish(&self) -> Vec<Diagnostic> {
        self.found.take()
    }

    /// Reports what is not printed.
    pub(super) fn lacks(&self, span: Span, what: &str) {
        let found = Diagnostic::error(codes::NOT_EMITTED, format!("{what} in a kernel is not emitted yet"))
            .at(span, "");
        self.found.borrow_mut().push(found);
    }

    /// An array variable stands for an array.
    pub(super) fn name(&self, local: LocalId, array: ArrayRef) {
        let array = self.array(array);
        self.arrays.borrow_mut().insert(local, array);
    }

    fn array(&self, array: ArrayRef) -> ArrayRef {
        match array {
            ArrayRef::Local(local) => self.arrays.borrow().get(&local).copied().unwrap_or(array),
            ArrayRef::Meta(cache, kind) => {
                paged::array(self.module, cache, kind).map_or(array, ArrayRef::Tensor)
            }
            other => other,
        }
    }

    /// The name of a variable.
    pub(super) fn local(&self, id: LocalId) -> String {
        let name = self.locals.get(id.index()).map_or("", |local| local.name.as_str());
        numbered(name, id.index())
    }

    /// The name of a number that the kernel takes, which it then does.
    pub(super) fn number(&self, number: Number) -> String {
        self.arguments.borrow_mut().numbers.insert(number);
        self.name_of(number)
    }

    /// The name of a number.
    pub(super) fn name_of(&self, number: Number) -> String {
        match number {
            Number::Field(at) => {
                let name = self.fields.get(at as usize).cloned();
                format!("desc_{}", name.unwrap_or_else(|| at.to_string()))
            }
            Number::Param(id) => {
                format!("param_{}", identifier(self.module.params.get(id.index()).map_or("", |p| &p.name)))
            }
            Number::Pages(id, what) => {
                let name = self.module.caches.get(id.index()).map_or("", |cache| &cache.name);
                format!("cache_{}_{}", identifier(name), what.name())
            }
            Number::Local(id) => self.local(id),
            Number::Extent(id) => format!("extent_{}", self.axis_name(id)),
            Number::Iterations(id) => format!("iterations_{}", self.axis_name(id)),
        }
    }

    fn axis_name(&self, id: AxisId) -> String {
        identifier(self.module.axes.get(id.index()).map_or("", |axis| &axis.name))
    }

    /// The type of a number.
    pub(super) fn type_of(&self, number: Number) -> ScalarTy {
        match number {
            Number::Field(_) | Number::Extent(_) | Number::Iterations(_) | Number::Pages(_, Pages::Size) => {
                ScalarTy::U32
            }
            Number::Pages(..) => ScalarTy::I64,
            Number::Local(id) => match self.locals.get(id.index()).map(|local| &local.ty) {
                Some(LocalTy::Scalar(ty)) => *ty,
                _ => ScalarTy::U32,
            },
            Number::Param(id) => self.module.params.get(id.index()).map_or(ScalarTy::U32, |param| param.ty),
        }
    }

    /// Variables that a task is given.
    pub(super) fn given(&self) -> OrderedSet<LocalId> {
        let numbers = &self.arguments.borrow().numbers;
        let local = |number: &Number| if let Number::Local(id) = number { Some(*id) } else { None };
        numbers.iter().filter_map(local).collect()
    }

    /// The name of a tensor that the kernel takes, which it then does.
    pub(super) fn tensor(&self, id: TensorId) -> String {
        self.arguments.borrow_mut().tensors.insert(id);
        self.tensor_name(id)
    }

    /// The name of a tensor.
    pub(super) fn tensor_name(&self, id: TensorId) -> String {
        format!("{}_gm", self.tensors.get(id.index()).map_or("", String::as_str))
    }

    /// The element type that a tensor has at launch, where it is known.
    pub(super) fn elem_of(&self, tensor: TensorId) -> Option<DType> {
        match self.module.tensors.get(tensor.index())?.elem {
            Elem::Fixed(elem) => Some(elem),
            Elem::Of(of) => self.known.elems.get(of.index()).copied().flatten(),
        }
    }

    /// How many elements lie between neighbours along each dimension of a tensor without gaps; none where that is not known.
    pub(super) fn strides(&self, id: TensorId, span: Span) -> Option<Vec<Size>> {
        let tensor = self.module.tensors.get(id.index())?;
        if paged::cache(tensor).is_some() {
            self.lacks(span, "a single element of a paged cache");
            return None;
        }
        let mut strides = vec![Size::Known(1)];
        for dim in tensor.dims.iter().skip(1).rev() {
            let size = self.dim(dim, span)?;
            let last = strides.last().cloned().unwrap_or(Size::Known(1));
            strides.push(size.times(&last));
        }
        strides.reverse();
        Some(strides)
    }

    pub(super) fn dim(&self, dim: &Dim, span: Span) -> Option<Size> {
        match dim {
            Dim::Expr(size) => {
                let size = fold(self.module, self.known, size);
                Some(match size.as_const_int().and_then(|n| u64::try_from(n).ok()) {
                    Some(n) => Size::Known(n),
                    None => Size::Text(format!("static_cast<int64_t>({})", self.expr(&size))),
                })
            }
            Dim::Axis(axis) => {
                Some(Size::Text(format!("static_cast<int64_t>({})", self.number(Number::Iterations(*axis)))))
            }
            Dim::Dynamic => {
                self.lacks(span, "a tensor with rows of different lengths");
                None
            }
        }
    }

    /// A real number as a constant of `float`.
    pub(super) fn float(value: f64) -> String {
        let value = value as f32;
        if value.is_nan() {
            "std::numeric_limits<float>::quiet_NaN()".to_owned()
        } else if value.is_infinite() {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}std::numeric_limits<float>::infinity()")
        } else {
            format!("{value:?}f")
        }
    }

    /// An expression that becomes a value of a type.
    pub(super) fn as_type(&self, e: &Expr, to: ScalarTy) -> String {
        if e.ty == to {
            return self.expr(e);
        }
        if let (ScalarTy::F32, ExprKind::Const(Const::Float(value))) = (to, &e.kind) {
            return Scalars::float(*value);
        }
        format!("static_cast<{}>({})", to.c_name(), self.expr(e))
    }

    /// An expression.
    pub(super) fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Const(value) => constant(*value, e.ty),
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Param(id) => self.number(Number::Param(*id)),
            ExprKind::Field(_, at) => self.number(Number::Field(*at)),
            ExprKind::AxisExtent(axis) => self.number(Number::Extent(*axis)),
            ExprKind::Unary(UnOp::Not, a) => format!("!({})", self.expr(a)),
            ExprKind::Unary(UnOp::Neg, a) => format!("(-{})", self.expr(a)),
            ExprKind::Binary(op, a, b) => self.binary((*op, a.ty), (&self.expr(a), can_fault(a)), b, e.span),
            ExprKind::Chain(first, rest) => {
                let join = |(text, faults): (String, bool), (op, b): &(BinOp, Expr)| {
                    let faults_then = faults || can_fault(b) || is_checked(*op, e.ty, b);
                    (self.binary((*op, e.ty), (&text, faults), b, e.span), faults_then)
                };
                rest.iter().fold((self.expr(first), can_fault(first)), join).0
            }
            ExprKind::Cast(a) => {
                let mut text = self.expr(a);
                // A number below 0 has no value there, and would be a large one.
                if has_no_sign(e.ty) && (a.ty.is_float() || matches!(a.ty, ScalarTy::I32 | ScalarTy::I64)) {
                    text = format!("larger({text}, static_cast<{}>(0))", a.ty.c_name());
                }
                // One beyond would be a small one: a place far behind a tensor would lie in it.
                if e.ty == ScalarTy::U32 && matches!(a.ty, ScalarTy::I64 | ScalarTy::U64) {
                    text = format!("smaller({text}, static_cast<{}>({}u))", a.ty.c_name(), u32::MAX);
                }
                format!("static_cast<{}>({text})", e.ty.c_name())
            }
            ExprKind::Select(cond, a, b) => {
                format!("({} ? {} : {})", self.expr(cond), self.expr(a), self.expr(b))
            }
            ExprKind::Math(f, a) => format!("std::{}({})", math(*f), self.expr(a)),
            ExprKind::Load(array, at) => match self.array(*array) {
                ArrayRef::Tensor(id) => {
                    self.arguments.borrow_mut().elements.insert(id);
                    format!("static_cast<{}>(element({}, {}))", e.ty.c_name(), self.tensor(id), self.expr(at))
                }
                _ => self.lacking(e, "an array of a page table"),
            },
            ExprKind::ArrayMax(..) | ExprKind::ArraySum(..) | ExprKind::ArrayLen(_) => {
                self.lacking(e, "a value of a whole array")
            }
            ExprKind::MaxBlocks => self.lacking(e, "the number of cores of the machine"),
            ExprKind::AxisTile(_) => self.lacking(e, "the tile of an axis"),
            ExprKind::Call(..) => self.lacking(e, "a call"),
            _ => self.lacking(e, "an expression of generators"),
        }
    }

    /// Of operands of a type, of which the left one may be at fault. A division of whole numbers by what may be 0, or whose result may not fit, is
    /// checked on the host: a core gives any number there. Where both operands may be at fault there, the left one is computed first.
    fn binary(&self, (op, ty): (BinOp, ScalarTy), (a, faults): (&str, bool), b: &Expr, span: Span) -> String {
        let divides = match op {
            BinOp::Div => "DIVIDED",
            BinOp::Rem => "REMAINDER",
            _ => "CEIL_DIVIDED",
        };
        let b_text = self.expr(b);
        if is_checked(op, ty, b) {
            let place = literal_place(&self.kernel, self.sources, span);
            return format!("WSP_{divides}({a}, {b_text}, {place})");
        }
        if !faults || op.is_logic() || !can_fault(b) {
            return binary(op, ty, a, &b_text);
        }
        match function(op, ty) {
            Some(name) => format!("WSP_CALLED({name}, {a}, {b_text})"),
            None => format!("WSP_JOINED({a}, {}, {b_text})", op.sign()),
        }
    }

    /// A condition in one pair of brackets: compilers warn of a comparison in two.
    pub(super) fn condition(&self, e: &Expr) -> String {
        let text = self.expr(e);
        let has_brackets =
            matches!(e.kind, ExprKind::Binary(..) | ExprKind::Chain(..) | ExprKind::Select(..));
        if has_brackets { text } else { format!("({text})") }
    }

    fn lacking(&self, e: &Expr, what: &str) -> String {
        self.lacks(e.span, what);
        "0".to_owned()
    }
}

fn has_no_sign(ty: ScalarTy) -> bool {
    matches!(ty, ScalarTy::U32 | ScalarTy::U64)
}

/// Whether the host checks an operation: a division of whole numbers, unless by a number that is above 0.
fn is_checked(op: BinOp, ty: ScalarTy, b: &Expr) -> bool {
    op.is_division() && ty.is_int() && b.as_const_int().is_none_or(|n| n <= 0)
}

/// Whether an expression may end a run on the host: it divides, or reads an element of a tensor.
fn can_fault(e: &Expr) -> bool {
    e.any(&mut |e| match &e.kind {
        ExprKind::Binary(op, a, b) => is_checked(*op, a.ty, b),
        ExprKind::Chain(_, rest) => rest.iter().any(|(op, b)| is_checked(*op, e.ty, b)),
        ExprKind::Load(..) => true,
        _ => false,
    })
}

/// The function that an operator is in C++, where it is one.
fn function(op: BinOp, ty: ScalarTy) -> Option<&'static str> {
    match op {
        BinOp::Sub if has_no_sign(ty) => Some("minus"),
        BinOp::Min => Some("smaller"),
        BinOp::Max => Some("larger"),
        BinOp::CeilDiv => Some("ceil_div"),
        _ => None,
    }
}

/// Of operands of a type, in plain C++.
fn binary(op: BinOp, ty: ScalarTy, a: &str, b: &str) -> String {
    match function(op, ty) {
        Some(name) => format!("{name}({a}, {b})"),
        None => format!("({a} {} {b})", op.sign()),
    }
}

pub(crate) fn math(f: MathFn) -> &'static str {
    match f {
        MathFn::Exp => "exp",
        MathFn::Exp2 => "exp2",
        MathFn::Log => "log",
        MathFn::Log2 => "log2",
        MathFn::Sqrt => "sqrt",
        MathFn::Abs => "fabs",
        MathFn::Sin => "sin",
        MathFn::Cos => "cos",
    }
}

pub(crate) fn constant(value: Const, ty: ScalarTy) -> String {
    match (value, ty) {
        (Const::Bool(b), _) => b.to_string(),
        (Const::Float(x), ScalarTy::F64) if x.is_finite() => format!("{x:?}"),
        (Const::Float(x), ScalarTy::F64) => format!("static_cast<double>({})", Scalars::float(x)),
        (Const::Float(x), _) => Scalars::float(x),
        (Const::Int(n), ScalarTy::U32) => format!("{n}u"),
        (Const::Int(n), ScalarTy::I32) if n == i128::from(i32::MIN) => "INT32_MIN".to_owned(),
        (Const::Int(n), ScalarTy::I64) if n == i128::from(i64::MIN) => "INT64_MIN".to_owned(),
        (Const::Int(n), ScalarTy::I64) => format!("INT64_C({n})"),
        (Const::Int(n), ScalarTy::U64) => format!("UINT64_C({n})"),
        (Const::Int(n), _) => n.to_string(),
    }
}

/// Names with a number behind each that one before has, too.
fn apart(mut names: Vec<String>) -> Vec<String> {
    for at in 1..names.len() {
        if names[..at].contains(&names[at]) {
            let mut number = 2;
            let mut other = format!("{}_n{number}", names[at]);
            while names.contains(&other) {
                number += 1;
                other = format!("{}_n{number}", names[at]);
            }
            names[at] = other;
        }
    }
    names
}

/// The name of a variable in C++, with its number behind it. Macros of `math.h` have such names: `M_PI_2`.
pub(crate) fn numbered(name: &str, number: usize) -> String {
    let mut name = identifier(name);
    let between = if name.starts_with("M_") { "_n" } else { "_" };
    let _ = write!(name, "{between}{number}");
    name
}

/// A name with nothing in it but letters, digits and single underscores, the first of which is a letter.
pub(crate) fn identifier(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c != '_' || !text.ends_with('_') {
            text.push(c);
        }
    }
    text.truncate(text.trim_end_matches('_').len());
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text } else { format!("v{text}") }
}
