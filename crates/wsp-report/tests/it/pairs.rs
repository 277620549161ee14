//! Two runs: whether they can be compared, and which task is which.

use crate::perfetto::timeline;
use wsp_core::KernelId;
use wsp_report::{facts, pair};
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{Lists, Row, Span, Timeline};

#[test]
fn runs_of_two_programs_or_two_clocks_are_refused() {
    let of = |key: Option<u64>, clock: Clock| {
        let mut timeline = timeline(3, 1, clock);
        timeline.about.key = key;
        timeline
    };
    let told = |a: &Timeline, b: &Timeline| {
        let fault = pair([a, b], ["a.json", "b.json"]).err();
        fault.map(|fault| (fault.code.0, fault.notes.join("; ")))
    };
    let (one, other) = (of(Some(1), Clock::Cycles), of(Some(2), Clock::Cycles));
    let (code, notes) = told(&one, &other).unwrap();
    assert!(
        code == 1754 && notes.contains("0000000000000001") && notes.contains("0000000000000002"),
        "{notes}"
    );
    let (code, notes) = told(&one, &of(Some(1), Clock::Nanoseconds)).unwrap();
    assert!(code == 1756 && notes.contains("`a.json` counts cycles"), "{notes}");
    assert_eq!(told(&one, &of(None, Clock::Cycles)), None);
    assert_eq!(told(&one, &one), None);
}

/// A timeline whose tasks are turned round, and one of which has another kernel.
fn turned(of: &Timeline) -> Timeline {
    let mut turned = of.clone();
    turned.tasks.reverse();
    turned.indices = Lists::default();
    for (at, task) in turned.tasks.iter_mut().enumerate() {
        turned.indices.push(of.indices.list(of.tasks.len() - 1 - at).iter().copied());
        task.task = wsp_core::TaskId(at as u32);
    }
    turned
}

#[test]
fn tasks_are_matched_by_kernel_and_indices() {
    let mut a = timeline(200, 3, Clock::Cycles);
    a.indices = Lists::default();
    (0..200).for_each(|task| a.indices.push([task / 7, task % 7]));
    let mut b = turned(&a);
    let matched = facts::matched(&a, &b);
    assert!(matched.by_indices && matched.alone == [0, 0]);
    assert!(matched.pairs.iter().all(|(x, y)| x + y == 199), "{:?}", matched.pairs);
    b.kernels.push("another".to_owned());
    b.tasks[5].kernel = KernelId(3);
    let matched = facts::matched(&a, &b);
    assert_eq!((matched.alone, matched.pairs.len()), ([1, 1], 199));
}

#[test]
fn tasks_without_indices_are_matched_in_their_order() {
    let mut a = timeline(50, 3, Clock::Cycles);
    a.indices = Lists::default();
    let mut b = a.clone();
    b.tasks.truncate(40);
    let matched = facts::matched(&a, &b);
    assert!(!matched.by_indices && matched.alone == [10, 0]);
    assert!(matched.pairs.iter().all(|(x, y)| x == y));
}

#[test]
fn loads_kernels_and_edges_are_those_of_the_tasks() {
    let timeline = timeline(300, 4, Clock::Cycles);
    let busy: u64 = timeline.tasks.iter().map(|task| task.ended - task.started).sum();
    let loads = facts::loads(&timeline);
    assert_eq!(loads.iter().map(|load| load.busy).sum::<u64>(), busy);
    let kernels = facts::kernels(&timeline);
    assert_eq!(kernels.iter().map(|of| of.busy).sum::<u64>(), busy);
    assert_eq!(kernels.iter().map(|of| of.tasks).sum::<u64>(), 300);
    let edges: usize = (0..300).map(|at| facts::before(&timeline, at).len()).sum();
    assert_eq!(facts::graph(&timeline).iter().map(|(_, _, count)| *count as usize).sum::<usize>(), edges);
}

#[test]
fn what_else_took_time_counts_once_and_on_rows_without_tasks() {
    let mut timeline = timeline(300, 4, Clock::Cycles);
    let (loads, end) = (facts::loads(&timeline), timeline.end());
    let mut add = |row, begin, end| {
        timeline.spans.push(Span { row, name: "work".to_owned(), begin, end, details: Vec::new() });
    };
    // Tasks ran on the first row; on the last, two overlap, and one goes on after the last task.
    for (row, from, to) in [(0, 0, end), (5, 20, 30), (5, 10, 25), (4, end - 3, end + 3), (5, 40, 41)] {
        add(row, from, to);
    }
    timeline.rows.extend([0, 1].map(|number| Row { process: 0, number, name: format!("other {number}") }));
    assert_eq!(facts::loads(&timeline), loads);
    let others: Vec<(usize, u64)> =
        facts::other_loads(&timeline).iter().map(|of| (of.row, of.busy)).collect();
    assert_eq!(others, [(4, 3), (5, 21)]);
}
