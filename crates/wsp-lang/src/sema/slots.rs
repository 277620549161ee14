//! How far apart the slots of a workspace lie: what `PTO_SLOT_BYTES` means in functions.
//!
//! Outside of functions `PTO_SLOT_BYTES` is the size of all fields of a slot. A tier may reserve more per slot; then its slots
//! lie that much further apart, and in functions `PTO_SLOT_BYTES` is this distance.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::Res;
use super::names::quoted;
use crate::ast;
use wsp_core::words::counted;
use wsp_core::{FuncId, LocalId, TierSetId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{BinOp, Consumer, Expr, ExprKind as Ir, ScalarTy};

/// The tiers that the slots at hand may be of.
enum Tiers {
    /// Any of these.
    Some(Vec<(TierSetId, usize)>),
    /// The one whose number is in this word of the descriptor.
    Field(TierSetId, u32),
}

impl Sema<'_> {
    /// `PTO_SLOT_BYTES` in a body.
    pub(crate) fn slot_distance(&mut self, b: &Body, span: Span) -> Res<Expr> {
        let fields = self.global(self.slot_bytes, span)?;
        if matches!(b.kind, BodyKind::Launch(_)) {
            return Ok(fields);
        }
        match self.tiers_at_hand(b) {
            Tiers::Field(set, word) => {
                let tier = Expr::new(Ir::Field(LocalId(0), word), ScalarTy::U32, span);
                self.by_tier(set, tier, span)
            }
            Tiers::Some(tiers) => {
                let sizes = tiers.iter().filter_map(|(set, tier)| self.reserved(*set, *tier));
                let mut sizes: Vec<Expr> = sizes.filter(|bytes| bytes.as_const_int() != Some(0)).collect();
                let first = sizes.pop().unwrap_or(fields);
                match sizes.iter().all(|other| *other == first) {
                    true => Ok(Expr { span, ..first }),
                    false => Err(self.unclear_distance(&tiers, span)),
                }
            }
        }
    }

    /// `PTO_TIER_SLOT_BYTES(set, tier)`
    pub(crate) fn tier_slot_bytes(&mut self, b: &mut Body, args: &[ast::Expr], span: Span) -> Res<Expr> {
        let set = self.tier_set(&args[0])?;
        let tier = self.scalar_as(b, &args[1], ScalarTy::U32)?;
        let of = &self.module.tier_sets[set.index()];
        if let Some(number) = tier.as_const_int().filter(|number| *number >= of.tiers.len() as i128)
            && self.unevaluated == 0
        {
            let message = format!("tier {number} of `{}` does not exist", of.name);
            let note = format!("it has {}, counted from 0", counted(of.tiers.len(), "tier"));
            return Err(
                self.fail(Diagnostic::error(codes::CONST_FAULT, message).at(tier.span, "").note(note))
            );
        }
        self.by_tier(set, tier, span)
    }

    /// The distance between slots of a tier that is known when the code runs.
    fn by_tier(&mut self, set: TierSetId, tier: Expr, span: Span) -> Res<Expr> {
        let count = self.module.tier_sets[set.index()].tiers.len();
        let bytes = |cx: &Self, at| cx.reserved(set, at).unwrap_or_else(|| Expr::u32(0, span));
        let mut value = bytes(self, count.saturating_sub(1));
        for at in (0..count.saturating_sub(1)).rev() {
            let own = bytes(self, at);
            if own != value {
                let number = Expr::u32(at as u32, span);
                let test = Expr::binary(BinOp::Eq, tier.clone(), number);
                let pick = Ir::Select(Box::new(test), Box::new(own), Box::new(value));
                value = Expr::new(pick, ScalarTy::U32, span);
            }
        }
        Ok(Expr { span, ..value })
    }

    /// Bytes that a tier reserves per slot, if it reserves any.
    fn reserved(&self, set: TierSetId, tier: usize) -> Option<Expr> {
        self.module.tier_sets[set.index()].tiers.get(tier)?.workspace.clone()
    }

    /// Of which tiers the slots are that code of this body addresses.
    fn tiers_at_hand(&self, b: &Body) -> Tiers {
        let all = || {
            let sets = (0u32..).map(TierSetId).zip(&self.module.tier_sets);
            sets.flat_map(|(id, set)| (0..set.tiers.len()).map(move |tier| (id, tier))).collect::<Vec<_>>()
        };
        let reserving: Vec<(TierSetId, usize)> = all()
            .into_iter()
            .filter(|(set, tier)| self.reserved(*set, *tier).is_some_and(|e| e.as_const_int() != Some(0)))
            .collect();
        let Some(of) = b.descriptor.filter(|_| b.kind == BodyKind::Kernel) else {
            return Tiers::Some(reserving);
        };
        let info = &self.structs[of.index()];
        let word = info.field("tier").filter(|field| field.len.is_none()).map(|field| field.word);
        let first = reserving.first().map(|(set, _)| *set);
        let only = first.filter(|set| reserving.iter().all(|(other, _)| other == set));
        let own: Vec<(TierSetId, usize)> = match self.module.structs[of.index()].consumer {
            Consumer::Tiers { set, field } => return Tiers::Field(set, field),
            Consumer::Kernel(kernel) => self.tiers_of_kernel(kernel),
            Consumer::None => Vec::new(),
        };
        match (only, word) {
            (Some(set), Some(word)) => Tiers::Field(set, word),
            _ if !own.is_empty() => Tiers::Some(own),
            _ => Tiers::Some(reserving),
        }
    }

    fn tiers_of_kernel(&self, kernel: FuncId) -> Vec<(TierSetId, usize)> {
        let sets = (0u32..).map(TierSetId).zip(&self.module.tier_sets);
        let of_set = |(id, set): (TierSetId, &wsp_ir::TierSet)| {
            let is_its = |(at, tier): (usize, &wsp_ir::Tier)| (tier.kernel == kernel).then_some((id, at));
            set.tiers.iter().enumerate().filter_map(is_its).collect::<Vec<_>>()
        };
        sets.flat_map(of_set).collect()
    }

    fn unclear_distance(&mut self, tiers: &[(TierSetId, usize)], span: Span) -> super::diags::Reported {
        let mut sets: Vec<&str> =
            tiers.iter().map(|(set, _)| self.module.tier_sets[set.index()].name.as_str()).collect();
        sets.dedup();
        let set = sets.first().copied().unwrap_or("set").to_owned();
        let message = format!("the slots of {} do not all lie equally far apart", quoted(&sets));
        let mut d = Diagnostic::error(codes::SLOT_DISTANCE, message)
            .at(span, "of which tier the slots are is not known here")
            .help("let the descriptor have a field `tier`, with the tier of the slots")
            .help(format!("or write `PTO_TIER_SLOT_BYTES({set}, tier)`"));
        for (set, tier) in tiers.iter().take(4) {
            if let Some(bytes) = self.reserved(*set, *tier) {
                d = d.label(bytes.span, "bytes per slot of this tier");
            }
        }
        self.fail(d)
    }
}
