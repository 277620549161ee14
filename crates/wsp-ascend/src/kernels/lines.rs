//! Lines of 64 bytes that tasks of several cores may store to: what one core writes there may be lost to another.
//!
//! The first byte of a store is a number that tasks differ in, and one that rounds and rows of a task add ([`Value`]). Tensors begin on a
//! line. No line is shared where
//!
//! * every run of bytes begins on a line, or ends on one, or lies within a stride of whole lines;
//! * or all that a task stores lies within the distance of tasks, a multiple of 64.
//!
//! Additions to memory are no stores: they are made behind the caches. Tasks that store the same element are not looked for, nor are different
//! kernels that store to one tensor.

use super::codes;
use super::values::{Value, Values};
use std::collections::BTreeMap;
use wsp_core::{DType, TensorId};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::{Dim, Elem, Expr, Function, LocalTy, StmtKind, Storage, TileOp, Verified, walk};
use wsp_tile::Known;

/// Bytes of a line of global memory.
const LINE: i128 = 64;

/// A store as runs of bytes without gaps.
struct Store {
    tensor: TensorId,
    /// Where runs begin, in bytes.
    begin: Value,
    /// Bytes of a run at most.
    bytes: i128,
    /// Whether all runs have as many.
    exact: bool,
    /// Whether the unit of scalars does it, by way of the cache of its core.
    scalar: bool,
    /// The dimension of the tensor whose size is not known, and decides.
    unknown: Option<usize>,
    elem: DType,
    span: Span,
}

/// Stores whose lines several cores may write: a warning each.
pub(super) fn check(
    module: &Verified,
    kernel: &Function,
    known: Known<'_>,
    values: &Values<'_>,
) -> Vec<Diagnostic> {
    let of = Stores { module, kernel, known, values };
    let mut stores: BTreeMap<TensorId, Vec<Store>> = BTreeMap::new();
    walk::stmts(&kernel.body, &mut |stmt| {
        if let Some(store) = of.store(&stmt.kind, stmt.span) {
            stores.entry(store.tensor).or_default().push(store);
        }
    });
    let mut found = Vec::new();
    for stores in stores.values() {
        let alone = stores.len() == 1;
        let shares = |store: &&Store| store.begin.varies && !store.keeps_apart(alone);
        found.extend(stores.iter().filter(shares).map(|store| of.told(store)));
    }
    found
}

impl Store {
    /// Whether no two tasks that store different elements write one line; with several stores, each has to begin on lines.
    fn keeps_apart(&self, alone: bool) -> bool {
        let Value { modulus, rest, low, high, .. } = self.begin;
        let whole = |n: i128| n % LINE == 0;
        let common = self.begin.common();
        if whole(common) {
            let ends = self.exact && whole(rest + self.bytes);
            let within = rest.rem_euclid(LINE) + self.bytes <= common;
            if whole(rest) || (alone && (ends || within)) {
                return true;
            }
        }
        let (Some(low), Some(high)) = (low, high) else { return false };
        let first = (rest + low).div_euclid(LINE) * LINE;
        let end = -(-(rest + high + self.bytes)).div_euclid(LINE) * LINE;
        whole(modulus) && end - first <= modulus
    }
}

struct Stores<'a> {
    module: &'a Verified,
    kernel: &'a Function,
    known: Known<'a>,
    values: &'a Values<'a>,
}

impl Stores<'_> {
    /// None for what is no store, and for a tensor that no kernel is emitted for.
    fn store(&self, stmt: &StmtKind, span: Span) -> Option<Store> {
        match stmt {
            StmtKind::StoreScalar { tensor, index, .. } => {
                let (begin, unknown, elem) = self.begin(*tensor, index)?;
                let bytes = elem.size() as i128;
                Some(Store { tensor: *tensor, begin, bytes, exact: true, scalar: true, unknown, elem, span })
            }
            StmtKind::Tile(TileOp::Store { tensor, src, at, add: false, .. }) => {
                let (begin, unknown, elem) = self.begin(*tensor, &at.index)?;
                let LocalTy::Tile(ty) = &self.kernel.local(*src).ty else { return None };
                let [rows, cols] = [&ty.rows, &ty.cols].map(|e| e.as_const_int().unwrap_or(1));
                let size = elem.size() as i128;
                let mut store = Store {
                    tensor: *tensor,
                    begin,
                    bytes: size,
                    exact: false,
                    scalar: false,
                    unknown,
                    elem,
                    span,
                };
                let strides = self.strides(*tensor)?;
                let [down, across] = [at.row_dim, at.col_dim]
                    .map(|dim| dim.and_then(|dim| strides.get(usize::from(dim)).copied()));
                self.add(&mut store, across, cols);
                // Whole rows of a tensor lie one after another.
                let row = down.and_then(|stride| stride.constant()).map(|stride| stride * size);
                let from_0 = at.col_dim.is_none_or(|dim| {
                    at.index.get(usize::from(dim)).and_then(|e| self.values.expr(e).constant()) == Some(0)
                });
                if from_0 && row == Some(store.bytes) {
                    store.bytes *= rows;
                } else {
                    self.add(&mut store, down, rows);
                }
                Some(store)
            }
            _ => None,
        }
    }

    /// Elements of a tile along a dimension of the tensor: more bytes of a run where they are neighbours, else more runs.
    fn add(&self, store: &mut Store, stride: Option<Value>, count: i128) {
        let size = store.elem.size() as i128;
        match stride {
            Some(stride) if stride.constant() == Some(1) => store.bytes *= count,
            Some(stride) if count > 1 => {
                let turns = match stride.constant() {
                    Some(stride) => Value::rounds(stride * size, Some((count - 1) * stride * size)),
                    None => Value::rounds(size, None),
                };
                store.begin = store.begin.plus(turns);
            }
            _ => {}
        }
    }

    /// Where an element is, in bytes, the dimension of a size that is not known, and the elements.
    fn begin(&self, tensor: TensorId, index: &[Expr]) -> Option<(Value, Option<usize>, DType)> {
        let of = &self.module.tensors[tensor.index()];
        if matches!(of.storage, Storage::CacheKeys(_) | Storage::CacheValues(_)) {
            return None;
        }
        let elem = match of.elem {
            Elem::Fixed(elem) => elem,
            Elem::Of(other) => self.known.elems.get(other.index()).copied().flatten()?,
        };
        let size = Value::number(elem.size() as i128);
        let strides = self.strides(tensor)?;
        let first = of.rank() - of.dims.len();
        let (mut sum, mut unknown) = (Value::number(0), None);
        for (dim, (e, stride)) in index.iter().zip(&strides).enumerate() {
            if dim < first {
                // A slot of a workspace is whole lines, and so is where each field begins.
                sum = sum.plus(Value { modulus: LINE, ..Value::unknown(true) });
                continue;
            }
            let mut at = self.values.expr(e);
            if at.constant() == Some(0) {
                continue;
            }
            if stride.constant().is_none() {
                let after = dim + 1 - first..of.dims.len();
                unknown =
                    unknown.or(after.into_iter().find(|dim| self.size(&of.dims[*dim]).constant().is_none()));
            }
            // An index that only rounds decide lies within the dimension.
            if at.modulus == 0 && at.step != 0 && (at.low.is_none() || at.high.is_none()) {
                at.low = Some(-at.rest);
                at.high = self.size(&of.dims[dim - first]).constant().map(|size| size - 1 - at.rest);
            }
            sum = sum.plus(at.times(*stride).times(size));
        }
        Some((sum, unknown, elem))
    }

    /// How many elements neighbours are apart, by index.
    fn strides(&self, tensor: TensorId) -> Option<Vec<Value>> {
        let of = &self.module.tensors[tensor.index()];
        let mut strides = vec![Value::number(1)];
        for dim in of.dims.iter().skip(1).rev() {
            let last = *strides.last()?;
            strides.push(last.times(self.size(dim)));
        }
        let slots = of.rank() - of.dims.len();
        strides.extend(std::iter::repeat_n(Value::number(1), slots));
        strides.reverse();
        Some(strides)
    }

    fn size(&self, dim: &Dim) -> Value {
        match dim {
            Dim::Expr(size) => self.values.expr(size),
            Dim::Axis(_) | Dim::Dynamic => Value::unknown(false),
        }
    }

    fn told(&self, store: &Store) -> Diagnostic {
        let tensor = &self.module.tensors[store.tensor.index()];
        let name = &tensor.name;
        let message = format!("tasks of several cores may store to one line of {LINE} bytes of `{name}`");
        let apart = store.begin.modulus;
        let many = LINE / store.elem.size() as i128;
        let found = Diagnostic::new(codes::LINES, Severity::Warning, message);
        let found = match store.unknown {
            Some(_) => found.at(store.span, "how many bytes tasks are apart is not known"),
            None if apart % LINE != 0 => found
                .at(store.span, format!("tasks may be {apart} bytes apart, which is no multiple of {LINE}"))
                .figure("bytes", u64::try_from(apart).unwrap_or(u64::MAX)),
            None => found.at(
                store.span,
                format!("up to {} bytes at a time, which begin or end within a line", store.bytes),
            ),
        };
        let found = found.figure("line", LINE as u64).note(if store.scalar {
            "scalar stores go through the cache of a core, which writes back whole lines: what another core has stored there since is lost"
        } else {
            "of two cores that write one line at the same time, one may write back what it had before the other"
        });
        let pad = format!(
            "let each task store whole lines of its own: {many} elements of {} and a multiple of them apart",
            store.elem
        );
        match store.unknown.map(|dim| &tensor.dims[dim]) {
            Some(Dim::Expr(size)) => match self.parameter(size) {
                Some(param) => found.help(format!(
                    "set `{param}` with `--set {param}=VALUE`, which says how far tasks are apart"
                )),
                None => found.help(pad),
            },
            _ => found.help(pad),
        }
    }

    /// A parameter that a size depends on and that has no value.
    fn parameter(&self, size: &Expr) -> Option<&str> {
        let mut found = None;
        walk::each_subexpr(size, &mut |e| {
            if let wsp_ir::ExprKind::Param(id) = e.kind
                && self.values.expr(e).constant().is_none()
            {
                found = found.or(self.module.params.get(id.index()).map(|param| param.name.as_str()));
            }
        });
        found
    }
}
