//! Packages that are built here, by a compiler that notes what it is given: what is kept of them for the next one.

#![expect(clippy::disallowed_methods, reason = "the tests look at what was built, and damage it")]

use pto_wsp::backend::Package;
use pto_wsp::backend::npu::{COMMON_SOURCES, HostBuilder, HostRunner as _, OWN_SOURCES};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use wsp_plan::Arrays;

/// Notes each file; what it makes of one is the words that it was given.
const COMPILER: &str = "#!/bin/sh
[ \"$1\" = --version ] && echo one && exit
for word in \"$@\"; do last=$word; done
case \"$last\" in
    *.cpp) echo \"$last\" >> \"$(dirname \"$0\")/compiled\"; last=$(basename \"$last\" .cpp).o ;;
esac
echo \"$@\" > \"$last\"
chmod +x \"$last\"
";

fn package(text: &str) -> Package {
    let sources = OWN_SOURCES.into_iter().chain(COMMON_SOURCES);
    let file = |source: &str| (PathBuf::from(format!("{source}.cpp")), Vec::new());
    let own = (PathBuf::from("kernels/k.cpp"), text.as_bytes().to_vec());
    let header = (PathBuf::from("include/h.hpp"), Vec::new());
    Package { files: sources.map(file).chain([own, header]).collect(), links_device: false }
}

/// Builds packages in a folder by a compiler of this name beside it.
fn builder(folder: &Path, name: &str, all: &Path) -> HostBuilder {
    let compiler = folder.join(name);
    fs::write(&compiler, COMPILER).expect("the folder can be written to");
    fs::set_permissions(&compiler, Permissions::from_mode(0o755)).expect("the file is there");
    HostBuilder { folder: Some(all.to_owned()), compiler: Some(compiler.into_os_string()) }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("the folder is there");
    all.map(|entry| entry.expect("it can be read").path()).collect()
}

/// How often what packages have in common was compiled: each of its files.
fn compiled(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("compiled")).expect("the compiler writes what it compiles");
    let of = |source: &str| text.lines().filter(|line| *line == format!("{source}.cpp")).count();
    let counts = COMMON_SOURCES.map(of);
    assert_eq!(counts, [counts[0]; COMMON_SOURCES.len()], "{text}");
    counts[0]
}

#[test]
fn what_packages_have_in_common_is_compiled_once_and_anew_where_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("packages");
    let builder = builder(folder.path(), "compiler", &all);
    let build = |key: &str| {
        let built = builder.build(key, "a2", &package(key)).unwrap();
        let objects = ["inputs.o", "run.o"].map(|file| fs::read(built.folder.join(file)).unwrap());
        (objects, compiled(folder.path()))
    };
    let (first, count) = build("first");
    assert_eq!(count, 1);
    assert_eq!(build("second"), (first.clone(), 1), "they are taken as they are");
    assert_eq!(build("first"), (first.clone(), 1), "nothing is compiled");
    // One of them is damaged, a build before was killed, and one goes on.
    let objects = all.join("objects");
    let entries = fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    let [kept] = &kept[..] else { panic!("{kept:?}") };
    fs::write(kept.join("run.o"), "damaged").unwrap();
    for name in ["partial-killed/.wsp-files", "partial-held/.wsp-files", "partial-mine"] {
        fs::create_dir_all(objects.join(name)).unwrap();
    }
    let held = File::open(objects.join("partial-held")).unwrap();
    held.lock().unwrap();
    assert_eq!(build("third"), (first.clone(), 2));
    assert_eq!(fs::read(kept.join("run.o")).unwrap(), first[1]);
    assert_eq!(build("fourth"), (first, 2));
    assert!(!objects.join("partial-killed").exists() && objects.join("partial-held").exists());
    assert!(objects.join("partial-mine").exists(), "it may be of the user");
}

/// Packages of different kinds have different headers.
#[test]
fn what_packages_have_in_common_is_what_its_sources_include() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("packages");
    let builder = builder(folder.path(), "compiler", &all);
    builder.build("first", "a2", &package("first")).unwrap();
    assert_eq!(compiled(folder.path()), 1);
    let mut other = package("other");
    other.files.push((PathBuf::from("include/more.hpp"), b"// of its own".to_vec()));
    builder.build("other", "a2", &other).unwrap();
    assert_eq!(compiled(folder.path()), 1, "it is not included");
    let mut other = package("header");
    let source = other.files.iter_mut().find(|(path, _)| path.ends_with("run.cpp")).unwrap();
    source.1 = b"#include <pto/a.hpp>".to_vec();
    other.files.push((PathBuf::from("host/pto/a.hpp"), b"  #include \"../../include/h.hpp\"".to_vec()));
    builder.build("header", "a2", &other).unwrap();
    assert_eq!(compiled(folder.path()), 2, "it is included");
    other
        .files
        .iter_mut()
        .filter(|(path, _)| path.ends_with("h.hpp"))
        .for_each(|(_, bytes)| bytes.push(b' '));
    builder.build("header2", "a2", &other).unwrap();
    assert_eq!(compiled(folder.path()), 3, "it is included by another");
}

#[test]
fn of_two_builds_at_once_one_compiles_what_they_have_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("packages");
    let builder = builder(folder.path(), "compiler", &all);
    std::thread::scope(|scope| {
        for key in ["first", "second", "third", "fourth"] {
            let builder = &builder;
            scope.spawn(move || builder.build(key, "a2", &package(key)).unwrap());
        }
    });
    assert_eq!(compiled(folder.path()), 1);
}

/// What another one compiles is not waited for, whatever that holds.
#[test]
fn a_build_waits_for_builds_by_its_own_compiler_alone() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("packages");
    let build = |name: &str| {
        builder(folder.path(), name, &all).build("key", "a2", &package("key")).unwrap();
    };
    build("first");
    let objects = all.join("objects");
    let entries = fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path());
    let held: Vec<File> = entries.chain([objects.clone()]).map(|path| File::open(path).unwrap()).collect();
    assert!(held.iter().all(|file| file.try_lock().is_ok()));
    build("second");
    assert_eq!(compiled(folder.path()), 2);
}

/// Others may write to nothing that is kept, whatever the umask: it would be refused.
#[test]
fn what_is_kept_is_of_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("cache/packages");
    let builder = builder(folder.path(), "compiler", &all);
    let built = builder.build("key", "a2", &package("key")).unwrap();
    let objects = all.join("objects");
    let entries = fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    assert_eq!(kept.len(), 1);
    for path in [folder.path().join("cache"), all, objects, built.folder].into_iter().chain(kept) {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", path.display());
    }
}

/// To open a pipe is to wait for what writes to it.
#[test]
fn a_package_that_is_not_as_it_was_built_is_built_anew_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("packages");
    let builder = builder(folder.path(), "compiler", &all);
    let build = || builder.build("key", "a2", &package("key")).unwrap();
    let built = build();
    assert!(built.notes.is_empty() && build().notes.is_empty());
    for (name, word) in [("run", "`run` is no regular file"), ("run.key", "`run.key` is no regular file")] {
        let path = built.folder.join(name);
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let [note] = &build().notes[..] else { panic!("{name} has no note") };
        assert!(note.message.contains("is built anew") && note.notes[0] == word, "{note:?}");
        assert!(build().notes.is_empty(), "{name}");
    }
    fs::write(built.folder.join("run"), "edited").unwrap();
    let [note] = &build().notes[..] else { panic!("an edit has no note") };
    assert_eq!(note.notes[0], "`run.key` does not fit");
}

/// Before anything is compiled, with what to remove.
#[test]
fn what_has_the_name_of_a_folder_of_the_cache_is_refused_first() {
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("packages");
    let builder = builder(folder.path(), "compiler", &all);
    let built = builder.build("key", "a2", &package("key")).unwrap();
    let objects = all.join("objects");
    let [kept] = &entries(&objects)[..] else { panic!("the lock is there, too: {:?}", entries(&objects)) };
    for taken in [&built.folder, kept, &objects, &all] {
        if taken != &built.folder {
            fs::remove_dir_all(&built.folder).unwrap();
        }
        for make in ["touch", "mkfifo", "ln -s nothing"] {
            fs::remove_dir_all(taken).or_else(|_| fs::remove_file(taken)).unwrap();
            let words: Vec<&str> = make.split(' ').collect();
            let made = std::process::Command::new(words[0]).args(&words[1..]).arg(taken).status();
            assert!(made.unwrap().success());
            fs::write(folder.path().join("compiled"), "").unwrap();
            let fault = builder.build("key", "a2", &package("key")).unwrap_err();
            let name = taken.display();
            assert!(fault.message.starts_with(&format!("`{name}` is no folder")), "{}", fault.message);
            assert_eq!(fault.help, [format!("remove it: `rm {name}`")]);
            assert_eq!(fs::read_to_string(folder.path().join("compiled")).unwrap(), "", "{name}, {make}");
        }
        fs::remove_file(taken).unwrap();
        builder.build("key", "a2", &package("key")).unwrap();
    }
}

/// What was built needs no writing there.
#[test]
fn a_package_runs_where_the_cache_takes_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let built = builder(folder.path(), "compiler", &folder.path().join("packages"));
    let built = built.build("key", "a2", &package("key")).unwrap();
    fs::write(built.folder.join("run"), "#!/bin/sh\necho \"$2\"\n").unwrap();
    // No rights allow to make a folder in a file.
    let all = folder.path().join("compiler/packages");
    let elsewhere = HostBuilder { folder: Some(all.clone()), compiler: None };
    let ran = elsewhere.run(&built, &Arrays::new(), &[]).unwrap();
    assert!(Path::new(ran.said.trim()).ends_with("inputs") && !Path::new(ran.said.trim()).exists());
    let fault = elsewhere.build("key", "a2", &package("key")).unwrap_err();
    assert!(fault.message.contains(&all.display().to_string()), "{}", fault.message);
    // As where the file system of the cache lets no program run: a program that is built anew would not run either.
    fs::set_permissions(built.folder.join("run"), Permissions::from_mode(0o644)).unwrap();
    let fault = elsewhere.run(&built, &Arrays::new(), &[]).err().unwrap();
    assert!(fault.help.join("").ends_with("in XDG_CACHE_HOME"), "{:?}", fault.help);
}

/// What is refused has a reason, whatever the compiler says.
#[test]
fn a_compiler_that_says_nothing_is_named_with_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, word) in
        [("false", "it ends with exit status: 1, without a message"), ("true", "has not written")]
    {
        let builder =
            HostBuilder { folder: Some(folder.path().join(compiler)), compiler: Some(compiler.into()) };
        let fault = builder.build("key", "a2", &package("")).unwrap_err();
        assert_eq!(fault.message, format!("`{compiler}` does not compile the package"));
        assert!(fault.notes.iter().any(|note| note.contains(word)), "{:?}", fault.notes);
    }
}
