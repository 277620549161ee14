//! Where a task executes.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_exported_graphs() {
        let domains = [ExecDomain::HostCpu, ExecDomain::AscendAiCore, ExecDomain::AmdAieTile]
            .map(|domain| domain as u8);
        assert_eq!(domains, [0, 1, 2]);
    }
}
