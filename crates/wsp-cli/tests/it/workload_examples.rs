//! The workloads over real kernels: each matches its f64 reference, and gives the bits of the program that generates the
//! same tasks itself.

use crate::command;
use pto_wsp::Array;
use std::path::Path;
use wsp_cli::files::{Npz, write_npz};

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

/// Sizes of a layer whose heads divide among four tiles, and whose heads of keys and values among two.
const LAYER: [&str; 8] = ["--set", "seq=150", "--set", "hidden=256", "--set", "heads=8", "--set", "ffn=344"];

#[test]
fn a_llama_layer_over_a_grid_of_tiles_has_the_bits_of_one_without() {
    let folder = tempfile::tempdir().unwrap();
    let [layer, program] = ["examples/llama_layer/layer.wsp", "examples/llama_layer/layer.pto"];
    let ways = [
        (layer, &["--threads", "2"][..]),
        (layer, &["--threads", "1", "--schedule", "sharded"]),
        (layer, &["--threads", "8", "--schedule", "sharded"]),
        (program, &["--threads", "3", "--schedule", "Sharded"]),
    ];
    let results: Vec<Vec<u8>> = ways
        .into_iter()
        .map(|(layer, way)| {
            let out = folder.path().join("out.npz").display().to_string();
            let text = run(&[&["run", layer, "--outputs", &out][..], &LAYER, way].concat());
            assert!(text.contains("`y` ok"), "{way:?}\n{text}");
            Npz::open(Path::new(&out)).unwrap().read("y").unwrap().bytes().to_vec()
        })
        .collect();
    assert!(results.iter().all(|result| *result == results[0]), "the ways differ");
    // Tasks of a column of tiles that has no head of keys are fewer; every tile has some.
    let (code, out, err) =
        command::run(&[&["run", layer, "--schedule", "sharded", "--stats", "json"][..], &LAYER].concat());
    assert_eq!(code, 0, "{err}");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    let lines: Vec<&str> = told["grid"].as_array().unwrap().iter().filter_map(|l| l.as_str()).collect();
    for row in 0..2 {
        let tiles = lines
            .iter()
            .find_map(|line| line.strip_prefix(&format!("tiles (0, {row}) to (3, {row}): tasks ")));
        let tasks: Vec<u64> = tiles.unwrap().split(", ").map(|n| n.parse().unwrap()).collect();
        assert!(tasks.len() == 4 && tasks.iter().all(|tasks| *tasks > 0), "{lines:#?}");
    }
    assert!(lines.contains(&"relayout(attended): all-gather over x"), "{lines:#?}");
}

#[test]
fn a_llama_layer_that_reads_parts_of_sums_is_refused_where_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(command::root().join("examples/llama_layer/layer.wsp")).unwrap();
    let used = command::root().join("examples/llama_layer/layer.pto");
    std::fs::copy(used, folder.path().join("layer.pto")).unwrap();
    let file = folder.path().join("layer.wsp");
    for (tensor, place) in [("attended", "project_out"), ("middle", "rmsnorm_ffn"), ("gated", "project_down")]
    {
        let line = format!("    relayout({tensor}, [replicate, replicate]);\n");
        assert!(text.contains(&line));
        std::fs::write(&file, text.replace(&line, "")).unwrap();
        let args = ["run", file.to_str().unwrap(), "--schedule", "sharded"];
        let (code, _, err) = command::run(&[&args[..], &LAYER].concat());
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("WSP0430") && err.contains(&format!("in kernel `{place}`")), "{err}");
        assert!(err.contains(&format!("write `relayout({tensor}, [replicate, replicate]);`")), "{err}");
        // So is the file when it is checked.
        let (code, _, told) = command::run(&["check", file.to_str().unwrap()]);
        assert!(code == 1 && told.contains(&format!("in kernel `{place}`")), "{told}");
    }
}

#[test]
fn a_check_of_a_program_follows_the_layouts_of_each_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(command::root().join("examples/llama_layer/layer.pto")).unwrap();
    let file = folder.path().join("layer.pto");
    let check = |text: &str| {
        std::fs::write(&file, text).unwrap();
        command::run(&["check", file.to_str().unwrap()])
    };
    assert_eq!(check(&text).0, 0);
    let line = "    PTO_RELAYOUT(gated, PTO_REPLICATE, PTO_REPLICATE)\n";
    assert!(text.contains(line));
    let (code, _, err) = check(&text.replace(line, ""));
    assert!(code == 1 && err.contains("WSP0430") && err.contains("in kernel `project_down`"), "{err}");
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
    for example in [
        "llama_layer/layer",
        "moe/moe",
        "ragged_prefill/prefill",
        "topk_indexer/indexer",
        "pipelines/gemm",
        "pipelines/softmax",
        "pipelines/reduce",
    ] {
        assert!(run(&["check", &format!("examples/{example}.wsp")]).contains(": ok"));
    }
}

/// Runs a pipeline of the examples on threads, on AICPUs and on one thread, with an array of each name; its outputs, which are the
/// same bits in all.
fn piped(example: &str, arrays: &[(&str, [u64; 2], &[f32])], outputs: &[&str]) -> Vec<Vec<f64>> {
    let folder = tempfile::tempdir().unwrap();
    let given = folder.path().join("given.npz");
    let of = |(name, shape, values): &(&str, [u64; 2], &[f32])| {
        ((*name).to_owned(), Array::of(&shape[..], values).expect("values fill the shape"))
    };
    write_npz(&given, &arrays.iter().map(of).collect()).unwrap();
    let mut results = ["--threads 3", "--threads 1", "--aicpus 1", "--aicpus 3", "--aicpus 4 --threads 2"]
        .map(|way| {
            let out = folder.path().join("out.npz").display().to_string();
            let given = given.display().to_string();
            let mut args = vec!["run", example, "--inputs", &given, "--outputs", &out];
            args.extend(way.split(' '));
            run(&args);
            let mut archive = Npz::open(Path::new(&out)).unwrap();
            outputs
                .iter()
                .map(|name| archive.read(name).unwrap().as_slice::<f32>().unwrap().to_vec())
                .collect::<Vec<_>>()
        });
    assert!(results.iter().all(|result| *result == results[0]), "{example}: the ways differ");
    assert!(
        run(&["sim", example, "--model", "ascend_910b", "--inputs", &given.display().to_string()])
            .contains("critical")
    );
    results[0].iter_mut().map(|values| values.iter().map(|value| f64::from(*value)).collect()).collect()
}

/// Numbers from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1u64 << 23) as f32) - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Compares with what is right; an error of `allowed` is.
fn assert_near(what: &str, found: &[f64], right: impl Iterator<Item = (f64, f64)>) {
    let mut compared = 0;
    for (at, (found, (right, allowed))) in found.iter().zip(right).enumerate() {
        assert!((found - right).abs() <= allowed, "{what}, element {at}: {found}, and {right} is right");
        compared += 1;
    }
    assert_eq!(compared, found.len(), "{what}");
}

/// Half the distance of `f32` numbers near 1.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;

#[test]
fn a_product_of_matrices_in_three_processes() {
    for (m, n, k) in [(200, 130, 300), (64, 64, 64), (1, 1, 1), (70, 5, 129)] {
        let (a, b) = (numbers(m * k, 1), numbers(n * k, 2));
        let found = piped(
            "examples/pipelines/gemm.wsp",
            &[("a", [m as u64, k as u64], &a), ("b", [n as u64, k as u64], &b)],
            &["c"],
        );
        let right = (0..m * n).map(|at| {
            let terms = (0..k).map(|p| f64::from(a[at / n * k + p]) * f64::from(b[at % n * k + p]));
            let (sum, size) =
                terms.fold((0.0, 0.0), |(sum, size): (f64, f64), term| (sum + term, size + term.abs()));
            // A sum of k products: Higham, Accuracy and Stability of Numerical Algorithms, 3.1.
            (sum, (k as f64 + 1.0) * UNIT * size)
        });
        assert_near("c", &found[0], right);
    }
}

#[test]
fn a_softmax_in_three_processes() {
    for (rows, cols) in [(100, 96), (16, 32), (1, 8), (33, 40)] {
        let x = numbers(rows * cols, 3);
        let found = piped("examples/pipelines/softmax.wsp", &[("x", [rows as u64, cols as u64], &x)], &["y"]);
        let right = (0..rows * cols).map(|at| {
            let row = &x[at / cols * cols..][..cols];
            let most = row.iter().copied().fold(f32::MIN, f32::max);
            let power = |value: f32| f64::from(value - most).exp();
            let value = power(x[at]) / row.iter().map(|value| power(*value)).sum::<f64>();
            // Differences are rounded once, powers to 2 units, the sum by its terms, the quotient once.
            (value, (cols as f64 + 8.0) * UNIT * value)
        });
        assert_near("y", &found[0], right);
    }
}

#[test]
fn sums_of_what_comes_first() {
    for (rows, cols) in [(64, 1000), (8, 32), (8, 33), (16, 1)] {
        let x = numbers(rows * cols, 4);
        let outputs = ["squares", "sizes"];
        let found =
            piped("examples/pipelines/reduce.wsp", &[("x", [rows as u64, cols as u64], &x)], &outputs);
        for (kind, found) in found.iter().enumerate() {
            let right = (0..rows).map(|row| {
                let of = x[row * cols..][..cols].iter().enumerate().filter(|(col, _)| col / 32 % 2 == kind);
                let terms =
                    of.map(
                        |(_, value)| {
                            if kind == 0 { f64::from(*value).powi(2) } else { f64::from(value.abs()) }
                        },
                    );
                let sum = terms.sum::<f64>();
                (sum, (cols as f64 + 1.0) * UNIT * sum)
            });
            assert_near(outputs[kind], found, right);
        }
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
