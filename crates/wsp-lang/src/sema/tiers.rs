//! `PTO_TIER_DEF`: conditions, kernels, workspace sizes.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::builtins;
use super::codes;
use super::diags::{Reported, Res};
use super::globals::stranger;
use super::names::Symbol;
use super::walk;
use crate::ast;
use wsp_core::FuncId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{BinOp, Const, Expr, ExprKind, ScalarTy, Tier};
use wsp_ordered::Arrange;

/// Tier sets with more tiers are not searched for unreachable ones, nor conditions for more free names.
const MOST_COMPARED: usize = 256;

impl Sema<'_> {
    /// Lowers every tier set.
    pub(crate) fn lower_tiers(&mut self) {
        for at in 0..self.tier_defs.len() {
            let decl = self.tier_defs[at];
            let default = self.check_default(decl);
            let free = self.free_names(decl);
            self.module.tier_sets[at].selector = free.first().map(|s| s.name.to_string());
            for tier in &decl.tiers {
                if let Ok(tier) = self.lower_tier(tier, &free) {
                    self.module.tier_sets[at].tiers.push(tier);
                }
            }
            let complete = self.module.tier_sets[at].tiers.len() == decl.tiers.len();
            if default.is_ok() && complete && decl.tiers.len() <= MOST_COMPARED {
                self.warn_unreachable(at);
            }
        }
    }

    fn check_default(&mut self, decl: &ast::TierDef) -> Res<()> {
        let defaults: Vec<&ast::Tier> = decl.tiers.iter().filter(|t| t.cond.is_none()).collect();
        let name = decl.name.as_str();
        match (&defaults[..], decl.tiers.last()) {
            ([], _) => Err(self.fail(
                Diagnostic::error(codes::MISSING_DEFAULT, format!("tier set `{name}` has no default"))
                    .at(decl.name.span, "no kernel for values that no tier takes")
                    .help("end it with `PTO_DEFAULT(kernel)`"),
            )),
            ([first, ..], Some(last)) if first.span != last.span => Err(self.fail(
                Diagnostic::error(
                    codes::DEFAULT_NOT_LAST,
                    format!("the default of `{name}` is not the last tier"),
                )
                .at(first.span, "takes every value")
                .label(last.span, "never reached")
                .help("put `PTO_DEFAULT` last, and only once"),
            )),
            _ => Ok(()),
        }
    }

    /// The free names of the conditions: the selector, and others that should not be there, which are reported.
    fn free_names(&mut self, decl: &ast::TierDef) -> Vec<ast::Ident> {
        let mut free: Vec<ast::Ident> = Vec::new();
        for cond in decl.tiers.iter().filter_map(|t| t.cond.as_ref()) {
            walk::each_subexpr(cond, &mut |e| {
                let Some(ident) = e.as_name() else { return };
                let name = ident.as_str();
                let known = self.lookup(name).is_some() || builtins::is_constant(name);
                if !known && free.len() < MOST_COMPARED && free.iter().all(|f| f.name != ident.name) {
                    free.push(ident);
                }
            });
        }
        if let [first, other, ..] = &free[..] {
            let message = format!("tier conditions of `{}` use two free names", decl.name.as_str());
            self.fail(
                Diagnostic::error(codes::TWO_SELECTORS, message)
                    .at(other.span, format!("`{}` is not defined", other.as_str()))
                    .label(first.span, format!("`{}` already is the value that is tested", first.as_str()))
                    .help("test one value; declare other names with `PTO_PARAM` or `const`"),
            );
        }
        free
    }

    fn lower_tier(&mut self, tier: &ast::Tier, free: &[ast::Ident]) -> Res<Tier> {
        let kernel = self.tier_kernel(&tier.kernel);
        let cond = match &tier.cond {
            Some(e) => {
                let mut b = Body::new(BodyKind::Launch("a tier condition"));
                for (at, name) in free.iter().enumerate() {
                    let binding = if at == 0 { Binding::Selector } else { Binding::Poison };
                    self.bind(&mut b, name, binding)?;
                }
                let cond = self.condition(&mut b, e)?;
                if let Some(span) = stranger(&cond, &|kind| matches!(kind, ExprKind::Selector)) {
                    return Err(self.fail(
                        Diagnostic::error(codes::NOT_LAUNCH_KNOWN, "a tier condition tests one value")
                            .at(span, "made of neither that value nor parameters and literals")
                            .help("work it out in the generator and pass it to `PTO_SELECT_TIER`"),
                    ));
                }
                Some(cond)
            }
            None => None,
        };
        let workspace = match &tier.workspace {
            Some(e) => {
                let mut b = Body::new(BodyKind::Launch("the size of a workspace"));
                Some(self.launch_value(&mut b, e, ScalarTy::U32, "the size of a workspace")?)
            }
            None => None,
        };
        Ok(Tier { cond, kernel: kernel?, workspace, span: tier.span })
    }

    fn tier_kernel(&mut self, ident: &ast::Ident) -> Res<FuncId> {
        if self.lookup(ident.as_str()).is_none() {
            let near = self.nearest(ident.as_str(), |n| matches!(n.symbol, Symbol::Kernel(_)));
            let d = Diagnostic::error(codes::UNKNOWN_KERNEL, format!("no kernel `{}`", ident.as_str()))
                .at(ident.span, "unknown kernel")
                .help(format!("define it: `PTO_KERNEL_IMPL({}) {{ … }}`", ident.as_str()));
            return Err(self.fail(super::names::with_suggestion(d, near)));
        }
        let kernel = self.expect_symbol(ident, "a kernel", codes::UNKNOWN_KERNEL, |symbol| match symbol {
            Symbol::Kernel(id) => Some(id),
            _ => None,
        })?;
        self.check_is_task(kernel, ident).map(|()| kernel)
    }

    /// Tiers that earlier ones leave nothing to.
    fn warn_unreachable(&mut self, at: usize) {
        let set = &self.module.tier_sets[at];
        let mut taken: Vec<(Range, Span)> = Vec::new();
        let mut found = Vec::new();
        for tier in &set.tiers {
            let range = match &tier.cond {
                Some(cond) => range_of(cond),
                None => Some(ALL),
            };
            let Some(range) = range else { continue };
            let span = tier.cond.as_ref().map_or(tier.span, |c| c.span);
            if is_covered(range, &taken) {
                let by = taken.iter().find(|(t, _)| t.0 <= range.0 && range.1 <= t.1).or(taken.last());
                found.push((tier.span, by.map(|(_, span)| *span)));
            } else {
                taken.push((range, span));
            }
        }
        let name = set.name.clone();
        for (span, by) in found {
            let d = Diagnostic::warning(
                codes::UNREACHABLE_TIER,
                format!("a tier of `{name}` can never be selected"),
            )
            .at(span, "no value reaches this tier");
            let d = match by {
                Some(by) => d.label(by, "already covers every value it would take"),
                None => d,
            };
            self.diags.warn(d.help("list tiers from the smallest bound to the largest"));
        }
    }

    /// The tier set with this name.
    pub(crate) fn tier_set(&mut self, e: &ast::Expr) -> Res<wsp_core::TierSetId> {
        let ident = self.name_argument(e, "a tier set")?;
        self.expect_symbol(&ident, "a tier set", codes::UNKNOWN_TIERS, |symbol| match symbol {
            Symbol::Tiers(id) => Some(id),
            _ => None,
        })
    }

    /// An argument that must be a lone name.
    pub(crate) fn name_argument(&mut self, e: &ast::Expr, what: &str) -> Res<ast::Ident> {
        match e.as_name() {
            Some(ident) => Ok(ident),
            None => Err(self.bad_argument(e.span, &format!("the name of {what} is needed"))),
        }
    }

    /// Reports an argument that is not what is needed.
    pub(crate) fn bad_argument(&mut self, span: Span, message: &str) -> Reported {
        self.fail(Diagnostic::error(codes::BAD_ARGUMENT, message).at(span, "not that"))
    }
}

/// First and last value of the selector, inclusive; empty when the first is above the last.
type Range = (i128, i128);

const ALL: Range = (0, u32::MAX as i128);

/// The values for which a condition holds, when it is made of comparisons with constants; none when it is not.
fn range_of(cond: &Expr) -> Option<Range> {
    match &cond.kind {
        ExprKind::Const(Const::Bool(true)) => Some(ALL),
        ExprKind::Const(Const::Bool(false)) => Some((1, 0)),
        ExprKind::Binary(BinOp::And, a, b) => {
            let (a, b) = (range_of(a)?, range_of(b)?);
            Some((a.0.max(b.0), a.1.min(b.1)))
        }
        ExprKind::Binary(op, a, b) => {
            match (is_selector(a), b.as_const_int(), is_selector(b), a.as_const_int()) {
                (true, Some(bound), _, _) => compared(*op, bound),
                (_, _, true, Some(bound)) => compared(mirrored(*op), bound),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_selector(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Selector => true,
        ExprKind::Cast(inner) => e.ty.is_int() && is_selector(inner),
        _ => false,
    }
}

fn mirrored(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Le => BinOp::Ge,
        BinOp::Gt => BinOp::Lt,
        BinOp::Ge => BinOp::Le,
        other => other,
    }
}

fn compared(op: BinOp, bound: i128) -> Option<Range> {
    match op {
        BinOp::Lt => Some((0, bound - 1)),
        BinOp::Le => Some((0, bound)),
        BinOp::Gt => Some((bound + 1, ALL.1)),
        BinOp::Ge => Some((bound, ALL.1)),
        BinOp::Eq => Some((bound, bound)),
        _ => None,
    }
}

/// Whether the union of `taken` holds every value of `range`.
fn is_covered(range: Range, taken: &[(Range, Span)]) -> bool {
    let mut sorted: Vec<Range> = taken.iter().map(|(range, _)| *range).collect();
    sorted.arrange();
    let mut next = range.0;
    for (first, last) in sorted {
        if next > range.1 {
            break;
        }
        if first <= next && last >= next {
            next = last + 1;
        }
    }
    next > range.1
}
