//! Programs of every kind, on every platform, in every expansion and under many seeds, each a program that runs its package many times.

use super::beside::{LEVEL, compile};
use super::{built, cache, decode, device_library, in_one_file, linked_with, numbers, save, shared_sources};
use crate::command::{Folder, ended, root, run, wsp};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use wsp_cli::files::Npz;
use wsp_core::DType;
use wsp_plan::Array;

/// What runs the program of a package.
const TRIALS: &str = include_str!("trials.cpp");

/// How `main` is called there.
const RENAMED: &str = "-Dmain=run_package";

/// A compiler that links it. It has the name of the usual one, so that what packages have in common is compiled once for all tests.
const COMPILER: &str = "#!/bin/sh
PATH=${PATH#*:}
for word in \"$@\"; do
    [ \"$word\" = main.cpp ] && exec ${CXX_BEHIND:-c++} \"$@\" -Dmain=run_package
    [ \"$word\" = main.o ] && exec ${CXX_BEHIND:-c++} \"$@\" \"$TRIALS\"
done
exec ${CXX_BEHIND:-c++} \"$@\"
";

/// A program, its data, and what a launch of its package sets.
struct Program {
    file: PathBuf,
    data: &'static [&'static str],
    set: &'static [&'static str],
    expansions: &'static [&'static str],
}

const ALL: &[&str] = &["loops", "bytecode", "table"];

/// Nine programs, of sizes that end in the middle of a tile.
fn programs(folder: &Folder) -> Vec<Program> {
    let of = |file: &str, data, set| Program {
        file: root().join("examples").join(file),
        data,
        set,
        expansions: ALL,
    };
    // A graph of kernels over a sixteenth of the tokens, with less workspace.
    let examples = root().join("examples").display().to_string();
    let indexer = std::fs::read_to_string(root().join("examples/deepseek_indexer.tg")).unwrap();
    let mut indexer = indexer.replace("use \"", &format!("use \"{examples}/"));
    for (from, to) in [
        ("4096", "256"),
        ("[1024,", "[64,"),
        ("Q_TENSOR, 1024*", "Q_TENSOR, 64*"),
        ("INDICES, 1024*", "INDICES, 64*"),
        ("WORKSPACE, 512*1024*1024", "WORKSPACE, 512*1024"),
    ] {
        assert!(indexer.contains(from), "{from}");
        indexer = indexer.replace(from, to);
    }
    std::fs::write(folder.path("indexer.tg"), indexer).unwrap();
    vec![
        of("aie/rmsnorm.wsp", &["--generate", "rows=64,cols=64"], &[]),
        of("row_softmax.pto", &["--generate", "rows=100,cols=96"], &[]),
        of("aie/gemm.wsp", &["--generate", "m=64,n=64,k=64"], &[]),
        of("decode_attention.pto", &["--generate", "len=200/64/7/300,heads=8/2,dim=64"], &[]),
        of(
            "moe/moe.pto",
            &["--generate"],
            &["--set", "tokens=40", "--set", "hidden=64", "--set", "ffn=96", "--set", "experts=4"],
        ),
        of("topk_indexer/indexer.pto", &["--generate", "len=90/7/130"], &[]),
        of(
            "llama_layer/layer.pto",
            &["--generate"],
            &["--set", "seq=70", "--set", "hidden=128", "--set", "ffn=160"],
        ),
        of("pipelines/softmax.wsp", &["--generate"], &[]),
        Program { file: folder.path("indexer.tg"), data: &[], set: &[], expansions: &["table"] },
    ]
}

impl Program {
    /// Emits the package; its files by their paths in it.
    fn emit(&self, chip: &str, expand: &str, to: &Path) -> Vec<(String, Vec<u8>)> {
        let to = to.display().to_string();
        let file = self.file.display().to_string();
        let mut args = vec!["emit", &file, "--target", chip, "-o", &to];
        if self.expansions.len() > 1 {
            args.extend(["--expand", expand]);
        }
        let (code, out, err) = run(&[&args[..], self.data, self.set].concat());
        assert_eq!(code, 0, "{file} for {chip} as {expand}: {err}");
        let files =
            out.lines().map(|path| (path.replace(&format!("{to}/"), ""), std::fs::read(path).unwrap()));
        files.collect()
    }
}

/// Text for a3 is that for a2 but for its name.
fn differ_in_their_names(a2: &[(String, Vec<u8>)], a3: &[(String, Vec<u8>)]) {
    assert_eq!(a2.len(), a3.len());
    for ((path, a2), (other, a3)) in a2.iter().zip(a3) {
        let [a2, a3] = [a2, a3].map(|bytes| String::from_utf8_lossy(bytes));
        let renamed = a2.replace("for a2", "for a3").replace("PLATFORM=a2", "PLATFORM=a3");
        assert!(path == other && (a2 == a3 || renamed == a3 || path == wsp_backend::MANIFEST), "{path}");
    }
}

/// Runs a package under so many seeds, with 1 and 4 AICPUs and windows of 1 and 1024, in steps or on threads.
fn trials(package: &Path, inputs: &Path, outputs: &Path, seeds: usize, threads: usize, set: &[&str]) {
    let _ = std::fs::remove_dir_all(outputs);
    std::fs::create_dir_all(outputs).unwrap();
    let mut command = Command::new(package.join("run"));
    command.arg("--trials").arg(inputs).arg(outputs).args([seeds, threads].map(|n| n.to_string())).args(set);
    let (code, out, err) = ended(command);
    assert_eq!((code, out), (0, format!("{} runs\n", 4 * seeds)), "{}: {err}", package.display());
}

/// The value of a number of 16 bits.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

fn real(array: &Array) -> Option<Vec<f32>> {
    match array.dtype() {
        DType::F32 => Some(array.as_slice::<f32>().unwrap().to_vec()),
        DType::F16 => {
            Some(array.bytes().chunks(2).map(|two| half(u16::from_le_bytes([two[0], two[1]]))).collect())
        }
        _ => None,
    }
}

/// Whether outputs are those of a plain run, within the rounding of products of 16 bits.
fn near(outputs: &Path, plain: &Path) {
    let mut plain = Npz::open(plain).unwrap();
    for entry in std::fs::read_dir(outputs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let own = pto_wsp::npy::read(name, &std::fs::read(&path).unwrap()).unwrap();
        let plain = plain.read(name).unwrap();
        assert_eq!(own.shape(), plain.shape(), "{name}");
        let (Some(own), Some(plain)) = (real(&own), real(&plain)) else {
            assert!(own.bytes() == plain.bytes(), "{name}");
            continue;
        };
        let largest = plain.iter().filter(|x| x.is_finite()).fold(0f32, |most, x| most.max(x.abs()));
        let far = own
            .iter()
            .zip(&plain)
            .find(|(a, b)| a != b && ((**a - **b).abs() > largest / 64.0 || a.is_nan()));
        assert_eq!(far, None, "{name}, where the largest is {largest}");
    }
}

/// Compiles the kernels of a package and what it has in common with others; its folder.
fn compiled(package: &Path, platform: &str) -> PathBuf {
    let mut compile = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    compile.current_dir(package).args(["-std=c++17", LEVEL, "-DWSP_ONE_FILE", "-I.", "-Iinclude", "-Ihost"]);
    compile.args([platform, "-c"]).args(shared_sources().map(|source| format!("{source}.cpp")));
    let (code, _, err) = ended(compile);
    assert_eq!(code, 0, "{err}");
    package.to_owned()
}

/// What runs the program of a package, compiled once.
fn trials_object() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Folder::with(&[("trials.cpp", TRIALS)]);
        let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (own, object) = (all.join(format!("trials-{}.o", std::process::id())), all.join("trials.o"));
        compile(&folder.path(""), &["-c", "trials.cpp", "-o", &own.display().to_string()]);
        // Another program of tests may use one that is there.
        std::fs::rename(own, &object).unwrap();
        object
    })
}

/// Builds packages for platforms, all but the first with the kernels of another where they have them in common.
fn platforms(program: &Program, folder: &Folder, seeds: usize, chips: &[&str]) {
    let (inputs, outputs, plain) = (folder.path("inputs"), folder.path("outputs"), folder.path("plain.npz"));
    let file = program.file.display().to_string();
    let ran = |more: &[&str]| {
        let mut command = wsp(&[&["run", &file], more, program.data, program.set].concat());
        let paths = std::env::var("PATH").unwrap();
        command.env("XDG_CACHE_HOME", cache(folder)).env_remove("CXX");
        command.env("PATH", format!("{}:{paths}", folder.at("")));
        command.env("TRIALS", trials_object()).env("TRIALS_INPUTS", &inputs);
        command.env("WSP_DEVICE_LIB", device_library());
        if let Some(own) = std::env::var_os("CXX") {
            command.env("CXX_BEHIND", own);
        }
        let (code, out, err) = ended(command);
        assert_eq!(code, 0, "{file}: {out}{err}");
    };
    ran(&["--no-check", "--outputs", &folder.at("plain.npz")]);
    ran(&["--target", "ascend_host", "--check"]);
    let [own] = &built(folder)[..] else { panic!("{:?}", built(folder)) };
    trials(own, &inputs, &outputs, seeds, 0, program.set);
    near(&outputs, &plain);
    let first = files(&outputs);
    for chip in chips {
        let mut kernels = if *chip == "a2" { Some(own.clone()) } else { None };
        // Text for a3 is that for a2.
        let expansions = if *chip == "a3" { &program.expansions[..1] } else { program.expansions };
        for expand in expansions {
            if *chip == "a2" && *expand == program.expansions[0] {
                continue;
            }
            let to = folder.path(&format!("{chip}_{expand}"));
            program.emit(chip, expand, &to);
            let platform = format!("-DPTO_PLATFORM={chip}");
            let kernels = kernels.get_or_insert_with(|| compiled(&to, &platform));
            let links_device =
                std::fs::read_to_string(to.join("CMakeLists.txt")).unwrap().contains("WSP_DEVICE_LIB");
            let library = links_device.then(device_library);
            linked_with(
                &to,
                kernels,
                &library.as_deref().into_iter().collect::<Vec<_>>(),
                &[&platform, RENAMED, &trials_object().display().to_string()],
            );
            trials(&to, &inputs, &outputs, seeds, 0, program.set);
            near(&outputs, &plain);
            assert!(*chip != "a2" || files(&outputs) == first, "{file} as {expand}: other bits");
        }
    }
}

/// The files of a folder of outputs, by their names.
fn files(outputs: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let all = std::fs::read_dir(outputs).unwrap().map(|entry| entry.unwrap());
    all.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
}

fn with_trials() -> Folder {
    let folder = Folder::with(&[("trials.cpp", TRIALS), ("c++", COMPILER)]);
    std::fs::set_permissions(folder.path("c++"), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// All are emitted for all platforms, built and run for a2; for the others as well where `WSP_CASES` says how many seeds.
#[test]
fn packages_of_every_platform_give_the_same_bits_under_every_seed() {
    let seeds = std::env::var("WSP_CASES").ok().map(|cases| cases.parse::<usize>().unwrap());
    let (seeds, chips) = seeds.map_or((1, &["a2"][..]), |seeds| (seeds, &["a2", "a3", "a5"]));
    let source = with_trials();
    for program in programs(&source) {
        // Another test runs decode attention on a2 in all expansions.
        let others = chips.len() > 1 || !program.file.ends_with("decode_attention.pto");
        let folder = with_trials();
        let last = program.expansions.last().unwrap();
        let [a2, a3] =
            ["a2", "a3"].map(|chip| program.emit(chip, last, &folder.path(&format!("text_{chip}"))));
        differ_in_their_names(&a2, &a3);
        if others {
            platforms(&program, &folder, seeds, chips);
        }
        println!("{}: {seeds} seeds", program.file.display());
    }
}

/// Packages on threads, with delays by seed: in large numbers, and with what watches addresses, where `WSP_CASES` says so.
#[test]
fn sanitizers_are_silent_over_packages() {
    let cases = std::env::var("WSP_CASES").ok().map(|cases| cases.parse::<usize>().unwrap());
    let sanitizers: &[&str] = if cases.is_some() { &["thread", "address,undefined"] } else { &["thread"] };
    let folder = with_trials();
    let given = |name: &str, arrays: &[(&str, &[u64])]| {
        for (array, shape) in arrays {
            let count = shape.iter().product::<u64>() as usize;
            save(&folder.path(name), array, &Array::of(shape, &numbers(5, count)).unwrap());
        }
    };
    given("rmsnorm", &[("x", &[64, 64]), ("gain", &[64])]);
    given("centre", &[("x", &[100, 24])]);
    decode(&folder.path("decode"), &[70, 0, 7, 33]);
    let all = [
        ("rmsnorm", "examples/aie/rmsnorm.wsp", "rows=64,cols=64"),
        // Some of its kernels run on the host.
        ("centre", "examples/host/centre.wsp", "rows=100,cols=24"),
        ("decode", "examples/decode_attention.pto", "len=70/0/7/33,heads=8/2,dim=64"),
    ];
    for (name, file, spec) in all.into_iter().take(if cases.is_some() { 3 } else { 1 }) {
        let to = folder.path(&format!("{name}_package"));
        let args = ["emit", file, "--target", "a2", "--generate", spec, "-o", &to.display().to_string()];
        let (code, _, err) = run(&args);
        assert_eq!(code, 0, "{err}");
        for sanitizer in sanitizers {
            let mut compile = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
            compile.current_dir(&to).args([
                "-std=c++17",
                LEVEL,
                "-pthread",
                "-DPTO_PLATFORM=a2",
                "-DWSP_ONE_FILE",
            ]);
            compile.args(["-I.", "-Iinclude", "-Ihost", "-fno-sanitize-recover=all", RENAMED]);
            compile.arg(folder.path("trials.cpp")).arg(format!("-fsanitize={sanitizer}"));
            in_one_file(&to);
            compile.args(["all.cpp", "-o", "run"]);
            let (code, _, err) = ended(compile);
            assert_eq!(code, 0, "{err}");
            let seeds = cases.map_or(1, |cases| cases.div_ceil(4));
            trials(&to, &folder.path(name), &folder.path("outputs"), seeds, 3, &[]);
            println!("{name}: {} runs under {sanitizer}", 4 * seeds);
        }
    }
}
