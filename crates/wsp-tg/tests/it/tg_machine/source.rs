//! From text to modules and plans.

use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::tg::{Signatures, TgModule};
use wsp_tg::{ElaborateOptions, UnitPlan, elaborate};

/// Loops with known counts unrolled, and none.
pub(crate) const FORMS: [ElaborateOptions; 2] = [
    ElaborateOptions { unroll_limit: 1024, most_nodes: 1 << 20, flows: true },
    ElaborateOptions { unroll_limit: 0, most_nodes: 1 << 20, flows: false },
];

pub(crate) fn module(text: &str) -> TgModule {
    let (module, found) = wsp_isa::tg::text::parse("test.tg", text, &mut SourceMap::default());
    let errors: Vec<&Diagnostic> = found.iter().filter(|d| d.is_error()).collect();
    module.unwrap_or_else(|| panic!("{errors:#?}\n{text}"))
}

pub(crate) fn planned(text: &str, options: &ElaborateOptions) -> Result<UnitPlan, Vec<Diagnostic>> {
    elaborate(&module(text), &Signatures::new(), options)
}

pub(crate) fn plan(text: &str) -> UnitPlan {
    checked(planned(text, &FORMS[0]), text)
}

pub(crate) fn checked(plan: Result<UnitPlan, Vec<Diagnostic>>, text: &str) -> UnitPlan {
    let plan = plan.unwrap_or_else(|found| panic!("{found:#?}\n{text}"));
    for graph in &plan.graphs {
        let image = graph.records.image();
        let mut scratch = vec![0; image.nodes.len()];
        image.check(&mut scratch).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
        assert_eq!(graph.edges.len(), graph.records.succs.len());
    }
    plan
}
