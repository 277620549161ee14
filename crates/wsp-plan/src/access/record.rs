//! Regions from indices.

use super::path;
use super::state::{State, Value};
use super::sym;
use super::walk::Walker;
use super::{Bound, KernelAccess};
use crate::fold;
use wsp_core::{AccessKind, TensorId};
use wsp_diag::Span;
use wsp_ir::{Expr, ScalarTy, Storage};

/// More regions than this of one tensor and mode become the whole tensor: each costs time per task.
const MAX_REGIONS: usize = 12;

/// How far an access reaches along each dimension from its index on; 1 where nothing is said.
pub(super) struct Reach<'a> {
    /// Dimensions and counts, `u32`.
    pub(super) dims: &'a [(u8, Expr)],
}

impl Walker<'_> {
    /// Notes an access that starts at `index`.
    pub(super) fn record(
        &mut self,
        state: &State,
        tensor: TensorId,
        mode: AccessKind,
        index: &[Expr],
        reach: &Reach<'_>,
    ) {
        let Some(declared) = self.module.tensors.get(tensor.index()) else { return };
        let workspace = declared.storage == Storage::Workspace;
        let bounds = (0..declared.rank())
            .map(|dim| {
                let Some(start) = index.get(dim) else { return Bound::All };
                let along =
                    reach.dims.iter().find(|(d, _)| usize::from(*d) == dim).map(|(_, count)| count.clone());
                let count = match (workspace && dim == 0, along) {
                    (false, count) => count.unwrap_or_else(|| Expr::u32(1, start.span)),
                    (true, None) => self.slot_bytes.clone(),
                    (true, Some(_)) => return Bound::All,
                };
                self.bound(state, start, count)
            })
            .collect();
        self.push(KernelAccess { tensor, mode, guard: path::guard(state), bounds });
    }

    /// Notes that all of a tensor may be touched.
    pub(super) fn record_all(&mut self, state: &State, tensor: TensorId, mode: AccessKind) {
        let Some(declared) = self.module.tensors.get(tensor.index()) else { return };
        let bounds = vec![Bound::All; declared.rank()];
        self.push(KernelAccess { tensor, mode, guard: path::guard(state), bounds });
    }

    /// `[start, start + count)` over all values of the loop variables.
    fn bound(&self, state: &State, start: &Expr, count: Expr) -> Bound {
        let (lo, hi) = match self.eval(start, state) {
            Value::Exact(e) => (Some(e.clone()), Some(e)),
            Value::Within(interval) => (interval.low, interval.high),
        };
        let as_u32 = |e: Expr| fold::cast(e, ScalarTy::U32);
        let lo = lo.and_then(|e| self.ranges.low(as_u32(e)));
        let hi = hi.and_then(|e| self.ranges.high(sym::add(as_u32(e), count)));
        let all_from_here = |span: Span| Expr::u32(u32::MAX, span);
        match (lo, hi) {
            (None, None) => Bound::All,
            (Some(lo), None) if lo.as_const_int() == Some(0) => Bound::All,
            (Some(lo), None) => Bound::Range { hi: all_from_here(lo.span), lo },
            (None, Some(hi)) => Bound::Range { lo: Expr::u32(0, hi.span), hi },
            (Some(lo), Some(hi)) => Bound::Range { lo, hi },
        }
    }

    fn push(&mut self, access: KernelAccess) {
        let same = |a: &KernelAccess| a.tensor == access.tensor && a.mode == access.mode;
        let whole = |a: &KernelAccess| a.guard.is_none() && a.bounds.iter().all(|b| *b == Bound::All);
        if self.accesses.iter().any(|a| same(a) && whole(a)) {
            return;
        }
        if let Some(twin) = self.accesses.iter_mut().find(|a| same(a) && a.bounds == access.bounds) {
            if twin.guard == access.guard {
                return;
            }
            if twin.guard.is_none() || access.guard.is_none() {
                twin.guard = None;
                return;
            }
        }
        if self.accesses.iter().filter(|a| same(a)).count() < MAX_REGIONS {
            self.accesses.push(access);
            return;
        }
        let bounds = vec![Bound::All; access.bounds.len()];
        self.accesses.retain(|a| !same(a));
        self.accesses.push(KernelAccess { guard: None, bounds, ..access });
    }
}
