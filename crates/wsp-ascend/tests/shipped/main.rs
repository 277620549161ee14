//! Headers that programs include: each is used, stands alone, knows its versions, and names what `.pto` programs name.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../toolchain/mod.rs"]
mod toolchain;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use toolchain::{compiler, write};
use wsp_ascend::runtime_headers::{EXECUTOR, HOST_RUN, PROGRAMS, TASK_RUNTIME};
use wsp_ascend::{Headers, expander, graph, host};
use wsp_diag::SourceMap;

/// What emitted C++ includes of this project, and what programs around it include.
const ALL: [Headers; 6] =
    [PROGRAMS, expander::HEADERS, EXECUTOR, HOST_RUN, wsp_ascend::HEADERS, graph::HEADERS];

/// A folder with the headers.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shipped").join(name);
    for (path, text) in ALL.into_iter().flatten().chain(host::FILES) {
        write(&folder.join("include").join(path), text);
    }
    folder
}

fn compile(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(compiler());
    command.current_dir(folder).args([
        "-std=c++17",
        "-Iinclude",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
    ]);
    command.args(arguments).output().expect("the compiler runs")
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn headers_are_used_by_threads_without_a_race() {
    let folder = folder("used");
    write(&folder.join("shipped.cpp"), include_str!("shipped.cpp"));
    let code = "include/pto/wsp/backend/npu/generator_code.hpp";
    write(&folder.join(code), include_str!("../../include/pto/wsp/backend/npu/generator_code.hpp"));
    let options = [
        "-Wconversion",
        "-Wno-pedantic",
        "-Og",
        "-pthread",
        "-fsanitize=thread",
        "-o",
        "shipped",
        "shipped.cpp",
    ];
    succeeds(&compile(&folder, &options));
    let output = Command::new(folder.join("shipped")).env("TSAN_OPTIONS", "halt_on_error=1").output();
    succeeds(&output.expect("the program runs"));
}

/// Tensors before numbers, and each edge given: a task that writes what an earlier one reads waits for it.
#[test]
fn tasks_go_to_the_runtime_of_the_platform_with_their_edges() {
    let folder = folder("runtime");
    for (path, text) in TASK_RUNTIME {
        write(&folder.join("include").join(path), text);
    }
    write(&folder.join("runtime.cpp"), include_str!("runtime.cpp"));
    let without = compile(&folder, &["-fsyntax-only", "runtime.cpp"]);
    assert!(
        String::from_utf8_lossy(&without.stderr).contains("with the folder of its pto_orchestration_api.h")
    );
    let header = folder.join("include/pto_orchestration_api.h");
    write(&header, include_str!("runtime/pto_orchestration_api.h"));
    let options =
        ["-Wconversion", "-Wno-pedantic", "-fsanitize=address,undefined", "-o", "runtime", "runtime.cpp"];
    succeeds(&compile(&folder, &options));
    std::fs::remove_file(header).unwrap();
    let output = Command::new(folder.join("runtime")).output().expect("the program runs");
    succeeds(&output);
    let said = String::from_utf8(output.stdout).unwrap();
    let (edges, rest) = said.split_once("# many\n").unwrap();
    let tasks: Vec<&str> =
        edges.lines().filter(|line| !line.starts_with("scope") && !line.starts_with("end")).collect();
    let want = [
        "# edges",
        "0: kernels -1 10 -1 after, 256 bytes of -1",
        "1: kernels -1 11 -1 after 0, 256 bytes of -1",
        "2: kernels -1 12 -1 after, 256 bytes of -1",
        "3: kernels -1 13 -1 after 0 1, 256 bytes of -1",
        "4: nothing after 0 1 2 3",
        "5: kernels -1 14 -1 after 4, 256 bytes of -1",
        "6: kernels -1 15 -1 after 4, 256 bytes of -1",
        "7: nothing after 4 6",
        "reads what 7 gives",
        "8: allocates 100 bytes",
        "9: kernels 16 116 116 after 4 5 6, 256 bytes of -1, 100 bytes of 8, number 7",
        "10: kernels 17 -1 -1 after 4 9, 100 bytes of 8",
    ];
    assert_eq!(tasks, want);
    assert_eq!(edges.matches("scope 1").count(), edges.matches("end 1").count());
    // Beyond some tasks one stands for all before.
    let all: String = (0..1024).map(|task| format!(" {task}")).collect();
    assert!(rest.contains(&format!("end 1\n1024: nothing after{all}\nscope 1\n")));
    assert!(rest.contains("1025: kernels -1 1 -1 after 1024,"));
    assert!(
        rest.ends_with("lengths 5 4, of kernels 5 4\nthe tensor for kv.k has other elements than f32\n"),
        "{rest}"
    );
}

/// In one run of the compiler, each header is a file of its own.
#[test]
fn each_header_stands_alone_and_the_old_names_forward() {
    let folder = folder("alone");
    let mut files = Vec::new();
    for path in PROGRAMS.paths().iter().filter(|path| !path.starts_with("pto/rt/")) {
        let file = format!("{}.cpp", path.replace('/', "_"));
        write(&folder.join(&file), format!("#include \"{path}\"\n"));
        files.push(file);
    }
    let arguments: Vec<&str> =
        ["-fsyntax-only"].into_iter().chain(files.iter().map(String::as_str)).collect();
    succeeds(&compile(&folder, &arguments));
    let paths: BTreeSet<&str> = PROGRAMS.paths().iter().copied().collect();
    for (path, text) in PROGRAMS {
        let Some(forwarded) = path.strip_prefix("pto/rt/") else { continue };
        let target = format!("pto/wsp/{forwarded}");
        assert!(
            paths.contains(target.as_str()) && text.contains(&format!("#include \"{target}\"")),
            "{path}"
        );
    }
}

/// PDE-VER-01: versions that fit, and others, are said by the preprocessor that includes a header.
#[test]
fn versions_that_do_not_fit_are_refused() {
    let folder = folder("versions");
    write(&folder.join("a.cpp"), "#include \"pto/runtime/schedule.hpp\"\n");
    // A kernel includes no header of this project.
    write(&folder.join("k.cpp"), include_str!("../golden/kernel_rmsnorm_a2.cpp"));
    let told = |file: &str, define: &str| {
        let output = compile(&folder, &["-E", "-DPTO_PLATFORM=a2", define, file]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for file in ["a.cpp", "k.cpp"] {
        for fits in
            ["-DNDEBUG", "-DPTO_ISA_VERSION=100", "-DPTO_ISA_VERSION=199", "-DCANN_MAJOR=8", "-DCANN_MAJOR=9"]
        {
            let (fit, told) = told(file, fits);
            assert!(fit, "{file} {fits}: {told}");
        }
        for (other, text) in [
            ("-DPTO_ISA_VERSION=99", "for PTO-ISA 1.0 and later 1.x"),
            ("-DPTO_ISA_VERSION=200", "for PTO-ISA 1.0 and later 1.x"),
            ("-DCANN_MAJOR=7", "for CANN 8.0 and later"),
        ] {
            let (fits, told) = told(file, other);
            assert!(!fits && told.contains(text), "{file} {other}: {told}");
        }
    }
    let texts: BTreeMap<&str, &str> = ALL.into_iter().flatten().collect();
    for path in texts.keys().filter(|path| path.starts_with("pto/")) {
        assert!(reaches(&texts, path), "{path} does not include pto/wsp/version.hpp");
    }
}

/// Whether a header is that of versions, or includes it, or one that does.
fn reaches(texts: &BTreeMap<&str, &str>, path: &str) -> bool {
    if path == "pto/wsp/version.hpp" {
        return true;
    }
    let Some(text) = texts.get(path) else { return false };
    let included = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
    included.into_iter().any(|name| {
        let beside = Path::new(path).parent().unwrap().join(name);
        let mut parts = Vec::new();
        for part in beside.to_str().unwrap().split('/') {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        reaches(texts, name) || reaches(texts, &parts.join("/"))
    })
}

/// PDE-EX-16: the words that a `.pto` program may write where it may write one.
#[test]
fn words_of_schedules_are_those_of_the_language() {
    let program = "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) }\nPTO_SCHEDULE(P) {\n PTO_AFFINITY(x, NONE)\n PTO_ORDER(x, NONE)\n \
                   PTO_SPLIT(x, NONE)\n PTO_PIPELINE_DEPTH(2, NONE)\n}\n";
    let (_, found) = wsp_lang::compile("words.pto", program, &mut SourceMap::default());
    let labels =
        found.iter().filter_map(|diagnostic| diagnostic.primary.as_ref()).map(|label| label.text.as_str());
    let lists: Vec<&str> = labels.filter_map(|text| text.strip_prefix("expected ")).collect();
    assert_eq!(lists.len(), 4, "{found:?}");
    let language: BTreeSet<&str> =
        lists.iter().flat_map(|list| list.split(", ")).map(|word| word.trim_matches('`')).collect();
    let (_, header) = PROGRAMS.into_iter().find(|(path, _)| *path == "pto/runtime/schedule.hpp").unwrap();
    let constants =
        header.lines().filter_map(|line| line.strip_prefix("constexpr pto::runtime::")?.split_once(' '));
    let words =
        constants.map(|(_, rest)| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap());
    assert_eq!(words.collect::<BTreeSet<_>>(), language);
    assert!(header.contains(&format!("SplitKind::balanced, {}}}", wsp_core::limits::SPLIT_ALIGN)));
}
