//! Packages as libraries of one process.

use super::{TWO_KERNELS, decode, in_one_file, numbers, save};
use crate::command::{Folder, ended, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use wsp_cli::files::Npz;
use wsp_plan::Array;

/// Compiles C++ in a folder, fast and without optimisation.
pub(super) fn compile(folder: &Path, options: &[&str]) {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
    command.current_dir(folder).args(["-std=c++17", "-O0", "-pthread"]).args(options);
    let (code, out, err) = ended(command);
    assert_eq!(code, 0, "{out}{err}");
}

/// How packages are compiled, as `wsp run` does it.
pub(super) const LEVEL: &str = "-Og";

/// The files of folders of outputs, by the rounds that wrote them.
fn rounds(folder: &Path, count: usize) -> Vec<Vec<Vec<u8>>> {
    let of = |round: usize| {
        let all = std::fs::read_dir(folder.join(round.to_string())).unwrap();
        let mut files: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.iter().map(|file| std::fs::read(file).unwrap()).collect()
    };
    (0..count).map(of).collect()
}

/// Of two platforms, one with kernels for both kinds of cores: each alone, then both at once, on threads and in steps. Text for a3 is that
/// for a2 but for its name.
#[test]
fn two_packages_in_one_process_do_not_meet() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS), ("beside.cpp", include_str!("beside.cpp"))]);
    let rows = Array::of(&[40, 64], &numbers(1, 2560)).unwrap();
    save(&folder.path("in_a2"), "x", &rows);
    decode(&folder.path("in_a5"), &[70, 0, 7, 100]);
    let rounds_of = std::env::var("WSP_CASES").map_or(4, |cases| cases.parse::<usize>().unwrap());
    println!("{rounds_of} rounds");
    compile(&folder.path(""), &["beside.cpp", "-ldl", "-o", "beside"]);
    let file = folder.at("two.pto");
    for (platform, file, spec) in [
        ("a2", &*file, "rows=40"),
        ("a5", "examples/decode_attention.pto", "len=70/0/7/100,heads=8/2,dim=64"),
    ] {
        let to = folder.path(platform);
        let args = ["emit", file, "--target", platform, "-o", &folder.at(platform), "--generate", spec];
        let (code, _, err) = run(&args);
        assert_eq!(code, 0, "{err}");
        in_one_file(&to);
        let platform = format!("-DPTO_PLATFORM={platform}");
        let options = [LEVEL, "-shared", "-fPIC", "-DWSP_ONE_FILE", &platform, "-Dmain=run_package"];
        compile(
            &to,
            &[&options[..], &["-I.", "-Iinclude", "-Ihost", "all.cpp", "-o", "package.so"]].concat(),
        );
    }
    let beside = |count: usize, to: &str, platforms: &[&str]| {
        let mut command = Command::new(folder.path("beside"));
        command.arg(count.to_string());
        for platform in platforms {
            let outputs = folder.path(&format!("{to}_{platform}"));
            (0..count).for_each(|round| std::fs::create_dir_all(outputs.join(round.to_string())).unwrap());
            command.arg(folder.path(platform).join("package.so"));
            command.arg(folder.path(&format!("in_{platform}"))).arg(outputs);
        }
        let (code, out, err) = ended(command);
        assert_eq!((code, out.as_str()), (0, ""), "{err}");
    };
    beside(1, "alone", &["a2"]);
    beside(1, "alone", &["a5"]);
    beside(rounds_of, "both", &["a2", "a5"]);
    for platform in ["a2", "a5"] {
        let [alone] = &rounds(&folder.path(&format!("alone_{platform}")), 1)[..] else { panic!() };
        assert!(!alone.is_empty());
        for (round, both) in rounds(&folder.path(&format!("both_{platform}")), rounds_of).iter().enumerate() {
            assert!(alone == both, "{platform}, round {round}");
        }
    }
    matches_cpu_sim(&folder);
    let args = ["emit", &file, "--target", "a3", "-o", &folder.at("a3"), "--generate", "rows=40"];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    for path in out.lines().map(|path| path.replace(&folder.at("a3/"), "")) {
        let [a2, a3] = ["a2", "a3"].map(|of| std::fs::read_to_string(folder.path(of).join(&path)).unwrap());
        let renamed = a2.replace("for a2", "for a3").replace("PLATFORM=a2", "PLATFORM=a3");
        assert!(a2 == a3 || renamed == a3 || path == wsp_backend::MANIFEST, "{path}");
    }
}

/// Whether the outputs of decode attention for a5 are those of a plain run, within the rounding of its products.
fn matches_cpu_sim(folder: &Folder) {
    let names = ["q", "kv.k", "kv.v", "kv_lens", "kv.indptr", "kv.indices", "kv.last_page_len"];
    let inputs = folder.path("in_a5");
    let given: Vec<String> =
        names.iter().map(|name| format!("{name}={}", inputs.join(format!("{name}.npy")).display())).collect();
    let outputs = folder.at("plain.npz");
    let mut args = vec!["run", "examples/decode_attention.pto", "--outputs", &outputs];
    given.iter().for_each(|given| args.extend(["--input", given]));
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{out}{err}");
    for name in ["output", "lse"] {
        let plain = Npz::open(Path::new(&outputs)).unwrap().read(name).unwrap();
        let own = std::fs::read(folder.path("both_a5/0").join(format!("{name}.npy"))).unwrap();
        let own = pto_wsp::npy::read(name, &own).unwrap();
        let pairs = own.as_slice::<f32>().unwrap().iter().zip(plain.as_slice::<f32>().unwrap());
        let far = pairs.filter(|(a, b)| a != b && (**a - **b).abs() > 4e-3).count();
        assert_eq!((far, own.shape()), (0, plain.shape()), "{name}");
    }
}
