//! The program as a script runs it.

use std::process::Command;

/// The program.
pub(crate) const BENCH: &str = env!("CARGO_BIN_EXE_wsp-bench");

/// Exit code, stdout, stderr of the program with these arguments, without colours.
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(BENCH).env("NO_COLOR", "1").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What the program prints when all is well.
pub(crate) fn printed(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    out
}
