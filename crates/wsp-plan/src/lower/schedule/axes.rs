//! How far the index of each axis runs.

use super::find::Site;
use super::guard::{self, Guard};
use super::split::Split;
use crate::lower::codes;
use crate::{fold, walk};
use wsp_core::{AxisId, CacheId, DType, LocalId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    ArrayRef, Axis, AxisEnd, Block, Derivation, DerivedArray, Elem, Expr, ExprKind, Function, LaunchArray,
    LocalTy, MetaKind, Module, ScalarTy, Space, StmtKind, TileSize,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Most dynamic axes of a space: loops that look for a largest extent nest in each other.
const MAX_DYNAMIC: usize = 8;

/// What PTO_SCHEDULED_FOR does per item.
pub(super) struct Item<'a> {
    /// The index variables, in the order of the space.
    pub(super) vars: &'a [LocalId],
    pub(super) body: &'a Block,
    /// `PTO_WHERE` over the index variables.
    pub(super) constraints: Vec<Expr>,
    /// Variables that the body declares.
    pub(super) declared: OrderedSet<LocalId>,
    /// Variables that the body assigns.
    changed: OrderedSet<LocalId>,
    pub(super) span: Span,
}

impl<'a> Item<'a> {
    /// Reads a body.
    pub(super) fn new(vars: &'a [LocalId], body: &'a Block, constraints: Vec<Expr>, span: Span) -> Item<'a> {
        let (mut declared, mut changed) = (OrderedSet::new(), OrderedSet::new());
        walk::assigned(body, &mut changed);
        walk::stmts(body, &mut |stmt| match &stmt.kind {
            StmtKind::Let { local, .. }
            | StmtKind::LetArray { local, .. }
            | StmtKind::For { var: local, .. } => {
                declared.insert(*local);
            }
            _ => {}
        });
        Item { vars, body, constraints, declared, changed, span }
    }

    /// The positions in the space of the index variables among these.
    pub(super) fn axes_read(&self, locals: &OrderedSet<LocalId>) -> OrderedSet<usize> {
        (0..self.vars.len()).filter(|i| locals.contains(&self.vars[*i])).collect()
    }

    /// Whether these variables depend on the item's index only, not on the items before it.
    pub(super) fn is_steady(&self, locals: &OrderedSet<LocalId>) -> bool {
        locals.iter().all(|l| self.declared.contains(l) || !self.changed.contains(l))
    }
}

/// The exclusive end of an axis's index.
pub(super) struct Extent {
    /// Statements that compute it, to be copied with fresh variables.
    pub(super) setup: Block,
    /// The end, `u32`, after those statements.
    pub(super) end: Expr,
    /// Positions in the space of the axes whose indices it depends on.
    pub(super) uses: OrderedSet<usize>,
    /// The guard of the body that gives it.
    pub(super) guard: Option<Span>,
}

impl Extent {
    fn constant(end: Expr) -> Extent {
        Extent { setup: Vec::new(), end, uses: OrderedSet::new(), guard: None }
    }
}

/// An axis of the nest.
pub(super) struct NestAxis {
    pub(super) id: AxisId,
    pub(super) name: String,
    pub(super) var: LocalId,
    /// First index: 0 for a tiled axis, whose index counts tiles.
    pub(super) start: Expr,
    pub(super) extent: Extent,
    /// Where the body guards it, and the bound there.
    pub(super) guard: Option<(usize, Expr)>,
    /// Its indices in the order in which they are issued, where that is not the rising one.
    pub(super) issued: Option<ArrayRef>,
}

/// What the axes need to know of the generator.
pub(super) struct AxisCx<'a> {
    pub(super) module: &'a Module,
    pub(super) space: &'a Space,
    /// `PTO_SET_EXTENT`, scalars already held in a variable.
    pub(super) set: Vec<Site<SetExtent>>,
    /// What the generator's names of arrays stand for.
    pub(super) arrays: OrderedMap<LocalId, ArrayRef>,
}

/// Where the elements of an axis come from.
#[derive(Clone, Copy)]
pub(super) enum Lengths {
    /// One number.
    Scalar,
    /// A number per index of the first axis.
    PerFirst(Rows),
}

/// The elements per index of the first axis.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) of: LaunchArray,
    /// The axis of which only the last elements count, if that is so.
    pub(super) last: Option<AxisId>,
}

impl Rows {
    /// What the host derives from them.
    pub(super) fn derived(self, kind: Derivation) -> ArrayRef {
        ArrayRef::Derived(DerivedArray { kind, of: self.of, last: self.last })
    }
}

impl AxisCx<'_> {
    /// The array that the launch binds.
    fn launch_array(&self, array: ArrayRef) -> Option<LaunchArray> {
        match array {
            ArrayRef::Local(local) => self.launch_array(*self.arrays.get(&local)?),
            ArrayRef::Tensor(tensor) => Some(LaunchArray::Tensor(tensor)),
            ArrayRef::Meta(cache, kind) => Some(LaunchArray::Meta(cache, kind)),
            ArrayRef::Derived(_) => None,
        }
    }

    /// Where the elements of a dynamic axis at this position come from, other than a guard.
    pub(super) fn lengths(&self, position: usize) -> Option<Lengths> {
        let id = self.space.axes[position];
        if self.module.axes[id.index()].end != AxisEnd::Dynamic {
            return None;
        }
        let rows = |of| Lengths::PerFirst(Rows { of, last: self.last(position).map(|_| id) });
        match self.set_extent(id).map(|site| site.what.elements) {
            Some(Elements::Scalar(_)) => Some(Lengths::Scalar),
            Some(Elements::PerOuter(array)) if position > 0 => self.launch_array(array).map(rows),
            None if self.module.caches.len() == 1 && position > 0 => {
                Some(rows(LaunchArray::Meta(CacheId(0), MetaKind::Lengths)))
            }
            _ => None,
        }
    }

    /// What PTO_SET_EXTENT gives for an axis.
    fn set_extent(&self, id: AxisId) -> Option<&Site<SetExtent>> {
        self.set.iter().find(|site| site.what.axis == id)
    }

    /// How many last elements of the axis at this position there are at most, where that is said.
    pub(super) fn last(&self, position: usize) -> Option<&Expr> {
        self.set_extent(self.space.axes[position])?.what.last.as_ref()
    }
}

impl Lengths {
    /// Positions in the space of the axes whose indices pick a length.
    pub(super) fn uses(self) -> OrderedSet<usize> {
        match self {
            Lengths::Scalar => OrderedSet::new(),
            Lengths::PerFirst(_) => OrderedSet::from([0]),
        }
    }
}

/// What `PTO_SET_EXTENT` gives.
pub(super) struct SetExtent {
    pub(super) axis: AxisId,
    pub(super) elements: Elements,
    /// Of these, so many last ones exist; over parameters.
    pub(super) last: Option<Expr>,
}

/// Elements of an axis.
#[derive(Clone, Copy)]
pub(super) enum Elements {
    /// Held in a `u32` variable.
    Scalar(LocalId),
    /// Per index of the first axis.
    PerOuter(ArrayRef),
}

/// The axes in the order of the space.
pub(super) fn resolve(
    cx: &AxisCx<'_>,
    item: &Item<'_>,
    splits: &[Option<Split>],
    func: &mut Function,
) -> Result<Vec<NestAxis>, Vec<Diagnostic>> {
    let (mut axes, mut wrong) = (Vec::new(), Vec::new());
    let dynamic =
        cx.space.axes.iter().filter(|id| cx.module.axes[id.index()].end == AxisEnd::Dynamic).count();
    if dynamic > MAX_DYNAMIC {
        let message = format!("space `{}` has {dynamic} dynamic axes", cx.space.name);
        let d = Diagnostic::error(codes::TOO_MANY_DYNAMIC, message).at(cx.space.span, "");
        return Err(vec![d.note(format!("at most {MAX_DYNAMIC} are supported"))]);
    }
    for (position, (&id, &var)) in cx.space.axes.iter().zip(item.vars).enumerate() {
        let axis = &cx.module.axes[id.index()];
        let start = if axis.tile.is_some() { Expr::u32(0, axis.span) } else { as_u32(&axis.start) };
        let (extent, guard) = match (&splits[position], &axis.end) {
            (Some(split), _) => (split.extent(), None),
            (None, AxisEnd::Expr(end)) => (Extent::constant(static_end(id, axis, end)), None),
            (None, AxisEnd::Dynamic) => match dynamic_end(cx, item, func, (position, id, axis)) {
                Ok(found) => found,
                Err(diagnostic) => {
                    wrong.push(diagnostic);
                    continue;
                }
            },
        };
        axes.push(NestAxis { id, name: axis.name.clone(), var, start, extent, guard, issued: None });
    }
    if wrong.is_empty() {
        wrong.extend(cycle(&axes, item.span));
    }
    if wrong.is_empty() { Ok(axes) } else { Err(wrong) }
}

pub(super) fn as_u32(e: &Expr) -> Expr {
    fold::cast(e.clone(), ScalarTy::U32)
}

pub(super) fn static_end(id: AxisId, axis: &Axis, end: &Expr) -> Expr {
    let (start, end) = (as_u32(&axis.start), as_u32(end));
    match tile_size(id, axis) {
        // An end before the start leaves nothing.
        Some(tile) => fold::ceil_div(fold::sub(fold::max(end, start.clone()), start), tile),
        None => end,
    }
}

pub(super) fn tile_size(id: AxisId, axis: &Axis) -> Option<Expr> {
    let tile = axis.tile.as_ref()?;
    Some(match &tile.size {
        TileSize::Fixed(e) => as_u32(e),
        TileSize::Auto => Expr::new(ExprKind::AxisTile(id), ScalarTy::U32, tile.span),
    })
}

/// The end of an axis of this many elements.
fn end_of_elements(id: AxisId, axis: &Axis, elements: Expr) -> Expr {
    let span = elements.span;
    match tile_size(id, axis) {
        Some(tile) => fold::ceil_div(elements, tile),
        None => {
            let start = as_u32(&axis.start);
            let room = fold::sub(Expr::u32(u32::MAX, span), start.clone());
            fold::add(start, fold::min(elements, room))
        }
    }
}

fn dynamic_end(
    cx: &AxisCx<'_>,
    item: &Item<'_>,
    func: &mut Function,
    (position, id, axis): (usize, AxisId, &Axis),
) -> Result<(Extent, Option<(usize, Expr)>), Diagnostic> {
    if let Some(Guard { at, bound, extent }) = guard::find(item, cx.module, func, position) {
        return Ok((extent, Some((at, bound))));
    }
    let Some(elements) = elements(cx, item, func, position) else {
        return Err(match cx.set_extent(id) {
            Some(Site { span, .. }) => first_axis_takes_a_scalar(axis, *span),
            None => no_extent(axis, item, func, position),
        });
    };
    let mut reads = OrderedSet::new();
    walk::reads(&elements, &mut reads);
    let end = end_of_elements(id, axis, elements);
    Ok((Extent { setup: Vec::new(), end, uses: item.axes_read(&reads), guard: None }, None))
}

/// The elements of an axis for the indices at hand, where something other than a guard gives them.
pub(super) fn elements(cx: &AxisCx<'_>, item: &Item<'_>, func: &Function, position: usize) -> Option<Expr> {
    let length = length(cx, item, func, position)?;
    Some(match cx.last(position) {
        Some(last) => fold::min(length, last.clone()),
        None => length,
    })
}

/// How many elements of an axis are left out, for the indices at hand, because only the last ones exist.
pub(super) fn left_out(cx: &AxisCx<'_>, item: &Item<'_>, func: &Function, position: usize) -> Expr {
    let zero = Expr::u32(0, item.span);
    match (cx.last(position), length(cx, item, func, position)) {
        (Some(last), Some(length)) => fold::sub(fold::max(length, last.clone()), last.clone()),
        _ => zero,
    }
}

/// Where the elements of an axis end, counted from its start, for the indices at hand.
pub(super) fn length(cx: &AxisCx<'_>, item: &Item<'_>, func: &Function, position: usize) -> Option<Expr> {
    let id = cx.space.axes[position];
    let axis = &cx.module.axes[id.index()];
    if let AxisEnd::Expr(end) = &axis.end {
        let start = as_u32(&axis.start);
        return Some(fold::sub(fold::max(as_u32(end), start.clone()), start));
    }
    match cx.set_extent(id).map(|site| (site.what.elements, site.span)) {
        Some((Elements::Scalar(local), span)) => Some(Expr::local(local, ScalarTy::U32, span)),
        Some((Elements::PerOuter(array), span)) if position > 0 => {
            Some(element_at(cx.module, func, array, item.vars[0], span))
        }
        None if cx.module.caches.len() == 1 && position > 0 => {
            let lengths = ArrayRef::Meta(CacheId(0), MetaKind::Lengths);
            Some(element_at(cx.module, func, lengths, item.vars[0], axis.span))
        }
        _ => None,
    }
}

/// An element of an array as `u32`.
fn element_at(module: &Module, func: &Function, array: ArrayRef, index: LocalId, span: Span) -> Expr {
    let ty = match array {
        ArrayRef::Local(local) => match &func.local(local).ty {
            LocalTy::Array(ty) | LocalTy::Scalar(ty) => *ty,
            LocalTy::Tile(_) | LocalTy::Descriptor(_) => ScalarTy::U32,
        },
        ArrayRef::Tensor(tensor) => match module.tensors[tensor.index()].elem {
            Elem::Fixed(DType::I32) => ScalarTy::I32,
            Elem::Fixed(DType::I64) => ScalarTy::I64,
            Elem::Fixed(DType::U64) => ScalarTy::U64,
            Elem::Fixed(_) | Elem::Of(_) => ScalarTy::U32,
        },
        ArrayRef::Meta(..) => ScalarTy::U32,
        ArrayRef::Derived(derived) => derived.kind.elem(),
    };
    let index = Box::new(Expr::local(index, ScalarTy::U32, span));
    fold::cast(Expr::new(ExprKind::Load(array, index), ty, span), ScalarTy::U32)
}

fn no_extent(axis: &Axis, item: &Item<'_>, func: &Function, position: usize) -> Diagnostic {
    let index = &func.local(item.vars[position]).name;
    Diagnostic::error(codes::NO_EXTENT, format!("the extent of dynamic axis `{}` is not known", axis.name))
        .at(item.span, format!("how far does `{index}` run?"))
        .label(axis.span, "declared without an end")
        .help(format!("begin the body with `if ({index} >= count) continue;`, with a count that needs the other indices only"))
        .help(format!("or call `PTO_SET_EXTENT({}, lengths);` before the loop", axis.name))
}

fn first_axis_takes_a_scalar(axis: &Axis, span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::EXTENT_UNCLEAR,
        format!("axis `{}` cannot have an extent per outer index", axis.name),
    )
    .at(span, "an array has one extent per index of the first axis")
    .label(axis.span, "this is the first axis")
    .help(format!("give one number: `PTO_SET_EXTENT({}, n);`", axis.name))
}

/// Extents that need each other's index.
fn cycle(axes: &[NestAxis], span: Span) -> Option<Diagnostic> {
    let reaches_itself = |start: usize| {
        let (mut seen, mut open) = (OrderedSet::new(), vec![start]);
        while let Some(axis) = open.pop() {
            open.extend(axes[axis].extent.uses.iter().filter(|used| seen.insert(**used)));
        }
        seen.contains(&start)
    };
    let knot: Vec<&NestAxis> = (0..axes.len()).filter(|i| reaches_itself(*i)).map(|i| &axes[i]).collect();
    let first = knot.first()?;
    let names: Vec<String> = knot.iter().map(|axis| format!("`{}`", axis.name)).collect();
    let at = first.extent.guard.unwrap_or(span);
    let message = format!("the extents of {} depend on each other", names.join(" and "));
    let diagnostic =
        Diagnostic::error(codes::EXTENT_CYCLE, message).at(at, format!("this bounds `{}`", first.name));
    let others = knot
        .iter()
        .skip(1)
        .filter_map(|axis| Some((axis.extent.guard?, format!("this bounds `{}`", axis.name))));
    Some(
        others
            .fold(diagnostic, |d, (span, text)| d.label(span, text))
            .help("compute one of them without the other's index"),
    )
}
