//! Runs without data, which tell what a design does whatever its data is.

use super::sequence::Running;
use super::skeleton::skeleton;
use super::touch::shared;
use super::uses::Race;
use super::{Allocation, Deadlock, Failure, Machine, Turns, extras, left, races};
use crate::codes;
use crate::design::{Design, steps};
use crate::mlir::Value;
use std::collections::BTreeSet;
use wsp_diag::{Diagnostic, Severity};

/// Instructions, and pieces, that are looked ahead.
const FORESEEN: u64 = 1 << 20;
/// Most values of locks that are tried for a help.
const TRIED: usize = 16;

/// What a sequence leaves in fifos, or that it hangs.
type Foreseen = Result<Vec<Diagnostic>, Deadlock>;

/// Sequences that are launched one behind the other, of a design and of what is left of it without data.
struct Launches<'a> {
    whole: &'a Design,
    before: &'a [usize],
    last: Option<usize>,
}

/// Whether a sequence hangs that is launched behind others, whatever the data is, by which extra buffers it does not, which uses of a buffer nothing orders, and what of its locks is wrong. Nothing
/// where what is computed decides it, where a launch decides lengths, or where it takes too long to find out. A design without a sequence is run as it is: its cores may wait in the end.
pub(crate) fn foresee(design: &Design, (before, last): (&[usize], Option<usize>)) -> Option<Foreseen> {
    let (bare, _) = skeleton(design)?;
    let launches = Launches { whole: design, before, last };
    let (found, any_stays) = match launches.tried(&bare, Turns::default()) {
        Ok(found) => found,
        Err(fault) => return Some(Ok(vec![*fault])),
    };
    let mut warnings = match found {
        Ok(Ok(warnings)) => warnings,
        Ok(Err(deadlock)) => return Some(Err(deadlock)),
        Err(_) => return None,
    };
    // Who of several acquires a lock first is the choice of hardware.
    let others =
        [(true, false), (false, true), (true, true)].map(|(backwards, stay)| Turns { backwards, stay });
    let is_other = |turns: &Turns| !bare.locks.is_empty() && (any_stays || !turns.stay);
    for turns in others.into_iter().filter(is_other) {
        match launches.tried(&bare, turns) {
            Ok((Ok(Err(deadlock)), _)) if !warnings.iter().any(hangs) => {
                warnings.push(launches.hangs_otherwise(&deadlock));
            }
            Ok(_) => {}
            Err(fault) => return Some(Ok(vec![*fault])),
        }
    }
    let run = |allocation| launches.run(&bare, (allocation, Turns::default())).0;
    match extras(design, &mut |allocation| Ok(run(allocation)?.is_err())) {
        Ok(more) => warnings.extend(more),
        // With the buffers that are declared, where these are more than lowering gives.
        Err(Failure::Fault(fault)) if is_certain(&fault) => return Some(Ok(vec![fault])),
        Err(_) => return None,
    }
    Some(Ok(warnings))
}

/// Whether a warning is of a hang.
fn hangs(warning: &Diagnostic) -> bool {
    warning.code == codes::STALL
}

/// Buffers of a design that several use, and those of them of which a use is not followed; all where nothing is.
pub(crate) fn unseen(design: &Design) -> BTreeSet<Value> {
    skeleton(design).map_or_else(|| shared(design), |(_, unseen)| unseen)
}

/// Whether a fault is one of each run: uses without an order, and locks beyond what they count. What has no place is a limit.
fn is_certain(fault: &Diagnostic) -> bool {
    fault.code == codes::SHARED || fault.code == codes::FAULT && fault.primary.is_some()
}

impl Launches<'_> {
    /// What a run tells, and the machine where it was left.
    fn run<'b>(
        &self,
        bare: &'b Design,
        (allocation, turns): (Allocation, Turns),
    ) -> (Result<Foreseen, Failure>, Option<Machine<'b>>) {
        let mut machine = match Machine::make(bare, allocation, true) {
            Ok(machine) => machine,
            Err(fault) => return (Err(Failure::from(fault)), None),
        };
        (machine.most_steps, machine.most_pieces) = (FORESEEN, FORESEEN);
        machine.turns = turns;
        machine.cancel = crate::stop::cancel();
        let found = self.launch(&mut machine);
        (found, Some(machine))
    }

    /// What a run tells with the buffers that lowering gives, and whether cores wait until nothing else goes on.
    ///
    /// # Errors
    /// What is wrong in each run.
    fn tried(
        &self,
        bare: &Design,
        turns: Turns,
    ) -> Result<(Result<Foreseen, Failure>, bool), Box<Diagnostic>> {
        let (found, machine) = self.run(bare, (Allocation::Lowered, turns));
        let order = machine.as_ref().and_then(|machine| machine.net.order.as_ref());
        match self.fault(bare, &found, machine.as_ref()) {
            Some(fault) => Err(Box::new(fault)),
            None => Ok((found, order.is_some_and(|order| order.any_patient()))),
        }
    }

    /// What is wrong in each run; a channel that is not there is a warning: sequences are written apart from the flows, too.
    fn fault(
        &self,
        bare: &Design,
        found: &Result<Foreseen, Failure>,
        machine: Option<&Machine<'_>>,
    ) -> Option<Diagnostic> {
        let Err(Failure::Fault(fault)) = found else { return None };
        let race = machine.and_then(|machine| machine.net.order.as_ref()?.uses.race.as_ref());
        match race.filter(|_| fault.code == codes::SHARED) {
            Some(race) => {
                let begun = machine?.net.order.as_ref()?.begun(bare, race);
                Some(fault.clone().help(self.help(bare, &begun, race)))
            }
            None if fault.code == codes::SYMBOL => {
                Some(Diagnostic { severity: Severity::Warning, ..fault.clone() })
            }
            None => is_certain(fault).then(|| fault.clone()),
        }
    }

    /// A warning of a hang where cores go on in another order.
    fn hangs_otherwise(&self, deadlock: &Deadlock) -> Diagnostic {
        let told = deadlock.diagnostic();
        let message = "the design hangs where another one of several that acquire a lock is the first";
        let sequence = self.last.map(|at| self.whole.sequences[at].span);
        let found = Diagnostic { notes: told.notes, ..Diagnostic::warning(codes::STALL, message.to_owned()) };
        match sequence {
            Some(span) => found.at(span, ""),
            None => found,
        }
    }

    fn launch(&self, machine: &mut Machine<'_>) -> Result<Foreseen, Failure> {
        for earlier in self.before {
            if let Err(deadlock) = machine.foresee(self.whole, Some(*earlier))? {
                return Ok(Err(deadlock));
            }
        }
        let mut found = machine.foresee(self.whole, self.last)?;
        // Without a sequence cores may wait in the end.
        if self.last.is_none() {
            found = Ok(Vec::new());
        }
        // What the next launch uses meets what this one does.
        if found.is_ok() && machine.net.order.is_some() {
            let again = machine.foresee(self.whole, self.last);
            if let Err(Failure::Fault(fault)) = again
                && is_certain(&fault)
            {
                return Err(Failure::Fault(fault));
            }
        }
        if let Ok(warnings) = &mut found {
            warnings.extend(races::cut(&machine.net));
        }
        Ok(found)
    }

    /// What to write: locks of which one begins with less, where the design runs with it and comes to both uses.
    fn help(&self, bare: &Design, begun: &[usize], race: &Race) -> String {
        let mut tried = 0;
        let mut runs = |lock: &usize| {
            let mut with = bare.clone();
            let of = &bare.locks[*lock];
            let less = (0..of.init).rev().find(|less| {
                tried += 1;
                with.locks[*lock].init = *less;
                let is_right = |turns| {
                    let (found, machine) = self.run(&with, (Allocation::Lowered, turns));
                    let order = machine.as_ref().and_then(|machine| machine.net.order.as_ref());
                    matches!(found, Ok(Ok(_))) && order.is_some_and(|order| order.uses.both(race))
                };
                tried <= TRIED
                    && is_right(Turns::default())
                    && is_right(Turns { backwards: true, stay: false })
            })?;
            let name = of.name.as_ref().map_or("the lock".to_owned(), |name| format!("`@{name}`"));
            Some(format!("have {name} of tile {} begin at {less}", of.tile))
        };
        let ways: Vec<String> = begun.iter().filter_map(&mut runs).collect();
        match ways.as_slice() {
            [] => {
                "have each of them acquire a lock before, which the other releases behind its use".to_owned()
            }
            ways => ways.join(", or "),
        }
    }
}

impl Machine<'_> {
    /// Runs a sequence without data, until nothing goes on; what it leaves in fifos of the whole design.
    fn foresee(&mut self, whole: &Design, sequence: Option<usize>) -> Result<Foreseen, Failure> {
        let design = self.design;
        let sequence = sequence.map(|at| &design.sequences[at]);
        let mut running = match sequence {
            Some(sequence) => Running::new(steps(sequence).map_err(Failure::Fault)?),
            None => Running::default(),
        };
        for (i, value) in sequence.into_iter().flat_map(|sequence| &sequence.args).enumerate() {
            if let Some(bytes) = design.module.ty(*value).element_bytes() {
                running.arrays.insert(*value, (self.host + i, bytes));
            }
        }
        match (self.rounds(&mut running, &mut |_, _| true), sequence) {
            (Ok(_), None) => Ok(Ok(Vec::new())),
            (Ok(_), Some(sequence)) if self.rests => Ok(Ok(left::left(whole, &self.net, sequence))),
            (Ok(_), Some(_)) => {
                let message = "more is done behind a sequence than is followed";
                Err(Failure::Fault(Diagnostic::error(codes::FAULT, message.to_owned())))
            }
            (Err(Failure::Deadlock(deadlock)), _) => Ok(Err(deadlock)),
            (Err(fault), _) => Err(fault),
        }
    }
}
