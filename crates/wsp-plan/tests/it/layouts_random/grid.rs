//! Kernels interpreted on the tiles of a grid. On a grid of one tile they compute what programs mean.

use super::program::{At, Cond, Expr, Fold, Kernel, LOCALS, Map, Program, Stmt};
use super::spread::{Hull, JUNK, Reach, Sites, Spread, tensors, widen};
use super::tiles::{COLUMNS, Cell, ROWS, Tiles, Var};

/// Why a run ends early.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Stop {
    /// The program itself has a fault, or takes too long.
    Fault,
    /// A number differs from tile to tile, or a tile does not have it.
    Number,
}

/// What a statement does with those after it.
#[derive(PartialEq)]
enum Next {
    Goes,
    Breaks,
    Continues,
    Returns,
}

/// The tensors after all tasks, and what each task has touched, kernel by kernel.
pub(super) struct Ran {
    pub(super) tensors: Vec<Spread>,
    pub(super) reach: Vec<Vec<Reach>>,
}

/// Elements that operations of a plain run may take.
const MOST: usize = 20_000;

/// A program on one tile.
pub(super) fn plain(program: &Program) -> Result<Ran, Stop> {
    let mut whole = program.clone();
    for tensor in &mut whole.tensors {
        (tensor.stored, tensor.read, tensor.pending) = (None, None, [false; 2]);
    }
    let mut tensors = tensors(&whole, [1, 1], &vec![[false; 2]; whole.tensors.len()]);
    let (mut reach, mut left) = (Vec::new(), MOST);
    let nothing = Reach::none(tensors.len());
    for kernel in &whole.kernels {
        let mut tasks = Vec::new();
        for number in 0..kernel.tasks {
            let sites = Sites::of(&tensors, &nothing, number, [1, 1]);
            let mut task = Task::new(kernel, number, sites, [1, 1], &mut tensors);
            task.left = left;
            task.run()?;
            left = task.left;
            tasks.push(task.reach);
        }
        reach.push(tasks);
    }
    Ok(Ran { tensors, reach })
}

/// A program on its grid, where tasks touch what is said.
pub(super) fn spread(program: &Program, reach: &[Vec<Reach>], pending: &[[bool; 2]]) -> Result<Ran, Stop> {
    let grid = program.grid;
    let mut tensors = tensors(program, grid, pending);
    for (kernel, reach) in program.kernels.iter().zip(reach) {
        for (number, reach) in reach.iter().enumerate() {
            let sites = Sites::of(&tensors, reach, number, grid);
            let mut task = Task::new(kernel, number, sites, grid, &mut tensors);
            task.left = usize::MAX;
            task.run()?;
        }
    }
    Ok(Ran { tensors, reach: Vec::new() })
}

/// A task while it runs.
struct Task<'a> {
    kernel: &'a Kernel,
    number: usize,
    sites: Sites,
    grid: [usize; 2],
    tiles: Tiles,
    tensors: &'a mut [Spread],
    /// Values of tensors that were moved before the task.
    moved: Vec<Option<Vec<u64>>>,
    vars: Vec<Option<Var>>,
    loops: Vec<Option<usize>>,
    locals: [usize; LOCALS],
    scalar: u64,
    left: usize,
    reach: Reach,
    /// How many statements give each variable a value.
    given: Vec<usize>,
}

impl<'a> Task<'a> {
    fn new(
        kernel: &'a Kernel,
        number: usize,
        sites: Sites,
        grid: [usize; 2],
        tensors: &'a mut [Spread],
    ) -> Task<'a> {
        let moved = tensors.iter().map(|tensor| tensor.moved.then(|| tensor.values())).collect();
        let tiles = Tiles([0, 1].map(|axis| if sites.across[axis] { grid[axis] } else { 1 }));
        let reach = Reach::none(tensors.len());
        Task {
            kernel,
            number,
            sites,
            grid,
            tiles,
            tensors,
            moved,
            vars: vec![None; kernel.vars.len()],
            loops: Vec::new(),
            locals: [0; LOCALS],
            scalar: 0,
            left: 0,
            reach,
            given: kernel.given(),
        }
    }

    fn run(&mut self) -> Result<(), Stop> {
        let kernel = self.kernel;
        self.block(&kernel.body).map(|_| ())
    }

    fn block(&mut self, body: &[Stmt]) -> Result<Next, Stop> {
        for stmt in body {
            let next = self.step(stmt)?;
            if next != Next::Goes {
                return Ok(next);
            }
        }
        Ok(Next::Goes)
    }

    fn step(&mut self, stmt: &Stmt) -> Result<Next, Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::Fault)?;
        match stmt {
            Stmt::Break => return Ok(Next::Breaks),
            Stmt::Continue => return Ok(Next::Continues),
            Stmt::Return => return Ok(Next::Returns),
            Stmt::If { cond, then, other } => {
                let holds = match cond {
                    Cond::Less(a, b) => self.index(a)? < self.index(b)?,
                    Cond::Same(a, b) => self.index(a)? == self.index(b)?,
                    Cond::Large => self.scalar & 8 != 0,
                };
                return self.block(if holds { then } else { other });
            }
            Stmt::For { var, from, to, step, body } => {
                let mut at = self.index(from)?;
                if self.loops.len() <= *var {
                    self.loops.resize(*var + 1, None);
                }
                while at < self.index(to)? {
                    self.loops[*var] = Some(at);
                    self.left = self.left.checked_sub(1).ok_or(Stop::Fault)?;
                    match self.block(body)? {
                        Next::Breaks => break,
                        Next::Returns => return Ok(Next::Returns),
                        Next::Goes | Next::Continues => {}
                    }
                    at += step;
                }
                self.loops[*var] = None;
            }
            Stmt::Set { local, to } => self.locals[*local] = self.index(to)?,
            Stmt::Load { var, tensor, at, upright } => {
                let loaded = self.load(*tensor, at, self.kernel.vars[*var], *upright)?;
                self.set(*var, loaded)?;
            }
            Stmt::Store { tensor, var, at, adds, upright } => {
                let value = self.var(*var)?.clone();
                // Upright, columns of the tensor are rows of the tile.
                let value = if *upright { self.tiles.map(Map::Trans, &value, 0) } else { value };
                self.store(*tensor, &value, at, *adds)?;
            }
            Stmt::Number { tensor, at } => {
                let loaded = self.load(*tensor, at, [1, 1], false)?;
                self.scalar = self.number(&loaded)?;
            }
            Stmt::StoreNumber { tensor, at } => {
                let scalar = self.scalar;
                let value = self.tiles.all([1, 1], &|_, _| scalar);
                self.store(*tensor, &value, at, false)?;
            }
            Stmt::SumOf { var } => {
                if self.var(*var)?.rows != 1 {
                    return Err(Stop::Fault);
                }
                let sum = self.tiles.fold(Fold::Sum, false, self.var(*var)?);
                self.scalar = self.number(&sum)?;
            }
            compute => self.compute(compute)?,
        }
        Ok(Next::Goes)
    }

    fn compute(&mut self, stmt: &Stmt) -> Result<(), Stop> {
        let tiles = self.tiles;
        let (dst, made) = match stmt {
            Stmt::Fill { var, value } => (*var, Some(tiles.all(self.kernel.vars[*var], &|_, _| *value))),
            Stmt::Iota { var } => (*var, Some(tiles.all(self.kernel.vars[*var], &|_, column| column as u64))),
            Stmt::Map { map, dst, src } => (*dst, Some(tiles.map(*map, self.var(*src)?, self.scalar))),
            Stmt::Meet { meet, fit, dst, a, b } => {
                let (first, second) = ((self.var(*a)?, a == dst), (self.var(*b)?, b == dst));
                (*dst, tiles.meet(*meet, *fit, first, second))
            }
            Stmt::Fold { fold, rows, dst, src } => (*dst, Some(tiles.fold(*fold, *rows, self.var(*src)?))),
            Stmt::Product { dst, a, b, turned, adds } => {
                let acc = if *adds { Some(self.var(*dst)?) } else { None };
                let (a, b) = (self.var(*a)?, self.var(*b)?);
                let cost = a.rows * a.columns * if *turned { b.rows } else { b.columns };
                let made = tiles.product(a, b, *turned, acc);
                self.left = self.left.checked_sub(cost).ok_or(Stop::Fault)?;
                (*dst, made)
            }
            Stmt::Select { dst, mask, a, b } => {
                (*dst, tiles.select(self.var(*mask)?, self.var(*a)?, self.var(*b)?))
            }
            Stmt::Gather { dst, src, places, rows } => {
                (*dst, tiles.gather(self.var(*src)?, self.var(*places)?, *rows))
            }
            Stmt::Extract { dst, src, at } => {
                (*dst, tiles.extract(self.var(*src)?, *at, self.kernel.vars[*dst]))
            }
            Stmt::Insert { dst, src, at } => (*dst, tiles.insert(self.var(*dst)?, self.var(*src)?, *at)),
            _ => return Ok(()),
        };
        let mut made = made.ok_or(Stop::Fault)?;
        let is_free = |var: usize| self.vars[var].as_ref().is_some_and(|var| var.free);
        made.free = stmt.operands().into_iter().any(is_free);
        self.set(dst, made)
    }

    fn var(&self, var: usize) -> Result<&Var, Stop> {
        self.vars[var].as_ref().ok_or(Stop::Fault)
    }

    /// Gives a variable a value that fits it.
    fn set(&mut self, var: usize, mut value: Var) -> Result<(), Stop> {
        value.free = (value.free || self.given[var] > 1) && self.tiles.is_uniform(&value);
        let [rows, columns] = self.kernel.vars[var];
        self.left = self.left.checked_sub(value.rows * value.columns).ok_or(Stop::Fault)?;
        if value.rows > rows || value.columns > columns {
            return Err(Stop::Fault);
        }
        self.vars[var] = Some(value);
        Ok(())
    }

    fn index(&self, expr: &Expr) -> Result<usize, Stop> {
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Task => self.number,
            Expr::Loop(at) => self.loops.get(*at).copied().flatten().ok_or(Stop::Fault)?,
            Expr::Local(at) => self.locals[*at],
            Expr::Of(op, a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                let value = match op {
                    '+' => a.checked_add(b),
                    '-' => a.checked_sub(b),
                    '*' => a.checked_mul(b),
                    '/' => a.checked_div(b),
                    _ => a.checked_rem(b),
                };
                value.filter(|value| *value < 1000).ok_or(Stop::Fault)?
            }
        })
    }

    /// The number that all tiles have.
    fn number(&self, of: &Var) -> Result<u64, Stop> {
        let Cell::Has(first) = of.cells[0] else { return Err(Stop::Number) };
        if of.cells.iter().all(|cell| *cell == Cell::Has(first)) { Ok(first) } else { Err(Stop::Number) }
    }

    /// The box of a place, no larger than the tensor.
    fn hull(&self, tensor: usize, at: &At, [rows, columns]: [usize; 2]) -> Result<Hull, Stop> {
        let shape = self.tensors[tensor].shape;
        let lo = [self.index(&at[0])?, self.index(&at[1])?];
        if lo[0] >= shape[0] || lo[1] >= shape[1] {
            return Err(Stop::Fault);
        }
        Ok([lo, [shape[0].min(lo[0] + rows), shape[1].min(lo[1] + columns)]])
    }

    /// A program that reads what it has not stored has a fault of its own, which a run on one tile finds.
    fn is_known(&self, tensor: usize, hull: Hull) -> Result<(), Stop> {
        let is = self.grid != [1, 1] || self.tensors[tensor].is_known(hull);
        if is { Ok(()) } else { Err(Stop::Fault) }
    }

    /// A tile on the grid.
    fn tile(&self, tile: usize) -> [usize; 2] {
        let place = self.tiles.place(tile);
        [0, 1].map(|axis| if self.sites.across[axis] { place[axis] } else { self.sites.base[axis] })
    }

    /// Each tile takes what it has of a box, or all of one that lies on one tile where the task does not reach others.
    fn load(
        &mut self,
        tensor: usize,
        at: &At,
        [rows, columns]: [usize; 2],
        upright: bool,
    ) -> Result<Var, Stop> {
        if upright {
            let lying = self.load(tensor, at, [columns, rows], false)?;
            return Ok(self.tiles.map(Map::Trans, &lying, 0));
        }
        let hull = self.hull(tensor, at, [rows, columns])?;
        self.is_known(tensor, hull)?;
        widen(&mut self.reach.loaded[tensor], hull);
        let [lo, hi] = hull;
        let of = &self.tensors[tensor];
        let box_across = of.across(of.read, Some(hull));
        Ok(self.tiles.each([hi[0] - lo[0], hi[1] - lo[1]], &mut |tile, row, column| {
            let (here, at) = (self.tile(tile), [lo[0] + row, lo[1] + column]);
            let mut gone = None;
            for dim in 0..2 {
                let Some((axis, part)) = of.part(of.read, dim) else { continue };
                if self.sites.loaded[tensor][dim] && at[dim] / part != here[axis] {
                    let why = if box_across[dim] { [ROWS, COLUMNS][dim] } else { 0 };
                    gone = Some(gone.unwrap_or(0) | why);
                }
            }
            let value = || match &self.moved[tensor] {
                Some(values) => values[at[0] * of.shape[1] + at[1]],
                None => of.local(at, here),
            };
            gone.map_or_else(|| Cell::Has(value()), Cell::Gone)
        }))
    }

    /// Each tile stores what it has where it has the tensor.
    fn store(&mut self, tensor: usize, value: &Var, at: &At, adds: bool) -> Result<(), Stop> {
        let hull = self.hull(tensor, at, [value.rows, value.columns])?;
        let [lo, hi] = hull;
        if hi[0] - lo[0] != value.rows || hi[1] - lo[1] != value.columns {
            return Err(Stop::Fault);
        }
        if adds {
            self.is_known(tensor, hull)?;
        }
        widen(&mut self.reach.stored[tensor], hull);
        let added = [0, 1].map(|axis| self.sites.across[axis] && self.tensors[tensor].pending[axis]);
        let value = &if value.free { self.tiles.split(value, added) } else { value.clone() };
        for tile in 0..self.tiles.count() {
            for row in 0..value.rows {
                for column in 0..value.columns {
                    self.store_one(tensor, (value, [row, column]), tile, [lo[0] + row, lo[1] + column], adds);
                }
            }
        }
        Ok(())
    }

    fn store_one(
        &mut self,
        tensor: usize,
        (value, [row, column]): (&Var, [usize; 2]),
        tile: usize,
        at: [usize; 2],
        adds: bool,
    ) {
        let (place, here) = (self.tiles.place(tile), self.tile(tile));
        let of = &mut self.tensors[tensor];
        let mut cell = value.at(tile, row, column);
        let mut to: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
        for axis in 0..2 {
            let across = self.sites.across[axis];
            let dim = (0..2).find(|dim| of.stored[*dim] == Some(axis));
            let owner = of.owner(of.stored, axis, at);
            to[axis] = match (owner, dim) {
                (Some(owner), Some(dim)) if across && self.sites.stored[tensor][dim] => {
                    if owner == here[axis] { vec![owner] } else { return }
                }
                (Some(owner), _) if across => {
                    // All send it to the tile that has it: they have to agree.
                    let all = self.tiles.along(tile, axis);
                    if place[axis] != 0 {
                        return;
                    }
                    if all.iter().any(|other| value.at(*other, row, column) != cell)
                        || matches!(cell, Cell::Gone(_))
                    {
                        cell = Cell::Has(JUNK);
                    }
                    vec![owner]
                }
                (Some(owner), _) => vec![owner],
                (None, _) if across => vec![here[axis]],
                (None, _) if adds && self.sites.said[axis] => vec![here[axis]],
                (None, _) => (0..self.grid[axis]).collect(),
            };
        }
        let Cell::Has(value) = cell else { return };
        for x in &to[0] {
            for y in &to[1] {
                let copy = of.stored(at, [*x, *y]);
                *copy = if adds { copy.wrapping_add(value) } else { value };
            }
        }
    }
}
