//! Whose a task is, by the filters around it.

use super::super::dispatch::{Filter, Level, Rule, Source};
use super::frame::NO_WORD;
use super::machine::Interpreter;
use super::own::{Deciding, Mine, Own};
use super::stop::Stop;
use super::{FaultKind, Host};

impl<'a> Interpreter<'a> {
    /// Whether the task that comes next is this AICPU's.
    pub(super) fn owned<H: Host>(&mut self, host: &mut H) -> Result<Option<Mine>, Stop<H::Stop>> {
        let Deciding { rule, pool } = match self.own {
            Own::Mine(mine) => return Ok(Some(mine)),
            Own::Rule(deciding) => deciding,
            Own::Test => self.deciding(host)?,
        };
        let mine = match rule.source() {
            Source::Ordinal => rule.by_ordinal(self.ordinal, self.n, self.me)?,
            Source::Variable(depth) => rule.by_value(self.scope.var(depth), self.n) == self.me,
            Source::Key(key) => rule.by_value(self.eval(key, host)?, self.n) == self.me,
        };
        Ok(mine.then_some(Mine { pool }))
    }

    /// The rule that decides on the task that comes next.
    fn deciding<H: Host>(&mut self, host: &mut H) -> Result<Deciding<'a>, Stop<H::Stop>> {
        let mut word = self.attrs.filter;
        let mut pool = None;
        loop {
            match self.filter(word)? {
                Filter::Rule(rule) => return Ok(Deciding { rule, pool }),
                Filter::Threshold(threshold) => match threshold.level(self.eval(threshold.metric, host)?) {
                    Level::Rule(rule) => return Ok(Deciding { rule, pool }),
                    Level::Pool(chosen) => pool = pool.or(Some(chosen)),
                },
            }
            if word == NO_WORD {
                return Ok(Deciding { rule: Rule::RoundRobin, pool });
            }
            word = self.outer_filters.get(word as usize).copied().unwrap_or(NO_WORD);
        }
    }

    /// The filter of an instruction, or that of the configuration.
    pub(super) fn filter<S>(&self, word: u32) -> Result<Filter<'a>, Stop<S>> {
        if word == NO_WORD {
            return Ok(self.config);
        }
        Filter::parse(&self.program, word).ok_or(Stop::Fault(FaultKind::Structure))
    }
}
