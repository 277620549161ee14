//! Task graphs from outside: every command on units, what is refused, and runs that are killed.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and makes its own files"
)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use wsp_cli::files::{Npz, write_npz};
use wsp_core::DType;
use wsp_plan::{Array, Arrays};

/// y = x / 2 + 1, in rows of 64.
const KERNELS: &str = "\
PTO_PARAM(uint32_t, COLS, 64)
PTO_SHAPE(x, rows, COLS)
PTO_SHAPE(y, rows, COLS)
PTO_KERNEL_IMPL(relax_entry, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx() * 16; r < rows; r += get_block_num() * 16) {
        VecTile<float, 16, COLS> t;
        TLOAD(t, x, {r});
        TMULS(t, t, 0.5f);
        TADDS(t, t, 1.0f);
        TSTORE(y, t, {r});
    }
}
";

const UNIT: &str = "\
use \"relax.pto\"
extern X: f32[64, 64]
extern Y: f32[64, 64]
arg ROUNDS: i64 = 3
TG_BEGIN(G)
  MC_ALLOC(T, 64*64*4)
  TG_KERNEL(A, relax_entry, 4, AIV, 0)
  MC_BIND(A, 0, X)
  MC_BIND(A, 1, T)
  TG_KERNEL(B, relax_entry, 4, AIV, 0)
  MC_BIND(B, 0, T)
  MC_BIND(B, 1, Y)
  TG_DEPEND(A, B, DATA, T)
TG_END(G)
CF_LOOP(ROUNDS, i)
  TG_INVOKE(G, i)
CF_ENDLOOP
TG_SYNC(G)
";

/// A folder with a unit and its kernels.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write("relax.pto", KERNELS.as_bytes());
        folder.write("unit.tg", UNIT.as_bytes());
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wsp"));
        command.current_dir(self.0.path()).env("NO_COLOR", "1").args(args);
        command
    }

    /// Exit code, stdout, stderr.
    fn wsp(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    /// What a command prints that must succeed.
    fn good(&self, args: &[&str]) -> String {
        let (code, out, err) = self.wsp(args);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        out
    }

    /// What a command says that must fail with diagnostics and print nothing.
    fn bad(&self, args: &[&str]) -> String {
        let (code, out, err) = self.wsp(args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
        err
    }
}

/// ISA-GEN-03, ISA-IMP-01.
#[test]
fn text_and_bytes_of_a_unit_become_each_other() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    let text = folder.good(&["disasm", "unit.ptog"]);
    assert!(text.contains("TG_DEPEND(A, B, DATA, T)"), "{text}");
    folder.write("again.tg", text.as_bytes());
    assert_eq!(folder.good(&["disasm", "again.tg"]), text, "what is printed is printed again");
    folder.good(&["asm", "again.tg", "-o", "again.ptog"]);
    assert_eq!(folder.good(&["disasm", "again.ptog"]), text);
    folder.good(&["asm", "unit.ptog", "-o", "copy.ptog"]);
    assert_eq!(folder.good(&["disasm", "copy.ptog"]), text);
    let (code, _, err) = folder.wsp(&["asm", "unit.tg", "-o", "unit.tg"]);
    assert_eq!(code, 1, "a source is not overwritten: {err}");
}

/// ISA-IMP-01.
#[test]
fn every_stage_on_the_way_to_a_device_can_be_looked_at() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "--emit", "ptog", "-o", "unit.ptog"]);
    let text = folder.good(&["asm", "unit.ptog", "--emit", "module"]);
    assert_eq!(text, folder.good(&["disasm", "unit.tg"]));
    folder.good(&["asm", "unit.tg", "--emit", "image", "--graph", "G", "-o", "g.image"]);
    assert!(folder.read("g.image").len() > 64);
    std::fs::create_dir(folder.path("out")).unwrap();
    folder.good(&["asm", "unit.tg", "--emit", "cpp", "--target", "a3", "-o", "out/g.cpp"]);
    assert!(String::from_utf8(folder.read("out/g.cpp")).unwrap().contains("relax_entry"));
    for (args, part) in [
        (&["--emit", "image", "--graph", "H"][..], "graph `H`"),
        (&["--emit", "ptog", "--target", "a2"], "--target"),
        (&["--emit", "module", "--graph", "G"], "--graph"),
        (&["--emit", "cpp", "--target", "cpu"], "C++"),
    ] {
        let err = folder.bad(&[&["asm", "unit.tg"], args].concat());
        assert!(err.contains(part), "{args:?}: {err}");
    }
    assert!(folder.bad(&["asm", "relax.pto", "--emit", "cpp"]).contains("--emit"));
}

/// ISA-IMP-10.
#[test]
fn a_unit_in_bytes_gives_what_its_text_gives() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    let text = folder.good(&["run", "unit.tg", "--outputs", "text.npz"]);
    assert!(text.contains("bit for bit"), "{text}");
    folder.good(&["run", "unit.ptog", "--outputs", "bytes.npz", "--no-check", "--threads", "2"]);
    assert_eq!(folder.read("text.npz"), folder.read("bytes.npz"));
}

#[test]
fn a_run_takes_tensors_and_values_and_gives_tensors_and_figures() {
    let folder = Folder::new();
    let mut x = Array::zeros(DType::F32, &[64 * 64]).unwrap();
    x.as_slice_mut::<f32>().unwrap().fill(4.0);
    write_npz(&folder.path("in.npz"), &Arrays::from([("X".to_owned(), x)])).unwrap();
    let args = ["run", "unit.tg", "--inputs", "in.npz", "--outputs", "out.npz", "--stats", "json", "--set"];
    let out = folder.good(&[&args[..], &["ROUNDS=5", "--trace", "trace.json", "--check"]].concat());
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&stats["launches"], &stats["kernels"], &stats["blocks"]),
        (&5.into(), &10.into(), &40.into())
    );
    assert_eq!(stats["check"]["passed"], true);
    let y = Npz::open(&folder.path("out.npz")).unwrap().read("Y").unwrap();
    assert_eq!(y.shape(), [64, 64]);
    assert!(y.as_slice::<f32>().unwrap().iter().all(|&y| y == 2.5));
    let trace: Value = serde_json::from_slice(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().filter(|e| e["ph"] == "X" && e["name"] == "A").count() >= 20, "{trace}");
}

/// ISA-PM-10.
#[test]
fn the_matrix_is_printed_as_text_and_as_data() {
    let folder = Folder::new();
    let text = folder.good(&["targets", "--matrix"]);
    assert!(
        text.lines().any(|l| l.starts_with("MC_FENCE") && l.contains("Partial") && l.contains("N/A")),
        "{text}"
    );
    let json: Value = serde_json::from_str(&folder.good(&["targets", "--matrix", "--json"])).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["row"] == "CA_AFFINITY").unwrap();
    let words: Vec<&Value> = ["A2", "A3", "A5", "CPU Sim"].iter().map(|p| &row["support"][p]).collect();
    assert_eq!(words, ["Hint", "Hint", "Yes", "N/A"]);
}

/// ISA-PM-09.
#[test]
fn a_check_for_a_platform_refuses_what_it_does_not_have() {
    let folder = Folder::new();
    folder.write("notify.tg", UNIT.replace("TG_END(G)", "  SY_NOTIFY(0, DONE)\nTG_END(G)").as_bytes());
    let (code, out, err) = folder.wsp(&["check", "notify.tg", "--target", "ascend_910b"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("SY_NOTIFY") && err.contains("A2"), "{err}");
    let (code, _, err) = folder.wsp(&["check", "unit.tg", "--target", "a4"]);
    assert!(code == 2 && err.contains("ascend_950"), "{err}");
}

#[test]
fn a_graph_is_summed_up_and_listed() {
    let folder = Folder::new();
    let text = folder.good(&["graph", "unit.tg"]);
    assert!(text.contains("1 data") && text.contains("2 kernels on the longest path"), "{text}");
    let json: Value = serde_json::from_str(&folder.good(&["graph", "unit.tg", "--json"])).unwrap();
    assert_eq!((&json["graphs"][0]["kernels"], &json["graphs"][0]["blocks"]), (&2.into(), &8.into()));
    assert_eq!(folder.good(&["graph", "unit.tg", "--edges", "-"]), "src,dst,kind\n0,1,data\n");
    let tasks = folder.good(&["graph", "unit.tg", "--tasks", "-"]);
    assert!(tasks.contains("0,G,kernel,A,relax_entry,AIV,4,"), "{tasks}");
    assert!(folder.good(&["graph", "unit.tg", "--dot"]).starts_with("digraph \"unit.tg\""));
}

/// A unit over `X`, `Y` and `T` with these statements, of kernels `relax_entry`.
fn relaxing(declared: &str, statements: &str) -> String {
    let uses = "use \"relax.pto\"\nextern X: f32[64, 64]\nextern Y: f32[64, 64]\n";
    format!("{uses}{declared}TG_BEGIN(G)\n{statements}TG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n")
}

/// In a picture a body hangs in its loop, both arms hang on their decision, and edges name their tensors.
#[test]
fn a_picture_shows_loops_and_arms() {
    let folder = Folder::new();
    let kernel = "TG_KERNEL(S, relax_entry, 1, AIV, 0)\nMC_BIND(S, 0, X)\nMC_BIND(S, 1, T)\n";
    let arms = "CF_IF(N > 1)\nMC_COPY(T, Y, 64)\nCF_ELSE\nMC_COPY(X, Y, 64)\nCF_ENDIF\n";
    let unit = format!("MC_ALLOC(T, 16384)\nMC_COPY(X, T, 64)\nCF_LOOP(N, i)\n{kernel}CF_ENDLOOP\n{arms}");
    folder.write("loop.tg", relaxing("arg N: i64 = 2\n", &unit).as_bytes());
    let dot = folder.good(&["graph", "loop.tg", "--dot"]);
    let node = |label: &str| {
        let line = dot.lines().find(|line| line.contains(&format!("[label=\"{label}"))).unwrap();
        line.trim().split(' ').next().unwrap().to_owned()
    };
    let edge = |src: &str, dst: &str, label: &str| {
        dot.contains(&format!("  {} -> {} [label=\"{label}\"", node(src), node(dst)))
    };
    assert!(edge("loop 0", "S", "round") && edge("end of loop 0", "loop 0", "next round"), "{dot}");
    assert!(edge("if", "copy.1", "then") && edge("if", "copy.2", "else"), "{dot}");
    assert!(!dot.contains(&format!("  {} -> {}", node("copy.1"), node("copy.2"))), "{dot}");
    assert!(edge("copy.0", "loop 0", "range T") && edge("loop 0", "copy.1", "range T"), "{dot}");
    let data = "TG_KERNEL(A, relax_entry, 1, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, Y)\nTG_KERNEL(B, relax_entry, 1, AIV, 0)\nMC_BIND(B, 0, Y)\nMC_BIND(B, 1, X)\nTG_DEPEND(A, B, DATA, Y)\n";
    folder.write("data.tg", relaxing("", data).as_bytes());
    assert!(folder.good(&["graph", "data.tg", "--dot"]).contains("0 -> 1 [label=\"data Y\"]"));
}

/// ISA-CA-05: by `check`, for each target, and by `run`, for the cores that are simulated.
#[test]
fn partitions_outside_of_the_device_are_refused() {
    let folder = Folder::new();
    let kernel = "TG_KERNEL(S, relax_entry, 1, AIV, 0, P)\nMC_BIND(S, 0, X)\nMC_BIND(S, 1, Y)\n";
    folder.write("small.tg", relaxing("CA_PARTITION(P, 0, 4, 0, 50)\n", kernel).as_bytes());
    for target in [&[][..], &["--target", "a2"], &["--target", "a3"], &["--target", "cpu"]] {
        let err = folder.bad(&[&["check", "small.tg"], target].concat());
        assert!(err.contains("WSP1520") && err.contains("0 to 49"), "{target:?}: {err}");
    }
    folder.good(&["check", "small.tg", "--target", "a5"]);
    for more in [&[][..], &["--hints"], &["--cores", "aic=4,aiv=49"]] {
        assert!(folder.bad(&[&["run", "small.tg"], more].concat()).contains("WSP1520"), "{more:?}");
    }
    folder.good(&["run", "small.tg", "--hints", "--cores", "aic=4,aiv=50"]);
}

/// ISA-TG-21, ISA-MC-12: what `check` cannot compare it says, and `run` compares.
#[test]
fn a_race_that_values_make_is_left_to_the_run_and_found_there() {
    let folder = Folder::new();
    let row = 64 * 4;
    let kernels = format!(
        "MC_ALLOC(T, 16384)\nMC_COPY(X, T, 16384)\nTG_KERNEL(A, relax_entry, 1, AIV, 0)\nMC_BIND(A, 0, X, 0, {row})\nMC_BIND(A, 1, T, N * {row}, {row})\nTG_KERNEL(B, relax_entry, 1, AIV, 0)\nMC_BIND(B, 0, T, M * {row}, {row})\nMC_BIND(B, 1, Y, 0, {row})\n"
    );
    folder.write("args.tg", relaxing("arg N: i64 = 0\narg M: i64 = 0\n", &kernels).as_bytes());
    let (code, out, err) = folder.wsp(&["check", "args.tg"]);
    assert_eq!((code, out.as_str()), (0, "args.tg: ok\n"), "{err}");
    assert!(
        err.contains("WSP1522") && err.contains("depends on `N`") && err.contains("depends on `M`"),
        "{err}"
    );
    let err = folder.bad(&["run", "args.tg"]);
    assert!(err.contains("WSP1501") && err.contains("TG_DEPEND(A, B, DATA, T)"), "{err}");
    // One row of 64 is written.
    folder.good(&["run", "args.tg", "--set", "N=1", "--allow-unwritten", "Y"]);
}

/// ISA-TG-24.
#[test]
fn launches_that_race_are_refused_with_the_line_that_orders_them() {
    let folder = Folder::new();
    let graph = |name: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(A, relax_entry, 1, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, Y)\nTG_END({name})\n"
        )
    };
    let unit = |host: &str| {
        format!(
            "use \"relax.pto\"\nextern X: f32[64, 64]\nextern Y: f32[64, 64]\n{}{}{host}",
            graph("G"),
            graph("J")
        )
    };
    folder.write("race.tg", unit("TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\nTG_SYNC(G)\nTG_SYNC(J)\n").as_bytes());
    for command in ["check", "run"] {
        let err = folder.bad(&[command, "race.tg"]);
        assert!(err.contains("WSP1521") && err.contains("TG_SYNC(G)"), "{command}: {err}");
    }
    folder.write("order.tg", unit("TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\nTG_SYNC(J)\n").as_bytes());
    folder.good(&["check", "order.tg"]);
    folder.good(&["run", "order.tg"]);
}

/// ISA-IMP-07.
#[test]
fn files_that_are_none_of_ours_are_named_with_what_to_do() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    let bytes = folder.read("unit.ptog");
    folder.write("cut.ptog", &bytes[..bytes.len() / 2]);
    let mut flipped = bytes.clone();
    flipped[bytes.len() - 3] ^= 0x40;
    folder.write("flipped.ptog", &flipped);
    let mut swapped = bytes.clone();
    swapped[..4].reverse();
    folder.write("swapped.ptog", &swapped);
    folder.write("noise.ptog", &[0xa5; 300]);
    folder.write("noise.tg", &[0xa5; 300]);
    folder.write("empty.ptog", b"");
    folder.write("renamed.tg", &bytes);
    folder.write("later.ptog", &[&bytes[..4], &99u32.to_le_bytes(), &bytes[8..]].concat());
    for (name, part) in [
        ("cut.ptog", "cut.ptog"),
        ("flipped.ptog", "checksum"),
        ("swapped.ptog", "big-endian"),
        ("noise.ptog", "noise.ptog"),
        ("noise.tg", "UTF-8"),
        ("empty.ptog", "empty.ptog"),
        ("later.ptog", "99"),
        ("none.tg", "WSP0500"),
        ("uint.tg", "did you mean `unit.tg`?"),
    ] {
        for command in ["check", "run", "graph", "disasm"] {
            let err = folder.bad(&[command, name]);
            assert!(err.contains(part), "{command} {name}: {err}");
        }
    }
    folder.good(&["check", "renamed.tg"]);
}

#[test]
fn files_of_other_kinds_are_named_with_their_commands() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    folder.write("program.ptow", b"WOTP\x01\0\0\0");
    write_npz(&folder.path("arrays.npz"), &Arrays::new()).unwrap();
    for (args, part) in [
        (&["run", "program.ptow"][..], "wsp disasm program.ptow"),
        (&["check", "program.ptow"], "wsp disasm program.ptow"),
        (&["graph", "program.ptow"], "wsp disasm program.ptow"),
        (&["plan", "unit.tg"], "wsp run unit.tg"),
        (&["plan", "unit.ptog"], "wsp disasm unit.ptog"),
        (&["asm", "relax.pto"], "wsp run relax.pto"),
        (&["disasm", "arrays.npz"], "--inputs"),
        (&["run", "arrays.npz"], "--inputs"),
        (&["run", "unit.tg", "--kernels", "unit.tg"], "unit.tg"),
    ] {
        let err = folder.bad(args);
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn options_of_others_are_refused_by_name() {
    let folder = Folder::new();
    folder.write("w.wsp", b"workload main { }\n");
    for (args, option) in [
        (&["run", "unit.tg", "--aicpus", "2"][..], "--aicpus"),
        (&["run", "unit.tg", "--expand", "host"], "--expand"),
        (&["run", "unit.tg", "--schedule", "S"], "--schedule"),
        (&["run", "unit.tg", "--generate", "n=3"], "--generate"),
        (&["run", "unit.tg", "--set", "kv_layout=HND"], "kv_layout"),
        (&["run", "w.wsp", "--devices", "2"], "--devices"),
        (&["run", "w.wsp", "--resume", "--checkpoints", "d"], "--checkpoints"),
        (&["run", "relax.pto", "--hints"], "--hints"),
        (&["run", "relax.pto", "--cores", "aic=2"], "--cores"),
        (&["run", "relax.pto", "--event", "E"], "--event"),
        (&["run", "relax.pto", "--memory", "1G"], "--memory"),
        (&["asm", "unit.tg", "--schedule", "S"], "--schedule"),
        (&["disasm", "unit.tg", "--schedule", "S"], "--schedule"),
        (&["graph", "unit.tg", "--deps", "exact"], "--deps"),
        (&["graph", "unit.tg", "--args", "a.csv"], "--args"),
        (&["graph", "unit.tg", "--input", "X=x.npy"], "--input"),
        (&["graph", "w.wsp", "--kernels", "relax.pto"], "--kernels"),
        (&["check", "w.wsp", "--target", "a2"], "--target"),
        (&["check", "w.wsp", "--kernels", "relax.pto"], "--kernels"),
    ] {
        let err = folder.bad(args);
        assert!(err.contains(option), "{args:?}: {err}");
    }
    for args in [&["run", "unit.tg", "--resume"][..], &["run", "unit.tg", "--devices", "0"]] {
        assert_eq!(folder.wsp(args).0, 2, "{args:?}");
    }
}

#[test]
fn names_and_sizes_that_are_wrong_are_told_the_right_ones() {
    let folder = Folder::new();
    let array = |shape: &[u64]| Array::zeros(DType::F32, shape).unwrap();
    write_npz(&folder.path("short.npz"), &Arrays::from([("X".to_owned(), array(&[7]))])).unwrap();
    folder.write("event.tg", format!("extern event GO\n{UNIT}").as_bytes());
    folder.write("kept.tg", UNIT.replace("TG_END(G)", "  TG_CHECKPOINT(G, K)\nTG_END(G)").as_bytes());
    folder.write("entry.tg", UNIT.replace("(A, relax_entry", "(A, relax_enrty").as_bytes());
    folder.write("open.tg", UNIT.replace("extern X: f32[64, 64]", "extern X").as_bytes());
    folder.write("huge.tg", UNIT.replace("X: f32[64, 64]", "X: f32[1048576, 1048576]").as_bytes());
    folder.write("file.tg", UNIT.replace("relax.pto", "relx.pto").as_bytes());
    for (args, part) in [
        (&["run", "unit.tg", "--set", "ROUND=3"][..], "did you mean `ROUNDS`?"),
        (&["run", "unit.tg", "--set", "ROUNDS=1.5"], "integer"),
        (&["run", "unit.tg", "--input", "Z=z.npy"], "takes no array `Z`"),
        (&["run", "unit.tg", "--inputs", "short.npz"], "f32[64, 64]"),
        (&["run", "event.tg", "--event", "GOO"], "did you mean `GO`?"),
        (&["run", "unit.tg", "--event", "GO"], "extern event GO"),
        (&["run", "entry.tg"], "did you mean `relax_entry`?"),
        (&["check", "entry.tg"], "did you mean `relax_entry`?"),
        (&["run", "open.tg"], "--input X=FILE.npy"),
        (&["run", "huge.tg"], "X"),
        (&["run", "file.tg"], "did you mean `relax.pto`?"),
        (&["run", "unit.tg", "--memory", "1K"], "1024"),
        (&["run", "kept.tg", "--checkpoints", "relax.pto"], "relax.pto"),
        (&["run", "unit.tg", "--outputs", "relax.pto"], "overwritten"),
    ] {
        let err = folder.bad(args);
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

/// ISA-CA-02.
#[test]
fn honoured_hints_give_the_same_result() {
    let folder = Folder::new();
    folder.write("hints.tg", UNIT.replace("TG_END(G)", "  CA_REQUEST(A, 0, 2)\nTG_END(G)").as_bytes());
    folder.good(&["run", "unit.tg", "--outputs", "one.npz", "--no-check"]);
    folder.good(&[
        "run",
        "hints.tg",
        "--hints",
        "--cores",
        "aiv=2,aic=1",
        "--outputs",
        "hints.npz",
        "--no-check",
    ]);
    assert_eq!(folder.read("one.npz"), folder.read("hints.npz"));
}

/// ISA-SY-04, ISA-SY-05.
#[test]
fn two_devices_notify_each_other() {
    let folder = Folder::new();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/two_devices.tg");
    let out = folder.good(&["run", &unit.display().to_string(), "--devices", "2"]);
    assert!(out.contains("for 2 devices") && out.contains("bit for bit"), "{out}");
}

/// ISA-CF-09.
#[test]
fn a_loop_on_a_value_of_the_device_converges() {
    let folder = Folder::new();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/power_iteration.tg");
    let out = folder.good(&["run", &unit.display().to_string()]);
    assert!(out.contains("`VALUE` ok"), "{out}");
}

/// ISA-EX-01, ISA-EX-02, ISA-EX-04.
#[test]
fn the_example_of_the_document_runs_with_its_two_prologs_side_by_side() {
    let folder = Folder::new();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/deepseek_indexer.tg");
    let unit = unit.display().to_string();
    let out = folder.good(&["run", &unit, "--threads", "2", "--trace", "trace.json", "--stats", "json"]);
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&stats["check"]["passed"], &stats["blocks"]), (&true.into(), &96.into()), "{out}");
    let trace: Value = serde_json::from_slice(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    // When the first block of a kernel started, and when its last had finished.
    let span = |kernel: &str| {
        let blocks = events.iter().filter(|e| e["ph"] == "X" && e["name"] == kernel);
        let times = blocks.map(|e| (e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap()));
        let (starts, ends): (Vec<f64>, Vec<f64>) =
            times.map(|(start, length)| (start, start + length)).unzip();
        assert_eq!(starts.len(), 24, "{kernel}");
        (starts.into_iter().fold(f64::MAX, f64::min), ends.into_iter().fold(0.0, f64::max))
    };
    let (mla, indexer) = (span("MLA_PROLOG"), span("INDEXER_PROLOG"));
    assert!(mla.0 < indexer.1 && indexer.0 < mla.1, "{mla:?} {indexer:?}");
    let last = span("SPARSE_FA").0;
    for before in ["MLA_PROLOG", "INDEXER_PROLOG", "LIGHTNING_INDEXER"] {
        assert!(span(before).1 <= last, "{before}");
    }
}

#[test]
fn a_file_of_kernels_is_no_program() {
    let folder = Folder::new();
    folder.good(&["check", "relax.pto"]);
    for command in ["run", "plan"] {
        let err = folder.bad(&[command, "relax.pto"]);
        assert!(err.contains("--kernels relax.pto"), "{err}");
    }
}

/// ISA-EX-03.
#[test]
fn the_example_of_the_document_has_its_known_defects() {
    let folder = Folder::new();
    let example = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        let (code, _, err) = folder.wsp(&["check", &path.display().to_string()]);
        (code, err)
    };
    let (code, found) = example("deepseek_indexer_verbatim.tg");
    assert_eq!(code, 0, "{found}");
    for part in [
        "`INPUT_HIDDEN` is declared nowhere",
        "`WORKSPACE` is never used",
        "help: TG_DEPEND(MLA_PROLOG, SPARSE_FA, DATA, KV_CACHE)",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert_eq!(example("deepseek_indexer_corrected.tg"), (0, String::new()));
}

#[test]
fn the_benchmark_prints_every_row_and_writes_it() {
    let folder = Folder::new();
    let text = folder.good(&["bench", "isa", "--quick", "--no-peers", "--json", "rows.json"]);
    let all: Value = serde_json::from_slice(&folder.read("rows.json")).unwrap();
    let rows = all["rows"].as_array().unwrap();
    for (name, count) in
        [("assemble", 3), ("load", 3), ("load, no names", 3), ("invoke random", 1), ("launch random", 2)]
    {
        assert_eq!(rows.iter().filter(|row| row["name"] == name).count(), count, "{name}");
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn tensors_of_a_unit_are_not_made_up_beside_others() {
    let folder = Folder::new();
    let array = || Array::zeros(DType::F32, &[64, 64]).unwrap();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    write_npz(&folder.path("y.npz"), &Arrays::from([("Y".to_owned(), array())])).unwrap();
    write_npz(&folder.path("x.npz"), &Arrays::from([("x".to_owned(), array())])).unwrap();
    for unit in ["unit.tg", "unit.ptog"] {
        let err = folder.bad(&["run", unit, "--inputs", "y.npz"]);
        assert!(err.contains("WSP0550") && err.contains("array `X` is missing"), "{err}");
        let err = folder.bad(&["run", unit, "--inputs", "x.npz"]);
        assert!(err.contains("did you mean `X`, which is missing?"), "{err}");
        for option in [&["--fill", "X"][..], &["--generate"]] {
            let out = folder.good(&[&["run", unit, "--inputs", "y.npz"], option].concat());
            assert!(out.contains("Y f32[64, 64]; X made up from seed 1"), "{out}");
        }
    }
    folder.write("rounds.tg", UNIT.replace("TG_SYNC(G)\n", "").as_bytes());
    let (code, out, err) = folder.wsp(&["run", "rounds.tg", "--set", "ROUNDS=0"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("check      nothing ran") && err.contains("WSP0545"), "{out}{err}");
}
