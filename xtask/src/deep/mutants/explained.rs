//! Mutants that no test can catch, and why.

use super::mutant::Mutant;
use anyhow::{Result, ensure};

/// A mutant that changes nothing that can be seen.
pub(super) struct Explained {
    file: &'static str,
    /// What is changed and in which function, in the words of `cargo-mutants`.
    change: &'static str,
    /// The changed line.
    line: &'static str,
    pub(super) reason: &'static str,
}

pub(super) const EXPLAINED: &[Explained] = &[];

impl Explained {
    pub(super) fn is(&self, mutant: &Mutant) -> bool {
        mutant.file == self.file && mutant.change == self.change && mutant.line == self.line
    }
}

/// Refuses an explanation of a mutant that is not there, and of more than one.
pub(super) fn check<'a>(table: &[Explained], all: impl Iterator<Item = &'a Mutant> + Clone) -> Result<()> {
    for entry in table {
        let count = all.clone().filter(|mutant| entry.is(mutant)).count();
        let Explained { file, change, line, .. } = entry;
        ensure!(
            count == 1,
            "{count} mutants, not one, are explained by `{file}: {change}: {line}`: correct or remove it"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_of_one_mutant_that_is_there() {
        let table = [Explained { file: "a.rs", change: "replace + with -", line: "a - b", reason: "b is 0" }];
        let same = || Mutant::named("a.rs", "replace + with -", "a - b");
        let other = || Mutant::named("a.rs", "replace + with *", "a * b");
        assert!(check(&table, [same(), other()].iter()).is_ok());
        for all in [vec![], vec![other()], vec![same(), same()]] {
            assert!(check(&table, all.iter()).is_err());
        }
    }
}
