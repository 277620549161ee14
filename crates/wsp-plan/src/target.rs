//! The targets: what programs are made for, by name.
//!
//! [`TARGETS`] is the one table of them. Options of compilations, the command line, the platform matrix and the table of what
//! schedules say take names, platforms and devices from it.

#[path = "model/mod.rs"]
pub mod model;

use crate::lower::codes::UNKNOWN_TARGET;
use model::Model;
use wsp_core::ExecPool;
use wsp_core::tg::Platform;
use wsp_diag::{Diagnostic, did_you_mean};

/// Whether `.pto` programs and workloads can be lowered for a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Plans {
    /// The table of what schedules say has a column for it.
    Made,
    /// It has none.
    NotMade,
}

/// The cores of one device, as a [`Model`] counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceModel {
    /// Cube cores.
    pub aic: u32,
    /// Vector cores.
    pub aiv: u32,
    /// Threads of the AICPU that run kernels and hand out work.
    pub aicpu: u32,
    /// Vector cores that one block of an `AIC_AIV` kernel takes beside its cube core.
    pub aiv_per_aic: u32,
    /// Parts of the L2 cache, each of which serves as many cores.
    pub l2_domains: u32,
}

impl Default for DeviceModel {
    /// A 910B.
    fn default() -> DeviceModel {
        Target::of(Platform::A2).device()
    }
}

impl From<&Model> for DeviceModel {
    /// Cores that run any task count as vector cores.
    fn from(model: &Model) -> DeviceModel {
        let aic = model.count(ExecPool::Cube);
        DeviceModel {
            aic,
            aiv: model.count(ExecPool::Any) - aic,
            aicpu: model.aicpu.map_or(0, |of| of.threads),
            aiv_per_aic: model.cluster.map_or(0, |of| of.vector),
            l2_domains: model.cache_domains,
        }
    }
}

/// A target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Its column of the platform matrix.
    pub platform: Platform,
    /// The machine model that has the cores of one device; the simulation has those of a 910B.
    pub model: &'static str,
    /// Whether `.pto` programs and workloads can be lowered for it.
    pub plans: Plans,
}

/// All targets; the first is that of [`CompileOptions::default`](crate::CompileOptions).
pub static TARGETS: [Target; 7] = [
    Target {
        name: "cpu_sim",
        aliases: &["cpu"],
        platform: Platform::Cpu,
        model: "ascend_910b",
        plans: Plans::Made,
    },
    Target {
        name: "ascend_910b",
        aliases: &["ascend_npu", "a2"],
        platform: Platform::A2,
        model: "ascend_910b",
        plans: Plans::NotMade,
    },
    Target {
        name: "ascend_910c",
        aliases: &["a3"],
        platform: Platform::A3,
        model: "ascend_910c",
        plans: Plans::NotMade,
    },
    Target {
        name: "ascend_950",
        aliases: &["a5"],
        platform: Platform::A5,
        model: "ascend_950",
        plans: Plans::NotMade,
    },
    Target {
        name: "ascend_host",
        aliases: &[],
        platform: Platform::A2,
        model: "ascend_910b",
        plans: Plans::Made,
    },
    Target {
        name: "xdna1",
        aliases: &["npu1"],
        platform: Platform::Cpu,
        model: "ascend_910b",
        plans: Plans::Made,
    },
    Target {
        name: "xdna2",
        aliases: &["npu2"],
        platform: Platform::Cpu,
        model: "ascend_910b",
        plans: Plans::Made,
    },
];

/// The simulation on this machine's processor.
pub const CPU_SIM: &Target = &TARGETS[0];

impl Target {
    /// The target of a name or alias, in either case.
    ///
    /// # Errors
    /// There is none: the names that there are, and the nearest.
    pub fn named(name: &str) -> Result<&'static Target, Diagnostic> {
        Target::named_of(name, &TARGETS.iter().collect::<Vec<_>>())
    }

    /// The target of a name or alias, in either case, where some of all are of use: those a message names.
    ///
    /// # Errors
    /// There is none: the names that are of use, and the nearest of them.
    pub fn named_of(name: &str, of_use: &[&'static Target]) -> Result<&'static Target, Diagnostic> {
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        let found = TARGETS.iter().find(|of| is(of.name) || of.aliases.iter().any(|alias| is(alias)));
        found.ok_or_else(|| {
            let fault = Diagnostic::error(UNKNOWN_TARGET, format!("there is no target `{name}`"));
            let fault = fault.note(format!("targets: {}", listed(of_use.iter().copied())));
            let known = of_use.iter().flat_map(|of| [of.name].into_iter().chain(of.aliases.iter().copied()));
            match (did_you_mean(name, known), of_use.first()) {
                (Some(near), _) => fault.help(format!("did you mean `{near}`?")),
                (None, Some(first)) => {
                    let python = format!("write `target=\"{}\"`", first.name);
                    fault.help(format!("take target `{}`", first.name)).python(python)
                }
                (None, None) => fault,
            }
        })
    }

    /// The target with a column of the platform matrix.
    pub fn of(platform: Platform) -> &'static Target {
        TARGETS.iter().find(|of| of.platform == platform).expect("each platform should have a target")
    }

    /// The cores of one device.
    pub fn device(&self) -> DeviceModel {
        DeviceModel::from(model::named(self.model).expect("a target should have a model of the crate"))
    }

    /// Refuses a target for which no `.pto` program or workload can be lowered.
    ///
    /// # Errors
    /// It is one: those that can be.
    pub fn check_plans(&self) -> Result<(), Diagnostic> {
        if self.plans == Plans::Made {
            return Ok(());
        }
        let message = format!("neither programs nor workloads can be compiled for target `{}`", self.name);
        let made = TARGETS.iter().filter(|of| of.plans == Plans::Made);
        Err(Diagnostic::error(UNKNOWN_TARGET, message)
            .note(format!("the table of what schedules say has {} only", listed(made)))
            .help("take target `cpu_sim`, which is taken where none is named")
            .python("write `target=\"cpu_sim\"`, or leave it out"))
    }
}

/// Names of targets, as messages list them: each with its aliases.
pub fn listed<'t>(targets: impl Iterator<Item = &'t Target>) -> String {
    let one = |of: &Target| match of.aliases {
        [] => format!("`{}`", of.name),
        aliases => format!("`{}` ({})", of.name, aliases.join(", ")),
    };
    targets.map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_ordered::OrderedSet;

    #[test]
    fn names_and_aliases_are_those_of_one_target() {
        let names: Vec<&str> =
            TARGETS.iter().flat_map(|of| [of.name].into_iter().chain(of.aliases.iter().copied())).collect();
        assert_eq!(names.iter().collect::<OrderedSet<_>>().len(), names.len(), "{names:?}");
        for name in names {
            assert_eq!(Target::named(name), Target::named(&name.to_uppercase()), "{name}");
            assert!(Target::named(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_910b_has_72_cores_of_which_24_are_cube_cores() {
        for target in [CPU_SIM, Target::of(Platform::A2)] {
            let DeviceModel { aic, aiv, .. } = target.device();
            assert_eq!((aic, aiv), (24, 48), "{}", target.name);
            assert_eq!(aic + aiv, wsp_core::limits::DEFAULT_MAX_BLOCKS);
        }
    }

    #[test]
    fn a_misspelt_target_is_refused_with_those_there_are() {
        let fault = Target::named("cpu_simm").expect_err("it does not exist");
        assert_eq!(fault.help, ["did you mean `cpu_sim`?"]);
        assert_eq!(
            fault.notes,
            [
                "targets: `cpu_sim` (cpu), `ascend_910b` (ascend_npu, a2), `ascend_910c` (a3), `ascend_950` (a5), `ascend_host`, `xdna1` (npu1), `xdna2` (npu2)"
            ]
        );
    }
}
