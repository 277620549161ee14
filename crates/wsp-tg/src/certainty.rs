//! How certain something is before a run, or before a launch.

/// Whether something holds: two blocks run in one round of the loops around both, two accesses touch a byte in common, a launch uses a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certainty {
    /// It does not.
    Never,
    /// That depends on what is not known.
    Maybe,
    /// It does, whenever what stands around it runs.
    Surely,
}
