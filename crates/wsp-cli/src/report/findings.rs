//! What a run that checks finds besides differences: elements that were never written, and those that are no finite numbers.

use super::text::Lines;
use super::units::count;
use crate::codes;
use crate::reference::{Comparison, Elements, Special};
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
    /// Arrays of the launch that no kernel loads from or stores to.
    pub untouched: Vec<String>,
    /// Names of the outputs with NaN, or with infinities only, that nothing independent has: every input is finite, and no
    /// reference was computed.
    pub made_special: Vec<String>,
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
            untouched: Vec::new(),
            made_special: Vec::new(),
        }
    }

    /// Lets these outputs be written in part.
    pub fn allow(&mut self, allowed: &[String]) {
        self.unwritten.retain(|of| !allowed.contains(&of.tensor));
    }

    /// Refuses outputs with NaN, and those of infinities only, that were compared with the same program alone, unless inputs have
    /// such elements.
    #[must_use]
    pub fn compared_with_itself(mut self) -> Findings {
        let given = |of: fn(&Special) -> &Elements| self.inputs.iter().any(|input| of(input).count > 0);
        let (nans, infinities) = (given(|of| &of.nans), given(|of| &of.infinities));
        let made = self.outputs.iter().filter(|of| {
            let all = of.nans.count + of.infinities.count == of.elements;
            !nans && (of.nans.count > 0 || all && !infinities)
        });
        self.made_special = made.map(|of| of.name.clone()).collect();
        self
    }

    /// What is wrong with an output, apart from values that differ.
    pub(super) fn wrong(&self, output: &str) -> Option<&'static str> {
        if self.unwritten.iter().any(|of| of.tensor == output) {
            return Some("elements were never written");
        }
        self.made_special.iter().any(|name| name == output).then_some("NaN or infinity from finite inputs")
    }

    /// What is wrong with any output.
    pub(super) fn any_wrong(&self) -> Option<&'static str> {
        let mut names = self.unwritten.iter().map(|of| &of.tensor).chain(&self.made_special);
        names
            .find_map(|name| self.wrong(name))
            .or_else(|| (!self.untouched.is_empty()).then_some("no kernel uses an array of the launch"))
    }

    /// Whether none is an error.
    pub(super) fn are_right(&self) -> bool {
        self.any_wrong().is_none()
    }

    /// The errors, one for each output.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let unwritten = self.unwritten.iter().map(|of| {
            Diagnostic::error(codes::NEVER_WRITTEN, format!("{} never written", elements(of)))
                .note(format!("the first is {}", place(&of.tensor, &of.first)))
                .help(format!("let a task store every element, give its array (`--input {0}=FILE.npy`), or say that a part is meant: `--allow-unwritten {0}`", of.tensor))
        });
        let special = self.outputs.iter().filter(|of| self.made_special.contains(&of.name)).map(|of| {
            let (what, found) =
                if of.nans.count > 0 { ("NaN", &of.nans) } else { ("infinite", &of.infinities) };
            let message =
                format!("{} of {} of `{}` are {what}", found.count, count(of.elements, "element"), of.name);
            Diagnostic::error(codes::NAN_OUTPUT, message)
                .note(format!("the first is {}; no input has one", place(&of.name, &found.first)))
                .help("look for 0 / 0, 1 / 0, inf - inf, or the logarithm or root of a negative number")
        });
        let untouched = self.untouched.iter().map(|name| {
            Diagnostic::error(codes::NEVER_WRITTEN, format!("no kernel loads from `{name}` or stores to it"))
                .note("it is an array of the launch")
                .help(format!("store to it or load it, or take it out of the launch; the name `_{name}` says that it is meant"))
        });
        unwritten.chain(special).chain(untouched).collect()
    }

    pub(super) fn add_to(&self, lines: &mut Lines) {
        for of in &self.unwritten {
            lines.add(
                "unwritten",
                &format!("{} never written; the first is {}", elements(of), place(&of.tensor, &of.first)),
            );
        }
        for name in &self.untouched {
            lines.add("unused", &format!("no kernel loads from `{name}` or stores to it"));
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
        super::text::comparison(check, self.wrong(&check.name))
    }

    /// A comparison for machines.
    pub(super) fn comparison_json(&self, check: &Comparison) -> Value {
        super::json::comparison(check, self.wrong(&check.name).is_none())
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
