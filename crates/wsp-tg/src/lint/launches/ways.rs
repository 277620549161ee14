//! Ways through the statements of the host: which launches a host submits, as its conditions go.
//!
//! A condition or a count that is not known goes both ways, as those before it on the way allow: a loop runs no round or [`ROUNDS`]. Of a loop with a
//! known count, on whose variable statements depend, every round is followed.

use super::super::Cx;
use super::Steps;
use super::choices::{Choices, MOST_WAYS};
use super::conditions::{Condition, Declared, Forms, Known};
use super::restores::{Goes, Restores};
use super::statements::{Reader, Rounds, Statement, Test};
use super::way::{Launch, Way};
use std::collections::HashMap;
use wsp_core::tg::{CheckpointNo, ExprOp, IterNo, Scalar};

/// Rounds that a loop is taken to have at most, where they are alike.
const ROUNDS: i64 = 3;
/// Rounds that are followed one by one.
const MOST_ROUNDS: i64 = 256;
/// Steps along one way.
const STEPS_OF_WAY: usize = 1 << 22;
/// What a launch costs of them: no way has more than 4096.
const STEPS_OF_LAUNCH: usize = 1 << 10;

/// Calls `found` with every way until it says `false`. `false` if there are too many ways, or one is too long and ends early.
pub(super) fn ways(cx: &Cx<'_>, found: impl FnMut(&Way, &mut Forms) -> bool) -> bool {
    ways_where(cx, &mut Forms::default(), &Known::default(), found)
}

/// The same of the ways that something which is known leaves open.
pub(super) fn ways_where(
    cx: &Cx<'_>,
    forms: &mut Forms,
    known: &Known,
    mut found: impl FnMut(&Way, &mut Forms) -> bool,
) -> bool {
    let mut reader = Reader::new(cx, forms);
    let statements = reader.host();
    let restores = reader.restores;
    let (mut choices, mut is_whole) = (Choices::default(), true);
    for number in 0..2 * MOST_WAYS {
        if number >= MOST_WAYS {
            choices = Choices::drawn(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        let mut way = Way { known: known.clone(), ..Way::default() };
        let mut steps = Steps::new(STEPS_OF_WAY);
        let mut follower = Follower {
            cx,
            forms: &mut *forms,
            restores: &restores,
            way: &mut way,
            choices: &mut choices,
            steps: &mut steps,
            rounds: HashMap::new(),
        };
        follower.follow(&statements);
        way.is_whole = !steps.are_over();
        is_whole &= way.is_whole;
        if !found(&way, forms) || (number < MOST_WAYS && !choices.advance()) {
            return is_whole;
        }
    }
    false
}

struct Follower<'f, 'c, 'm> {
    cx: &'c Cx<'m>,
    forms: &'f mut Forms,
    restores: &'f Restores,
    way: &'f mut Way,
    choices: &'f mut Choices,
    steps: &'f mut Steps,
    /// Rounds of the loops around a statement, where they are known.
    rounds: HashMap<IterNo, i64>,
}

impl Follower<'_, '_, '_> {
    /// Follows statements; `false` if a break leaves the loop around them, or no steps are left.
    fn follow(&mut self, statements: &[Statement]) -> bool {
        statements.iter().all(|statement| self.step(statement))
    }

    fn step(&mut self, statement: &Statement) -> bool {
        if !self.steps.spend(1) {
            return false;
        }
        match statement {
            Statement::Launch { graph, stream, iteration, at } => {
                let is_round = |op: &ExprOp| matches!(op, ExprOp::Iter(_));
                let has_rounds = self.cx.module.scalar(*iteration).iter().any(is_round);
                let iteration = self.number(*iteration);
                let by_rounds = has_rounds && iteration.is_none();
                let goes = Goes { stream: *stream, iteration, by_rounds, from: 0, is_restored: false };
                self.launch(*graph, *at, goes);
            }
            Statement::Sync { graph, at } => {
                let is_missing = self.way.launched.insert(*graph);
                self.way.needs(*at, !is_missing);
                self.wait(*at, |launch| launch.graph == *graph);
            }
            Statement::Read { at, writers, sides } => {
                let is_waited_for = |launch: &Launch| writers[launch.graph as usize];
                // Where nothing would be waited for it does not matter what is read.
                let mut launches = self.way.launches.iter();
                self.steps.spend(launches.len());
                if launches.any(|launch| launch.over.is_none() && is_waited_for(launch))
                    && sides.iter().all(|(side, goes)| self.is_so(side) == *goes)
                {
                    self.wait(*at, is_waited_for);
                }
            }
            Statement::Free { tensor, at } => self.way.free(*tensor, *at),
            Statement::Save { graph, checkpoint } => {
                self.steps.spend(self.way.launches.len());
                let in_flight = self.way.of(*graph).any(|launch| launch.over.is_none());
                self.way.saved.insert((*graph, *checkpoint), in_flight);
            }
            Statement::Restore { graph, checkpoint, at, tensors } => {
                self.restore(*graph, *checkpoint, *at, tensors);
            }
            Statement::If { test, then, otherwise } => {
                let is_taken = self.holds(test);
                return self.follow(if is_taken { then } else { otherwise });
            }
            Statement::Loop { rounds, at, variable, body } => {
                return self.rounds(rounds, *at, *variable, body);
            }
            Statement::Break(test) => return !self.holds(test),
        }
        true
    }

    fn holds(&mut self, test: &Test) -> bool {
        match &test.fixed {
            Some(condition) => self.decide(condition),
            None => {
                let rounds = &self.rounds;
                let condition = self.forms.condition(self.cx, test.scalar, &|op| round(rounds, op));
                self.decide(&condition)
            }
        }
    }

    /// Whether what some operations make is not 0.
    fn is_so(&mut self, ops: &[ExprOp]) -> bool {
        let rounds = &self.rounds;
        let condition = self.forms.condition_of(Declared::of(self.cx), ops, &|op| round(rounds, op));
        self.decide(&condition)
    }

    fn decide(&mut self, condition: &Condition) -> bool {
        self.way.known.decide(self.forms, condition, &mut || self.choices.take())
    }

    fn number(&mut self, scalar: Scalar) -> Option<i64> {
        let rounds = &self.rounds;
        self.forms.number_on(self.cx, scalar, &|op| round(rounds, op), &self.way.known)
    }

    fn launch(&mut self, graph: u32, at: u32, goes: Goes) {
        if !self.steps.spend(STEPS_OF_LAUNCH) {
            return;
        }
        let (way, Goes { stream, iteration, by_rounds, from, is_restored }) = (&mut *self.way, goes);
        let before = way.last.insert(stream, way.launches.len());
        way.launched.insert(graph);
        let (waits, skipped) = (way.waits.len(), way.skipped);
        let over = None;
        let launch = Launch {
            graph,
            stream,
            at,
            iteration,
            by_rounds,
            from,
            is_restored,
            before,
            waits,
            over,
            skipped,
        };
        way.launches.push(launch);
    }

    fn restore(&mut self, graph: u32, checkpoint: CheckpointNo, at: u32, tensors: &[u32]) {
        self.wait(at, |launch| launch.graph == graph);
        self.steps.spend(self.way.launches.len() + tensors.len());
        let way = &mut *self.way;
        let by_host = way.saved.get(&(graph, checkpoint)).copied();
        let place = self.restores.place(graph, checkpoint).filter(|_| way.launched.contains(&graph));
        way.needs(at, by_host.is_some() || place.is_some());
        way.launched.insert(graph);
        if by_host.is_none() && place.is_none() {
            return;
        }
        tensors.iter().for_each(|&tensor| way.free(tensor, at));
        if place.is_some() || by_host == Some(true) {
            let goes = self.restores.goes_on(self.cx, way, (graph, place), self.choices);
            goes.into_iter().for_each(|goes| self.launch(graph, at, goes));
        }
    }

    fn wait(&mut self, at: u32, is_waited_for: impl Fn(&Launch) -> bool) {
        self.steps.spend(self.way.launches.len());
        self.way.wait(at, is_waited_for);
    }

    /// A loop goes on behind a break in it, and ends where no steps are left.
    fn rounds(&mut self, rounds: &Rounds, at: u32, variable: Option<IterNo>, body: &[Statement]) -> bool {
        let (count, is_known) = self.count(rounds);
        if count == 0 && !is_known {
            self.way.skipped = Some(at);
        }
        let each = variable.filter(|_| is_known && count <= MOST_ROUNDS);
        let followed = if each.is_some() { count } else { count.min(ROUNDS) };
        let _ = (0..followed).all(|number| {
            each.into_iter().for_each(|variable| _ = self.rounds.insert(variable, number));
            self.follow(body)
        });
        each.into_iter().for_each(|variable| _ = self.rounds.remove(&variable));
        !self.steps.are_over()
    }

    /// How many rounds a loop has, and whether that is known: otherwise it has none or [`ROUNDS`].
    fn count(&mut self, rounds: &Rounds) -> (i64, bool) {
        let now = &self.rounds;
        let now = |op| round(now, op);
        let is_none = match *rounds {
            Rounds::Count(scalar) => match self.forms.number_on(self.cx, scalar, &now, &self.way.known) {
                Some(count) => return (count.max(0), true),
                None => self.forms.is_none(self.cx, scalar, &now),
            },
            Rounds::While(scalar) => match self.forms.condition(self.cx, scalar, &now) {
                Condition::Known(holds) => return (if holds { ROUNDS } else { 0 }, true),
                _ => Condition::Open,
            },
        };
        (if self.decide(&is_none) { 0 } else { ROUNDS }, false)
    }
}

/// The round of the loop whose variable an operation pushes.
fn round(rounds: &HashMap<IterNo, i64>, op: ExprOp) -> Option<i64> {
    match op {
        ExprOp::Iter(variable) => rounds.get(&variable).copied(),
        _ => None,
    }
}
