//! What a run is asked for, in the words of those who ask. Texts name an option once, as the command line has it and in backticks:
//! `--threads N`. What only the command line does stands in a clause of its own, which ends with `; `.

use crate::Diagnostic;

/// How an option is written elsewhere. `{name}` and `{value}` are the sides of its value, `{value}` alone all of one without `=`; `{ = value}` is nothing
/// where no value is named.
struct Words {
    option: &'static str,
    /// None where Python has no such option.
    python: Option<&'static str>,
    rust: &'static str,
}

const fn words(option: &'static str, python: Option<&'static str>, rust: &'static str) -> Words {
    Words { option, python, rust }
}

/// Of two that fit the longer one stands first.
const OPTIONS: &[Words] = &[
    words("--set kv_layout", Some("kv_layout=\"{value}\""), "SpaceOptions::kv_layout{ = value}"),
    words("--set max_blocks", Some("max_blocks={value}"), "CompileOptions::max_blocks{ = value}"),
    words("--set", Some("{name}={value}"), "Args::with(\"{name}\", {value})"),
    words("--inputs", Some("NAME=array"), "Args::with(NAME, array)"),
    words("--input", Some("{name}=array"), "Args::with(\"{name}\", array)"),
    words("--fill", None, "WorkloadRunOptions::made_up"),
    words("--generate", None, "Absent::MadeUp"),
    words("--event", None, "UnitOptions::events"),
    words("--hints", None, "UnitOptions::hints"),
    words("--replay", Some("replay={value}"), "RunOptions::replay"),
    words("--trace-edges", None, "Edges::All"),
    words("--trace", None, "RunOptions::trace"),
    words("wsp run --target", None, "CompileOptions::target"),
    words("wsp run --cores", None, "UnitOptions::cores"),
    words("wsp check --target", None, "LintOptions"),
    words("wsp targets --matrix", None, "docs/reference/isa.md"),
    words("wsp emit FILE --target", None, "Registry::emit"),
    words("--threads", Some("num_threads={value}"), "RunOptions::threads{ = value}"),
    words("--schedule", Some("schedule=\"{value}\""), "CompileOptions::schedule{ = value}"),
    words("--engine auto", None, "Engine::Auto"),
    words("--engine interpreter", None, "Engine::Interpreter"),
    words("--aicpus", Some("num_aicpus={value}"), "WorkloadRunOptions::aicpus{ = value}"),
    words("--expand host", Some("expand=\"host\""), "Expand::Host"),
    words("--expand bytecode", Some("expand=\"bytecode\""), "Expand::Bytecode"),
    words("--expand loops", None, "Expand::Loops"),
    words("--expand table", None, "Expand::Table"),
    words("--stage graph", None, "PackagePart::Graphs"),
    words("--bytes", None, "CompiledProgram::transfer"),
    words("--devices", Some("devices={value}"), "UnitOptions::devices{ = value}"),
    words("--memory", Some("memory={value}"), "UnitOptions::memory{ = value}"),
    words("--kernels", None, "Source::unit_kernels"),
    words("--kernel", None, "KernelsSource::kernel"),
    words("--checkpoints", None, "UnitOptions::checkpoints"),
    words("--resume", None, "Begin::Resume"),
    words("--no-check", None, "Recording::Off"),
    words("--check", None, "Recording::On"),
    words("--strict", None, "Recording::On"),
    words("--isa", None, "CpuSimBackend::mode"),
];

/// What says that a clause is of the command line alone.
const OF_COMMAND_LINE: &str = "`wsp run`";

impl Diagnostic {
    /// The finding for a program in Python.
    #[must_use]
    pub fn in_python(mut self) -> Diagnostic {
        if !self.python.is_empty() {
            self.help = std::mem::take(&mut self.python);
        }
        self.rewritten(|words| words.python)
    }

    /// The finding for a program in Rust.
    #[must_use]
    pub fn in_rust(mut self) -> Diagnostic {
        for texts in [&mut self.notes, &mut self.help] {
            texts.iter_mut().filter(|text| text.contains(OF_COMMAND_LINE)).for_each(|text| {
                let clauses = text.split("; ").filter(|clause| !clause.contains(OF_COMMAND_LINE));
                *text = clauses.collect::<Vec<_>>().join("; ");
            });
            texts.retain(|text| !text.is_empty());
        }
        self.rewritten(|words| Some(words.rust))
    }

    /// The finding with options in other words.
    fn rewritten(mut self, words: fn(&Words) -> Option<&'static str>) -> Diagnostic {
        let labels = self.primary.iter_mut().chain(&mut self.labels).map(|label| &mut label.text);
        let texts = self.notes.iter_mut().chain(&mut self.help).chain([&mut self.message]).chain(labels);
        for text in texts.filter(|text| text.contains("--")) {
            *text = rewritten(text, words);
        }
        self
    }
}

/// A text whose options in backticks are in other words, where there are some.
fn rewritten(text: &str, words: fn(&Words) -> Option<&'static str>) -> String {
    // Every second piece stands between backticks.
    let piece = |(at, piece): (usize, &str)| match at % 2 {
        1 => of_options(piece, words).unwrap_or_else(|| piece.to_owned()),
        _ => piece.to_owned(),
    };
    text.split('`').enumerate().map(piece).collect::<Vec<_>>().join("`")
}

/// One option or several.
fn of_options(piece: &str, words: fn(&Words) -> Option<&'static str>) -> Option<String> {
    if piece.starts_with("wsp ") {
        return of_option(piece, words);
    }
    let all: Option<Vec<String>> =
        piece.strip_prefix("--")?.split(" --").map(|one| of_option(&format!("--{one}"), words)).collect();
    Some(all?.join(", "))
}

fn of_option(piece: &str, words: fn(&Words) -> Option<&'static str>) -> Option<String> {
    let (of, given) = OPTIONS.iter().find_map(|of| {
        let given = piece.strip_prefix(of.option)?;
        given.chars().next().is_none_or(|next| matches!(next, ' ' | '=')).then_some((of, given))
    })?;
    let given = given.trim_start_matches([' ', '=']);
    let (name, value) = given.split_once('=').unwrap_or(("NAME", given));
    let set = if value.is_empty() { String::new() } else { format!(" = {value}") };
    let value = if value.is_empty() { "N" } else { value };
    Some(words(of)?.replace("{name}", name).replace("{value}", value).replace("{ = value}", &set))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Span};

    #[test]
    fn an_option_is_named_in_the_words_of_each_face() {
        let both = |text: &str| {
            let found = Diagnostic::error(Code(1), text)
                .note(text)
                .help(text)
                .at(Span::default(), text)
                .label(Span::default(), text);
            let (python, rust) = (found.clone().in_python(), found.in_rust());
            assert_eq!((&python.message, &python.notes[..]), (&python.help[0], &python.help[..]));
            let labels = python.primary.iter().chain(&python.labels);
            assert!(labels.filter(|label| label.text == python.message).count() == 2);
            (python.message, rust.message)
        };
        for (text, python, rust) in [
            ("ask with `--threads N`", "ask with `num_threads=N`", "ask with `RunOptions::threads = N`"),
            (
                "leave out `--threads`, or ask",
                "leave out `num_threads=N`, or ask",
                "leave out `RunOptions::threads`, or ask",
            ),
            ("by `--expand host`", "by `expand=\"host\"`", "by `Expand::Host`"),
            ("give `--input x=FILE.npy`", "give `x=array`", "give `Args::with(\"x\", array)`"),
            ("set `--set n=3` of `n`", "set `n=3` of `n`", "set `Args::with(\"n\", 3)` of `n`"),
            ("`--set kv_layout=HND`", "`kv_layout=\"HND\"`", "`SpaceOptions::kv_layout = HND`"),
            (
                "`--check`, not `--checkpoints DIR`",
                "`--check`, not `--checkpoints DIR`",
                "`Recording::On`, not `UnitOptions::checkpoints`",
            ),
            (
                "`--set a=N --input t=FILE.npy`",
                "`a=N, t=array`",
                "`Args::with(\"a\", N), Args::with(\"t\", array)`",
            ),
            (
                "leave it out; `wsp run --target NAME` takes it",
                "leave it out; `wsp run --target NAME` takes it",
                "leave it out; `CompileOptions::target` takes it",
            ),
            ("`a` - `b` is --set", "`a` - `b` is --set", "`a` - `b` is --set"),
            ("`--unknown 3`", "`--unknown 3`", "`--unknown 3`"),
        ] {
            assert_eq!(both(text), (python.to_owned(), rust.to_owned()));
        }
    }

    #[test]
    fn what_only_the_command_line_does_is_not_said_in_rust() {
        let found = Diagnostic::error(Code(1), "`wsp run`")
            .help("give arrays with `--inputs FILE.npz`; where none is given, `wsp run` makes all up")
            .note("`wsp run` makes it up");
        let rust = found.in_rust();
        assert_eq!(rust.help, ["give arrays with `Args::with(NAME, array)`"]);
        assert_eq!((rust.message.as_str(), rust.notes.len()), ("`wsp run`", 0));
    }
}
