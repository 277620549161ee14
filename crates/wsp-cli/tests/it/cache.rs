//! `--cache FOLDER`: hits, misses with their reasons, and results that are the same with it and without.

use crate::command::{Folder, ended, printed, run, wsp};
use serde_json::{Value, json};

const PROGRAM: &str = "
#include \"used.pto\"
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(Twice) { PTO_AXIS(i, 0, n) PTO_TILE(i, 64) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(Twice) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 64 }); }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 64, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Twice, { .x = x, .y = y }); }
";

fn folder() -> Folder {
    Folder::with(&[("a.pto", PROGRAM), ("used.pto", "// nothing\n")])
}

/// What a run with the cache says of it, whose output goes to `outputs`.
fn cached(folder: &Folder, program: &str, outputs: &str, more: &[&str]) -> Value {
    let (program, cache, outputs) = (folder.at(program), folder.at("cache"), folder.at(outputs));
    let args = ["run", &program, "--cache", &cache, "--engine", "native", "--outputs", &outputs];
    let all = [&args[..], &["--generate", "n=200", "--stats", "json"], more].concat();
    serde_json::from_str::<Value>(&printed(&all)).unwrap()["cache"].clone()
}

fn is_native() -> bool {
    let folder = folder();
    let (code, _, err) = run(&["run", &folder.at("a.pto"), "--cache", &folder.at("cache"), "--no-check"]);
    assert!(code == 0 || err.contains("interprets scalar code"), "{err}");
    code == 0
}

#[test]
fn results_are_the_same_with_a_cache_and_without_wherever_folder_and_program_are() {
    if !is_native() {
        return;
    }
    let folder = folder();
    printed(&["run", &folder.at("a.pto"), "--generate", "n=200", "--outputs", &folder.at("without.npz")]);
    let first = cached(&folder, "a.pto", "first.npz", &[]);
    assert_eq!(first, json!({ "miss": "new", "differs": [], "taken": 0, "compiled": 2 }));
    let hit = json!({ "miss": null, "differs": [], "taken": 2, "compiled": 0 });
    assert_eq!(cached(&folder, "a.pto", "second.npz", &[]), hit);
    let other = self::folder();
    std::fs::rename(folder.path("cache"), other.path("cache")).unwrap();
    assert_eq!(cached(&other, "a.pto", "third.npz", &[]), hit);
    let bytes = |folder: &Folder, name: &str| std::fs::read(folder.path(name)).unwrap();
    let without = bytes(&folder, "without.npz");
    for (folder, name) in [(&folder, "first.npz"), (&folder, "second.npz"), (&other, "third.npz")] {
        assert!(bytes(folder, name) == without, "{name}");
    }
    let cache = other.at("cache");
    let plan = printed(&["plan", &other.at("a.pto"), "--generate", "n=200", "--cache", &cache]);
    assert!(plan.contains("cache      hit; machine code of scalar functions: 1 taken, 0 compiled"), "{plan}");
}

#[test]
fn a_miss_says_what_differs() {
    if !is_native() {
        return;
    }
    let folder = folder();
    cached(&folder, "a.pto", "o.npz", &[]);
    std::fs::write(folder.path("used.pto"), "// something\n").unwrap();
    assert_eq!(cached(&folder, "a.pto", "o.npz", &[])["differs"], json!(["used"]));
    std::fs::write(folder.path("a.pto"), PROGRAM.replace("2.0f", "3.0f")).unwrap();
    assert_eq!(cached(&folder, "a.pto", "o.npz", &[])["differs"], json!(["source"]));
    let other = cached(&folder, "a.pto", "o.npz", &["--set", "max_blocks=3"]);
    assert_eq!((&other["miss"], &other["differs"]), (&json!("differs"), &json!(["options"])));
    assert_eq!(cached(&folder, "a.pto", "o.npz", &[])["miss"], Value::Null);
}

#[test]
fn a_damaged_entry_is_a_note_and_is_made_anew() {
    if !is_native() {
        return;
    }
    let folder = folder();
    cached(&folder, "a.pto", "first.npz", &[]);
    let entry = std::fs::read_dir(folder.path("cache")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&entry).unwrap();
    let last = bytes.len() - 9;
    bytes[last] ^= 1;
    std::fs::write(&entry, &bytes).unwrap();
    let args = ["run", &folder.at("a.pto"), "--cache", &folder.at("cache"), "--engine", "native"];
    let (code, out, err) = run(&[&args[..], &["--generate", "n=200"]].concat());
    assert!(code == 0 && out.contains("cache      miss, the entry is damaged; machine code"), "{out}{err}");
    assert!(err.contains("WSP0517") && err.contains("its checksum is"), "{err}");
    assert_eq!(cached(&folder, "a.pto", "second.npz", &[])["miss"], Value::Null);
}

#[test]
fn processes_at_the_same_time_have_one_entry() {
    if !is_native() {
        return;
    }
    let folder = folder();
    let (program, cache) = (folder.at("a.pto"), folder.at("cache"));
    let args = ["run", &program, "--cache", &cache, "--engine", "native", "--generate", "n=200"];
    let start = || wsp(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    for mut process in [start(), start(), start()] {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1);
    assert_eq!(cached(&folder, "a.pto", "o.npz", &[])["miss"], Value::Null);
}

#[test]
fn a_clean_check_is_kept_and_one_that_finds_something_is_not() {
    let folder = Folder::with(&[]);
    let cache = folder.at("cache");
    let file = "examples/graphs/softmax.wsp";
    let check = || printed(&["check", file, "--cache", &cache]);
    assert_eq!(check(), format!("{file}: ok, cache miss, nothing is kept of this program\n"));
    assert_eq!(check(), format!("{file}: ok, cache hit\n"));
    let copy = folder.at("softmax.wsp");
    std::fs::copy(crate::command::root().join(file), &copy).unwrap();
    assert_eq!(printed(&["check", &copy, "--cache", &cache]), format!("{copy}: ok, cache hit\n"));
    let text = folder.read("softmax.wsp");
    std::fs::write(&copy, format!("{text}\nnonsense\n")).unwrap();
    let first = run(&["check", &copy, "--cache", &cache]);
    assert_eq!(first.0, 1);
    assert_eq!(run(&["check", &copy, "--cache", &cache]), first);
}

#[test]
fn a_cache_without_effect_is_refused_before_the_work() {
    let folder = folder();
    let (program, cache) = (folder.at("a.pto"), folder.at("cache"));
    let refused = |args: &[&str], code: i32, says: &str| {
        let (ended, out, err) = ended(wsp(&[args, &["--cache", &cache]].concat()));
        assert!(ended == code && err.contains(says) && out.is_empty(), "{args:?}: {ended} {out}{err}");
        assert!(!folder.path("cache").exists(), "{args:?}");
    };
    if is_native() {
        refused(&["run", &program, "--engine", "interpreter"], 2, "keeps machine code");
    }
    refused(&["run", "examples/graphs/softmax.wsp"], 1, "no kernel of a used file runs");
    refused(&["run", "examples/thousand_steps.tg"], 1, "`--cache` has no meaning for a task graph");
    refused(&["plan", "examples/graphs/softmax.wsp", "--bytes"], 1, "hold no machine code");
    // The file is read before the folder is made.
    refused(&["check", "examples/thousand_steps.tg"], 1, "`--cache` is for workloads");
    refused(&["check", &folder.at("none.wsp")], 1, "none.wsp");
    let is_told_of = |path: &str| {
        let (with, without) = (run(&["check", path, "--cache", &cache]), run(&["check", path]));
        assert_eq!(with, without);
        assert!(with.0 != 0 && !folder.path("cache").exists(), "{path}");
    };
    is_told_of(&folder.at(""));
    is_told_of(&folder.at("none.tg"));
    let (code, _, err) = run(&["run", &program, "--cache", &folder.at("none/cache")]);
    assert!(code == 1 && (err.contains("WSP0516") || err.contains("interprets")), "{err}");
    let (code, _, err) = run(&["check", &program, "--cache", &cache]);
    assert!(code == 1 && err.contains("`--cache` is for workloads"), "{err}");
}

/// `-` is standard output elsewhere, and a folder is never that.
#[test]
fn a_folder_is_never_standard_output() {
    let folder = Folder::with(&[("a.pto", "")]);
    let file = folder.at("a.pto");
    for (command, option) in
        [("run", "--cache"), ("plan", "--cache"), ("check", "--cache"), ("run", "--checkpoints")]
    {
        let (code, out, err) = run(&[command, &file, option, "-"]);
        assert!(code == 2 && out.is_empty(), "{command} {option}: {out}{err}");
        assert!(err.contains(option) && err.contains("write a folder, as in `out`, or `./-`"), "{err}");
    }
}
