//! A program with its arguments, and what its last run gave.

use crate::{Error, Program, Run};
use wsp_backend::{Args, Outcome, RunOptions, Stats};

/// A program with its arguments: document 004's `Program`. Each run is one of [`Program::execute`] or [`Program::start`].
#[derive(Debug)]
pub struct OneShot {
    program: Program,
    args: Args,
    options: RunOptions,
    /// A run that has not been waited for.
    going: Option<Run>,
    /// Of the last run that ended well.
    last: Option<Outcome>,
    /// Runs that ended well.
    runs: u64,
}

impl OneShot {
    /// A program that is run with these arguments.
    pub fn new(program: Program, args: Args, options: RunOptions) -> OneShot {
        OneShot { program, args, options, going: None, last: None, runs: 0 }
    }

    /// Runs the program. A run that goes on is waited for first.
    ///
    /// # Errors
    /// As [`Program::execute`]; what failed the run that went on.
    pub fn execute(&mut self) -> Result<&Outcome, Error> {
        self.wait()?;
        let outcome = self.program.execute(self.args.clone(), self.options.clone())?;
        Ok(self.ended(outcome))
    }

    /// Starts a run on a thread of its own. A run that goes on is waited for first.
    ///
    /// # Errors
    /// As [`Program::start`]; what failed the run that went on.
    pub fn execute_async(&mut self) -> Result<(), Error> {
        self.wait()?;
        self.going = Some(self.program.start(self.args.clone(), self.options.clone())?);
        Ok(())
    }

    /// Whether no run goes on.
    pub fn is_complete(&self) -> bool {
        self.going.as_ref().is_none_or(Run::is_complete)
    }

    /// Waits for the run that goes on, and gives what the last run gave that ended well; none before the first.
    ///
    /// # Errors
    /// What failed the run that went on.
    pub fn synchronize(&mut self) -> Result<Option<&Outcome>, Error> {
        self.wait()?;
        Ok(self.last.as_ref())
    }

    /// How long the last run took that was waited for and ended well, in milliseconds; 0 before the first.
    pub fn elapsed_ms(&self) -> f64 {
        self.last.as_ref().map_or(0.0, |outcome| outcome.stats.elapsed_ms())
    }

    /// The number of the last run that was waited for and ended well, from 1 on, and how it ran; none before the first.
    pub fn stats(&self) -> Option<(u64, &Stats)> {
        self.last.as_ref().map(|outcome| (self.runs, &outcome.stats))
    }

    fn wait(&mut self) -> Result<(), Error> {
        if let Some(run) = self.going.take() {
            let outcome = run.wait()?;
            self.ended(outcome);
        }
        Ok(())
    }

    fn ended(&mut self, outcome: Outcome) -> &Outcome {
        self.runs += 1;
        self.last.insert(outcome)
    }
}
