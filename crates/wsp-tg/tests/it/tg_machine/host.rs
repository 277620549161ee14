//! Statements of the host: a list with jumps, walked here with nothing but places and counters.

use super::source::plan;
use wsp_core::tg::{Env, EvalFault, IterNo, Scalar, eval};
use wsp_tg::UnitPlan;
use wsp_tg::plan::HostKind;

struct Values<'v>(&'v [(i64, i64)]);

impl Env for Values<'_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        Ok(self.0[iter.0 as usize].0)
    }
}

/// Iterations that a unit invokes its graph with.
fn invoked(plan: &UnitPlan) -> Vec<i64> {
    let mut loops = vec![(0i64, 0i64); plan.host_loops as usize];
    let (mut at, mut invoked) = (0, Vec::new());
    while let Some(op) = plan.host.get(at) {
        let value = |scalar: Scalar, loops: &[(i64, i64)]| match scalar {
            Scalar::Const(value) => value,
            scalar => eval(plan.expr(scalar), &Values(loops)).expect("it has a value"),
        };
        at += 1;
        let target = match op.kind {
            HostKind::Invoke { iteration, .. } => {
                invoked.push(value(iteration, &loops));
                None
            }
            HostKind::Unless { condition, target } => (value(condition, &loops) == 0).then_some(target),
            HostKind::Jump(target) => Some(target),
            HostKind::LoopBegin { slot, count, target } => {
                let count = value(count, &loops);
                loops[slot as usize] = (0, count);
                (count == 0).then_some(target)
            }
            HostKind::LoopEnd { slot, target } => {
                let (number, count) = &mut loops[slot as usize];
                *number += 1;
                (*number < *count).then_some(target)
            }
            HostKind::WhileBegin { slot } => {
                loops[slot as usize] = (0, 0);
                None
            }
            HostKind::WhileTest { condition, target, .. } => {
                (value(condition, &loops) == 0).then_some(target)
            }
            HostKind::WhileEnd { slot, target } => {
                loops[slot as usize].0 += 1;
                Some(target)
            }
            HostKind::Break { condition, target } => (value(condition, &loops) != 0).then_some(target),
            _ => None,
        };
        at = target.map_or(at, |target| target as usize);
    }
    invoked
}

/// ISA-TG-27.
#[test]
fn the_hosts_loops_and_arms_are_jumps() {
    let text = "TG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nTG_END(G)\n\
                CF_LOOP(3, i)\nCF_IF(i == 1)\nTG_INVOKE(G, 100)\nCF_ELSE\nCF_LOOP(4, j)\nCF_BREAK(j > i)\nTG_INVOKE(G, i * 10 + j)\n\
                CF_ENDLOOP\nCF_ENDIF\nCF_ENDLOOP\nCF_LOOP(0, k)\nTG_INVOKE(G, 5)\nCF_ENDLOOP\n\
                CF_WHILE(1)\nTG_INVOKE(G, 7)\nCF_BREAK(1)\nCF_ENDWHILE\nTG_INVOKE(G, 8)\n";
    assert_eq!(invoked(&plan(text)), [0, 100, 20, 21, 22, 7, 8]);
}
