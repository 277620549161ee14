//! `cargo xtask bench decode` from outside: what it refuses.

use crate::command::run;

#[test]
fn a_page_layout_that_would_change_nothing_is_refused() {
    let (code, _, err) = run(&["decode", "--set", "kv_layout=HND"]);
    assert!(code == 1 && err.contains("--layouts hnd"), "{err}");
}

#[test]
fn a_value_that_is_set_twice_is_refused() {
    let (code, _, err) = run(&["decode", "--set", "chunk=8", "--set", "chunk=9"]);
    assert!(code == 1 && err.contains("keep one `--set chunk=…`"), "{err}");
}

#[test]
fn a_workload_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("w.wsp").display().to_string();
    std::fs::write(&file, "tensor y: u32[1]; kernel k(out y); workload main { k(y[0]); }").unwrap();
    let (code, _, err) = run(&["decode", &file]);
    assert!(code == 1 && err.contains("WSP0882"), "{err}");
}
