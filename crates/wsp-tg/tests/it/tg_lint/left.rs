//! What is left to the run, what is not compared, and what is not shown.

use super::{check, findings, graph};
use wsp_diag::Severity;

/// ISA-MC-03, ISA-TG-21: bytes that follow from declared scalars, memory or the iteration are left to the run, and that is said.
#[test]
fn what_only_a_run_can_compare_is_told() {
    let unit = |a: &str, b: &str| {
        format!(
            "arg N: i64 = 0\narg M: i64 = 0\nextern T: u8[1024]\nextern F: i32[4]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T, {a}, 4)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, T, {b}, 4)\nTG_END(G)\n"
        )
    };
    for (a, b, on) in [
        ("N * 4", "M * 4", "`M`"),
        ("N", "8", "`N`"),
        ("iteration * 4", "16", "the iteration"),
        ("0", "device * 4", "the device"),
    ] {
        let mut found = findings(&unit(a, b));
        // What several devices do to the same bytes is another matter.
        found.retain(|finding| finding.code.0 != 1521);
        assert_eq!(found.len(), 1, "{a} {b}: {found:#?}");
        assert_eq!((found[0].code.0, found[0].severity), (1522, Severity::Note));
        assert_eq!(found[0].help, ["TG_DEPEND(A, B, DATA, T)"]);
        let labels = format!("{:?}", found[0]);
        assert!(labels.contains(on), "{a} {b}: {labels}");
        let ordered = unit(a, b).replace("TG_END", "TG_DEPEND(A, B, DATA, T)\nTG_END");
        assert!(findings(&ordered).iter().all(|finding| finding.code.0 == 1521));
    }
    assert!(findings(&unit("N * 8", "N * 8 + 4")).is_empty(), "they are apart whatever N is");
    // Rounds of a loop whose count is read from memory.
    let rounds = "extern T: u8[1024]\nextern F: i32[4]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T, 64, 4)\nCF_LOOP(load(F), i)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, T, i * 4, 4) //! 1522\nCF_ENDLOOP\nTG_END(G)\n";
    check(rounds);
}

/// Of 190 writers in no order, 17,955 pairs may meet, and a run compares 16,384 of them.
#[test]
fn pairs_that_not_even_a_run_compares_are_a_warning() {
    let unit = |kernels: usize| {
        let kernel =
            |n: usize| format!("TG_KERNEL({n}, w, 1, AIV, 0)\nMC_BIND({n}, 0, T, N * {}, 4)\n", 4 * n);
        let kernels: String = (0..kernels).map(kernel).collect();
        format!("arg N: i64 = 1\nextern T: u8[1024]\nTG_BEGIN(G)\n{kernels}TG_END(G)\n")
    };
    let summary = |kernels: usize| {
        let found = findings(&unit(kernels));
        let summary = found.into_iter().find(|finding| finding.code.0 == 1519);
        let summary = summary.expect("most pairs are not reported one by one");
        (summary.severity, summary.notes)
    };
    let (severity, notes) = summary(190);
    assert_eq!(
        (severity, notes),
        (Severity::Warning, vec!["1571 of them are not compared at all".to_owned()])
    );
    assert_eq!(summary(20), (Severity::Note, Vec::new()));
}

/// Findings beyond those that are kept are as grave as they would be.
#[test]
fn an_error_behind_a_thousand_warnings_is_an_error() {
    let kernel = |name: &str, entry: &str, at: usize| {
        format!("TG_KERNEL({name}{at}, {entry}, 1, AIV, 0)\nMC_BIND({name}{at}, 0, T, {at}, 1)\n")
    };
    // What the second of each two reads is not made visible to it.
    let unseen: String = (0..1010)
        .map(|at| format!("{}{}TG_DEPEND(W{at}, R{at})\n", kernel("W", "w", at), kernel("R", "r", at)))
        .collect();
    let last = |rest: &str| {
        let found = findings(&graph(&format!("{unseen}{rest}")));
        found.last().map(|finding| (finding.code.0, finding.severity))
    };
    assert_eq!(last(""), Some((1519, Severity::Warning)));
    let without_its_argument = "TG_KERNEL(A, w, 1, AIV, 0)\n";
    assert_eq!(last(without_its_argument), Some((1519, Severity::Error)));
}
