//! Every diagnostic code, grouped by who reports it.

use super::Code;

mod assembler;
mod expand;
mod graph;
mod input;
mod lang;
mod lang_lint;
mod launch;
mod plan;
mod ptow;
mod python_arrays;
mod python_kernel;
mod python_workload;
mod run;
mod runtime;
mod syntax;
mod tg_binary;
mod tg_command;
mod tg_lint;
mod tg_plan;
mod tg_run;
mod tg_text;
mod tg_verify;
mod trace;
mod verify;
mod workload;

/// What a code means.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Its short title.
    pub title: &'static str,
    /// When it is reported and what to do, as `wsp explain` prints it.
    pub explanation: &'static str,
}

/// All groups of codes.
pub const CATALOG: &[&[CodeInfo]] = &[
    syntax::CODES,
    lang::CODES,
    lang_lint::CODES,
    verify::CODES,
    plan::CODES,
    input::CODES,
    launch::CODES,
    run::CODES,
    workload::CODES,
    expand::CODES,
    runtime::CODES,
    graph::CODES,
    ptow::CODES,
    assembler::CODES,
    python_workload::CODES,
    python_kernel::CODES,
    python_workload::SCHEDULE_CODES,
    python_arrays::CODES,
    trace::CODES,
    tg_text::CODES,
    tg_binary::CODES,
    tg_verify::CODES,
    tg_lint::CODES,
    tg_plan::CODES,
    tg_run::CODES,
    tg_command::CODES,
];

/// What a code means.
pub fn lookup(code: Code) -> Option<&'static CodeInfo> {
    CATALOG.iter().flat_map(|group| group.iter()).find(|info| info.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes() -> impl Iterator<Item = &'static CodeInfo> {
        CATALOG.iter().flat_map(|group| group.iter())
    }

    #[test]
    fn codes_increase_over_all_groups() {
        let mut last = Code(0);
        for info in codes() {
            assert!(info.code > last, "{} stands after {last}", info.code);
            last = info.code;
        }
        assert!(last < Code(1600), "{last} is in no range");
    }

    #[test]
    fn every_group_keeps_to_its_range() {
        let within =
            |group: &[CodeInfo], first, last| group.iter().all(|info| (first..=last).contains(&info.code.0));
        assert!(within(syntax::CODES, 1, 99));
        assert!(within(lang::CODES, 100, 259));
        assert!(within(lang_lint::CODES, 260, 279));
        assert!(within(verify::CODES, 300, 399));
        assert!(within(plan::CODES, 400, 499));
        assert!(within(input::CODES, 500, 549));
        assert!(within(launch::CODES, 550, 599));
        assert!(within(run::CODES, 600, 699));
        assert!(within(workload::CODES, 700, 799));
        assert!(within(expand::CODES, 800, 849));
        assert!(within(runtime::CODES, 850, 879));
        assert!(within(graph::CODES, 880, 889));
        assert!(within(ptow::CODES, 890, 899));
        assert!(within(assembler::CODES, 910, 939));
        assert!(within(python_workload::CODES, 1000, 1099));
        assert!(within(python_kernel::CODES, 1100, 1199));
        assert!(within(python_workload::SCHEDULE_CODES, 1200, 1249));
        assert!(within(trace::CODES, 1300, 1349));
        assert!(within(python_arrays::CODES, 1250, 1299));
    }

    #[test]
    fn every_code_is_explained() {
        for info in codes() {
            assert!(!info.title.trim().is_empty(), "{} has no title", info.code);
            assert!(!info.explanation.trim().is_empty(), "{} has no explanation", info.code);
            assert_eq!(info.title.trim_end_matches('.'), info.title, "{}: a title is a phrase", info.code);
            assert_eq!(lookup(info.code).map(|found| found.title), Some(info.title));
        }
    }

    #[test]
    fn an_unknown_code_is_not_found() {
        assert!(lookup(Code(0)).is_none());
        assert!(lookup(Code(9999)).is_none());
    }
}
