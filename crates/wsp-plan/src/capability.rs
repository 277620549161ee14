//! Which target does what with each schedule primitive.

/// What a target does with a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Support {
    /// It holds in every run.
    Enforced,
    /// Recorded in plan and trace; a run may depart from it.
    Hint,
    /// Accepted without effect; the user is told.
    NoOp,
    /// Refused.
    Error,
}

/// One row of the capability table.
#[derive(Clone, Copy, Debug)]
pub struct Capability {
    /// Spelling in the source.
    pub primitive: &'static str,
    /// What `cpu_sim` does.
    pub cpu_sim: Support,
    /// What that means, in one sentence.
    pub meaning: &'static str,
}

/// The table.
pub const CAPABILITIES: &[Capability] = &[];
