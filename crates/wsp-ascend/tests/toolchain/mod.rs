//! The host's compiler, for tests that compile what is emitted.

use std::path::Path;
use std::process::Command;

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
