//! Random programs that a user might write, most of them right, with some things changed.

use super::change::change;
use super::program::{At, Cond, Expr, Fit, Fold, Kernel, Lies, Map, Meet, Program, Stmt, Tensor, of};
use crate::support::random::Random;

/// What a kernel goes over: a box, in loops or tasks.
struct Frame {
    at: At,
    size: [usize; 2],
    /// Variable, end and step of each loop, outermost first.
    loops: Vec<(usize, usize, usize)>,
    tasks: usize,
    /// What the innermost loop ends with.
    last: Vec<Stmt>,
}

/// A kernel as it is written.
struct Code<'r> {
    random: &'r mut Random,
    shape: [usize; 2],
    tensors: usize,
    vars: Vec<[usize; 2]>,
    before: Vec<Stmt>,
    body: Vec<Stmt>,
    after: Vec<Stmt>,
}

/// How results of a kernel lie.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// Each box is stored where it was loaded.
    Along,
    /// Boxes are added up.
    Sum,
}

const ZERO: Expr = Expr::Const(0);

pub(super) fn lies(random: &mut Random) -> Lies {
    *random.pick(&[
        [None, None],
        [Some(0), None],
        [None, Some(0)],
        [Some(1), None],
        [None, Some(1)],
        [Some(0), Some(1)],
        [Some(1), Some(0)],
    ])
}

pub(super) fn program(random: &mut Random) -> Program {
    let most = if random.one_in(5) { 12 } else { 8 };
    let extent = |random: &mut Random| 2 + random.below(most - 1) as usize;
    let rows = extent(random);
    let columns = if random.one_in(2) { rows } else { extent(random) };
    let mut grid = [1 + random.below(4) as usize, 1 + random.below(3) as usize];
    if grid == [1, 1] {
        grid = [2, 2];
    }
    let count = 3 + random.below(3) as usize;
    // One dimension is sharded by the plan, or each over an axis.
    let (dim, axis) = (random.below(2) as usize, random.below(2) as usize);
    let mut plan: Lies = [None; 2];
    plan[dim] = Some(if grid[axis] > 1 { axis } else { 1 - axis });
    if random.one_in(3) {
        plan[1 - dim] = plan[dim].map(|axis| 1 - axis);
    }
    let tensor =
        Tensor { shape: [rows, columns], stored: Some(plan), read: None, pending: [false; 2], inner: false };
    let mut program =
        Program { grid, tensors: vec![tensor; count], kernels: Vec::new(), whole: random.one_in(6) };
    let mut source = 0;
    for _ in 0..1 + random.below(3) {
        let to = 1 + random.below(count as u32 - 1) as usize;
        let mut code = Code {
            random,
            shape: [rows, columns],
            tensors: count,
            vars: Vec::new(),
            before: Vec::new(),
            body: Vec::new(),
            after: Vec::new(),
        };
        let (kernel, ends) = code.kernel(source, to);
        program.kernels.push(kernel);
        if ends == Ends::Sum {
            program.tensors[to].stored = None;
            program.tensors[to].read = (!random.one_in(5)).then_some([None; 2]);
        }
        source = if random.one_in(3) { source } else { to };
    }
    for (at, tensor) in program.tensors.iter_mut().enumerate() {
        match random.below(16) {
            0 | 1 => tensor.stored = Some([None; 2]),
            2 => tensor.stored = Some(lies(random)),
            3 => tensor.stored = None,
            4 => tensor.read = Some([None; 2]),
            5 => tensor.read = Some(lies(random)),
            6 => tensor.inner = at > 0,
            _ => {}
        }
    }
    for _ in 0..[0, 0, 0, 1, 1, 2][random.below(6) as usize] {
        change(&mut program, random);
    }
    program
}

impl Code<'_> {
    fn kernel(&mut self, source: usize, to: usize) -> (Kernel, Ends) {
        let frame = self.frame();
        let var = self.load(source, &frame.at, frame.size);
        let mut var = var;
        for _ in 0..self.random.below(3) {
            var = self.step(var, &frame);
        }
        let ends = self.end(var, to, &frame);
        let mut body = std::mem::take(&mut self.body);
        if !frame.loops.is_empty() && self.random.one_in(8) {
            let (loop_var, end, _) = frame.loops[self.random.below(frame.loops.len() as u32) as usize];
            let bound = Expr::Const(self.random.below(end as u32 + 1) as usize);
            let leaves = if self.random.one_in(2) { Stmt::Break } else { Stmt::Continue };
            let cond = match self.random.below(2) {
                0 => Cond::Same(Expr::Loop(loop_var), bound),
                _ => Cond::Less(bound, Expr::Loop(loop_var)),
            };
            let at = self.random.below(body.len() as u32 + 1) as usize;
            body.insert(at, Stmt::If { cond, then: vec![leaves], other: Vec::new() });
        }
        body.extend(frame.last);
        for (var, to, step) in frame.loops.into_iter().rev() {
            body = vec![Stmt::For { var, from: ZERO, to: Expr::Const(to), step, body }];
        }
        let body = [std::mem::take(&mut self.before), body, std::mem::take(&mut self.after)].concat();
        (Kernel { vars: std::mem::take(&mut self.vars), tasks: frame.tasks, body }, ends)
    }

    fn frame(&mut self) -> Frame {
        let [rows, columns] = self.shape;
        let dim = self.random.below(2) as usize;
        // Most chunks fill the dimension.
        let chunk = |random: &mut Random, extent: usize| {
            let fits: Vec<usize> = (1..=extent).filter(|size| extent.is_multiple_of(*size)).collect();
            if random.one_in(5) { 1 + random.below(extent as u32) as usize } else { *random.pick(&fits) }
        };
        let along = |dim: usize, index: Expr| if dim == 0 { [index, ZERO] } else { [ZERO, index] };
        let sized = |dim: usize, size: usize| if dim == 0 { [size, columns] } else { [rows, size] };
        let part = chunk(self.random, self.shape[dim]);
        let extent = self.shape[dim];
        let frame = |at, size, loops| Frame { at, size, loops, tasks: 1, last: Vec::new() };
        match self.random.below(13) {
            0 | 1 => frame([ZERO, ZERO], self.shape, Vec::new()),
            2 => frame([ZERO, ZERO], self.shape, vec![(0, 2, 1)]),
            3 | 4 => frame(along(dim, Expr::Loop(0)), sized(dim, 1), vec![(0, extent, 1)]),
            5 => frame(along(dim, Expr::Loop(0)), sized(dim, part), vec![(0, extent, part)]),
            6 => {
                let index = of('*', Expr::Loop(0), Expr::Const(part));
                frame(along(dim, index), sized(dim, part), vec![(0, extent.div_ceil(part), 1)])
            }
            7 | 8 => {
                let inner = if self.random.one_in(2) { 1 } else { chunk(self.random, columns) };
                let mut loops = vec![(0, rows, 1), (1, columns, inner)];
                if self.random.one_in(3) {
                    loops.reverse();
                }
                frame([Expr::Loop(0), Expr::Loop(1)], [1, inner], loops)
            }
            9 => {
                let index = of('*', Expr::Task, Expr::Const(part));
                let tasks = extent.div_ceil(part);
                Frame {
                    at: along(dim, index),
                    size: sized(dim, part),
                    loops: Vec::new(),
                    tasks,
                    last: Vec::new(),
                }
            }
            10 => Frame {
                at: [Expr::Task, Expr::Loop(0)],
                size: [1, 1],
                loops: vec![(0, columns, 1)],
                tasks: rows,
                last: Vec::new(),
            },
            11 => {
                // A variable counts in place of the loop's.
                let next = of('+', Expr::Local(0), Expr::Const(part));
                let last = vec![Stmt::Set { local: 0, to: next }];
                let loops = vec![(0, extent / part, 1)];
                Frame { last, ..frame(along(dim, Expr::Local(0)), sized(dim, part), loops) }
            }
            _ => {
                let index = Expr::Const(self.random.below(extent as u32) as usize);
                frame(along(dim, index), sized(dim, 1), Vec::new())
            }
        }
    }

    fn var(&mut self, size: [usize; 2]) -> usize {
        self.vars.push(size);
        self.vars.len() - 1
    }

    fn load(&mut self, tensor: usize, at: &At, size: [usize; 2]) -> usize {
        let var = self.var(size);
        self.body.push(Stmt::Load { var, tensor, at: at.clone(), upright: false });
        var
    }

    fn meet(&mut self) -> Meet {
        *self.random.pick(&[
            Meet::Add,
            Meet::Add,
            Meet::Sub,
            Meet::Mul,
            Meet::Mul,
            Meet::Max,
            Meet::Min,
            Meet::Less,
        ])
    }

    /// What is done next with a variable.
    fn step(&mut self, src: usize, frame: &Frame) -> usize {
        let size = self.vars[src];
        let dst = if self.random.one_in(3) { src } else { self.var(size) };
        let other = self.random.below(self.tensors as u32) as usize;
        let fixed = Expr::Const(self.random.below(2) as usize);
        match self.random.below(11) {
            0 | 1 => {
                let map = *self.random.pick(&[
                    Map::Exp,
                    Map::Abs,
                    Map::Clamp,
                    Map::Neg,
                    Map::Scale,
                    Map::Shift,
                    Map::Divide,
                    Map::Mov,
                ]);
                self.body.push(Stmt::Map { map, dst, src });
            }
            2 | 3 => {
                let b = self.load(other, &frame.at, size);
                let meet = self.meet();
                self.body.push(Stmt::Meet { meet, fit: Fit::Same, dst, a: src, b });
            }
            4 => {
                let b = self.load(other, &[frame.at[0].clone(), fixed], [size[0], 1]);
                let meet = *self.random.pick(&[Meet::Add, Meet::Mul]);
                self.body.push(Stmt::Meet { meet, fit: Fit::Column, dst, a: src, b });
            }
            5 => {
                let b = self.load(other, &[fixed, frame.at[1].clone()], [1, size[1]]);
                let meet = *self.random.pick(&[Meet::Add, Meet::Mul]);
                self.body.push(Stmt::Meet { meet, fit: Fit::Row, dst, a: src, b });
            }
            6 => {
                let rows = self.random.one_in(2);
                let b = self.var(if rows { [1, size[1]] } else { [size[0], 1] });
                let fold = if self.random.one_in(2) { Fold::Max } else { Fold::Sum };
                self.body.push(Stmt::Fold { fold, rows, dst: b, src });
                let fit = if rows { Fit::Row } else { Fit::Column };
                let meet = *self.random.pick(&[Meet::Add, Meet::Sub, Meet::Mul]);
                self.body.push(Stmt::Meet { meet, fit, dst, a: src, b });
            }
            7 if self.shape[0] == self.shape[1] && size[1] == self.shape[1] => {
                let b = self.load(other, &[ZERO, ZERO], self.shape);
                let dst = self.var(size);
                self.body.push(Stmt::Product { dst, a: src, b, turned: self.random.one_in(2), adds: false });
                return dst;
            }
            8 if size[0] == size[1] => {
                let dst = self.var(size);
                self.body.push(Stmt::Map { map: Map::Trans, dst, src });
                return dst;
            }
            9 => {
                let at = if self.random.one_in(2) { frame.at.clone() } else { [fixed.clone(), fixed] };
                self.body.push(Stmt::Number { tensor: other, at });
                self.body.push(Stmt::Map { map: Map::ScaleBy, dst, src });
            }
            _ => return self.rare(src, dst),
        }
        dst
    }

    fn rare(&mut self, src: usize, dst: usize) -> usize {
        let size = self.vars[src];
        match self.random.below(7) {
            0 => self.body.push(Stmt::Map { map: Map::Cumsum, dst, src }),
            4 => {
                let (mask, b) = (self.var(size), self.var(size));
                self.body.push(Stmt::Meet { meet: Meet::Less, fit: Fit::Same, dst: mask, a: src, b: src });
                self.body.push(Stmt::Map { map: Map::Neg, dst: b, src });
                self.body.push(Stmt::Select { dst, mask, a: src, b });
            }
            5 => {
                let (places, dst) = (self.var(size), self.var(size));
                self.body.push(match self.random.one_in(2) {
                    true => Stmt::Iota { var: places },
                    false => Stmt::Fill { var: places, value: u64::from(self.random.below(2)) },
                });
                self.body.push(Stmt::Gather { dst, src, places, rows: self.random.one_in(2) });
                return dst;
            }
            6 if size[0] == 1 || size[1] == 1 => {
                // Turned by a load of the other direction.
                let dst = self.var([size[0] * size[1], 1]);
                let tensor = self.random.below(self.tensors as u32) as usize;
                self.body.push(Stmt::Load { var: dst, tensor, at: [ZERO, ZERO], upright: true });
                return dst;
            }
            1 => {
                let b = self.var(size);
                self.body.push(Stmt::Fill { var: b, value: u64::from(self.random.below(2)) });
                let meet = self.meet();
                self.body.push(Stmt::Meet { meet, fit: Fit::Same, dst, a: b, b: src });
            }
            2 => {
                let b = self.var(size);
                self.body.push(Stmt::Iota { var: b });
                self.body.push(Stmt::Meet { meet: Meet::Add, fit: Fit::Same, dst, a: src, b });
            }
            _ => {
                let part = self.var([1, size[1]]);
                let from = self.random.below(size[0] as u32) as usize;
                self.body.push(Stmt::Extract { dst: part, src, at: [from, 0] });
                let to = self.random.below(size[0] as u32) as usize;
                self.body.push(Stmt::Insert { dst: src, src: part, at: [to, 0] });
                return src;
            }
        }
        dst
    }

    /// Where results go.
    fn end(&mut self, var: usize, to: usize, frame: &Frame) -> Ends {
        let size = self.vars[var];
        let fixed = Expr::Const(self.random.below(2) as usize);
        let (row, column) = ([1, size[1]], [size[0], 1]);
        let store = |tensor: usize, var: usize, at: At, adds: bool| Stmt::Store {
            tensor,
            var,
            at,
            adds,
            upright: false,
        };
        match self.random.below(10) {
            0..=3 => self.body.push(store(to, var, frame.at.clone(), false)),
            4 => {
                let (rows, at) = match self.random.one_in(2) {
                    true => (true, [fixed, frame.at[1].clone()]),
                    false => (false, [frame.at[0].clone(), fixed]),
                };
                let dst = self.var(if rows { row } else { column });
                let fold = *self.random.pick(&[Fold::Sum, Fold::Sum, Fold::Max, Fold::Argmax]);
                self.body.push(Stmt::Fold { fold, rows, dst, src: var });
                self.body.push(store(to, dst, at, false));
            }
            5 => {
                let adds = self.random.one_in(2);
                let at = if adds { [ZERO, ZERO] } else { frame.at.clone() };
                self.body.push(store(to, var, at, true));
                return if adds { Ends::Sum } else { Ends::Along };
            }
            _ => {
                self.sum(var, to);
                return Ends::Sum;
            }
        }
        Ends::Along
    }

    /// Adds up a variable, and stores the sum behind the loops.
    fn sum(&mut self, var: usize, to: usize) {
        let size = self.vars[var];
        let (what, size) = match self.random.below(4) {
            0 => {
                let dst = self.var([1, size[1]]);
                self.body.push(Stmt::Fold { fold: Fold::Sum, rows: true, dst, src: var });
                (dst, [1, size[1]])
            }
            1 => {
                let dst = self.var([size[0], 1]);
                self.body.push(Stmt::Fold { fold: Fold::Sum, rows: false, dst, src: var });
                (dst, [size[0], 1])
            }
            2 if size[0] == self.shape[1] || size[0] == size[1] || size[0] == 1 => {
                let acc = self.var([size[0], size[0]]);
                self.before.push(Stmt::Fill { var: acc, value: 0 });
                self.body.push(Stmt::Product { dst: acc, a: var, b: var, turned: true, adds: true });
                self.after.push(Stmt::Store {
                    tensor: to,
                    var: acc,
                    at: [ZERO, ZERO],
                    adds: false,
                    upright: false,
                });
                return;
            }
            _ => (var, size),
        };
        let acc = self.var(size);
        self.before.push(Stmt::Fill { var: acc, value: 0 });
        let meet = if self.random.one_in(5) { Meet::Sub } else { Meet::Add };
        self.body.push(Stmt::Meet { meet, fit: Fit::Same, dst: acc, a: acc, b: what });
        if self.random.one_in(4) {
            let map = *self.random.pick(&[Map::Neg, Map::Scale, Map::Exp]);
            self.after.push(Stmt::Map { map, dst: acc, src: acc });
        }
        self.after.push(Stmt::Store {
            tensor: to,
            var: acc,
            at: [ZERO, ZERO],
            adds: self.random.one_in(8),
            upright: false,
        });
    }
}
