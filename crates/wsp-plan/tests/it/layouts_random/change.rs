//! One thing of a program changed.

use super::generate::lies;
use super::program::{Cond, Expr, LOCALS, Map, Meet, Program, Stmt, of};
use crate::support::random::Random;

/// Changes the layout of a tensor, or a statement.
pub(super) fn change(program: &mut Program, random: &mut Random) {
    let tensors = program.tensors.len() as u32;
    if random.one_in(4) {
        let tensor = &mut program.tensors[random.below(tensors) as usize];
        match random.below(6) {
            0 => tensor.stored = Some(lies(random)),
            1 => tensor.read = Some(lies(random)),
            2 => tensor.read = None,
            3 => tensor.stored = None,
            4 => {
                let axis = random.below(2) as usize;
                let used = tensor.stored.unwrap_or_default().contains(&Some(axis));
                if !used {
                    tensor.stored = tensor.stored.or(Some([None; 2]));
                    tensor.pending[axis] = true;
                    tensor.read = tensor.read.or(Some([None; 2]));
                }
            }
            _ => program.grid = [1 + random.below(4) as usize, 1 + random.below(3) as usize],
        }
        return;
    }
    let kernel = random.below(program.kernels.len() as u32) as usize;
    let kernel = &mut program.kernels[kernel];
    let vars = kernel.vars.clone();
    let mut blocks = 0;
    each_block(&mut kernel.body, &mut |_| blocks += 1);
    let mut chosen = random.below(blocks);
    each_block(&mut kernel.body, &mut |block| {
        if chosen == 0 {
            change_block(block, random, &vars, tensors);
        }
        chosen = chosen.wrapping_sub(1);
    });
}

/// All blocks of statements, the outer one first.
fn each_block(block: &mut Vec<Stmt>, f: &mut dyn FnMut(&mut Vec<Stmt>)) {
    f(block);
    for stmt in block {
        match stmt {
            Stmt::If { then, other, .. } => {
                each_block(then, f);
                each_block(other, f);
            }
            Stmt::For { body, .. } => each_block(body, f),
            _ => {}
        }
    }
}

fn expr(random: &mut Random) -> Expr {
    match random.below(8) {
        0..=2 => Expr::Const(random.below(5) as usize),
        3 => Expr::Task,
        4 => Expr::Local(random.below(LOCALS as u32) as usize),
        5 => Expr::Loop(1),
        _ => Expr::Loop(0),
    }
}

fn cond(random: &mut Random) -> Cond {
    match random.below(7) {
        0 => Cond::Large,
        1 | 2 => Cond::Same(expr(random), Expr::Const(random.below(4) as usize)),
        3 => Cond::Same(of('%', expr(random), Expr::Const(2)), Expr::Const(0)),
        _ => Cond::Less(expr(random), Expr::Const(1 + random.below(6) as usize)),
    }
}

/// An index that is near another one.
fn near(old: &Expr, random: &mut Random) -> Expr {
    let constant = |random: &mut Random| Expr::Const(1 + random.below(3) as usize);
    match random.below(6) {
        0 | 1 => of('+', old.clone(), constant(random)),
        2 => of('*', old.clone(), constant(random)),
        3 => of(*random.pick(&['/', '%']), old.clone(), constant(random)),
        4 => of('+', old.clone(), Expr::Local(0)),
        _ => expr(random),
    }
}

fn change_block(block: &mut Vec<Stmt>, random: &mut Random, vars: &[[usize; 2]], tensors: u32) {
    if block.is_empty() {
        return;
    }
    let at = random.below(block.len() as u32) as usize;
    match random.below(12) {
        0 => drop(block.remove(at)),
        1 => {
            let to = random.below(block.len() as u32) as usize;
            block.swap(at, to);
        }
        2 => block.insert(at, block[at].clone()),
        3 | 4 => {
            let end = at + 1 + random.below((block.len() - at) as u32) as usize;
            let inside: Vec<Stmt> = block.drain(at..end).collect();
            let stmt = match random.below(4) {
                3 => {
                    // One branch is like the other but for one thing.
                    let mut other = inside.clone();
                    let place = random.below(other.len() as u32) as usize;
                    change_stmt(&mut other[place], random, vars, tensors);
                    Stmt::If { cond: cond(random), then: inside, other }
                }
                0 => Stmt::For { var: 2, from: Expr::Const(0), to: Expr::Const(2), step: 1, body: inside },
                1 => Stmt::If { cond: cond(random), then: Vec::new(), other: inside },
                _ => Stmt::If { cond: cond(random), then: inside, other: Vec::new() },
            };
            block.insert(at, stmt);
        }
        5 => {
            let leaves = random.pick(&[Stmt::Break, Stmt::Continue, Stmt::Return]).clone();
            block.insert(at, Stmt::If { cond: cond(random), then: vec![leaves], other: Vec::new() });
        }
        6 => {
            let local = random.below(LOCALS as u32) as usize;
            let to = match random.one_in(2) {
                true => of('+', Expr::Local(local), Expr::Const(1)),
                false => expr(random),
            };
            block.insert(at, Stmt::Set { local, to });
        }
        _ => change_stmt(&mut block[at], random, vars, tensors),
    }
}

fn change_stmt(stmt: &mut Stmt, random: &mut Random, vars: &[[usize; 2]], tensors: u32) {
    // Another variable of the same capacity.
    let like = |old: usize, random: &mut Random| {
        let fits: Vec<usize> = (0..vars.len()).filter(|at| vars[*at] == vars[old]).collect();
        *random.pick(&fits)
    };
    match stmt {
        Stmt::Load { tensor, at, var, upright } => match random.below(5) {
            4 => *upright = !*upright && vars[*var][1] == 1,
            0 => *tensor = random.below(tensors) as usize,
            1 => *var = like(*var, random),
            _ => {
                let dim = random.below(2) as usize;
                at[dim] = near(&at[dim], random);
            }
        },
        Stmt::Store { tensor, at, var, adds, upright } => match random.below(6) {
            5 => *upright = !*upright && vars[*var][1] == 1,
            0 => *tensor = random.below(tensors) as usize,
            1 => *var = like(*var, random),
            2 => *adds = !*adds,
            _ => {
                let dim = random.below(2) as usize;
                at[dim] = near(&at[dim], random);
            }
        },
        Stmt::Number { tensor, at } | Stmt::StoreNumber { tensor, at } => {
            let dim = random.below(2) as usize;
            at[dim] = near(&at[dim], random);
            if random.one_in(3) {
                *tensor = random.below(tensors) as usize;
            }
            if random.one_in(3) {
                *stmt = Stmt::StoreNumber { tensor: *tensor, at: at.clone() };
            }
        }
        Stmt::Fill { value, .. } => *value = 1 - *value % 2,
        Stmt::Map { map, dst, src } => match random.below(3) {
            0 => *dst = like(*dst, random),
            1 => *src = like(*src, random),
            _ if *map != Map::Trans => *map = *random.pick(&[Map::Exp, Map::Mov, Map::Neg, Map::Cumsum]),
            _ => {}
        },
        Stmt::Meet { meet, dst, a, b, .. } => match random.below(4) {
            0 => *dst = like(*dst, random),
            1 => *a = like(*a, random),
            2 => *b = like(*b, random),
            _ => *meet = *random.pick(&[Meet::Add, Meet::Sub, Meet::Mul]),
        },
        Stmt::Select { mask, a, b, .. } => {
            let operand = match random.below(3) {
                0 => mask,
                1 => a,
                _ => b,
            };
            *operand = like(*operand, random);
        }
        Stmt::Gather { src, places, .. } => {
            let operand = if random.one_in(2) { src } else { places };
            *operand = like(*operand, random);
        }
        Stmt::Product { adds, turned, dst, .. } => match random.below(3) {
            0 => *dst = like(*dst, random),
            1 => *turned = !*turned,
            _ => *adds = !*adds,
        },
        Stmt::Fold { src, .. } => {
            if random.one_in(2) {
                *src = like(*src, random);
            } else {
                *stmt = Stmt::SumOf { var: *src };
            }
        }
        Stmt::For { from, to, step, .. } => match random.below(3) {
            0 => *from = Expr::Const(1),
            1 => *to = near(to, random),
            _ => *step = 1 + random.below(3) as usize,
        },
        Stmt::If { cond: of, .. } => *of = cond(random),
        _ => {}
    }
}
