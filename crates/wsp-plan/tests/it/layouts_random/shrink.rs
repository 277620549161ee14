//! Smaller programs that fail as a program does.

use super::program::{Program, Stmt};

/// The program of which nothing more can be left out, and what of it is wrong.
pub(super) fn least(mut program: Program, wrong: &dyn Fn(&Program) -> Option<String>) -> (Program, String) {
    let mut why = wrong(&program).unwrap_or_default();
    loop {
        let smaller = candidates(&program).into_iter().find_map(|smaller| Some((wrong(&smaller)?, smaller)));
        let Some((found, smaller)) = smaller else { return (program, why) };
        (why, program) = (found, smaller);
    }
}

/// The program with one thing less.
fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Program)| {
        let mut smaller = program.clone();
        change(&mut smaller);
        all.push(smaller);
    };
    for at in 0..program.kernels.len() {
        if program.kernels.len() > 1 {
            add(&|smaller| drop(smaller.kernels.remove(at)));
        }
        if program.kernels[at].tasks > 1 {
            add(&|smaller| smaller.kernels[at].tasks = 1);
        }
        for place in 0..count(&program.kernels[at].body) {
            add(&|smaller| drop(without(&mut smaller.kernels[at].body, &mut place.clone(), false)));
            add(&|smaller| drop(without(&mut smaller.kernels[at].body, &mut place.clone(), true)));
        }
    }
    for at in 0..program.tensors.len() {
        let tensor = &program.tensors[at];
        if tensor.stored.is_some() {
            add(&|smaller| (smaller.tensors[at].stored, smaller.tensors[at].pending) = (None, [false; 2]));
        }
        if tensor.read.is_some() {
            add(&|smaller| smaller.tensors[at].read = None);
        }
        if tensor.inner {
            add(&|smaller| smaller.tensors[at].inner = false);
        }
        for axis in (0..2).filter(|axis| tensor.pending[*axis]) {
            add(&|smaller| smaller.tensors[at].pending[axis] = false);
        }
    }
    for axis in (0..2).filter(|axis| program.grid[*axis] > 1) {
        add(&|smaller| smaller.grid[axis] -= 1);
    }
    if program.whole {
        add(&|smaller| smaller.whole = false);
    }
    // A statement in place of the one that has it may leave as many.
    let size = |of: &Program| of.kernels.iter().map(|kernel| count(&kernel.body)).sum::<usize>();
    all.retain(|smaller| {
        size(smaller) < size(program)
            || smaller.kernels.len() < program.kernels.len()
            || format!("{smaller:?}").len() < format!("{program:?}").len()
            || smaller.grid != program.grid
            || smaller.whole != program.whole
    });
    all
}

fn count(body: &[Stmt]) -> usize {
    body.iter()
        .map(|stmt| match stmt {
            Stmt::If { then, other, .. } => 1 + count(then) + count(other),
            Stmt::For { body, .. } => 1 + count(body),
            _ => 1,
        })
        .sum()
}

/// Takes out the statement with a number, or puts what is in it in its place.
fn without(body: &mut Vec<Stmt>, place: &mut usize, unwrap: bool) -> Option<Stmt> {
    for at in 0..body.len() {
        if *place == 0 {
            let taken = body.remove(at);
            let inside = match (unwrap, &taken) {
                (true, Stmt::If { then, other, .. }) => [then.as_slice(), other].concat(),
                (true, Stmt::For { body, .. }) => body.clone(),
                _ => Vec::new(),
            };
            body.splice(at..at, inside);
            return Some(taken);
        }
        *place -= 1;
        let found = match &mut body[at] {
            Stmt::If { then, other, .. } => {
                without(then, place, unwrap).or_else(|| without(other, place, unwrap))
            }
            Stmt::For { body, .. } => without(body, place, unwrap),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
