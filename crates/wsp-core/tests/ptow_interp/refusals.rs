//! Launches and configurations that do not fit a program are refused, and say what is missing.

use crate::asm::*;
use wsp_core::ptow::interp::{Interpreter, Mode, Refusal, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::{Counts, DispatchConfig, Launch, Op};

fn module() -> Module {
    let counts = Counts { values: 2, tables: 1, channels: 1, ..Counts::default() };
    let task = Node::Task(TaskNode::default());
    let body = vec![Node::Loop { op: Op::ParallelFor, axis: 0, row: None, body: vec![task] }];
    Module { axes: vec![Axis::DenseDyn(1)], kernels: vec![0], tensors: vec![1], counts, body }
}

fn refusal(code: &Code, launch: Launch<'_>, config: DispatchConfig, words: Option<usize>) -> Option<Refusal> {
    let program = code.verified();
    let mut workspace = vec![0; words.unwrap_or(workspace_words(&program))];
    Interpreter::new(program, launch, &config, Prefixes::none(), &mut workspace, Mode::Skip).err()
}

const FULL: Launch<'static> = Launch { values: &[1, 2], tables: &[&[]], extents: &[[1; 6]] };

#[test]
fn a_launch_without_all_values_tables_and_extents_is_refused() {
    let code = module().assemble();
    let one = DispatchConfig::round_robin(1, 0);
    let refused = |launch| refusal(&code, launch, one, None);
    assert_eq!(refused(FULL), None);
    let found = refused(Launch { values: &[1], ..FULL });
    assert_eq!(found, Some(Refusal::Values { need: 2, have: 1 }));
    assert!(found.is_some_and(|refusal| refusal.to_string().contains("value 1 is not bound")));
    assert_eq!(refused(Launch { tables: &[], ..FULL }), Some(Refusal::Tables { need: 1, have: 0 }));
    assert_eq!(refused(Launch { extents: &[], ..FULL }), Some(Refusal::Extents { need: 1, have: 0 }));
}

#[test]
fn a_workspace_that_is_too_small_is_refused() {
    let code = module().assemble();
    let need = workspace_words(&code.verified());
    let one = DispatchConfig::round_robin(1, 0);
    for have in [0, need - 1] {
        let expected = Refusal::Workspace { need: need as u64, have: have as u64 };
        assert_eq!(refusal(&code, FULL, one, Some(have)), Some(expected));
    }
}

#[test]
fn a_configuration_that_does_not_fit_is_refused() {
    let code = module().assemble();
    for (n, me) in [(0, 0), (3, 3), (u16::MAX, 0)] {
        let found = refusal(&code, FULL, DispatchConfig::round_robin(n, me), None);
        assert!(matches!(found, Some(Refusal::Config(_))), "{me} of {n}");
    }
}

#[test]
fn the_size_of_the_workspace_follows_from_the_program_alone() {
    let (small, mut large) = (module(), module());
    large.axes = vec![Axis::Dense(c(0), c(1 << 40))];
    assert_eq!(workspace_words(&small.assemble().verified()), workspace_words(&large.assemble().verified()));
}

#[test]
fn the_workspace_has_room_for_the_processes_of_one_instruction_at_a_time() {
    let with = |processes: usize, times: usize| {
        let arms = vec![(0, vec![]); processes];
        let mut module = module();
        module.body = vec![Node::Arms { op: Op::Process, arms }; times];
        workspace_words(&module.assemble().verified())
    };
    // What is known of instructions grows with the words alone.
    let known = |words: usize| {
        let mut module = module();
        module.body = vec![Node::Nop; words];
        workspace_words(&module.assemble().verified())
    };
    let own = |processes: usize| with(processes, 1) - known(2 * processes + 1);
    assert_eq!(own(3) - own(2), own(2) - own(1));
    assert!(own(1) < 200, "{} words for a process", own(1));
    assert_eq!(with(2, 2) - known(10), own(2));
}
