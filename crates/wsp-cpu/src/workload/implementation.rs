//! The types that run the tasks of a workload.

use super::aicpu;
use super::inputs::WorkloadOptions;
use super::settings::run_settings;
use wsp_diag::Diagnostic;
use wsp_plan::workload::LoweredSchedule;

/// What runs the tasks under these options, part by part, for people.
///
/// # Errors
/// As [`run_settings`], and those of AICPUs.
pub(crate) fn implementation(
    schedule: &LoweredSchedule,
    options: &WorkloadOptions,
) -> Result<Vec<(&'static str, String)>, Vec<Diagnostic>> {
    if options.aicpus != 0 && !options.sequential {
        return Ok(aicpu::settings(schedule, options)?.implementation());
    }
    Ok(run_settings(schedule, options).map_err(|fault| vec![fault])?.config.implementation())
}
