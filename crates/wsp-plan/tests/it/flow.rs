//! Pipelines before a run: rates, deadlocks, and the smallest depths of channels.

use crate::workload_support::networks::Network;
use crate::workload_support::random::Rng;
use crate::workload_support::{bound, expanded, module};
use wsp_diag::{Code, Severity};
use wsp_ir::workload::text::print_expr;
use wsp_plan::ParamValue;
use wsp_plan::flow::{Flow, Verdict, flow, flow_within};
use wsp_plan::workload::ExpandError;

fn flow_of(source: &str, set: &[(&str, i64)]) -> Flow {
    let set: Vec<_> = set.iter().map(|(n, v)| ((*n).to_owned(), ParamValue::Int(i128::from(*v)))).collect();
    flow(&module(source), &set).expect("a pipeline")
}

/// Rates of the channels of the first pipeline, as text.
fn rates(source: &str) -> Vec<(String, String)> {
    let module = module(source);
    let found = flow(&module, &[]).expect("a pipeline");
    let text = |rate: &Option<_>| rate.as_ref().map_or("?".to_owned(), |rate| print_expr(&module, rate));
    found.pipelines[0]
        .channels
        .iter()
        .map(|channel| (text(&channel.sends), text(&channel.consumes)))
        .collect()
}

fn least(found: &Flow) -> Option<Vec<u32>> {
    found.pipelines.iter().flat_map(|pipeline| &pipeline.channels).map(|channel| channel.least).collect()
}

const STAGES: &str = "param n = 6; param m; kernel k(s);
    workload main { channel a[2]; channel b[1];
        pipeline {
            process load { parallel for t in 0..2 * n { send a as s { k(s); } } }
            process pairs { parallel for t in 0..n { consume a as s { consume a as r { send b as d { k(d); } } } } }
            process store { parallel for t in 0..n { consume b as d { parallel for x in 0..m { k(d); } } } }
        } }";

#[test]
fn rates_are_expressions_over_parameters() {
    assert_eq!(rates(STAGES), [("2 * n".to_owned(), "2 * n".to_owned()), ("n".to_owned(), "n".to_owned())]);
    let source = "param n = 6; param h = 3; axis x = dense(h); table t = [1, 2, 3]; kernel k();
        workload main { channel a[2]; channel b[2]; channel c[2]; pipeline {
            process p { parallel for i in 1..n step 4, j in x { send a as s { } } send a as s { }
                        parallel for i in 0..3 { parallel for j in 0..t[i] { send b as s { } } } close c; }
            process q { consume all a as s { } consume b as s { } consume all c as s { } } } }";
    let found = rates(source);
    assert_eq!(found[0], ("ceildiv(max(n - 1, 0), 4) * h + 1".to_owned(), "?".to_owned()));
    assert_eq!(found[1], ("?".to_owned(), "1".to_owned()), "the table decides");
    assert_eq!(found[2], ("0".to_owned(), "?".to_owned()));
}

#[test]
fn what_does_not_decide_needs_no_value() {
    let found = flow_of(STAGES, &[]);
    assert!(matches!(found.verdict, Verdict::Ends), "{:?}", found.verdict);
    assert_eq!(least(&found), Some(vec![2, 0]));
    let counted: Vec<_> = found.pipelines[0].channels.iter().map(|channel| channel.counted).collect();
    assert_eq!(counted, [Some((12, 12)), Some((6, 6))]);
}

#[test]
fn a_deadlock_is_that_of_a_run_and_least_depths_mend_it() {
    let source = STAGES.replace("channel a[2]", "channel a[1]");
    let found = flow_of(&source, &[("m", 1)]);
    let Verdict::Deadlock(diagnostic) = &found.verdict else { panic!("{:?}", found.verdict) };
    let module = module(&source);
    let (_, run) = expanded(&module, &bound(&module, &[("m", 1)]), &[]);
    let Err(ExpandError::Fault(fault)) = run else { panic!("the run should end at a fault") };
    assert_eq!((diagnostic.code, &diagnostic.labels), (fault.code, &fault.labels));
    assert_eq!(diagnostic.help, ["declare `a` deeper than 1, or let a process consume before it sends"]);
    assert_eq!(least(&found), Some(vec![2, 0]));
}

#[test]
fn what_decides_and_is_not_known_is_named() {
    let undecided = |source: &str| match flow_within(&module(source), &[], 64).expect("a pipeline").verdict {
        Verdict::Undecided(undecided) => {
            (source[undecided.span.start as usize..undecided.span.end as usize].to_owned(), undecided.why)
        }
        verdict => panic!("{verdict:?}"),
    };
    let of = |decls: &str, p: &str| {
        format!(
            "{decls} kernel k(); kernel set(inout x); workload main {{ channel a[2]; pipeline {{
                process p {{ {p} }} process q {{ consume a as s {{ k(); }} }} }} }}"
        )
    };
    let (construct, why) = undecided(&of("slot go = 1;", "set(go); if go > 0 { send a as s { } }"));
    assert_eq!((construct.as_str(), why.as_str()), ("if go > 0 { send a as s { } }", "tasks compute `go`"));
    let (construct, why) = undecided(&of("param n;", "parallel for i in 0..n { send a as s { } }"));
    assert_eq!(
        (construct.as_str(), why.as_str()),
        ("parallel for i in 0..n { send a as s { } }", "`n` has no value")
    );
    let (_, why) = undecided(&of("param n; let m = n + 1;", "parallel for i in 0..m { send a as s { } }"));
    assert_eq!(why, "`m` has no value");
    let (_, why) = undecided(&of("table t; ", "parallel for i in 0..t[0] { send a as s { } }"));
    assert_eq!(why, "table `t` has no elements");
    let (_, why) = undecided(&of(
        "table t; axis b = dense(2); axis r = ragged(b, t);",
        "parallel for i in b, j in r[i] { send a as s { } }",
    ));
    assert_eq!(why, "table `t` has no elements");
    let long =
        of("", "parallel for i in 0..1000000000 { send a as s { } consume b as t { } send b as t { } }")
            .replace("channel a[2];", "channel a[2]; channel b[1];")
            .replace("consume b as t { } send b as t { }", "send b as t { } consume b as t { }")
            .replace("consume a as s", "consume all a as s");
    let (construct, why) = undecided(&long);
    assert_eq!(construct, "i");
    let of = "following its processes takes more than 65536 steps, after which `i` has 9999";
    assert!(why.starts_with(of) && why.ends_with(" iterations left; a loop of fewer is followed"), "{why}");
    let (_, why) = undecided(
        &long
            .replace("0..1000000000", "1..m")
            .replace("kernel k", "param n = 5000000; let m = 2 * n; kernel k"),
    );
    assert!(why.ends_with(" iterations left; `--set n=1000` follows fewer"), "{why}");
}

/// A slot that tasks do not write has its first value for ever.
#[test]
fn a_slot_that_no_task_writes_is_known() {
    let source = "slot go = GO; kernel k(); workload main { channel a[1]; pipeline {
        process p { if go { send a as s { k(); } } } process q { consume a as s { k(); } } } }";
    let (one, none) = (source.replace("GO", "1"), source.replace("GO", "0"));
    let found = flow_of(&one, &[]);
    assert!(matches!(found.verdict, Verdict::Ends), "{:?}", found.verdict);
    assert_eq!(least(&found), Some(vec![0]));
    let Verdict::Deadlock(found) = flow_of(&none, &[]).verdict else { panic!("nothing is sent") };
    assert_eq!(found.notes.last().unwrap(), "how many tasks come before it was not counted");
    let of_param = none.replace("slot go = 0", "param n; slot go = n");
    assert!(matches!(flow_of(&of_param, &[]).verdict, Verdict::Undecided(_)));
}

/// Where the counts of a channel are known, they are enough: no pipeline is too long for them.
#[test]
fn a_channel_whose_counts_do_not_fit_is_a_deadlock_without_following_it() {
    let of = |sends: &str, consumes: &str, more: &str| {
        let source = format!(
            "param n = 1000000000; kernel k(); workload main {{ channel a[2]; {more} pipeline {{
            process p {{ parallel for i in 0..{sends} {{ send a as s {{ k(); }} }} CLOSE }}
            process q {{ parallel for i in 0..{consumes} {{ consume a as s {{ }} }} }} }} }}"
        );
        let close = if more.is_empty() { "" } else { "close a;" };
        let source = source.replace(more, "").replace("CLOSE", close);
        let module = module(&source);
        flow_within(&module, &[], 4).expect("a pipeline").verdict
    };
    let Verdict::Deadlock(found) = of("n", "n + 1", "") else { panic!("a token is missing") };
    let start =
        "no process of the pipeline can go on: 1000000001 tokens are consumed from `a`, and 1000000000 sent";
    assert_eq!((found.code, found.severity, found.message.as_str()), (Code(820), Severity::Error, start));
    assert_eq!(found.labels[1].text, "`q` consumes from `a` 1000000001 times");
    assert_eq!(found.help, ["send as often as is consumed"]);
    let Verdict::Deadlock(found) = of("n + 3", "n", "") else { panic!("a slot is missing") };
    assert!(
        found
            .message
            .ends_with("1000000003 tokens are sent to `a`, which holds 2, and 1000000000 are consumed")
    );
    assert!(matches!(of("n + 2", "n", ""), Verdict::Undecided(_)), "the channel holds what is left");
    assert!(matches!(of("n", "n", ""), Verdict::Undecided(_)));
    assert!(matches!(of("n", "n + 1", "closed"), Verdict::Undecided(_)), "the last consume is another fault");
}

/// A process that waits for a `send` of its own is reported as such, with a help that lets it go on.
#[test]
fn a_process_that_waits_for_itself_is_told_so() {
    let of = |depth: u32, p: &str| {
        let source =
            format!("kernel k(); workload main {{ channel a[{depth}]; pipeline {{ process p {{ {p} }} }} }}");
        flow_of(&source, &[]).verdict
    };
    let told = |depth: u32, p: &str| {
        let Verdict::Deadlock(found) = of(depth, p) else { panic!("{depth} {p}") };
        assert!(found.notes.contains(&"`p` waits for itself".to_owned()), "{:?}", found.notes);
        found.help[0].clone()
    };
    let (sends, takes) = ("send a as s { send a as u { } }", "consume a as s { } consume a as s { }");
    let before = "end the block of `send a` before the next one begins";
    assert_eq!(told(1, &format!("{sends} {takes}")), format!("declare `a` deeper than 1, or {before}"));
    assert!(matches!(of(2, &format!("{sends} {takes}")), Verdict::Ends));
    let consume = "end the block of `send a` before the `consume` begins";
    let inside = "send a as s { consume a as u { } }";
    assert_eq!(told(1, inside), consume);
    assert_eq!(told(0, inside), format!("declare `a` deeper than 0, and {consume}"));
    assert!(matches!(of(1, "send a as s { } consume a as u { }"), Verdict::Ends));
    let source = "kernel k(); workload main { channel a[1]; pipeline { process p { send a as s { send a as u { } } } process q { consume a as s { } consume a as s { } } } }";
    let Verdict::Deadlock(found) = flow_of(source, &[]).verdict else { panic!("one slot") };
    assert!(found.notes.contains(&"`p` waits for itself".to_owned()), "{:?}", found.notes);
}

#[test]
fn what_stands_around_a_pipeline_does_not_decide_how_it_runs() {
    let source = "slot go = 1; param n; kernel set(inout x); kernel k(i);
        workload inner(x) { channel a[2]; pipeline { process p { send a as s { k(x); } } process q { consume a as s { } } } }
        workload main { while go > 0 { if go > 2 { parallel for i in 0..n { call inner(i); } } set(go); } }";
    let found = flow_of(source, &[]);
    assert!(matches!(found.verdict, Verdict::Ends), "{:?}", found.verdict);
    let counted = source.replace("send a as s { k(x); }", "parallel for j in 0..x { send a as s { } }");
    assert!(matches!(flow_of(&counted, &[]).verdict, Verdict::Undecided(_)), "the loop around decides");
    let known =
        counted.replace("param n;", "param n = 2;").replace("consume a as s { }", "consume all a as s { }");
    let Verdict::Deadlock(found) = flow_of(&known, &[]).verdict else { panic!("`a` is not closed") };
    assert_eq!(found.code, Code(820));
}

#[test]
fn depths_are_not_searched_where_turns_or_slots_decide() {
    let select = "kernel k(); workload main { channel a[1]; channel b[1]; pipeline {
        process p { send a as s { } send b as s { } }
        process q { select { consume a as s { } consume b as s { } } select { consume a as s { } consume b as s { } } } } }";
    let found = flow_of(select, &[]);
    assert!(matches!(found.verdict, Verdict::Ends));
    assert_eq!(least(&found), None);
    let slots = "kernel k(); workload main { channel a[2]; pipeline { process p { parallel for i in 0..2 { send a as s { } } }
        process q { consume a as s { if s == 0 { consume a as r { } } } } } }";
    let found = flow_of(slots, &[]);
    assert!(matches!(found.verdict, Verdict::Ends));
    assert_eq!(least(&found), None);
}

/// Compares with the simulator of the networks.
fn compare(network: &Network, tally: &mut [u32; 3]) {
    let found = flow_of(&network.text(), &[]);
    let ends = network.ends(&network.depths);
    match (&found.verdict, ends) {
        (Verdict::Ends, true) => tally[0] += 1,
        (Verdict::Deadlock(_), false) => tally[1] += 1,
        (verdict, _) => panic!("{verdict:?}, and the simulator says {ends} of\n{}", network.text()),
    }
    let Some(expected) = network.least(4) else { return };
    let least = least(&found)
        .unwrap_or_else(|| panic!("no least depths, and {expected} is enough of\n{}", network.text()));
    // Channels of the file that no process uses have no least depth.
    let used = (0..network.depths.len()).filter(|at| network.text().contains(&format!("c{at} as")));
    let mut depths = vec![0; network.depths.len()];
    used.zip(&least).for_each(|(at, depth)| depths[at] = i64::from(*depth));
    let sum: i64 = depths.iter().sum();
    assert!(network.ends(&depths), "{}", network.text());
    // One deep channel may take the place of several that brute force has.
    let deep = depths.iter().any(|depth| *depth > 4);
    assert!(
        if deep { sum <= expected } else { sum == expected },
        "{depths:?}, {expected}: {}",
        network.text()
    );
    tally[2] += 1;
}

#[test]
fn random_networks_end_or_deadlock_as_a_simulator_says_with_the_least_depths_of_brute_force() {
    let (mut rng, mut tally) = (Rng::new(0xF10), [0; 3]);
    for _ in 0..10_000 {
        let channels = rng.below(3) + 1;
        compare(&Network::random(&mut rng, channels), &mut tally);
    }
    for _ in 0..300 {
        let channels = rng.below(2) + 4;
        compare(&Network::random(&mut rng, channels), &mut tally);
    }
    assert!(tally.iter().all(|count| *count > 2000), "{tally:?}");
}

#[test]
fn columns_of_a_sparse_axis_that_are_not_known_are_named() {
    let source = "table indptr = [0, 2, 3]; table indices; axis b = dense(2); axis nz = sparse(b, indptr, indices); kernel k();
        workload main { channel a[1]; pipeline { process p { parallel for i in b { select e in nz[i] { send a as s { k(); } } } } } }";
    let Verdict::Undecided(found) = flow_of(source, &[]).verdict else { panic!("`indices` has no elements") };
    assert_eq!(found.why, "table `indices` has no elements");
}

/// What has no value is nothing that the pipeline depends on, or that of another pipeline.
#[test]
fn a_deadlock_is_a_fault_whatever_has_no_value_and_a_warning_where_it_may_not_run() {
    let circle = "pipeline { process p { send a as s { } send a as t { } } process q { consume a as s { consume a as t { } } } }";
    let other = "pipeline { process u { parallel for i in 0..n { send b as s { } } } process v { consume b as s { } } }";
    for (body, severity) in [
        (format!("{other} {circle}"), Some(Severity::Error)),
        (format!("{circle} {other}"), Some(Severity::Error)),
        (format!("if n > 5 {{ {circle} }}"), Some(Severity::Warning)),
        (circle.replace("send a as t { }", "").replace("consume a as t { }", ""), None),
    ] {
        let module = module(&format!("param n; workload main {{ channel a[1]; channel b[1]; {body} }}"));
        let found = flow(&module, &[]).expect("pipelines");
        let faults: Vec<Severity> = found.faults().iter().map(|fault| fault.severity).collect();
        assert_eq!(faults, Vec::from_iter(severity), "{body}");
    }
    let module = module(
        "param n; workload main { channel a[0 - 1]; channel b[1]; pipeline { process p { parallel for i in 0..n { send a as s { } } } process q { consume all a as s { } } } }",
    );
    let faults = flow(&module, &[]).expect("pipelines").faults();
    assert_eq!(faults.iter().map(|fault| fault.code.0).collect::<Vec<_>>(), [808]);
}

/// A depth that is not known is none that a channel cannot have, wherever the pipeline stands.
#[test]
fn a_depth_that_is_not_known_leaves_its_pipeline_undecided() {
    let inner =
        "channel a[n - 2]; pipeline { process p { send a as s { } } process q { consume a as s { } } }";
    for source in [
        format!("param n; workload main {{ {inner} }}"),
        format!("param n; workload sub {{ {inner} }} workload main {{ if n > 2 {{ call sub(); }} }}"),
    ] {
        let module = module(&source);
        let found = flow(&module, &[]).expect("a pipeline");
        let Verdict::Undecided(undecided) = &found.verdict else { panic!("{:?}", found.verdict) };
        assert_eq!(
            (&*undecided.why, undecided.span.start),
            ("`n` has no value", source.find("a[n").unwrap() as u32)
        );
        assert!(found.faults().is_empty());
        let lines = found.lines(&module, |_| 1);
        assert!(lines[1].ends_with("depth n - 2"), "{lines:?}");
        let known = |n| flow_of(&source, &[("n", n)]).verdict;
        assert!(matches!(known(3), Verdict::Ends));
        assert!(matches!(known(1), Verdict::Refused(faults) if faults[0].code.0 == 808));
    }
}

/// A range that ends before it begins has no iterations, and not fewer than none.
#[test]
fn rates_are_what_a_run_sends_whatever_the_values_are() {
    let source = "param n = 0; param m = 0; workload main { channel a[9]; pipeline {
        process p { parallel for i in 0..n { send a as s { } } parallel for i in n..m { send a as s { } }
                    parallel for i in 0..n - 1, j in 0..m - 2 { send a as s { } } parallel for i in m..n + 2 step 3 { send a as s { } } close a; }
        process q { consume all a as s { } } } }";
    for (n, m) in [(0, 0), (0, 7), (7, 0), (3, 5), (5, 3)] {
        let found = flow_of(source, &[("n", n), ("m", m)]);
        let a = &found.pipelines[0].channels[0];
        assert_eq!(a.once[0].map(|once| once as u64), a.counted.map(|(sent, _)| sent), "n = {n}, m = {m}");
    }
}

/// A token goes into the second channel when the first one was closed, 1,000 cycles after its only token: until then nothing waits. Computed by hand:
/// with two slots the last of four tokens is consumed at 1420, with one at 1450.
#[test]
fn what_waits_for_a_close_goes_on_when_the_channel_was_closed() {
    let found = flow_of(
        "kernel s(x) cost 10; kernel l(x) cost 1000; kernel r(x) cost 100;
        workload main { channel a[1]; channel b[4]; pipeline {
            process p { send a as i { s(0); } l(0); close a; }
            process q { consume all a as i { } parallel for t in 0..4 { send b as j { s(0); } } close b; }
            process z { consume all b as j { r(0); } } } }",
        &[],
    );
    let throughput: Vec<_> = found.pipelines[0].channels.iter().map(|channel| channel.throughput).collect();
    assert_eq!(throughput, [Some(0), Some(2)]);
}

#[test]
fn a_pipeline_is_told_of_as_it_runs_where_it_runs() {
    let circle = "pipeline { process p { consume a as s { } } }";
    for around in ["if n > 5", "if go > 0", "parallel for i in 0..n", "while go > 0"] {
        let source = format!(
            "param n = 0; slot go = 0; kernel set(inout x);
            workload main {{ channel b[1]; channel a[1]; pipeline {{ process q {{ send b as s {{ }} consume b as s {{ }} }} }} {around} {{ set(go); {circle} }} }}"
        );
        let module = module(&source);
        let found = flow(&module, &[]).expect("pipelines");
        assert!(matches!(found.verdict, Verdict::Deadlock(_)), "{around}: {:?}", found.verdict);
        let lines = found.lines(&module, |span| span.start);
        let says: Vec<&str> =
            lines.iter().filter(|line| line.starts_with("pipeline")).map(|line| &**line).collect();
        assert!(
            says[0].ends_with("every process ends")
                && says[1].ends_with("no process can go on where it runs"),
            "{says:?}"
        );
    }
}

#[test]
fn lines_say_what_one_run_sends_and_what_all_do() {
    let source = "param n = 3; kernel k(); workload one(m) { channel c[2]; pipeline { process p { parallel for i in 0..m { send c as s { } } }
            process q { consume all c as s { } } process r { } } }
        workload main { channel a[2]; for r in 0..3 { pipeline {
            process p { parallel for i in 0..n { send a as s { } } parallel for i in 5..n { send a as s { } } if r < 9 { close a; } }
            process q { consume all a as s { k(); } } } } }";
    let module = module(source);
    let found = flow(&module, &[]).expect("a pipeline");
    let lines = found.lines(&module, |_| 1);
    assert_eq!(
        lines,
        [
            "pipeline in line 1 of `main`: every process ends",
            "  a: n + max(n - 5, 0) at a time, 9 in all sent, 9 consumed, depth 2, at least 0"
        ]
    );
    let called =
        source.replace("consume all a as s { k(); } } } }", "consume all a as s { k(); } } } call one(2); }");
    let called = called.replace("consume all c as s { } }", "consume c as s { } consume c as s { } }");
    let module = self::module(&called);
    let lines = flow(&module, &[]).expect("pipelines").lines(&module, |_| 1);
    assert_eq!(
        lines[1], "  c: 6 sent, 2 at a time, 6 in all consumed, depth 2, at least 0",
        "the argument has no name outside"
    );
}

#[test]
fn two_slots_overlap_a_stage_with_the_next() {
    let source = "param n = 4; tensor ring: f32[1, 8]; kernel load(out a) cost 10; kernel work(in a) cost 30; workload main { channel c[1]; pipeline {
        process p { parallel for i in 0..n { send c as s { load(ring[s]); } } } process q { parallel for i in 0..n { consume c as s { work(ring[s]); } } } } }";
    let module = module(source);
    let lines = flow(&module, &[]).expect("a pipeline").lines(&module, |_| 1);
    assert_eq!(lines[1], "  c: n = 4 sent, n = 4 consumed, depth 1, at least 0, throughput from 2");
    let unknown = source.replace(" cost 30", "");
    assert_eq!(flow_of(&unknown, &[]).pipelines[0].channels[0].throughput, None, "a kernel has no cost");
}

/// It runs or not by what a launch knows, or by more: then it is refused.
#[test]
fn what_feeds_itself_for_ever_is_refused_where_it_may_run() {
    let text = |around: &str| {
        format!(
            "param n = 5; kernel k(); workload main {{ channel c[2]; pipeline {{ process p {{ send c as s {{ k(); }}
                {around} {{ consume all c as s {{ k(); send c as t {{ }} }} }} }} }} }}"
        )
    };
    let of = |around: &str, n: i64| {
        let (module, set) = (module(&text(around)), [("n".to_owned(), ParamValue::Int(i128::from(n)))]);
        let bound = wsp_plan::workload::bind(&module, &set, &Default::default());
        let found = flow(&module, &set).expect("a pipeline");
        (bound.err().map(|faults| faults[0].code), matches!(found.verdict, Verdict::Refused(_)))
    };
    let refused = (Some(Code(789)), true);
    for around in ["if n > 5", "parallel for i in 5..n", "if n > 7 { } else if n > 5"] {
        assert_eq!(of(around, 5), (None, false), "{around}");
        assert_eq!(of(around, 6), refused, "{around}");
    }
    assert_eq!(of("parallel for i in 0..n { } parallel for i in n..n + 1, j in i - 1..n", 5), refused);
    let never = "parallel for i in 0..n { } parallel for i in n..n + 1, j in i..n";
    assert_eq!(of(never, 5), (None, false), "the number of the iteration decides");
}
