//! The workloads over real kernels: each matches its f64 reference, and gives the bits of the program that generates the
//! same tasks itself.

use crate::command;
use std::path::Path;
use wsp_cli::files::Npz;

/// Runs an example; what it prints.
fn run(args: &[&str]) -> String {
    let (code, out, err) = command::run(args);
    assert_eq!(code, 0, "{args:?}\n{out}\n{err}");
    out
}

/// Runs a workload on several numbers of threads, and the program whose kernels it uses, with the same sizes.
#[track_caller]
fn assert_same(workload: &str, program: &str, sizes: &[&str], outputs: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let results = [(workload, "1"), (workload, "3"), (program, "2")].map(|(file, threads)| {
        let out = folder.path().join(format!("{threads}.npz")).display().to_string();
        let args = [&["run", file, "--threads", threads, "--outputs", &out][..], sizes].concat();
        let text = run(&args);
        for output in outputs {
            assert!(text.contains(&format!("`{output}` ok")), "{args:?}\n{text}");
        }
        let mut archive = Npz::open(Path::new(&out)).unwrap();
        outputs.iter().map(|name| archive.read(name).unwrap().bytes().to_vec()).collect::<Vec<_>>()
    });
    assert!(results[0] == results[1], "{workload}: 1 and 3 threads differ");
    assert!(results[0] == results[2], "{workload} and {program} differ");
}

#[test]
fn a_llama_layer_as_a_workload() {
    let sizes = ["--set", "seq=200", "--set", "hidden=128", "--set", "heads=2", "--set", "ffn=344"];
    assert_same("examples/llama_layer/layer.wsp", "examples/llama_layer/layer.pto", &sizes, &["y"]);
}

#[test]
fn a_mixture_of_experts_over_a_sparse_axis() {
    let sizes = ["--set", "tokens=90", "--set", "hidden=72", "--set", "ffn=140", "--set", "experts=5"];
    assert_same("examples/moe/moe.wsp", "examples/moe/moe.pto", &sizes, &["y"]);
}

#[test]
fn ragged_prefill_by_priority() {
    assert_same(
        "examples/ragged_prefill/prefill.wsp",
        "examples/ragged_prefill/prefill.pto",
        &[],
        &["output", "lse"],
    );
}

#[test]
fn a_top_k_indexer_with_kernels_by_length() {
    let sizes = ["--generate", "len=1/2048/2049/8192/0/9000"];
    assert_same(
        "examples/topk_indexer/indexer.wsp",
        "examples/topk_indexer/indexer.pto",
        &sizes,
        &["indices", "scores"],
    );
}

#[test]
fn every_workload_of_the_examples_passes_its_check() {
    for example in ["llama_layer/layer", "moe/moe", "ragged_prefill/prefill", "topk_indexer/indexer"] {
        assert!(run(&["check", &format!("examples/{example}.wsp")]).contains(": ok"));
    }
}

#[test]
fn the_workload_of_the_readme_runs_as_printed() {
    let readme = include_str!("../../../../README.md");
    let from = readme.find("```wsp").expect("it has a workload");
    let block = readme[from + "```wsp".len()..].split("```").next().expect("a block should end");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("readme.wsp");
    #[expect(clippy::disallowed_methods, reason = "a test writes the file")]
    std::fs::write(&path, block).unwrap();
    let out = run(&["run", &path.display().to_string()]);
    assert!(out.contains("  check      ok"), "{out}");
}
