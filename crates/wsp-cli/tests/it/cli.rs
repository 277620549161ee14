//! The binary from outside: exit codes, where output goes, and what scripts read.

mod checks;
mod compared;
mod making;
mod nan;
mod offers;
mod slips;
mod stopped;
mod taken;
mod units;
mod unstored;

use crate::command::{self, ended, root};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// `wsp` as it is where nothing is said of colours.
fn wsp(args: &[&str]) -> Command {
    let mut command = command::wsp(args);
    command.env_remove("NO_COLOR");
    command
}

/// Exit code, stdout, stderr.
fn run(args: &[&str]) -> (i32, String, String) {
    ended(wsp(args))
}

const EXAMPLE: &str = "examples/decode_attention.pto";
const SMALL: &str = "len=5/0/700,heads=4/2,dim=16";

#[test]
fn without_a_command_the_help_is_printed() {
    let (code, out, err) = run(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("Commands:") && out.contains("explain"), "{out}");
}

#[test]
fn a_wrong_command_line_exits_with_2_and_says_what_to_type() {
    for (args, part) in [
        (&["rum"][..], "run"),
        (&["run"], "FILE"),
        (&["run", EXAMPLE, "--generate", "batch"], "has no value"),
        (&["run", EXAMPLE, "--set", "chunk"], "--set chunk=8"),
        (&["run", EXAMPLE, "--set", "kv_layout=x"], "NHD"),
        (&["run", EXAMPLE, "--input", "q.npy"], "NAME=FILE.npy"),
        (&["run", EXAMPLE, "--threads", "0"], "write a whole number from 1 to 1024"),
        (&["run", EXAMPLE, "--generate", "batch=1", "--inputs", "a.npz"], "cannot be used with"),
        (&["bench", "decode"], "`cargo xtask bench`"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn faults_of_files_exit_with_1_and_name_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(at("cut.npz"), b"PK\x03\x04 and no more").unwrap();
    std::fs::write(at("text.npy"), "text").unwrap();
    std::fs::write(at("latin.pto"), b"// caf\xe9").unwrap();
    for (args, expected) in [
        (vec!["run".to_owned(), at("none.pto")], "WSP0500"),
        (vec!["check".to_owned(), at("latin.pto")], "WSP0513"),
        (vec!["check".to_owned(), at("")], "WSP0501"),
        (vec!["run".to_owned(), EXAMPLE.to_owned(), "--inputs".to_owned(), at("cut.npz")], "WSP0502"),
        (
            vec![
                "plan".to_owned(),
                EXAMPLE.to_owned(),
                "--input".to_owned(),
                format!("q={}", at("text.npy")),
            ],
            "WSP0504",
        ),
        (
            vec![
                "run".to_owned(),
                EXAMPLE.to_owned(),
                "--generate".to_owned(),
                format!("lens={}", at("text.npy")),
            ],
            "WSP0520",
        ),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let (code, out, err) = run(&args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
        assert!(
            err.contains(expected) && err.contains(&*dir.path().display().to_string()),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn diagnostics_are_json_lines_on_request() {
    let (code, _, err) = run(&["check", "none.pto", "nothing.pto", "--error-format", "json"]);
    assert_eq!(code, 1);
    let codes: Vec<Value> =
        err.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["code"].clone()).collect();
    assert_eq!(codes, ["WSP0500", "WSP0500"]);
}

#[test]
fn a_plain_run_checks_itself() {
    let (code, out, err) = run(&["run", EXAMPLE, "--generate", SMALL]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("`output` ok"), "{out}");
}

#[test]
fn stats_are_one_json_object() {
    let (code, out, err) = run(&[
        "run",
        EXAMPLE,
        "--generate",
        SMALL,
        "--set",
        "chunk=256",
        "--stats",
        "json",
        "--threads",
        "2",
    ]);
    assert_eq!(code, 0, "{err}");
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(stats["data"]["tokens"], 705);
    // Chunks of both KV heads: one of 5 tokens, one empty, three of 700.
    assert_eq!((stats["chunks"].as_u64(), stats["merges"].as_u64()), (Some(10), Some(2)));
    assert_eq!(stats["checks"][0]["passed"], true);
    assert_eq!(stats["threads"], 2);
}

#[test]
fn a_wrong_program_fails_its_check() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wrong.pto");
    let text = std::fs::read_to_string(root().join(EXAMPLE)).unwrap();
    let wrong = text.replace("sm_scale * LOG2E", "sm_scale");
    assert_ne!(text, wrong);
    std::fs::write(&path, wrong).unwrap();
    let (code, out, err) = run(&["run", &path.display().to_string(), "--generate", SMALL]);
    assert_eq!(code, 1, "{out}");
    assert!(err.contains("WSP0533") && out.contains("WRONG"), "{out}{err}");
    let (code, out, _) = run(&["run", &path.display().to_string(), "--generate", SMALL, "--no-check"]);
    assert_eq!(code, 0);
    assert!(out.contains("not done"), "{out}");
}

#[test]
fn outputs_are_written_for_the_next_program() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.npz");
    let (code, _, err) =
        run(&["run", EXAMPLE, "--generate", SMALL, "--outputs", &path.display().to_string()]);
    assert_eq!(code, 0, "{err}");
    let mut npz = wsp_cli::files::Npz::open(&path).unwrap();
    assert_eq!(npz.names(), ["lse", "output"]);
    assert_eq!(npz.read("output").unwrap().shape(), [3, 4, 1, 16]);
    assert_eq!(npz.read("lse").unwrap().as_slice::<f32>().unwrap()[4], f32::NEG_INFINITY);
    let nowhere = dir.path().join("none/out.npz").display().to_string();
    let (code, out, err) = run(&["run", EXAMPLE, "--generate", SMALL, "--outputs", &nowhere]);
    assert_eq!((code, out.as_str()), (1, ""), "it is found out before anything runs");
    assert!(err.contains("WSP0509"), "{err}");
}

#[test]
fn contradicting_layouts_are_refused() {
    let spec = format!("{SMALL},layout=NHD");
    let (code, _, err) = run(&["run", EXAMPLE, "--generate", &spec, "--set", "kv_layout=HND"]);
    assert_eq!(code, 1);
    assert!(err.contains("WSP0522"), "{err}");
    for args in [
        &["--generate", SMALL, "--set", "kv_layout=HND"][..],
        &["--generate", &format!("{SMALL},layout=HND")],
    ] {
        let (code, _, err) = run(&[&["run", EXAMPLE], args].concat());
        assert_eq!(code, 0, "{err}");
    }
}

#[test]
fn a_plan_lists_every_descriptor() {
    let (code, out, err) = run(&["plan", EXAMPLE, "--generate", SMALL, "--set", "chunk=256", "--json"]);
    assert_eq!(code, 0, "{err}");
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(plan["descriptors"].as_array().unwrap().len(), 12);
    let (code, out, _) = run(&["plan", EXAMPLE, "--generate", SMALL, "--limit", "1"]);
    assert_eq!(code, 0);
    assert!(out.contains("more (`--limit`)"), "{out}");
}

#[test]
fn codes_are_explained() {
    for code in ["WSP0502", "wsp502", "502"] {
        let (status, out, _) = run(&["explain", code]);
        assert_eq!(status, 0);
        assert!(out.starts_with("WSP0502: not a whole .npz archive"), "{out}");
    }
    assert_eq!(run(&["explain", "9999"]).0, 1);
    assert_eq!(run(&["explain", "what"]).0, 1);
    assert!(run(&["explain"]).1.lines().count() > 20);
}

#[test]
fn tables_have_a_json_form() {
    for command in ["config", "targets", "doctor"] {
        let (code, out, _) = run(&[command, "--json"]);
        assert_eq!(code, 0);
        serde_json::from_str::<Value>(&out).unwrap();
        assert_eq!(run(&[command]).0, 0);
    }
}

#[test]
fn mechanisms_are_printed_for_the_host_and_for_npus_with_one_stream_and_with_several() {
    let (code, out, _) = run(&["targets"]);
    assert_eq!(code, 0);
    let line = |begin: &str| out.lines().find(|line| line.starts_with(begin)).unwrap().to_owned();
    assert!(
        line("mechanism ").contains("NPU, one stream")
            && line("mechanism ").ends_with("NPU, several streams")
    );
    assert!(line("issue gate").contains("of each stream, too"));
    let found: Value = serde_json::from_str(&run(&["targets", "--json"]).1).unwrap();
    for row in found["mechanisms"].as_array().unwrap() {
        for target in ["cpu_sim", "NPU, one stream", "NPU, several streams"] {
            assert!(row[target].as_str().is_some_and(|cell| !cell.is_empty()), "{row}");
        }
    }
    assert!(found["npu_primitives"].as_array().unwrap().iter().any(|row| row["npu"] == "no-op"));
}

#[test]
fn each_limit_is_printed_with_what_gives_one_run_another_value() {
    let (code, out, _) = run(&["config", "--json"]);
    assert_eq!(code, 0);
    let limits: Vec<Value> = serde_json::from_str(&out).unwrap();
    let change = |name: &str| {
        let found = limits.iter().find(|limit| limit["name"] == name);
        found.unwrap_or_else(|| panic!("{name}"))["change"].as_str().unwrap().to_owned()
    };
    // Some are of one language or of the bytes of programs.
    for name in ["MAX_RANK", "MAX_GRAPH_ID", "MAX_CONTROL_DEPTH", "MAX_LOOP_DEPTH", "MAX_THRESHOLDS"] {
        assert!(change(name).starts_with("fixed: "), "{name}");
    }
    assert!(change("MAX_WHILE_ITERATIONS").contains("max_iterations"));
    assert!(change("DEFAULT_MAX_BLOCKS").contains("`--set max_blocks=n`"));
    let blocks = |set: &[&str]| {
        let args = [&["plan", "examples/row_softmax.pto", "--json"], set].concat();
        let (code, out, err) = run(&args);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&out).unwrap()["max_blocks"].clone()
    };
    assert_eq!((blocks(&[]), blocks(&["--set", "max_blocks=3"])), (72.into(), 3.into()));
}

#[test]
fn a_plan_names_what_would_run_it() {
    let (code, out, err) = run(&["plan", "examples/row_softmax.pto"]);
    assert_eq!(code, 0, "{err}");
    for (part, by) in [("policy", "fifo"), ("queue", "FIFOReadyQueue"), ("window", "8192 tasks")] {
        let line = out.lines().find(|line| line.trim_start().starts_with(part));
        assert!(line.is_some_and(|line| line.contains(by)), "{part}: {out}");
    }
    let (_, plain, _) = run(&["plan", "examples/row_softmax.pto", "--engine", "interpreter"]);
    assert!(plain.contains("engine     interpreter"), "{plain}");
}

#[test]
fn every_example_runs_and_passes_its_check() {
    let folder = std::fs::read_dir(root().join("examples")).unwrap();
    let mut examples: Vec<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".pto"))
        // Others have kernels for the task graphs beside them.
        .filter(|name| {
            std::fs::read_to_string(root().join("examples").join(name)).unwrap().contains("PTO_LAUNCH")
        })
        .collect();
    examples.sort();
    assert!(examples.len() >= 3, "{examples:?}");
    for name in examples {
        let (code, out, err) = run(&["run", &format!("examples/{name}")]);
        assert_eq!((code, err.as_str()), (0, ""), "{name}: {out}");
        assert!(out.contains("check") && !out.contains("not done"), "{name}: {out}");
    }
}

#[test]
fn a_program_without_a_reference_is_checked_against_its_plain_run() {
    let text = std::fs::read_to_string(root().join("examples/row_softmax.pto")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("softmax.pto");
    std::fs::write(&file, text.split("PTO_REFERENCE").next().unwrap()).unwrap();
    let file = file.display().to_string();
    let args = ["run", &file, "--generate", "rows=37,cols=65,dtype=bf16", "--stats", "json"];
    let (code, out, err) = run(&args);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["checks"][0]["elements"], &json["checks"][0]["passed"]),
        (&(37 * 65).into(), &true.into())
    );
}

#[test]
fn a_page_layout_that_would_change_nothing_is_refused() {
    let (code, out, err) = run(&["run", "examples/row_softmax.pto", "--set", "kv_layout=HND"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("takes no paged cache") && err.contains("leave out"), "{err}");
}

/// BKA-SEL-02.
#[test]
fn a_target_that_nothing_runs_is_refused_with_those_that_run() {
    for file in ["examples/row_softmax.pto", "examples/graphs/softmax.wsp", "examples/power_iteration.tg"] {
        let (code, out, err) = run(&["run", file, "--target", "a5"]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("no backend runs target `ascend_950`"), "{err}");
        assert!(err.contains("targets that run here: `cpu_sim` (cpu)"), "{err}");
    }
    let (code, _, err) = run(&["run", "examples/row_softmax.pto", "--target", "cpu_sin"]);
    assert!(code == 2 && err.contains("did you mean `cpu_sim`?"), "{err}");
}

#[test]
fn warnings_are_errors_of_a_strict_check_only() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let program = write(
        "a.pto",
        "PTO_SHAPE(x, n)\nPTO_KERNEL_IMPL(k) { uint32_t m = 1; PTO_STORE_SCALAR(x, 1.0f, {0}); }\n",
    );
    let workload = write("b.wsp", "kernel k(); workload main { let p = k(); k() after p; }\n");
    let unit = write("c.tg", "TG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(K, k_entry, 1, AIV, 0)\nTG_END(G)\n");
    let clean = "examples/row_softmax.pto";
    for (path, code) in [(&program, "WSP0260"), (&workload, "WSP0787"), (&unit, "WSP1504")] {
        let (status, out, err) = run(&["check", path]);
        assert_eq!((status, out.contains(": ok")), (0, true), "{path}: {out}{err}");
        assert!(err.contains(&format!("warning[{code}]")), "{path}: {err}");
        let (status, out, err) = run(&["check", "--strict", path, clean]);
        assert_eq!((status, out.as_str()), (1, format!("{clean}: ok\n").as_str()), "{path}: {err}");
        assert!(err.contains(&format!("error[{code}]")) && err.contains("--strict"), "{path}: {err}");
    }
}

/// What a workload uses is a library: its kernels are run by the workload, whatever its host entry launches.
#[test]
fn a_strict_check_of_a_workload_asks_nothing_of_what_others_use() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = "PTO_SHAPE(y, n, 1)
        struct D { uint32_t i; };
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); PTO_STORE_SCALAR(y, 1.0f, {d.i, 0}); }
        PTO_SPACE(None) { PTO_AXIS(none, 0, 0) }
        PTO_DESCRIPTOR_GEN(None) { }
        void entry(Tensor<float> y) { PTO_LAUNCH(None, { .y = y }); }";
    std::fs::write(folder.path().join("k.pto"), kernels).unwrap();
    let workload = folder.path().join("w.wsp");
    std::fs::write(
        &workload,
        "use \"k.pto\"; param n; workload main { parallel for i in 0..n { k(i = i); } }",
    )
    .unwrap();
    let (status, out, err) = run(&["check", "--strict", workload.to_str().unwrap()]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
}

/// The task graphs that the document prints have the defects that it plants; every other example is free of warnings.
#[test]
fn every_example_passes_a_strict_check() {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![root().join("examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|e| e.to_str()) {
                None if path.is_dir() => folders.push(path),
                Some("pto" | "wsp" | "tg") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let planted = ["deepseek_indexer.tg", "deepseek_indexer_verbatim.tg"];
    // Its 33 million tasks are generated by the check.
    files.retain(|path| !path.ends_with("generate/llama_attention.wsp"));
    let mut checked = 0;
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (status, out, err) = run(&["check", "--strict", path.to_str().unwrap()]);
        // Some files are no programs by themselves.
        if err.contains("[WSP0515]") {
            continue;
        }
        checked += 1;
        assert_eq!(status, i32::from(planted.contains(&name.as_str())), "{name}: {out}{err}");
    }
    assert!(checked >= 30, "{checked}");
}

/// Arrays of `x` and `y`, and of a name that no program takes, as `.npz` files in a folder.
fn archives() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let array = || wsp_plan::Array::zeros(wsp_core::DType::F32, &[3, 4]).unwrap();
    for (file, names) in [("x.npz", &["x"][..]), ("more.npz", &["x", "forgotten"]), ("misspelt.npz", &["X"])]
    {
        let arrays = names.iter().map(|name| ((*name).to_owned(), array())).collect();
        wsp_cli::files::write_npz(&dir.path().join(file), &arrays).unwrap();
    }
    dir
}

#[test]
fn every_entry_of_an_archive_is_used_and_nothing_stands_in_for_what_is_missing() {
    let dir = archives();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let run_with = |options: &[&str]| run(&[&["run", "examples/row_softmax.pto"], options].concat());
    let (x, more, misspelt) = (at("x.npz"), at("more.npz"), at("misspelt.npz"));
    let (code, out, err) = run_with(&["--inputs", &x]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("inputs     x f32[3, 4]\n"), "{out}");
    let (code, out, err) = run_with(&["--inputs", &more]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("error[WSP0514]") && err.contains("`forgotten`"), "{err}");
    assert!(err.contains("--allow-unused"), "{err}");
    assert_eq!(run_with(&["--inputs", &more, "--allow-unused"]).0, 0);
    let (code, _, err) = run_with(&["--inputs", &misspelt]);
    assert_eq!(code, 1);
    assert!(
        err.contains("did you mean `x`, which is missing?") && err.contains("array `x` is missing"),
        "{err}"
    );
    let (code, _, err) = run_with(&["--inputs", &misspelt, "--allow-unused"]);
    assert_eq!(code, 1);
    assert!(err.contains("error[WSP0550]") && err.contains("by `X`, which nothing uses?"), "{err}");
    let (code, out, err) = run_with(&["--inputs", &misspelt, "--allow-unused", "--fill", "x", "--seed", "2"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("inputs     x f32[256, 256], made up from seed 2\n"), "{out}");
}

#[test]
fn names_and_options_that_contradict_each_other_are_refused() {
    let dir = archives();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let x = at("x.npz");
    for (options, part) in [
        (&["--inputs", &x, "--input", "x=x.npy"][..], "given twice"),
        (&["--inputs", &x, "--fill", "x"], "is given and is to be made up"),
        (&["--fill", "z"], "that could be made up"),
        (&["--inputs", &x, "--seed", "3"], "nothing is made up"),
        (&["--generate", "rows=4", "--set", "k=1", "--set", "k=2"], "`k` is set twice"),
    ] {
        let (code, out, err) = run(&[&["run", "examples/row_softmax.pto"], options].concat());
        assert_eq!((code, out.as_str()), (1, ""), "{options:?}: {err}");
        assert!(err.contains(part), "{options:?}: {err}");
    }
}

#[test]
fn a_program_of_which_nothing_ran_is_not_ok() {
    let source = "
        PTO_PARAM(int32_t, tiles, 2)
        PTO_SHAPE(x, 8)
        PTO_SHAPE(y, 8)
        PTO_SPACE(S) { PTO_AXIS(i, 0, tiles) }
        struct D { uint32_t i; };
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .i = i }); } }
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 4, 1> t; TLOAD(t, x, {d.i * 4}); TSTORE(y, t, {d.i * 4}); }
        void entry(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }";
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tiles.pto").display().to_string();
    std::fs::write(&file, source).unwrap();
    let (code, out, err) = run(&["run", &file, "--set", "tiles=0"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("check      nothing ran") && !out.contains("ok"), "{out}");
    assert!(err.contains("error[WSP0545]") && err.contains("`tiles` is 0"), "{err}");
    let (code, out, err) = run(&["run", &file, "--set", "tiles=0", "--no-check"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("warning[WSP0545]"), "{err}");
    assert_eq!(run(&["run", &file]).0, 0);
}

#[test]
fn machine_models_are_printed_with_how_each_figure_is_known() {
    let (code, out, _) = run(&["targets", "--model"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("ascend_910b  Ascend 910B, one die") && out.contains("0-23 cube, 24-71 vector"),
        "{out}"
    );
    let (code, out, _) = run(&["targets", "--model", "ascend_910b"]);
    assert_eq!(code, 0);
    let line =
        |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{out}"));
    assert!(line("clock rate ").contains(" 1.85 GHz ") && line("clock rate ").contains(" stated "), "{out}");
    assert!(line("path hbm ub half ").contains(" measured "), "{out}");
    let (code, out, _) = run(&["targets", "--model", "ascend_950", "--json"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    let figures = json["figures"].as_array().unwrap();
    assert!(code == 0 && figures.len() > 80 && figures.iter().all(|of| of["source"].is_string()), "{out}");
    assert_eq!(run(&["targets", "--model", "--json"]).0, 0);
    let (code, _, err) = run(&["targets", "--model", "ascend_910d"]);
    assert!(code == 1 && err.contains("did you mean `ascend_910b`?"), "{err}");
    assert_eq!(run(&["targets", "--matrix", "--model", "cpu"]).0, 2);
}

#[test]
fn a_model_in_a_file_is_refused_where_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let text = std::fs::read_to_string(root().join("crates/wsp-plan/models/cpu.toml")).unwrap();
    std::fs::write(&path, &text).unwrap();
    let named = path.to_str().unwrap();
    assert_eq!(run(&["targets", "--model", named]).1, run(&["targets", "--model", "cpu"]).1);
    std::fs::write(&path, text.replacen("value = 2,", "value = 2.5,", 1)).unwrap();
    let (code, _, err) = run(&["targets", "--model", named]);
    assert!(
        code == 1 && err.contains("WSP1743") && err.contains("mine.toml:") && err.contains("`count` is 2.5"),
        "{err}"
    );
    std::fs::write(&path, b"[model]\n\xff").unwrap();
    let (code, _, err) = run(&["targets", "--model", named]);
    assert!(code == 1 && err.contains("is not UTF-8 text"), "{err}");
    assert_eq!(run(&["targets", "--model", "./none.toml"]).0, 1);
}

#[test]
fn the_machine_is_measured_into_a_model_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let named = path.to_str().unwrap();
    let (code, out, err) = run(&["doctor", "--model", "-o", named]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let (code, out, err) = run(&["targets", "--model", named, "--json"]);
    assert_eq!(code, 0, "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let figures = json["figures"].as_array().unwrap();
    let measured = |part: &str, key: &str| {
        let found = figures.iter().find(|of| of["part"] == part && of["key"] == key).unwrap();
        let source = found["source"].as_str().unwrap();
        found["mark"] == "measured" && source.starts_with("wsp doctor: ")
    };
    for (part, key) in
        [("clock", "rate"), ("path dram cache", "rate"), ("path cache dram", "rate"), ("launch", "kernel")]
    {
        assert!(measured(part, key), "{part} {key}");
    }
    let rates = ["elementwise", "functions", "row_reduce", "gather", "random", "products"];
    let found = rates.iter().filter(|class| measured(&format!("operation {class}"), "rate_4")).count();
    assert!(found >= 4, "{out}");
    assert_eq!(run(&["doctor", "-o", named]).0, 2);
    assert_eq!(run(&["doctor", "--model", "-o", "mine.npz"]).0, 1);
}
