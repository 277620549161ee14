//! Runs that stop before they have a summary, and what each kind of file refuses under `--strict`.

use super::checks::{COPY, Folder, LIBRARY, json, refused, rows};
use super::run;
use serde_json::Value;

const WORKLOAD: &str =
    "param n = 4; tensor x: u32[4]; kernel k(inout v); workload main { for i in 0..n { k(x[i]); } }";
const USER: &str = "use \"rows.pto\"; workload main { parallel for i in 0..4 { copy_row(i = i); } }";
const UNIT: &str = "extern X: i64[4]\nextern Y: i64[4]\nTG_BEGIN(G)\nMORE\nMC_COPY(X, Y, 32)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";

/// A file of each kind.
fn kinds(folder: &Folder) -> [String; 4] {
    folder.write("rows.pto", LIBRARY);
    [
        folder.write("program.pto", &rows("rows", COPY).replace("+ shift", "+ 0 * shift")),
        folder.write("workload.wsp", WORKLOAD),
        folder.write("user.wsp", USER),
        folder.write("unit.tg", &UNIT.replace("MORE\n", "")),
    ]
}

/// The codes of the errors that a result for machines holds, which is one object.
#[track_caller]
fn codes(args: &[&str]) -> Vec<String> {
    let (out, err) = refused(args);
    let report = json(&out);
    let errors = report["errors"].as_array().unwrap_or_else(|| panic!("{args:?}: {out}{err}"));
    errors.iter().map(|error| error["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_run_that_stops_before_its_summary_prints_its_errors_as_one_object() {
    let folder = Folder::new();
    let broken = ["a.pto", "a.wsp", "a.tg"].map(|name| folder.write(name, "nonsense ]"));
    for file in kinds(&folder) {
        let line = ["run", &file, "--stats", "json"];
        let (code, out, err) = run(&line);
        assert_eq!(code, 0, "{file}: {err}");
        assert_eq!(json(&out)["errors"], Value::Array(Vec::new()), "{file}");
        // Before the file is read, with its arrays, and with its values.
        assert_eq!(codes(&[&line[..], &["--allow-unused"]].concat()), ["WSP0882"], "{file}");
        assert_eq!(
            codes(&[&line[..], &["--inputs", &folder.at("gone.npz")]].concat()),
            ["WSP0500"],
            "{file}"
        );
        let unknown = codes(&[&line[..], &["--set", "gone=1"]].concat());
        assert_eq!(unknown.len(), 1, "{file}: {unknown:?}");
    }
    for file in &broken {
        assert!(!codes(&["run", file, "--stats", "json"]).is_empty());
    }
    assert_eq!(codes(&["run", &folder.at("gone.pto"), "--stats", "json"]), ["WSP0500"]);
    for line in
        [["plan", "gone.pto", "--json"], ["graph", "gone.wsp", "--json"], ["graph", "gone.tg", "--json"]]
    {
        assert_eq!(codes(&line), ["WSP0500"], "{line:?}");
    }
    // Who does not ask for JSON gets none.
    let (out, _) = refused(&["run", &broken[0]]);
    assert_eq!(out, "");
}

#[test]
fn a_plan_and_a_graph_say_that_they_have_no_errors() {
    let folder = Folder::new();
    let [program, workload, user, unit] = kinds(&folder);
    for line in [
        &["plan", &program, "--json"][..],
        &["plan", &workload, "--bytes", "--json"],
        &["graph", &user, "--json"],
        &["graph", &unit, "--json"],
    ] {
        let (code, out, err) = run(line);
        assert_eq!(code, 0, "{err}");
        assert_eq!(json(&out)["errors"], Value::Array(Vec::new()), "{line:?}");
    }
}

/// Warnings of the text are errors of every kind of file, before anything runs; without `--strict` they are warnings.
#[test]
fn a_strict_run_takes_warnings_for_errors_in_every_kind_of_file() {
    let folder = Folder::new();
    let files = kinds(&folder);
    let spare = "tensor spare: u32[4]; ";
    let warned = [
        (folder.write("w.pto", &rows("rows", COPY).replace("BODY", "")), "WSP0261"),
        (folder.write("w.wsp", &format!("{spare}{WORKLOAD}")), "WSP0261"),
        (folder.write("v.wsp", &USER.replace("workload main", &format!("{spare}workload main"))), "WSP0261"),
        (folder.write("w.tg", &UNIT.replace("MORE", "MC_ALLOC(T, 64)")), "WSP1504"),
    ];
    folder.write("w.pto", &rows("rows", COPY).replace("r + shift", "r"));
    for (file, (warned, warning)) in files.iter().zip(&warned) {
        let (code, _, err) = run(&["run", file, "--strict"]);
        assert_eq!((code, err.as_str()), (0, ""), "{file}");
        let (code, out, err) = run(&["run", warned]);
        assert_eq!(code, 0, "{warned}: {out}{err}");
        let (out, err) = refused(&["run", warned, "--strict"]);
        assert!(err.contains(&format!("error[{warning}]")) && err.contains("`--strict`"), "{warned}: {err}");
        assert_eq!(out, "", "{warned}: nothing runs");
        assert_eq!(codes(&["run", warned, "--strict", "--stats", "json"]), [*warning], "{warned}");
    }
}

/// A value that is set and that nothing reads had no effect.
#[test]
fn a_value_that_nothing_reads_cannot_be_set() {
    let folder = Folder::new();
    let program = folder.write("idle.pto", &rows("rows", COPY).replace("r + shift", "r"));
    let workload = folder.write("idle.wsp", &format!("param shift = 2; {WORKLOAD}"));
    let unit = format!("arg shift: i64 = 3\n{}", UNIT.replace("MORE\n", ""));
    let unit = folder.write("idle.tg", &unit);
    for line in [
        &["run", &program][..],
        &["plan", &program],
        &["run", &workload],
        &["graph", &workload],
        &["plan", "--bytes", &workload],
        &["run", &unit],
        &["graph", &unit],
    ] {
        let (code, out, err) = run(line);
        assert_eq!(code, 0, "{line:?}: {out}{err}");
        let (out, err) = refused(&[line, &["--set", "shift=1"]].concat());
        assert!(out.is_empty() && err.contains("WSP0882"), "{line:?}: {err}");
        assert!(err.contains("`--set shift=…` has no meaning: nothing reads `shift`"), "{line:?}: {err}");
    }
}

#[test]
fn a_file_whose_name_says_no_kind_is_told_which_endings_there_are() {
    let folder = Folder::new();
    let file = folder.write("program.txt", "nonsense\n");
    for (command, code) in [("asm", "WSP0913"), ("disasm", "WSP0921")] {
        let (_, err) = refused(&[command, &file]);
        assert!(err.contains(code) && err.contains("`.ptows`") && err.contains("`.tg`"), "{command}: {err}");
    }
    let (_, err) = refused(&["asm", &folder.write("program.ptows", "nonsense\n")]);
    assert!(err.contains("WSP0913") && !err.contains("`.tg`"), "{err}");
}

#[test]
fn a_letter_that_is_typed_twice_or_left_out_is_named() {
    let folder = Folder::new();
    for (bound, meant) in [("ee", "e"), ("f", "ff")] {
        let text = format!(
            "param e = 4; param ff = 4; tensor x: u32[e]; kernel k(inout v); workload main {{ for i in 0..{bound} {{ k(x[i]); }} }}"
        );
        let (_, err) = refused(&["check", &folder.write("slip.wsp", &text)]);
        assert!(err.contains("WSP0731") && err.contains(&format!("did you mean `{meant}`?")), "{err}");
    }
}

/// Of two references, the one that has a scale of its own says so, and the other does not.
#[test]
fn the_scale_is_named_only_of_outputs_that_its_reference_compares() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(super::root().join("examples/attention/prefill_decode.pto")).unwrap();
    let includes = format!("#include \"{}/examples/attention/", super::root().display());
    let wrong = text.replace("#include \"", &includes).replace("sm_scale * LOG2E", "sm_scale");
    let wrong = wrong.replace(".lse = prompt_lse, .sm_scale = sm_scale", ".lse = prompt_lse");
    assert_eq!((wrong.matches("PTO_REFERENCE").count(), wrong.matches(".sm_scale").count()), (2, 1));
    let file = folder.write("two.pto", &wrong);
    let (out, _) = refused(&["run", &file, "--generate", "len=40/17/64,heads=4/2,dim=16", "--stats", "json"]);
    let says = |name: &str| {
        let errors = json(&out)["errors"].as_array().unwrap().clone();
        let of =
            errors.iter().find(|error| error["message"].as_str().unwrap().contains(&format!("`{name}`")));
        of.unwrap_or_else(|| panic!("{name}: {out}"))["notes"]
            .to_string()
            .contains("does not take `sm_scale`")
    };
    assert!(says("output") && !says("prompt_output"), "{out}");
}

#[test]
fn the_folder_around_that_of_checkpoints_is_not_made() {
    let folder = Folder::new();
    let unit = UNIT.replace("MORE\n", "").replace("TG_END", "TG_CHECKPOINT(G, 1)\nTG_END");
    let unit = folder.write("kept.tg", &unit);
    let (out, err) = refused(&["run", &unit, "--checkpoints", &folder.at("a/b")]);
    assert!(
        out.is_empty() && err.contains("WSP1595") && err.contains("make the folder around it first"),
        "{err}"
    );
    assert!(!std::path::Path::new(&folder.at("a")).exists());
    let kept = ["run", &unit, "--checkpoints", &folder.at("a")];
    let (code, out, err) = run(&[&kept[..], &["--no-check"]].concat());
    assert_eq!(code, 0, "{out}{err}");
    // A run that checks needs to know what the one before has stored.
    let (_, err) = refused(&[&kept[..], &["--resume"]].concat());
    assert!(err.contains("WSP1560") && err.contains("recording: was off, as with `--no-check`"), "{err}");
    let (code, out, err) = run(&[&kept[..], &["--resume", "--no-check"]].concat());
    assert_eq!(code, 0, "{out}{err}");
}

/// What follows from constants and defaults alone is laid out by `wsp check` as by a run.
#[test]
fn check_refuses_slots_tiles_and_extents_of_constants_that_every_run_refuses() {
    let folder = Folder::new();
    let text = "
PTO_PARAM(uint32_t, tile, 64)
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(S) { PTO_AXIS(i, 0, n) PTO_TILE(i, tile) }
PTO_WORKSPACE(w, float, 1000)
PTO_TIER_DEF(T) { PTO_DEFAULT(k, SLOT) }
struct D { uint32_t tier, first, ws; };
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { uint32_t tier = PTO_SELECT_TIER(T, 1); \
        PTO_EMIT_DESCRIPTOR(D{ .tier = tier, .first = PTO_ITEM_BEGIN(i), .ws = PTO_ALLOC_WS(tier, i) }); } }
PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 64, 1> t; TLOAD(t, x, {d.first}); TSTORE(y, t, {d.first}); }
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
";
    let check = |slot: &str| run(&["check", &folder.write("slots.pto", &text.replace("SLOT", slot))]);
    for (slot, says) in [
        ("64", "but the fields of a slot take 4032"),
        ("4100", "which is no multiple of 64"),
        ("tile", "take 4032"),
    ] {
        let (code, out, err) = check(slot);
        assert!(code == 1 && err.contains("WSP0570") && err.contains(says), "{slot}: {out}{err}");
        assert!(err.contains("every parameter is taken at its default"), "{err}");
        let (_, of_run) = refused(&["run", &folder.at("slots.pto"), "--generate", "n=128"]);
        assert!(of_run.contains("WSP0570") && of_run.contains(says), "{slot}: {of_run}");
    }
    // What arrays decide is left to the run.
    for slot in ["PTO_SLOT_BYTES", "4032", "n"] {
        let (code, out, err) = check(slot);
        assert_eq!((code, out.ends_with(": ok\n")), (0, true), "{slot}: {out}{err}");
    }
    let of_array = text.replace("float, 1000", "float, n").replace("SLOT", "64");
    assert_eq!(run(&["check", &folder.write("of_array.pto", &of_array)]).0, 0);
    // No extent makes these right.
    for (fields, slot, says) in [
        ("PTO_WORKSPACE(w, float, n)", "100", "which is no multiple of 64"),
        ("PTO_WORKSPACE(w, PTO_DTYPE(x), 8)", "100", "which is no multiple of 64"),
        (
            "PTO_WORKSPACE(w, float, 64) PTO_WORKSPACE(v, PTO_DTYPE(x), 99) PTO_WORKSPACE(u, float, n)",
            "64",
            "take 256",
        ),
    ] {
        let text = text.replace("PTO_WORKSPACE(w, float, 1000)", fields).replace("SLOT", slot);
        let text = text.replace("Tensor<float> x", "Tensor x");
        let (_, err) = refused(&["check", &folder.write("open.pto", &text)]);
        assert!(err.contains("WSP0570") && err.contains(says), "{fields}: {err}");
        assert!(err.contains("fields whose sizes follow from arrays count as 0 bytes"), "{err}");
        for n in ["n=128", "n=64"] {
            let (_, of_run) = refused(&["run", &folder.at("open.pto"), "--generate", n]);
            assert!(of_run.contains("WSP0570"), "{fields}: {of_run}");
        }
    }
    let tile = text.replace("tile, 64", "tile, 0").replace("SLOT", "4032");
    let (_, err) = refused(&["check", &folder.write("tile.pto", &tile)]);
    assert!(err.contains("WSP0572") && err.contains("the tile of axis `i` has 0 elements"), "{err}");
}
