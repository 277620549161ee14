//! Where a task executes: domains and the pools of execution units within them.

/// A kind of machine part that executes tasks. The numbers are those of exported task graphs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum ExecDomain {
    /// The host's processor.
    #[default]
    HostCpu = 0,
    /// A core of an Ascend accelerator.
    AscendAiCore = 1,
    /// A tile of an AMD AI engine.
    AmdAieTile = 2,
}

/// The execution units that may run a task. The numbers are those of exported task graphs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum ExecPool {
    /// Vector units.
    Vector = 0,
    /// Matrix units.
    Cube = 1,
    /// Either.
    #[default]
    Any = 255,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_exported_graphs() {
        let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any].map(|pool| pool as u8);
        let domains = [ExecDomain::HostCpu, ExecDomain::AscendAiCore, ExecDomain::AmdAieTile]
            .map(|domain| domain as u8);
        assert_eq!((pools, domains), ([0, 1, 255], [0, 1, 2]));
    }
}
