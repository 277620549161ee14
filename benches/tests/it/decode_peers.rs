//! `cargo xtask bench decode --peers` from outside, with peers made up for the purpose.

use serde_json::Value;
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A peer that finds its arrays, and takes a second for each run.
const STEADY: &str = r#"
import json, os, sys
assert sorted(os.listdir(sys.argv[1])) == sorted(["numpy.log", "problem.json"] + [
    name + ".npy" for name in ("q", "k", "v", "indptr", "indices", "lengths", "expected")])
sizes = json.load(open(os.path.join(sys.argv[1], "problem.json")))
assert (sizes["dtype"], sizes["layout"], sizes["kv_heads"], sys.argv[2]) == ("bf16", "HND", 8, "1"), sizes
forms = [{"name": "slow", "error": 1e-7}, {"name": "fast", "error": 1e-3}, {"name": "wrong", "error": 1.0}]
print(json.dumps({"version": "1.0", "forms": forms}), flush=True)
for line in sys.stdin:
    print(json.dumps({"wall_ms": [1e5, 5e4, 1.0][int(line)], "cpu_ms": 7.0}), flush=True)
"#;

/// A peer that is ready, says its number when it is to run, and then computes for ever, heedless of signals that can be heeded.
const ENDLESS: &str = r#"
import os, signal, socket, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('{"version": "1.0", "forms": [{"name": "only", "error": 0.0}]}', flush=True)
sys.stdin.readline()
with socket.socket(socket.AF_UNIX) as test:
    test.connect(os.environ["PEER_STARTED"])
    test.sendall(str(os.getpid()).encode())
while True:
    time.sleep(60)
"#;

/// A folder of peers, one of which is this program, and an empty one for temporary files.
struct Field {
    dir: TempDir,
}

impl Field {
    fn with(numpy: &str) -> Field {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["peers", "temporary"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("peers/common.py"), "").unwrap();
        std::fs::write(dir.path().join("peers/numpy_peer.py"), numpy).unwrap();
        Field { dir }
    }

    fn command(&self) -> Command {
        // Interrupts are heeded, also where these tests run with them ignored, as in the background of a script.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_wsp-bench")]);
        command.current_dir(self.dir.path()).env("TMPDIR", self.dir.path().join("temporary"));
        command.args(["decode", "--peers=peers", "--sets", "e", "--dtypes", "bf16"]);
        command.args(["--layouts", "hnd", "--threads", "1", "--repeats", "2", "--json", "out.json"]);
        command
    }

    fn run(&self) -> Output {
        self.command().output().unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.dir.path().join("out.json")).unwrap()).unwrap()
    }

    fn assert_tidy(&self) {
        let left: Vec<_> = std::fs::read_dir(self.dir.path().join("temporary")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_fastest_form_that_is_right_is_set_beside_ours() {
    let field = Field::with(STEADY);
    let output = field.run();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("50000.00 ("), "{printed}");
    assert!(printed.contains("numpy, fastest form: fast (1 of 1)"), "{printed}");
    let json = field.json();
    assert_eq!((json["clock"].as_str(), json["repeats"].as_u64()), (Some("wall"), Some(2)));
    assert!(json["isa"].is_string() && json["engine"].is_string(), "{json}");
    let row = &json["rows"][0];
    assert!(row["error"].as_f64().unwrap() < 1e-2, "{row}");
    for positive in ["ms", "cpu_ms", "floor_ms", "floor_cpu_ms", "ratio", "target"] {
        assert!(row[positive].as_f64().unwrap() > 0.0, "{positive}: {row}");
    }
    let peer = &row["peers"][0];
    assert_eq!((peer["name"].as_str(), peer["best"].as_str()), (Some("numpy"), Some("fast")));
    assert_eq!(peer["forms"].as_array().unwrap().len(), 3);
    assert!(peer["times_ours"].as_f64().unwrap() > 0.0, "{peer}");
    field.assert_tidy();
}

#[test]
fn absent_peers_are_left_out_and_say_what_to_type() {
    let field = Field::with(r#"print('{"missing": "the package", "install": "pip install it"}')"#);
    let output = field.run();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("numpy is left out: it needs the package; type `pip install it`"), "{printed}");
    assert!(printed.contains("torch is left out: there is no `peers/torch_peer.py`"), "{printed}");
    let json = field.json();
    assert_eq!(json["missing"].as_array().unwrap().len(), 4);
    assert_eq!(json["rows"][0]["peers"].as_array().unwrap().len(), 0);
}

#[test]
fn a_peer_that_prints_something_else_is_an_error_that_shows_it() {
    let ready = r#"print('{"version": "1", "forms": [{"name": "f", "error": 0.0}]}', flush=True)"#;
    for (program, shown) in [
        ("print('good morning')".to_owned(), vec!["numpy: it printed `good morning`"]),
        ("print('{\"forms\": []}')".to_owned(), vec!["numpy: it printed `{\"forms\": []}`"]),
        ("import does_not_exist".to_owned(), vec!["numpy: it ended before it was told to", "does_not_exist"]),
        (format!("{ready}\ninput()\nprint('{{\"wall_ms\": \"soon\"}}')"), vec!["`{\"wall_ms\": \"soon\"}`"]),
        (format!("{ready}\ninput()\nraise SystemExit('tired')"), vec!["it ended before", "tired"]),
    ] {
        let field = Field::with(&program);
        let output = field.run();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{program}: {message}");
        for part in ["WSP0541"].iter().chain(&shown) {
            assert!(message.contains(part), "{program}: {part} is not in {message}");
        }
        field.assert_tidy();
    }
}

#[test]
fn ctrl_c_ends_the_peers_and_takes_their_files_away() {
    let field = Field::with(ENDLESS);
    let started = field.dir.path().join("started");
    let listener = UnixListener::bind(&started).unwrap();
    let mut command = field.command();
    command.env("PEER_STARTED", &started).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut wsp = command.spawn().unwrap();
    let mut stdout = wsp.stdout.take().unwrap();
    // Whatever ends it before the peer is measured ends the wait as well: a connection that says nothing.
    std::thread::spawn(move || {
        stdout.read_to_end(&mut Vec::new()).unwrap();
        let _ = UnixStream::connect(started);
    });
    let mut peer = String::new();
    listener.accept().unwrap().0.read_to_string(&mut peer).unwrap();
    assert!(!peer.is_empty(), "it ended before the peer was measured");
    let sent = Command::new("kill").args(["-INT", &wsp.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(wsp.wait().unwrap().code(), Some(130));
    assert!(!runs(&peer), "the peer {peer} still runs");
    field.assert_tidy();
}

/// Whether there is a process with this number that has not ended.
fn runs(process: &str) -> bool {
    let probe = Command::new("kill").args(["-0", process]).stderr(Stdio::null()).status();
    probe.unwrap().success()
}

#[test]
fn a_folder_without_peers_is_refused() {
    let field = Field::with("");
    std::fs::remove_file(field.dir.path().join("peers/common.py")).unwrap();
    let output = field.run();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("WSP0500") && message.contains("has no common.py"), "{message}");
}

#[test]
fn installing_goes_with_measuring_and_says_when_it_fails() {
    let alone = Command::new(env!("CARGO_BIN_EXE_wsp-bench")).args(["decode", "--install"]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
    let field = Field::with("");
    std::fs::write(field.dir.path().join("peers/install.py"), "import sys; sys.exit(1)").unwrap();
    let output = field.command().arg("--install").output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("WSP0541") && message.contains("leave out `--install`"), "{message}");
}

/// The programs of the project itself, as far as the Python here can run them: each gives its lines or says what it lacks.
#[test]
fn each_peer_of_the_project_is_measured_or_says_what_it_lacks() {
    let field = Field::with("");
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/decode");
    let output = field.command().arg(format!("--peers={}", peers.display())).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "an option is given once");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wsp-bench"));
    command.current_dir(field.dir.path()).env("TMPDIR", field.dir.path().join("temporary"));
    command.args(["decode", "--sets", "e", "--dtypes", "f16", "--layouts", "nhd", "--threads", "1"]);
    command.args(["--repeats", "1", "--json", "out.json"]).arg(format!("--peers={}", peers.display()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json = field.json();
    let measured = json["rows"][0]["peers"].as_array().unwrap();
    assert_eq!(measured.len() + json["missing"].as_array().unwrap().len(), 4, "{json}");
    for form in measured.iter().flat_map(|peer| peer["forms"].as_array().unwrap()) {
        assert!(form["error"].as_f64().unwrap() < 1e-2, "{form}");
    }
}
