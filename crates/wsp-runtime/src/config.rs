//! What a run may be told.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;

/// Which ready task is taken next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReadyPolicy {
    /// In the order in which tasks become ready, ties by task id. Tasks that ask for a core group or a worker queue there.
    #[default]
    Fifo,
    /// A worker prefers what its own last task released; idle workers steal.
    WorkSteal,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Worker threads, 1 to [`limits::MAX_THREADS`]; the calling thread generates and is not one of them.
    pub threads: u32,
    /// Most tasks between submission and completion, 1 to [`limits::MAX_TASK_WINDOW`].
    pub window: u32,
    /// Which ready task is taken next.
    pub ready: ReadyPolicy,
    /// Workers that share a core group, at least 1 and at most [`limits::MAX_THREADS`].
    pub cores_per_group: u32,
    /// Record every task: memory grows with their number.
    pub trace: bool,
    /// When it becomes true, tasks that have not started are dropped and the run ends.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for RunConfig {
    /// One worker, the default window, first in first out, no trace.
    fn default() -> RunConfig {
        RunConfig {
            threads: 1,
            window: limits::TASK_WINDOW,
            ready: ReadyPolicy::Fifo,
            cores_per_group: limits::CORES_PER_GROUP,
            trace: false,
            cancel: None,
        }
    }
}

impl RunConfig {
    /// Checks every field; [`run`](crate::run) does so too.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fields = [
            ("threads", self.threads, limits::MAX_THREADS),
            ("window", self.window, limits::MAX_TASK_WINDOW),
            ("cores_per_group", self.cores_per_group, limits::MAX_THREADS),
        ];
        for (field, value, max) in fields {
            if !(1..=max).contains(&value) {
                return Err(ConfigError { field, value, min: 1, max });
            }
        }
        Ok(())
    }

    /// Core groups that the workers form; the last may be smaller.
    pub fn groups(&self) -> u32 {
        self.threads.div_ceil(self.cores_per_group.max(1))
    }
}

/// A field of [`RunConfig`] outside its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: u32,
    /// Smallest value allowed.
    pub min: u32,
    /// Largest value allowed.
    pub max: u32,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}, but must lie in {}..={}", self.field, self.value, self.min, self.max)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_out_of_range_is_named_with_its_range() {
        let zero = RunConfig { window: 0, ..RunConfig::default() };
        let text = zero.validate().expect_err("0 is out of range").to_string();
        assert_eq!(text, "`window` is 0, but must lie in 1..=1048576");
        let many = RunConfig { threads: 1025, ..RunConfig::default() };
        assert_eq!(many.validate().expect_err("1025 is out of range").field, "threads");
        assert!(RunConfig::default().validate().is_ok());
    }

    #[test]
    fn the_last_group_may_be_smaller() {
        let config = RunConfig { threads: 5, cores_per_group: 4, ..RunConfig::default() };
        assert_eq!(config.groups(), 2);
    }
}
