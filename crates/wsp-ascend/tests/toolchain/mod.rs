//! The host's compiler, for tests that compile what is emitted.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use wsp_ascend::host;
use wsp_backend::ContentKey;

#[expect(clippy::disallowed_methods, reason = "a test writes what it compiles and reads")]
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for what is compiled");
    std::fs::write(path, contents).expect("a file that is compiled");
}

#[expect(clippy::disallowed_methods, reason = "a test takes the compiler that the user names")]
pub(crate) fn compiler() -> String {
    let named = std::env::var("CXX").ok().filter(|name| !name.is_empty());
    let known = ["c++", "g++", "clang++"].map(str::to_owned);
    let runs = |name: &String| Command::new(name).arg("--version").output().is_ok();
    named
        .into_iter()
        .chain(known)
        .find(runs)
        .expect("this test compiles C++: install g++ or clang++, or name a compiler in CXX")
}

/// One program of tests makes an object at a time.
static MAKES: Mutex<()> = Mutex::new(());

/// The code of instructions on a platform, to which what is compiled with `WSP_ONE_FILE` refers: compiled once for all programs of tests, and anew where
/// a header has changed. It is optimised: many runs take more time than their compilation.
#[allow(dead_code, reason = "not every program of tests runs kernels")]
pub(crate) fn instructions(platform: &str) -> PathBuf {
    let _one = MAKES.lock().unwrap_or_else(PoisonError::into_inner);
    let compiler = compiler();
    let version = Command::new(&compiler).arg("--version").output().expect("the compiler runs").stdout;
    let mut key = ContentKey::of(&version);
    for (path, text) in host::FILES.into_iter().chain(host::SOURCES) {
        key.add(path.as_bytes());
        key.add(text.as_bytes());
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions");
    let object = folder.join(format!("{platform}-{key}.o"));
    if !object.is_file() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("host");
        let own = folder.join(format!("{platform}-{}.o", std::process::id()));
        write(&own, []);
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-Og", "-DWSP_ONE_FILE", &format!("-DPTO_PLATFORM={platform}"), "-I"]);
        command.arg(source.join("include")).arg("-c").arg(source.join("src/instructions.cpp"));
        let output = command.arg("-o").arg(&own).output().expect("the compiler runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Another program of tests may have made the same meanwhile.
        std::fs::rename(own, &object).expect("both lie in one folder");
    }
    object
}
