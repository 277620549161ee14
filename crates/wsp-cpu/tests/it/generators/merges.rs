//! Tasks that load what others have stored to their slots, and some that do not find it.

use super::ast::{Ex, Kind, NO_SLOT, Op, St, Ty};
use super::exprs::{ExprNames, expr, fitting};
use super::random::Gen;
use super::rng::Rng;

impl Gen<'_> {
    /// Tasks of a loop with slots of a set, and one behind it that loads a slot of theirs, or of a key of another form.
    pub(super) fn looped(&mut self, r: &mut Rng, out: &mut Vec<St>) {
        let s = r.below(self.sets.len());
        if self.sets[s].iter().any(|tier| tier.slots == 0) {
            return;
        }
        let lit = |value: usize| Ex::Lit(Ty::U32, value as i128);
        let (v, i) = (self.local(Ty::U32), self.local(Ty::U32));
        out.push(St::Let(v, Some(Ex::Select(s, Box::new(self.value_as(r, Ty::U32, 2))))));
        let slot = |r: &mut Rng, index: Ex| {
            let args = [vec![], vec![index.clone()], vec![index, lit(1)]];
            Ex::Alloc(s, Box::new(Ex::Var(v)), args[r.below(3)].clone())
        };
        let next = St::Set(0, Some(Op::Add), Ex::Lit(Ty::I32, 1));
        let words = [0; 4].map(|_| self.value_as(r, Ty::U32, 2));
        let fields = [Ex::Var(v), Ex::Var(0), slot(r, Ex::Var(i))].into_iter().chain(words).collect();
        let rounds = vec![St::Emit(Kind::Tiered(s), fields), next.clone()];
        out.push(St::Each(i, lit(0), lit(1 + r.below(3)), rounds));
        let index = lit(r.below(3));
        out.push(St::Emit(Kind::Look, vec![Ex::Var(0), slot(r, index)]));
        out.push(next);
    }

    /// A merge behind `PTO_SCHEDULED_FOR`, of slots that nobody stores to.
    pub(super) fn outside(&mut self, r: &mut Rng, out: &mut Vec<St>) {
        if self.sets[0].iter().any(|tier| tier.slots == 0) {
            return;
        }
        let lit = |value: u32| Ex::Lit(Ty::U32, value.into());
        let v = self.local(Ty::U32);
        out.push(St::Let(v, Some(Ex::Select(0, Box::new(lit(r.below(9000) as u32))))));
        let slot = Ex::Alloc(0, Box::new(Ex::Var(v)), vec![lit(0), lit(1), lit(0)]);
        // Behind the rows of the items.
        let id = Ex::Bin(Op::Add, Box::new(Ex::Var(0)), Box::new(lit(3000)));
        out.push(match r.one_in(2) {
            true => St::Emit(Kind::Look, vec![id, slot]),
            false => St::Emit(Kind::Join, vec![Ex::Var(v), id, slot, lit(1)]),
        });
    }

    /// `PTO_SCHEDULED_FOR`: a task per item and, where slots are reserved, one that adds up those of a key.
    pub(super) fn items(&mut self, r: &mut Rng, before: String, out: &mut Vec<St>) {
        let vars = [(); 3].map(|()| self.local(Ty::U32));
        let st = self.scoped(|g| {
            g.top.vars.clear();
            g.top.fixed.extend(vars);
            let [b, h, c] = vars;
            let mut body = Vec::new();
            let outer = ExprNames { vars: vec![(b, Ty::U32)], ..g.top.clone() };
            // The same for all items of a key.
            let value = expr(r, &outer, &[], 3);
            let tier = Ex::Select(0, Box::new(fitting(r, value, Ty::U32)));
            let v = g.local(Ty::U32);
            body.push(St::Let(v, Some(tier)));
            g.top.vars.extend(vars.map(|v| (v, Ty::U32)));
            g.room = 3;
            let plain = g.plain(r, 2);
            body.extend(plain);
            let times = |a: Ex, n: i128| Ex::Bin(Op::Mul, Box::new(a), Box::new(Ex::Lit(Ty::U32, n)));
            let plus = |a: Ex, b: Ex| Ex::Bin(Op::Add, Box::new(a), Box::new(b));
            let place = plus(times(Ex::Var(b), 600), plus(times(Ex::Var(h), 80), times(Ex::Var(c), 2)));
            let id = plus(Ex::Var(0), place);
            let slots = g.sets[0].iter().all(|tier| tier.slots > 0);
            let slot = |c: Ex| Ex::Alloc(0, Box::new(Ex::Var(v)), vec![Ex::Var(b), Ex::Var(h), c]);
            let own = if slots { slot(Ex::Var(c)) } else { Ex::Lit(Ty::U32, NO_SLOT.into()) };
            let words = [0; 4].map(|_| g.value_as(r, Ty::U32, 2));
            let fields = [Ex::Var(v), id.clone(), own].into_iter().chain(words).collect();
            body.push(St::Emit(Kind::Tiered(0), fields));
            if slots {
                let count = Ex::Count;
                let last =
                    Ex::Bin(Op::Eq, Box::new(plus(Ex::Var(c), Ex::Lit(Ty::I32, 1))), Box::new(count.clone()));
                let first = slot(Ex::Lit(Ty::U32, 0));
                let join = vec![Ex::Var(v), plus(id, Ex::Lit(Ty::I32, 1)), first, count];
                body.push(St::If(last, vec![St::Emit(Kind::Join, join)], Vec::new()));
            }
            St::Items(before, vars, body)
        });
        out.push(st);
    }
}
