//! What an error advises works in one step, and errors for machines have one shape.

use crate::command::{Folder, ended, run, wsp};

const KERNELS: &str = "
PTO_SHAPE(a, rows, 32)
PTO_SHAPE(b, rows, 32)
PTO_KERNEL_IMPL(halve, Tensor<float> a, Tensor<float> b) {
    for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {
        VecTile<float, 1, 32> t;
        TLOAD(t, a, {r});
        TMULS(t, t, 0.5f);
        TSTORE(b, t, {r});
    }
}
";

const UNIT: &str = "
use \"k.pto\"
extern X: f32[4, 32]
extern Y: f32[4, 32]
TG_BEGIN(G)
TG_KERNEL(A, halve, 2, AIV, 0)
MC_BIND(A, 0, X)
MC_BIND(A, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

fn folder() -> Folder {
    let workload = "tensor x: f32[4];\nkernel k(out a);\nworkload main { for i in 0..4 { k(x[i]); } }\nschedule s { streams(2); }\n";
    let folder = Folder::with(&[
        ("k.pto", KERNELS),
        ("u.tg", UNIT),
        ("w.wsp", workload),
        ("p.ptows", "    HALT\n"),
        ("none.npy", ""),
    ]);
    for (from, to) in [("u.tg", "u.ptog"), ("p.ptows", "p.ptow")] {
        assert_eq!(run(&["asm", &folder.at(from), "-o", &folder.at(to)]).0, 0);
    }
    folder
}

/// The options of `wsp asm`, each with the words that give it.
const OPTIONS: [(&str, &[&str]); 6] = [
    ("--emit", &["--emit", "module"]),
    ("--emit", &["--emit", "image"]),
    ("--emit", &["--emit", "ptog"]),
    ("--graph", &["--graph", "G"]),
    ("--schedule", &["--schedule", "s"]),
    ("--kernels", &["--kernels", "k.pto"]),
];

#[test]
fn advice_of_the_assembler_works_in_one_step() {
    let folder = folder();
    let asm = |file: &str, options: &[usize]| {
        let words = options.iter().flat_map(|at| OPTIONS[*at].1);
        let mut command = wsp(&["asm", file, "-o", "made"]);
        command.current_dir(folder.0.path()).args(words);
        ended(command)
    };
    let mut advised = 0;
    for file in ["u.tg", "u.ptog", "w.wsp", "p.ptows"] {
        for chosen in 0..1_usize << OPTIONS.len() {
            let given: Vec<usize> = (0..OPTIONS.len()).filter(|at| chosen >> at & 1 == 1).collect();
            if given.iter().filter(|at| OPTIONS[**at].0 == "--emit").count() > 1 || given.len() > 3 {
                continue;
            }
            let (code, _, err) = asm(file, &given);
            if code == 0 {
                continue;
            }
            let left_out =
                err.lines().find_map(|line| line.split_once("help: leave out ")).map(|(_, names)| names);
            let Some(names) = left_out else {
                // A file of kernels that the unit names already.
                assert!(err.contains("k.pto"), "{file} {given:?}: {err}");
                continue;
            };
            let kept: Vec<usize> =
                given.iter().copied().filter(|at| !names.contains(OPTIONS[*at].0)).collect();
            let (code, _, again) = asm(file, &kept);
            assert!(code == 0 || again.contains("k.pto"), "{file} {given:?}: {err}then {again}");
            advised += 1;
        }
    }
    assert!(advised > 30, "{advised}");
    let (_, _, err) = asm("u.tg", &[3]);
    assert!(
        err.contains("`--graph` is for `--emit image`") && err.contains("or add `--emit image`"),
        "{err}"
    );
    let (code, _, err) = asm("u.tg", &[1, 3]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn files_that_state_nothing_are_refused_alike_by_every_command() {
    let comment = [("pto", "// c\n"), ("wsp", "/* c */ ;\n"), ("tg", "// c\n"), ("ptows", "; c\n")];
    let none =
        ["pto", "wsp", "tg", "ptows", "ptog", "ptow", "npy", "npz", "json", "mlir"].map(|kind| (kind, ""));
    for (kind, text) in comment.into_iter().chain(none) {
        let name = format!("empty.{kind}");
        let folder = Folder::with(&[(name.as_str(), text)]);
        let file = folder.at(&name);
        let mut said: Vec<String> = Vec::new();
        for command in ["check", "asm", "run", "graph", "plan", "disasm"] {
            let (code, out, err) = run(&[command, &file]);
            assert_eq!((code, out.as_str()), (1, ""), "{command} {file}: {err}");
            assert!(
                err.starts_with("error[WSP0513]: ") && err.contains("is empty: it has "),
                "{command}: {err}"
            );
            assert!(err.contains("help: "), "{command}: {err}");
            said.push(err);
        }
        assert!(said.iter().all(|err| *err == said[0]), "{said:?}");
    }
}

/// The advice for a file without a statement, written into it, gives one that is right.
#[test]
fn what_an_empty_file_is_advised_to_hold_is_right() {
    for (name, text) in
        [("a.wsp", "workload main { }"), ("a.tg", "TG_BEGIN(G)\nTG_END(G)\nTG_LAUNCH(G, default)")]
    {
        let folder = Folder::with(&[(name, text)]);
        let (code, _, err) = run(&["check", &folder.at(name)]);
        assert_eq!(code, 0, "{name}: {err}");
    }
    let folder = Folder::with(&[("a.ptows", "HALT")]);
    assert_eq!(run(&["asm", &folder.at("a.ptows"), "-o", &folder.at("a.ptow")]).0, 0);
}

fn is_one_object_per_line(args: &[&str], err: &str) {
    assert!(!err.is_empty(), "{args:?} says nothing");
    let keys = [
        "code",
        "column",
        "end_column",
        "end_line",
        "file",
        "help",
        "label",
        "labels",
        "line",
        "message",
        "notes",
        "severity",
        "title",
    ];
    for line in err.lines() {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|fault| panic!("{args:?}: {fault}: {line}"));
        let mut found: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, keys, "{args:?}: {line}");
    }
}

#[test]
fn errors_for_machines_are_one_object_per_line_on_standard_error() {
    let folder = folder();
    let at = |name: &str| folder.at(name);
    let (pto, unit, workload, program) = (at("k.pto"), at("u.tg"), at("w.wsp"), at("p.ptow"));
    for args in [
        &["explain", "WSP9999"][..],
        &["explain", "banana"],
        &["nonsense"],
        &["run"],
        &["run", "none.pto"],
        &["run", &pto],
        &["run", &pto, "--threads", "0"],
        &["run", &unit, "--input", "X=none.npy"],
        &["run", &unit, "--generate", "colour=red"],
        &["run", &unit, "--set", "n=1"],
        &["run", &workload, "--set", "none=1"],
        &["run", "examples/row_softmax.pto", "--set", "rows"],
        &["run", "examples/row_softmax.pto", "--generate", "rows=4e9,cols=1024"],
        &["check", &program, "--devices", "2"],
        &["check", "none.tg", "none.ptow", "none.wsp"],
        &["plan", &workload],
        &["graph", &pto],
        &["graph", &workload, "--edges", "/none/edges.csv"],
        &["asm", &unit, "--target", "a2"],
        &["asm", &unit, "--emit", "cpp", "--graph", "H"],
        &["asm", &workload, "-o", &workload],
        &["disasm", &workload, "--schedule", "t"],
        &["disasm", &pto],
        &["targets", "--nonsense"],
        &["config", "surplus"],
    ] {
        let (code, out, err) = run(&[args, &["--error-format", "json"]].concat());
        assert_ne!(code, 0, "{args:?}");
        assert_eq!(out, "", "{args:?}");
        is_one_object_per_line(args, &err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_told_to_machines_too() {
    let folder = folder();
    let (unit, workload, program) = (folder.at("u.tg"), folder.at("w.wsp"), folder.at("p.ptow"));
    for args in [
        &["explain"][..],
        &["explain", "500"],
        &["config", "--json"],
        &["targets"],
        &["doctor"],
        &["check", &unit],
        &["run", &unit],
        &["graph", &unit],
        &["graph", &workload, "--edges", "-"],
        &["plan", "examples/row_softmax.pto", "--json"],
        &["asm", &unit],
        &["disasm", &program],
        &["--help"],
        &["run", "--help"],
        &["--version"],
    ] {
        let args = [args, &["--error-format", "json"]].concat();
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = wsp(&args).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        is_one_object_per_line(&args, &err);
        assert!(err.contains("WSP0509"), "{args:?}: {err}");
    }
}

#[test]
fn an_output_to_make_up_without_files_is_told_of_the_other_arrays() {
    let (code, _, err) = run(&["run", "examples/decode_attention.pto", "--fill", "output"]);
    assert_eq!(code, 1);
    let missing: Vec<&str> = err.lines().filter(|line| line.starts_with("error[WSP0550]")).collect();
    assert_eq!(err.matches("all that is missing").count(), missing.len(), "{err}");
    let given = ["run", "examples/decode_attention.pto", "--fill", "output", "--generate", "batch=2,len=40"];
    assert_eq!(run(&given).0, 0);
}

/// A program whose parameter `K` is read by nothing that a launch runs.
#[test]
fn values_and_arrays_of_what_no_run_comes_to_are_not_asked_for() {
    let program = |items: &str, statement: &str| {
        format!(
            "PTO_SHAPE(x, rows, 8)
             PTO_SHAPE(y, rows, 8)
             PTO_PARAM(uint32_t, K, 2)
             {items}
             PTO_SPACE(S) {{ PTO_AXIS(r, 0, rows) }}
             struct R {{ uint32_t i; }};
             PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(R{{ .i = r }}); }} }}
             PTO_KERNEL_IMPL(k) {{
                 auto d = PTO_GET_DESCRIPTOR<R>();
                 VecTile<float, 1, 8> t;
                 TLOAD(t, x, {{d.i}});
                 {statement}
                 TSTORE(y, t, {{d.i}});
             }}
             void run(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .x = x, .y = y }}); }}"
        )
    };
    for (items, statement, is_read) in [
        ("const uint32_t M = K * 2;", "", false),
        ("uint32_t helper(uint32_t a) { return a + K; }", "", false),
        ("", "if (false) { TADDS(t, t, (float)K); }", false),
        ("PTO_SPACE(Other) { PTO_AXIS(q, 0, K) }", "", false),
        ("PTO_TENSOR(w, float, K, 8)", "", false),
        ("PTO_REQUIRE(K > 0)", "", true),
        ("const uint32_t M = K * 2;", "TADDS(t, t, (float)M);", true),
        ("uint32_t helper(uint32_t a) { return a + K; }", "TADDS(t, t, (float)helper(1));", true),
    ] {
        let folder = Folder::with(&[("a.pto", &program(items, statement))]);
        let (code, _, err) = run(&["run", &folder.at("a.pto"), "--generate", "rows=3", "--set", "K=3"]);
        assert_eq!(code == 0, is_read, "{items} {statement}: {err}");
        assert_eq!(err.contains("nothing reads `K`"), !is_read, "{items} {statement}: {err}");
    }
    let kernels = "PTO_SHAPE(x, rows, 8)\nPTO_SHAPE(y, rows, 8)\nPTO_SHAPE(z, zr, 8)\nstruct R { uint32_t i; };
        struct Q { uint32_t j; };
        PTO_KERNEL_IMPL(one) { auto d = PTO_GET_DESCRIPTOR<R>(); VecTile<float, 1, 8> t; TLOAD(t, x, {d.i}); TSTORE(y, t, {d.i}); }
        PTO_KERNEL_IMPL(two) { auto d = PTO_GET_DESCRIPTOR<Q>(); VecTile<float, 1, 8> t; TLOAD(t, z, {d.j}); TSTORE(y, t, {d.j}); }\n";
    let workload = |condition: &str| {
        format!(
            "use \"k.pto\";\nworkload main {{ for i in 0..4 {{ one(i); }} if {condition} {{ two(0); }} }}\n"
        )
    };
    for (condition, inputs) in [("0", "x made up"), ("1", "x, z made up")] {
        let folder = Folder::with(&[("k.pto", kernels), ("w.wsp", &workload(condition))]);
        let (code, out, err) = run(&["run", &folder.at("w.wsp"), "--generate", "rows=4"]);
        assert_eq!(code, 0, "{condition}: {err}");
        assert!(out.contains(&format!("inputs     {inputs}")), "{condition}: {out}");
    }
}
