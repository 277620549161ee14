//! Options of `wsp run` that only task graphs take.

use super::values::{Cores, bytes, cores, kept_folder, number};
use clap::Args;
use std::path::PathBuf;

/// How a unit of task graphs is run.
#[derive(Args, Clone, PartialEq, Debug, Default)]
#[command(next_help_heading = "Options of task graphs (.tg, .ptog)")]
pub(crate) struct UnitArgs {
    /// Simulated devices, each of which runs the unit [1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=64))]
    pub(crate) devices: Option<u32>,

    /// Let kernels have the cores that CA_ instructions ask for: affinity, partitions, requests
    #[arg(long)]
    pub(crate) hints: bool,

    /// Cores of a device [aic=24,aiv=48,aicpu=4]
    #[arg(long, value_name = "KIND=N,…", value_parser = cores)]
    pub(crate) cores: Option<Cores>,

    /// Memory of a device: bytes, or K, M or G of 1024 bytes and so on [as much as there is]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,

    /// One more file of kernels; may be repeated
    #[arg(long, value_name = "FILE.pto")]
    pub(crate) kernels: Vec<PathBuf>,

    /// Signal an external event before the run; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) event: Vec<String>,

    /// Keep the checkpoints of TG_CHECKPOINT in this folder
    #[arg(long, value_name = "DIR", value_parser = kept_folder())]
    pub(crate) checkpoints: Option<PathBuf>,

    /// Continue from the last checkpoint of --checkpoints; without one, from the start
    #[arg(long)]
    pub(crate) resume: bool,
}

impl UnitArgs {
    /// Each option, and whether it is given.
    pub(crate) fn given(&self) -> [(&'static str, bool); 8] {
        let UnitArgs { devices, hints, cores, memory, kernels, event, checkpoints, resume } = self;
        [
            ("--devices", devices.is_some()),
            ("--hints", *hints),
            ("--cores", cores.is_some()),
            ("--memory", memory.is_some()),
            ("--kernels", !kernels.is_empty()),
            ("--event", !event.is_empty()),
            ("--checkpoints", checkpoints.is_some()),
            ("--resume", *resume),
        ]
    }
}
