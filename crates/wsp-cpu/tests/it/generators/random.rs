//! Random programs.

use super::ast::{Arr, Ex, Func, Kind, Launch, NO_SLOT, Op, Prog, Space, St, Tier, Ty};
use super::exprs::{ExprNames, expr, fitting, mended, small};
use super::rng::Rng;

const TYPES: [Ty; 5] = [Ty::U32, Ty::U32, Ty::I32, Ty::I64, Ty::U64];

/// A program of a seed.
pub(super) fn program(seed: u64) -> Prog {
    let mut rng = Rng::new(seed);
    let r = &mut rng;
    let known = launch(r);
    let numbers: Vec<Ty> = known
        .iter()
        .map(|known| match known {
            Launch::Param(ty, _) | Launch::Const(ty, _) => *ty,
        })
        .collect();
    let top = ExprNames { known: numbers, ..ExprNames::default() };
    let mut funcs: Vec<Func> = Vec::new();
    for _ in 0..r.below(3) {
        funcs.push(helper(r, &top, &funcs));
    }
    let paged = r.one_in(3);
    let sets: Vec<Vec<Tier>> = (0..1 + r.below(2)).map(|_| tiers(r, &top, &funcs, paged)).collect();
    let lens = (0..1 + r.below(4)).map(|_| length(r, paged)).collect();
    let vals = (0..1 + r.below(6)).map(|_| boundary(r)).collect();
    if r.one_in(3) {
        let inline = inline(r, &top, &funcs, sets.len());
        funcs.push(inline);
    }
    let space = space(r);
    let mut before = String::new();
    if !paged {
        before.push_str("PTO_SET_EXTENT(c, lens);\n  ");
    }
    if space.schedule.is_some() {
        before.push_str("PTO_APPLY_SCHEDULE(Q);\n  ");
    }
    let mut g = Gen { top, funcs, sets: &sets, locals: Vec::new(), tiers: Vec::new(), room: 60 };
    let body = g.generator(r, before);
    let (locals, funcs) = (g.locals, g.funcs);
    Prog { known, sets, funcs, space, locals, body, lens, vals, paged }
}

fn length(r: &mut Rng, paged: bool) -> u32 {
    match (r.below(8), paged) {
        (0, _) => 0,
        (1, false) => 20 + r.below(13) as u32,
        _ => r.below(7) as u32,
    }
}

/// Numbers near which conditions change.
fn boundary(r: &mut Rng) -> u32 {
    let near = [0, 1, 2, 7, 64, 2048, 2049, 8192, 65536, 1 << 31, (1 << 31) - 1, u32::MAX, u32::MAX - 1];
    match r.below(3) {
        0 => near[r.below(near.len())],
        1 => near[r.below(near.len())].saturating_add(r.below(3) as u32),
        _ => r.below(100) as u32,
    }
}

fn launch(r: &mut Rng) -> Vec<Launch> {
    let mut known = Vec::new();
    for n in 0..1 + r.below(3) {
        let ty = TYPES[r.below(5)];
        known.push(match n > 0 && r.one_in(3) {
            true => {
                // Of parameters, so that nothing is refused before it is run.
                let of = Ex::Cast(Ty::I64, Box::new(Ex::Known(r.below(n))));
                let step = Ex::Lit(Ty::I64, r.below(9) as i128);
                let op = [Op::Add, Op::BitXor, Op::Max][r.below(3)];
                Launch::Const(Ty::I64, Ex::Bin(op, Box::new(of), Box::new(step)))
            }
            false if matches!(ty, Ty::I32 | Ty::I64) && r.one_in(3) => {
                Launch::Param(ty, -(r.below(50) as i128))
            }
            false => Launch::Param(ty, r.below(70) as i128),
        });
    }
    known
}

fn space(r: &mut Rng) -> Space {
    let first = r.below(3) as u32;
    let order = |r: &mut Rng| {
        ["PTO_SEQUENTIAL", "PTO_PARALLEL", "PTO_INTERLEAVED(2)", "PTO_BLOCKED(2)", "PTO_LONGEST_FIRST"]
            [r.below(5)]
    };
    let schedule = (!r.one_in(3)).then(|| {
        let mut text = String::new();
        if r.one_in(2) {
            text.push_str(&format!("PTO_ORDER(b, {}) ", order(r)));
        }
        if r.one_in(2) {
            text.push_str(&format!("PTO_ORDER(h, {}) ", ["PTO_SEQUENTIAL", "PTO_PARALLEL"][r.below(2)]));
        }
        if r.one_in(2) {
            text.push_str(
                ["PTO_PREFETCH(b, 1) ", "PTO_PREFETCH(c, 2) ", "PTO_AFFINITY(h, PTO_SPREAD) "][r.below(3)],
            );
        }
        if r.one_in(3) {
            text.push_str(["PTO_AFFINITY(b, PTO_CORE_LOCAL)", "PTO_AFFINITY(b, PTO_CORE_GROUP)"][r.below(2)]);
        }
        text
    });
    let tile = r.one_in(2).then(|| 1 + r.below(4) as u32);
    Space { second: (first, first + 1 + r.below(2) as u32), tile, schedule }
}

fn tiers(r: &mut Rng, top: &ExprNames, funcs: &[Func], paged: bool) -> Vec<Tier> {
    let count = r.below(4);
    let (mut bound, style) = (boundary(r) / 2, r.below(4));
    let equal = r.one_in(3).then(|| 1 + r.below(3) as u32);
    let tier = |r: &mut Rng, cond: Option<Ex>| {
        let scope = ExprNames {
            fields: true,
            arrays: if paged { vec![Arr::Vals] } else { vec![Arr::Lens, Arr::Vals] },
            ..top.clone()
        };
        let mut g = Gen {
            top: scope,
            funcs: funcs.to_vec(),
            sets: &[],
            locals: Vec::new(),
            tiers: Vec::new(),
            room: 6,
        };
        let body = if r.one_in(2) { g.plain(r, 2) } else { Vec::new() };
        let value = g.value(r, 3);
        let slots = equal.unwrap_or([0, 1, 2, 3, 32][r.below(5)]);
        Tier { cond, slots, locals: g.locals, body, value }
    };
    let mut all = Vec::new();
    for _ in 0..count {
        let ty = |v: u32| if v > i32::MAX as u32 || v.is_multiple_of(2) { Ty::U32 } else { Ty::I32 };
        let number = |v: u32| Ex::Lit(ty(v), v.into());
        let selector = Box::new(Ex::Selector);
        let cond = match style {
            // Rising bounds in every spelling.
            0 => {
                let bound = Box::new(number(bound));
                match r.below(4) {
                    0 => Ex::Bin(Op::Le, selector, bound),
                    1 => Ex::Bin(Op::Lt, selector, bound),
                    2 => Ex::Bin(Op::Ge, bound, selector),
                    _ => Ex::Bin(Op::Gt, bound, selector),
                }
            }
            // Falling ones.
            1 => Ex::Bin(
                if r.one_in(2) { Op::Gt } else { Op::Ge },
                selector,
                Box::new(number(u32::MAX / 2 - bound / 2)),
            ),
            _ => {
                let scope = ExprNames { selector: true, ..top.clone() };
                let side = |r: &mut Rng, depth| expr(r, &scope, &[], depth);
                let op = [Op::Le, Op::Lt, Op::Gt, Op::Ge, Op::Eq, Op::Ne][r.below(6)];
                let left = Ex::Bin(
                    [Op::Rem, Op::Div, Op::Max][r.below(3)],
                    Box::new(Ex::Selector),
                    Box::new(number(1 + boundary(r) / 2)),
                );
                let test = Ex::Bin(op, Box::new(left), Box::new(side(r, 2)));
                let test = mended(r, &scope, &[], test);
                match r.below(4) {
                    0 => Ex::Bin(
                        Op::And,
                        Box::new(test),
                        Box::new(Ex::Bin(Op::Gt, selector, Box::new(small(r)))),
                    ),
                    1 => Ex::Bin(
                        Op::Or,
                        Box::new(Ex::Bin(Op::Eq, selector, Box::new(small(r)))),
                        Box::new(test),
                    ),
                    2 => Ex::Not(Box::new(test)),
                    _ => test,
                }
            }
        };
        all.push(tier(r, Some(cond)));
        bound = bound.saturating_add(1 + boundary(r) / 4);
    }
    all.push(tier(r, None));
    all
}

fn helper(r: &mut Rng, top: &ExprNames, funcs: &[Func]) -> Func {
    let (arrays, params) = (r.below(2), 1 + r.below(2));
    let locals: Vec<Ty> = (0..params).map(|_| TYPES[r.below(5)]).collect();
    let scope = ExprNames {
        arrays: (0..arrays).map(Arr::Param).collect(),
        vars: locals.iter().copied().enumerate().collect(),
        ..top.clone()
    };
    let mut g = Gen { top: scope, funcs: funcs.to_vec(), sets: &[], locals, tiers: Vec::new(), room: 8 };
    let mut body = g.plain(r, 2);
    let ret = TYPES[r.below(5)];
    let value = g.value_as(r, ret, 3);
    if r.one_in(2) {
        let (test, early) = (g.condition(r), g.value_as(r, ret, 2));
        body.push(St::If(test, vec![St::Return(early)], Vec::new()));
    }
    body.push(St::Return(value));
    Func { ret: Some(ret), arrays, params, locals: g.locals, body }
}

/// A function that emits one task; its first parameter is the row.
fn inline(r: &mut Rng, top: &ExprNames, funcs: &[Func], sets: usize) -> Func {
    let locals = vec![Ty::U32, Ty::U32];
    let scope = ExprNames {
        arrays: vec![Arr::Vals],
        vars: locals.iter().copied().enumerate().collect(),
        sets,
        ..top.clone()
    };
    let mut g = Gen { top: scope, funcs: funcs.to_vec(), sets: &[], locals, tiers: Vec::new(), room: 8 };
    let mut body = g.plain(r, 2);
    let s = r.below(sets);
    let tier = Ex::Select(s, Box::new(g.value_as(r, Ty::U32, 2)));
    let words = [0; 4].map(|_| g.value_as(r, Ty::U32, 2));
    let fields = [tier, Ex::Var(0), Ex::Lit(Ty::U32, NO_SLOT.into())].into_iter().chain(words).collect();
    body.push(St::Emit(Kind::Tiered(s), fields));
    Func { ret: None, arrays: 0, params: 2, locals: g.locals, body }
}

/// Statements of one function.
pub(super) struct Gen<'s> {
    /// What is in scope.
    pub(super) top: ExprNames,
    funcs: Vec<Func>,
    pub(super) sets: &'s [Vec<Tier>],
    locals: Vec<Ty>,
    /// Variables that hold a tier of a set.
    tiers: Vec<(usize, usize)>,
    /// Statements still to be written.
    pub(super) room: u32,
}

impl Gen<'_> {
    pub(super) fn value(&self, r: &mut Rng, depth: u32) -> Ex {
        expr(r, &self.top, &self.funcs, depth)
    }

    /// A value that is converted to a type.
    pub(super) fn value_as(&self, r: &mut Rng, ty: Ty, depth: u32) -> Ex {
        let value = self.value(r, depth);
        fitting(r, value, ty)
    }

    fn condition(&self, r: &mut Rng) -> Ex {
        let op = [Op::Lt, Op::Le, Op::Gt, Op::Ne, Op::Eq, Op::Ge][r.below(6)];
        let test = Ex::Bin(op, Box::new(self.value(r, 2)), Box::new(self.value(r, 2)));
        let test = mended(r, &self.top, &self.funcs, test);
        match r.below(5) {
            0 => Ex::Bin([Op::And, Op::Or][r.below(2)], Box::new(test), Box::new(self.value(r, 2))),
            1 => Ex::Not(Box::new(test)),
            _ => test,
        }
    }

    pub(super) fn local(&mut self, ty: Ty) -> usize {
        self.locals.push(ty);
        self.locals.len() - 1
    }

    fn declare(&mut self, r: &mut Rng, ty: Ty, out: &mut Vec<St>) -> usize {
        let init = if r.one_in(10) { None } else { Some(self.value_as(r, ty, 3)) };
        let v = self.local(ty);
        out.push(St::Let(v, init));
        self.top.vars.push((v, ty));
        v
    }

    /// Statements without effects outside.
    pub(super) fn plain(&mut self, r: &mut Rng, most: usize) -> Vec<St> {
        let mut out = Vec::new();
        for _ in 0..=r.below(most) {
            self.any(r, &mut out, 1, false);
        }
        out
    }

    /// Runs `f` in a block of its own.
    pub(super) fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let (vars, tiers, fixed) = (self.top.vars.len(), self.tiers.len(), self.top.fixed.clone());
        let value = f(self);
        self.top.vars.truncate(vars);
        self.tiers.truncate(tiers);
        self.top.fixed = fixed;
        value
    }

    fn body(&mut self, r: &mut Rng, depth: u32, emits: bool, in_loop: bool) -> Vec<St> {
        self.scoped(|g| {
            let mut out = Vec::new();
            for _ in 0..=r.below(2) {
                g.any(r, &mut out, depth + 1, emits);
            }
            if in_loop && r.one_in(5) {
                let leave = if r.one_in(2) { St::Break } else { St::Continue };
                out.insert(r.below(out.len() + 1), St::If(g.outer_condition(r), vec![leave], Vec::new()));
            }
            out
        })
    }

    /// A condition over what is known everywhere in a block.
    fn outer_condition(&self, r: &mut Rng) -> Ex {
        let scope = ExprNames { vars: Vec::new(), ..self.top.clone() };
        let test = Ex::Bin(Op::Gt, Box::new(expr(r, &scope, &[], 2)), Box::new(small(r)));
        mended(r, &scope, &[], test)
    }

    fn any(&mut self, r: &mut Rng, out: &mut Vec<St>, depth: u32, emits: bool) {
        if self.room == 0 {
            return;
        }
        self.room -= 1;
        let ty = TYPES[r.below(5)];
        match r.below(if depth > 3 { 6 } else { 12 }) {
            0 | 1 => drop(self.declare(r, ty, out)),
            2 | 3 => self.assign(r, out),
            4 | 5 if emits => self.task(r, out),
            4 | 5 => self.assign(r, out),
            6 | 7 => {
                let cond = self.condition(r);
                let then = self.body(r, depth, emits, false);
                let other = if r.one_in(2) { self.body(r, depth, emits, false) } else { Vec::new() };
                out.push(St::If(cond, then, other));
            }
            8 => {
                let (start, end) = (small(r), self.bound(r));
                let st = self.scoped(|g| {
                    let v = g.local(Ty::U32);
                    g.top.vars.push((v, Ty::U32));
                    g.top.fixed.push(v);
                    St::Each(v, start, end, g.body(r, depth, emits, true))
                });
                out.push(st);
            }
            9 | 10 => self.counted(r, out, depth, emits),
            _ => self.condition_loop(r, out, depth, emits),
        }
    }

    /// The end of a loop of few rounds, for the most part.
    fn bound(&self, r: &mut Rng) -> Ex {
        match r.below(3) {
            0 => small(r),
            1 => Ex::Bin(
                Op::Rem,
                Box::new(Ex::Cast(Ty::U32, Box::new(self.value(r, 2)))),
                Box::new(Ex::Lit(Ty::U32, 6)),
            ),
            _ => Ex::Bin(Op::Min, Box::new(self.value(r, 1)), Box::new(Ex::Lit(Ty::I32, 4))),
        }
    }

    fn counted(&mut self, r: &mut Rng, out: &mut Vec<St>, depth: u32, emits: bool) {
        let ty = TYPES[r.below(5)];
        let (mut start, mut end) = (small(r), self.bound(r));
        let step = Ex::Lit(Ty::I32, 1 + r.below(3) as i128);
        match ty {
            Ty::I32 | Ty::I64 if r.one_in(3) => {
                start = Ex::Neg(Box::new(Ex::Lit(Ty::I32, 1 + r.below(3) as i128)));
                // A bound without a sign is compared as one with a sign where the loop is counted.
                end = Ex::Cast(ty, Box::new(end));
            }
            Ty::I64 | Ty::U64 if r.one_in(4) => {
                // Past what 32 bits hold.
                start = Ex::Lit(ty, u32::MAX.into());
                end = Ex::Lit(ty, i128::from(u32::MAX) + 1 + r.below(3) as i128);
            }
            _ => {}
        }
        let keep = r.one_in(2);
        let st = self.scoped(|g| {
            let v = g.local(ty);
            g.top.vars.push((v, ty));
            if keep {
                g.top.fixed.push(v);
            }
            St::For(v, [start, end, step], g.body(r, depth, emits, true))
        });
        out.push(st);
    }

    fn condition_loop(&mut self, r: &mut Rng, out: &mut Vec<St>, depth: u32, emits: bool) {
        let v = self.local(Ty::U32);
        out.push(St::Let(v, Some(Ex::Lit(Ty::I32, 0))));
        self.top.vars.push((v, Ty::U32));
        let mut test = Ex::Bin(Op::Lt, Box::new(Ex::Var(v)), Box::new(small(r)));
        if r.one_in(3) {
            test = Ex::Bin(Op::And, Box::new(test), Box::new(self.condition(r)));
        }
        let fixed = self.top.fixed.clone();
        self.top.fixed.push(v);
        let mut body = self.body(r, depth, emits, false);
        self.top.fixed = fixed;
        body.insert(0, St::Set(v, Some(Op::Add), Ex::Lit(Ty::I32, 1)));
        out.push(if r.one_in(2) { St::While(test, body) } else { St::Do(body, test) });
    }

    fn assign(&mut self, r: &mut Rng, out: &mut Vec<St>) {
        let free = |v: &&(usize, Ty)| !self.top.fixed.contains(&v.0);
        let vars: Vec<usize> = self.top.vars.iter().filter(free).map(|v| v.0).collect();
        if vars.is_empty() {
            let ty = TYPES[r.below(5)];
            self.declare(r, ty, out);
            return;
        }
        let v = vars[r.below(vars.len())];
        let compound = [Op::Add, Op::Mul, Op::BitXor, Op::BitOr, Op::BitAnd, Op::Rem, Op::Sub];
        let most = if r.one_in(4) { 7 } else { 5 };
        let op = r.one_in(2).then(|| compound[r.below(most)]);
        let ty = self.locals[v];
        out.push(St::Set(v, op, self.value_as(r, ty, 3)));
    }

    /// A task, and the next row. Variable 0 is the row.
    fn task(&mut self, r: &mut Rng, out: &mut Vec<St>) {
        let next = St::Set(0, Some(Op::Add), Ex::Lit(Ty::I32, 1));
        if let Some(f) = self.funcs.iter().position(|f| f.ret.is_none())
            && r.one_in(5)
        {
            out.push(St::Inline(f, vec![Ex::Var(0), self.value_as(r, Ty::U32, 2)]));
            out.push(next);
            return;
        }
        let s = r.below(self.sets.len());
        let mut selected = Ex::Select(s, Box::new(self.value_as(r, Ty::U32, 3)));
        let mut slot = Ex::Lit(Ty::U32, NO_SLOT.into());
        if r.one_in(2) {
            let v = self.local(Ty::U32);
            out.push(St::Let(v, Some(selected)));
            self.top.vars.push((v, Ty::U32));
            self.top.fixed.push(v);
            self.tiers.push((v, s));
            selected = Ex::Var(v);
            let args = (0..r.below(3)).map(|_| self.value_as(r, Ty::U32, 1)).collect();
            slot = Ex::Alloc(s, Box::new(selected.clone()), args);
            if r.one_in(2) {
                let w = self.local(Ty::U32);
                out.push(St::Let(w, Some(slot)));
                self.top.fixed.push(w);
                slot = Ex::Var(w);
            }
        }
        let words = [0; 4].map(|_| self.value_as(r, Ty::U32, 3));
        let look = matches!(slot, Ex::Var(_)) && self.sets[s].iter().all(|tier| tier.slots > 0);
        let fields = [selected, Ex::Var(0), slot.clone()].into_iter().chain(words).collect();
        out.push(St::Emit(Kind::Tiered(s), fields));
        out.push(next.clone());
        if look && r.one_in(2) {
            out.push(St::Emit(Kind::Look, vec![Ex::Var(0), slot]));
            out.push(next);
        }
    }

    fn generator(&mut self, r: &mut Rng, before: String) -> Vec<St> {
        self.top.arrays = vec![Arr::Lens, Arr::Vals];
        self.top.sets = self.sets.len();
        self.top.blocks = true;
        let row = self.local(Ty::U32);
        self.top.fixed.push(row);
        let mut out = vec![St::Let(row, Some(Ex::Lit(Ty::I32, 0)))];
        for _ in 0..1 + r.below(4) {
            self.any(r, &mut out, 0, true);
        }
        self.task(r, &mut out);
        if r.one_in(3) {
            self.looped(r, &mut out);
        }
        if r.one_in(2) {
            self.items(r, before, &mut out);
            if r.one_in(4) {
                self.outside(r, &mut out);
            }
        }
        out
    }
}
