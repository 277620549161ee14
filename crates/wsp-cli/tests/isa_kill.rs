//! Runs of task graphs that are killed and go on from their last checkpoint.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and makes its own files"
)]

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

/// Fifty runs of the thousand steps: `cargo test --release -p wsp-cli --test isa_kill -- --ignored`.
#[test]
#[ignore = "a quarter of a minute; the suite repeats a few kills"]
fn fifty_of_fifty_killed_runs_give_the_uninterrupted_result() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/thousand_steps.tg");
    let killed = kill_and_resume(&unit, 50);
    assert!(killed >= 50, "only {killed} of 100 runs were killed before they were complete");
}
