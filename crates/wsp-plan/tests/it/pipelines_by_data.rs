//! Pipelines whose end depends on data: what is said of them before a run names the statement that decides, and the report of a run the circle.

use crate::randomised::cases;
use crate::workload_support::oracle::{Oracle, Stuck};
use crate::workload_support::pipelines::pipeline;
use crate::workload_support::random::Rng;
use crate::workload_support::{expanded, module, try_bind};
use wsp_core::ChannelId;
use wsp_diag::{Code, Diagnostic};
use wsp_ir::workload::{NodeKind, Process, WorkloadModule, each_node};
use wsp_plan::flow::{Verdict, flow};
use wsp_plan::workload::{Bindings, ExpandError};

/// Numbers that a table gives.
const RATES: [i64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The text with some numbers of rounds and conditions from a table that has no elements yet, and their lines and places in it.
fn with_data(text: &str, rng: &mut Rng) -> (String, Vec<(usize, usize)>) {
    let mut lines = Vec::new();
    let mut changed = "table rate;\n".to_owned();
    for (at, line) in (2..).zip(text.lines()) {
        let number = ["in 0..", "< "].iter().find_map(|before| {
            let (head, rest) = line.split_once(before)?;
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            (digits > 0 && digits < 3).then(|| (format!("{head}{before}"), &rest[..digits], &rest[digits..]))
        });
        match number {
            Some((head, number, rest)) if !line.starts_with("for round") && rng.one_in(3) => {
                changed += &format!("{head}rate[{number}]{rest}\n");
                lines.push((at, number.parse().expect("digits")));
            }
            _ => changed += &format!("{line}\n"),
        }
    }
    (changed, lines)
}

/// The pipeline of a made-up text.
fn processes(module: &WorkloadModule) -> Vec<Process> {
    let mut found = Vec::new();
    each_node(&module.workloads[0].body, &mut |node| {
        if let NodeKind::Pipeline { processes } = &node.kind {
            found.clone_from(processes);
        }
    });
    found
}

/// The process that sends to a channel, or consumes from it.
fn end(processes: &[Process], channel: ChannelId, sends: bool) -> Option<&str> {
    let uses = |process: &&Process| {
        let mut found = false;
        each_node(&process.body, &mut |node| {
            found |= match &node.kind {
                NodeKind::Send { channel: to, .. } | NodeKind::Close { channel: to } => {
                    sends && *to == channel
                }
                NodeKind::Consume { arms, .. } => !sends && arms.iter().any(|arm| arm.channel == channel),
                _ => false,
            };
        });
        found
    };
    processes.iter().find(uses).map(|process| &*process.name)
}

/// Asserts that a report says who waits, and that it names a circle, if there is one.
fn told(found: &Diagnostic, stuck: &[Stuck], module: &WorkloadModule, text: &str) {
    let name = |channel: &ChannelId| format!("`{}`", module.workloads[0].channels[channel.index()].name);
    let starts = stuck.iter().map(|of| {
        let verb = if of.sends { "to send to" } else { "to consume from" };
        (format!("`{}` waits {verb} ", of.process), of.channels.iter().map(name).collect::<Vec<_>>())
    });
    let starts: Vec<_> = starts.collect();
    assert_eq!(found.labels.len(), starts.len(), "{text}\n{found:?}");
    for (label, (start, channels)) in found.labels.iter().zip(&starts) {
        let rest = label.text.strip_prefix(&**start);
        let rest = rest.unwrap_or_else(|| panic!("{start}, and not {}\n{text}", label.text));
        let named: Vec<&str> = rest.split('`').skip(1).step_by(2).take(channels.len()).collect();
        let expected: Vec<&str> = channels.iter().map(|name| name.trim_matches('`')).collect();
        assert_eq!(named, expected, "{text}");
    }
    // Who waits for a channel waits for the process at its other end.
    let processes = processes(module);
    let waits = |process: &str| stuck.iter().any(|of| of.process == process);
    let nexts = |process: &str| {
        let of = stuck.iter().find(|of| of.process == process);
        let channels = of.iter().flat_map(|of| of.channels.iter().map(|channel| (*channel, of.sends)));
        channels.filter_map(|(channel, sends)| end(&processes, channel, !sends)).collect::<Vec<_>>()
    };
    let is_in_circle = |start: &str| {
        let mut reached = nexts(start);
        let mut at = 0;
        while at < reached.len() {
            let more: Vec<_> =
                nexts(reached[at]).into_iter().filter(|next| !reached.contains(next)).collect();
            reached.extend(more);
            at += 1;
        }
        reached.contains(&start)
    };
    let has_circle = stuck.iter().any(|of| is_in_circle(&of.process));
    if let Some(alone) = found.notes.iter().find(|note| note.contains(" waits for itself")) {
        let process = alone.split('`').nth(1).expect("its name");
        assert!(nexts(process).contains(&process), "{text}");
        return;
    }
    let Some(chain) = found.notes.iter().find(|note| note.contains(" waits for `")) else {
        assert!(!has_circle, "a circle is not named of\n{text}");
        return;
    };
    let chain = chain.trim_end_matches(", each for a `close`");
    let named: Vec<&str> = chain.split('`').skip(1).step_by(2).collect();
    // "`a` waits for `b`, and `b` for `c`, and `c` for `a`".
    let pairs = named.chunks(2).map(|pair| (pair[0], pair[1]));
    for (who, whom) in pairs.clone() {
        assert!(nexts(who).contains(&whom), "{chain}\n{text}");
    }
    assert!(pairs.clone().zip(pairs.skip(1)).all(|((_, whom), (who, _))| whom == who), "{chain}");
    assert_eq!(has_circle, named.first() == named.last(), "{chain}\n{text}");
    assert_eq!(!has_circle, chain.ends_with(", which has ended"), "{chain}\n{text}");
    assert!(has_circle || named.last().is_some_and(|last| !waits(last)), "{chain}\n{text}");
}

/// Runs a module, and compares with the elaborator of the tests; whether it ends, or none where it meets another fault.
fn ends(module: &WorkloadModule, bindings: &Bindings, text: &str, circles: &mut u32) -> Option<bool> {
    let mut oracle = Oracle::new(module, bindings, &[]);
    let expected = oracle.run();
    match (expanded(module, bindings, &[]).1, expected) {
        (Ok(stats), Ok(tasks)) => {
            assert_eq!(stats.tasks, tasks, "{text}");
            Some(true)
        }
        (Err(ExpandError::Fault(found)), Err(_)) if found.code == Code(820) => {
            told(&found, &oracle.stuck, module, text);
            let names = |note: &String| note.contains(" waits for `") && !note.ends_with("which has ended");
            *circles += u32::from(found.notes.iter().any(names));
            Some(false)
        }
        (Err(ExpandError::Fault(found)), Err(_)) => {
            assert!(oracle.stuck.is_empty(), "{found:?}\n{text}");
            None
        }
        (ours, theirs) => panic!("{ours:?} is not {theirs:?} of\n{text}"),
    }
}

#[test]
fn what_data_decide_is_undecided_before_a_run_and_named_by_it() {
    let wanted = cases(200);
    let (mut rng, mut both, mut circles, mut tried, mut lives) = (Rng::new(0xDA7A), 0, 0, 0, 0);
    let mut seed = 0;
    while both < wanted {
        seed += 1;
        let (text, lines) = with_data(&pipeline(seed), &mut rng);
        let module = module(&text);
        let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
        // With `few` and `deep` nothing else is missing.
        let found = flow(&module, &[]).expect("a pipeline");
        let Verdict::Undecided(undecided) = &found.verdict else {
            assert!(lines.is_empty() || !text.contains("send"), "{:?} of\n{text}", found.verdict);
            continue;
        };
        assert_eq!(undecided.why, "table `rate` has no elements", "{text}");
        let named = line(undecided.span.start);
        assert!(lines.iter().any(|(line, _)| *line == named), "line {named} is named of\n{text}");
        let said = found.lines(&module, |span| line(span.start) as u32);
        let says =
            format!(": undecided here, a run tells: line {named} needs a value, and {}", undecided.why);
        assert!(said[0].ends_with(&says), "{said:?}");
        tried += 1;
        let mut seen = [false; 2];
        for _ in 0..4 {
            let mut rates = RATES;
            if seen != [false; 2] {
                let (_, at) = lines[rng.below(lines.len() as u64) as usize];
                rates[at] += if rng.one_in(2) { 1 } else { -1 };
            }
            let bindings = try_bind(&module, &[], &[("rate", &rates)]).expect("all is given");
            let Some(ended) = ends(&module, &bindings, &text, &mut circles) else { continue };
            seen[usize::from(ended)] = true;
            lives += u64::from(ended);
        }
        both += u64::from(seen == [true; 2]);
    }
    println!("{both} of {tried} programs end or not by data; {lives} runs end, {circles} circles are named");
    assert!(circles as u64 > wanted / 4, "{circles}");
}
