//! Packages for Ascend: emitted, built by the host's compiler, and run on simulated cores, by `wsp run --target ascend_host` and by
//! themselves. What they compute is compared with references in f64, and with a run of `cpu_sim`.

mod beside;
mod edits;
mod ended;
mod expansions;
mod faults;
mod folders;
mod halves;
mod host;
mod trials;
mod workloads;

use crate::command::{Folder, ended, run, wsp};
use pto_wsp::backend::npu::{COMMON_SOURCES, OWN_SOURCES};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use wsp_core::DType;
use wsp_plan::Array;

/// Runs `wsp` with packages in a folder of the test.
fn hosted(folder: &Folder, args: &[&str]) -> (i32, String, String) {
    let mut command = wsp(args);
    command.env("XDG_CACHE_HOME", cache(folder));
    ended(command)
}

/// A folder for packages of the test, whose objects are those of all tests: each is compiled once.
fn cache(folder: &Folder) -> PathBuf {
    let (own, packages) = (folder.path("cache"), folder.path("cache/pto-wsp/packages"));
    let objects = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package-objects");
    std::fs::create_dir_all(&objects).unwrap();
    std::fs::create_dir_all(&packages).unwrap();
    #[cfg(unix)]
    if let Err(fault) = std::os::unix::fs::symlink(&objects, packages.join("objects")) {
        assert_eq!(fault.kind(), std::io::ErrorKind::AlreadyExists, "{fault}");
    }
    own
}

/// The packages that were built.
fn built(folder: &Folder) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder.path("cache/pto-wsp/packages")).unwrap();
    all.map(|entry| entry.unwrap().path()).filter(|path| path.join("run").is_file()).collect()
}

fn save(folder: &Path, name: &str, array: &Array) {
    std::fs::create_dir_all(folder).unwrap();
    pto_wsp::npy::write(&mut File::create(folder.join(format!("{name}.npy"))).unwrap(), array).unwrap();
}

/// Numbers from -1 to 1 that follow from a seed.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// The bits of a number of 1024ths in f16, which holds it exactly.
fn half_bits(x: f32) -> u16 {
    let whole = (x * 1023.0) as i32;
    let sign = u16::from(whole < 0) << 15;
    let Some(place) = whole.unsigned_abs().checked_ilog2() else { return sign };
    let fraction = (whole.unsigned_abs() << (10 - place)) & 0x3FF;
    sign | ((place + 5) << 10) as u16 | fraction as u16
}

/// Decoding over pages of 16 tokens in any order: 8 query heads, 2 heads of 64 lanes.
fn decode(folder: &Path, lengths: &[u32]) {
    let pages = |length: &u32| length.div_ceil(16);
    let count: u32 = lengths.iter().map(pages).sum();
    let halves = |seed, count| numbers(seed, count).into_iter().map(half_bits).collect::<Vec<_>>();
    let rows = lengths.len();
    let of = |shape: &[usize], seed| {
        let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
        let bits = Array::of(&shape, &halves(seed, shape.iter().product::<u64>() as usize)).unwrap();
        bits.reinterpret(DType::F16).unwrap()
    };
    save(folder, "q", &of(&[rows, 8, 1, 64], 1));
    save(folder, "kv.k", &of(&[count as usize, 16, 2, 64], 2));
    save(folder, "kv.v", &of(&[count as usize, 16, 2, 64], 3));
    let mut indptr = vec![0u32];
    for length in lengths {
        indptr.push(indptr.last().unwrap() + pages(length));
    }
    let last: Vec<u32> =
        lengths.iter().map(|length| if *length == 0 { 0 } else { (length - 1) % 16 + 1 }).collect();
    let indices: Vec<u32> = (0..count).map(|page| (page * 7 + 3) % count.max(1)).collect();
    let words = |words: &[u32]| Array::of(&[words.len() as u64], words).unwrap();
    assert!(
        count.is_multiple_of(7)
            || indices.iter().collect::<std::collections::BTreeSet<_>>().len() == count as usize
    );
    save(folder, "kv_lens", &words(lengths));
    save(folder, "kv.indptr", &words(&indptr));
    save(folder, "kv.indices", &words(&indices));
    save(folder, "kv.last_page_len", &words(&last));
}

/// Runs a package, and gives the bytes of its outputs.
fn launched(package: &Path, inputs: &Path, outputs: &Path, options: &[&str]) -> Vec<Vec<u8>> {
    let _ = std::fs::remove_dir_all(outputs);
    std::fs::create_dir_all(outputs).unwrap();
    let mut command = Command::new(package.join("run"));
    command.arg("--inputs").arg(inputs).arg("--outputs").arg(outputs).args(options);
    let (code, _, err) = ended(command);
    assert_eq!((code, err.as_str()), (0, ""), "{options:?}");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(outputs).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// The interpreter of workloads, built once; the tests of emitted graphs build it in the same place.
fn device_library() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph/device");
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wsp-device"));
    build.args([
        "rustc",
        "--quiet",
        "--offline",
        "--lib",
        "--profile",
        "device",
        "--crate-type",
        "staticlib",
    ]);
    build.args(["--features", "panic-handler", "--target-dir"]).arg(&folder);
    let (code, _, err) = ended({
        build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        build
    });
    assert_eq!(code, 0, "{err}");
    folder.join("device/libwsp_device.a")
}

/// Writes `all.cpp`, which has the program of a package in one file.
fn in_one_file(package: &Path) {
    let all = COMMON_SOURCES.iter().chain(&OWN_SOURCES).map(|source| format!("#include \"{source}.cpp\"\n"));
    std::fs::write(package.join("all.cpp"), all.collect::<String>()).unwrap();
}

/// Sources whose objects several packages share: kernels, and what all packages have in common.
fn shared_sources() -> impl Iterator<Item = &'static str> {
    ["aicore_dispatch"].into_iter().chain(COMMON_SOURCES)
}

/// Builds a package from an emitted folder with the compiled kernels of another, which has the same ones, and with what all packages have in common.
fn linked(package: &Path, kernels: &Path, libraries: &[&Path]) {
    linked_with(package, kernels, libraries, &["-DPTO_PLATFORM=a2"]);
}

fn linked_with(package: &Path, kernels: &Path, libraries: &[&Path], options: &[&str]) {
    let same = |file: &str| {
        let of = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert!(of(package) == of(kernels), "{file}");
    };
    ["aicore_dispatch.cpp", "kernel_list.h", "task_abi.h"].into_iter().for_each(same);
    let mut compile = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    compile.current_dir(package).args(["-std=c++17", "-O0", "-pthread", "-DWSP_ONE_FILE"]);
    compile.args(["-I.", "-Iinclude", "-Ihost"]);
    let own = OWN_SOURCES.iter().filter(|source| !shared_sources().any(|shared| shared == **source));
    let objects = shared_sources().map(|source| Path::new(source).with_extension("o"));
    compile
        .args(own.map(|source| format!("{source}.cpp")))
        .args(options)
        .args(objects.map(|object| kernels.join(object.file_name().unwrap())))
        .args(libraries)
        .args(["-Wl,--gc-sections", "-o", "run"]);
    let (code, _, err) = ended(compile);
    assert_eq!(code, 0, "{err}");
}

/// Runs a package on AICPUs, with windows and seeds, and compares each run with `want`.
fn runs_to(package: &Path, inputs: &Path, outputs: &Path, set: &[&str], want: &[Vec<u8>]) {
    let seeds = std::env::var("WSP_CASES").map_or(3, |cases| cases.parse::<u32>().unwrap());
    println!("{seeds} seeds");
    for (aicpus, window) in [("1", "1"), ("1", "1024"), ("4", "1"), ("4", "1024")] {
        for seed in 0..seeds {
            let options = ["--aicpus", aicpus, "--window", window, "--seed", &seed.to_string()];
            let options = [set, &options].concat();
            assert!(launched(package, inputs, outputs, &options) == want, "{options:?}");
        }
    }
}

#[test]
fn a_package_computes_the_same_bits_in_every_order_of_steps() {
    let folder = Folder::with(&[]);
    let (inputs, outputs) = (folder.path("inputs"), folder.path("outputs"));
    decode(&inputs, &[200, 64, 7, 300, 0]);
    let names = ["q", "kv.k", "kv.v", "kv_lens", "kv.indptr", "kv.indices", "kv.last_page_len"];
    let given: Vec<String> =
        names.iter().map(|name| format!("{name}={}", inputs.join(format!("{name}.npy")).display())).collect();
    let mut args = vec![
        "run",
        "examples/decode_attention.pto",
        "--target",
        "ascend_host",
        "--check",
        "--set",
        "chunk=64",
    ];
    given.iter().for_each(|given| args.extend(["--input", given]));
    let (code, out, err) = hosted(&folder, &args);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("`output` ok") && out.contains("`lse` ok"), "{out}");
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let set = ["--set", "chunk=64"];
    let want = launched(package, &inputs, &outputs, &[&set[..], &["--serial"]].concat());
    assert_eq!(want.len(), 2);
    for aicpus in ["1", "4"] {
        for window in ["1", "1024"] {
            for seed in 0..25 {
                let seed = seed.to_string();
                let options = ["--aicpus", aicpus, "--window", window, "--seed", &seed];
                let options = [&set[..], &options].concat();
                assert!(launched(package, &inputs, &outputs, &options) == want, "{options:?}");
            }
        }
    }
    for seed in ["1", "2", "3", "4", "5"] {
        let options = [&set[..], &["--threads", "3", "--aicpus", "2", "--seed", seed]].concat();
        assert!(launched(package, &inputs, &outputs, &options) == want, "{options:?}");
    }
    // What interprets generators hands over the same tasks, and so does a table of them, of no other launch.
    let table = folder.at("table");
    for (expand, to) in [("bytecode", &folder.at("bytecode")), ("table", &table)] {
        let emit = ["emit", args[1], "--target", "a2", "--expand", expand, "-o", to];
        let (code, _, err) = run(&[&emit[..], &args[5..]].concat());
        assert_eq!(code, 0, "{err}");
        linked(Path::new(to), package, &[]);
        runs_to(Path::new(to), &inputs, &outputs, &set, &want);
    }
    decode(&folder.path("others"), &[200, 64, 9, 300, 0]);
    let mut other = Command::new(Path::new(&table).join("run"));
    other.arg("--inputs").arg(folder.path("others")).arg("--outputs").arg(&outputs).args(set);
    let (code, _, err) = ended(other);
    assert_eq!(code, 1);
    assert!(err.contains(" is 9, and the tasks of this package are those of a launch with 7"), "{err}");
    // Without a compiler what was built runs on.
    let mut again = wsp(&args);
    again.env("XDG_CACHE_HOME", cache(&folder)).env("CXX", "no-such-compiler");
    assert_eq!(ended(again).0, 0);
}

#[test]
fn programs_of_every_form_run_as_packages() {
    let folder = Folder::with(&[]);
    let all = [
        // Several stages, a tensor as long as tasks store.
        ("examples/decode_graph.pto", "len=300/7/0/520,heads=4/2,dim=32", 2),
        // Lists of the largest, in several tasks.
        ("examples/topk_indexer/indexer.pto", "", 2),
        ("examples/row_softmax.pto", "", 1),
        // Tables of experts, ragged rows, products.
        ("examples/moe/moe.pto", "", 1),
        ("examples/ragged_prefill/prefill.pto", "", 2),
        ("examples/llama_layer/layer.pto", "", 1),
        ("examples/attention/alibi.pto", "", 2),
        ("examples/attention/cascade.pto", "", 2),
        ("examples/attention/decode.pto", "", 2),
        ("examples/attention/extend.pto", "", 2),
        ("examples/attention/gpt_oss.pto", "", 2),
        ("examples/attention/merge_states.pto", "", 2),
        ("examples/attention/mla.pto", "", 2),
        ("examples/attention/prefill_decode.pto", "", 6),
        ("examples/attention/rope.pto", "", 2),
        ("examples/attention/rope_speculative.pto", "", 2),
        ("examples/attention/shared_prefix.pto", "", 2),
        ("examples/attention/sinks.pto", "", 2),
        ("examples/attention/sliding_window.pto", "", 2),
        ("examples/attention/soft_cap.pto", "", 2),
        ("examples/attention/speculative.pto", "", 2),
        // Processes, of which one keeps sums of products.
        ("examples/pipelines/softmax.wsp", "", 1),
        ("examples/pipelines/reduce.wsp", "", 2),
        ("examples/pipelines/gemm.wsp", "m=200,n=130,k=300", 1),
    ];
    let cases = std::env::var("WSP_CASES").map_or(1, |cases| cases.parse::<usize>().unwrap());
    println!("{} programs", cases.min(all.len()));
    for (file, spec, checks) in all.into_iter().take(cases) {
        let args = ["run", file, "--target", "ascend_host", "--check", "--aicpus", "4", "--generate", spec];
        let (code, out, err) = hosted(&folder, &args);
        assert_eq!(code, 0, "{file}: {out}{err}");
        assert_eq!(out.matches(" ok: max error").count(), checks, "{file}: {out}");
    }
}

#[test]
fn a_package_is_the_same_bytes_each_time_and_as_long_as_the_program() {
    let folder = Folder::with(&[]);
    let emitted = |to: &str, lengths: &str| {
        let to = folder.at(to);
        let spec = format!("len={lengths}");
        let args =
            ["emit", "examples/decode_attention.pto", "--target", "a2", "--generate", &spec, "-o", &to];
        let (code, out, err) = run(&args);
        assert_eq!(code, 0, "{err}");
        let files = out.lines().map(|path| (path.replace(&to, ""), std::fs::read(path).unwrap()));
        files.collect::<Vec<_>>()
    };
    let small = emitted("a", "1");
    assert!(small == emitted("b", "70000/3/5/9"), "the text depends on what a launch decides");
    for name in ["/kernel_list.h", "/orchestration.cpp", "/CMakeLists.txt", "/manifest.json", "/task_abi.h"] {
        let (_, text) = small.iter().find(|(path, _)| path == name).unwrap();
        let text = String::from_utf8(text.clone()).unwrap();
        assert!(name == "/CMakeLists.txt" || !text.contains("${"), "{name}");
        assert!(!text.contains(&*folder.path("").display().to_string()), "{name}");
    }
}

/// What a package of rows of 64 `f32` is not made for.
fn refuses(folder: &Folder, package: &Path) {
    let program = package.join("run").display().to_string();
    let ended = |options: &[&str]| {
        let mut command = Command::new(&program);
        command.args(options);
        ended(command)
    };
    let (inputs, outputs) = (folder.path("refused"), folder.at("refused.npz"));
    save(&inputs, "x", &Array::of(&[4, 64], &numbers(1, 256)).unwrap());
    save(&inputs, "other", &Array::of(&[4], &numbers(1, 4)).unwrap());
    let given = inputs.display().to_string();
    for (options, word) in [
        (&["--inputs", &given][..], "`--outputs FILE.npz` is missing"),
        (&["--inputs", &given, "--outputs"], "`--outputs` lacks its value"),
        (&["--inputs", "none.npz", "--outputs", &outputs], "none.npz"),
        (&["--inputs", &given, "--outputs", &outputs, "--window", "0"], "from 1 to 1048576"),
        (&["--inputs", &given, "--outputs", &outputs, "--speed", "9"], "no option `--speed`"),
        (&["--inputs", &given, "--outputs", &outputs, "--set", "a=1", "--set", "a=2"], "`a` is set twice"),
        (&["--inputs", &given, "--outputs", &given], "what the inputs are read from"),
        (&["--inputs", &given, "--outputs", &outputs, "--inputs", &given], "`--inputs` is given twice"),
        (
            &["--inputs", &given, "--outputs", &outputs, "--serial", "--seed", "2"],
            "no effect with `--serial`",
        ),
    ] {
        let (code, out, err) = ended(options);
        assert_eq!((code, out.as_str()), (2, ""), "{options:?}: {err}");
        assert!(err.contains(word), "{options:?}: {err}");
    }
    // 256 stacks of threads are more than there may be.
    let mut limited = Command::new("sh");
    let line = "ulimit -v 400000; exec \"$0\" \"$@\" --threads 256 --aicpus 64";
    std::fs::remove_file(inputs.join("other.npy")).unwrap();
    limited.args(["-c", line, &program, "--inputs", &given, "--outputs", &outputs]);
    let (code, out, err) = crate::command::ended(limited);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("cannot be started: "), "{err}");
    save(&inputs, "other", &Array::of(&[4], &numbers(1, 4)).unwrap());
    let (code, _, err) = ended(&["--inputs", &given, "--outputs", &outputs]);
    assert_eq!(code, 1);
    assert!(err.contains("nothing takes array `other`") || err.contains("are made for"), "{err}");
    assert!(!Path::new(&outputs).exists());
}

#[test]
fn what_several_kernels_need_is_asked_for_once() {
    let folder = Folder::with(&[]);
    let (code, _, err) =
        run(&["emit", "examples/decode_attention.pto", "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!(code, 1);
    for once in ["`HEAD_DIM` is not set", "the elements of `q` are not known", "--set num_kv_heads=VALUE"] {
        assert_eq!(err.matches(once).count(), 1, "{once}: {err}");
    }
    assert!(err.contains("of `decode_kernel_2k`") && err.contains("of `merge_partial_outputs`"), "{err}");
}

#[test]
fn a_host_without_a_compiler_is_told_what_to_install() {
    let folder = Folder::with(&[]);
    let mut command = wsp(&["run", "examples/row_softmax.pto", "--target", "ascend_host"]);
    command.env("XDG_CACHE_HOME", folder.path("cache")).env("CXX", "no-such-compiler");
    let (code, _, err) = ended(command);
    assert_eq!(code, 1);
    assert!(err.contains("WSP1772") && err.contains("no-such-compiler") && err.contains("CXX"), "{err}");
    let left = std::fs::read_dir(folder.path("cache")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing is left behind");
}

/// The two kernels of document 004, section 6.5.
const TWO_KERNELS: &str = "
PTO_SHAPE(x, rows, 64)
PTO_SHAPE(h, rows, 64)
PTO_SHAPE(y, rows, 64)
PTO_SPACE(Rows) { PTO_AXIS(row, 0, rows) }
struct Attn { uint32_t first; };
struct Mlp { uint32_t first; };
PTO_DESCRIPTOR_GEN(Rows) {
    PTO_SCHEDULED_FOR(row) {
        if (row % 16 == 0) {
            PTO_EMIT_DESCRIPTOR(Attn{ .first = row });
            PTO_EMIT_DESCRIPTOR(Mlp{ .first = row });
        }
    }
}
PTO_KERNEL_IMPL(attn_kernel) {
    auto desc = PTO_GET_DESCRIPTOR<Attn>();
    VecTile<float, 16, 64> t; VecTile<float, 16, 1> most;
    TLOAD(t, x, {PTO_ROWS(desc.first), 0});
    TROWMAX(most, t);
    TROWEXPANDSUB(t, t, most);
    TEXP(t, t);
    TSTORE(h, t, {PTO_ROWS(desc.first), 0});
}
PTO_KERNEL_IMPL(mlp_kernel) {
    auto desc = PTO_GET_DESCRIPTOR<Mlp>();
    VecTile<float, 16, 64> t;
    TLOAD(t, h, {PTO_ROWS(desc.first), 0});
    TRELU(t, t);
    TSTORE(y, t, {PTO_ROWS(desc.first), 0});
}
void layer(Tensor<float> x, Tensor<float> h, Tensor<float> y) {
    PTO_LAUNCH(Rows, { .x = x, .h = h, .y = y });
}
";

#[test]
fn the_package_of_two_kernels_is_that_of_the_document() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let args = ["emit", &folder.at("two.pto"), "--target", "ascend_910b", "-o", &folder.at("p")];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    let own = [
        "kernel_list.h",
        "kernel_ids.h",
        "task_abi.h",
        "aicore_dispatch.cpp",
        "program.hpp",
        "orchestration.cpp",
        "main.cpp",
        "CMakeLists.txt",
    ];
    let mut text = String::new();
    for path in out.lines().map(|path| path.replace(&folder.at("p/"), "")) {
        let is_own = own.contains(&&*path);
        text += &format!("==== {path}\n");
        if is_own {
            text += &folder.read(&format!("p/{path}"));
        }
    }
    assert!(
        !text.contains("${")
            || text.split("${").all(|part| !part.starts_with("workload") && !part.starts_with("kernel_name"))
    );
    expect_test::expect_file!["packages/two_kernels.txt"].assert_eq(&text);
    // The kernels come out as on `cpu_sim`, and a folder with something else is left alone.
    let (code, out, err) =
        hosted(&folder, &["run", &folder.at("two.pto"), "--target", "ascend_host", "--generate", "rows=40"]);
    assert_eq!(code, 0, "{out}{err}");
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    refuses(&folder, package);
    std::fs::write(folder.path("p/notes.txt"), "mine").unwrap();
    assert!(run(&args).2.contains("holds `notes.txt` beside a package"));
    std::fs::remove_file(folder.path("p/notes.txt")).unwrap();
    // What the package is built as in its folder stays there.
    std::fs::create_dir(folder.path("p/b")).unwrap();
    std::fs::write(folder.path("p/b/CMakeCache.txt"), "").unwrap();
    std::fs::write(folder.path("p/run"), "program").unwrap();
    let (code, _, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    assert_eq!(folder.read("p/run"), "program");
    std::fs::write(folder.path("p/main.cpp"), "int main() {}").unwrap();
    let (code, _, err) = run(&args);
    assert!(code == 1 && err.contains("`main.cpp` was edited"), "{err}");
    assert_eq!(folder.read("p/main.cpp"), "int main() {}");
}

/// Kernels that divide by a field, one on the host; their names are a word and a macro of C++.
const DIVIDED: &str = "
PTO_SHAPE(y, 4, 16)
struct D { uint32_t i; }; struct E { uint32_t i; };
PTO_KERNEL_IMPL(not_eq) {
    auto d = PTO_GET_DESCRIPTOR<D>();
    uint32_t q = d.i / d.i; VecTile<float, 1, 16> t; TASSIGN(t, float(q)); TSTORE(y, t, {d.i - 1});
}
PTO_KERNEL_IMPL(errno) {
    auto d = PTO_GET_DESCRIPTOR<E>();
    uint32_t q = 7 % d.i; VecTile<float, 1, 16> t; TASSIGN(t, float(q)); TSTORE(y, t, {3});
}";

#[test]
fn a_kernel_that_divides_by_0_ends_the_run_with_its_place() {
    let tasks = "use \"k.pto\";\nparam first = 1;\nkernel errno on host;\n\
                 workload main { for i in 1..4 { not_eq(i); } for i in first..first + 1 { errno(i); } if first > 7 { not_eq(first - 8); } }\n";
    let folder = Folder::with(&[("k.pto", DIVIDED), ("w.wsp", tasks)]);
    let file = folder.at("w.wsp");
    let ran = |target: &str, set: &str| hosted(&folder, &["run", &file, "--target", target, "--set", set]);
    for (set, place, said) in [
        ("first=1", "", ""),
        ("first=0", "k.pto:10:18", "division by zero: 7 % 0, in kernel `errno`, at k.pto:10:18: `7 % d.i`"),
        ("first=8", "k.pto:6:18", "division by zero: 0 / 0, in kernel `not_eq`, at k.pto:6:18: `d.i / d.i`"),
    ] {
        let (code, out, err) = ran("cpu_sim", set);
        assert_eq!(code, i32::from(!said.is_empty()), "{out}{err}");
        assert!(err.contains(place), "{err}");
        let (code, out, err) = ran("ascend_host", set);
        assert_eq!(code, i32::from(!said.is_empty()), "{out}{err}");
        assert!(err.contains(said), "{err}");
    }
}

/// A launch that adds to all rows but the second of an array, and reads the second.
const HALF: &str = "
PTO_SHAPE(y, rows, 32)
PTO_PARAM(uint32_t, reads, 0)
PTO_SPACE(Rows) { PTO_AXIS(row, 0, rows) }
struct A { uint32_t row, from; };
PTO_DESCRIPTOR_GEN(Rows) {
    PTO_SCHEDULED_FOR(row) {
        if (row != 1) { PTO_EMIT_DESCRIPTOR(A{ .row = row, .from = reads > 0 ? 1 : row }); }
    }
}
PTO_KERNEL_IMPL(add) {
    auto desc = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 32> t; TLOAD(t, y, {desc.from, 0}); TADDS(t, t, 1.0f); TSTORE(y, t, {desc.row, 0});
}
void go(Tensor<float> y) { PTO_LAUNCH(Rows, { .y = y }); }
";

/// Made-up elements that no task stores would else pass for results; the same is said on both targets.
#[test]
fn elements_of_made_up_outputs_that_no_task_stores_are_reported() {
    let folder = Folder::with(&[("half.pto", HALF)]);
    let file = folder.at("half.pto");
    for (set, code, word) in [
        ("reads=0", 1, "32 of 8192 elements of `y` never written; the first is y[1, 0]"),
        ("reads=1", 0, "32 of 8192 elements of `y`"),
    ] {
        let said = |target: &str| {
            let args = ["run", &file, "--target", target, "--generate", "--set", set];
            let (ended, out, err) = hosted(&folder, &args);
            assert!(ended == code && out.contains(word), "{target} {set}: {out}{err}");
            out.lines()
                .filter(|line| line.contains("of 8192 elements"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(said("ascend_host"), said("cpu_sim"), "{set}");
    }
}

/// Names that are macros of C++ in capitals, and a parameter that only the generator uses.
const NAMES: &str = "
PTO_SHAPE(x, rows, 32)
PTO_SHAPE(y, rows, 32)
PTO_PARAM(uint32_t, first, 0)
PTO_PARAM(float, scale, 2.0)
PTO_SPACE(Rows) { PTO_AXIS(row, 0, rows) }
struct A { uint32_t row; };
struct B { uint32_t row; };
PTO_DESCRIPTOR_GEN(Rows) {
    PTO_SCHEDULED_FOR(row) {
        if (row >= first) { PTO_EMIT_DESCRIPTOR(A{ .row = row }); }
        if (row < first) { PTO_EMIT_DESCRIPTOR(B{ .row = row }); }
    }
}
PTO_KERNEL_IMPL(null) {
    auto desc = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 32> t; TLOAD(t, x, {desc.row, 0}); TMULS(t, t, scale); TSTORE(y, t, {desc.row, 0});
}
PTO_KERNEL_IMPL(nan) {
    auto desc = PTO_GET_DESCRIPTOR<B>();
    VecTile<float, 1, 32> t; TLOAD(t, x, {desc.row, 0}); TSTORE(y, t, {desc.row, 0});
}
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Rows, { .x = x, .y = y }); }
";

/// Arguments of a part of one kernel and of another kernel would have one name.
#[test]
fn parts_of_kernels_have_names_of_their_own() {
    let kernel = |name: &str, of: &str, body: &str| {
        format!(
            "struct {of} {{ uint32_t at; }};\nPTO_KERNEL_IMPL({name}) {{\n    auto d = PTO_GET_DESCRIPTOR<{of}>();\n    VecTile<float, 16, 64> t; TLOAD(t, x, {{d.at, 0}}); {body}\n}}\n"
        )
    };
    let product = "TADDS(t, t, 1.0f); RightTile<float, 64, 64> w; TLOAD(w, x, {0, 0}); VecTile<float, 16, 64> o; TMATMUL(o, t, w); TSTORE(y, o, {d.at, 0});";
    let text = format!(
        "PTO_SHAPE(x, 64, 64)\nPTO_SHAPE(y, 64, 64)\n{}{}PTO_SPACE(P) {{ PTO_AXIS(r, 0, 4) }}
         PTO_DESCRIPTOR_GEN(P) {{ PTO_SCHEDULED_FOR(r) {{ if (r < 2) {{ PTO_EMIT_DESCRIPTOR(A{{ .at = r * 16 }}); }} else {{ PTO_EMIT_DESCRIPTOR(B{{ .at = r * 16 }}); }} }} }}
         void go(Tensor<float> x, Tensor<float> y) {{ PTO_LAUNCH(P, {{ .x = x, .y = y }}); }}",
        kernel("k1", "A", product),
        kernel("k10", "B", "TSTORE(y, t, {d.at, 0});"),
    );
    let folder = Folder::with(&[("parts.pto", &text)]);
    let (code, out, err) = run(&["emit", &folder.at("parts.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!(code, 0, "{out}{err}");
    let list = folder.read("p/kernel_list.h");
    let names: Vec<&str> =
        list.lines().filter_map(|line| line.trim().strip_prefix("X(")?.split(", ").nth(2)).collect();
    assert!(names.len() > 2 && names.contains(&"K10Params"), "{list}");
    assert!((1..names.len()).all(|at| !names[..at].contains(&names[at])), "{list}");
    let files = ["-I.", "-Iinclude", "-Ihost", "-Ihost/include", "-DPTO_PLATFORM=a2", "-DWSP_ONE_FILE"];
    let options = [&["-fsyntax-only"], &files[..], &["aicore_dispatch.cpp", "orchestration.cpp"]].concat();
    beside::compile(&folder.path("p"), &options);
    let folder = Folder::with(&[("parts.pto", &text.replace("k10", "k1__0"))]);
    let (code, _, err) = run(&["emit", &folder.at("parts.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert!(
        code == 1 && err.contains("part `k1_0` of kernel `k1` and kernel `k1__0` have one name"),
        "{err}"
    );
}

#[test]
fn tensors_beyond_the_room_of_a_task_have_a_help_of_their_own() {
    let shapes: String = (0..33).map(|at| format!("PTO_SHAPE(x{at}, 8, 16)\n")).collect();
    let loads: String = (1..32).map(|at| format!("TLOAD(t, x{at}, {{d.i}}); TADD(s, s, t);\n")).collect();
    let params: Vec<String> = (0..33).map(|at| format!("Tensor<float> x{at}")).collect();
    let given: Vec<String> = (0..33).map(|at| format!(".x{at} = x{at}")).collect();
    let text = format!(
        "{shapes}struct R {{ uint32_t i; }};
         PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<R>(); VecTile<float, 1, 16> t; VecTile<float, 1, 16> s; TLOAD(s, x0, {{d.i}}); {loads} TSTORE(x32, s, {{d.i}}); }}
         PTO_SPACE(P) {{ PTO_AXIS(r, 0, 8) }}
         PTO_DESCRIPTOR_GEN(P) {{ PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(R{{ .i = r }}); }} }}
         void go({}) {{ PTO_LAUNCH(P, {{ {} }}); }}",
        params.join(", "),
        given.join(", "),
    );
    let folder = Folder::with(&[("many.pto", &text)]);
    let (code, _, err) = run(&["emit", &folder.at("many.pto"), "--target", "a2", "-o", &folder.at("p")]);
    let help = "split the kernel, or make one tensor of several with one more dimension";
    assert!(
        code == 1 && err.contains("takes 33 tensors; a task has room for 32") && err.contains(help),
        "{err}"
    );
}

#[test]
fn a_launch_sets_what_only_the_generator_uses_and_kernels_have_any_name() {
    let folder = Folder::with(&[("names.pto", NAMES)]);
    let (inputs, outputs) = (folder.path("inputs"), folder.path("outputs"));
    save(&inputs, "x", &Array::of(&[3, 32], &[1.0f32; 96]).unwrap());
    let x = format!("x={}", inputs.join("x.npy").display());
    let args = ["run", &folder.at("names.pto"), "--target", "ascend_host", "--check", "--input", &x];
    let (code, out, err) = hosted(&folder, &args);
    assert_eq!(code, 0, "{out}{err}");
    let [package] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let y = |options: &[&str]| {
        let file = &launched(package, &inputs, &outputs, options)[0];
        pto_wsp::npy::read("y", file).unwrap().as_slice::<f32>().unwrap().to_vec()
    };
    assert_eq!(y(&[]), [2.0; 96]);
    assert_eq!(y(&["--set", "first=2"])[32..96], [[1.0; 32], [2.0; 32]].concat());
    let mut command = Command::new(package.join("run"));
    command.arg("--inputs").arg(&inputs).arg("--outputs").arg(&outputs).args(["--set", "scale=3"]);
    let (code, _, err) = ended(command);
    assert_eq!(code, 1);
    assert!(err.contains("`scale` is 3") && err.contains("emit it with `--set scale=3"), "{err}");
}
