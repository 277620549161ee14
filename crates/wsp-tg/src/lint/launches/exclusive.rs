//! Arms of different conditions of which a launch runs at most one.
//!
//! What stands in them is in no order by bytes: in the order of the text, and in the graph as a run lays it out. Conditions on scalars, the iteration, the
//! device and memory that nothing in the unit writes go one way in all of a launch; others exclude nothing here.

use super::Steps;
use super::conditions::{Condition, Declared, Forms, Known};
use std::collections::{HashMap, HashSet};
use wsp_core::tg::{ExprId, ExprOp, Instr, Scalar, ScalarType, TensorNo};
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::{BlockId, BlockKind, Outline};

/// Most conditions of a unit that are compared; others exclude nothing.
const MOST_CONDITIONS: usize = 64;
/// Steps that it takes at most to compare them.
const MOST_STEPS: usize = 1 << 20;

/// An arm: the instruction of its condition, and whether it runs where that holds.
pub(crate) type Arm = (u32, bool);

/// Arms that exclude each other, whatever the values are.
#[derive(Debug, Default)]
pub(crate) struct ExclusiveArms {
    /// A number for each condition, by the instructions that have it.
    conditions: HashMap<u32, u32>,
    /// How two conditions do not go together, both ways round.
    apart: HashSet<[(u32, bool); 2]>,
    /// Each of these once.
    one: HashSet<(u32, bool)>,
}

impl ExclusiveArms {
    /// Those of the graphs of a unit.
    pub(crate) fn new(module: &TgModule) -> ExclusiveArms {
        let mut found = ExclusiveArms::default();
        let (mut read, mut in_graph) = (Reader::new(module), false);
        for (at, instr) in (0..).zip(&module.instrs) {
            match *instr {
                Instr::TgBegin { .. } => in_graph = true,
                Instr::TgEnd { .. } => in_graph = false,
                Instr::CfIf { condition: Scalar::Expr(condition) } if in_graph => {
                    found.conditions.extend(read.number(condition).map(|number| (at, number)));
                }
                _ => {}
            }
        }
        let Reader { forms, all, .. } = read;
        let mut steps = Steps::new(MOST_STEPS);
        let mut excludes = |goes: &[(u32, bool)]| {
            let goes: Vec<(Condition, bool)> =
                goes.iter().map(|(number, is)| (all[*number as usize].clone(), *is)).collect();
            !Known::default().allows(&forms, &goes, &mut steps) && !steps.are_over()
        };
        let ways = (0..all.len() as u32).flat_map(|number| [(number, true), (number, false)]);
        let ways: Vec<(u32, bool)> = ways.filter(|way| !excludes(&[*way])).collect();
        for (at, one) in ways.iter().enumerate() {
            for other in ways[at + 1..].iter().filter(|other| excludes(&[*one, **other])) {
                found.apart.extend([[*one, *other], [*other, *one]]);
                found.one.extend([*one, *other]);
            }
        }
        found
    }

    fn way(&self, (at, holds): Arm) -> Option<(u32, bool)> {
        Some((*self.conditions.get(&at)?, holds))
    }

    /// Whether one of some arms excludes one of others; arms that both have exclude nothing, also where nothing ever runs in them.
    pub(crate) fn exclude(&self, arms: impl Iterator<Item = Arm>, others: impl Iterator<Item = Arm>) -> bool {
        if self.apart.is_empty() {
            return false;
        }
        let (arms, others): (Vec<Arm>, Vec<Arm>) = (arms.collect(), others.collect());
        let ways = |of: &[Arm], besides: &[Arm]| -> Vec<(u32, bool)> {
            of.iter().filter(|arm| !besides.contains(arm)).filter_map(|arm| self.way(*arm)).collect()
        };
        let (ways, others) = (ways(&arms, &others), ways(&others, &arms));
        ways.iter().any(|way| others.iter().any(|other| self.apart.contains(&[*way, *other])))
    }

    /// Whether one of some arms excludes any other.
    pub(crate) fn exclude_any(&self, mut arms: impl Iterator<Item = Arm>) -> bool {
        !self.one.is_empty() && arms.any(|arm| self.way(arm).is_some_and(|way| self.one.contains(&way)))
    }

    /// Whether arms around two blocks exclude each other.
    pub(in super::super) fn exclude_blocks(&self, outline: &Outline, a: BlockId, b: BlockId) -> bool {
        let arms = |block: BlockId| {
            let around = outline.blocks.outwards(block).filter(|(_, block)| block.kind.is_arm());
            around.map(|(_, block)| (block.decided, block.kind == BlockKind::Then))
        };
        self.exclude(arms(a), arms(b))
    }
}

struct Reader<'m> {
    module: &'m TgModule,
    /// Tensors that kernels are bound to, or that copies write.
    used: HashSet<TensorNo>,
    forms: Forms,
    /// Conditions by their operations.
    numbers: HashMap<Vec<ExprOp>, u32>,
    all: Vec<Condition>,
    /// A scalar for each place that is loaded.
    loaded: HashMap<(TensorNo, i64, ScalarType), u32>,
}

impl<'m> Reader<'m> {
    fn new(module: &'m TgModule) -> Reader<'m> {
        let mut used = HashSet::new();
        for instr in &module.instrs {
            match instr {
                Instr::McBind { tensor_id, .. } => used.extend(module.tensors_of(tensor_id)),
                Instr::McCopy { dst_tensor, .. } => _ = used.insert(*dst_tensor),
                _ => {}
            }
        }
        let (forms, numbers) = (Forms::of_one_launch(), HashMap::new());
        Reader { module, used, forms, numbers, all: Vec::new(), loaded: HashMap::new() }
    }

    /// The number of a condition that goes one way in all of a launch.
    fn number(&mut self, condition: ExprId) -> Option<u32> {
        let mut ops = Vec::new();
        for op in self.module.expr(condition) {
            match *op {
                ExprOp::Iter(_) => return None,
                ExprOp::Load(tensor, ty) => {
                    let Some(ExprOp::Const(offset)) = ops.pop() else { return None };
                    if self.used.contains(&tensor) {
                        return None;
                    }
                    let next = (self.module.args.len() + self.loaded.len()) as u32;
                    ops.push(ExprOp::Arg(*self.loaded.entry((tensor, offset, ty)).or_insert(next)));
                }
                op => ops.push(op),
            }
        }
        if let Some(&number) = self.numbers.get(&ops) {
            return Some(number);
        }
        let unit = Declared { args: &self.module.args, devices: None };
        let condition = match self.forms.condition_of(unit, &ops, &|_| None) {
            Condition::Known(_) | Condition::Open => return None,
            condition => condition,
        };
        if self.all.len() == MOST_CONDITIONS {
            return None;
        }
        self.all.push(condition);
        self.numbers.insert(ops, self.all.len() as u32 - 1);
        Some(self.all.len() as u32 - 1)
    }
}
