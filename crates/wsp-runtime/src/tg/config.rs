//! How a runtime for task graphs is set up.

use super::order::Replay;
use crate::ConfigError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::limits;
use wsp_core::policy::Hints;

/// Most vector cores that go with one cube core.
pub const MAX_AIV_PER_AIC: u32 = 4;

/// The logical cores of a device. They are bookkeeping: a block holds some while a thread runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreCounts {
    /// Cube cores.
    pub aic: u32,
    /// Vector cores.
    pub aiv: u32,
    /// Threads of the AICPU.
    pub aicpu: u32,
    /// Vector cores that a block of an `AIC_AIV` kernel holds beside its cube core, up to [`MAX_AIV_PER_AIC`].
    pub aiv_per_aic: u32,
    /// Parts of the L2 cache: each serves an equal run of the cores of each type.
    pub l2_domains: u32,
}

impl Default for CoreCounts {
    /// A 910B: 24 cube cores with two vector cores each, 4 threads of the AICPU, and an L2 cache in two parts.
    fn default() -> Self {
        CoreCounts { aic: 24, aiv: 48, aicpu: 4, aiv_per_aic: 2, l2_domains: 2 }
    }
}

/// Who may signal events that no graph signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Signals {
    /// The thread that waits for launches: so what waits for an event that has not been signalled by then waits for ever.
    #[default]
    Caller,
    /// Other threads too, at any time: waiting for an event of the caller's is never taken for a hang.
    Anyone,
}

/// Whether launches are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tracing {
    /// No.
    #[default]
    Off,
    /// Every block; see [`Runtime::take_trace`](super::Runtime::take_trace).
    On,
}

/// What makes the time of a runtime pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Time {
    /// Worker threads: times are nanoseconds since the runtime was made.
    #[default]
    Measured,
    /// Nothing but what runs: times are cycles, and every block takes what [`Bodies::block_cycles`](super::Bodies::block_cycles) says. There are no worker
    /// threads: the thread that waits for launches does their work, one block after another, in the order in which so many workers would
    /// start it. Launches go on only while a thread waits for one.
    Virtual,
}

/// How a [`Runtime`](super::Runtime) is set up.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// Workers, shared by the devices, of which each is a thread but in virtual time; 0 takes [one per core](crate::worker_threads).
    pub threads: u32,
    /// Simulated devices.
    pub devices: u32,
    /// Cores of each device.
    pub cores: CoreCounts,
    /// What becomes of partitions, requests and affinities.
    pub hints: Hints,
    /// Who may signal events.
    pub signals: Signals,
    /// What makes time pass.
    pub time: Time,
    /// Whether launches are recorded.
    pub tracing: Tracing,
    /// In virtual time: what draws which idle worker is next, and which of the ready kernels of one priority; without it the first.
    pub seed: Option<u64>,
    /// The order of starts that runs keep to, where time is measured.
    pub replay: Option<Arc<Replay>>,
    /// Once true, nothing more is started, and every launch that is not complete ends as cancelled.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        RuntimeConfig {
            threads: 1,
            devices: 1,
            cores: CoreCounts::default(),
            hints: Hints::Ignore,
            signals: Signals::Caller,
            time: Time::Measured,
            tracing: Tracing::Off,
            seed: None,
            replay: None,
            cancel: None,
        }
    }
}

/// Most simulated devices.
pub const MAX_DEVICES: u32 = 64;
/// Most logical cores of one type.
pub const MAX_CORES: u32 = 65_535;

impl RuntimeConfig {
    /// Whether a runtime can be made so.
    ///
    /// # Errors
    /// A number outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |field, value, min, max| match value {
            _ if (min..=max).contains(&value) => Ok(()),
            _ => Err(ConfigError::Range { field, value, min, max }),
        };
        range("threads", self.threads, 0, limits::MAX_THREADS)?;
        if let Some(recorded) = self.replay.as_ref().map(|replay| replay.workers())
            && ![0, 1, recorded].contains(&self.threads)
        {
            return Err(ConfigError::ReplayThreads { recorded, threads: self.threads });
        }
        range("devices", self.devices, 1, MAX_DEVICES)?;
        range("aic", self.cores.aic, 0, MAX_CORES)?;
        range("aiv", self.cores.aiv, 0, MAX_CORES)?;
        range("aicpu", self.cores.aicpu, 0, MAX_CORES)?;
        range("aiv_per_aic", self.cores.aiv_per_aic, 1, MAX_AIV_PER_AIC)?;
        let fewest = self.cores.aic.min(self.cores.aiv).max(1);
        range("l2_domains", self.cores.l2_domains, 1, fewest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_range_are_refused_by_name() {
        assert_eq!(RuntimeConfig::default().check(), Ok(()));
        let refused = |change: fn(&mut RuntimeConfig)| {
            let mut config = RuntimeConfig::default();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert!(refused(|config| config.threads = 1025).contains("`threads` is 1025"));
        assert!(refused(|config| config.devices = 65).contains("1..=64"));
        assert!(refused(|config| config.cores.aiv_per_aic = 5).contains("`aiv_per_aic` is 5"));
        assert!(refused(|config| config.cores.l2_domains = 25).contains("1..=24"));
    }
}
