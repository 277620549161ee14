//! Mutations of the kernels and generators of the examples: one operation, index, scale or bound is another, and
//! `wsp run --check` must refuse the program, unless the mutation provably changes nothing.
//!
//! `WSP_CASES` says how many are drawn; the list is printed, with what refused each.

mod harmless;
mod targets;

use crate::randomised::cases;
use harmless::HARMLESS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use targets::{TARGETS, Target};

/// How many are drawn where `WSP_CASES` does not say.
const FEW: u64 = 6;
/// Drawn in the same order every time.
const SEED: u64 = 17;

/// One change of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Mutation {
    target: usize,
    /// Bytes that are replaced, and by what.
    begin: usize,
    end: usize,
    by: String,
}

/// Words that become others.
const WORDS: &[(&str, &str)] = &[
    ("TADD", "TSUB"),
    ("TSUB", "TADD"),
    ("TMUL", "TADD"),
    ("TDIV", "TMUL"),
    ("TMAX", "TMIN"),
    ("TMIN", "TMAX"),
    ("TADDS", "TSUBS"),
    ("TMULS", "TADDS"),
    ("TMAXS", "TMINS"),
    ("TMINS", "TMAXS"),
    ("TDIVS", "TMULS"),
    ("TROWMAX", "TROWMIN"),
    ("TROWSUM", "TROWMAX"),
    ("TROWEXPANDSUB", "TROWEXPANDADD"),
    ("TROWEXPANDMUL", "TROWEXPANDADD"),
    ("TROWEXPANDDIV", "TROWEXPANDMUL"),
    ("TCOLEXPANDMUL", "TCOLEXPANDADD"),
    ("TEXP2", "TEXP"),
    ("TEXP", "TEXP2"),
    ("TMATMUL_ACC", "TMATMUL"),
    ("PTO_MIN", "PTO_MAX"),
    ("PTO_MAX", "PTO_MIN"),
    ("PTO_CEIL_DIV", "PTO_FLOOR_DIV"),
    ("LOG2E", "LN2"),
    ("cos", "sin"),
    ("sin", "cos"),
];

/// Operators that become others, each with what must not stand beside it.
const OPERATORS: &[(&str, &str)] = &[
    (" + ", " - "),
    (" - ", " + "),
    (" * ", " + "),
    (" / ", " * "),
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" += ", " -= "),
];

/// Statements that compute nothing: shapes and parameters of the launch, its schedule, tiers, and the entry.
const NOT_COMPUTING: &[&str] = &[
    "PTO_SHAPE",
    "PTO_PARAM",
    "PTO_REQUIRE",
    "PTO_REFERENCE",
    "PTO_SCHEDULE(",
    "PTO_TIER",
    "PTO_DEFAULT",
    "PTO_LAUNCH",
    "PTO_WORKSPACE",
    "PTO_AFFINITY",
    "PTO_ORDER",
    "PTO_PREFETCH",
    "PTO_APPLY",
    "PTO_SET_TILE",
    "PTO_SELECT_TIER",
    "#",
    "template",
    "const uint32_t",
];

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Lines of functions: byte ranges of what lies inside of braces that a kernel, a generator or a helper opens.
fn bodies(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut depth, mut inside, mut at) = (Vec::new(), 0i32, false, 0);
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or("");
        let opens = code.contains('{');
        if depth == 0 && opens {
            inside = !["PTO_SCHEDULE(", "PTO_TIER", "struct", "PTO_SPACE"].iter().any(|w| code.contains(w))
                && !code.contains("Tensor")
                && !code.contains("PagedKVCache");
        }
        let computes = !NOT_COMPUTING.iter().any(|word| code.trim_start().starts_with(word));
        if inside && computes && (depth > 0 || opens) && !code.trim().is_empty() {
            found.push((at, at + code.len()));
        }
        depth += code.matches('{').count() as i32 - code.matches('}').count() as i32;
        at += line.len();
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Every mutation of a line.
fn of_line(text: &str, (begin, end): (usize, usize), mut add: impl FnMut(usize, usize, String)) {
    let line = &text[begin..end];
    for (from, to) in OPERATORS {
        line.match_indices(from)
            .for_each(|(at, _)| add(begin + at, begin + at + from.len(), (*to).to_owned()));
    }
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take_while(|b| is_word(**b) || **b == b'.').count();
        let word = &line[at..at + length];
        let (from, until) = (begin + at, begin + at + length);
        at += length;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            if let Ok(n) = word.parse::<u64>() {
                add(from, until, (n + 1).to_string());
            } else if let Some(x) = word.strip_suffix('f').and_then(|x| x.parse::<f64>().ok()) {
                // One per cent of a scale; an offset of 0 becomes one.
                let other = if x == 0.0 { 0.01 } else { x * 1.01 };
                add(from, until, format!("{other:?}f"));
            }
        } else if let Some((_, other)) = WORDS.iter().find(|(name, _)| *name == word) {
            add(from, until, (*other).to_owned());
        } else if word.contains("scale") && !line.contains("float") && line.trim_start().starts_with("TMULS")
        {
            add(from, until, format!("{word} * 1.01f"));
        }
    }
    let statement = line.trim();
    if statement.starts_with('T') && statement.ends_with(';') && statement.contains('(') {
        let at = begin + line.len() - line.trim_start().len();
        add(at, at + statement.len(), String::new());
    }
}

/// Every mutation there is, in the order of the files.
fn all() -> Vec<Mutation> {
    let mut all = BTreeSet::new();
    for (target, of) in TARGETS.iter().enumerate() {
        let text = std::fs::read_to_string(examples().join(of.file)).unwrap();
        for line in bodies(&text) {
            of_line(&text, line, |begin, end, by| _ = all.insert(Mutation { target, begin, end, by }));
        }
    }
    all.into_iter().collect()
}

/// The next number of a sequence (SplitMix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else if target.extension().is_some_and(|e| e == "pto" || e == "tg") {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// States to merge, of which some are empty and some weigh much more than others; rows and weights that make exponentials too
/// large for f32 unless they are relative to the largest; rows whose mean square is about the least that is added to it.
fn write_inputs(folder: &Path) {
    let write = |name: &str, descr: &str, shape: &str, data: Vec<u8>| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend(data);
        std::fs::write(folder.join(name), bytes).unwrap();
    };
    let reals = |values: Vec<f32>| values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut state = SEED;
    // A half of about 2^-10, of either sign.
    let mut half = || (0x1400 | next(&mut state) as u16 & 0x83ff).to_le_bytes();
    let hidden = (0..4096 * 512).flat_map(|_| half()).collect();
    let mut state = SEED;
    let mut real = || (next(&mut state) % 2001) as f32 / 1000.0 - 1.0;
    let v = (0..70 * 4 * 8).map(|_| real()).collect();
    let s = (0..70 * 4)
        .map(|i| if i % 7 == 3 || i / 4 == 5 { f32::NEG_INFINITY } else { 20.0 * real() })
        .collect();
    let x = (0..70 * 33).map(|_| 200.0 * real()).collect();
    write("hidden.npy", "<f2", "4096, 512", hidden);
    write("norm.npy", "<f4", "72,", reals(vec![1000.0; 72]));
    write("x.npy", "<f4", "70, 33", reals(x));
    write("v.npy", "<f4", "70, 4, 8", reals(v));
    write("s.npy", "<f4", "70, 4", reals(s));
}

fn wsp(args: &[&str]) -> Output {
    Command::new(crate::command::program()).env("NO_COLOR", "1").args(args).output().unwrap()
}

/// What became of a mutation.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Fate {
    /// It is no program any more.
    DoesNotCompile,
    /// The run was refused, with this message.
    Refused(String),
    Survived,
}

/// Runs a program, with one of the files that it is made of changed.
fn fate(folder: &Path, of: &Target, text: &str) -> Fate {
    std::fs::write(folder.join(of.file), text).unwrap();
    let program = folder.join(of.program).display().to_string();
    if !wsp(&["check", &program]).status.success() {
        return Fate::DoesNotCompile;
    }
    let failed = of.runs.iter().find_map(|args| {
        let at = folder.display().to_string() + "/";
        let args: Vec<String> = args.iter().map(|arg| arg.replace('@', &at)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = wsp(&[&["run", &program, "--check", "--threads", "2"], &args[..]].concat());
        (!output.status.success()).then_some(output)
    });
    let Some(output) = failed else { return Fate::Survived };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = err.lines().find(|line| line.starts_with("error")).unwrap_or("no message").to_owned();
    assert!(!line.contains("WSP0639") && !line.contains("panicked"), "{err}");
    Fate::Refused(line)
}

/// The line of a change, before and after.
fn lines(text: &str, changed: &str, begin: usize) -> (usize, String, String) {
    let number = text[..begin].matches('\n').count();
    let line = |text: &str| text.lines().nth(number).unwrap_or("").trim().to_owned();
    (number + 1, line(text), line(changed))
}

#[test]
fn mutated_kernels_and_generators_are_refused() {
    let count = cases(FEW);
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&examples(), folder.path());
    write_inputs(folder.path());
    let (mut left, mut state, mut survived, mut ran) = (all(), SEED, Vec::new(), 0);
    let mut known_good = BTreeSet::new();
    println!("{} mutations, of which {count} are drawn", left.len());
    while ran < count && !left.is_empty() {
        let mutation = left.swap_remove((next(&mut state) % left.len() as u64) as usize);
        let of = &TARGETS[mutation.target];
        let text = std::fs::read_to_string(examples().join(of.file)).unwrap();
        if known_good.insert(mutation.target) {
            assert_eq!(fate(folder.path(), of, &text), Fate::Survived, "{} as it is", of.program);
        }
        let changed = [&text[..mutation.begin], &mutation.by, &text[mutation.end..]].concat();
        let (number, before, after) = lines(&text, &changed, mutation.begin);
        let known = HARMLESS.iter().find(|h| (h.0, h.1, h.2) == (of.file, before.as_str(), after.as_str()));
        let fate = fate(folder.path(), of, &changed);
        std::fs::write(folder.path().join(of.file), &text).unwrap();
        let what = match &fate {
            Fate::DoesNotCompile => continue,
            Fate::Refused(message) => message.clone(),
            Fate::Survived => known.map_or("SURVIVED".to_owned(), |h| format!("changes nothing: {}", h.3)),
        };
        ran += 1;
        let line = format!("{}:{number}: `{before}` -> `{after}`: {what}", of.file);
        println!("{line}");
        if fate == Fate::Survived && known.is_none() {
            survived.push(line);
        }
    }
    println!("{ran} mutations ran");
    assert!(survived.is_empty(), "{} of {ran} survived:\n{}", survived.len(), survived.join("\n"));
}

/// Changes that only data show which use what an example is for, or that are uneven: file, text, what it becomes, program.
const FOR_DEFAULTS: &[(&str, &str, &str, &str)] = &[
    ("attention/fp8.pto", "TMULS(o, o, v_scale);", "", "attention/fp8.pto"),
    ("attention/fp8.pto", "k_scale * sm_scale", "sm_scale", "attention/fp8.pto"),
    ("attention/gpt_oss.pto", "(uint32_t)window_left + 1", "UINT32_MAX", "attention/gpt_oss.pto"),
    ("attention/soft_cap.pto", "(uint32_t)window_left + 1", "UINT32_MAX", "attention/soft_cap.pto"),
    ("attention/queries.pto", "query - window_left", "-INT32_MAX", "attention/speculative.pto"),
    ("attention/one_query.pto", "1.0f / sqrt", "1.01f / sqrt", "attention/decode.pto"),
    ("attention/queries.pto", "1.0f / sqrt", "1.01f / sqrt", "attention/speculative.pto"),
    ("row_softmax.pto", "PTO_AXIS(row, 0, rows)", "PTO_AXIS(row, 1, rows)", "row_softmax.pto"),
    // A softmax that is not relative to the largest logit.
    ("row_softmax.pto", "TROWMAX(r, t);", "TROWMIN(r, t);", "row_softmax.pto"),
    ("row_softmax.pto", "TROWEXPANDSUB(t, t, r);", "", "row_softmax.pto"),
    ("decode_attention.pto", "TROWMAX(m_new, scores);", "TROWMIN(m_new, scores);", "decode_attention.pto"),
    ("decode_attention.pto", "TMAX(m_new, m_new, m);", "", "decode_attention.pto"),
    ("decode_graph.pto", "TROWMAX(m_new, p);", "TROWMIN(m_new, p);", "decode_graph.pto"),
    ("decode_graph.pto", "TMAX(m_new, m_new, m);", "", "decode_graph.pto"),
    ("attention/common.pto", "TROWMAX(m_new, scores);", "TROWMIN(m_new, scores);", "attention/decode.pto"),
    ("attention/common.pto", "TMAX(m_new, m_new, m);", "", "attention/decode.pto"),
    ("attention/common.pto", "TASSIGN(m, -FLT_MAX);", "TASSIGN(m, 0.0f);", "attention/decode.pto"),
    ("ragged_prefill/prefill.pto", "TMAX(m_new, m_new, m);", "", "ragged_prefill/prefill.pto"),
    (
        "attention/merge_states.pto",
        "TROWEXPANDMUL(state_o, state_o, state_d);",
        "",
        "attention/merge_states.pto",
    ),
    (
        "attention/common.pto",
        "TMAX(m_new, m, other_m);",
        "TMIN(m_new, m, other_m);",
        "attention/merge_states.pto",
    ),
    // What a second tile, or a tile that is not full, shows.
    ("attention/speculative.pto", "TMATMUL_ACC(o,", "TMATMUL(o,", "attention/speculative.pto"),
    ("attention/cascade.pto", "TMATMUL_ACC(o,", "TMATMUL(o,", "attention/cascade.pto"),
    ("attention/merge_states.pto", "PTO_MIN(block, ", "PTO_MAX(block, ", "attention/merge_states.pto"),
    ("decode_graph.pto", "PTO_MIN(KV_TILE, ", "PTO_MAX(KV_TILE, ", "decode_graph.pto"),
    (
        "ragged_prefill/prefill.pto",
        "pos + keys > desc.first + 1",
        "pos + keys > desc.first + 2",
        "ragged_prefill/prefill.pto",
    ),
    ("llama_layer/layer.pto", "TMAX(m_new, m_new, m);", "", "llama_layer/layer.pto"),
    // What is added to a mean square that is as small.
    (
        "llama_layer/layer.pto",
        "TADDS(scale, scale, eps);",
        "TADDS(scale, scale, 1.01f * eps);",
        "llama_layer/layer.pto",
    ),
    (
        "deepseek/indexer.pto",
        "TADDS(scale, scale, eps);",
        "TADDS(scale, scale, 2.0f * eps);",
        "deepseek_indexer.tg",
    ),
    // A generator that does not end.
    ("decode_attention.pto", "low = mid + 1;", "low = mid - 1;", "decode_attention.pto"),
];

#[test]
fn default_data_show_what_the_examples_are_for() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&examples(), folder.path());
    for (file, from, to, program) in FOR_DEFAULTS {
        let text = std::fs::read_to_string(examples().join(file)).unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{file}: {from}");
        std::fs::write(folder.path().join(file), changed).unwrap();
        let program = folder.path().join(program).display().to_string();
        let output = wsp(&["run", &program, "--threads", "2"]);
        assert_eq!(output.status.code(), Some(1), "{file}: `{to}` for `{from}`: {output:?}");
        std::fs::write(folder.path().join(file), text).unwrap();
    }
}
