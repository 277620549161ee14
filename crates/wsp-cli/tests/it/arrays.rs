//! Programs on AMD AIE arrays: `wsp run`, `emit`, `graph` and `check` with `--target xdna1` and `xdna2`.

use crate::command::{Folder, printed, run};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

const ROWS: [&str; 2] = ["--generate", "rows=32,cols=32"];

fn on(command: &str, file: &str, target: &str, more: &[&str]) -> Vec<String> {
    let args = [command, file, "--target", target].into_iter().chain(more.iter().copied());
    args.map(str::to_owned).collect()
}

fn told(args: &[String]) -> (i32, String, String) {
    run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn results_of_an_array_are_compared_as_those_of_other_targets() {
    for (file, size) in [
        ("examples/aie/scale.wsp", "n=4096"),
        ("examples/aie/mlp.wsp", "rows=32,inputs=16,middle=16,outputs=16"),
        ("examples/row_softmax.pto", "rows=32,cols=32"),
    ] {
        for target in ["xdna1", "xdna2"] {
            let (code, out, err) = told(&on("run", file, target, &["--generate", size, "--check"]));
            assert_eq!(code, 0, "{file} {target}: {out}{err}");
            assert!(out.contains("`y` ok"), "{file} {target}: {out}");
        }
    }
}

#[test]
fn a_design_is_written_the_same_each_time_with_what_it_was_made_from() {
    let folder = Folder::with(&[]);
    let text = |name: &str| {
        let to = folder.path(name).display().to_string();
        let args = on("emit", "examples/pipelines/softmax.wsp", "xdna2", &[&ROWS[..], &["-o", &to]].concat());
        printed(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let read = |file: &str| fs::read_to_string(folder.path(name).join(file)).unwrap();
        (read("design.mlir"), read("manifest.json"))
    };
    let (design, manifest) = text("one");
    assert_eq!(text("two"), (design.clone(), manifest.clone()));
    assert_eq!(design.matches("\"aie.core\"").count(), 3, "{design}");
    assert!(manifest.contains("\"target\": \"xdna2\""), "{manifest}");
    assert!(
        manifest.contains("\"name\": \"x\", \"type\": \"f32\", \"shape\": [32, 32], \"read\": true"),
        "{manifest}"
    );
}

#[test]
fn where_a_program_is_on_an_array_is_drawn() {
    let folder = Folder::with(&[]);
    let to = folder.path("places.svg").display().to_string();
    let more = [&ROWS[..], &["--placement", &to]].concat();
    let (code, out, err) = told(&on("graph", "examples/pipelines/softmax.wsp", "xdna1", &more));
    assert_eq!(code, 0, "{out}{err}");
    let picture = fs::read_to_string(&to).unwrap();
    assert_eq!(picture.matches("<rect").count(), 24, "four columns of six tiles");
    for name in ["load", "exponentials", "divide"] {
        assert!(picture.contains(&format!(">{name}<")), "{picture}");
    }
    let with_deps = [&more[..], &["--deps", "exact"]].concat();
    let (code, _, err) = told(&on("graph", "examples/pipelines/softmax.wsp", "xdna1", &with_deps));
    assert!(code == 1 && err.contains("WSP0882") && err.contains("`--deps` has no effect"), "{err}");
    let with_summary = [&with_deps[..], &["--summary"]].concat();
    let (code, out, err) = told(&on("graph", "examples/pipelines/softmax.wsp", "xdna1", &with_summary));
    assert!(code == 0 && out.contains("exact"), "{out}{err}");
    let (code, _, err) = told(&on("graph", "examples/pipelines/softmax.wsp", "cpu_sim", &more));
    assert!(code == 1 && err.contains("places on tiles"), "{err}");
}

#[test]
fn a_schedule_without_effect_on_an_array_is_told() {
    let folder = Folder::with(&[(
        "stolen.wsp",
        "use \"rows.pto\"; param rows; schedule { dispatch(work_steal); }
         workload main { parallel for i in 0..rows / 8 { normalise(first = 8 * i); } }",
    )]);
    fs::copy(crate::command::root().join("examples/aie/rmsnorm.pto"), folder.path("rows.pto")).unwrap();
    let file = folder.path("stolen.wsp").display().to_string();
    let (code, out, err) = told(&on("run", &file, "xdna1", &ROWS));
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("`dispatch(work_steal)` has no effect on an array"), "{err}");
}

#[test]
fn what_has_no_form_on_an_array_is_told_with_what_to_give() {
    let (code, _, err) =
        told(&on("run", "examples/pipelines/softmax.wsp", "xdna2", &["--generate", "rows=40,cols=32"]));
    assert_eq!(code, 1);
    assert!(err.contains("WSP1880") && err.contains("give it 48"), "{err}");
    let (code, _, err) =
        told(&on("run", "examples/aie/scale.wsp", "xdna2", &["--generate", "n=4096", "--trace", "t.json"]));
    assert!(code == 1 && err.contains("`--trace` has no meaning on target `xdna2`"), "{err}");
}

/// A check says what has no form on an array before it asks for extents of its kernels.
#[test]
fn a_check_of_a_program_with_caches_asks_for_no_extents() {
    let (code, _, err) = told(&on("check", "examples/decode_attention.pto", "xdna2", &[]));
    assert_eq!(code, 1);
    assert!(err.contains("has no form on an array") && !err.contains("--set"), "{err}");
}

/// Tasks are counted before arrays are made, which no memory holds here.
#[test]
fn more_tasks_than_an_array_takes_are_told_before_arrays_are_made() {
    let sizes = "m=1048576,n=1048576,k=1048576";
    let (code, _, err) = told(&on("run", "examples/aie/gemm.wsp", "xdna2", &["--generate", sizes]));
    assert!(code == 1 && err.contains("has 35184372088832 tasks, and an array takes 65536 at most"), "{err}");
    // So are boxes that no tile has.
    for (sizes, elements) in [("rows=4096,cols=30000000", "480000000"), ("rows=16,cols=1048000", "16768000")]
    {
        let (code, _, err) = told(&on("run", "examples/aie/softmax.wsp", "xdna2", &["--generate", sizes]));
        assert!(code == 1 && err.contains(&format!("a box of `x` of {elements} elements")), "{err}");
    }
}

/// What a run refuses before it runs, a check does: of workloads and programs, with the sizes that values tell.
#[test]
fn a_check_maps_routes_and_checks_a_design() {
    for file in ["examples/pipelines/softmax.wsp", "examples/row_softmax.pto"] {
        let with = |set: [&str; 2]| told(&on("check", file, "xdna2", &["--set", set[0], "--set", set[1]]));
        let (code, out, err) = with(["rows=48", "cols=32"]);
        assert_eq!(code, 0, "{file}: {out}{err}");
        for line in ["cores: ", "fifos: ", "placement: "] {
            assert!(out.contains(line), "{file}: {out}");
        }
        let (code, out, err) = with(["rows=40", "cols=32"]);
        assert!(code == 1 && err.contains("WSP1880") && err.contains("give it 48"), "{file}: {out}{err}");
    }
    for (cols, told_of) in [
        ("cols=9223372036854775807", "`cols` is an extent of arrays, and is given as 9223372036854775807"),
        ("cols=4294967295", "there is no memory for `x`"),
    ] {
        let (code, _, err) =
            told(&on("check", "examples/aie/softmax.wsp", "xdna2", &["--set", "rows=65536", "--set", cols]));
        assert!(code == 1 && err.contains(told_of), "{err}");
    }
    let (code, out, err) = told(&on("check", "examples/pipelines/softmax.wsp", "xdna2", &[]));
    let note =
        "what a launch decides was not looked at: cores, places, ways of streams, and the rules of designs";
    assert!(code == 0 && err.contains(note) && err.contains("--set NAME=VALUE"), "{out}{err}");
}

/// An extent that only an output has is a size as others are.
#[test]
fn an_extent_of_an_output_alone_is_set() {
    let folder = Folder::with(&[
        (
            "spread.pto",
            "PTO_SHAPE(x, n)
             PTO_SHAPE(y, n, wide)
             struct Tile { uint32_t row; };
             PTO_KERNEL_IMPL(spread) {
                 auto desc = PTO_GET_DESCRIPTOR<Tile>();
                 VecTile<float, 16, 1> a;
                 VecTile<float, 16, 16> b;
                 TLOAD(a, x, {desc.row});
                 TASSIGN(b, 0.0f);
                 TROWEXPANDADD(b, b, a);
                 TSTORE(y, b, {desc.row, 0});
             }",
        ),
        (
            "spread.wsp",
            "use \"spread.pto\"; param n; workload main { parallel for i in 0..n / 16 { spread(row = 16 * i); } }",
        ),
    ]);
    let (file, to) =
        (folder.path("spread.wsp").display().to_string(), folder.path("to").display().to_string());
    let sizes = |wide: &'static str| ["--set", "n=64", "--set", wide];
    let (code, out, err) = told(&on("check", &file, "xdna2", &sizes("wide=16")));
    assert!(code == 0 && out.contains("cores: 4 of npu2"), "{out}{err}");
    let (code, out, err) = told(&on("emit", &file, "xdna2", &[&sizes("wide=16")[..], &["-o", &to]].concat()));
    assert!(code == 0 && err.is_empty(), "{out}{err}");
    // What tasks leave of it is reported.
    let (code, out, err) = told(&on("check", &file, "xdna2", &sizes("wide=24")));
    let part = "write 1024 of the 1536 elements of `y`";
    assert!(code == 0 && err.contains("WSP1868") && err.contains(part), "{out}{err}");
    assert!(err.contains("have tasks store all of the output"), "{err}");
    let (code, out, err) = told(&on("check", &file, "xdna2", &["--set", "n=64"]));
    assert!(code == 0 && err.contains("the extents of `y` are not known"), "{out}{err}");
}

#[test]
fn options_without_effect_on_an_array_are_refused_by_name() {
    let folder = Folder::with(&[]);
    let [kept, trace] = ["kept", "trace.json"].map(|name| folder.path(name).display().to_string());
    for (file, size) in
        [("examples/aie/scale.wsp", "n=4096"), ("examples/row_softmax.pto", "rows=32,cols=32")]
    {
        for given in [
            ["--isa", "plain"],
            ["--engine", "interpreter"],
            ["--threads", "2"],
            ["--aicpus", "2"],
            ["--expand", "host"],
            ["--expand", "bytecode"],
            ["--cache", &kept],
            ["--replay", "seed=3"],
            ["--trace", &trace],
        ] {
            let (code, _, err) =
                told(&on("run", file, "xdna2", &[&["--generate", size], &given[..]].concat()));
            let want = format!("`{}` has no meaning on target `xdna2`", given[0]);
            assert!(
                code == 1 && err.contains(&want) && err.contains(&format!("leave out `{}`", given[0])),
                "{given:?}: {err}"
            );
        }
        let to = folder.path("design").display().to_string();
        for given in
            [["--stage", "metadata"], ["--stage", "device"], ["--expand", "loops"], ["--expand", "table"]]
        {
            let more = [&["--generate", size, "-o", &to], &given[..]].concat();
            let (code, _, err) = told(&on("emit", file, "xdna2", &more));
            assert!(
                code == 1 && err.contains(&format!("`{}` has no meaning on target `xdna2`", given[0])),
                "{given:?}: {err}"
            );
        }
    }
    assert!(!folder.path("kept").exists() && !folder.path("design").exists());
}

#[test]
fn one_design_is_for_launches_of_several_lengths() {
    let folder = Folder::with(&[]);
    let emit = |file: &str, more: &[&str]| {
        let to = folder.path("design").display().to_string();
        let (code, _, err) = told(&on("emit", file, "xdna2", &[more, &["-o", &to]].concat()));
        (code, err, fs::read_to_string(folder.path("design").join("design.mlir")).unwrap_or_default())
    };
    let rows = ["--set", "cols=64", "--lengths", "rows=32,64"];
    let (code, err, text) = emit("examples/aie/softmax.wsp", &rows);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("\"sequence_rows_32\"") && text.contains("\"sequence_rows_64\""), "{text}");
    let room = ["--generate", "one=1,dim=64,room=64", "--lengths", "tokens=1,60"];
    let (code, err, text) = emit("examples/aie/decode.wsp", &room);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("rtp_write"), "{text}");
    let range = ["--generate", "one=1,dim=64,room=64", "--lengths", "tokens=1..=60"];
    let (code, err, text) = emit("examples/aie/decode.wsp", &range);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("%tokens: i32") && !text.contains("@sequence_"), "{text}");
    let manifest = fs::read_to_string(folder.path("design").join("manifest.json")).unwrap();
    for line in ["\"spelling\": \"2026_09\"", "\"length\": {\"name\": \"tokens\", \"from\": 1, \"to\": 60}"] {
        assert!(manifest.contains(line), "{manifest}");
    }
    let (code, err, _) = emit("examples/aie/decode.wsp", &["--lengths", "tokens=60..=1"]);
    assert!(code == 2 && err.contains("60..=1 goes down: write `--lengths"), "{err}");
    let (code, err, _) = emit("examples/aie/decode.wsp", &["--lengths", "tokens=5..=0"]);
    assert!(code == 2 && err.contains("write `--lengths tokens=1..=5`"), "{err}");
    let (code, err, _) = emit("examples/aie/decode.wsp", &["--lengths", "tokens=99999999999999999999"]);
    let most = "99999999999999999999 is too large: a length is at most 4294967295";
    assert!(code == 2 && err.contains(most), "{err}");
    let twice = [&room[..], &["--set", "tokens=3"]].concat();
    let (code, err, _) = emit("examples/aie/decode.wsp", &twice);
    assert!(code == 1 && err.contains("gives a value to what `--lengths` gives several"), "{err}");
    let to = folder.path("other").display().to_string();
    let (code, _, err) =
        told(&on("emit", "examples/row_softmax.pto", "a2", &["--lengths", "rows=1,2", "-o", &to]));
    assert!(code == 1 && err.contains("`lengths` has no meaning on target `ascend_910b`"), "{err}");
}

#[test]
fn an_extent_that_workload_and_kernels_share_is_set() {
    let folder = Folder::with(&[]);
    let to = folder.path("design").display().to_string();
    let (code, out, err) =
        told(&on("emit", "examples/aie/scale.wsp", "xdna2", &["--set", "n=4096", "-o", &to]));
    assert_eq!(code, 0, "{out}{err}");
    let manifest = fs::read_to_string(folder.path("design").join("manifest.json")).unwrap();
    assert!(manifest.contains("\"shape\": [4096]"), "{manifest}");
}

/// A file of these numbers.
fn npy(path: &Path, numbers: &[f32]) {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
    header += &" ".repeat(117 - header.len());
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    let start = b"\x93NUMPY\x01\x00\x76\x00".iter().copied().chain(header.bytes()).chain([b'\n']);
    fs::write(path, start.chain(bytes).collect::<Vec<u8>>()).unwrap();
}

/// The last bytes of an entry of an archive: its elements.
fn elements(archive: &Path, entry: &str, count: usize) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(File::open(archive).unwrap()).unwrap();
    let mut bytes = Vec::new();
    archive.by_name(&format!("{entry}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
    bytes.split_off(bytes.len() - 4 * count)
}

#[test]
fn an_emitted_design_is_given_back_and_run() {
    let folder = Folder::with(&[]);
    let at = |name: &str| folder.path(name).display().to_string();
    npy(&folder.path("x.npy"), &(0..4096).map(|i| i as f32 - 2000.5).collect::<Vec<_>>());
    let (file, to) = ("examples/aie/scale.wsp", at("design"));
    printed(&["emit", file, "--target", "xdna2", "--set", "n=4096", "-o", &to]);
    let design = format!("{to}/design.mlir");
    let out = printed(&["check", &design]);
    assert!(out.contains("design.mlir: ok") && out.contains("@sequence(x: memref<4096xf32>"), "{out}");
    let given = format!("x={}", at("x.npy"));
    let run_it = |given: &str| run(&["run", &design, "--input", given, "--outputs", &at("of_design.npz")]);
    let (code, out, err) = run_it(&given);
    assert!(code == 0 && out.contains("@sequence ran: ") && out.contains("y f32[4096]"), "{out}{err}");
    let input = format!("x={}", at("x.npy"));
    printed(&["run", file, "--input", &input, "--outputs", &at("of_program.npz")]);
    let other_name = format!("z={}", at("x.npy"));
    let [own, other] = [("of_design.npz", "y"), ("of_program.npz", "y")]
        .map(|(file, entry)| elements(&folder.path(file), entry, 4096));
    assert_eq!(own, other);
    for (args, said) in [
        (vec!["run", &design], "array `x` of the sequence is not given"),
        (vec!["run", &design, "--input", &other_name], "no sequence of the design has an argument `z`"),
        (
            vec!["run", &design, "--input", &given, "--set", "n=3"],
            "no sequence of the design has an argument `n`",
        ),
        (
            vec!["run", &design, "--input", &given, "--set", "x=3"],
            "`x` is an array of the sequence, and is given as a number",
        ),
        (
            vec!["run", &design, "--input", &given, "--threads", "2"],
            "`--threads` has no meaning for a design",
        ),
        (
            vec!["run", &design, "--input", &given, "--target", "xdna2"],
            "`--target` has no meaning for a design",
        ),
        (vec!["check", &design, "--target", "xdna2"], "`--target` has no meaning for a design"),
        (vec!["graph", &design], "is a design of an array"),
    ] {
        let (code, out, err) = run(&args);
        assert!(code == 1 && err.contains(said), "{args:?}: {out}{err}");
    }
    npy(&folder.path("x.npy"), &[1.0; 64]);
    let (code, _, err) = run_it(&given);
    assert!(code == 1 && err.contains("`x` has 64 elements of f32"), "{err}");
}

/// What is wrong is shown where it stands in the file.
#[test]
fn an_edited_design_is_refused_at_its_line() {
    let folder = Folder::with(&[]);
    let to = folder.path("design").display().to_string();
    printed(&["emit", "examples/aie/scale.wsp", "--target", "xdna1", "--set", "n=4096", "-o", &to]);
    let design = format!("{to}/design.mlir");
    let text = fs::read_to_string(&design).unwrap();
    for (from, into, code) in [
        ("\"aie.end\"", "\"aie.and\"", "WSP1801"),
        ("row = 2 : i32", "row = 9 : i32", "WSP1820"),
        ("memref<4096xf32>", "memref<4090xf32>", "WSP1805"),
        ("}", "", "WSP1800"),
    ] {
        let at = text.rfind(from).unwrap_or_else(|| panic!("{from}"));
        fs::write(&design, [&text[..at], into, &text[at + from.len()..]].concat()).unwrap();
        for command in ["check", "run"] {
            let (exit, out, err) = run(&[command, &design]);
            assert!(exit == 1 && err.contains(code) && err.contains("design.mlir:"), "{from}: {out}{err}");
        }
    }
}

/// What no launch can give a sequence is wrong with a design, whether it is looked at or run.
#[test]
fn a_check_of_a_design_finds_what_a_run_of_it_does() {
    let folder = Folder::with(&[]);
    let to = folder.path("design").display().to_string();
    printed(&["emit", "examples/aie/scale.wsp", "--target", "xdna1", "--set", "n=4096", "-o", &to]);
    let design = format!("{to}/design.mlir");
    let text = fs::read_to_string(&design).unwrap();
    let verdicts = |from: &str, into: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(&design, text.replace(from, into)).unwrap();
        ["check", "run"].map(|command| run(&[command, &design]))
    };
    for (code, out, err) in verdicts("^bb0(%x: memref<4096xf32>", "^bb0(%part: f32, %x: memref<4096xf32>") {
        assert!(code == 1 && err.contains("WSP1862") && err.contains("`part` is `f32`"), "{out}{err}");
        assert!(err.contains("design.mlir:"), "{err}");
    }
}
