//! What a run that checks finds besides differences: elements that were never written, and those that are no finite numbers.

use super::lines::Lines;
use pto_wsp::codes;
use serde_json::{Value, json};
use wsp_backend::Unwritten;
use wsp_check::reference::{Comparison, Special};
use wsp_core::words::{by_count, counted};
use wsp_diag::{Code, Diagnostic};
use wsp_ordered::OrderedMap;
use wsp_plan::{Array, Arrays};

/// Findings of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Findings {
    /// Elements of outputs that no task has stored or loaded, but for those that hold what the user gave where tasks have stored others.
    pub unwritten: Vec<Unwritten>,
    /// Elements that tasks have loaded and none has stored, of outputs of which tasks have stored others and that the user did not give.
    pub loaded: Vec<Unwritten>,
    /// Names of outputs in `loaded` that neither `--allow-unwritten` nor `--fill` names.
    pub unasked: Vec<String>,
    /// Whether what is warned of is an error.
    pub strict: bool,
    /// Arrays that the user gave with elements that are no finite numbers.
    pub inputs: Vec<Special>,
    /// Outputs with elements that are no finite numbers.
    pub outputs: Vec<Special>,
    /// Arrays of the launch that no kernel loads from or stores to.
    pub untouched: Vec<String>,
    /// Names of the outputs with NaN, or with infinities only, that nothing explains: they were compared with the same program alone,
    /// and every input is finite or the run is strict.
    pub unexplained: Vec<String>,
    /// Names of the outputs of which nothing was compared, because every element is NaN.
    pub incomparable: Vec<String>,
}

impl Findings {
    /// Of the outputs of a run, with what it never stored; `given` are the arrays of the user.
    pub fn of(
        unwritten: Vec<Unwritten>,
        outputs: &Arrays,
        given: &OrderedMap<&str, &Array>,
        strict: bool,
    ) -> Findings {
        let is_meant = |of: &Unwritten| of.given && given.contains_key(&*of.tensor) && !stores_nothing(of);
        let found = unwritten.into_iter().filter(|of| !is_meant(of));
        let (loaded, unwritten): (Vec<Unwritten>, Vec<Unwritten>) = found.partition(|of| of.loaded);
        Findings {
            unwritten,
            unasked: loaded.iter().map(|of| of.tensor.clone()).collect(),
            loaded,
            strict,
            inputs: given.iter().filter_map(|(name, array)| Special::of(name, array)).collect(),
            outputs: outputs.iter().filter_map(|(name, array)| Special::of(name, array)).collect(),
            ..Findings::default()
        }
    }

    /// Lets outputs be written in part: those `allowed` in every way, those `filled` where tasks load the rest.
    pub fn allow(&mut self, allowed: &[String], filled: &[String]) {
        self.unwritten.retain(|of| !allowed.contains(&of.tensor));
        self.unasked.retain(|name| !allowed.contains(name) && !filled.contains(name));
    }

    /// Refuses outputs with NaN, and those of infinities only, that no independent comparison covers, where every input is finite or
    /// the run is strict, and outputs of NaN only. Comparisons bit by bit are not among `checks`.
    #[must_use]
    pub fn judged(mut self, checks: &[Comparison]) -> Findings {
        for of in &self.outputs {
            let check = checks.iter().find(|check| check.name == of.name);
            let covered = check.is_some_and(|check| check.against.is_independent());
            let wrong = of.nans.count > 0 || of.infinities.count == of.elements;
            if wrong && !covered && (self.strict || self.inputs.is_empty()) {
                self.unexplained.push(of.name.clone());
            } else if of.nans.count == of.elements && check.is_none_or(Comparison::passed) {
                self.incomparable.push(of.name.clone());
            }
        }
        self
    }

    /// What is wrong with an output, apart from values that differ.
    pub(super) fn wrong(&self, output: &str) -> Option<&'static str> {
        let among = |names: &[String]| names.iter().any(|name| name == output);
        if self.unwritten.iter().any(|of| of.tensor == output) {
            return Some("elements were never written");
        }
        if self.strict && among(&self.unasked) {
            return Some("tasks load elements that none stores");
        }
        if among(&self.incomparable) {
            return Some("every element is NaN");
        }
        among(&self.unexplained).then_some(match self.inputs.as_slice() {
            [] => "NaN or infinity from finite inputs",
            _ => "NaN or infinity, which no independent check explains",
        })
    }

    /// What is wrong with any output.
    pub(super) fn any_wrong(&self) -> Option<&'static str> {
        let unwritten = self.unwritten.iter().map(|of| &of.tensor);
        let mut names = unwritten.chain(&self.unasked).chain(&self.unexplained).chain(&self.incomparable);
        names
            .find_map(|name| self.wrong(name))
            .or_else(|| (!self.untouched.is_empty()).then_some("no kernel uses an array of the launch"))
    }

    /// Whether none is an error.
    pub(super) fn are_right(&self) -> bool {
        self.any_wrong().is_none()
    }

    /// What is no error but where the run is strict, one for each output.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        if self.strict { Vec::new() } else { self.unasked(Diagnostic::warning).collect() }
    }

    /// What to say of outputs of which tasks load what none stores.
    fn unasked(&self, new: impl Fn(Code, String) -> Diagnostic) -> impl Iterator<Item = Diagnostic> {
        let unasked = self.loaded.iter().filter(|of| self.unasked.contains(&of.tensor));
        unasked.map(move |of| {
            let name = &of.tensor;
            new(codes::LOADED_UNWRITTEN, format!("tasks load {}, which none stores", elements(of)))
                .note(format!(
                    "the first is {}; nothing gives them, so that they are made up",
                    place(name, &of.first)
                ))
                .help("let a task store them, or load only what tasks store")
                .help(format!("or say that `{name}` begins with elements: `--allow-unwritten {name}`"))
        })
    }

    /// The errors, one for each output.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let named = |of: &&Special, names: &[String]| names.contains(&of.name);
        let unexplained =
            self.outputs.iter().filter(|of| named(of, &self.unexplained)).map(|of| self.unexplained(of));
        let incomparable = self.outputs.iter().filter(|of| named(of, &self.incomparable)).map(|of| {
            let message = format!("nothing was compared of `{}`: every element is NaN", of.name);
            Diagnostic::error(codes::NOTHING_TO_CHECK, message)
                .help("give inputs without NaN, or run with `--no-check`")
        });
        let untouched = self.untouched.iter().map(|name| {
            Diagnostic::error(codes::NEVER_WRITTEN, format!("no kernel loads from `{name}` or stores to it"))
                .note("it is an array of the launch")
                .help(format!("store to it or load it, or take it out of the launch; the name `_{name}` says that it is meant"))
        });
        let loaded = self.unasked(Diagnostic::error).filter(|_| self.strict);
        let unwritten = self.unwritten.iter().map(unwritten);
        unwritten.chain(loaded).chain(unexplained).chain(incomparable).chain(untouched).collect()
    }

    /// The error of an output with NaN or infinity that nothing explains.
    fn unexplained(&self, of: &Special) -> Diagnostic {
        let (what, found) = if of.nans.count > 0 { ("NaN", &of.nans) } else { ("infinite", &of.infinities) };
        let message = format!(
            "{} of {} of `{}` {} {what}",
            found.count,
            counted(of.elements, "element"),
            of.name,
            by_count(found.count, "is", "are")
        );
        let first = format!("the first is {}", place(&of.name, &found.first));
        let fault = Diagnostic::error(codes::NAN_OUTPUT, message);
        match self.inputs.first() {
            None => fault
                .note(format!("{first}; no input has one"))
                .help("look for 0 / 0, 1 / 0, inf - inf, or the logarithm or root of a negative number"),
            Some(input) => fault
                .note(format!(
                    "{first}; input `{}` has NaN or infinity, and no reference tells where these lead to",
                    input.name
                ))
                .help("give finite inputs, or leave out `--strict`"),
        }
    }

    pub(super) fn add_to(&self, lines: &mut Lines) {
        for of in &self.unwritten {
            lines.add(
                "unwritten",
                &format!("{} never written; the first is {}", elements(of), place(&of.tensor, &of.first)),
            );
        }
        for of in &self.loaded {
            let first = place(&of.tensor, &of.first);
            lines.add("loaded", &format!("{} that no task stores; the first is {first}", elements(of)));
        }
        for name in &self.untouched {
            lines.add("unused", &format!("no kernel loads from `{name}` or stores to it"));
        }
        let kinds = self.inputs.iter().map(|of| ("input ", of)).chain(self.outputs.iter().map(|of| ("", of)));
        for (kind, of) in kinds {
            for (what, found) in [("NaN", &of.nans), ("infinite", &of.infinities)] {
                if found.count > 0 {
                    let all = counted(of.elements, "element");
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

    /// For machines: adds what was never written, what of that is loaded, and what is no finite number.
    pub(super) fn add_json(&self, report: &mut Value) {
        let one = |of: &Unwritten| json!({ "name": of.tensor, "elements": of.elements, "of": of.of, "first": of.first });
        report["unwritten"] = self.unwritten.iter().map(one).collect();
        report["loaded_unwritten"] = self.loaded.iter().map(one).collect();
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
        report["not_finite"] = specials.collect();
    }
}

/// The error of an output that tasks have not written in whole.
fn unwritten(of: &Unwritten) -> Diagnostic {
    let name = &of.tensor;
    let allow = format!("say that it is meant: `--allow-unwritten {name}`");
    if stores_nothing(of) {
        return Diagnostic::error(codes::NEVER_WRITTEN, format!("no task has stored to `{name}`"))
            .help(format!("let a task store to it, or {allow}"));
    }
    Diagnostic::error(codes::NEVER_WRITTEN, format!("{} never written", elements(of)))
        .note(format!("the first is {}", place(name, &of.first)))
        .help(format!(
            "let a task store every element, give its array (`--input {name}=FILE.npy`), or {allow}"
        ))
}

/// Whether no task has stored any element of an output.
fn stores_nothing(of: &Unwritten) -> bool {
    of.elements == of.of
}

fn first(count: u64, index: &[u64]) -> Option<&[u64]> {
    (count > 0).then_some(index)
}

fn elements(of: &Unwritten) -> String {
    format!("{} of {} of `{}`", of.elements, counted(of.of, "element"), of.tensor)
}

/// An element as programs write it.
pub(crate) fn place(name: &str, index: &[u64]) -> String {
    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
    format!("{name}[{}]", index.join(", "))
}
