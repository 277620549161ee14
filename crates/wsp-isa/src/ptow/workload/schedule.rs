//! What a program says of the workers of its tasks, as a schedule.

use super::body::Found;
use super::{Lifted, Lifting, refused};
use wsp_core::ExecPool;
use wsp_core::ptow::{Group, Op, POLICY_POOL, PolicyType};
use wsp_diag::Span;
use wsp_ir::workload::{
    Deps, Directive, DirectiveKind, Dispatch, DispatchThreshold, IntExpr, IntExprKind, PoolSizes, Priority,
    Ready, Schedule, StreamBy, Streams, ThresholdPolicy,
};

impl<'p> Lifting<'p> {
    /// Takes the attributes before the statements of a body into the schedule; the statements.
    pub(super) fn attributes<'s>(&mut self, body: &'s [Found<'p>]) -> Lifted<&'s [Found<'p>]> {
        let end = body.iter().position(|found| found.info.group != Group::Attribute).unwrap_or(body.len());
        let (attributes, statements) = body.split_at(end);
        if self.module.schedules.is_empty() && self.program.counts.labels > 0 {
            self.direct(Deps::Hybrid);
        }
        for found in attributes {
            let operand = found.word.operand2;
            match found.info.op {
                Op::StreamBy => {
                    self.direct(Streams(operand));
                    if let Some(key) =
                        found.exts.first().map(|ext| ext.operand2).filter(|key| *key != u32::MAX)
                    {
                        let key = self.expr(key, None)?;
                        self.direct(StreamBy(key));
                    }
                }
                Op::Priority => {
                    self.direct(Ready::Priority);
                    let key = self.expr(operand, None)?;
                    self.direct(Priority(key));
                }
                _ => self.filter(found)?,
            }
        }
        Ok(statements)
    }

    fn direct(&mut self, kind: impl Into<DirectiveKind>) {
        if self.module.schedules.is_empty() {
            self.module.schedules.push(Schedule::default());
        }
        let directive = Directive { kind: kind.into(), span: Span::default() };
        self.module.schedules[0].directives.push(directive);
    }

    fn filter(&mut self, found: &Found<'p>) -> Lifted<()> {
        let code = found.word.operand1;
        match PolicyType::from_code(code) {
            Some(PolicyType::Threshold) => {
                let Some((metric, rest)) = found.exts.split_first() else {
                    return refused(found.at, "a threshold without a metric");
                };
                let (bounds, levels) = rest.split_at(rest.len().min(metric.operand1.into()));
                let metric = self.expr(metric.operand2, None)?;
                let bounds = bounds.iter().map(|bound| i64::from(bound.operand2 as i32)).collect();
                let levels = levels.iter().map(|level| self.level(level.operand1, level.operand2, found.at));
                let policies = levels.collect::<Lifted<Vec<ThresholdPolicy>>>()?;
                if policies.iter().any(|policy| matches!(policy, ThresholdPolicy::Pool(_))) {
                    self.direct(PoolSizes::ByUnit { vector: 1, cube: 1 });
                }
                self.direct(DispatchThreshold { metric, bounds, policies });
            }
            Some(PolicyType::StaticPartition) => {
                let mut start = 0;
                let ranges = found.exts.iter().map(|ext| {
                    let range = (start, u64::from(ext.operand2));
                    start = range.1;
                    range
                });
                let ranges = ranges.collect();
                self.direct(Dispatch::StaticPartition(ranges));
            }
            _ => {
                let key = found.exts.first().map_or(0, |ext| ext.operand2);
                match self.level(code, key, found.at)? {
                    ThresholdPolicy::Dispatch(dispatch) => self.direct(dispatch),
                    ThresholdPolicy::Pool(_) => return refused(found.at, "a pool outside of a threshold"),
                }
            }
        }
        Ok(())
    }

    fn level(&self, code: u16, operand: u32, word: u32) -> Lifted<ThresholdPolicy> {
        let key = || self.expr(operand, None);
        Ok(ThresholdPolicy::Dispatch(match PolicyType::from_code(code) {
            Some(PolicyType::RoundRobin) => Dispatch::RoundRobin,
            Some(PolicyType::Key) => Dispatch::Affinity(key()?),
            Some(PolicyType::Hash) => Dispatch::Hash(key()?),
            Some(PolicyType::Affinity) => match self.axis_at(operand)? {
                Some(axis) => Dispatch::Affinity(IntExpr::new(IntExprKind::Axis(axis))),
                None => return refused(word, format!("the loops at depth {operand} are not over one axis")),
            },
            _ => {
                let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
                match code.checked_sub(POLICY_POOL).and_then(|pool| pools.get(usize::from(pool))) {
                    Some(pool) => return Ok(ThresholdPolicy::Pool(*pool)),
                    None => return refused(word, "a policy within another"),
                }
            }
        }))
    }
}
