//! All examples: the file that is emitted runs both ways, and each result is compared with one in `f64`.
//!
//! What is emitted and launched are the commands in the comment of an example. A new one is run as it is there, and needs its reference.

use crate::designs::{Launch, both_ways};
use crate::programs::{args, plan, written};
use crate::randomised::cases;
use crate::references;
use crate::support::{design, floats, to_floats};
use crate::tools::Tools;
use std::path::{Path, PathBuf};
use wsp_aie::design::{Design, Sequence};
use wsp_aie::mlir::Value;
use wsp_aie::run::Arg;
use wsp_backend::Lengths;
use wsp_plan::PlanSource;

/// Elements differ from those in `f64` by at most so much of their size and 1.
const CLOSE: f64 = 2e-5;
/// Of how many examples the test command runs one, and none for several lengths.
const FEW: u64 = 3;

/// A command of an example: what its launches are given.
struct Command {
    target: String,
    /// Parameters and extents.
    values: Vec<(String, i64)>,
    /// The name of a length, and those with which the design is launched, in order.
    lengths: Option<(String, Lengths)>,
}

impl Command {
    /// The command in a line of a comment.
    fn of(line: &str) -> Option<Command> {
        let line = line.strip_prefix("//")?.trim();
        let mut words = line.strip_prefix("wsp ")?.split_whitespace().skip(2);
        let mut command = Command { target: String::new(), values: Vec::new(), lengths: None };
        let number = |text: &str| text.parse::<i64>().unwrap_or_else(|fault| panic!("{line}: {fault}"));
        while let Some(option) = words.next() {
            if option == "--check" {
                continue;
            }
            let value = words.next().unwrap_or_else(|| panic!("{line}: `{option}` has no value"));
            match option {
                "--target" => value.clone_into(&mut command.target),
                "-o" => {}
                "--generate" | "--set" => {
                    let pairs = value.split(',').map(|pair| pair.split_once('=').expect("NAME=VALUE"));
                    command.values.extend(pairs.map(|(name, value)| (name.to_owned(), number(value))));
                }
                "--lengths" => {
                    let (name, lengths) = value.split_once('=').expect("NAME=LENGTHS");
                    let lengths = match lengths.split_once("..=") {
                        Some((from, to)) => Lengths::Range(number(from), number(to)),
                        None => Lengths::Each(lengths.split(',').map(number).collect()),
                    };
                    command.lengths = Some((name.to_owned(), lengths));
                }
                _ => panic!("{line}: `{option}` is not known here"),
            }
        }
        Some(command)
    }

    /// The launches of the design, in order: the sequence, by number, and the length.
    fn launches(&self) -> Vec<(usize, Option<i64>)> {
        match &self.lengths {
            None => vec![(0, None)],
            // What a launch leaves behind has no part in the next, whichever is the longer.
            Some((_, Lengths::Each(lengths))) => {
                (0..lengths.len()).chain([0]).map(|at| (at, Some(lengths[at]))).collect()
            }
            Some((_, Lengths::Range(from, to))) => {
                let middle = from + (to - from) / 40;
                [*from, middle, *to, *from].map(|length| (0, Some(length))).to_vec()
            }
        }
    }

    /// A parameter or an extent of a launch.
    fn value(&self, name: &str, length: Option<i64>) -> Option<i64> {
        let length = self.lengths.as_ref().filter(|(of, _)| of == name).and(length);
        let of = |(known, value): &(String, i64)| (known == name).then_some(*value);
        length.or_else(|| self.values.iter().find_map(of))
    }
}

/// What the arrays of a sequence are called in the program.
fn names(design: &Design, sequence: &Sequence) -> Vec<String> {
    let suffix = sequence.name.strip_prefix("sequence").expect("a sequence that is emitted");
    let name = |value: &Value| {
        let name = design.module.values[value.0 as usize].name.as_str();
        let name = name.strip_suffix(suffix).unwrap_or(name);
        name.strip_prefix("array_").unwrap_or(name).to_owned()
    };
    sequence.args.iter().map(name).collect()
}

/// The numbers of an array, which follow from its place and that of its launch.
fn drawn(count: u64, seed: usize) -> Arg {
    let number = |i: u64| ((i * 7919 + seed as u64 * 104_729) % 2003) as f32 / 1001.5 - 1.0;
    floats((0..count).map(number))
}

/// The largest difference, of the size of the number that is wanted and 1.
fn error(found: &Arg, wanted: &[f64]) -> f64 {
    let found = to_floats(found);
    assert_eq!(found.len(), wanted.len());
    let of = |(found, wanted): (&f32, &f64)| (f64::from(*found) - wanted).abs() / (1.0 + wanted.abs());
    // A number that is none is no small difference.
    found.iter().zip(wanted).map(of).fold(0.0, |most, of| if of <= most { most } else { of })
}

/// Emits an example, and launches the design both ways; what was run.
fn agrees(tools: &Tools, (name, plan): (&str, &PlanSource), command: &Command, at: usize) -> String {
    let values: Vec<(&str, i64)> =
        command.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let lengths = command.lengths.as_ref().map(|(name, lengths)| (name.as_str(), lengths.clone()));
    let text = written(plan, args(&[], &values), lengths).unwrap_or_else(|found| panic!("{name}: {found}"));
    let design = design(&text);
    let mut launches = Vec::new();
    for (which, (sequence, length)) in command.launches().into_iter().enumerate() {
        let of = |(place, value): (usize, &Value)| match design.module.ty(*value).shaped() {
            Some(_) => drawn(design.module.ty(*value).elements().expect("a size"), 1 + place + 10 * which),
            None => Arg::Number(length.expect("a sequence of lengths takes one")),
        };
        let args = design.sequences[sequence].args.iter().enumerate().map(of).collect();
        launches.push((length, Launch { sequence, args }));
    }
    let mut wanted = Vec::new();
    for (length, launch) in &launches {
        let names = names(&design, &design.sequences[launch.sequence]);
        let place = |name: &str| names.iter().position(|known| known == name).expect("an array");
        let array = |name: &str| to_floats(&launch.args[place(name)]).into_iter().map(f64::from).collect();
        let size = |of: &str| {
            let value = command.value(of, *length).unwrap_or_else(|| panic!("{name}: no value of `{of}`"));
            usize::try_from(value).expect("a size")
        };
        let (output, numbers) = references::of_example(name, &array, &size)
            .unwrap_or_else(|| panic!("`{name}` has no reference in f64: add it to tests/it/references.rs"));
        wanted.push((place(output), numbers));
    }
    let (lengths, launches): (Vec<Option<i64>>, Vec<Launch>) = launches.into_iter().unzip();
    let ways = both_ways(tools, &format!("{name}_{at}"), &design, launches);
    let lengths: Vec<String> = lengths.iter().flatten().map(i64::to_string).collect();
    let errors = ways.each_ref().map(|launches| {
        let of = |(args, (output, wanted)): (&Vec<Arg>, &(usize, Vec<f64>))| error(&args[*output], wanted);
        launches.iter().zip(&wanted).map(of).fold(0.0, f64::max)
    });
    assert!(errors.iter().all(|error| *error <= CLOSE), "{name}: {errors:?}");
    assert!(ways[0] == ways[1], "{name}: the two ways leave other bytes");
    let (cores, fifos, links) = (design.cores.len(), design.fifos.len(), design.links.len());
    format!(
        "{name} [{}]: {cores} cores, {fifos} fifos, {links} links; errors to f64 {:.1e} compiled, {:.1e} interpreted",
        lengths.join(", "),
        errors[0],
        errors[1]
    )
}

/// The examples, in the order of their names.
fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/aie");
    let entries = folder.read_dir().expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "wsp")).collect();
    found.sort();
    found
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the examples")]
fn all_examples_run_both_ways() {
    let Some(tools) = Tools::find("examples") else { return };
    let (mut ran, few) = (0, cases(FEW) == FEW);
    let apart = if few { FEW as usize } else { 1 };
    for path in examples().into_iter().step_by(apart) {
        let read = |path: &Path| std::fs::read_to_string(path).expect("it is text");
        let (text, kernels) = (read(&path), read(&path.with_extension("pto")));
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let commands: Vec<Command> = text.lines().filter_map(Command::of).collect();
        assert!(
            !commands.is_empty(),
            "the comment of `{name}` has a command, as `wsp run examples/aie/{name}.wsp --set n=64 --target xdna2`"
        );
        let is_asked = |(_, command): &(usize, &Command)| !few || command.lengths.is_none();
        for (at, command) in commands.iter().enumerate().filter(is_asked) {
            println!("{}", agrees(&tools, (name, &plan(&text, &kernels, &command.target)), command, at));
            ran += 1;
        }
    }
    println!("{ran} designs of the examples leave the same bytes by LLVM as in the interpreter");
}
