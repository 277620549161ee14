//! What expanders look like. `UPDATE_EXPECT=1` writes the stored ones again.

#[path = "../../wsp-plan/tests/it/workload_support/mod.rs"]
mod workload_support;

use expect_test::{ExpectFile, expect_file};
use std::path::Path;
use workload_support::{module, schedule};
use wsp_ascend::expander::{ExpanderNames, HEADERS, emit_expander};
use wsp_plan::ptow::lower;

fn check(source: &str, expected: &ExpectFile) {
    let module = module(source);
    let lowered = lower(&module, &schedule(&module)).expect("it fits a program");
    let source = emit_expander(&lowered.program.verified(), ExpanderNames::default()).expect("an expander");
    expected.assert_eq(&source.translation_unit);
}

#[test]
fn attention() {
    let source = "
        param batch = 4;
        param heads = 8;
        table lens[batch];
        axis b = dense(batch);
        axis h = dense(heads);
        axis tile = ragged(b, lens);
        tensor q: f16[batch, heads, 64];
        tensor kv: f16[batch, 4096, 64];
        tensor o: f16[batch, heads, 64];
        kernel attn(in q, in kv, inout o, i) on cube;
        workload main {
            parallel for i in b, j in h, t in tile[i] {
                attn(q[i, j], kv[i, t * 64 +: 64], o[i, j], t);
            }
        }
        schedule { dispatch(affinity(b)); }";
    check(source, &expect_file!["golden/attention.cpp"]);
}

#[test]
fn experts() {
    let source = "
        table indptr = [0, 2, 3];
        table experts = [0, 3, 1];
        axis b = dense(2);
        axis route = sparse(b, indptr, experts);
        tensor w: f32[4, 64];
        tensor y: f32[3, 64];
        slot again = 1;
        kernel ffn(in w, out y) on cube;
        kernel norm(inout y, out again) on vector;
        workload main {
            while again max 3 {
                parallel for i in b { select e @ p in route[i] { ffn(w[e], y[p]); } }
                for i in 0..3 { if i % 2 == 0 || again > 1 { norm(y[i], again); } }
            }
        }
        schedule { dispatch_threshold(b, [1], [cube, hash(route)]); task_graph(pools = by_unit(1, 1)); }";
    check(source, &expect_file!["golden/experts.cpp"]);
}

#[test]
fn every_header_has_its_other_name() {
    let find = |path: &str| HEADERS.into_iter().find(|(found, _)| *found == path).map(|(_, text)| text);
    for (path, _) in HEADERS.into_iter().filter(|(path, _)| path.starts_with("pto/wsp/")) {
        let other = path.replacen("pto/wsp/", "pto/rt/", 1);
        let text = find(&other).unwrap_or_else(|| panic!("there is no {other}"));
        assert!(text.contains(&format!("#include \"{path}\"")), "{other}");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("include").join(path).exists());
    }
}
