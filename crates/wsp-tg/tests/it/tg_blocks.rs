//! Kernels in blocks that may not run: loops of no round, behind a break, in an arm. What is not sure is a warning, and a run compares it.

use crate::tg_launches::unit;
use crate::tg_lint::{kernels, read};
use wsp_diag::Severity;
use wsp_tg::{LintOptions, check};

/// How the races of a unit are told where `N` has a value, and whether something is left to the run.
fn told(code: u16, text: &str, n: Option<i64>) -> (Vec<Severity>, bool) {
    let checked = check(&read(text).0, &kernels(), &LintOptions::default(), &[n]);
    let races = checked.findings.iter().filter(|finding| finding.code.0 == code);
    (
        races.map(|finding| finding.severity).collect(),
        !checked.open.is_empty() || !checked.launches.uses.is_empty(),
    )
}

const BLOCKS: [(&str, &str); 6] = [
    ("CF_LOOP(N, i)", "CF_ENDLOOP"),
    ("CF_LOOP(min(N, 2), i)\nCF_LOOP(3, j)", "CF_ENDLOOP\nCF_ENDLOOP"),
    ("CF_WHILE(N > 0, 8)", "CF_ENDWHILE"),
    ("CF_IF(N > 0)\nCF_LOOP(2, i)", "CF_ENDLOOP\nCF_ENDIF"),
    ("CF_IF((N > 0) * 3 == 3)", "CF_ENDIF"),
    ("CF_LOOP(2, i)\nCF_BREAK(N <= 0)", "CF_ENDLOOP"),
];

/// ISA-TG-24, ISA-CF-07: of two launches.
#[test]
fn launches_of_kernels_that_do_not_run_are_no_race() {
    for (open, close) in BLOCKS {
        let inner = format!("{open}\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, T)\n{close}\n");
        let host = format!("TG_BEGIN(J)\n{inner}TG_END(J)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n");
        let text = format!("arg N: i64\n{}", unit(&[("G", "rw", "")], &host));
        assert_eq!(told(1521, &text, None), (vec![Severity::Warning], true), "{text}");
        assert_eq!(told(1521, &text, Some(0)), (Vec::new(), false), "{text}");
        assert_eq!(told(1521, &text, Some(2)).0.len(), 1, "{text}");
    }
    // A break behind the kernel leaves its first round, and the bytes of that.
    let looped = |bytes: &str| {
        let inner = format!(
            "CF_LOOP(4, i)\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, T, {bytes}, 4)\nCF_BREAK(N == 0)\nCF_ENDLOOP\n"
        );
        let host = format!("TG_BEGIN(J)\n{inner}TG_END(J)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n");
        format!("arg N: i64\n{}", unit(&[("G", "rw", ", 8, 4")], &host))
    };
    for n in [None, Some(0), Some(1)] {
        assert_eq!(told(1521, &looped("8"), n), (vec![Severity::Error], false), "{n:?}");
        assert_eq!(told(1521, &looped("4 * i"), n), (vec![Severity::Warning], true), "{n:?}");
    }
}

/// ISA-TG-21: of one graph.
#[test]
fn kernels_of_one_graph_that_do_not_run_are_no_race() {
    for (open, close) in &BLOCKS[..5] {
        let kernel = |name: &str| format!("TG_KERNEL({name}, rw, 1, AIV, 0)\nMC_BIND({name}, 0, T)\n");
        let text = format!(
            "arg N: i64\nextern T: u8[64]\nTG_BEGIN(G)\n{}{open}\n{}{close}\nTG_END(G)\n",
            kernel("A"),
            kernel("B")
        );
        assert_eq!(told(1501, &text, None), (vec![Severity::Warning], true), "{text}");
        assert_eq!(told(1501, &text, Some(0)), (Vec::new(), false), "{text}");
        assert_eq!(told(1501, &text, Some(2)), (vec![Severity::Error], false), "{text}");
    }
}

/// ISA-TG-21, ISA-CF-01, ISA-CF-08: kernels that share bytes in an arm or behind a break which no launch of the host reaches, and whether a run that its
/// caller lets launch the graph with another iteration has to compare them.
#[test]
fn kernels_that_no_launch_reaches_are_no_race() {
    let kernel = |name: &str| format!("TG_KERNEL({name}, rw, 1, AIV, 0)\nMC_BIND({name}, 0, T)\n");
    let text = |open: &str, close: &str, host: &str| {
        let body = format!("{open}\n{}{}{close}", kernel("A"), kernel("B"));
        format!("arg N: i64\nextern T: u8[64]\nTG_BEGIN(G)\n{body}\nTG_END(G)\n{host}\n")
    };
    let arm = |condition: &str| (format!("CF_IF({condition})"), "CF_ENDIF");
    let looped = |count: &str, rest: &str| (format!("CF_LOOP({count}, i)\n{rest}"), "CF_ENDLOOP");
    let within = |count: &str, condition: &str, rest: &str| {
        (format!("CF_LOOP({count}, i)\nCF_IF({condition})"), format!("CF_ENDIF\n{rest}CF_ENDLOOP"))
    };
    let (once, one, two) = ("TG_LAUNCH(G, 1)", "TG_INVOKE(G, 1)", "TG_INVOKE(G, 0)\nTG_INVOKE(G, 2)");
    let rounds = "CF_LOOP(4, k)\nTG_INVOKE(G, 2 * k)\nCF_ENDLOOP";
    for ((open, close), host, is_race, is_left) in [
        (arm("iteration == 1"), once, false, true),
        (arm("iteration == 1"), one, true, false),
        (arm("iteration == 1"), two, false, true),
        (arm("iteration == 1"), rounds, false, true),
        (arm("iteration == 4"), rounds, true, false),
        (arm("iteration == 1"), "TG_INVOKE(G, N)", true, false),
        // Each graph is launched once.
        (arm("iteration == 1"), "", false, true),
        (arm("iteration % 2 == 0"), "", true, false),
        (looped("3", "CF_BREAK(i == 0)\n"), once, false, false),
        (looped("3", "CF_BREAK(i == 1)\n"), once, true, false),
        (looped("3", "CF_BREAK(iteration == 0)\n"), once, false, true),
        (looped("3", "CF_BREAK(iteration == 1)\n"), once, true, false),
        (looped("N", "CF_BREAK(i < 1)\n"), once, false, false),
    ] {
        let text = text(&open, close, host);
        let found = told(1501, &text, None);
        assert_eq!((found.0.is_empty(), found.1), (!is_race, is_left), "{text}");
    }
    for ((open, close), is_race) in [
        (within("3", "i == 3", ""), false),
        (within("3", "i == 2", ""), true),
        (within("3", "i == 2", "CF_BREAK(i == 1)\n"), false),
        (within("3", "i == 1", "CF_BREAK(i == 1)\n"), true),
        (within("N", "i == N", ""), false),
    ] {
        let text = text(&open, &close, once);
        assert_eq!(told(1501, &text, None).0.is_empty(), !is_race, "{text}");
    }
    // Loops in each other, of which the innermost has a round in none of the others, or in one.
    for (rounds, is_race) in [(2, false), (3, true)] {
        let open = format!("CF_LOOP({rounds}, i, SEQUENTIAL)\nCF_LOOP(i, j)\nCF_LOOP(j, k)");
        let text = text(&open, "CF_ENDLOOP\nCF_ENDLOOP\nCF_ENDLOOP", once);
        assert_eq!(told(1501, &text, None).0.is_empty(), !is_race, "{text}");
    }
    // A scalar with a value.
    for (n, is_race) in [(2, false), (1, true)] {
        let text = text("CF_LOOP(N, i)\nCF_BREAK(N == 2)", "CF_ENDLOOP", once);
        assert_eq!(told(1501, &text, Some(n)), (vec![Severity::Error; usize::from(is_race)], false), "{n}");
    }
}

/// ISA-MC-02: memory that a launch binds no argument to, as its index and conditions go, may be released.
#[test]
fn memory_that_a_launch_does_not_take_is_released() {
    let text = |index: &str, condition: &str| {
        let kernel = format!("TG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, {{M, T, T}}[{index}])\n");
        format!(
            "arg N: i64\nextern T: u8[64]\nMC_ALLOC(M, 64)\nTG_BEGIN(G)\nCF_IF({condition})\n{kernel}CF_ENDIF\nTG_END(G)\nTG_INVOKE(G, 2)\nMC_FREE(M)\n"
        )
    };
    for (index, condition) in
        [("1", "1"), ("N", "1"), ("iteration - 1", "1"), ("0", "N == 0"), ("0", "iteration")]
    {
        let text = text(index, condition);
        let is_taken = (index, condition) == ("0", "iteration");
        assert_eq!(told(1521, &text, Some(1)).0.len(), usize::from(is_taken), "{text}");
    }
    assert_eq!(told(1521, &text("N", "1"), None).0.len(), 1);
    assert_eq!(told(1521, &text("0", "N == 0"), None).0.len(), 1);
}
