//! Archives and arrays on disk: what is written is read back, and damage is a diagnostic.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use wsp_cli::files::{Npz, read_inputs, read_npy, read_source, take_bits_as_floats, write_npz};
use wsp_core::DType;
use wsp_plan::{Array, Arrays};

fn sample() -> Arrays {
    let mut arrays = Arrays::new();
    for dtype in DType::ALL {
        let mut array = Array::zeros(dtype, &[2, 3]).unwrap();
        for (i, b) in array.bytes_mut().iter_mut().enumerate() {
            *b = i as u8;
        }
        arrays.insert(format!("x.{dtype}"), array);
    }
    arrays.insert("scalar".to_owned(), Array::zeros(DType::F64, &[]).unwrap());
    arrays.insert("empty".to_owned(), Array::zeros(DType::F32, &[0, 7]).unwrap());
    arrays
}

fn all(_: &str) -> bool {
    true
}

fn messages(result: Result<Arrays, Vec<wsp_diag::Diagnostic>>) -> Vec<String> {
    result.unwrap_err().iter().map(|d| format!("{} {}", d.code, d.message)).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    let arrays = sample();
    write_npz(&path, &arrays).unwrap();
    let mut read = read_inputs(Some(&path), &[], &all).unwrap();
    assert_eq!(read["x.bf16"].dtype(), DType::U16);
    take_bits_as_floats(&mut read, ["x.bf16", "x.f8e4m3", "x.f32", "absent"]);
    assert_same(&arrays, &read);
}

fn assert_same(arrays: &Arrays, read: &Arrays) {
    assert_eq!(arrays.len(), read.len());
    for (name, array) in arrays {
        assert_eq!(array.shape(), read[name].shape(), "{name}");
        assert_eq!(array.bytes(), read[name].bytes(), "{name}");
        assert_eq!(array.dtype(), read[name].dtype(), "{name}");
    }
}

#[test]
fn what_emitted_packages_write_on_a_host_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/arrays/host.npz");
    let mut read = read_inputs(Some(&path), &[], &all).unwrap();
    take_bits_as_floats(&mut read, ["x.bf16", "x.f8e4m3"]);
    assert_same(&sample(), &read);
}

#[test]
fn only_wanted_entries_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    write_npz(&path, &sample()).unwrap();
    let read = read_inputs(Some(&path), &[], &|name| name == "empty").unwrap();
    assert_eq!(read.keys().collect::<Vec<_>>(), ["empty"]);
}

#[test]
fn every_fault_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("text.npy"), "not an array").unwrap();
    std::fs::write(at("real.npz"), "PK but no archive").unwrap();
    let single = |name: &str, file: &str| (name.to_owned(), at(file));
    let faults = messages(read_inputs(
        Some(&at("real.npz")),
        &[single("a", "text.npy"), single("b", "txet.npy"), single("c", ""), single("a", "text.npy")],
        &all,
    ));
    let shown = |name: &str| at(name).display().to_string();
    assert_eq!(
        faults,
        [
            "WSP0510 array `a` is given twice".to_owned(),
            format!("WSP0502 `{}` is not a whole `.npz` archive", shown("real.npz")),
            format!("WSP0504 `{}` is not in numpy's `.npy` format", shown("text.npy")),
            format!("WSP0500 there is no file `{}`", shown("txet.npy")),
            format!("WSP0501 `{}` is a directory", shown("")),
            format!("WSP0504 `{}` is not in numpy's `.npy` format", shown("text.npy")),
        ]
    );
    let help = read_npy(&at("txet.npy")).unwrap_err().help;
    assert_eq!(help, [format!("did you mean `{}`?", shown("text.npy"))]);
}

#[test]
fn every_cut_or_flipped_byte_of_an_archive_is_a_diagnostic_or_reads_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    let mut arrays = sample();
    arrays.retain(|name, _| name == "x.f32");
    write_npz(&path, &arrays).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let damaged = dir.path().join("b.npz");
    for end in 0..whole.len() {
        std::fs::write(&damaged, &whole[..end]).unwrap();
        assert!(read_inputs(Some(&damaged), &[], &all).is_err(), "cut at {end}");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        std::fs::write(&damaged, &bytes).unwrap();
        if let Ok(read) = read_inputs(Some(&damaged), &[], &all)
            && let Some(array) = read.get("x.f32")
        {
            assert_eq!(array.bytes(), arrays["x.f32"].bytes(), "flipped at {at}");
        }
    }
}

#[test]
fn archives_of_numpy_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/decode_cases/01_mha_basic.npz");
    let mut npz = Npz::open(&path).unwrap();
    assert_eq!(npz.read("kv_lens").unwrap().as_slice::<i32>().unwrap(), [1, 17, 128]);
    assert_eq!(npz.text("meta_dtype").unwrap(), "f16");
    let fault = npz.read("kv_len").unwrap_err();
    assert_eq!(fault.help, ["did you mean `kv_lens`?"]);
    assert!(npz.read("meta_dtype").unwrap_err().message.contains("`U3`"));
}

/// An archive of these arrays with other names of entries: `from` is as long as `to`.
fn renamed(path: &Path, names: [&str; 2], from: &str, to: &str) {
    let array = |value: f32| {
        let mut array = Array::zeros(DType::F32, &[1]).unwrap();
        array.as_slice_mut::<f32>().unwrap().fill(value);
        array
    };
    let arrays = [(names[0].to_owned(), array(1.0)), (names[1].to_owned(), array(2.0))].into();
    write_npz(path, &arrays).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn an_entry_without_the_ending_is_an_array_as_for_numpy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    renamed(&path, ["a", "b"], "b.npy", "b_npy");
    let mut npz = Npz::open(&path).unwrap();
    assert_eq!(npz.names(), ["a", "b_npy"]);
    assert_eq!(npz.read("b_npy").unwrap().as_slice::<f32>().unwrap(), [2.0]);
    assert_eq!(npz.read("a").unwrap().as_slice::<f32>().unwrap(), [1.0]);
}

#[test]
fn two_entries_of_one_name_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    renamed(&path, ["a", "b"], "b.npy", "a.npy");
    let faults = messages(read_inputs(Some(&path), &[], &all));
    assert_eq!(faults, [format!("WSP0510 `{}` holds 2 arrays `a`", path.display())]);
}

#[test]
fn source_must_be_text_of_moderate_length() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pto");
    std::fs::write(&path, b"ok\nb\xffd").unwrap();
    let fault = read_source(&path).unwrap_err();
    assert_eq!(fault.notes, ["byte 4, in line 2, belongs to no character"]);
    std::fs::write(&path, vec![b' '; (4 << 20) + 1]).unwrap();
    assert!(read_source(&path).unwrap_err().message.ends_with("is too long for a source file"));
    std::fs::write(&path, "fine").unwrap();
    assert_eq!(read_source(&path).unwrap(), "fine");
}

/// Far more iterations than anybody waits for, none of which generates a task.
const ENDLESS: &str = "param n = 4000000; kernel k(); workload main {
    parallel for i in 0..n { parallel for j in 0..n { if i * j < 0 { k(); } } } }";

/// One task that writes a tensor of 64 KiB.
const SMALL: &str =
    "tensor x: u32[4]; tensor y: u32[16384]; kernel k(in a, out b); workload main { k(x, y); }";

/// A folder with these workloads, and a program run in it: exit code, standard output, standard error.
struct Workplace(tempfile::TempDir);

impl Workplace {
    fn new() -> Workplace {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("endless.wsp"), ENDLESS).unwrap();
        std::fs::write(dir.path().join("small.wsp"), SMALL).unwrap();
        Workplace(dir)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, mut command: Command) -> (i32, String, String) {
        let output = command.current_dir(self.0.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn wsp(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(crate::command::program());
        command.args(args);
        self.run(command)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn paths_of_outputs_are_tried_before_the_work() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let before = place.names();
    for (options, part) in [
        (&["--outputs", "none/o.npz"][..], "mkdir -p none"),
        (&["--outputs", "folder"], "is a directory"),
        (&["--outputs", "new/"], "is a directory"),
        (&["--outputs", "small.wsp/o.npz"], "Not a directory"),
        (&["--outputs", "-"], "standard output"),
        (&["--outputs", "o.npy"], "o.npz"),
        (&["--outputs", "pipe"], "is a pipe"),
        (&["--outputs", "endless.wsp"], "overwritten"),
        (&["--trace", "none/t.json"], "mkdir -p none"),
        (&["--trace", "-"], "standard output"),
        (&["--trace", "t.txt"], "`t.pftrace` or `t.json`"),
        (&["--trace", "trace"], "no extension"),
        (&["--trace", "folder"], "is a directory"),
        (&["--outputs", "o.npz", "--trace", "o.npz"], "both go to `o.npz`"),
    ] {
        let (code, out, err) = place.wsp(&[&["run", "endless.wsp"], options].concat());
        assert_eq!((code, out.as_str()), (1, ""), "{options:?}: {err}");
        assert!(err.contains(part), "{options:?}: {err}");
    }
    let (code, out, err) = place.wsp(&["graph", "endless.wsp", "--dot", "none/g.dot"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("mkdir -p none"), "{err}");
    assert_eq!(place.names(), before);
}

#[test]
fn what_is_assembled_never_replaces_a_kernel_file_or_a_workload() {
    let place = Workplace::new();
    for name in ["kernels.pto", "other.wsp", "x.npy"] {
        std::fs::write(place.path(name), "kept").unwrap();
        for command in ["asm", "disasm"] {
            let (code, out, err) = place.wsp(&[command, "small.wsp", "-o", name]);
            assert_eq!((code, out.as_str()), (1, ""), "{command} {name}: {err}");
            let instead = if command == "asm" { ".ptow`" } else { ".ptows`" };
            assert!(err.contains(name) && err.contains(instead), "{command} {name}: {err}");
        }
        assert_eq!(std::fs::read_to_string(place.path(name)).unwrap(), "kept");
    }
    let (code, _, err) = place.wsp(&["asm", "small.wsp", "-o", "small.ptow"]);
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn an_output_goes_through_a_link_to_the_file_that_it_names() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("folder")).unwrap();
    for (link, to) in [("there.npz", "folder/a.npz"), ("dangling.npz", "folder/b.npz")] {
        if link == "there.npz" {
            std::fs::write(place.path(to), "before").unwrap();
        }
        std::os::unix::fs::symlink(to, place.path(link)).unwrap();
        let (code, out, err) = place.wsp(&["run", "small.wsp", "--outputs", link]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        assert!(place.path(link).is_symlink(), "{link}");
        assert!(Npz::open(&place.path(to)).unwrap().read("y").is_ok(), "{to}");
    }
    assert_eq!(std::fs::read_dir(place.path("folder")).unwrap().count(), 2);
}

#[test]
fn a_limit_on_file_sizes_leaves_no_part_of_a_file() {
    let place = Workplace::new();
    std::fs::write(place.path("o.npz"), "before").unwrap();
    let before = place.names();
    let mut command = Command::new("sh");
    let wsp = crate::command::program();
    command.args(["-c", "ulimit -f 8; exec \"$0\" run small.wsp --outputs o.npz"]).arg(wsp);
    let (code, _, err) = place.run(command);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("WSP0509") && err.contains("`o.npz` cannot be written"), "{err}");
    assert_eq!(place.names(), before);
    assert_eq!(std::fs::read_to_string(place.path("o.npz")).unwrap(), "before");
}

#[test]
fn a_checkpoint_that_does_not_fit_leaves_no_part_of_a_record() {
    let place = Workplace::new();
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/thousand_steps.tg");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 8; exec \"$0\" run \"$1\" --no-check --checkpoints ck"]);
    command.arg(crate::command::program()).arg(unit);
    let (code, _, err) = place.run(command);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("WSP1561"), "{err}");
    let kept = std::fs::read_dir(place.path("ck")).unwrap().map(|file| file.unwrap().file_name());
    let kept: Vec<_> = kept.filter(|name| name.to_string_lossy().ends_with(".partial")).collect();
    assert!(kept.is_empty(), "{kept:?}");
}

/// One of the masks of signals of a process, by its name in `/proc`.
#[cfg(target_os = "linux")]
fn mask(process: u32, which: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':'));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The program with signals heeded, also where these tests run with some ignored, as in the background of a script.
#[cfg(target_os = "linux")]
fn heedful(args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", crate::command::program()]).args(args);
    command
}

/// Sends a signal to a program once a thread of it waits for signals, and waits for its end.
#[cfg(target_os = "linux")]
fn signalled(mut child: std::process::Child, signal: &str) -> Option<i32> {
    while mask(child.id(), "SigBlk") & 2 == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait().unwrap().code()
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_run_with_its_own_status_and_nothing_is_written() {
    let place = Workplace::new();
    let before = place.names();
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let mut command = heedful(&["run", "endless.wsp", "--outputs", "o.npz", "--trace", "t.json"]);
        command.current_dir(place.0.path()).stdout(Stdio::null()).stderr(Stdio::null());
        assert_eq!(signalled(command.spawn().unwrap(), signal), Some(status), "{signal}");
        assert_eq!(place.names(), before, "{signal}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_run_whose_messages_are_not_read() {
    let place = Workplace::new();
    // More than a pipe holds: forty outputs with long names, of which a half is never written.
    let names: Vec<String> = (0..40).map(|i| format!("y{i}_{}", "y".repeat(3000))).collect();
    let tensors: String = names.iter().map(|name| format!("tensor {name}: u32[2];")).collect();
    let tasks: String = names.iter().map(|name| format!("k({name}[0]);")).collect();
    let text = format!("{tensors} kernel k(out y); workload main {{ {tasks} }}");
    std::fs::write(place.path("half.wsp"), text).unwrap();
    let before = place.names();
    let mut command = heedful(&["run", "half.wsp", "--outputs", "o.npz"]);
    command.current_dir(place.0.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut messages = child.stderr.take().unwrap();
    messages.read_exact(&mut [0u8; 1]).unwrap();
    // Outputs have their names after the messages, so that a signal still ends the run with nothing written.
    assert!(!place.path("o.npz").exists());
    assert_eq!(signalled(child, "-INT"), Some(130));
    assert_eq!(place.names(), before);
    drop(messages);
}

#[test]
fn standard_output_takes_no_outputs_by_another_name() {
    let place = Workplace::new();
    for (option, to) in
        [("--outputs", "> f"), ("--trace", "> f"), ("--outputs", ">> f"), ("--trace", "| cat")]
    {
        let mut command = Command::new("sh");
        let script = format!("\"$0\" run small.wsp {option} /dev/stdout {to}");
        command.args(["-c", &script]).arg(crate::command::program());
        let (_, out, err) = place.run(command);
        assert!(
            err.contains("`/dev/stdout` is standard output, which has the summary"),
            "{option} {to}: {err}"
        );
        assert_eq!(out, "", "{option} {to}");
        assert!(std::fs::read(place.path("f")).is_ok_and(|bytes| bytes.is_empty()), "{option} {to}");
    }
    // A device that keeps nothing takes both.
    let mut command = Command::new("sh");
    let script = "\"$0\" run small.wsp --outputs /dev/null > /dev/null";
    command.args(["-c", script]).arg(crate::command::program());
    let (code, _, err) = place.run(command);
    assert_eq!((code, err.as_str()), (0, ""));
}
