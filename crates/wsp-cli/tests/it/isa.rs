//! Task graphs from outside: every command on units, and what is refused.

mod refused;

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
        let mut command = Command::new(crate::command::program());
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
    for (args, part) in [
        (&["--emit", "image", "--graph", "H"][..], "graph `H`"),
        (&["--emit", "module", "--graph", "G"], "--graph"),
    ] {
        let err = folder.bad(&[&["asm", "unit.tg"], args].concat());
        assert!(err.contains(part), "{args:?}: {err}");
    }
    assert!(folder.bad(&["asm", "relax.pto", "--emit", "image"]).contains("texts of task graphs"));
    let (code, _, err) = folder.wsp(&["asm", "unit.tg", "--emit", "cpp"]);
    assert!(code == 2 && err.contains("`wsp emit FILE.tg --stage graph --target NAME -o FOLDER`"), "{err}");
}

/// What is emitted compiles by itself: every file that it includes lies beside it.
#[test]
fn a_unit_is_emitted_with_everything_that_it_includes() {
    let folder = Folder::new();
    let listed = folder.good(&["emit", "unit.tg", "--stage", "graph", "--target", "a3", "-o", "new/out"]);
    let text = String::from_utf8(folder.read("new/out/graph_0_G.cpp")).unwrap();
    assert!(text.contains("relax_entry"), "{text}");
    let (mut open, mut seen) = (vec!["graph_0_G.cpp".to_owned()], Vec::new());
    while let Some(file) = open.pop() {
        let path = format!("new/out/{file}");
        assert!(listed.lines().any(|line| line == path), "{path} is not among {listed}");
        let text = String::from_utf8(folder.read(&path)).unwrap();
        let included = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        let included: Vec<String> = included.map(str::to_owned).collect();
        open.extend(included.into_iter().filter(|name| !seen.contains(name)));
        seen.push(file);
    }
    assert!(seen.contains(&"wsp_tg.h".to_owned()), "{seen:?}");
    let one =
        folder.good(&["emit", "unit.tg", "--stage", "graph", "--target", "a3", "-o", "one", "--graph", "G"]);
    assert_eq!(one.replace("one/", "new/out/"), listed, "the unit has one graph");
    for (args, part) in [
        (&["unit.tg", "--target", "a2", "--graph", "H"][..], "graph `H`"),
        (&["unit.tg", "--target", "a2", "--kernels", "relax.pto"], "--kernels"),
        (&["relax.pto", "--target", "a2"], "task graphs"),
    ] {
        let err = folder.bad(&[&["emit", "--stage", "graph", "-o", "none"], args].concat());
        assert!(err.contains(part), "{args:?}: {err}");
    }
    for (output, part) in [
        ("", "a value is required"),
        ("-", "write a folder"),
        ("unit.tg", "is a file"),
        ("unit.tg/out", "`unit.tg` is a file"),
    ] {
        let (code, out, err) = folder.wsp(&["emit", "unit.tg", "--target", "a2", "-o", output]);
        assert!(code == 2 && out.is_empty() && err.contains(part), "{output}: {err}");
    }
    assert!(!folder.path("-").exists());
    let (code, _, err) = folder.wsp(&["emit", "unit.tg", "--target", "cpu", "-o", "none"]);
    assert!(code == 2 && err.contains("no backend writes files for target `cpu_sim`"), "{err}");
    assert!(!folder.path("none").exists(), "what is refused writes nothing");
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
fn a_run_takes_tensors_and_values_and_gives_tensors_and_statistics() {
    let folder = Folder::new();
    let mut x = Array::zeros(DType::F32, &[64, 64]).unwrap();
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
    for limit in ["2", "1e-1", "1e-3", "1e-6", "1e-8"] {
        let set = format!("tolerance={limit}");
        let out = folder.good(&["run", &unit.display().to_string(), "--set", &set]);
        assert!(out.contains("`VALUE` ok") && out.contains("`VECTOR` ok"), "{out}");
    }
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
