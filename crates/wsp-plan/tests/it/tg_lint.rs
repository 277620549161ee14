//! What the checker of task graphs finds, and that what it proposes repairs it.
//!
//! Units are written as text. A comment `//! CODE` at the end of a line says that a finding of this code is reported there. Whatever is
//! reported elsewhere fails the test.

use proptest::prelude::*;
use wsp_core::DType;
use wsp_core::tg::{Direction, Platform};
use wsp_ir::SourceMap;
use wsp_ir::diag::{Diagnostic, Severity, render_all};
use wsp_ir::tg::{ArgSignature, KernelSignature, Signatures, TgModule, verify};
use wsp_plan::tg::matrix::DeviceModel;
use wsp_plan::tg::{LintOptions, lint};

/// The example of document 000, section 8.
const EXAMPLE: &str = include_str!("../../../../examples/deepseek_indexer_verbatim.tg");
/// It without its defects.
const CORRECTED: &str = include_str!("../../../../examples/deepseek_indexer_corrected.tg");

fn read(text: &str) -> (TgModule, SourceMap) {
    let mut sources = SourceMap::default();
    let (module, found) = wsp_isa::tg::text::parse("unit.tg", text, &mut sources);
    let shown = render_all(&found, &sources, false);
    let module = module.unwrap_or_else(|| panic!("the text should be read:\n{shown}"));
    let faults = verify(&module);
    assert!(faults.is_empty(), "{}", render_all(&faults, &sources, false));
    (module, sources)
}

/// Entries `w` that writes, `r` that reads, `rw` that does both, and `f` that reads its first argument and writes its second.
fn kernels() -> Signatures {
    let arg = |direction| ArgSignature::new("x", direction);
    let kernel = |name: &str, directions: &[Direction]| {
        KernelSignature::new(name, directions.iter().map(|direction| arg(*direction)).collect())
    };
    Signatures::from_iter([
        kernel("w", &[Direction::Out]),
        kernel("r", &[Direction::In]),
        kernel("rw", &[Direction::InOut]),
        kernel("f", &[Direction::In, Direction::Out]),
        kernel("g", &[Direction::In, Direction::In]),
        kernel("e", &[]),
    ])
}

pub(crate) fn findings(text: &str) -> Vec<Diagnostic> {
    lint(&read(text).0, &kernels(), &LintOptions::default())
}

/// Checks that exactly the marked findings are reported; gives them back.
#[track_caller]
fn check_with(text: &str, signatures: &Signatures, options: &LintOptions) -> Vec<Diagnostic> {
    let (module, sources) = read(text);
    let mut expected: Vec<(u32, u16)> = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let Some((_, codes)) = content.split_once("//!") else { continue };
        for code in codes.split_whitespace() {
            expected.push((line as u32 + 1, code.parse().expect("a mark should be a number")));
        }
    }
    let found = lint(&module, signatures, options);
    let mut have: Vec<(u32, u16)> = found
        .iter()
        .map(|d| (d.primary.as_ref().map_or(0, |label| sources.line_col(label.span).0), d.code.0))
        .collect();
    have.sort_unstable();
    expected.sort_unstable();
    assert_eq!(have, expected, "{}", render_all(&found, &sources, false));
    for finding in &found {
        let is_told = !finding.help.is_empty() || finding.severity == Severity::Note;
        assert!(is_told, "{} has no help", finding.message);
        assert!(wsp_ir::diag::lookup(finding.code).is_some(), "{} is not explained", finding.code);
    }
    found
}

#[track_caller]
pub(crate) fn check(text: &str) -> Vec<Diagnostic> {
    check_with(text, &kernels(), &LintOptions::default())
}

/// The text with the first edge that each finding proposes, at the end of the first graph.
fn repaired(text: &str, found: &[Diagnostic]) -> String {
    let edges: String = found
        .iter()
        .filter_map(|finding| finding.help.first())
        .filter(|help| help.starts_with("TG_DEPEND("))
        .map(|help| format!("{help}\n"))
        .collect();
    let end = text.find("TG_END").expect("the unit should have a graph");
    format!("{}{edges}{}", &text[..end], &text[end..])
}

/// Checks the marked findings, and that nothing is found once the proposed edges stand.
#[track_caller]
fn check_and_repair(text: &str) -> Vec<Diagnostic> {
    let found = check(text);
    let text = repaired(text, &found);
    let left = findings(&text);
    assert!(left.is_empty(), "{text}\n{left:#?}");
    found
}

/// A graph of these instructions, with an external tensor of 1024 bytes.
fn graph(body: &str) -> String {
    format!("extern T: u8[1024]\nTG_BEGIN(G)\n{body}\nTG_END(G)\n")
}

/// Kernels by name, entry and bound tensor.
fn bound(kernels: &[(&str, &str)]) -> String {
    kernels
        .iter()
        .map(|(name, entry)| format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, T)\n"))
        .collect()
}

/// ISA-EX-03: nothing but the defects that the example has.
#[test]
fn the_example_has_its_known_defects_and_no_others() {
    let (module, sources) = read(EXAMPLE);
    let found = lint(&module, &Signatures::new(), &LintOptions::default());
    let warnings: Vec<&Diagnostic> = found.iter().filter(|d| d.severity != Severity::Note).collect();
    let told: Vec<(&str, &str)> = warnings.iter().map(|d| (d.message.as_str(), d.help[0].as_str())).collect();
    assert_eq!(
        told,
        [
            ("`WORKSPACE` is never used", "remove MC_ALLOC(WORKSPACE, …), or bind it to a kernel"),
            (
                "a DATA edge for `KV_CACHE` is missing from `MLA_PROLOG` to `SPARSE_FA`",
                "TG_DEPEND(MLA_PROLOG, SPARSE_FA, DATA, KV_CACHE)"
            ),
        ],
        "{}",
        render_all(&found, &sources, false)
    );
}

/// ISA-EX-03: with what its kernels say of themselves nothing has to be guessed, and the same is found.
#[test]
fn the_example_has_the_same_defects_with_its_kernels() {
    let mut sources = SourceMap::default();
    let source = include_str!("../../../../examples/deepseek/indexer.pto");
    let (kernels, faults) = wsp_lang::compile("indexer.pto", source, &mut sources);
    let kernels = kernels.unwrap_or_else(|| panic!("{}", render_all(&faults, &sources, false)));
    let signatures: Signatures = kernels
        .kernel_entries
        .iter()
        .map(|entry| wsp_plan::tg::entry::signature(&kernels, entry, &|_| None))
        .collect();
    let unit = |text| {
        let (module, sources) = read(text);
        let found = lint(&module, &signatures, &LintOptions::default());
        let codes: Vec<u16> = found.iter().map(|finding| finding.code.0).collect();
        (codes, render_all(&found, &sources, false))
    };
    let (codes, shown) = unit(include_str!("../../../../examples/deepseek_indexer.tg"));
    assert_eq!(codes, [1504, 1503], "{shown}");
    let (codes, shown) = unit(CORRECTED);
    assert_eq!(codes, [0; 0], "{shown}");
}

/// ISA-EX-03: the proposed edge and the proposed removal are the repair.
#[test]
fn the_example_is_repaired_by_what_is_proposed() {
    let (module, _) = read(EXAMPLE);
    let found = lint(&module, &Signatures::new(), &LintOptions::default());
    let text = repaired(EXAMPLE, &found);
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("MC_ALLOC(WORKSPACE")).collect();
    let (module, _) = read(&text.join("\n"));
    let left = lint(&module, &Signatures::new(), &LintOptions::default());
    assert!(left.iter().all(|finding| finding.severity == Severity::Note), "{left:#?}");
}

/// ISA-EX-03.
#[test]
fn the_corrected_example_has_no_defect() {
    let (module, sources) = read(CORRECTED);
    let found = lint(&module, &Signatures::new(), &LintOptions::default());
    let left = found.iter().filter(|finding| finding.severity != Severity::Note).count();
    assert_eq!(left, 0, "{}", render_all(&found, &sources, false));
}

/// ISA-TG-21: the whole circle, each link with its place.
#[test]
fn a_circle_is_printed_with_its_whole_path() {
    let text = "TG_BEGIN(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, e, 1, AIV, 0)\nTG_DEPEND(A, B) //! 1500\nTG_DEPEND(B, C)\nTG_DEPEND(C, A)\nTG_END(0)\n";
    let found = check(text);
    assert_eq!(found[0].message, "`A` waits for itself: `A` → `B` → `C` → `A`");
    assert!(found[0].is_error());
    assert_eq!(found[0].labels.len(), 2, "the other two links");
}

/// ISA-TG-20: a hint orders nothing.
#[test]
fn a_soft_edge_closes_no_circle() {
    check(
        "TG_BEGIN(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_DEPEND(A, B)\nTG_DEPEND(B, A, SOFT)\nTG_END(0)\n",
    );
    check(
        "TG_BEGIN(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_DEPEND(A, B)\nTG_DEPEND(A, B, SOFT) //! 1510\nTG_END(0)\n",
    );
}

/// ISA-SY-06: circles through events, gangs and barriers.
#[test]
fn circles_through_events_gangs_and_barriers_are_found() {
    let kernels = "TG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, e, 1, AIV, 0)\n";
    let graph = |body: &str| format!("TG_BEGIN(0)\n{kernels}{body}\nTG_END(0)\n");
    let found = check(&graph("SY_SIGNAL(E, B)\nSY_WAIT(E, A)\nTG_DEPEND(A, B) //! 1500"));
    assert_eq!(found[0].message, "`A` waits for itself: `A` → `B` → event `E` → `A`");
    check(&graph("SY_SIGNAL(E, A)\nSY_WAIT(E, B)\nTG_DEPEND(A, B)"));
    check(&graph("SY_SIGNAL(E, A) //! 1500\nSY_WAIT(E, A)"));
    let found = check(&graph("SY_BARRIER({A, C}, 0)\nTG_DEPEND(A, B) //! 1500\nTG_DEPEND(B, C)"));
    assert_eq!(found[0].message, "`A` waits for itself: `A` → `B` → gang → `A`");
    check(&graph("TG_DEPEND(A, B, BARRIER) //! 1500\nTG_DEPEND(C, A)"));
}

/// ISA-SY-06: two graphs that wait for each other.
#[test]
fn graphs_that_wait_for_each_other_are_found() {
    let graph = |no: u32, wait: &str, signal: &str, mark: &str| {
        format!(
            "TG_BEGIN({no})\nTG_KERNEL(K{no}, e, 1, AIV, 0)\nSY_WAIT({wait}, K{no})\nSY_SIGNAL({signal}, K{no}){mark}\nTG_END({no})\n"
        )
    };
    let text = graph(0, "E", "F", " //! 1500") + &graph(1, "F", "E", "");
    let found = check(&text);
    assert_eq!(found[0].message, "`K0` waits for itself: `K0` → event `F` → `K1` → event `E` → `K0`");
}

/// ISA-TG-18, ISA-EM-05: neither order nor visibility.
#[test]
fn two_kernels_on_the_same_bytes_need_an_order() {
    let found = check_and_repair(&graph(&bound(&[("A", "w"), ("B", "r")]).replacen(
        "MC_BIND(B, 0, T)",
        "MC_BIND(B, 0, T) //! 1501",
        1,
    )));
    assert!(found[0].is_error());
    assert_eq!(found[0].help, ["TG_DEPEND(A, B, DATA, T)"]);
    let second = |text: String| text.replacen("MC_BIND(B, 0, T)", "MC_BIND(B, 0, T) //! 1501", 1);
    let found = check_and_repair(&graph(&second(bound(&[("A", "r"), ("B", "w")]))));
    assert_eq!(found[0].help, ["TG_DEPEND(A, B, AFTER)"]);
    check_and_repair(&graph(&second(bound(&[("A", "w"), ("B", "w")]))));
    check_and_repair(&graph(&second(bound(&[("A", "rw"), ("B", "rw")]))));
    check(&graph(&bound(&[("A", "r"), ("B", "r")])));
}

#[test]
fn kernels_on_different_bytes_need_no_order() {
    check(&graph(
        "TG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(A, 0, T, 0, 512)\nMC_BIND(B, 0, T, 512)",
    ));
    check(&graph(
        "TG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(A, 0, T, 0, 513)\nMC_BIND(B, 0, T, 512) //! 1501",
    ));
}

/// ISA-MC-12, ISA-EM-05: what `AFTER` alone does not do.
#[test]
fn ordered_is_not_visible() {
    let kernels = bound(&[("A", "w"), ("B", "r")]);
    let found = check_and_repair(&graph(&format!("{kernels}TG_DEPEND(A, B) //! 1502")));
    assert_eq!(found[0].help[0], "TG_DEPEND(A, B, DATA, T)");
    assert_eq!(found[0].severity, Severity::Warning);
    check(&graph(&format!("{kernels}TG_DEPEND(A, B, DATA, T)")));
    check(&graph(&format!("{kernels}TG_DEPEND(A, B, DATA)")));
    check(&graph(&format!("{kernels}TG_DEPEND(A, B, BARRIER)")));
    check(&graph(&format!("{kernels}SY_SIGNAL(E, A)\nSY_WAIT(E, B)")));
}

/// ISA-MC-11, ISA-MC-12: a fence between the two, in program order.
#[test]
fn a_fence_makes_visible_what_crosses_it() {
    let unit = |before: &str, between: &str, after: &str, mark: &str| {
        graph(&format!(
            "{before}TG_KERNEL(A, w, 1, AIV, 0)\n{between}TG_KERNEL(B, r, 1, AIV, 0)\n{after}MC_BIND(A, 0, T)\nMC_BIND(B, 0, T)\nTG_DEPEND(A, B){mark}"
        ))
    };
    for scope in ["DEVICE", "L2", "GM"] {
        check(&unit("", &format!("MC_FENCE({scope})\n"), "", ""));
    }
    check(&unit("MC_FENCE(GM)\n", "", "", " //! 1502"));
    check(&unit("", "", "MC_FENCE(GM)\n", " //! 1502"));
    check(&unit("", "CF_IF(iteration)\nMC_FENCE(GM)\nCF_ENDIF\n", "", " //! 1502"));
    // A fence orders nothing.
    check(&graph(
        "TG_KERNEL(A, w, 1, AIV, 0)\nMC_FENCE(GM)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_BIND(B, 0, T) //! 1501",
    ));
}

/// ISA-EM-04: a `DATA` edge shows its tensor to whoever comes after it, and no other tensor.
#[test]
fn a_data_edge_shows_its_tensor_to_all_that_follow() {
    let unit = |edges: &str| {
        format!(
            "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w2, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, r, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_BIND(A, 1, U)\n{edges}TG_END(G)\n"
        )
    };
    let mut signatures = kernels();
    let arg = || ArgSignature::new("x", Direction::Out);
    signatures.insert(KernelSignature::new("w2", vec![arg(), arg()]));
    let check = |text: &str| check_with(text, &signatures, &LintOptions::default());
    check(&unit("MC_BIND(C, 0, T)\nTG_DEPEND(A, B, DATA, T)\nTG_DEPEND(B, C)\n"));
    check(&unit("MC_BIND(C, 0, T)\nTG_DEPEND(A, B, DATA)\nTG_DEPEND(B, C)\n"));
    let found = check(&unit("MC_BIND(C, 0, U) //! 1503\nTG_DEPEND(A, B, DATA, T)\nTG_DEPEND(B, C)\n"));
    assert_eq!(found[0].help, ["TG_DEPEND(A, C, DATA, U)"]);
    check(&unit("MC_BIND(C, 0, T) //! 1503\nTG_DEPEND(A, B)\nTG_DEPEND(B, C, DATA)\n"));
}

/// ISA-CF-01: the arms of one condition do not meet.
#[test]
fn kernels_of_two_arms_need_no_order() {
    let arms = |middle: &str, mark: &str| {
        graph(&format!(
            "CF_IF(iteration)\n{}{middle}\n{}CF_ENDIF",
            bound(&[("A", "w")]),
            bound(&[("B", "w")]).replace("MC_BIND(B, 0, T)", &format!("MC_BIND(B, 0, T){mark}"))
        ))
    };
    check(&arms("CF_ELSE", ""));
    let found = check(&arms("CF_ENDIF\nCF_IF(iteration > 3)", " //! 1501"));
    assert_eq!(found[0].severity, Severity::Warning, "they do not surely both run");
    // Whoever reads afterwards needs an edge from both.
    let text = arms("CF_ELSE", "")
        .replace("TG_END", "TG_KERNEL(C, r, 1, AIV, 0)\nMC_BIND(C, 0, T) //! 1501 1501\nTG_END");
    check_and_repair(&text);
}

/// ISA-CF-07: in one round; what rounds need of each other is found when the graph runs.
#[test]
fn ranges_that_move_with_a_loop_are_compared_in_one_round() {
    let unit = |a: &str, b: &str| {
        graph(&format!(
            "CF_LOOP(4, i)\nTG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, T, {a}, 128)\nMC_BIND(B, 0, T, {b}\nCF_ENDLOOP"
        ))
    };
    check(&unit("i * 128", "i * 128, 128) //! 1501"));
    check(&unit("i * 128", "i * 128 + 128, 128)"));
    check(&unit("i * 128", "i * 128 + 127, 128) //! 1501"));
    check(&unit("i * 256", "128 + i * 256, 128)"));
    check(&unit("i * 128", "0, 128) //! 1501"));
    check(&unit("i * 256", "128, 128)"));
}

/// ISA-TG-27: ranges that depend on the launch.
#[test]
fn ranges_that_depend_on_the_launch_are_compared_by_their_difference() {
    let unit = |a: &str, b: &str| {
        graph(&format!(
            "TG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, T, {a}, 128)\nMC_BIND(B, 0, T, {b}"
        ))
    };
    check(&unit("iteration * 128", "iteration * 128, 128) //! 1501"));
    check(&unit("iteration * 128", "(iteration + 1) * 128, 128)"));
    // Whether they meet depends on the iteration: every launch compares them.
    check(&unit("iteration * 128", "0, 128) //! 1522"));
}

/// ISA-TG-27: double buffers.
#[test]
fn tables_are_the_same_tensor_if_they_are_indexed_alike() {
    let unit = |index: &str| {
        format!(
            "extern P: u8[64]\nextern Q: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, {{P, Q}}[iteration % 2])\nMC_BIND(B, 0, {{P, Q}}[{index}\nTG_END(G)\n"
        )
    };
    check(&unit("(iteration + 1) % 2]) //! 1522 1522"));
    check(&unit("iteration % 2]) //! 1501 1501"));
}

/// ISA-CF-09: a loop that runs round by round holds back what follows it.
#[test]
fn edges_across_the_border_of_a_loop_hold_for_all_of_it() {
    let text = "extern T: u8[64]\nextern C: i32[1]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_WHILE(load(C))\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(R, r, 1, AIV, 0)\nMC_BIND(R, 0, T)\nTG_KERNEL(S, rw, 1, AIV, 0)\nMC_BIND(S, 0, C)\nCF_ENDWHILE\nTG_DEPEND(A, B, DATA, T)\nTG_END(G)\n";
    check(text);
    check(
        &text
            .replace("MC_BIND(R, 0, T)", "MC_BIND(R, 0, T) //! 1501")
            .replace("TG_DEPEND(A, B, DATA, T)\n", ""),
    );
}

/// ISA-CF-04: a decision on data follows who writes them.
#[test]
fn a_decision_on_data_orders_its_arms_behind_the_writer() {
    let text = "extern T: u8[64]\nextern C: i32[1]\nTG_BEGIN(G)\nTG_KERNEL(A, f, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_BIND(A, 1, C)\nCF_IF(load(C))\nTG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(B, 0, T)\nCF_ENDIF\nTG_END(G)\n";
    check(text);
    check(&text.replace("load(C)", "iteration").replace("MC_BIND(B, 0, T)", "MC_BIND(B, 0, T) //! 1501"));
    // A writer that waits for an arm closes a circle.
    let circle = text.replace("CF_IF(load(C))", "CF_IF(load(C)) //! 1500");
    check(&circle.replace("TG_END", "TG_DEPEND(B, A)\nTG_END"));
}

/// ISA-MC-09, ISA-MC-05: copies stand in program order with whoever uses their bytes, and show what they copy.
#[test]
fn copies_need_no_edges() {
    let text = "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_COPY(T, U, 64)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, U)\nTG_KERNEL(C, w, 1, AIV, 0)\nMC_BIND(C, 0, T)\nTG_END(G)\n";
    check(text);
    check(&text.replace("TG_END", "TG_DEPEND(B, copy.0) //! 1500\nTG_END"));
}

/// ISA-FE-04: a checkpoint is between everything before it and everything behind it.
#[test]
fn a_checkpoint_orders_what_stands_around_it() {
    check(&graph(&format!("{}TG_CHECKPOINT(G, 1)\n{}", bound(&[("A", "w")]), bound(&[("B", "r")]))));
}

/// ISA-TG-19.
#[test]
fn kernels_between_those_of_a_barrier_are_told() {
    let text = graph(
        "TG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, e, 1, AIV, 0)\nTG_DEPEND(A, C, BARRIER) //! 1514",
    );
    let found = check(&text);
    assert!(found[0].message.contains("`B`"));
    check(&repaired(&text, &found).replace("TG_DEPEND(A, C, BARRIER) //! 1514\n", ""));
}

/// ISA-TG-19: barriers share their edges where they can, and order what a barrier of its own would.
#[test]
fn barriers_order_every_kernel_and_copy_around_them() {
    let kernel = |name: &str, entry: &str| format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\n");
    let binds =
        |names: &[&str]| names.iter().map(|name| format!("MC_BIND({name}, 0, T)\n")).collect::<String>();
    let chain = kernel("A", "w")
        + &kernel("B", "r")
        + &kernel("C", "w")
        + &kernel("D", "r")
        + &binds(&["A", "B", "C", "D"]);
    check(&graph(&format!(
        "{chain}TG_DEPEND(A, B, BARRIER)\nTG_DEPEND(B, C, BARRIER)\nTG_DEPEND(C, D, BARRIER)"
    )));
    let open = chain.replace("MC_BIND(C, 0, T)", "MC_BIND(C, 0, T) //! 1501");
    check(&graph(&format!("{open}TG_DEPEND(A, B, BARRIER)\nTG_DEPEND(C, D, BARRIER)")));
    // A copy is an end, and stands on a side, like a kernel.
    let copies = "extern U: u8[8]\nextern V: u8[8]\n".to_owned()
        + &graph(&format!(
            "{}MC_COPY(U, V, 8)\n{}{}TG_DEPEND(copy.0, B, BARRIER)",
            kernel("A", "w"),
            kernel("B", "r"),
            binds(&["A", "B"])
        ));
    check(&copies);
    check(&copies.replace("TG_END", "TG_DEPEND(B, copy.0) //! 1500\nTG_END"));
}

/// ISA-MC-01: allocations that nobody uses, or reads.
#[test]
fn unused_memory_is_told() {
    check("TG_BEGIN(0)\nMC_ALLOC(U, 64) //! 1504\nTG_END(0)\nMC_ALLOC(V, 64) //! 1504\n");
    check("TG_BEGIN(0)\nMC_ALLOC(U, 64) //! 1505\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, U)\nTG_END(0)\n");
    check(
        "TG_BEGIN(0)\nMC_ALLOC(U, 64)\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, U)\nCF_IF(load(U))\nCF_ENDIF\nTG_END(0)\n",
    );
}

/// Reads of memory that nothing writes: by kernels, copies and conditions.
#[test]
fn memory_that_is_read_and_never_written_is_told() {
    let unit =
        |body: &str| format!("extern Y: u8[64]\nTG_BEGIN(G)\nMC_ALLOC(U, 64) //! 1523\n{body}TG_END(G)\n");
    check(&unit("TG_KERNEL(A, r, 1, AIV, 0)\nMC_BIND(A, 0, U)\n"));
    check(&unit("MC_COPY(U, Y, 64)\n"));
    check(&unit("CF_IF(load(U))\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nCF_ENDIF\n"));
    let written = "TG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, U)\n";
    check(&unit(written).replace(" //! 1523", ""));
}

/// Elements of four bytes begin at multiples of four.
#[test]
fn bindings_at_misaligned_bytes_are_told() {
    let mut signatures = kernels();
    let mut arg = ArgSignature::new("x", Direction::InOut);
    (arg.dtype, arg.shape) = (Some(DType::I32), vec![None]);
    signatures.insert(KernelSignature::new("words", vec![arg]));
    let unit = |offset: &str, mark: &str| {
        format!(
            "arg N: i64 = 2\nextern T: i32[64]\nTG_BEGIN(G)\nCF_LOOP(3, i)\nTG_KERNEL(A, words, 1, AIV, 0)\nMC_BIND(A, 0, T, {offset}, 8){mark}\nCF_ENDLOOP\nTG_END(G)\n"
        )
    };
    let options = LintOptions::default();
    for (offset, mark) in [
        ("0", ""),
        ("8", ""),
        ("2", " //! 1524"),
        ("i * 4", ""),
        ("i * 4 + 2", " //! 1524"),
        ("i * 2", " //! 1524"),
        ("N", ""),
    ] {
        check_with(&unit(offset, mark), &signatures, &options);
    }
    check(&graph("CF_IF(load(T, 2, u32)) //! 1524\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_ENDIF"));
}

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
        let found = findings(&unit(a, b));
        assert_eq!(found.len(), 1, "{a} {b}: {found:#?}");
        assert_eq!((found[0].code.0, found[0].severity), (1522, Severity::Note));
        assert_eq!(found[0].help, ["TG_DEPEND(A, B, DATA, T)"]);
        let labels = format!("{:?}", found[0]);
        assert!(labels.contains(on), "{a} {b}: {labels}");
        let ordered = unit(a, b).replace("TG_END", "TG_DEPEND(A, B, DATA, T)\nTG_END");
        assert!(findings(&ordered).is_empty());
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

#[test]
fn unused_events_partitions_and_graphs_are_told() {
    check(&graph("TG_KERNEL(A, e, 1, AIV, 0)\nSY_SIGNAL(E, A) //! 1504"));
    check("CA_PARTITION(P, 0, 4, 0, 8) //! 1504\n");
    check("TG_BEGIN(0) //! 1504\nTG_END(0)\nTG_BEGIN(1)\nTG_END(1)\nTG_LAUNCH(1, default)\n");
    check("TG_BEGIN(0)\nTG_END(0)\nTG_BEGIN(1)\nTG_END(1)\n");
}

/// ISA-MC-07: against the signature.
#[test]
fn arguments_fit_the_signature() {
    let mut signatures = kernels();
    let mut arg = ArgSignature::new("q", Direction::In);
    (arg.dtype, arg.shape) = (Some(DType::F16), vec![None, Some(64)]);
    let mut kernel = KernelSignature::new("attend", vec![arg, ArgSignature::new("o", Direction::Out)]);
    kernel.workspace = 4096;
    signatures.insert(kernel);
    let check = |text: &str| check_with(text, &signatures, &LintOptions::default());
    let unit = |kernel: &str, body: &str| {
        format!(
            "extern Q: f16[2, 64]\nextern O: f16[64]\nTG_BEGIN(0)\nTG_KERNEL(0, attend, 1, AIV, {kernel}\n{body}\nTG_END(0)\n"
        )
    };
    check(&unit("4096)", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)"));
    let found = check(&unit("4096) //! 1506", "MC_BIND(0, 0, Q)"));
    assert_eq!(found[0].help, ["MC_BIND(0, 1, TENSOR)"]);
    check(&unit("4096)", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)\nMC_BIND(0, 2, O) //! 1506"));
    check(&unit("4095) //! 1507", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, 0, 128)\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, 0, 127) //! 1507\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, 192) //! 1507\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, direction = OUT) //! 1518\nMC_BIND(0, 1, O)"));
    check(
        &unit("4096)", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)")
            .replace("extern Q: f16", "extern Q: bf16")
            .replace("MC_BIND(0, 0, Q)", "MC_BIND(0, 0, Q) //! 1518"),
    );
}

/// ISA-TG-18: an edge for what the first kernel does not write.
#[test]
fn a_data_edge_carries_what_its_first_kernel_writes() {
    check(&graph(&format!("{}TG_DEPEND(A, B, DATA, T) //! 1509", bound(&[("A", "r"), ("B", "r")]))));
    check(&graph(&format!(
        "TG_KERNEL(A, e, 1, AIV, 0)\n{}TG_DEPEND(A, B, DATA, T) //! 1509",
        bound(&[("B", "r")])
    )));
}

/// ISA-TG-17: an edge that only orders says nothing of a tensor.
#[test]
fn the_tensor_of_an_after_edge_is_told_to_say_nothing() {
    let found =
        check(&graph(&format!("{}TG_DEPEND(A, B, AFTER, T) //! 1510", bound(&[("A", "r"), ("B", "r")]))));
    assert_eq!(found[0].severity, Severity::Note);
}

#[test]
fn unknown_directions_are_told_once() {
    let text = graph(
        "TG_KERNEL(A, opaque, 1, AIV, 0)\nMC_BIND(A, 0, T) //! 1508\nMC_BIND(A, 1, T)\nTG_KERNEL(B, opaque, 1, AIV, 0)\nMC_BIND(B, 0, T, direction = IN)",
    );
    assert_eq!(check(&text)[0].severity, Severity::Note);
}

/// ISA-SY-03.
#[test]
fn a_gang_fits_the_device_and_its_partition() {
    let unit = |blocks: [u32; 2], partition: &str, mark: &str| {
        format!(
            "CA_PARTITION(P, 0, 8, 0, 16)\nTG_BEGIN(0)\nTG_KERNEL(0, e, {}, AIC_AIV, 0{partition})\nTG_KERNEL(1, e, {}, AIC, 0, P)\nSY_BARRIER({{0, 1}}, 0){mark}\nTG_END(0)\n",
            blocks[0], blocks[1]
        )
    };
    check(&unit([16, 8], "", ""));
    let found = check(&unit([17, 8], "", " //! 1511"));
    assert!(found[0].notes[0].contains("25 cube cores, 34 vector cores"), "{:?}", found[0].notes);
    check(&unit([4, 4], ", P", ""));
    check(&unit([4, 5], ", P", " //! 1511"));
    let options = LintOptions { platform: Some(Platform::A5), device: DeviceModel::of(Platform::A5) };
    check_with(&unit([17, 8], "", ""), &kernels(), &options);
}

/// Members of a gang start together, so no edge joins two of them, also not through a third kernel.
#[test]
fn no_edge_is_proposed_that_a_gang_forbids() {
    let kernels =
        "TG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(C, r, 1, AIV, 0)\nMC_BIND(C, 0, T)";
    let found = check(&graph(&format!("{kernels} //! 1501\nSY_BARRIER({{A, C}}, W)")));
    assert!(!found[0].help.iter().any(|help| help.contains("TG_DEPEND")), "{:?}", found[0].help);
    assert!(found[0].help[0].contains("gang"), "{:?}", found[0].help);
    let third = "TG_KERNEL(B, e, 1, AIV, 0)\nSY_BARRIER({C, B}, W)\nTG_DEPEND(B, A)";
    let found = check(&graph(&format!("{kernels} //! 1501\n{third}")));
    assert_eq!(found[0].help, ["TG_DEPEND(C, A, AFTER)"]);
    // Behind the gang a kernel may wait for one of its members.
    let behind = "TG_KERNEL(B, e, 1, AIV, 0)\nSY_BARRIER({A, B}, W)";
    let found = check(&graph(&format!("{kernels} //! 1501\n{behind}")));
    assert_eq!(found[0].help, ["TG_DEPEND(A, C, DATA, T)"]);
}

/// ISA-CA-05.
#[test]
fn partitions_lie_in_the_device() {
    let unit = |cores: &str, mark: &str| {
        format!(
            "CA_PARTITION(P, {cores}){mark}\nTG_BEGIN(0)\nTG_KERNEL(0, e, 1, AIV, 0, P)\nTG_END(0)\nTG_LAUNCH(0, default)\n"
        )
    };
    let on = |platform: Platform, aic: u32| {
        let device = DeviceModel { aic, ..DeviceModel::of(platform) };
        LintOptions { platform: Some(platform), device }
    };
    check(&unit("0, 24, 0, 48", ""));
    let found = check(&unit("0, 25, 0, 49", " //! 1520 1520"));
    assert!(found.iter().all(Diagnostic::is_error));
    check(&unit("24, 0, 40, 8", ""));
    check(&unit("23, 2, 47, 1", " //! 1520"));
    check_with(&unit("0, 36, 0, 72", ""), &kernels(), &on(Platform::A5, 36));
    check_with(&unit("0, 36, 0, 72", " //! 1520 1520"), &kernels(), &on(Platform::A2, 24));
    let found = check_with(&unit("0, 2, 0, 4", " //! 1520"), &kernels(), &on(Platform::A3, 1));
    assert!(found[0].help[0].contains("at most 1 cube cores"), "{:?}", found[0].help);
}

/// ISA-CA-01.
#[test]
fn requests_fit_the_device() {
    let unit = |a: &str, b: &str, edge: &str| {
        graph(&format!(
            "TG_KERNEL(A, e, 1, AIC_AIV, 0)\nTG_KERNEL(B, e, 1, AIC_AIV, 0)\nCA_REQUEST(A, {a}\nCA_REQUEST(B, {b}\n{edge}"
        ))
    };
    check(&unit("12, 24)", "12, 24)", ""));
    check(&unit("25, 24) //! 1512", "1, 49) //! 1512", ""));
    let found = check(&unit("12, 24) //! 1513", "13, 24)", ""));
    assert_eq!(found[0].severity, Severity::Note);
    check(&unit("12, 24)", "13, 24)", "TG_DEPEND(A, B)"));
}

/// ISA-CF-05, ISA-CF-09.
#[test]
fn control_flow_that_always_goes_one_way_is_told() {
    check(&graph(
        "CF_LOOP(0, i) //! 1516\nCF_ENDLOOP\nCF_IF(1) //! 1517\nCF_ENDIF\nCF_LOOP(2, j)\nCF_BREAK(0) //! 1517\nCF_ENDLOOP",
    ));
    check(&graph("CF_WHILE(load(T)) //! 1517\nTG_KERNEL(A, r, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_ENDWHILE"));
    check(&graph("CF_WHILE(load(T))\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_ENDWHILE"));
    check(&graph("CF_WHILE(1)\nCF_BREAK(load(T))\nCF_ENDWHILE"));
}

/// ISA-SY-06, ISA-SY-02: a launch behind which the one that signals can never come.
#[test]
fn launches_that_wait_for_later_ones_are_told() {
    let graphs = "TG_BEGIN(0)\nTG_KERNEL(0, e, 1, AIV, 0)\nSY_WAIT(E, 0)\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(0, e, 1, AIV, 0)\nSY_SIGNAL(E, 0)\nTG_END(1)\n";
    let unit = |host: &str| format!("{graphs}{host}");
    check(&unit("TG_LAUNCH(0, s)\nTG_LAUNCH(1, t)\nTG_SYNC(0)\n"));
    check(&unit("TG_LAUNCH(1, s)\nTG_LAUNCH(0, s)\nTG_SYNC(0)\n"));
    check(&unit("TG_LAUNCH(0, s) //! 1515\nTG_SYNC(0)\nTG_LAUNCH(1, t)\n"));
    check(&unit("TG_LAUNCH(0, s) //! 1515\nTG_LAUNCH(1, s)\n"));
    let text = format!("extern event E\n{}", unit("TG_LAUNCH(0, s)\nTG_SYNC(0)\nTG_LAUNCH(1, s)\n"));
    check(&text);
}

#[test]
fn a_unit_that_breaks_a_rule_is_not_linted() {
    let mut sources = SourceMap::default();
    let (module, _) = wsp_isa::tg::text::parse("unit.tg", "TG_BEGIN(0)\n", &mut sources);
    let module = module.expect("the text should be read");
    assert!(lint(&module, &kernels(), &LintOptions::default()).is_empty());
}

/// A random graph: kernels with a use of one of three tensors each, and edges forward.
#[derive(Clone, Debug)]
struct Random {
    /// Tensor, first byte, bytes, direction.
    uses: Vec<(usize, u32, u32, usize)>,
    /// From, to, whether it is a `DATA` edge.
    edges: Vec<(usize, usize, bool)>,
}

fn random() -> impl Strategy<Value = Random> {
    (2usize..14).prop_flat_map(|kernels| {
        let uses = proptest::collection::vec((0usize..3, 0u32..6, 1u32..4, 0usize..3), kernels);
        let edges = proptest::collection::vec((0..kernels, 0..kernels, any::<bool>()), 0..kernels * 2);
        (uses, edges).prop_map(|(uses, edges)| {
            let edges = edges.into_iter().filter(|(a, b, _)| a != b);
            Random { uses, edges: edges.map(|(a, b, data)| (a.min(b), a.max(b), data)).collect() }
        })
    })
}

impl Random {
    fn text(&self) -> String {
        let mut text = "extern T0: u8[16]\nextern T1: u8[16]\nextern T2: u8[16]\nTG_BEGIN(G)\n".to_owned();
        for (at, (tensor, low, size, entry)) in self.uses.iter().enumerate() {
            let entry = ["r", "w", "rw"][*entry];
            text += &format!(
                "TG_KERNEL(K{at}, {entry}, 1, AIV, 0)\nMC_BIND(K{at}, 0, T{tensor}, {low}, {size})\n"
            );
        }
        for (from, to, data) in &self.edges {
            let kind = if *data { "DATA" } else { "AFTER" };
            text += &format!("TG_DEPEND(K{from}, K{to}, {kind})\n");
        }
        text + "TG_END(G)\n"
    }

    /// Per pair of kernels whether the second comes after the first.
    fn after(&self) -> Vec<Vec<bool>> {
        let count = self.uses.len();
        let mut after = vec![vec![false; count]; count];
        for (from, to, _) in &self.edges {
            after[*from][*to] = true;
        }
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    after[from][to] |= after[from][middle] && after[middle][to];
                }
            }
        }
        after
    }

    fn meet(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.uses[a], self.uses[b]);
        x.0 == y.0 && x.1 < y.1 + y.2 && y.1 < x.1 + x.2
    }

    fn writes(&self, kernel: usize) -> bool {
        self.uses[kernel].3 != 0
    }
}

proptest! {
    /// ISA-TG-21, ISA-MC-12: a race is reported exactly when some pair is in no order, and then the proposed edges end all of them.
    #[test]
    fn races_of_random_graphs_are_those_of_all_pairs(graph in random()) {
        let (after, count) = (graph.after(), graph.uses.len());
        let race = (0..count).any(|a| (a + 1..count).any(|b| {
            graph.meet(a, b) && (graph.writes(a) || graph.writes(b)) && !after[a][b]
        }));
        let found = findings(&graph.text());
        prop_assert_eq!(found.iter().any(|finding| finding.code.0 == 1501), race);
        for finding in found.iter().filter(|finding| finding.code.0 == 1501) {
            // Every reported pair is one.
            let names: Vec<usize> = finding.message.split('`').skip(1).step_by(2).take(2)
                .map(|name| name[1..].parse().expect("a kernel's name should be K and a number")).collect();
            prop_assert!(graph.meet(names[0], names[1]) && !after[names[0]][names[1]], "{}", finding.message);
        }
        let mut text = graph.text();
        for _ in 0..20 {
            let found = findings(&text);
            if found.is_empty() {
                break;
            }
            text = repaired(&text, &found);
        }
        prop_assert!(findings(&text).is_empty(), "{}", text);
    }

    /// ISA-EM-04: of tensors with one writer, exactly those readers are told that no `DATA` edge of it leads to.
    #[test]
    fn visibility_in_random_graphs_is_that_of_the_rule(mut graph in random()) {
        let mut has_writer = [false; 3];
        for kernel in &mut graph.uses {
            let first = !std::mem::replace(&mut has_writer[kernel.0], true);
            kernel.3 = usize::from(first);
        }
        let (after, count) = (graph.after(), graph.uses.len());
        let mut expected = Vec::new();
        for writer in (0..count).filter(|kernel| graph.writes(*kernel)) {
            let reads = |reader: &usize| graph.meet(writer, *reader) && after[writer][*reader];
            let readers = (writer + 1..count).filter(reads);
            expected.extend(readers.map(|reader| (writer, reader)).filter(|&(writer, reader)| {
                !graph.edges.iter().any(|(from, to, data)| {
                    *data && *from == writer && (*to == reader || after[*to][reader])
                })
            }));
        }
        let mut told: Vec<(usize, usize)> = findings(&graph.text())
            .iter()
            .filter(|finding| matches!(finding.code.0, 1502 | 1503))
            .map(|finding| {
                let edge = finding.help[0].strip_prefix("TG_DEPEND(K").expect("an edge should be proposed");
                let mut ends = edge.split([',', ')']);
                let mut next = || ends.next().unwrap_or("").trim().trim_start_matches('K').parse::<usize>();
                (next().expect("a kernel"), next().expect("a kernel"))
            })
            .collect();
        told.sort_unstable();
        prop_assert_eq!(told, expected);
    }
}
