//! `wsp asm` and `wsp disasm`: files there and back, and what happens to those who misuse them.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A program in a few lines.
const TEXT: &str = "\
.value n
.axis i dense 0 .. n
.kernel scale vector
.tensor x f32 1
    PARALLEL_FOR i, body
    HALT
body:
    TASK scale
      PARAM_LOOPVAR i0
      IO_INOUT x[i0]
    END
";

/// A folder with the program's text and bytes.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        let folder = Folder { folder: tempfile::tempdir().unwrap() };
        std::fs::write(folder.at("scale.ptows"), TEXT).unwrap();
        let (code, _, err) = folder.wsp(&["asm", "scale.ptows", "-o", "scale.ptow"]);
        assert_eq!((code, err.as_str()), (0, ""));
        folder
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.at(name)).unwrap()
    }

    fn output(&self, args: &[&str]) -> Output {
        let mut command = Command::new(crate::command::program());
        command.current_dir(self.folder.path()).env("NO_COLOR", "1").args(args).output().unwrap()
    }

    /// Exit code, stdout, stderr.
    fn wsp(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.output(args);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// What a command that fails says.
    fn refused(&self, args: &[&str]) -> String {
        let (code, out, err) = self.wsp(args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}: {err}");
        err
    }
}

#[test]
fn a_program_goes_to_bytes_and_back() {
    let folder = Folder::new();
    let bytes = folder.read("scale.ptow");
    assert!(bytes.starts_with(b"WOTP\x01\0\0\0"));
    let (code, text, err) = folder.wsp(&["disasm", "scale.ptow"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(text.contains("PARALLEL_FOR i, L2") && text.contains("IO_INOUT x[i0]"), "{text}");
    assert_eq!(folder.wsp(&["disasm", "scale.ptow", "-o", "again.ptows"]), (0, String::new(), String::new()));
    assert_eq!(folder.read("again.ptows"), text.as_bytes());
    assert_eq!(
        folder.wsp(&["asm", "again.ptows", "--output", "again.ptow"]),
        (0, String::new(), String::new())
    );
    assert_eq!(folder.read("again.ptow"), bytes);
}

#[test]
fn output_that_is_no_terminal_may_hold_bytes() {
    let folder = Folder::new();
    for args in [&["asm", "scale.ptows"][..], &["asm", "scale.ptows", "-o", "-"]] {
        assert_eq!(folder.output(args).stdout, folder.read("scale.ptow"));
    }
    let (_, text, _) = folder.wsp(&["disasm", "scale.ptow", "-o", "-"]);
    assert!(text.contains("TASK scale"));
    assert!(!folder.at("-").exists());
}

#[test]
fn a_wrong_text_is_shown_with_its_lines_and_nothing_is_written() {
    let folder = Folder::new();
    std::fs::write(folder.at("wrong.ptows"), TEXT.replace("TASK scale", "TASK scal")).unwrap();
    let err = folder.refused(&["asm", "wrong.ptows", "-o", "wrong.ptow"]);
    assert!(
        err.contains("error[WSP0914]: no kernel is called `scal`") && err.contains("wrong.ptows:8:10"),
        "{err}"
    );
    assert!(err.contains("did you mean `scale`?"), "{err}");
    assert!(!folder.at("wrong.ptow").exists());
    std::fs::write(folder.at("wrong.ptows"), TEXT.replace("LOOPVAR i0", "LOOPVAR i1")).unwrap();
    let err = folder.refused(&["asm", "wrong.ptows"]);
    assert!(err.contains("error[WSP0919]") && err.contains("wrong.ptows:9:7"), "{err}");
}

#[test]
fn files_of_other_kinds_are_named_as_such() {
    let folder = Folder::new();
    let err = folder.refused(&["asm", "scale.ptow"]);
    assert!(err.contains("is a program already") && err.contains("wsp disasm scale.ptow"), "{err}");
    let err = folder.refused(&["disasm", "scale.ptows"]);
    assert!(err.contains("error[WSP0921]") && err.contains("looks like text"), "{err}");
    let mut cut = folder.read("scale.ptow");
    cut.truncate(60);
    std::fs::write(folder.at("cut.ptow"), &cut).unwrap();
    let err = folder.refused(&["disasm", "cut.ptow"]);
    assert!(err.contains("error[WSP0921]") && err.contains("byte 24"), "{err}");
    let err = folder.refused(&["asm", "scale.ptow.missing"]);
    assert!(err.contains("error[WSP0500]"), "{err}");
    let err = folder.refused(&["disasm", "scale.ptwo"]);
    assert!(err.contains("did you mean `scale.ptow"), "{err}");
    let err = folder.refused(&["disasm", "."]);
    assert!(err.contains("error[WSP0501]"), "{err}");
}

#[test]
fn a_file_is_not_overwritten_by_what_is_made_of_it() {
    let folder = Folder::new();
    for args in
        [["asm", "scale.ptows", "-o", "./scale.ptows"], ["disasm", "scale.ptow", "-o", "./scale.ptow"]]
    {
        let err = folder.refused(&args);
        assert!(err.contains("error[WSP0881]"), "{err}");
    }
    assert_eq!(folder.read("scale.ptows"), TEXT.as_bytes());
    let err = folder.refused(&["asm", "scale.ptows", "-o", "nowhere/scale.ptow"]);
    assert!(err.contains("error[WSP0509]"), "{err}");
}

#[test]
fn programs_that_break_rules_can_be_looked_at() {
    let folder = Folder::new();
    let mut bytes = folder.read("scale.ptow");
    bytes[24] = 0x99;
    std::fs::write(folder.at("broken.ptow"), &bytes).unwrap();
    let (code, text, err) = folder.wsp(&["disasm", "broken.ptow"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(text.contains(".word 0x99"), "{text}");
    std::fs::write(folder.at("broken.ptows"), text).unwrap();
    let err = folder.refused(&["asm", "broken.ptows"]);
    assert!(err.contains("WSP0919"), "{err}");
}

/// The program that a workload is lowered to.
fn lowered(path: &std::path::Path) -> Vec<u8> {
    let text = std::fs::read_to_string(path).unwrap();
    let (module, found) =
        wsp_ir::workload::text::parse("example", &text, &mut wsp_diag::SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let schedule = wsp_plan::workload::lower_schedule(&module, None, wsp_plan::target::CPU_SIM).unwrap();
    let lowered = wsp_plan::ptow::lower(&module, &schedule);
    let lowered = lowered.unwrap_or_else(|faults| panic!("{}: {faults:?}", path.display()));
    lowered.program.as_bytes().to_vec()
}

#[test]
fn programs_of_the_examples_survive_the_round_trip() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for folder in ["graphs", "generate"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "wsp") {
                continue;
            }
            let bytes = lowered(&path);
            let text = wsp_isa::ptow::disassemble(&bytes).unwrap();
            let again = wsp_isa::ptow::assemble("again", &text, &mut wsp_diag::SourceMap::default());
            assert_eq!(again.unwrap(), bytes, "{}\n{text}", path.display());
            assert!(!text.contains(".word"), "{}\n{text}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen} examples");
}
