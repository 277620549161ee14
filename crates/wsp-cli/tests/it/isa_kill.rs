//! Runs of task graphs that are killed and go on from their last checkpoint.

mod own;
mod units;

use crate::randomised::cases;
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
    let mut command = Command::new(crate::command::program());
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
        let mut command = Command::new(crate::command::program());
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

/// Whether a unit reads one of its parameters: another value of one that nothing reads is refused before there is anything to compare.
fn reads(unit: &str, parameter: &str) -> bool {
    let words =
        |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == parameter);
    unit.lines().any(|line| !line.starts_with("arg ") && words(line))
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
    if !unit().contains("TG_CHECKPOINT(") {
        let ended = case.run(&[&own[..], &["--resume"]].concat());
        assert!(!ended.ok && ended.said.contains("WSP1598"), "seed {seed}: {}\n{}", ended.said, unit());
        tally.refused += 1;
        return;
    }
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
        let other: &[&str] = match draws.below(5) {
            3 => &["--no-check", "--set", "inc=7", "--seed", &at, "--isa", "plain"],
            0 => &["--no-check", "--set", "inc=7", "--seed", "102"],
            1 => &["--no-check", "--set", "inc=8", "--seed", &at],
            2 if reads(&unit(), "N") => &["--no-check", "--set", "inc=7", "--seed", &at, "--set", "N=4"],
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
