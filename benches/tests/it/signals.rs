//! Signals while a benchmark runs.

use crate::command::BENCH;
use std::io::Read as _;
use std::process::{Command, Stdio};

/// One of the masks of signals of a process, by its name in `/proc`.
fn mask(process: u32, which: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':'));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[test]
fn a_benchmark_ends_at_once_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    // Signals are heeded, also where these tests run with some ignored, as in the background of a script.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", BENCH, "plan", "--json", "b.json"]);
    let mut child = command.current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    // The heading comes before the first measurement.
    let mut heading = [0u8; 1];
    child.stdout.take().unwrap().read_exact(&mut heading).unwrap();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn signals_that_were_ignored_at_the_start_stay_ignored() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT TERM HUP; exec \"$0\" plan"]).arg(BENCH);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    // The heading comes when signals are taken over.
    let mut heading = [0u8; 1];
    child.stdout.take().unwrap().read_exact(&mut heading).unwrap();
    let of = |which| mask(child.id(), which) & (1 | 1 << 1 | 1 << 14);
    let masks = (of("SigIgn"), of("SigCgt"), of("SigBlk"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(masks, (1 | 1 << 1 | 1 << 14, 0, 0));
}
