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

pub(super) const EXPLAINED: &[Explained] = &[
    Explained {
        file: "crates/wsp-core/src/ptow/interp/machine.rs",
        change: "replace > with >= in Interpreter<'a>::tick",
        line: "if self.stats.steps >= limits::MAX_GENERATOR_STEPS {",
        reason: "only a run of 20,000,000,000 steps tells them apart, which takes minutes",
    },
    Explained {
        file: "crates/wsp-core/src/ptow/interp/fast.rs",
        change: "delete match arm Op::ParamExpr in Along<'_, '_>::site",
        line: "",
        reason: "the statement is then evaluated task by task, with the same results",
    },
    Explained {
        file: "crates/wsp-core/src/ptow/interp/linear.rs",
        change: "delete match arm XOp::XMul in Along<'_, '_>::combined",
        line: "",
        reason: "a product of a variable is then evaluated for each task, with the same results",
    },
    Explained {
        file: "crates/wsp-core/src/ptow/interp/strip.rs",
        change: "replace match guard self.strip.site_count > 0 with true in Interpreter<'a>::find_sites",
        line: "Some(Op::End | Op::Halt) if true => {",
        reason: "a loop without tasks hands over nothing either way; it only ends after fewer steps",
    },
    Explained {
        file: "crates/wsp-core/src/tg/wire/mod.rs",
        change: "replace < with ==",
        line: "while at == OPS.len() {",
        reason: "a check of the compiler is then not made: it holds",
    },
    Explained {
        file: "crates/wsp-runtime/src/infer/gather.rs",
        change: "replace | with ^ in Gather<H>::push",
        line: "let (found, mut at) = (bits << 2 ^ hazard as u64, self.len);",
        reason: "the two lowest bits of the shifted number are 0, and a hazard has no others",
    },
    Explained {
        file: "crates/wsp-runtime/src/infer/region_map.rs",
        change: "replace | with ^ in RegionMap<H>::prepare_tiles",
        line: "Some(users) if users.flags & (PINNED | kind) == PINNED ^ kind => (),",
        reason: "the flags are different bits",
    },
    Explained {
        file: "crates/wsp-runtime/src/infer/region_map.rs",
        change: "replace | with ^ in RegionMap<H>::tiles_are_ready",
        line: "&& common(accesses.tile_writes, PINNED ^ WRITTEN)",
        reason: "the flags are different bits",
    },
    Explained {
        file: "crates/wsp-runtime/src/infer/table.rs",
        change: "replace << with >> in hash",
        line: "let low = lo ^ lo >> log2 >> log2;",
        reason: "another hash of a region finds the same regions",
    },
    Explained {
        file: "crates/wsp-cpu/src/tg/bodies.rs",
        change: "replace || with && in LaunchBodies::bound",
        line: "&& (workspace.is_none() && matches!(body, KernelBody::Function(_)));",
        reason: "arguments that are the same for every launch are then bound for each, to the same",
    },
    Explained {
        file: "crates/wsp-cpu/src/tg/prepared.rs",
        change: "replace || with && in LocalRun<'_>::begin",
        line: "if self.changing.is_empty() && self.bound_for == Some(iteration) {",
        reason: "arguments of the same iteration are then bound again, to the same",
    },
    Explained {
        file: "crates/wsp-cpu/src/tg/identity.rs",
        change: "replace ^ with | in graph",
        line: "first ^ second.rotate_left(21) ^ third.rotate_left(42) | u64::from(records.fingerprint)",
        reason: "another hash of a graph: equal graphs have equal ones, and others differ save by chance",
    },
];

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
