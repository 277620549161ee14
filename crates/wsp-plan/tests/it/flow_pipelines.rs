//! Depths and counts of each pipeline of a module.

use crate::workload_support::module;
use wsp_plan::ParamValue;
use wsp_plan::flow::{Flow, Verdict, flow, flow_within};

fn flow_of(source: &str) -> Flow {
    flow_within(&module(source), &[], 1 << 11).expect("a pipeline")
}

/// `at least` and `throughput from`.
type Told = (Option<u32>, Option<u32>);

/// The depths of the channels of pipelines, and the lines that say why some are not known.
fn searched(source: &str) -> (Vec<Told>, Vec<String>) {
    let found = flow_of(source);
    let channels = found.pipelines.iter().flat_map(|pipeline| &pipeline.channels);
    let depths = channels.map(|channel| (channel.least, channel.throughput)).collect();
    let mut lines =
        found.lines(&module(source), |span| 1 + source[..span.start as usize].matches('\n').count() as u32);
    lines.retain(|line| line.contains("not known"));
    (depths, lines)
}

fn pipe(channel: &str, times: &str) -> String {
    let all = format!("parallel for i in 0..{times}");
    format!(
        "channel {channel}[1]; pipeline {{ process p {{ {all} {{ send {channel} as s {{ k(s); }} }} }}
        process q {{ {all} {{ consume {channel} as s {{ k(s); }} }} }} }}\n"
    )
}

/// The end of a longer pipeline is not that of a shorter one, and what hides the depths of one does not hide those of another.
#[test]
fn depths_are_those_of_each_pipeline() {
    let two = format!("kernel k(a) cost 10; workload main {{ {} {} }}", pipe("a", "40"), pipe("b", "4"));
    assert_eq!(searched(&two), (vec![(Some(0), Some(2)); 2], vec![]));
    let select = "channel c[1]; channel d[1]; pipeline { process p { send c as s { k(s); } } process r { send d as s { k(s); } }
        process q { parallel for i in 0..2 { select { consume c as s { k(s); } consume d as s { k(s); } } } } }";
    let (depths, lines) = searched(&two.replace("b[1]; pipeline", &format!("b[1]; {select} pipeline")));
    assert_eq!(depths, [(Some(0), Some(2)), (None, None), (None, None), (Some(0), Some(2))]);
    let why = "depths `at least` and `throughput` are not known: line 4: a `select` takes from several channels, in an order of turns";
    assert_eq!(lines, [format!("  {why}")]);
    let long =
        format!("kernel k(a) cost 10; workload main {{ {} {} }}", pipe("a", "2000000"), pipe("b", "4"));
    assert_eq!(searched(&long).0, [(None, None), (Some(0), Some(2))]);
    assert!(matches!(flow_of(&long).verdict, Verdict::Undecided(_)));
}

#[test]
fn depths_for_a_throughput_that_are_not_known_have_a_reason() {
    for (kernels, task, why) in [
        ("kernel k(a) cost 10; kernel m(a);", "m(i);", "line 2: `m` has no cost"),
        ("kernel k(a) cost a;", "", "line 1: a slot decides what `k` costs"),
        (
            "kernel k(a) cost 10; kernel m(a) cost a; workload w(x) { m(x); }",
            "call w(s);",
            "line 2: a slot may decide what the tasks of a call cost",
        ),
        ("kernel k(a) cost 10; param z;", "k(z);", "not every value that its tasks have is known"),
    ] {
        let source = format!(
            "{kernels} workload main {{ {} }}",
            pipe("a", "4").replace("consume a as s {", &format!("consume a as s {{ {task}"))
        );
        let (depths, lines) = searched(&source);
        assert_eq!(depths, [(Some(0), None)], "{source}");
        assert_eq!(lines, [format!("  depths `throughput` are not known: {why}")]);
    }
    let outside =
        format!("kernel k(a) cost 10; kernel m(a); workload main {{ m(1); {} m(2); }}", pipe("a", "4"));
    assert_eq!(searched(&outside).0, [(Some(0), Some(2))], "what is no part of the pipeline needs no cost");
}

#[test]
fn a_pipeline_that_repeats_counts_each_time() {
    for (around, says) in [
        ("parallel for i in 0..3", "2 at a time, 6 in all sent, 2 at a time, 6 in all consumed, depth 1"),
        (
            "for i in 0..3 { parallel for j in i..3",
            "2 at a time, 12 in all sent, 2 at a time, 12 in all consumed, depth 1",
        ),
        ("for i in 3..3", "2 at a time, 0 in all sent, 2 at a time, 0 in all consumed, depth 1"),
        ("if n > 3", "2 sent, 2 consumed, depth 1"),
        ("if n < 3", "2 at a time, 0 in all sent, 2 at a time, 0 in all consumed, depth 1"),
        ("for i in 0..m", "2 sent, 2 consumed per run of the pipeline, depth 1"),
        ("while go > 0", "2 sent, 2 consumed per run of the pipeline, depth 1"),
    ] {
        let ends = "}".repeat(around.matches('{').count());
        let source = format!(
            "param n = 4; param m; slot go = 1; kernel k(a); kernel t(out a);
            workload main {{ while go > 1 {{ t(go); }} {around} {{ t(go); {} }} {ends} }}",
            pipe("a", "2")
        );
        let module = module(&source);
        let lines = flow(&module, &[]).expect("a pipeline").lines(&module, |_| 1);
        assert_eq!(lines[1], format!("  a: {says}, at least 0"), "{around}");
    }
    let none = format!("param n = 4; kernel k(a); workload main {{ {} }}", pipe("a", "n"));
    let module = module(&none);
    let lines =
        flow(&module, &[("n".to_owned(), ParamValue::Int(-3))]).expect("a pipeline").lines(&module, |_| 1);
    assert_eq!(lines[1], "  a: 0 sent, 0 consumed, depth 1, at least 0");
}

#[test]
fn a_pipeline_that_is_called_counts_each_time() {
    let source = format!(
        "kernel k(a); workload v() {{ {} }} workload w(x) {{ parallel for i in 0..x {{ if i < 5 {{ call v(); call v(); }} }} }}
        workload main {{ for i in 0..2 {{ call w(3); }} call v(); }}",
        pipe("a", "2")
    );
    let module = module(&source);
    let lines = flow(&module, &[]).expect("a pipeline").lines(&module, |_| 1);
    assert_eq!(
        lines[1],
        "  a: 2 at a time, 26 in all sent, 2 at a time, 26 in all consumed, depth 1, at least 0"
    );
}

/// What has no value hides neither the deadlock of another pipeline nor its depths, and no value is made up for a depth.
#[test]
fn what_has_no_value_is_of_its_own_pipeline() {
    let circle = "channel b[1]; pipeline { process p { send b as s { } send b as t { } } process q { consume b as s { consume b as t { } } } }";
    for (sub, call) in [
        (pipe("a", "2").replace("a[1]", "a[n - 2]"), "call sub(1);"),
        (pipe("a", "x"), "for i in 0..n { call sub(i); }"),
        (pipe("a", "2").replace("a[1]", "a[n - 2]"), "if n > 2 { call sub(1); }"),
        (pipe("a", "x"), "call sub(n);"),
    ] {
        let source = format!(
            "param n; kernel k(s) cost 3; workload sub(x) {{ {sub} }} workload main {{ {circle} {call} }}"
        );
        let found = flow_of(&source);
        let Verdict::Deadlock(fault) = &found.verdict else { panic!("{:?} of {source}", found.verdict) };
        assert!(fault.is_error(), "{source}");
        assert!(found.pipelines[0].undecided.is_some(), "{source}");
        let live = source.replace("send b as t { }", "").replace("consume b as t { }", "");
        let found = flow_of(&live);
        assert!(matches!(found.verdict, Verdict::Undecided(_)), "{:?} of {live}", found.verdict);
        let told: Vec<_> = found.pipelines.iter().map(|of| (of.ends, of.channels[0].least)).collect();
        assert_eq!(told, [(None, None), (Some(true), Some(0))], "{live}");
    }
    let never = format!("workload main {{ for i in 0..0 {{ {circle} }} }}");
    let faults = flow_of(&never).faults();
    assert!(faults.len() == 1 && !faults[0].is_error(), "{faults:?}");
}

/// Each pair needs its first channel deeper, whatever the others do.
#[test]
fn depths_of_many_circles_are_found() {
    let mut text = String::from("kernel k(s); workload main { ");
    (0..60).for_each(|at| text += &format!("channel a{at}[1]; channel b{at}[1]; "));
    text += "pipeline { ";
    for at in 0..60 {
        text += &format!(
            "process p{at} {{ send a{at} as s {{ }} send b{at} as s {{ }} }} process q{at} {{ consume b{at} as s {{ }} consume a{at} as s {{ }} }} "
        );
    }
    let (depths, lines) = searched(&(text + "} }"));
    let expected: Vec<_> = (0..120).map(|at| (Some(1 - at % 2), None)).collect();
    assert_eq!((depths.len(), lines), (120, vec![]));
    assert_eq!(depths, [&expected[..]].concat());
}

/// What waits costs nothing: a thousand processes wait for the last of others, through which three thousand tokens go.
#[test]
fn processes_that_wait_take_no_transfers() {
    let mut source = "kernel k(); workload main { channel c[4]; channel w[1000][1]; pipeline {
        replicate i in 0..1000 process wait { consume w[i] as s { k(); } }
        process src { parallel for t in 0..3000 { send c as s { k(); } } close c; }
        process dst { consume all c as s { k(); }"
        .to_owned();
    (0..1000).for_each(|at| source += &format!(" send w[{at}] as s {{ }}"));
    let found = flow_of(&(source + " } } }"));
    assert!(matches!(found.verdict, Verdict::Ends), "{:?}", found.verdict);
}

/// Two processes that take all that the other sends, each of which may close its own channel only behind that.
#[test]
fn what_feeds_each_other_for_ever_is_refused() {
    let text = |inner: &str, p: &str, q: &str| {
        format!(
            "param n = 5; kernel k(); workload main {{ channel a[1]; channel b[1]; pipeline {{
                process p {{ send a as s {{ }} consume all b as s {{ send a as t {{ k(); }} {inner} }} {p} }}
                process q {{ consume all a as s {{ send b as t {{ }} }} {q} }} }} }}"
        )
    };
    let refused = |source: &str| {
        let (module, mut found) = wsp_ir::workload::text::parse("test.wsp", source, &mut Default::default());
        if let Some(module) = module {
            found.extend(
                wsp_plan::workload::bind(&module, &[], &Default::default()).err().unwrap_or_default(),
            );
        }
        let errors = found.iter().filter(|fault| fault.is_error());
        errors.map(|fault| fault.code.0).collect::<Vec<_>>()
    };
    for (p, q) in [("", ""), ("close a;", "close b;"), ("close a;", ""), ("", "close b;")] {
        assert_eq!(refused(&text("", p, q)), [789], "{p} {q}");
    }
    assert_eq!(refused(&text("if n > 4 { close a; }", "", "close b;")), [0u16; 0], "it may be closed within");
    let ahead = text("", "", "close b;").replace("send a as t { k(); }", "k();");
    assert_eq!(refused(&ahead), [0u16; 0], "a deadlock is told of as one");
}
