//! Conditions that never change, launches that wait for later ones, and units that break a rule.

use super::{check, graph, kernels};
use wsp_ir::SourceMap;
use wsp_plan::tg::{LintOptions, lint};

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
