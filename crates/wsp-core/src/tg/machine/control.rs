//! Nodes that the machine does itself: decisions, loops, gangs, and whatever is skipped.

use super::state::{LEAVING, RESTING, RUNNING};
use super::{Fault, Machine, Scalars, Step};
use crate::tg::image::{LoopKind, NONE, NodeKind, WHEN_NONZERO, WHEN_SKIPPED, WHEN_ZERO};

impl Machine<'_> {
    /// Does a node that [`Machine::next`] does not simply hand out; `runs` says whether its guard is on.
    pub(super) fn resolve<H: Scalars>(
        &mut self,
        node: u32,
        runs: bool,
        host: &mut H,
    ) -> Result<Option<Step>, Fault<H::Fault>> {
        let record = self.image.nodes[node as usize];
        let kind = NodeKind::ALL[record.kind as usize];
        match kind {
            _ if record.gang != NONE => {
                if !runs {
                    self.complete(node);
                }
                return Ok(self.arrive(record.gang));
            }
            NodeKind::Decide | NodeKind::Break => {
                self.decide(record.item, runs, host)?;
                self.complete(node);
            }
            NodeKind::Loop if runs => self.enter(record.item, host)?,
            NodeKind::LoopEnd => self.repeat(node, record.item, host)?,
            NodeKind::Signal if runs => {
                self.complete(node);
                return Ok(Some(Step::Signal(node)));
            }
            _ => self.complete(node),
        }
        Ok(None)
    }

    /// Another member of a gang is ready or skipped. The last one starts the gang, unless all are skipped.
    fn arrive(&mut self, gang: u32) -> Option<Step> {
        let missing = &mut self.parts.gangs[gang as usize];
        *missing = missing.saturating_sub(1);
        (*missing == 0 && self.gang(gang).next().is_some()).then_some(Step::Gang(gang))
    }

    /// Evaluates the condition of a decision that is not skipped, and sets its guards.
    fn decide<H: Scalars>(&mut self, item: u32, runs: bool, host: &mut H) -> Result<(), Fault<H::Fault>> {
        let decision = self.image.decisions[item as usize];
        let outcome = match runs {
            false => WHEN_SKIPPED,
            true if self.value(decision.condition, host)? == 0 => WHEN_ZERO,
            true => WHEN_NONZERO,
        };
        for at in decision.first..decision.first + decision.len {
            let guard = self.image.guards[at as usize];
            let parent = guard.parent == NONE || self.parts.guards[guard.parent as usize] != 0;
            self.parts.guards[at as usize] = u32::from(parent && guard.when & outcome != 0);
        }
        if outcome == WHEN_NONZERO && decision.leaves != NONE {
            self.parts.phases[decision.leaves as usize] = LEAVING;
        }
        Ok(())
    }

    fn value<H: Scalars>(&self, condition: u32, host: &mut H) -> Result<i64, Fault<H::Fault>> {
        host.eval(condition, self.parts.iterations).map_err(Fault::Condition)
    }

    /// Begins the first iteration of a loop, or completes the loop if there is none.
    fn enter<H: Scalars>(&mut self, at: u32, host: &mut H) -> Result<(), Fault<H::Fault>> {
        let record = self.image.loops[at as usize];
        let value = self.value(record.condition, host)?;
        let most = record.most;
        if record.kind == LoopKind::Count as u32 {
            let fits = u32::try_from(value).ok().filter(|&count| count <= most);
            let count = fits.ok_or(Fault::Count { in_loop: at, most, value })?;
            self.parts.limits[at as usize] = count;
        } else if value != 0 && most == 0 {
            return Err(Fault::Endless { in_loop: at, most, value });
        }
        self.parts.iterations[at as usize] = 0;
        if value == 0 {
            self.complete(record.node);
        } else {
            self.parts.phases[at as usize] = RUNNING;
            self.arm(record.body);
        }
        Ok(())
    }

    /// The end of an iteration is reached: begins the next one, or completes the loop.
    fn repeat<H: Scalars>(&mut self, end: u32, at: u32, host: &mut H) -> Result<(), Fault<H::Fault>> {
        let record = self.image.loops[at as usize];
        let most = record.most;
        let passed = self.parts.iterations[at as usize] + 1;
        let goes_on = if self.parts.phases[at as usize] == LEAVING {
            false
        } else if record.kind == LoopKind::Count as u32 {
            host.round().map_err(Fault::Condition)?;
            passed < self.parts.limits[at as usize]
        } else {
            self.parts.iterations[at as usize] = passed;
            let value = self.value(record.condition, host);
            // The iteration is over only once its end is, so that a state in which the condition failed is that before it.
            self.parts.iterations[at as usize] = passed - 1;
            let value = value?;
            if value != 0 && passed >= most {
                return Err(Fault::Endless { in_loop: at, most, value });
            }
            value != 0
        };
        self.complete(end);
        if goes_on {
            self.parts.iterations[at as usize] = passed;
            self.arm(record.body);
        } else {
            self.parts.phases[at as usize] = RESTING;
            self.complete(record.node);
        }
        Ok(())
    }
}
