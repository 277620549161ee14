//! Runs without data, which tell what a design does whatever its data is.

use super::sequence::Running;
use super::skeleton::skeleton;
use super::{Allocation, Deadlock, Failure, Machine, extras, left, races};
use crate::codes;
use crate::design::{Design, steps};
use wsp_diag::Diagnostic;

/// Instructions, and pieces, that are looked ahead.
const FORESEEN: u64 = 1 << 20;

/// What a sequence leaves in fifos, or that it hangs.
type Foreseen = Result<Vec<Diagnostic>, Deadlock>;

/// Sequences that are launched one behind the other, of a design and of what is left of it without data.
struct Launches<'a> {
    whole: &'a Design,
    before: &'a [usize],
    last: Option<usize>,
}

/// Whether a sequence hangs that is launched behind others, whatever the data is, by which extra buffers it does not, and which uses of a buffer nothing orders. Nothing where what is computed
/// decides it, where a launch decides lengths, or where it takes too long to find out. A design without a sequence is run as it is.
pub(crate) fn foresee(design: &Design, (before, last): (&[usize], Option<usize>)) -> Option<Foreseen> {
    let bare = skeleton(design)?;
    let launches = Launches { whole: design, before, last };
    let run = |allocation| launches.run(&bare, allocation).0;
    let mut warnings = match launches.run(&bare, Allocation::Lowered) {
        (Ok(Ok(warnings)), _) => warnings,
        (Ok(Err(deadlock)), _) => return Some(Err(deadlock)),
        (Err(Failure::Fault(race)), begun) if race.code == codes::SHARED => {
            return Some(Ok(vec![race.help(launches.help(&bare, &begun))]));
        }
        (Err(_), _) => return None,
    };
    warnings.extend(extras(design, &mut |allocation| Ok(run(allocation)?.is_err())).ok()?);
    Some(Ok(warnings))
}

impl Launches<'_> {
    /// What a run tells, and of a race the locks that begin with units which go to one of the two.
    fn run(&self, bare: &Design, allocation: Allocation) -> (Result<Foreseen, Failure>, Vec<usize>) {
        let mut machine = match Machine::make(bare, allocation, true) {
            Ok(machine) => machine,
            Err(fault) => return (Err(Failure::from(fault)), Vec::new()),
        };
        (machine.most_steps, machine.most_pieces) = (FORESEEN, FORESEEN);
        machine.cancel = crate::stop::cancel();
        let found = self.launch(&mut machine);
        (found, machine.begun())
    }

    fn launch(&self, machine: &mut Machine<'_>) -> Result<Foreseen, Failure> {
        for earlier in self.before {
            if let Err(deadlock) = machine.foresee(self.whole, Some(*earlier))? {
                return Ok(Err(deadlock));
            }
        }
        let mut found = machine.foresee(self.whole, self.last)?;
        // What the next launch uses meets what this one does.
        if found.is_ok() && machine.net.order.is_some() {
            let again = machine.foresee(self.whole, self.last);
            if let Err(Failure::Fault(fault)) = again
                && fault.code == codes::SHARED
            {
                return Err(Failure::Fault(fault));
            }
        }
        if let Ok(warnings) = &mut found {
            warnings.extend(races::cut(&machine.net));
        }
        Ok(found)
    }

    /// What to write: locks of which one begins with less, where the design runs with it.
    fn help(&self, bare: &Design, begun: &[usize]) -> String {
        let runs = |lock: &usize| {
            let mut with = bare.clone();
            let of = &bare.locks[*lock];
            let less = (0..of.init).rev().find(|less| {
                with.locks[*lock].init = *less;
                matches!(self.run(&with, Allocation::Lowered), (Ok(Ok(_)), _))
            })?;
            let name = of.name.as_ref().map_or("the lock".to_owned(), |name| format!("`@{name}`"));
            Some(format!("have {name} of tile {} begin at {less}", of.tile))
        };
        let ways: Vec<String> = begun.iter().filter_map(runs).collect();
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
        match self.rounds(&mut running, &mut |_, _| true) {
            Ok(_) if self.rests => {
                Ok(Ok(sequence.map_or_else(Vec::new, |sequence| left::left(whole, &self.net, sequence))))
            }
            Ok(_) => Ok(Ok(Vec::new())),
            Err(Failure::Deadlock(deadlock)) => Ok(Err(deadlock)),
            Err(fault) => Err(fault),
        }
    }
}
