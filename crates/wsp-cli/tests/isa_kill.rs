//! Runs of task graphs that are killed and go on from their last checkpoint.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test fails by panicking, makes its own files, and says how many cases ran"
)]

#[path = "isa_kill/units.rs"]
mod units;

use std::collections::BTreeSet;
use std::os::unix::fs::DirEntryExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Steps of a recurrence with a checkpoint after every tenth.
const STEPS: &str = "\
use \"step.pto\"
extern STATE: f32[64, 64]
TG_BEGIN(STEPS)
  MC_ALLOC(A, 64*64*4)
  MC_ALLOC(B, 64*64*4)
  MC_COPY(STATE, A, 64*64*4)
  CF_LOOP(300, i)
    TG_KERNEL(STEP, step_entry, 4, AIV, 0)
    MC_BIND(STEP, 0, {A, B}[i % 2])
    MC_BIND(STEP, 1, {B, A}[i % 2])
    CF_IF(i % 10 == 9)
      TG_CHECKPOINT(STEPS, TENTH)
    CF_ENDIF
  CF_ENDLOOP
  MC_COPY(A, STATE, 64*64*4)
TG_END(STEPS)
TG_LAUNCH(STEPS, default)
TG_SYNC(STEPS)
";

/// y = 3.7 x (1 - x), which keeps no bit of an error for long.
const KERNEL: &str = "\
PTO_SHAPE(x, rows, 64)
PTO_SHAPE(y, rows, 64)
PTO_KERNEL_IMPL(step_entry, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx() * 16; r < rows; r += get_block_num() * 16) {
        VecTile<float, 16, 64> t;
        VecTile<float, 16, 64> u;
        TLOAD(t, x, {r});
        TMULS(u, t, -1.0f);
        TADDS(u, u, 1.0f);
        TMUL(t, t, u);
        TMULS(t, t, 3.7f);
        TSTORE(y, t, {r});
    }
}
";

fn wsp(unit: &Path, outputs: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wsp"));
    command
        .arg("run")
        .arg(unit)
        .args(["--no-check", "--threads", "2", "--seed", "7", "--outputs"])
        .arg(outputs);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn finished(mut command: Command) -> Duration {
    let start = Instant::now();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    start.elapsed()
}

/// Kills runs of a unit at moments that the repetition decides, resumes each until it is complete, and compares what it wrote with an
/// uninterrupted run. Returns how often a run was killed.
fn kill_and_resume(unit: &Path, repetitions: u64) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: String| -> PathBuf { dir.path().join(name) };
    let whole = at("whole.npz".to_owned());
    let time = finished(wsp(unit, &whole));
    let expected = std::fs::read(&whole).unwrap();
    let mut killed = 0;
    for repetition in 0..repetitions {
        let (states, outputs) = (at(format!("states{repetition}")), at(format!("{repetition}.npz")));
        let resuming = || {
            let mut command = wsp(unit, &outputs);
            command.arg("--checkpoints").arg(&states).arg("--resume");
            command
        };
        // Two runs are killed, at other moments in each repetition; the third is left alone.
        for attempt in 0..2 {
            let draw = (repetition * 2 + attempt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let moment = time.mul_f64(draw as f64 / f64::from(1 << 24));
            let mut child = resuming().spawn().unwrap();
            let start = Instant::now();
            // How long this takes decides where the run is killed, and nothing else.
            while start.elapsed() < moment {
                std::thread::yield_now();
            }
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                killed += 1;
            }
            child.wait().unwrap();
        }
        finished(resuming());
        assert!(std::fs::read(&outputs).unwrap() == expected, "repetition {repetition} gave another result");
    }
    killed
}

/// ISA-FE-04.
#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("step.pto"), KERNEL).unwrap();
    let unit = dir.path().join("steps.tg");
    std::fs::write(&unit, STEPS).unwrap();
    kill_and_resume(&unit, 3);
}

/// A checkpoint of a unit is refused by another one.
#[test]
fn a_checkpoint_belongs_to_its_unit() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("step.pto"), KERNEL).unwrap();
    let (unit, states) = (dir.path().join("steps.tg"), dir.path().join("states"));
    std::fs::write(&unit, STEPS).unwrap();
    let run = |resume: bool| {
        let mut command = wsp(&unit, &dir.path().join("out.npz"));
        command.arg("--checkpoints").arg(&states);
        if resume {
            command.arg("--resume");
        }
        command.output().unwrap()
    };
    assert!(run(false).status.success());
    std::fs::write(&unit, STEPS.replace("i % 10 == 9", "i % 20 == 9")).unwrap();
    let other = run(true);
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(!other.status.success() && said.contains("checkpoint"), "{said}");
}

/// How many cases a random test runs: few, or as many as `WSP_CASES` says.
fn cases(few: u64) -> u64 {
    std::env::var("WSP_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}

/// A long unit, killed again and again.
#[test]
fn killed_runs_of_a_thousand_steps_give_the_uninterrupted_result() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/thousand_steps.tg");
    let repetitions = cases(1).min(50);
    let killed = kill_and_resume(&unit, repetitions);
    println!("{killed} of {} runs were killed", 2 * repetitions);
}

/// A folder with a unit and its kernels, and what runs of it print.
struct Case {
    dir: tempfile::TempDir,
}

/// How a run ended: whether well, and what it said.
struct Ended {
    ok: bool,
    said: String,
}

impl Case {
    fn new(unit: &str, kernels: &str) -> Case {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("unit.tg"), unit).unwrap();
        std::fs::write(dir.path().join("k.pto"), kernels).unwrap();
        Case { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A run; of `--checkpoints` in the folder `ck` if `keeps`.
    fn command(&self, keeps: bool, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wsp"));
        command.arg("run").arg(self.path("unit.tg"));
        if !more.contains(&"--threads") {
            command.args(["--threads", "2"]);
        }
        if keeps {
            command.arg("--checkpoints").arg(self.path("ck"));
        }
        command.args(more).stdin(Stdio::null());
        command
    }

    fn ended(mut command: Command) -> Ended {
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        Ended { ok: output.status.success(), said: String::from_utf8_lossy(&said).into_owned() }
    }

    fn run(&self, more: &[&str]) -> Ended {
        Case::ended(self.command(true, more))
    }

    /// What a run without checkpoints writes.
    fn whole(&self, more: &[&str]) -> Vec<u8> {
        let path = self.path("whole.npz");
        let mut command = self.command(false, more);
        command.args(["--no-check", "--outputs"]).arg(&path);
        let ended = Case::ended(command);
        assert!(ended.ok, "{}", ended.said);
        std::fs::read(path).unwrap()
    }

    /// Resumes the run, and gives back what it writes.
    fn resumed(&self, more: &[&str]) -> Vec<u8> {
        let path = self.path("resumed.npz");
        let mut command = self.command(true, more);
        command.args(["--resume", "--outputs"]).arg(&path);
        let ended = Case::ended(command);
        assert!(ended.ok, "{}", ended.said);
        std::fs::read(path).unwrap()
    }

    /// Asserts that a run is refused to go on, with what differs.
    fn refused(&self, more: &[&str], what: &str) {
        let ended = self.run(&[more, &["--resume"]].concat());
        assert!(!ended.ok && ended.said.contains("WSP1560") && ended.said.contains(what), "{}", ended.said);
    }

    /// Numbers of the files of records: a record that replaces another is another file.
    fn records(&self) -> BTreeSet<(std::ffi::OsString, u64)> {
        let Ok(entries) = std::fs::read_dir(self.path("ck")) else { return BTreeSet::new() };
        let file = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let is_whole = !entry.file_name().to_string_lossy().ends_with(".partial");
            is_whole.then_some((entry.file_name(), entry.ino()))
        };
        entries.filter_map(file).collect()
    }
}

/// A graph with two checkpoints; E lets it pass the first, F the second.
const TWO_STOPS: &str = "\
use \"k.pto\"
extern A: i32[64]
extern Y: i32[64]
arg N: i32 = 3
extern event E
extern event F
TG_BEGIN(G)
  MC_ALLOC(T, 256)
  MC_ALLOC(U, 256)
  TG_KERNEL(K0, addp, 1, AIV, 0)
  MC_BIND(K0, 0, A)
  MC_BIND(K0, 1, T)
  TG_CHECKPOINT(G, EARLY)
  TG_KERNEL(K1, addp, 1, AIV, 0)
  MC_BIND(K1, 0, T)
  MC_BIND(K1, 1, U)
  TG_DEPEND(K0, K1, DATA, T)
  SY_WAIT(E, K1)
  TG_CHECKPOINT(G, LATE)
  TG_KERNEL(K2, addp, 1, AIV, 0)
  MC_BIND(K2, 0, U)
  MC_BIND(K2, 1, Y)
  TG_DEPEND(K1, K2, DATA, U)
  SY_WAIT(F, K2)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

const BOTH: [&str; 4] = ["--event", "E", "--event", "F"];

#[test]
fn a_run_goes_on_from_its_own_checkpoints_and_not_from_those_of_an_earlier_run() {
    let case = Case::new(TWO_STOPS, units::KERNELS);
    assert!(case.run(&[&["--seed", "1"], &BOTH[..]].concat()).ok);
    let stopped = case.run(&["--seed", "2"]);
    assert!(!stopped.ok && stopped.said.contains("WSP1555"), "{}", stopped.said);
    let both = [&["--seed", "2"], &BOTH[..]].concat();
    assert_eq!(case.resumed(&both), case.whole(&both));
    case.refused(&["--seed", "1"], "was made up from seed 2");
    // The same of a unit that has been changed meanwhile.
    std::fs::write(case.path("unit.tg"), TWO_STOPS.replace("addp, 1,", "addp, 2,")).unwrap();
    case.refused(&[], "the statements of the unit");
    assert!(!case.run(&[]).ok);
    assert_eq!(case.resumed(&BOTH), case.whole(&BOTH));
}

#[test]
fn a_run_with_other_parameters_kernels_values_or_inputs_is_refused() {
    // Of two devices, which have one memory for `Y`, one would write.
    let launch = "TG_LAUNCH(G, default)\nTG_SYNC(G)\n";
    let unit = TWO_STOPS.replace(launch, &format!("CF_IF(device == 0)\n{launch}CF_ENDIF\n"));
    let case = Case::new(&unit, units::KERNELS);
    assert!(!case.run(&["--set", "inc=2", "--event", "E"]).ok);
    case.refused(&["--set", "inc=1000"], "`inc` of the kernels: was 2, is 1000");
    case.refused(&[], "was 2, is 1");
    case.refused(&["--set", "inc=2", "--set", "N=4"], "`N`: was 3, is 4");
    case.refused(&["--set", "inc=2", "--seed", "5"], "was made up from seed 1");
    case.refused(&["--set", "inc=2", "--devices", "2"], "the number of devices: was 1, is 2");
    let set = ["--set", "inc=2"];
    std::fs::write(case.path("k.pto"), units::KERNELS.replace("+ inc,", "+ inc + inc,")).unwrap();
    case.refused(&set, "the code of kernel `addp`");
    // Another kernel of the file, a comment, and what changes no result may differ.
    let comment = format!("{}// the end\n", units::KERNELS.replace("* 3 + 1", "* 5 + 1"));
    std::fs::write(case.path("k.pto"), comment).unwrap();
    let trace = case.path("t.json");
    let others = ["--threads", "1", "--stats", "json", "--trace", trace.to_str().unwrap()];
    let rest = [&set[..], &BOTH[..]].concat();
    assert_eq!(case.resumed(&[&rest[..], &others[..]].concat()), case.whole(&rest));
}

#[test]
fn a_file_that_kernels_include_is_one_of_the_kernels() {
    let case =
        Case::new(TWO_STOPS, &format!("#include \"h.pto\"\n{}", units::KERNELS.replace("+ inc,", "+ MORE,")));
    std::fs::write(case.path("h.pto"), "const int32_t MORE = 2;\n").unwrap();
    let stopped = case.run(&["--event", "E"]);
    assert!(stopped.said.contains("WSP1555"), "{}", stopped.said);
    std::fs::write(case.path("h.pto"), "const int32_t MORE = 3;\n").unwrap();
    case.refused(&[], "the code of kernel `addp`");
    std::fs::write(case.path("h.pto"), "const int32_t MORE = 2; // two\n").unwrap();
    assert_eq!(case.resumed(&BOTH), case.whole(&BOTH));
}

/// A launch keeps its partition, and an event that was signalled stays signalled.
#[test]
fn partitions_and_events_outlast_a_kill() {
    let unit = TWO_STOPS
        .replace("TG_BEGIN", "CA_PARTITION(P, 0, 1, 0, 1)\nTG_BEGIN")
        .replace("addp, 1,", "addp, 6,")
        .replace("(G, default)", "(G, default, P)");
    let case = Case::new(&unit, units::KERNELS);
    assert!(!case.run(&["--hints", "--event", "E"]).ok);
    let trace = case.path("t.json");
    case.resumed(&["--hints", "--event", "F", "--trace", trace.to_str().unwrap()]);
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(trace.contains("\"granted\":[0,1,0]"), "{trace}");
    assert_eq!(
        trace.matches("\"granted\":").count(),
        trace.matches("\"granted\":[0,1,0]").count(),
        "{trace}"
    );
}

#[test]
fn a_checkpoint_that_no_run_can_be_resumed_from_is_named_and_passed_over() {
    let kernel = "  TG_KERNEL(K, step, 1, AIV, 0)\n  MC_BIND(K, 0, TENSOR)\n";
    let graph = |name: &str, tensor: &str, rest: &str| {
        format!("TG_BEGIN({name})\n{}{rest}TG_END({name})\n", kernel.replace("TENSOR", tensor))
    };
    let unit = [
        "use \"k.pto\"\nextern A: i32[64]\nextern B: i32[64]\nextern Y: i32[64]\nextern event F\n",
        &graph("FIRST", "A", "  TG_CHECKPOINT(FIRST, 1)\n"),
        &graph("SIDE", "B", "  SY_WAIT(F, K)\n"),
        &graph("LAST", "Y", "  TG_CHECKPOINT(LAST, 2)\n"),
        "TG_LAUNCH(FIRST, default)\nTG_SYNC(FIRST)\nTG_LAUNCH(SIDE, 7)\nTG_LAUNCH(LAST, default)\nTG_SYNC(LAST)\nTG_SYNC(SIDE)\n",
    ];
    let case = Case::new(&unit.concat(), units::KERNELS);
    let stopped = case.run(&[]);
    assert!(
        !stopped.ok && stopped.said.contains("checkpoint 2 of graph `LAST`: another launch was in flight"),
        "{}",
        stopped.said
    );
    let resumed = case.run(&["--resume", "--event", "F"]);
    assert!(
        resumed.ok && resumed.said.contains("goes on from checkpoint 1 of graph `FIRST`"),
        "{}",
        resumed.said
    );
    assert_eq!(case.resumed(&["--event", "F"]), case.whole(&["--event", "F"]));
}

/// Of reading: without waiting.
#[cfg(target_os = "linux")]
const O_NONBLOCK: i32 = 0o4000;

/// The record is written into a pipe of which one byte is read, so that the run stands in the middle of it.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_while_a_record_is_written_leaves_no_part_of_it() {
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let unit = "extern X: f32[262144]\nextern Y: f32[262144]\nTG_BEGIN(G)\nMC_COPY(X, Y, 1048576)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 0)\n";
    let case = Case::new(unit, "");
    let partial = case.path("ck/device0-graph0-0.checkpoint.partial");
    std::fs::create_dir(case.path("ck")).unwrap();
    assert!(Command::new("mkfifo").arg(&partial).status().unwrap().success());
    let mut pipe = std::fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&partial).unwrap();
    let mut command = case.command(true, &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !matches!(pipe.read(&mut [0]), Ok(1)) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!partial.exists());
}

#[test]
fn a_folder_for_the_checkpoints_of_a_unit_that_has_none_is_refused() {
    let unit: String = TWO_STOPS
        .lines()
        .filter(|line| !line.contains("CHECKPOINT"))
        .map(|line| format!("{line}\n"))
        .collect();
    let case = Case::new(&unit, units::KERNELS);
    let ran = case.run(&[&BOTH[..], &["--resume"]].concat());
    assert!(!ran.ok && ran.said.contains("WSP1598") && ran.said.contains("nothing is kept"), "{}", ran.said);
    assert!(!case.path("ck").exists());
}

#[test]
fn a_run_that_finds_no_checkpoint_says_that_it_begins_anew() {
    let case = Case::new(TWO_STOPS, units::KERNELS);
    let resumed = [&BOTH[..], &["--resume"]].concat();
    let ran = case.run(&resumed);
    assert!(
        ran.ok && ran.said.contains("WSP1595") && ran.said.contains("the run begins anew"),
        "{}",
        ran.said
    );
    let again = case.run(&resumed);
    assert!(again.ok && !again.said.contains("begins anew"), "{}", again.said);
    std::fs::remove_dir_all(case.path("ck")).unwrap();
    std::fs::create_dir(case.path("ck")).unwrap();
    assert!(Command::new("mkfifo").arg(case.path("ck/run.start")).status().unwrap().success());
    let ran = case.run(&resumed);
    assert!(!ran.ok && ran.said.contains("is not a regular file"), "{}", ran.said);
}

/// What came of random units.
#[derive(Debug, Default)]
struct Tally {
    units: u64,
    killed: u64,
    /// Other inputs, parameters, values or kernels: refused.
    refused: u64,
    /// Units that are refused themselves, and not counted.
    invalid: u64,
}

/// Random units, killed at random moments and after random records, and resumed: with what they had, they give the result of a run
/// that was not killed, bit for bit; with anything else they are refused.
#[test]
fn random_units_that_are_killed_give_the_uninterrupted_result_or_refuse_what_differs() {
    let mut tally = Tally::default();
    let first: u64 = std::env::var("WSP_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in first.. {
        if tally.units == cases(6) {
            break;
        }
        kill_random_unit(seed, &mut tally);
    }
    println!("{tally:?}");
}

fn kill_random_unit(seed: u64, tally: &mut Tally) {
    let mut draws = units::Draws::new(seed);
    let case = Case::new(&units::unit(&mut draws), units::KERNELS);
    let at = draws.below(100).to_string();
    let own = ["--no-check", "--set", "inc=7", "--seed", &at];
    let start = Instant::now();
    let whole = case.path("whole.npz");
    let mut command = case.command(false, &own);
    let ended = Case::ended({
        command.arg("--outputs").arg(&whole);
        command
    });
    let time = start.elapsed();
    if !ended.ok {
        tally.invalid += 1;
        assert!(tally.invalid < 20 + tally.units, "seed {seed}: {}", ended.said);
        return;
    }
    tally.units += 1;
    let expected = std::fs::read(&whole).unwrap();
    let unit = || std::fs::read_to_string(case.path("unit.tg")).unwrap();
    if draws.below(4) == 0 {
        // Another run was here before.
        case.run(&["--no-check", "--set", "inc=9", "--seed", "101"]);
    }
    let start_of = || case.records().into_iter().find(|(name, _)| name == "run.start");
    let foreign = start_of();
    for attempt in 0..1 + draws.below(2) {
        let more: &[&str] = if attempt > 0 { &["--resume"] } else { &[] };
        let mut command = case.command(true, &[&own[..], more].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (before, after) = (case.records(), draws.below(12) as usize);
        let moment = (draws.below(2) == 0).then(|| time.mul_f64(draws.below(1000) as f64 / 800.0));
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        let mut seen = before.clone();
        // How long this takes decides where the run is killed, and nothing else.
        loop {
            let is_time = match moment {
                Some(moment) => start.elapsed() >= moment,
                None => {
                    seen.extend(case.records());
                    seen.len() - before.len() > after
                }
            };
            if is_time || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::yield_now();
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            tally.killed += 1;
        }
        child.wait().unwrap();
    }
    let is_own = start_of() != foreign;
    if is_own {
        let other: &[&str] = match draws.below(4) {
            0 => &["--no-check", "--set", "inc=7", "--seed", "102"],
            1 => &["--no-check", "--set", "inc=8", "--seed", &at],
            2 => &["--no-check", "--set", "inc=7", "--seed", &at, "--set", "N=4"],
            _ => {
                std::fs::write(
                    case.path("k.pto"),
                    units::KERNELS
                        .replace("* 3 + 1", "* 3 + 2")
                        .replace("+ 1,", "+ 2,")
                        .replace("+ inc,", "- inc,")
                        .replace("{i})) % 10007", "{i})) % 10009"),
                )
                .unwrap();
                &own
            }
        };
        let ended = case.run(&[other, &["--resume"]].concat());
        assert!(
            !ended.ok && ended.said.contains("WSP1560"),
            "seed {seed}, {other:?}: {}\n{}",
            ended.said,
            unit()
        );
        std::fs::write(case.path("k.pto"), units::KERNELS).unwrap();
        tally.refused += 1;
    }
    if !is_own && foreign.is_some() {
        // It was killed before it had begun: the run of the other is there.
        case.refused(&own, "`inc` of the kernels: was 9, is 7");
        tally.refused += 1;
        return;
    }
    let path = case.path("resumed.npz");
    let mut command = case.command(true, &[&own[..], &["--resume"]].concat());
    let ended = Case::ended({
        command.arg("--outputs").arg(&path);
        command
    });
    assert!(ended.ok, "seed {seed}: {}\n{}", ended.said, unit());
    assert!(std::fs::read(&path).unwrap() == expected, "seed {seed} gave another result:\n{}", unit());
}
