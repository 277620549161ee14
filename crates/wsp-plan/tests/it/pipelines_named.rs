//! Names of channels in reports of pipelines, as they are written, and circles of processes that only close.

use crate::workload_support::{fault, module};
use wsp_plan::flow::flow;

/// Labels, notes and help of a fault.
fn told(source: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (found, _) = fault(source, &[]);
    (found.labels.into_iter().map(|label| label.text).collect(), found.notes, found.help)
}

#[test]
fn processes_that_wait_for_a_close_are_a_circle() {
    let (_, notes, help) = told(
        "kernel k(s); workload main { channel a[1]; channel b[1]; pipeline {
            process p { consume all a as s { k(s); } close b; }
            process q { consume all b as s { k(s); } close a; } } }",
    );
    assert_eq!(notes[0], "`p` waits for `q`, and `q` for `p`, each for a `close`");
    assert_eq!(help, ["let one process `close` before it consumes"]);
}

#[test]
fn a_close_that_did_not_run_is_not_asked_for_again() {
    let (_, notes, help) = told(
        "param n = 1; kernel k(s); workload main { channel a[2]; pipeline {
            process p { send a as s { k(s); } if n > 1 { close a; } }
            process q { consume all a as s { k(s); } } } }",
    );
    assert_eq!(notes[..2], ["`p` has ended", "`q` waits for `p`, which has ended"]);
    assert_eq!(help, ["let `close a;` run whenever the last token was sent: it stands where it did not"]);
}

#[test]
fn channels_have_the_names_that_are_written() {
    let connected = |out: &str, tok: &str, depth: u32| {
        format!(
            "kernel k(s); workload main {{ pipeline {{ connect p.out to q.tok [{depth}];
                process p {{ parallel for i in 0..3 {{ send out as s {{ k(s); }} }} {out} }}
                process q {{ {tok} consume all tok as s {{ k(s); }} }} }} }}"
        )
    };
    let (labels, _, help) = told(&connected("", "", 1));
    assert_eq!(labels, ["`q` waits to consume from `tok` (empty)"]);
    assert_eq!(help, ["close the channel behind the last `send`: `close out;`"]);
    let (labels, _, _) = told(&connected("close out;", "consume tok as a { consume tok as b { } }", 1));
    assert_eq!(labels[0], "`p` waits to send to `out` (1 of 1 slot full) at i = 1");
    let array = "kernel k(s); workload main { channel g[2][1]; pipeline {
        replicate w in 0..2 process p { send g[w] as s { k(s); } }
        process q { select all { replicate w in 0..2 consume g[w] as s { k(s); } } } } }";
    let (labels, _, help) = told(array);
    assert_eq!(labels, ["`q` waits to consume from `g[0]` (empty) or `g[1]` (empty)"]);
    assert_eq!(help, ["close the channel behind the last `send`: `close g[0];`"]);
    for (source, names) in [
        (array.replace("select all", "select"), vec!["  g[0]:", "  g[1]:"]),
        (connected("close out;", "", 1), vec!["  p.out:"]),
    ] {
        let module = module(&source);
        let lines = flow(&module, &[]).expect("a pipeline").lines(&module, |_| 1);
        let channels = lines.iter().filter(|line| line.contains(" sent, "));
        assert!(channels.zip(names).all(|(line, name)| line.starts_with(name)), "{lines:?}");
    }
}
