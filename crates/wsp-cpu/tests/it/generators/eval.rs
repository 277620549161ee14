//! What a program does: an interpreter of its tree, by the rules of C with checked integers.

use super::ast::{Arr, Ex, Func, Kind, Launch, NO_SLOT, Op, Prog, St, Ty};
use super::numbers::{Num, Res, Stop, Types, binary, checked, common, convert, flipped, promote};
use std::collections::{BTreeMap, BTreeSet};

/// A task, with the words of its descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub(super) kind: Kind,
    pub(super) words: Vec<u32>,
    /// From the body of `PTO_SCHEDULED_FOR`.
    pub(super) item: bool,
}

/// Whose workspace; whether the slots of an axis lie side by side; the indices that a call gives, and those that are added, each
/// with the variable of its loop.
type Key = (usize, bool, Vec<u32>, Vec<(usize, i128)>);

/// A reservation of workspace.
struct Held {
    base: u64,
    bytes: u64,
    count: u64,
}

#[derive(Default)]
struct Frame {
    vars: Vec<Option<Num>>,
    types: Vec<Ty>,
    arrays: Vec<Arr>,
    /// Index variables of the loops around.
    loops: Vec<usize>,
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(Num),
}

pub(super) struct Run<'p> {
    prog: &'p Prog,
    known: Vec<Num>,
    blocks: u32,
    selector: Option<u32>,
    fields: Vec<u32>,
    frame: Frame,
    /// Where the body of `PTO_SCHEDULED_FOR` runs: extent of the third axis and its index variables.
    item: Option<(u32, [usize; 3])>,
    held: BTreeMap<Key, Held>,
    bytes: u64,
    pub(super) tasks: Vec<Task>,
    /// The statements that have emitted tasks which load slots.
    loading: BTreeSet<*const Ex>,
    steps: u32,
}

/// Bytes of a slot with one `float`.
const SLOT: u64 = 64;
const MOST_STEPS: u32 = 4_000;
const MOST_TASKS: usize = 300;

impl<'p> Run<'p> {
    pub(super) fn new(prog: &'p Prog, blocks: u32) -> Res<Run<'p>> {
        let mut run = Run {
            prog,
            known: Vec::new(),
            blocks,
            selector: None,
            fields: Vec::new(),
            frame: Frame::default(),
            item: None,
            held: BTreeMap::new(),
            bytes: 0,
            tasks: Vec::new(),
            loading: BTreeSet::new(),
            steps: 0,
        };
        for known in &prog.known {
            let value = match known {
                Launch::Param(ty, value) => Num(*ty, *value),
                Launch::Const(ty, e) => convert(run.eval(e)?, *ty)?,
            };
            run.known.push(value);
        }
        Ok(run)
    }

    /// Runs the generator.
    pub(super) fn generate(&mut self) -> Res<()> {
        self.enter(&self.prog.locals, Vec::new(), Vec::new());
        self.block(&self.prog.body).map(drop)
    }

    pub(super) fn workspace_bytes(&self) -> u64 {
        self.bytes
    }

    /// How many statements have emitted tasks that load slots.
    pub(super) fn loading(&self) -> usize {
        self.loading.len()
    }

    /// What the tasks store to `y`, by row.
    pub(super) fn outputs(&mut self, rows: usize) -> Res<Vec<f32>> {
        let mut y = vec![0.0; rows];
        let mut slots: BTreeMap<u64, f32> = BTreeMap::new();
        let mut all_stored = true;
        for task in std::mem::take(&mut self.tasks) {
            let w = &task.words;
            let mut load = |at: u64, slots: &BTreeMap<u64, f32>| {
                all_stored &= slots.contains_key(&at);
                slots.get(&at).copied().unwrap_or_default()
            };
            let (id, value) = match task.kind {
                Kind::Tiered(s) => {
                    let Some(tier) = self.prog.sets[s].get(w[0] as usize) else { return Err(Stop::Fault) };
                    self.fields = w.clone();
                    self.enter(&tier.locals, Vec::new(), Vec::new());
                    self.block(&tier.body)?;
                    let value = convert(self.eval(&tier.value)?, Ty::I64)?.1 % 8191;
                    let stored = if w[2] == NO_SLOT { 0 } else { tier.slots };
                    for j in 0..u64::from(stored) {
                        let at = u64::from(w[2]) + j * SLOT;
                        let part = (u64::from(w[1]) * 7 + j + u64::from(w[0])) % 509;
                        slots.insert(at, part as f32);
                    }
                    (w[1], value as f32)
                }
                Kind::Look => (w[0], load(u64::from(w[1]), &slots)),
                Kind::Join => {
                    let apart = u64::from(self.prog.sets[0][w[0] as usize].slots) * SLOT;
                    let at = |j: u32| u64::from(w[2]) + u64::from(j) * apart;
                    (w[1], (0..w[3]).map(|j| load(at(j), &slots)).sum())
                }
            };
            *y.get_mut(id as usize).ok_or(Stop::NoTest)? = value;
        }
        if all_stored { Ok(y) } else { Err(Stop::Unstored) }
    }

    fn enter(&mut self, types: &[Ty], arrays: Vec<Arr>, args: Vec<Num>) -> Frame {
        let mut vars: Vec<Option<Num>> = args.into_iter().map(Some).collect();
        vars.resize(types.len(), None);
        std::mem::replace(&mut self.frame, Frame { vars, types: types.to_vec(), arrays, loops: Vec::new() })
    }

    fn step(&mut self) -> Res<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS { Err(Stop::NoTest) } else { Ok(()) }
    }

    fn block(&mut self, body: &[St]) -> Res<Flow> {
        for st in body {
            match self.statement(st)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn set(&mut self, v: usize, value: Num) -> Res<()> {
        self.frame.vars[v] = Some(convert(value, self.frame.types[v])?);
        Ok(())
    }

    fn statement(&mut self, st: &St) -> Res<Flow> {
        self.step()?;
        match st {
            St::Let(v, init) => {
                let value = init.as_ref().map_or(Ok(Num(Ty::I32, 0)), |e| self.eval(e))?;
                self.set(*v, value)?;
            }
            St::Set(v, op, e) => {
                let value = match op {
                    Some(op) => self.eval(&Ex::Bin(*op, Box::new(Ex::Var(*v)), Box::new(e.clone())))?,
                    None => self.eval(e)?,
                };
                self.set(*v, value)?;
            }
            St::If(c, then, other) => {
                let taken = if self.truth(c)? { then } else { other };
                return self.block(taken);
            }
            St::Each(v, start, end, body) => {
                let (start, end) = (self.u32(start)?, self.u32(end)?);
                for i in start..end {
                    self.set(*v, Num(Ty::U32, i.into()))?;
                    match self.round(Some(*v), body)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            St::For(v, [start, end, step], body) => {
                let start = self.eval(start)?;
                self.set(*v, start)?;
                let below = Ex::Bin(Op::Lt, Box::new(Ex::Var(*v)), Box::new(end.clone()));
                while self.truth(&below)? {
                    match self.round(Some(*v), body)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                    self.statement(&St::Set(*v, Some(Op::Add), step.clone()))?;
                }
            }
            St::While(c, body) => {
                while self.truth(c)? {
                    match self.round(None, body)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            St::Do(body, c) => loop {
                match self.round(None, body)? {
                    Flow::Break => break,
                    Flow::Return(value) => return Ok(Flow::Return(value)),
                    Flow::Next | Flow::Continue => {}
                }
                if !self.truth(c)? {
                    break;
                }
            },
            St::Break => return Ok(Flow::Break),
            St::Continue => return Ok(Flow::Continue),
            St::Return(e) => return Ok(Flow::Return(self.eval(e)?)),
            St::Emit(kind, fields) => self.emit(*kind, fields)?,
            St::Inline(f, args) => {
                self.call(*f, &[], args)?;
            }
            St::Items(_, vars, body) => self.items(*vars, body)?,
        }
        Ok(Flow::Next)
    }

    fn round(&mut self, var: Option<usize>, body: &[St]) -> Res<Flow> {
        self.step()?;
        self.frame.loops.extend(var);
        let flow = self.block(body);
        if var.is_some() {
            self.frame.loops.pop();
        }
        flow
    }

    fn emit(&mut self, kind: Kind, fields: &[Ex]) -> Res<()> {
        let words = fields.iter().map(|e| self.u32(e)).collect::<Res<Vec<_>>>()?;
        if let Kind::Tiered(s) = kind
            && words[0] as usize >= self.prog.sets[s].len()
        {
            return Err(Stop::Fault);
        }
        if matches!(kind, Kind::Look | Kind::Join) {
            self.loading.insert(fields.as_ptr());
        }
        self.tasks.push(Task { kind, words, item: self.item.is_some() });
        if self.tasks.len() > MOST_TASKS { Err(Stop::NoTest) } else { Ok(()) }
    }

    /// The items in the order of the axes; nothing that is tested depends on the order.
    fn items(&mut self, vars: [usize; 3], body: &[St]) -> Res<()> {
        let (first, end) = self.prog.space.second;
        for b in 0..self.prog.lens.len() as u32 {
            let count = self.prog.lens[b as usize].div_ceil(self.prog.space.tile.unwrap_or(1));
            for (h, c) in (first..end).flat_map(|h| (0..count).map(move |c| (h, c))) {
                for (v, value) in vars.into_iter().zip([b, h, c]) {
                    self.set(v, Num(Ty::U32, value.into()))?;
                }
                self.item = Some((count, vars));
                match self.round(None, body)? {
                    Flow::Next | Flow::Continue => {}
                    Flow::Break | Flow::Return(_) => return Err(Stop::NoTest),
                }
                self.item = None;
            }
        }
        Ok(())
    }

    fn truth(&mut self, e: &Ex) -> Res<bool> {
        Ok(self.eval(e)?.1 != 0)
    }

    fn u32(&mut self, e: &Ex) -> Res<u32> {
        let value = convert(self.eval(e)?, Ty::U32)?.1;
        Ok(u32::try_from(value).expect("a value that was just checked should fit"))
    }

    fn array(&self, a: Arr) -> &'p [u32] {
        match a {
            Arr::Lens => &self.prog.lens,
            Arr::Vals => &self.prog.vals,
            Arr::Param(n) => self.array(self.frame.arrays[n]),
        }
    }

    fn eval(&mut self, e: &Ex) -> Res<Num> {
        self.step()?;
        Ok(match e {
            Ex::Lit(ty, v) => Num(*ty, *v),
            Ex::Var(v) => self.frame.vars[*v].expect("a variable should be declared before its use"),
            Ex::Known(n) => self.known[*n],
            Ex::Selector => Num(Ty::U32, self.selector.expect("only conditions test a value").into()),
            Ex::Elem(a, i) => {
                let i = self.u32(i)?;
                Num(Ty::U32, (*self.array(*a).get(i as usize).ok_or(Stop::Fault)?).into())
            }
            Ex::Field(f) => Num(Ty::U32, self.fields[*f].into()),
            Ex::Neg(a) => {
                let a = promote(self.eval(a)?);
                checked(a.0, -a.1)?
            }
            Ex::Not(a) => Num(Ty::Bool, i128::from(!self.truth(a)?)),
            Ex::Flip(a) => flipped(promote(self.eval(a)?)),
            Ex::Bin(Op::And, a, b) => Num(Ty::Bool, i128::from(self.truth(a)? && self.truth(b)?)),
            Ex::Bin(Op::Or, a, b) => Num(Ty::Bool, i128::from(self.truth(a)? || self.truth(b)?)),
            Ex::Bin(op, a, b) => {
                let a = self.eval(a)?;
                binary(*op, a, self.eval(b)?)?
            }
            Ex::Cond(parts) => {
                let [c, a, b] = &**parts;
                let ty = match (self.type_of(a), self.type_of(b)) {
                    (a, b) if a == b => a,
                    (a, b) => common(a, b),
                };
                let taken = if self.truth(c)? { a } else { b };
                convert(self.eval(taken)?, ty)?
            }
            Ex::Cast(ty, a) => convert(self.eval(a)?, *ty)?,
            Ex::Call(f, arrays, args) => self.call(*f, arrays, args)?.ok_or(Stop::NoTest)?,
            Ex::Select(s, e) => {
                let value = self.u32(e)?;
                Num(Ty::U32, self.tier(*s, value)?.into())
            }
            Ex::Alloc(s, tier, args) => Num(Ty::U32, self.alloc(*s, tier, args)?.into()),
            Ex::MaxOf(a, n) => {
                let n = self.u32(n)? as usize;
                let first = self.array(*a).get(..n).ok_or(Stop::Fault)?;
                Num(Ty::U32, first.iter().max().copied().unwrap_or(0).into())
            }
            Ex::SumOf(a, n) => {
                let n = self.u32(n)? as usize;
                let first = self.array(*a).get(..n).ok_or(Stop::Fault)?;
                Num(Ty::U64, first.iter().map(|v| i128::from(*v)).sum())
            }
            Ex::Blocks => Num(Ty::U32, self.blocks.into()),
            Ex::Count => Num(Ty::U32, self.item.ok_or(Stop::NoTest)?.0.into()),
        })
    }

    fn type_of(&self, e: &Ex) -> Ty {
        let known: Vec<Ty> = self.known.iter().map(|n| n.0).collect();
        Types { vars: &self.frame.types, known: &known, funcs: &self.prog.funcs }.of(e)
    }

    fn call(&mut self, f: usize, arrays: &[Arr], args: &[Ex]) -> Res<Option<Num>> {
        let func: &'p Func = &self.prog.funcs[f];
        let mut given = Vec::new();
        for (arg, ty) in args.iter().zip(&func.locals) {
            let value = self.eval(arg)?;
            given.push(convert(value, *ty)?);
        }
        let own = arrays.iter().map(|a| match a {
            Arr::Param(n) => self.frame.arrays[*n],
            a => *a,
        });
        let own = own.collect();
        let outer = self.enter(&func.locals, own, given);
        let flow = self.block(&func.body);
        self.frame = outer;
        match (flow?, func.ret) {
            (Flow::Return(value), Some(ty)) => convert(value, ty).map(Some),
            (_, _) => Ok(None),
        }
    }

    fn tier(&mut self, s: usize, value: u32) -> Res<u32> {
        let outer = self.selector.replace(value);
        for (t, tier) in (0u32..).zip(&self.prog.sets[s]) {
            let holds = match &tier.cond {
                Some(cond) => self.truth(cond)?,
                None => true,
            };
            if holds {
                self.selector = outer;
                return Ok(t);
            }
        }
        Err(Stop::Fault)
    }

    /// One slot per tuple of the indices and of the indices of the loops around that they do not mention, each with its loop; in `PTO_SCHEDULED_FOR` those of the
    /// third axis side by side.
    fn alloc(&mut self, s: usize, tier: &Ex, args: &[Ex]) -> Res<u32> {
        let tier = self.u32(tier)? as usize;
        let mut key = args.iter().map(|e| self.u32(e)).collect::<Res<Vec<_>>>()?;
        let (mut count, mut index, mut covered, mut added) = (1, 0, Vec::new(), Vec::new());
        if let Some((extent, vars)) = self.item {
            for var in vars.iter().skip(key.len()) {
                let value = self.u32(&Ex::Var(*var))?;
                key.push(value);
            }
            (count, index) = (extent, key.remove(2));
            covered = vars.to_vec();
        }
        for var in self.frame.loops.clone() {
            if !covered.contains(&var) && !args.iter().any(|e| mentions(e, var)) {
                added.push((var, self.eval(&Ex::Var(var))?.1));
            }
        }
        let Some(tier) = self.prog.sets[s].get(tier) else { return Err(Stop::Fault) };
        if index >= count {
            return Err(Stop::Fault);
        }
        let bytes = u64::from(tier.slots) * SLOT;
        if bytes == 0 {
            return Ok(0);
        }
        let next = self.bytes;
        let held = self.held.entry((s, self.item.is_some(), key, added)).or_insert(Held {
            base: next,
            bytes,
            count: count.into(),
        });
        if (held.bytes, held.count) != (bytes, u64::from(count)) {
            return Err(Stop::Fault);
        }
        self.bytes = next.max(held.base + held.bytes * held.count);
        u32::try_from(held.base + u64::from(index) * bytes).map_err(|_| Stop::Fault)
    }
}

fn mentions(e: &Ex, var: usize) -> bool {
    match e {
        Ex::Var(v) => *v == var,
        Ex::Lit(..) | Ex::Known(_) | Ex::Selector | Ex::Field(_) | Ex::Blocks | Ex::Count => false,
        Ex::Elem(_, a)
        | Ex::Neg(a)
        | Ex::Not(a)
        | Ex::Flip(a)
        | Ex::Cast(_, a)
        | Ex::Select(_, a)
        | Ex::MaxOf(_, a)
        | Ex::SumOf(_, a) => mentions(a, var),
        Ex::Bin(_, a, b) => mentions(a, var) || mentions(b, var),
        Ex::Cond(parts) => parts.iter().any(|e| mentions(e, var)),
        Ex::Call(_, _, args) => args.iter().any(|e| mentions(e, var)),
        Ex::Alloc(_, tier, args) => mentions(tier, var) || args.iter().any(|e| mentions(e, var)),
    }
}
