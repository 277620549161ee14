//! Random scripts.

use super::scripted::{CELLS, Item, Script, ScriptTask, TENSORS, cells};
use wsp_core::ExecPool;
use wsp_core::Region;

/// Numbers that look random.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub(super) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// What a script may have.
#[derive(Clone, Copy)]
pub(super) struct Features {
    pub(super) scopes: bool,
    pub(super) reads_values: bool,
    /// Some tensors are ordered by counts.
    pub(super) counted: bool,
}

pub(super) const ALL: Features = Features { scopes: true, reads_values: true, counted: true };

fn regions(random: &mut Random) -> Vec<Region> {
    let count = random.below(3);
    let one = |random: &mut Random| {
        let (tensor, lo) = (random.below(u64::from(TENSORS)) as u32, random.below(u64::from(CELLS)) as u32);
        let len = if random.one_in(6) { random.below(10) as u32 } else { random.below(3) as u32 };
        cells(tensor, lo, (lo + len).min(CELLS))
    };
    (0..count).map(|_| one(random)).collect()
}

fn task(random: &mut Random, ordinal: u64) -> ScriptTask {
    let after = if ordinal > 0 && random.one_in(5) {
        vec![ordinal - 1 - random.below(ordinal.min(9))]
    } else {
        Vec::new()
    };
    ScriptTask {
        owner: random.below(16) as u16,
        pool: random.pick(&[ExecPool::Any, ExecPool::Vector, ExecPool::Cube]),
        stream: random.one_in(6).then(|| random.below(2) as u16),
        priority: random.below(5) as i32 - 2,
        reads: regions(random),
        writes: regions(random),
        after,
        needs: Vec::new(),
    }
}

/// A random script of about so many tasks.
pub(super) fn script(seed: u64, tasks: u64, features: Features) -> Script {
    let mut random = Random(seed);
    // A value is read of a tensor whose regions order it.
    let counted_from =
        if features.counted && random.one_in(2) { 1 + random.below(2) as u32 } else { TENSORS };
    let (mut items, mut depth, mut ordinal) = (Vec::new(), 0, 0);
    while ordinal < tasks {
        match random.below(24) {
            0 | 1 if features.scopes && depth < 3 => {
                depth += 1;
                items.push(Item::Begin);
            }
            2..5 if depth > 0 => items.push(Item::Step),
            5 if depth > 0 => {
                depth -= 1;
                items.push(Item::End);
            }
            6 if features.reads_values && random.one_in(2) => {
                items.push(Item::Read(random.below(counted_from.into()) as u32));
            }
            _ => {
                items.push(Item::Task(task(&mut random, ordinal)));
                ordinal += 1;
            }
        }
    }
    items.extend((0..depth).map(|_| Item::End));
    let mut script = Script { items, counted_from };
    script.count();
    script
}
