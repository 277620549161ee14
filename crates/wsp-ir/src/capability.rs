//! What targets do with what schedules say.

/// What a target does with a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Support {
    /// It holds in every run.
    Enforced,
    /// Recorded in plan and trace; a run may depart from it.
    Hint,
    /// Stands for something that the target does not have: it decides which worker a task is for, and reports say what it comes to.
    Simulated,
    /// Accepted without effect; the user is told.
    NoOp,
    /// Refused.
    Error,
}

impl Support {
    /// One word or two for tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Support::Enforced => "enforced",
            Support::Hint => "hint",
            Support::Simulated => "simulated",
            Support::NoOp => "no effect",
            Support::Error => "error",
        }
    }
}

/// What is done with a primitive of schedules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Capability {
    /// Spelling in the source.
    pub primitive: &'static str,
    /// Whether it is kept.
    pub support: Support,
    /// What that means, in one sentence.
    pub meaning: &'static str,
}

impl Capability {
    /// The spelling with an axis and a number in place of the placeholders.
    pub fn spelled(&self, axis: &str, number: &str) -> String {
        // The axis comes last: its name may be any word.
        self.primitive
            .replace("vector, cube", number)
            .replace("x, y", number)
            .replace("depth", number)
            .replace("(n", &format!("({number}"))
            .replace("(axis", &format!("({axis}"))
    }
}

/// A primitive of workloads' schedules: what it means where the host generates the tasks, and where AICPUs do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CapabilityRow {
    /// On the host.
    pub host: Capability,
    /// Where AICPUs generate the tasks, if it means something else there.
    pub aicpus: Option<Capability>,
}

impl CapabilityRow {
    /// Of a primitive that means the same wherever tasks are generated.
    pub(crate) const fn new(
        primitive: &'static str,
        support: Support,
        meaning: &'static str,
    ) -> CapabilityRow {
        CapabilityRow { host: Capability { primitive, support, meaning }, aicpus: None }
    }

    /// The same primitive, which means something else where AICPUs generate the tasks.
    pub(crate) const fn on_aicpus(self, support: Support, meaning: &'static str) -> CapabilityRow {
        let aicpus = Capability { primitive: self.host.primitive, support, meaning };
        CapabilityRow { aicpus: Some(aicpus), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_any_name_is_spelled_as_it_is_called() {
        let spelled = |primitive, axis| {
            Capability { primitive, support: Support::Enforced, meaning: "" }.spelled(axis, "3")
        };
        for axis in ["n", "node", "depth", "vector"] {
            assert_eq!(
                spelled("PTO_ORDER(axis, PTO_INTERLEAVED(n))", axis),
                format!("PTO_ORDER({axis}, PTO_INTERLEAVED(3))")
            );
            assert_eq!(spelled("PTO_PREFETCH(axis, depth)", axis), format!("PTO_PREFETCH({axis}, 3)"));
        }
    }
}
