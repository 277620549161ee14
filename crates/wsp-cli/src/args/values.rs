//! Values of options: how they are written, and what is said of those that are written wrong.

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use std::cmp::Ordering;
use std::num::IntErrorKind;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use wsp_backend::{KvLayout, Lengths};
use wsp_core::limits::MAX_DEVICE_CORES;
use wsp_diag::Diagnostic;
use wsp_kernel::{Engine, Level, Mode};
use wsp_plan::{ParamValue, Target};

/// One `--set NAME=VALUE`.
#[derive(Clone, PartialEq, Debug)]
pub enum Setting {
    /// `kv_layout=…`
    Layout(KvLayout),
    /// `max_blocks=…`
    MaxBlocks(u32),
    /// A parameter of the program.
    Param(String, ParamValue),
}

/// Cores of a simulated device: those that an option gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cores {
    /// Cube cores.
    pub(crate) aic: Option<u32>,
    /// Vector cores.
    pub(crate) aiv: Option<u32>,
    /// Threads of the AICPU.
    pub(crate) aicpu: Option<u32>,
}

/// A stage of a task graph on its way to a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The unit as it was read, as text
    Module,
    /// The unit in bytes
    Ptog,
    /// The nodes and edges of a graph, as the interpreter on the device reads them
    Image,
}

impl Stage {
    /// How the names of its files end.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Stage::Module => "tg",
            Stage::Ptog => "ptog",
            Stage::Image => "image",
        }
    }
}

/// The words that an option takes: each with its value and what `--help` says of it, if anything.
pub type Words<T> = &'static [(&'static str, T, &'static str)];

/// Reads one of the words of a type that another crate has.
pub fn words<T: Copy + Send + Sync + 'static>(words: Words<T>) -> impl TypedValueParser<Value = T> {
    let possible = words.iter().map(|(word, _, help)| {
        let value = PossibleValue::new(*word);
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(possible).map(move |given| {
        let found = words.iter().find(|(word, ..)| *word == given);
        found.expect("the parser should let through known words only").1
    })
}

impl Setting {
    /// What is set.
    pub fn name(&self) -> &str {
        match self {
            Setting::Layout(_) => "kv_layout",
            Setting::MaxBlocks(_) => "max_blocks",
            Setting::Param(name, _) => name,
        }
    }
}

/// `--isa NAME`.
pub(super) fn mode(text: &str) -> Result<Mode, String> {
    let here = || Level::ALL.into_iter().filter(|level| level.is_available()).map(Level::name);
    match Mode::from_name(text) {
        Some(mode) if mode.is_available() => Ok(mode),
        Some(_) => {
            let have: Vec<&str> = ["auto", "plain"].into_iter().chain(here()).collect();
            Err(format!("this machine does not have it; it has {}", have.join(", ")))
        }
        None => {
            let all: Vec<&str> = ["auto", "plain"].into_iter().chain(Level::ALL.map(Level::name)).collect();
            Err(format!("the instruction sets are {}", all.join(", ")))
        }
    }
}

/// `--engine NAME`.
pub fn engine(text: &str) -> Result<Engine, String> {
    match Engine::from_name(text) {
        Some(engine) if engine.is_available() => Ok(engine),
        Some(_) => {
            Err("this build has no compiler for this machine; leave it out, or write `interpreter`"
                .to_owned())
        }
        None => Err("the engines are auto, interpreter, native".to_owned()),
    }
}

/// `NAME=VALUE,…` or `NAME=FIRST..=LAST`: the values that a length has in the launches of a design.
pub(super) fn lengths(text: &str) -> Result<(String, Lengths), String> {
    let how = || {
        "write NAME=VALUE,… or NAME=FIRST..=LAST, as in `--lengths tokens=1,200,8191` and `--lengths tokens=1..=8191`".to_owned()
    };
    let (name, values) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(how)?;
    let number = |text: &str| {
        text.trim().parse::<i64>().map_err(|fault| match fault.kind() {
            IntErrorKind::PosOverflow => {
                format!("{} is too large: a length is at most {}", text.trim(), u32::MAX)
            }
            IntErrorKind::NegOverflow => {
                format!("{} is too small: a length is at least 1", text.trim())
            }
            _ => how(),
        })
    };
    if let Some((first, last)) = values.split_once("..=") {
        let (first, last) = (number(first)?, number(last)?);
        let name = name.trim();
        return match i64::cmp(&first, &last) {
            Ordering::Less => Ok((name.to_owned(), Lengths::Range(first, last))),
            Ordering::Equal => {
                Err(format!("{first}..={last} is one length: write `--lengths {name}={first}`"))
            }
            // Lengths of a range are 1 at least.
            Ordering::Greater => Err(format!(
                "{first}..={last} goes down: write `--lengths {name}={}..={}`",
                last.max(1),
                first.max(2)
            )),
        };
    }
    let values = values.split(',').map(number).collect::<Result<Vec<i64>, String>>()?;
    match values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
        Some((_, value)) => Err(format!("{value} is there twice")),
        None => Ok((name.trim().to_owned(), Lengths::Each(values))),
    }
}

/// `NAME=FILE.npy`.
pub(super) fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.trim().is_empty() && !file.is_empty() => {
            Ok((name.trim().to_owned(), PathBuf::from(file)))
        }
        _ => Err("write NAME=FILE.npy, as in `--input q=q.npy`".to_owned()),
    }
}

/// One `--set NAME=VALUE` of a program, which has settings of its own.
pub(super) fn setting(text: &str) -> Result<Setting, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!(
            "write NAME=VALUE, as in `--set {}=8`",
            if text.is_empty() { "chunk" } else { text }
        ));
    };
    let (name, value) = (name.trim(), value.trim());
    match name {
        "" => Err("there is no name before the `=`".to_owned()),
        "kv_layout" => KvLayout::from_name(value)
            .map(Setting::Layout)
            .ok_or_else(|| format!("`kv_layout` is NHD ([pages, page_size, heads, dim]) or HND ([pages, heads, page_size, dim]), not `{value}`")),
        "max_blocks" => match value.parse::<u32>() {
            Ok(n) if n > 0 => Ok(Setting::MaxBlocks(n)),
            _ => Err(format!("`max_blocks` is a whole number from 1 to {}, not `{value}`", u32::MAX)),
        },
        _ => param_value(value)
            .map(|value| Setting::Param(name.to_owned(), value))
            .ok_or_else(|| format!("`{value}` is no integer, real number, true or false")),
    }
}

/// Cores of a device, such as `aic=24,aiv=48`.
pub(super) fn cores(text: &str) -> Result<Cores, String> {
    let mut cores = Cores::default();
    for part in text.split(',') {
        let Some((kind, count)) = part.split_once('=') else {
            return Err("write KIND=N, as in `--cores aic=24,aiv=48,aicpu=4`".to_owned());
        };
        let place = match kind.trim() {
            "aic" => &mut cores.aic,
            "aiv" => &mut cores.aiv,
            "aicpu" => &mut cores.aicpu,
            other => return Err(format!("`{other}` is no kind of core: there are aic, aiv and aicpu")),
        };
        let count = count.trim();
        let number = count.parse::<u32>().ok().filter(|n| *n <= MAX_DEVICE_CORES);
        let number =
            number.ok_or_else(|| format!("`{count}` is no number of cores from 0 to {MAX_DEVICE_CORES}"))?;
        if place.replace(number).is_some() {
            return Err(format!("`{}` is given twice", kind.trim()));
        }
    }
    Ok(cores)
}

/// A target, by any of its names.
pub(super) fn target(text: &str) -> Result<&'static Target, String> {
    Target::named(text).map_err(in_a_line)
}

/// A target that some backend runs, by any of its names.
pub(super) fn runnable(text: &str) -> Result<&'static Target, String> {
    pto_wsp::registry().target(text).map_err(in_a_line)
}

/// A target for which some backend writes files, by any of its names.
pub(super) fn emitted(text: &str) -> Result<&'static Target, String> {
    pto_wsp::registry().emitted(text).map_err(in_a_line)
}

/// What `wsp emit` writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EmitStage {
    /// A program that is built by itself.
    Package,
    /// What is known of the kernels of a package.
    Metadata,
    /// What of a package runs on a device.
    Device,
    /// Task graphs.
    Graphs,
    /// Kernels.
    Kernels,
}

/// The stages of `wsp emit`.
const STAGES: [(&str, EmitStage); 5] = [
    ("package", EmitStage::Package),
    ("kernels", EmitStage::Kernels),
    ("metadata", EmitStage::Metadata),
    ("graph", EmitStage::Graphs),
    ("device", EmitStage::Device),
];

/// A stage of `wsp emit`.
pub(super) fn emit_stage(text: &str) -> Result<EmitStage, String> {
    let found = STAGES.iter().find(|(name, _)| *name == text);
    found.map(|(_, stage)| *stage).ok_or_else(|| {
        match wsp_diag::did_you_mean(text, STAGES.iter().map(|(name, _)| *name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "the stages are `package`, `kernels`, `metadata`, `graph` and `device`".to_owned(),
        }
    })
}

/// A stage of `wsp asm --emit`.
pub(super) fn stage(text: &str) -> Result<Stage, String> {
    match text {
        "module" => Ok(Stage::Module),
        "ptog" => Ok(Stage::Ptog),
        "image" => Ok(Stage::Image),
        "cpp" => Err("`wsp emit FILE.tg --stage graph --target NAME -o FOLDER` writes C++".to_owned()),
        _ => Err("the stages are `module`, `ptog` and `image`".to_owned()),
    }
}

fn in_a_line(fault: Diagnostic) -> String {
    let more = fault.notes.into_iter().chain(fault.help);
    [fault.message].into_iter().chain(more).collect::<Vec<_>>().join("; ")
}

/// `--replay`: what the order of starts is taken from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replayed {
    /// A trace file.
    Trace(PathBuf),
    /// A run in virtual time.
    Seed(u64),
}

impl Replayed {
    /// The trace file, if it is one.
    pub fn trace(&self) -> Option<&PathBuf> {
        match self {
            Replayed::Trace(file) => Some(file),
            Replayed::Seed(_) => None,
        }
    }
}

/// `--replay FILE|seed=N`.
pub(super) fn replayed(text: &str) -> Result<Replayed, String> {
    match text.strip_prefix("seed=") {
        Some(number) => seed(number).map(Replayed::Seed),
        None => Ok(Replayed::Trace(PathBuf::from(text))),
    }
}

/// `--seed N`.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// A whole number in a range.
pub fn number<T: TryFrom<u64> + Clone + Send + Sync + 'static>(
    range: RangeInclusive<u64>,
) -> impl TypedValueParser<Value = T> {
    move |text: &str| within(text, &range)
}

fn within<T: TryFrom<u64>>(text: &str, range: &RangeInclusive<u64>) -> Result<T, String> {
    let found = text.parse().ok().filter(|n| range.contains(n)).and_then(|n| T::try_from(n).ok());
    found.ok_or_else(|| format!("write a whole number from {} to {}", range.start(), range.end()))
}

/// A number of AICPUs.
pub(super) fn aicpus() -> impl TypedValueParser<Value = u16> {
    |text: &str| {
        let of_package = |fault| format!("{fault}, and up to 64 with `--target ascend_host`");
        within(text, &(1..=1024)).map_err(of_package)
    }
}

/// A folder for several files, which is made where there is none.
pub(super) fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(usable_folder)
}

/// A folder that is kept from run to run; what opens it says whether it can be one.
pub(super) fn kept_folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(no_standard_output)
}

fn no_standard_output(path: PathBuf) -> Result<PathBuf, String> {
    if path.as_os_str() == "-" {
        return Err("several files do not go to standard output: write a folder, as in `out`, or `./-` for one of this name".to_owned());
    }
    Ok(path)
}

fn usable_folder(path: PathBuf) -> Result<PathBuf, String> {
    let path = no_standard_output(path)?;
    // With a `/` behind it the name of a file leads nowhere.
    let bare: PathBuf = path.components().collect();
    match bare.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir()) {
        Some(other) => {
            let what = if other.is_file() { "a file" } else { "no folder" };
            Err(format!("`{}` is {what}: write another folder, as in `out`", other.display()))
        }
        None => Ok(path),
    }
}

/// A number of bytes, such as `4096` or `2G`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let fault = || format!("`{text}` is no number of bytes from 1: write `1048576`, `512M` or `2G`");
    let (digits, unit) = match text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    };
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(fault()),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    number.filter(|n| *n > 0).ok_or_else(fault)
}

fn param_value(text: &str) -> Option<ParamValue> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    if let Some(hex) = hex {
        return i128::from_str_radix(hex, 16).ok().filter(|n| *n >= 0).map(|n| ParamValue::Int(sign * n));
    }
    match text {
        "true" => return Some(ParamValue::Bool(true)),
        "false" => return Some(ParamValue::Bool(false)),
        _ => {}
    }
    if let Ok(n) = text.parse::<i128>() {
        return Some(ParamValue::Int(n));
    }
    text.parse::<f64>().ok().filter(|x| x.is_finite()).map(ParamValue::Float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_typed_by_how_they_are_written() {
        let value = |text: &str| match setting(text) {
            Ok(Setting::Param(_, value)) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value("chunk=0x10"), ParamValue::Int(16));
        assert_eq!(value("chunk=-3"), ParamValue::Int(-3));
        assert_eq!(value("chunk = 7"), ParamValue::Int(7));
        assert_eq!(value("sm_scale=1e-3"), ParamValue::Float(1e-3));
        assert_eq!(value("flag=true"), ParamValue::Bool(true));
        assert_eq!(setting("kv_layout=hnd"), Ok(Setting::Layout(KvLayout::Hnd)));
        assert_eq!(setting("max_blocks=144"), Ok(Setting::MaxBlocks(144)));
    }

    #[test]
    fn wrong_settings_say_what_to_type() {
        for text in
            ["chunk", "=3", "chunk=", "chunk=many", "x=nan", "x=0x-3", "x=0x", "kv_layout=x", "max_blocks=0"]
        {
            assert!(setting(text).is_err(), "{text}");
        }
        assert!(setting("chunk").unwrap_err().contains("--set chunk=8"));
    }

    #[test]
    fn lengths_are_numbers_of_one_name() {
        assert_eq!(lengths("tokens=1, 200"), Ok(("tokens".to_owned(), Lengths::Each(vec![1, 200]))));
        assert_eq!(lengths("tokens=1..=200"), Ok(("tokens".to_owned(), Lengths::Range(1, 200))));
        for text in [
            "tokens=1..9",
            "tokens=1..=",
            "tokens=5..=5",
            "tokens",
            "=1",
            "tokens=",
            "tokens=1,,2",
            "tokens=x",
            "tokens=3,3",
        ] {
            assert!(lengths(text).is_err(), "{text}");
        }
        // What a refusal says to write is taken.
        for (text, typed) in [("tokens=5..=5", "tokens=5"), ("tokens=5..=3", "tokens=3..=5")] {
            let told = lengths(text).expect_err("it is no range");
            assert!(told.ends_with(&format!("write `--lengths {typed}`")), "{told}");
            assert!(lengths(typed).is_ok());
        }
    }

    #[test]
    fn cores_are_counted_by_kind() {
        let all = Cores { aic: Some(1), aiv: Some(2), aicpu: None };
        assert_eq!(cores("aic=1, aiv=2"), Ok(all));
        for (text, part) in [
            ("24", "KIND=N"),
            ("gpu=1", "no kind of core"),
            ("aic=many", "no number of cores"),
            ("aic=5000", "from 0 to 4096"),
            ("aic=1,aic=2", "twice"),
            ("", "KIND=N"),
        ] {
            assert!(cores(text).is_err_and(|fault| fault.contains(part)), "{text}");
        }
    }

    #[test]
    fn a_target_has_several_names() {
        assert_eq!(target("a2"), target("ascend_910b"));
        assert_eq!(target("cpu"), Ok(wsp_plan::target::CPU_SIM));
        assert!(target("a4").is_err_and(|fault| fault.contains("ascend_950")));
        assert_eq!(runnable("cpu"), target("cpu"));
        let refused = "no backend runs target `ascend_950`; targets that run here: `cpu_sim` (cpu), `ascend_host`, `xdna1` (npu1), `xdna2` (npu2)";
        assert_eq!(runnable("a5").unwrap_err(), refused);
    }

    #[test]
    fn bytes_have_units_of_1024() {
        assert_eq!((bytes("17"), bytes("3K"), bytes("2G")), (Ok(17), Ok(3072), Ok(2 << 30)));
        for text in ["", "0", "G", "-1", "1T", "1.5G", "99999999999999999999", "18446744073709551615K"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
