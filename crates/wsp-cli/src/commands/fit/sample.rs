//! A program whose runs are measured and simulated.

use super::super::{Session, data, launch_options};
use super::lasted;
use crate::args::{DataArgs, LaunchArgs};
use crate::engine::{Executable, Loaded, Options};
use pto_wsp::trace::key_of_program;
use std::path::Path;
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_ordered::Arrange;
use wsp_plan::target::model::Model;
use wsp_runtime::timeline::Timeline;

/// A program with made-up data, ready to be run any number of times.
pub struct Sample {
    name: String,
    loaded: Loaded,
    options: Options,
    program: Executable,
}

/// A measured run.
pub struct Run {
    /// Seconds from the start of the generators to the end of the last task.
    pub seconds: f64,
    /// Seconds that all threads computed in that time.
    pub computed: f64,
    /// Of each task, by id: its kernel, and its seconds; empty where they are not recorded.
    pub tasks: Vec<(String, f64)>,
}

impl Sample {
    /// Reads and compiles a `.pto` program, and makes up its data.
    ///
    /// # Errors
    /// What is wrong with the file, another kind of file.
    pub fn load(session: &mut Session, file: &Path) -> Result<Sample, Vec<Diagnostic>> {
        let launch = LaunchArgs { set: Vec::new(), schedule: None, isa: None, engine: None };
        let module: Module = session.launched(file, &launch)?;
        let mut options = launch_options(&launch, 0);
        let data = data::load(session, &module, &DataArgs::made_up(), &launch)?;
        options.layout = data.layout;
        let loaded = Loaded { module, arrays: data.arrays };
        let program = Executable::new(&loaded, &options)?;
        let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Sample { name, loaded, options, program })
    }

    /// The name of its file, without folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program in virtual time, on all units of a machine.
    ///
    /// # Errors
    /// What the machine has no figures for, what fails a run.
    pub fn simulate(&self, machine: &Model) -> Result<(Timeline, u64), Vec<Diagnostic>> {
        let outcome = self.program.simulate(&self.loaded, &self.options, machine)?;
        let makespan = outcome.makespan();
        Ok((outcome.timeline(Path::new(&self.name), key_of_program(&self.loaded.module)), makespan))
    }

    /// Runs the program so many times on so many threads, after once to warm up, with its tasks recorded in every second run. The time of a run is that
    /// of those that do not record.
    ///
    /// # Errors
    /// What fails a run.
    pub fn run(&self, threads: u32, repeats: u32) -> Result<Vec<Run>, Vec<Diagnostic>> {
        let plain = Options { threads, ..self.options.clone() };
        let traced = Options { trace: true, ..plain.clone() };
        self.program.execute(&self.loaded, &plain)?;
        let mut runs = Vec::new();
        for _ in 0..repeats {
            let stats = self.program.execute(&self.loaded, &plain)?.stats;
            let [seconds, computed] = [stats.run, stats.run_computed].map(|time| time.as_secs_f64());
            let timeline = self
                .program
                .execute(&self.loaded, &traced)?
                .timeline(Path::new(&self.name), key_of_program(&self.loaded.module));
            let kernel = |at: usize| timeline.kernels.get(at).cloned().unwrap_or_default();
            let tasks = timeline.tasks.iter().map(|task| (kernel(task.kernel.index()), lasted(task) * 1e-9));
            runs.push(Run { seconds, computed, tasks: tasks.collect() });
        }
        Ok(runs)
    }
}

/// The value that so many fourths of the others are below; 0 of none.
pub fn quartile(fourths: usize, mut values: Vec<f64>) -> f64 {
    values.arrange_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get(last * fourths / 4).copied().unwrap_or(0.0)
}
