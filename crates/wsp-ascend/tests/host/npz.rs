//! Arrays in files: what the headers write, what they read, what they refuse, and what they say of damaged files.

use crate::source::{compile, folder};
use crate::toolchain::write;
use expect_test::{Expect, expect};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the command line, numpy and these headers read.
const WRITTEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/arrays/host.npz");
/// An archive of numpy, with deflated members.
const DEFLATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/decode_cases/01_mha_basic.npz");

/// A program and a folder for its files.
struct Program {
    folder: PathBuf,
}

impl Program {
    fn run(&self, what: &str, paths: &[&str]) -> String {
        let output =
            Command::new(self.folder.join("npz")).current_dir(&self.folder).arg(what).args(paths).output();
        let output = output.expect("the program runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{what}: {told}{}", String::from_utf8_lossy(&output.stderr));
        told
    }

    fn says(&self, what: &str, paths: &[&str], expected: &Expect) {
        expected.assert_eq(&self.run(what, paths));
    }

    /// A `.npy` file in the folder.
    fn file(&self, name: &str, version: u8, header: &str, elements: &[u8]) {
        let length = (header.len() as u32).to_le_bytes();
        let length = if version == 1 { &length[..2] } else { &length };
        let bytes = [b"\x93NUMPY", &[version, 0][..], length, header.as_bytes(), elements].concat();
        write(&self.folder.join(name), &bytes);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads what its program wrote")]
fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

#[test]
fn arrays_are_written_read_and_refused() {
    let program = Program { folder: folder("npz", "npz.cpp", include_str!("npz.cpp")) };
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
    let checked =
        ["-Og", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", "npz", "npz.cpp"];
    let output = compile(&program.folder, "a2", &[&warnings[..], &checked].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    program.run("write", &["."]);
    let written = program.folder.join("arrays.npz");
    assert!(read(&written) == read(WRITTEN), "{} is written, {WRITTEN} was expected", written.display());
    program.says(
        "read",
        &["arrays.npz", "array.npy"],
        &expect![[r#"
        x.f32 <f4 (2, 3) 8295a696
        x.f64 <f8 (2, 3) 05202171
        x.f16 <f2 (2, 3) 9270c965
        x.i8 |i1 (2, 3) 30ebcf4a
        x.i16 <i2 (2, 3) 9270c965
        x.i32 <i4 (2, 3) 8295a696
        x.i64 <i8 (2, 3) 05202171
        x.u8 |u1 (2, 3) 30ebcf4a
        x.u16 <u2 (2, 3) 9270c965
        x.u32 <u4 (2, 3) 8295a696
        x.u64 <u8 (2, 3) 05202171
        x.bool |b1 (2, 3) 30ebcf4a
        x.bf16 <u2 (2, 3) 9270c965
        x.f8e4m3 |u1 (2, 3) 30ebcf4a
        x.f8e5m2 <f1 (2, 3) 30ebcf4a
        scalar <f8 () 6522df69
        empty <f4 (0, 7) 00000000
         <f4 (2, 3) 8295a696
    "#]],
    );
    let deflated = program.run("read", &[DEFLATED]);
    // 1, 17 and 128; two members are texts.
    assert!(deflated.contains("kv_lens <i4 (3,) bd380d8e\n"), "{deflated}");
    let faults = deflated.lines().filter(|line| line.contains("of type `<U3`")).count();
    assert_eq!((deflated.lines().count(), faults), (32, 2), "{deflated}");
    program.says(
        "refuse",
        &["."],
        &expect![[r#"
        refused: `.` cannot be written: it is no regular file
        refused: `./none/x.npz` cannot be written: No such file or directory
        refused: `/dev/null` cannot be written: it is no regular file
        refused: arrays of an archive have names, each one of its own: `x`
        refused: arrays of an archive have names, each one of its own: ``
        refused: array `y` cannot be written: 8 bytes are not (3,) of `<f4`
        refused: array `y` cannot be written: 12 bytes are not () of `<U3`
    "#]],
    );
    reads_forms_of_numpy(&program);

    // Both are seen: damage that is found, and damage of what is not read.
    let counts = program.run("mutate", &["arrays.npz", "array.npy", DEFLATED]);
    let counts: Vec<u32> = counts.split_whitespace().map(|count| count.parse().expect("a count")).collect();
    assert!(counts.len() == 2 && counts.iter().all(|count| *count > 1000), "{counts:?}");
    let left: Vec<String> = std::fs::read_dir(&program.folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().display().to_string())
        .filter(|name| name.ends_with(".partial") || name == "x.npz")
        .collect();
    assert_eq!(left, [""; 0]);
}

/// Orders of bytes and of elements, names of types, and headers that are none.
fn reads_forms_of_numpy(program: &Program) {
    let header = |descr: &str, fortran: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    };
    let columns: Vec<u8> = [1i32, 4, 2, 5, 3, 6].iter().flat_map(|value| value.to_be_bytes()).collect();
    let rows: Vec<u8> = (1i32..=6).flat_map(i32::to_le_bytes).collect();
    program.file("columns.npy", 1, &header(">i4", "True", "(2, 3)"), &columns);
    program.file("rows.npy", 2, "{\"shape\":(2L,3), \"fortran_order\":False,\"descr\":\"i4\"}", &rows);
    program.file("bf16.npy", 3, &header("<V2", "False", "(2,)"), &[1, 2, 3, 4]);
    program.file("objects.npy", 1, &header("|O", "False", "(1,)"), &[0; 8]);
    program.file(
        "fields.npy",
        1,
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        &[0; 4],
    );
    program.file("short.npy", 1, &header("<f8", "False", "(2,)"), &[0; 8]);
    program.file("large.npy", 1, &header("<f8", "False", "(9000000000000000000, 9)"), &[0; 8]);
    program.file("larger.npy", 1, &header("<f8", "False", "(99999999999999999999,)"), &[0; 8]);
    program.file("half.npy", 1, "{'descr': '<f4'}", &[]);
    program.file("version.npy", 9, &header("<f4", "False", "(1,)"), &[0; 4]);
    program.file("array.npz", 1, &header("<f4", "False", "(1,)"), &[0; 4]);
    write(&program.folder.join("archive.npy"), read(WRITTEN));
    write(&program.folder.join("empty.npz"), []);
    let files = [
        "columns.npy",
        "rows.npy",
        "bf16.npy",
        "objects.npy",
        "fields.npy",
        "short.npy",
        "large.npy",
        "larger.npy",
        "half.npy",
        "version.npy",
        "array.npz",
        "archive.npy",
        "empty.npz",
        "none.npz",
        ".",
    ];
    program.says("read", &files, &expect![[r#"
         <i4 (2, 3) af6f07be
         <i4 (2, 3) af6f07be
         |V2 (2,) b63cfbcd
        `objects.npy` holds elements of type `|O`; booleans, numbers of 8 to 64 bits and ml_dtypes' bfloat16, float8_e4m3fn and float8_e5m2 are read
        `fields.npy` holds elements of type `[('a', '<f4')]`; booleans, numbers of 8 to 64 bits and ml_dtypes' bfloat16, float8_e4m3fn and float8_e5m2 are read
        `short.npy` is damaged: its header says (2,) of `<f8`, and 8 bytes follow; write it again
        `large.npy` is damaged: its header says (9000000000000000000, 9) of `<f8`, and 8 bytes follow; write it again
        `larger.npy` is damaged: at most 64 extents of at most 64 bits expected in its header; write it again with `numpy.save`
        `half.npy` is damaged: descr, fortran_order and shape expected in its header; write it again with `numpy.save`
        `version.npy` has format version 9; versions 1 to 3 are read; write it again with `numpy.save`
        `array.npz` is not a whole `.npz` archive: the end of its table of contents is missing; it is a single array: read it as `.npy`
        `archive.npy` is not in numpy's `.npy` format; it is an archive: read it as `.npz`
        `empty.npz` is not a whole `.npz` archive: the end of its table of contents is missing; write it with `numpy.savez`
        `none.npz` cannot be read: No such file or directory
        `.` cannot be read: it is no regular file
    "#]]);
}
