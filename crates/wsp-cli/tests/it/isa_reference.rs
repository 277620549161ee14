//! `docs/reference/isa.md`: its files are what it says, and its commands run.

use std::path::Path;
use std::process::Command;

/// The blocks of a page in a language, in order.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some((_, text)), _) => text.extend([line, "\n"]),
            (None, Some(language)) => open = Some((language, String::new())),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "every block is closed");
    blocks
}

/// A line of a block of commands: `wsp …` must succeed, `# text` must be in what the command before it said.
fn step(line: &str, folder: &Path, said: &mut String) {
    if let Some(text) = line.strip_prefix("# ") {
        assert!(said.contains(text), "`{text}` is not in:\n{said}");
        return;
    }
    let args: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(args[0], "wsp", "{line}");
    let output =
        Command::new(crate::command::program()).current_dir(folder).args(&args[1..]).output().unwrap();
    *said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}\n{said}");
}

/// ISA-PM-01.
#[test]
fn the_page_runs_from_top_to_bottom() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/isa.md");
    let page = std::fs::read_to_string(page).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut commands = 0;
    for (language, text) in blocks(&page) {
        match language {
            "pto" | "tg" => {
                let name = text.lines().next().unwrap().strip_prefix("// file: ").unwrap();
                std::fs::write(dir.path().join(name), &text).unwrap();
            }
            "sh" => {
                let mut said = String::new();
                for line in text.lines() {
                    step(line, dir.path(), &mut said);
                    commands += 1;
                }
            }
            other => panic!("what is a block of `{other}`?"),
        }
    }
    assert!(commands >= 15, "{commands}");
    let bytes = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    assert!(
        !bytes("relax.ptog").is_empty() && !bytes("graph.dot").is_empty() && !bytes("trace.json").is_empty()
    );
}
