//! Random modules that keep the rules print as text that reads as themselves.

use crate::said::said;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use wsp_diag::{Diagnostic, SourceMap, render};
use wsp_ir::workload::verify::verify;
use wsp_ir::workload::{WorkloadModule, text};

fn parse(text: &str) -> WorkloadModule {
    let mut sources = SourceMap::default();
    let (module, diagnostics) = text::parse("t.wsp", text, &mut sources);
    let shown: String = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    module.unwrap_or_else(|| panic!("{text}\n{shown}"))
}

/// The module with all variables called alike, since printing may rename them.
fn anonymous(mut module: WorkloadModule) -> WorkloadModule {
    for var in module.workloads.iter_mut().flat_map(|workload| &mut workload.vars) {
        var.name = "v".to_owned();
    }
    module
}

#[test]
fn random_modules_keep_the_rules_and_print_as_themselves() {
    let config = Config { cases: 1500, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (vars, renamed, channels) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let outcome = runner.run(&vec(any::<u8>(), 0..600), |bytes| {
        let module = crate::workload_gen::module(&bytes);
        let found: Vec<Diagnostic> = verify(&module).into_iter().filter(Diagnostic::is_error).collect();
        prop_assert!(found.is_empty(), "{found:?}\n{}", text::print(&module));
        let printed = text::print(&module);
        let read = parse(&printed);
        prop_assert_eq!(said(&anonymous(read.clone())), said(&anonymous(module.clone())), "{}", printed);
        prop_assert_eq!(text::print(&read), printed.as_str());
        prop_assert_eq!(said(&parse(&text::print(&read))), said(&read));
        vars.set(vars.get() + module.workloads.iter().map(|workload| workload.vars.len()).sum::<usize>());
        let of = |workload: &wsp_ir::workload::Workload| workload.channels.len();
        channels.set(channels.get() + module.workloads.iter().map(of).sum::<usize>());
        renamed.set(renamed.get() + usize::from(said(&read) != said(&module)));
        Ok(())
    });
    outcome.expect("printed modules should read as themselves");
    let (vars, renamed) = (vars.get(), renamed.get());
    assert!(vars > 1500, "only {vars} variables");
    assert!(channels.get() > 100, "only {} channels", channels.get());
    assert!(renamed > 10, "only {renamed} modules have names that clash");
}
