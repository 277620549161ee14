//! Machine models that no test uses: a file of figures that nothing simulates or costs with is never seen to be wrong.
//!
//! A test uses a model that it asks for by name, `named("NAME")`, in a file that costs or simulates (`of_kernel`, `of_task`, `simulate`), or that it
//! gives `wsp sim` behind `--model`.

use std::collections::BTreeSet;

/// Where the models are.
const FOLDER: &str = "crates/wsp-plan/models/";

/// Words of files that cost tasks or simulate.
const USES: [&str; 4] = ["of_kernel(", "of_task(", "simulate", "\"sim\""];

/// The models, and the texts of tests that could use one.
#[derive(Default, Debug)]
pub(super) struct Models {
    names: BTreeSet<String>,
    tests: Vec<String>,
}

impl Models {
    /// Takes a file.
    pub(super) fn file(&mut self, name: &str, text: &str) {
        let model = name.strip_prefix(FOLDER).and_then(|file| file.strip_suffix(".toml"));
        self.names.extend(model.map(str::to_owned));
        let is_test = name.contains("/tests/") && (name.ends_with(".rs") || name.ends_with(".py"));
        if is_test && USES.iter().any(|word| text.contains(word)) {
            self.tests.push(text.to_owned());
        }
    }

    /// A fault for each model that no test uses.
    pub(super) fn faults(&self) -> Vec<String> {
        let is_used = |name: &&String| {
            let ways = [format!("named(\"{name}\")"), format!("\"--model\", \"{name}\"")];
            self.tests.iter().any(|text| ways.iter().any(|way| text.contains(way)))
        };
        let unused = self.names.iter().filter(|name| !is_used(name));
        let fault = |name: &String| {
            format!(
                "{FOLDER}{name}.toml: no test simulates or costs tasks with it; write one that asks for `named(\"{name}\")`"
            )
        };
        unused.map(fault).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_no_test_costs_with_is_a_fault() {
        let mut models = Models::default();
        models.file("crates/wsp-plan/models/a.toml", "");
        models.file("crates/wsp-plan/models/b.toml", "");
        models.file("crates/wsp-plan/models/c.toml", "");
        models.file("crates/x/tests/it/costs.rs", "of_kernel(named(\"a\"))");
        models.file("crates/x/tests/it/sim.rs", "run(&[\"sim\", \"f.pto\", \"--model\", \"b\"])");
        models.file("crates/x/tests/it/models.rs", "read(named(\"c\"))");
        models.file("crates/x/src/lib.rs", "of_kernel(named(\"c\"))");
        let faults = models.faults();
        assert!(faults.len() == 1 && faults[0].starts_with("crates/wsp-plan/models/c.toml: "), "{faults:?}");
    }
}
