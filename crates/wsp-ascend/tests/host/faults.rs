//! Kernels with a planted fault each: the run says the rule that is broken, and without the fault it says nothing.

use crate::source::{build, folder, literals};
use std::collections::BTreeSet;
use std::process::Command;

const KERNELS: &str = include_str!("faults.cpp");

/// The rule that the name of a kernel says, on a platform.
fn expected<'a>(name: &'a str, platform: &str) -> Option<&'a str> {
    let (head, _) = name.split_once(": ").expect("a rule before the name");
    let (platforms, rule) = head.rsplit_once(' ').unwrap_or((platform, head));
    (rule != "right" && platforms.split(' ').any(|other| other == platform)).then_some(rule)
}

/// The rule that a run says is broken.
fn broken(told: &str) -> Option<&str> {
    told.strip_prefix("fault [").and_then(|told| told.split_once(']')).map(|(rule, _)| rule)
}

#[test]
fn each_planted_fault_is_found_and_no_other() {
    let folder = folder("faults", "faults.cpp", KERNELS);
    let mut rules = BTreeSet::new();
    for platform in ["a2", "a5"] {
        let program = build(&folder, platform, "-O0", "faults.cpp");
        let output = Command::new(&program).output().expect("the program runs");
        assert!(output.status.success(), "{platform}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        for line in text.lines() {
            let (name, told) = line.split_once('\t').expect("a name and what the run said");
            assert_eq!(broken(told), expected(name, platform), "on {platform}, {name}: {told}");
            rules.extend(broken(told).map(str::to_owned));
        }
        let ended = Command::new(&program).arg("exit").output().expect("the program runs");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), broken(&stderr)), (Some(3), Some("order")), "{stderr}");
        // Both instructions, by number, name and line, and the bytes.
        let load = KERNELS.lines().position(|line| line.contains("TLOAD(t, G<>(x));"));
        let load = load.expect("a load") + 1;
        for part in [
            "instruction 2 TMULS (faults.cpp:".to_owned(),
            format!("instruction 1 TLOAD (faults.cpp:{load}) on MTE2, which writes there"),
            "byte 0 of UB".to_owned(),
        ] {
            assert!(stderr.contains(&part), "{part}: {stderr}");
        }
    }
    // Sentences are said of other things than instructions.
    let is_rule = |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let all: BTreeSet<String> = literals(&["wrong(", "fault("]).into_iter().filter(is_rule).collect();
    assert_eq!(all, rules);
}
