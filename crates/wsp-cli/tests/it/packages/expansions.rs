//! Packages of task graphs, parts of packages, and expansions that programs lack.

use super::beside::compile;
use super::workloads::{ROWS, STEPS};
use super::{TWO_KERNELS, built, cache, device_library, hosted, launched, linked, numbers, runs_to, save};
use crate::command::{Folder, ended, run, wsp};
use std::path::Path;
use std::process::Command;
use wsp_plan::Array;

/// Two kernels of task graphs, the second over rows that other blocks of the first wrote.
const PAIR: &str = "#include <pto/pto-inst.hpp>
PTO_SHAPE(a, rows, 32)
PTO_SHAPE(b, rows, 32)
PTO_SHAPE(c, rows, 32)
PTO_KERNEL_IMPL(double_entry, Tensor<float> a, Tensor<float> b) {
    for (uint32_t r = get_block_idx() * 8; r < rows; r += get_block_num() * 8) {
        VecTile<float, 8, 32> t; TLOAD(t, a, {r}); TMULS(t, t, 2.0f); TSTORE(b, t, {r});
    }
}
PTO_KERNEL_IMPL(swap_entry, Tensor<float> b, Tensor<float> c) {
    for (uint32_t r = get_block_idx() * 8; r < rows; r += get_block_num() * 8) {
        VecTile<float, 8, 32> t; TLOAD(t, b, {rows - 8 - r}); TADDS(t, t, 1.0f); TSTORE(c, t, {r});
    }
}
";

/// A graph of them.
const GRAPH: &str = "use \"pair.pto\"
extern A: f32[64, 32]
extern C: f32[64, 32]
TG_BEGIN(PAIR)
TG_KERNEL(DOUBLE, double_entry, 4, AIV, 0)
TG_KERNEL(SWAP, swap_entry, 3, AIV, 0)
TG_DEPEND(DOUBLE, SWAP, DATA, B)
MC_ALLOC(B, 64*32*4, 512, GM)
MC_BIND(DOUBLE, 0, A)
MC_BIND(DOUBLE, 1, B)
MC_BIND(SWAP, 0, B)
MC_BIND(SWAP, 1, C)
TG_END(PAIR)
TG_LAUNCH(PAIR, main)
TG_SYNC(PAIR)
";

#[test]
fn a_task_graph_of_kernels_runs_as_a_package() {
    let without = GRAPH.replace("use \"pair.pto\"", "");
    let twice = format!("{GRAPH}TG_LAUNCH(PAIR, main)\n");
    let kept = GRAPH.replace("TG_END(PAIR)", "TG_CHECKPOINT(PAIR, 1)\nTG_END(PAIR)");
    let files = [
        ("pair.pto", PAIR),
        ("pair.tg", GRAPH),
        ("bare.tg", &without),
        ("twice.tg", &twice),
        ("kept.tg", &kept),
    ];
    let folder = Folder::with(&files);
    let (code, out, err) =
        hosted(&folder, &["run", &folder.at("pair.tg"), "--target", "ascend_host", "--check"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("`C` ok: max error 0.00e0"), "{out}");
    let said =
        |name: &str| out.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.trim().to_owned()));
    let counts = ["launches", "kernels"].map(|name| said(name).unwrap_or_default());
    assert_eq!(counts, ["1", "2 invocations, 7 blocks"], "{out}");
    assert!(said("memory").is_none(), "a package does not measure it: {out}");
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let (inputs, outputs) = (folder.path("inputs"), folder.path("outputs"));
    let a = numbers(1, 64 * 32);
    save(&inputs, "A", &Array::of(&[64, 32], &a).unwrap());
    let want = launched(package, &inputs, &outputs, &["--serial"]);
    let c = pto_wsp::npy::read("C", &want[0]).unwrap();
    assert_eq!(c.as_slice::<f32>().unwrap()[0], 2.0 * a[56 * 32] + 1.0);
    runs_to(package, &inputs, &outputs, &[], &want);
    for (file, word) in [
        ("bare.tg", "no body"),
        ("twice.tg", "more than one graph"),
        ("twice.tg", "`--stage graph` writes the C++"),
        ("kept.tg", "no NPU has `TG_CHECKPOINT`"),
    ] {
        let to = folder.at("none");
        let (code, _, err) = run(&["emit", &folder.at(file), "--target", "a2", "-o", &to]);
        assert!(code == 1 && err.contains(word), "{file}: {err}");
        // No help leads into the next error, and none names what Rust has.
        assert_eq!(err.contains("--stage graph"), file != "kept.tg", "{file}: {err}");
        assert!(!err.contains("PackagePart"), "{file}: {err}");
        assert!(!Path::new(&to).exists(), "{file}");
    }
}

/// Kernels whose tensors are others each time are walked, as what numbers pick is.
#[test]
fn an_entry_is_launched_twice_over_other_tensors() {
    let again = "TG_KERNEL(AGAIN, double_entry, 2, AIV, 0)\nTG_DEPEND(SWAP, AGAIN, DATA, C)\nMC_BIND(AGAIN, 0, C)\nMC_BIND(AGAIN, 1, D)\nTG_END(PAIR)";
    let text = GRAPH.replace("TG_END(PAIR)", again).replace("TG_BEGIN", "extern D: f32[64, 32]\nTG_BEGIN");
    let folder = Folder::with(&[("pair.pto", PAIR), ("again.tg", &text)]);
    let mut command = wsp(&["run", &folder.at("again.tg"), "--target", "ascend_host", "--check"]);
    command.env("XDG_CACHE_HOME", super::cache(&folder)).env("WSP_DEVICE_LIB", device_library());
    let (code, out, err) = ended(command);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        ["`C` ok: max error 0.00e0", "`D` ok: max error 0.00e0"].iter().all(|word| out.contains(word)),
        "{out}"
    );
}

#[test]
fn what_packages_do_not_have_is_not_offered() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let file = folder.at("two.pto");
    let (code, _, err) = run(&["emit", &file, "--target", "ascend_910", "-o", &folder.at("p")]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("ascend_910b") && !err.contains("cpu_sim") && !err.contains("ascend_host"), "{err}");
    let host = ["run", &file, "--target", "ascend_host", "--generate", "--expand", "host"];
    let (code, _, err) = hosted(&folder, &host);
    assert!(code == 1 && err.contains("`--expand host` is for `cpu_sim`"), "{err}");
}

/// Two kernels that start together; rounds that a number decides, one of which runs more, then rounds that a tensor decides, from one buffer to the other, between copies.
const ROUNDS: &str = "use \"pair.pto\"
const BYTES = 64*32*4
extern A: f32[64, 32]
extern C: f32[64, 32]
extern D: f32[64, 32]
extern E: f32[64, 32]
TG_BEGIN(ROUNDS)
TG_KERNEL(ONE, double_entry, 2, AIV, 0)
MC_BIND(ONE, 0, A)
MC_BIND(ONE, 1, D)
TG_KERNEL(OTHER, swap_entry, 3, AIV, 0)
MC_BIND(OTHER, 0, A)
MC_BIND(OTHER, 1, E)
SY_BARRIER({ONE, OTHER}, 0)
MC_ALLOC(PING, BYTES)
MC_ALLOC(PONG, BYTES)
MC_ALLOC(LEFT, 4)
MC_COPY(A, PING, BYTES)
CF_LOOP(100, STEP)
  TG_KERNEL(SWAP, swap_entry, 3, AIV, 0)
  MC_BIND(SWAP, 0, {PING, PONG}[STEP % 2])
  MC_BIND(SWAP, 1, {PONG, PING}[STEP % 2])
  CF_IF(STEP == 41)
    TG_KERNEL(AGAIN, swap_entry, 2, AIV, 0)
    TG_DEPEND(SWAP, AGAIN, DATA, PING)
    MC_BIND(AGAIN, 0, {PONG, PING}[STEP % 2])
    MC_BIND(AGAIN, 1, C)
  CF_ENDIF
CF_ENDLOOP
TG_KERNEL(BEGIN, begin_entry, 1, AIV, 0)
MC_BIND(BEGIN, 0, LEFT)
CF_WHILE(LEFT, 9)
  TG_KERNEL(DOUBLE, double_entry, 4, AIV, 0)
  MC_BIND(DOUBLE, 0, PING)
  MC_BIND(DOUBLE, 1, PONG)
  MC_COPY(PONG, PING, BYTES)
  TG_KERNEL(COUNT, count_entry, 1, AIV, 0)
  MC_BIND(COUNT, 0, LEFT)
CF_ENDWHILE
MC_COPY(PING, C, BYTES / 2)
TG_END(ROUNDS)
TG_LAUNCH(ROUNDS, main)
TG_SYNC(ROUNDS)
";

/// Kernels that count rounds.
const COUNTS: &str = "
PTO_SHAPE(left, 1)
PTO_KERNEL_IMPL(begin_entry, Tensor<int32_t> left) { PTO_STORE_SCALAR(left, 3, {0}); }
PTO_KERNEL_IMPL(count_entry, Tensor<int32_t> left) { PTO_STORE_SCALAR(left, PTO_LOAD_SCALAR(left, {0}) - 1, {0}); }
";

#[test]
fn a_task_graph_with_loops_conditions_and_copies_is_walked_by_aicpus() {
    let kernels = format!("{PAIR}{COUNTS}");
    let folder = Folder::with(&[("pair.pto", &kernels), ("rounds.tg", ROUNDS)]);
    let (inputs, outputs, file) = (folder.path("inputs"), folder.path("outputs"), folder.at("rounds.tg"));
    save(&inputs, "A", &Array::of(&[64, 32], &numbers(1, 64 * 32)).unwrap());
    let a = format!("A={}", inputs.join("A.npy").display());
    let ran = |target: &str| {
        let to = folder.at(target);
        let mut command = wsp(&["run", &file, "--input", &a, "--target", target, "--outputs", &to]);
        command.env("XDG_CACHE_HOME", cache(&folder)).env("WSP_DEVICE_LIB", device_library());
        let (code, out, err) = ended(command);
        assert_eq!(code, 0, "{out}{err}");
        let kernels = out.lines().find(|line| line.trim().starts_with("kernels"));
        (std::fs::read(to).unwrap(), kernels.unwrap_or_else(|| panic!("{target}: {out}")).to_owned())
    };
    let [(plain, counted), (bytes, of_package)] = ["cpu_sim", "ascend_host"].map(ran);
    assert!(plain == bytes);
    assert_eq!(counted, of_package);
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let want = launched(package, &inputs, &outputs, &["--serial"]);
    runs_to(package, &inputs, &outputs, &[], &want);
}

#[test]
fn stages_of_a_package_are_written_by_themselves() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS), ("pair.pto", PAIR), ("pair.tg", GRAPH)]);
    let of = |file: &str, stage: &str| {
        let to = folder.at(&format!("{stage}_{file}"));
        let args = ["emit", &folder.at(file), "--target", "a2", "--stage", stage, "-o", &to];
        let (code, out, err) = run(&args);
        assert_eq!(code, 0, "{err}");
        let files = out.lines().map(|path| path.replace(&format!("{to}/"), ""));
        files.filter(|path| !path.starts_with("include/")).collect::<Vec<_>>()
    };
    let metadata = ["kernel_list.h", "kernel_ids.h", "task_abi.h", "manifest.json"];
    assert_eq!(of("two.pto", "metadata"), metadata);
    assert_eq!(of("pair.tg", "metadata"), metadata);
    // Of what has no kernels of its own, those that its tasks call.
    let pair = ["kernels/double_entry.cpp", "kernels/swap_entry.cpp", "manifest.json"];
    assert_eq!(of("pair.tg", "kernels"), pair);
    assert_eq!(of("two.pto", "kernels"), ["attn_kernel.cpp", "mlp_kernel.cpp"]);
    let device = of("two.pto", "device");
    assert!(device.iter().all(|path| !path.starts_with("host/") && path != "main.cpp"), "{device:?}");
    assert!(device.contains(&"kernels/attn_kernel.cpp".to_owned()), "{device:?}");
    let cmake = folder.read("device_two.pto/CMakeLists.txt");
    assert!(!cmake.contains("PTO_HOST") && cmake.contains("add_library(orchestration"), "{cmake}");
}

/// Against a header that has the calls of the runtime, which is a file of the tests of `wsp-ascend`.
#[test]
fn orchestration_of_each_kind_compiles_for_the_public_task_runtime() {
    let header = include_str!("../../../../wsp-ascend/tests/shipped/runtime/pto_orchestration_api.h");
    let files = [("two.pto", TWO_KERNELS), ("pair.pto", PAIR), ("pair.tg", GRAPH), ("rows.pto", ROWS)];
    let folder =
        Folder::with(&[&files[..], &[("rows.wsp", STEPS), ("pto_orchestration_api.h", header)]].concat());
    for (name, args) in [
        ("loops", &["two.pto"][..]),
        ("table", &["two.pto", "--expand", "table", "--generate", "rows=40"]),
        ("interpreted", &["two.pto", "--expand", "bytecode"]),
        ("graph", &["pair.tg"]),
        ("workload", &["rows.wsp", "--generate"]),
        ("bytecode", &["rows.wsp", "--generate", "--expand", "bytecode"]),
    ] {
        let (to, file) = (folder.at(name), folder.at(args[0]));
        let emit = [&["emit", &file, "--target", "a2", "-o", &to], &args[1..]].concat();
        let (code, _, err) = run(&emit);
        assert_eq!(code, 0, "{name}: {err}");
        let options = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-pedantic", "-DWSP_TASK_RUNTIME"];
        let folders = ["-I..", "-Iinclude", "-Ihost", "-Ihost/include", "-I.", "orchestration.cpp"];
        compile(&folder.path(name), &[&options[..], &folders].concat());
    }
}

/// A generator with every kind of statement and of arithmetic, and variables that go from task to task.
const GENERATOR: &str = r"PTO_SHAPE(lens, count)
PTO_PARAM(uint32_t, rows, 18)
PTO_PARAM(float, scale, 2.5f)
PTO_SHAPE(y, rows, 16)
PTO_SPACE(All) { PTO_AXIS(at, 0, count) PTO_AXIS(part, 0, 2) }
PTO_SCHEDULE(Strict) { PTO_ORDER(at, PTO_SEQUENTIAL_STRICT) PTO_PRIORITY(part) }
struct Value { uint32_t row, value; };
uint32_t bits(const uint32_t* of, uint32_t n) {
    uint32_t found = 0;
    uint32_t left = *std::max_element(of, of + n);
    while (left > 0) {
        left = left >> 1;
        if (left % 2 == 1) continue;
        found += 1;
        if (found > 20) return 7;
    }
    return found;
}
int32_t fall(int32_t from) {
    int32_t sum = 0;
    for (int32_t i = from; i < 3; ++i) {
        if (i == 2 || i < -4) break;
        sum += -i * 2 - (i % 3);
    }
    return sum;
}
PTO_DESCRIPTOR_GEN(All) {
    uint32_t row = 0;
    uint64_t wide = 1;
    double share = 0.5;
    uint32_t most = bits(lens, count);
    PTO_APPLY_SCHEDULE(Strict);
    PTO_SCHEDULED_FOR(at, part) {
        uint32_t len = lens[at];
        if (len == 0 && part == 1) continue;
        wide = (wide * 3) ^ (uint64_t)len | 1;
        wide = wide & 65535;
        share = share * 0.75 + (double)len;
        float root = sqrt(scale * len);
        int32_t fallen = fall(-3 - (int32_t)part);
        bool odd = len % 2 == 1 || (part == 1 && !(len > 4));
        uint32_t value = odd ? (uint32_t)wide % 1000 : (uint32_t)share;
        value = PTO_MAX(value, most) + (uint32_t)root + (uint32_t)PTO_MAX(fallen, 0) + PTO_MIN(len << 2, 9);
        PTO_EMIT_DESCRIPTOR(Value{ .row = row, .value = value });
        row += 1;
    }
    PTO_EMIT_DESCRIPTOR(Value{ .row = row, .value = PTO_GET_MAX_BLOCKS() });
}
PTO_KERNEL_IMPL(write) {
    auto desc = PTO_GET_DESCRIPTOR<Value>();
    VecTile<float, 1, 16> t;
    TASSIGN(t, (float)desc.value, 1, 16);
    TSTORE(y, t, {desc.row, 0});
}
void all(Tensor<uint32_t> lens, Tensor<float> y) { PTO_LAUNCH(All, { .lens = lens, .y = y }); }
";

#[test]
fn generators_that_aicpus_interpret_make_the_tasks_of_a_plain_run() {
    let folder = Folder::with(&[("all.pto", GENERATOR)]);
    let (inputs, outputs, file) = (folder.path("inputs"), folder.path("outputs"), folder.at("all.pto"));
    save(&inputs, "lens", &Array::of(&[9], &[5u32, 0, 17, 300, 4, 1, 2, 64, 9]).unwrap());
    let lens = format!("lens={}", inputs.join("lens.npy").display());
    let ran = |more: &[&str], to: &str| {
        let args = ["run", &file, "--input", &lens, "--outputs", &folder.at(to)];
        let (code, out, err) = hosted(&folder, &[&args[..], more].concat());
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("18 write"), "{out}");
        std::fs::read(folder.path(to)).unwrap()
    };
    let plain = ran(&[], "plain.npz");
    let on_aicpus = ran(&["--target", "ascend_host", "--expand", "bytecode", "--aicpus", "4"], "aicpus.npz");
    assert!(plain == on_aicpus);
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let want = launched(package, &inputs, &outputs, &["--serial"]);
    runs_to(package, &inputs, &outputs, &[], &want);
    // What does not fit its type ends the run as it does in loops, with the place in the source.
    let (code, _, err) = run(&["emit", &file, "--target", "a2", "-o", &folder.at("loops")]);
    assert_eq!(code, 0, "{err}");
    linked(&folder.path("loops"), package, &[]);
    save(&inputs, "lens", &Array::of(&[1], &[u32::MAX]).unwrap());
    for package in [package, &folder.path("loops")] {
        let mut other = Command::new(package.join("run"));
        other.arg("--inputs").arg(&inputs).arg("--outputs").arg(&outputs);
        let (code, _, err) = ended(other);
        assert_eq!(code, 1);
        let want = "arithmetic overflow: a result does not fit its type, at all.pto:43:96: `len << 2`";
        assert!(err.contains(want), "{err}");
    }
}

/// Without it a launch would have the value of the file, and nothing would say so.
#[test]
fn what_is_set_is_what_launches_of_the_package_have_unless_told_otherwise() {
    let folder = Folder::with(&[("all.pto", GENERATOR), ("rows.pto", ROWS), ("rows.wsp", STEPS)]);
    save(&folder.path("inputs"), "lens", &Array::of(&[2], &[5u32, 3]).unwrap());
    let lens = format!("lens={}", folder.path("inputs/lens.npy").display());
    for (file, data, set, value) in [
        ("all.pto", &["--input", &*lens][..], "scale=4.75", "4.75"),
        ("rows.wsp", &["--generate"], "rounds=1313", "1313"),
    ] {
        let program = |name: &str, more: &[&str]| {
            let (to, file) = (folder.at(name), folder.at(file));
            let args = ["emit", &file, "--target", "a2", "-o", &to];
            let (code, _, err) = run(&[&args[..], data, more].concat());
            assert_eq!(code, 0, "{err}");
            folder.read(&format!("{name}/program.hpp"))
        };
        let without = program(&format!("without_{file}"), &[]);
        let with = program(&format!("with_{file}"), &["--set", set]);
        assert!(!without.contains(value) && with.contains(value), "{file}");
    }
}

#[test]
fn expansions_that_a_program_lacks_are_refused() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS), ("rows.pto", ROWS), ("rows.wsp", STEPS)]);
    let (two, rows, to) = (folder.at("two.pto"), folder.at("rows.wsp"), folder.at("none"));
    for (args, word) in [
        (&["emit", &two, "--target", "a2", "-o", &to, "--expand", "table"][..], "needs the launch"),
        (&["emit", &two, "--target", "a2", "-o", &to, "--stage", "kernels", "--expand", "loops"], "--expand"),
        (
            &["emit", &rows, "--target", "a2", "-o", &to, "--stage", "kernels", "--expand", "table"],
            "the same for all",
        ),
        (
            &["emit", &two, "--target", "a2", "-o", &to, "--stage", "metadata", "--expand", "bytecode"],
            "the same for all",
        ),
        (&["run", &two, "--expand", "loops"], "for packages"),
        (&["run", &rows, "--expand", "table"], "`--expand table` is for packages"),
        (&["run", &rows, "--target", "ascend_host", "--expand", "host"], "is for `cpu_sim`"),
    ] {
        let (code, _, err) = hosted(&folder, args);
        assert!(code != 0 && err.contains(word), "{args:?}: {err}");
        assert!(!Path::new(&to).exists(), "{args:?}");
    }
}
