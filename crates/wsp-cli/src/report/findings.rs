//! What a run that checks finds besides differences: elements that were never written, and those that are no finite numbers.

use super::text::Lines;
use super::units::count;
use crate::codes;
use crate::reference::{Comparison, Special};
use serde_json::{Value, json};
use wsp_cpu::Unwritten;
use wsp_ir::diag::Diagnostic;
use wsp_plan::Arrays;

/// Findings of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    /// Elements of outputs that no task has stored, and that hold nothing that the user gave.
    pub unwritten: Vec<Unwritten>,
    /// Arrays that the user gave with elements that are no finite numbers.
    pub inputs: Vec<Special>,
    /// Outputs with elements that are no finite numbers.
    pub outputs: Vec<Special>,
    /// Names of the outputs with NaN that nothing independent has: no input has one, and no reference was computed.
    pub made_nan: Vec<String>,
}

impl Findings {
    /// Of the outputs of a run, with what it never stored; `given` are the arrays of the user.
    pub fn of(unwritten: Vec<Unwritten>, outputs: &Arrays, given: &Arrays) -> Findings {
        let specials = |arrays: &Arrays| arrays.iter().filter_map(|(name, a)| Special::of(name, a)).collect();
        let is_meant = |of: &Unwritten| of.given && given.contains_key(&of.tensor);
        Findings {
            unwritten: unwritten.into_iter().filter(|of| !is_meant(of)).collect(),
            inputs: specials(given),
            outputs: specials(outputs),
            made_nan: Vec::new(),
        }
    }

    /// Lets these outputs be written in part.
    pub fn allow(&mut self, allowed: &[String]) {
        self.unwritten.retain(|of| !allowed.contains(&of.tensor));
    }

    /// Refuses outputs with NaN that were compared with the same program only, unless inputs have some.
    #[must_use]
    pub fn compared_with_itself(mut self) -> Findings {
        if self.inputs.iter().all(|of| of.nans.count == 0) {
            let nan = self.outputs.iter().filter(|of| of.nans.count > 0);
            self.made_nan = nan.map(|of| of.name.clone()).collect();
        }
        self
    }

    /// Whether an output has none that is an error.
    pub(super) fn is_right(&self, output: &str) -> bool {
        let unwritten = self.unwritten.iter().any(|of| of.tensor == output);
        !unwritten && !self.made_nan.iter().any(|name| name == output)
    }

    /// Whether none is an error.
    pub(super) fn are_right(&self) -> bool {
        self.unwritten.is_empty() && self.made_nan.is_empty()
    }

    /// The errors, one for each output.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let unwritten = self.unwritten.iter().map(|of| {
            Diagnostic::error(codes::NEVER_WRITTEN, format!("{} never written", elements(of)))
                .note(format!("the first is {}", place(&of.tensor, &of.first)))
                .help(format!("let a task store every element, give its array (`--input {0}=FILE.npy`), or say that a part is meant: `--allow-unwritten {0}`", of.tensor))
        });
        let nan = self.outputs.iter().filter(|of| self.made_nan.contains(&of.name)).map(|of| {
            let message =
                format!("{} of {} of `{}` are NaN", of.nans.count, count(of.elements, "element"), of.name);
            Diagnostic::error(codes::NAN_OUTPUT, message)
                .note(format!("the first is {}; no input has one", place(&of.name, &of.nans.first)))
                .help("look for 0 / 0, inf - inf, or the logarithm or root of a negative number")
        });
        unwritten.chain(nan).collect()
    }

    pub(super) fn add_to(&self, lines: &mut Lines) {
        for of in &self.unwritten {
            lines.add(
                "unwritten",
                &format!("{} never written; the first is {}", elements(of), place(&of.tensor, &of.first)),
            );
        }
        let kinds = self.inputs.iter().map(|of| ("input ", of)).chain(self.outputs.iter().map(|of| ("", of)));
        for (kind, of) in kinds {
            for (what, found) in [("NaN", &of.nans), ("infinite", &of.infinities)] {
                if found.count > 0 {
                    let all = count(of.elements, "element");
                    let first = place(&of.name, &found.first);
                    let text =
                        format!("{} of {all} of {kind}`{}`; the first is {first}", found.count, of.name);
                    lines.add(what, &text);
                }
            }
        }
    }

    /// The line of a comparison.
    pub(super) fn comparison(&self, check: &Comparison) -> String {
        super::text::comparison(check, self.is_right(&check.name))
    }

    /// A comparison for machines.
    pub(super) fn comparison_json(&self, check: &Comparison) -> Value {
        super::json::comparison(check, self.is_right(&check.name))
    }

    /// For machines: what was never written, and what is no finite number.
    pub(super) fn json(&self) -> (Value, Value) {
        let unwritten = self
            .unwritten
            .iter()
            .map(|of| json!({ "name": of.tensor, "elements": of.elements, "of": of.of, "first": of.first }));
        let special = |input: bool| {
            move |of: &Special| {
                json!({
                    "name": of.name, "input": input, "elements": of.elements,
                    "nans": of.nans.count, "first_nan": first(of.nans.count, &of.nans.first),
                    "infinities": of.infinities.count, "first_infinity": first(of.infinities.count, &of.infinities.first),
                })
            }
        };
        let specials = self.inputs.iter().map(special(true)).chain(self.outputs.iter().map(special(false)));
        (unwritten.collect(), specials.collect())
    }
}

fn first(count: u64, index: &[u64]) -> Option<&[u64]> {
    (count > 0).then_some(index)
}

fn elements(of: &Unwritten) -> String {
    format!("{} of {} of `{}`", of.elements, count(of.of, "element"), of.tensor)
}

/// An element as programs write it.
pub(crate) fn place(name: &str, index: &[u64]) -> String {
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!("{name}[{}]", index.join(", "))
}
