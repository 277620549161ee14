//! From a kernel of the IR to a run on explicit memories, without loops.

use crate::bench::Kernel;
use crate::mutate::{syncs, too_early, without};
use crate::table::{MTE2, V, core};
use expect_test::expect;
use wsp_diag::Code;
use wsp_tile::{PingPong, check};

const ADD: &str = "
    VecTile<float, 8, 32> a; VecTile<float, 8, 32> b;
    TLOAD(a, x, {desc.a, 0});
    TLOAD(b, x, {desc.b, 0});
    TADD(a, a, b);
    TSTORE(y, a, {desc.c, 0});";

#[test]
fn a_sum_of_two_tiles_becomes_transfers_an_instruction_and_events() {
    let (kernel, memories) = (Kernel::new(ADD), core());
    let program = kernel.right(&memories, PingPong::WhereItFits);
    expect![[r#"
        tile program `k`
          buffer a: f32 8x32 in UB at 0
          buffer b: f32 8x32 in UB at 1024
          a_rows.3 = (8 min ((field0 < 64) ? (64 - field0) : 0))
          if (a_rows.3 > 0)
            %0 MTE2: load a[a_rows.3 in 0..=8, 32], t1, [field0, 0] rows 0 cols 1
          b_rows.4 = (8 min ((field1 < 64) ? (64 - field1) : 0))
          if (b_rows.4 > 0)
            %1 MTE2: load b[b_rows.4 in 0..=8, 32], t1, [field1, 0] rows 0 cols 1
          set MTE2->V 0
          wait MTE2->V 0
          if ((a_rows.3 > 0) && (b_rows.4 > 0))
            %2 V: binary add a[a_rows.3 in 0..=8, 32], a[a_rows.3 in 0..=8, 32], b[b_rows.4 in 0..=8, 32]
          set V->MTE3 0
          wait V->MTE3 0
          if (a_rows.3 > 0)
            %3 MTE3: store t2, a[a_rows.3 in 0..=8, 32], [field2, 0] rows 0 cols 1
    "#]]
    .assert_eq(&program.display(&memories).to_string());
}

#[test]
fn the_page_shows_what_is_made_of_its_kernel() {
    let page = include_str!("../../../../docs/tile_programs.md");
    let mut blocks = page.split("```").skip(1).step_by(2).map(|block| block.trim_start_matches("text\n"));
    let (kernel, shown) = (blocks.next().unwrap(), blocks.next().unwrap());
    let memories = core();
    let program = Kernel::new(kernel).right(&memories, PingPong::WhereItFits);
    assert_eq!(program.display(&memories).to_string(), shown);
}

#[test]
fn it_stores_what_a_plain_run_stores() {
    let (kernel, memories) = (Kernel::new(ADD), core());
    let program = kernel.right(&memories, PingPong::WhereItFits);
    for words in [[0, 8, 0, 0], [3, 3, 56, 0], [56, 10, 5, 0]] {
        kernel.agrees(&program, &memories, words);
    }
}

#[test]
fn each_missing_event_is_found_by_the_checker_and_by_a_run() {
    let (kernel, memories) = (Kernel::new(ADD), core());
    let program = kernel.right(&memories, PingPong::WhereItFits);
    let count = syncs(&program).len();
    assert!(count > 0);
    for gone in 0..count {
        let faulty = without(&program, |at, _| at == gone);
        assert!(!check(&faulty, &memories).is_empty(), "{}", faulty.display(&memories));
        assert!(
            kernel.interpreted(&faulty, &memories, [0, 8, 0, 0]).is_err(),
            "{}",
            faulty.display(&memories)
        );
    }
}

#[test]
fn an_event_that_is_set_too_early_or_waited_for_too_late_is_found() {
    let (kernel, memories) = (Kernel::new(ADD), core());
    let program = kernel.right(&memories, PingPong::WhereItFits);
    for (unit, set) in [(MTE2, true), (MTE2, false), (V, true), (V, false)] {
        let faulty = too_early(&program, unit, set);
        let found = check(&faulty, &memories);
        assert!(found.iter().any(|found| found.code == Code(1710)), "{}", faulty.display(&memories));
        let stopped = kernel.interpreted(&faulty, &memories, [0, 8, 0, 0]).unwrap_err();
        assert_eq!(stopped.code, Code(1710), "{}", faulty.display(&memories));
    }
}
