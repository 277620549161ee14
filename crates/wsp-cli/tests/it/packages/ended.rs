//! What a run of a package leaves that a signal ends, or that is killed.

use crate::command::{Folder, wsp};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// Makes programs that say that they run, wait for a word, and say that they have it.
const COMPILER: &str = "#!/bin/sh
[ \"$1\" = --version ] && echo one && exit
for word in \"$@\"; do last=$word; done
case \"$last\" in
    *.cpp) touch \"$(basename \"$last\" .cpp).o\" ;;
    *) printf '#!/bin/sh\\nexec 9> FOLDER/said 8<> FOLDER/words\\necho runs >&9\\nread word <&8\\necho $word >&9\\n' > \"$last\"; chmod +x \"$last\" ;;
esac
";

/// A run of a package whose program waits, and what that says.
struct Waiting {
    run: u32,
    /// It says that the run has ended, where the program may have said something before.
    ended: JoinHandle<()>,
    said: BufReader<std::fs::File>,
}

fn start(folder: &Folder) -> Waiting {
    let path = folder.path("said");
    // Open for both it is opened without another process.
    let mut saying = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut said = BufReader::new(std::fs::File::open(&path).unwrap());
    let mut command = command(folder);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let id = run.id();
    let ended = std::thread::spawn(move || {
        run.wait().unwrap();
        saying.write_all(b"ended\n").unwrap();
    });
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "runs\n");
    Waiting { run: id, ended, said }
}

fn command(folder: &Folder) -> Command {
    let plain =
        wsp(&["run", "examples/row_softmax.pto", "--target", "ascend_host", "--generate", "", "--no-check"]);
    // Signals that whatever started the tests ignores would be ignored by the run, too.
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(plain.get_program()).args(plain.get_args());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(at) = plain.get_current_dir() {
        command.current_dir(at);
    }
    command.env("XDG_CACHE_HOME", folder.path("")).env("CXX", folder.path("compiler"));
    command
}

/// Folders of the cache in which a process works, or has worked.
fn partial(folder: &Folder) -> usize {
    let all = std::fs::read_dir(folder.path("pto-wsp/packages")).unwrap();
    all.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("partial-")).count()
}

#[test]
fn a_program_of_a_package_ends_with_its_run() {
    let folder = Folder::with(&[]);
    let text = COMPILER.replace("FOLDER", &folder.at(""));
    std::fs::write(folder.path("compiler"), text).unwrap();
    std::fs::set_permissions(folder.path("compiler"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let made = |name: &str| {
        let _ = std::fs::remove_file(folder.path(name));
        assert!(Command::new("mkfifo").arg(folder.path(name)).status().unwrap().success());
    };
    made("said");
    // A new one each time, as a program may have taken the word when it is killed. Both ends are open, so that none waits for the other.
    let words = || {
        made("words");
        std::fs::File::options().read(true).write(true).open(folder.path("words")).unwrap()
    };
    for (signal, left) in [
        ("TERM", 0),
        ("HUP", 0),
        ("INT", 0),
        ("QUIT", 0),
        ("USR1", 0),
        ("USR2", 0),
        ("ALRM", 0),
        ("XCPU", 0),
        ("KILL", 1),
        ("TERM", 0),
    ] {
        let mut words = words();
        let Waiting { run, ended, mut said } = start(&folder);
        let kill = format!("kill -{signal} {run}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        ended.join().unwrap();
        assert_eq!(partial(&folder), left, "{signal}");
        words.write_all(b"alive\n").unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "ended\n", "{signal}: the program goes on");
    }
    // What is left of one that was killed goes with the next run, whatever becomes of that.
    let objects = folder.path("pto-wsp/packages/objects/partial-999999-0");
    std::fs::create_dir_all(objects.join(".wsp-files")).unwrap();
    let mut words = words();
    let Waiting { ended, said: _said, .. } = start(&folder);
    words.write_all(b"end\n").unwrap();
    ended.join().unwrap();
    assert_eq!(partial(&folder), 0);
    assert!(!objects.exists());
}

/// Makes programs that fail without a word.
const OF_FAILURES: &str = "#!/bin/sh
[ \"$1\" = --version ] && echo one && exit
for word in \"$@\"; do last=$word; done
case \"$last\" in
    *.cpp) touch \"$(basename \"$last\" .cpp).o\" ;;
    *) printf '#!/bin/sh\\nexit 3\\n' > run; chmod +x run ;;
esac
";

/// The compiler's path is one from the working folder, which is not the one that it works in.
#[test]
fn a_run_that_fails_says_that_its_program_was_damaged() {
    let folder = Folder::with(&[("compiler", OF_FAILURES)]);
    std::fs::set_permissions(folder.path("compiler"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = crate::command::root().join("examples/row_softmax.pto").canonicalize().unwrap();
    let file = file.to_str().unwrap();
    let fails = || {
        let mut command = wsp(&["run", file, "--target", "ascend_host", "--generate", "", "--no-check"]);
        command
            .current_dir(folder.path(""))
            .env("XDG_CACHE_HOME", folder.path("cache"))
            .env("CXX", "./compiler");
        let (code, _, err) = crate::command::ended(command);
        assert!(code == 1 && err.contains("the package ends with exit status: 3"), "{err}");
        assert!(err.lines().all(|line| line.trim() != "= note:"), "{err}");
        err
    };
    let is_told = |err: String| err.contains("is not as it was built, and is built anew");
    assert!(!is_told(fails()));
    for path in super::built(&folder) {
        std::fs::write(path.join("run"), "damaged").unwrap();
    }
    assert!(is_told(fails()));
    assert!(!is_told(fails()));
}

/// What is built of each expansion is what `wsp emit` writes of it, of which other tests look at what it computes.
#[test]
fn a_run_builds_the_package_that_is_emitted_of_its_expansion() {
    let folder = Folder::with(&[("compiler", OF_FAILURES), ("lib.a", "")]);
    std::fs::set_permissions(folder.path("compiler"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let sources = ["orchestration.cpp", "aicore_dispatch.cpp", "main.cpp"];
    let of = |package: &std::path::Path| sources.map(|file| std::fs::read(package.join(file)).unwrap());
    let mut all = std::collections::BTreeSet::new();
    for expand in ["loops", "table", "bytecode"] {
        let shared = ["examples/pipelines/softmax.wsp", "--generate", "", "--expand", expand];
        let mut command = wsp(&[&["run"], &shared[..], &["--target", "ascend_host", "--no-check"]].concat());
        let cache = folder.path(&format!("{expand}_cache"));
        command.env("XDG_CACHE_HOME", &cache).env("CXX", folder.path("compiler"));
        command.env("WSP_DEVICE_LIB", folder.path("lib.a"));
        let (code, _, err) = crate::command::ended(command);
        assert!(code == 1 && err.contains("the package ends with exit status: 3"), "{expand}: {err}");
        let is_package = |path: &std::path::PathBuf| path.join("main.cpp").exists();
        let kept = std::fs::read_dir(cache.join("pto-wsp/packages")).unwrap();
        let kept: Vec<_> = kept.map(|entry| entry.unwrap().path()).filter(is_package).collect();
        let [kept] = &kept[..] else { panic!("{expand}: {kept:?}") };
        let (to, target) = (folder.at(expand), "a2");
        let (code, _, err) =
            crate::command::run(&[&["emit"], &shared[..], &["--target", target, "-o", &to]].concat());
        assert_eq!(code, 0, "{expand}: {err}");
        assert!(of(kept) == of(&folder.path(expand)), "{expand}");
        all.insert(of(kept));
    }
    assert_eq!(all.len(), 3, "expansions differ");
}

const VALUE: &str = "
PTO_SHAPE(x, rows, 16)
PTO_SHAPE(y, rows, 16)
PTO_PARAM(uint32_t, first, 0)
PTO_SPACE(Rows) { PTO_AXIS(row, 0, rows) }
struct A { uint32_t row; };
PTO_DESCRIPTOR_GEN(Rows) {
    PTO_SCHEDULED_FOR(row) { if (row >= first) { PTO_EMIT_DESCRIPTOR(A{ .row = row }); } }
}
PTO_KERNEL_IMPL(copy) {
    auto desc = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 16> t; TLOAD(t, x, {desc.row, 0}); TSTORE(y, t, {desc.row, 0});
}
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Rows, { .x = x, .y = y }); }
";

/// A value that is set for a program with a generator is in the text of its package.
#[test]
fn values_of_a_generator_have_a_package_each() {
    let folder = Folder::with(&[("compiler", OF_FAILURES), ("part.pto", VALUE)]);
    std::fs::set_permissions(folder.path("compiler"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (first, packages) in [("first=0", 1), ("first=2", 2), ("first=0", 2)] {
        let file = folder.at("part.pto");
        let args = ["run", &file, "--target", "ascend_host", "--generate", "rows=4", "--no-check"];
        let mut command = wsp(&[&args[..], &["--set", first]].concat());
        command.env("XDG_CACHE_HOME", folder.path("cache")).env("CXX", folder.path("compiler"));
        let (code, _, err) = crate::command::ended(command);
        assert!(code == 1 && err.contains("the package ends with exit status: 3"), "{first}: {err}");
        assert_eq!(super::built(&folder).len(), packages, "{first}");
    }
}
