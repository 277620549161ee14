//! Whether the tests of the parser as users build it share what they have in common with `wsp`: dependencies with the same features.
//!
//! The parser names dependencies of its dependencies, which it does not use, for tests only. An update of any of them may ask for another feature
//! and so divide the builds again, which costs the test command two minutes and fails nothing.

use crate::project::Project;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// The crate whose tests are built as users build, and the program with which they share.
const CRATES: [&str; 2] = ["wsp-lang", "wsp-cli"];

/// Lines of what is built for a crate: packages with versions, and their features.
fn built(project: &Project, name: &str, kinds: &str) -> Result<String> {
    let mut tree =
        project.cargo(&["tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"]);
    let output = tree.args(["--package", name, "--edges", kinds]).output().context("cargo cannot be run")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Packages that the tests have with other features than the program.
pub(super) fn check(project: &Project) -> Result<Vec<String>> {
    let [tested, program] = CRATES;
    Ok(differing(&built(project, tested, "normal,build,dev")?, &built(project, program, "normal,build")?))
}

/// Packages of both lists with features of the first that the second does not have.
fn differing(tested: &str, program: &str) -> Vec<String> {
    let mut known = BTreeMap::<&str, BTreeSet<&str>>::new();
    for (package, features) in program.lines().filter_map(|line| line.split_once('|')) {
        known.entry(package).or_default().insert(features);
    }
    let [name, of] = CRATES;
    let mut faults = BTreeSet::new();
    for (package, features) in tested.lines().filter_map(|line| line.split_once('|')) {
        let Some(others) = known.get(package).filter(|others| !others.contains(features)) else { continue };
        let others: Vec<&str> = others.iter().copied().collect();
        faults.insert(format!(
            "{name}: its tests have {package} with features [{features}], {of} with [{}]; all that stands on it is compiled twice: give both the same in \
             [dev-dependencies] of {name}",
            others.join("] and [")
        ));
    }
    faults.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_with_other_features_is_named() {
        let program =
            "wsp-cli v0.1.0|native\nlibc v0.2.1|extra_traits,std\nmemchr v2.7.0|std\nclap v4.6.0|\n";
        let own = "wsp-lang v0.1.0|\nmemchr v2.7.0|std\nproptest v1.0.0|std\n";
        assert_eq!(differing(&format!("{own}libc v0.2.1|extra_traits,std\n"), program), [""; 0]);
        let found = differing(&format!("{own}libc v0.2.1|std\nlibc v0.2.1|std\n"), program);
        assert_eq!(found.len(), 1, "{found:?}");
        let wanted =
            "wsp-lang: its tests have libc v0.2.1 with features [std], wsp-cli with [extra_traits,std]; ";
        assert!(found[0].starts_with(wanted), "{found:?}");
    }

    #[test]
    fn a_package_may_be_built_twice_for_the_program() {
        let program = "syn v2.0.0|full\nsyn v2.0.0|parsing\n";
        assert_eq!(differing("syn v2.0.0|parsing\n", program), [""; 0]);
        let found = differing("syn v2.0.0|printing\n", program);
        assert!(found[0].contains("wsp-cli with [full] and [parsing]"), "{found:?}");
    }
}
