//! Workloads some of whose kernels run on the host, between those of cores.

use super::{built, device_library, hosted, launched, linked, numbers, runs_to, save};
use crate::command::{Folder, ended, run};
use std::path::Path;
use std::process::Command;
use wsp_plan::Array;

const CENTRE: &str = "examples/host/centre.wsp";

/// 7 tiles, the last of which has 4 rows: one task of each kernel for each.
#[test]
fn a_kernel_of_the_host_reads_and_feeds_kernels_of_cores() {
    let folder = Folder::with(&[]);
    let (inputs, outputs) = (folder.path("inputs"), folder.path("outputs"));
    save(&inputs, "x", &Array::of(&[100, 24], &numbers(5, 2400)).unwrap());
    let x = format!("x={}", inputs.join("x.npy").display());
    let ran = |target: &str, more: &[&str]| {
        let to = folder.at(target);
        let args = [&["run", CENTRE, "--input", &x, "--target", target, "--outputs", &to], more].concat();
        let (code, out, err) = hosted(&folder, &args);
        assert_eq!(code, 0, "{more:?}: {out}{err}");
        std::fs::read(to).unwrap()
    };
    let want = ran("cpu_sim", &[]);
    assert!(ran("ascend_host", &["--expand", "table", "--aicpus", "2"]) == want);
    assert!(ran("ascend_host", &["--expand", "table", "--phases"]) == want, "turns");
    let [table] = &built(&folder)[..] else { panic!("{:?}", built(&folder)) };
    let (loops, bytecode, library) = (folder.path("loops"), folder.path("bytecode"), device_library());
    for (expand, to, libraries) in [("loops", &loops, &[][..]), ("bytecode", &bytecode, &[&*library])] {
        let args =
            ["emit", CENTRE, "--target", "a2", "--expand", expand, "--input", &x, "-o", &folder.at(expand)];
        let (code, _, err) = run(&args);
        assert_eq!(code, 0, "{expand}: {err}");
        linked(to, table, libraries);
    }
    let want = launched(table, &inputs, &outputs, &["--serial"]);
    for package in [table, &loops, &bytecode] {
        assert!(launched(package, &inputs, &outputs, &["--serial"]) == want, "{}", package.display());
        let (set, turns): (&[&str], &[&str]) = (&[], &["--phases"]);
        for order in [set, turns] {
            runs_to(package, &inputs, &outputs, order, &want);
            assert!(launched(package, &inputs, &outputs, &[order, &["--threads", "3"]].concat()) == want);
        }
        let tokens = |order: &[&str]| {
            let mut command = Command::new(package.join("run"));
            command.arg("--inputs").arg(&inputs).arg("--outputs").arg(&outputs).args(order).arg("--report");
            ended(command).1.lines().find_map(|line| line.strip_prefix("tokens ")).map(str::to_owned)
        };
        // To the host and back, for each tile.
        assert_eq!((tokens(set), tokens(turns)), (Some("14".to_owned()), Some("0".to_owned())));
    }
}

/// What has no package with kernels of the host, and a kernel of the host at fault.
#[test]
fn what_kernels_of_the_host_cannot_is_refused_by_name() {
    let pto =
        "PTO_SHAPE(x, 4, 16)\nPTO_SHAPE(z, 4, 16)\nPTO_TENSOR(y, float, 4, 16)\nstruct D { uint32_t r; };
struct E { uint32_t r; };
PTO_KERNEL_IMPL(copy) {
    auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 1, 16> t; TLOAD(t, x, {d.r}); TSTORE(y, t, {d.r});
}
PTO_KERNEL_IMPL(worse) {
    auto d = PTO_GET_DESCRIPTOR<E>(); VecTile<float, 1, 16> t; TLOAD(t, y, {0}); TSTORE(z, t, {d.r});
}
";
    let wsp = "use \"k.pto\";\nkernel copy on host;\nworkload main { copy(r = 1); worse(r = 2); }\n";
    let folder = Folder::with(&[("k.pto", pto), ("k.wsp", wsp)]);
    let file = folder.at("k.wsp");
    let to = folder.at("none");
    let args = ["emit", &file, "--target", "a2", "--stage", "device", "-o", &to];
    let (code, _, err) = run(&args);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("kernel `copy` runs on the host"), "{err}");
    assert!(!folder.path("none").exists());
    // What is for cores alone, and where there are no two sides.
    let pending = folder.at("k.pending");
    for (args, word) in [
        (&["asm", &file, "-o", &to][..], "error[WSP0888]"),
        (
            &["disasm", &file],
            "kernel `copy` runs on the host, and a program of AICPUs (`.ptow`) does not say so",
        ),
        (&["asm", &file, "--emit", "module", "-o", &to], "a task graph does not say so"),
        (&["graph", &file, "--emit", "pending", "-o", &pending], "a record of a task does not say so"),
        (&["run", &file, "--phases", "--no-check", "--generate"], "`--phases` is for packages"),
    ] {
        let (code, _, err) = run(args);
        assert!(code == 1 && err.contains(word), "{args:?}: {err}");
        assert!(!Path::new(&to).exists() && !Path::new(&pending).exists(), "{args:?}");
    }
    let (code, _, err) = run(&["graph", &file]);
    assert!(code == 0 && err.contains("kernel `copy` runs on the host, and lists show it"), "{err}");
    // A row that nothing wrote is read on a core behind the host.
    let (code, _, err) =
        hosted(&folder, &["run", &file, "--target", "ascend_host", "--generate", "", "--no-check"]);
    assert!(code == 1 && err.contains("worse: fault [poison]"), "{code}: {err}");
}
