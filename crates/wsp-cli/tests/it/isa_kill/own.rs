//! A run goes on from its own checkpoints, and from those of no other.

use super::*;

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
    let unit =
        TWO_STOPS.replace(launch, &format!("CF_IF(device == 0)\nCF_IF(N > 0)\n{launch}CF_ENDIF\nCF_ENDIF\n"));
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
