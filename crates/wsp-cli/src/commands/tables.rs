//! `wsp config` and `wsp targets`: the tables that the system is made of.

use super::Outcome;
use crate::args::{Format, JsonArgs, TargetsArgs};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use wsp_core::limits;
use wsp_core::tg::Platform;
use wsp_diag::Diagnostic;
use wsp_plan::target::CPU_SIM;
use wsp_plan::{
    AICPU_SPACES, CAPABILITIES, Capability, MECHANISM_TARGETS, MECHANISMS, Mechanism, PACKAGE_SPACES,
    Support, Target, aicpu_capabilities, array_capabilities, statement_capabilities, workload_capabilities,
};
use wsp_tg::matrix::{MATRIX, PLATFORMS, Row, platform_name, word};

/// Prints every limit, with what gives one run another value.
pub(super) fn config(terminal: &Terminal, args: &JsonArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if args.json {
        let all: Value = limits::ALL
            .iter()
            .map(|l| json!({ "name": l.name, "value": l.value, "change": l.change.text(), "meaning": l.meaning.trim() }))
            .collect();
        terminal.print_json(&all);
    } else {
        let row = |l: &limits::Limit| {
            [
                l.name.to_lowercase(),
                l.value.to_string(),
                l.change.text().to_owned(),
                l.meaning.trim().to_owned(),
            ]
        };
        let heading = ["limit", "value", "for one run", "meaning"].map(str::to_owned);
        let rows: Vec<[String; 4]> = std::iter::once(heading).chain(limits::ALL.iter().map(row)).collect();
        terminal.print(&columns(&rows));
    }
    Ok(Outcome::Done)
}

/// Prints the capability table.
pub(super) fn targets(terminal: &Terminal, args: &TargetsArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if args.matrix {
        print_matrix(terminal, Format::of(args.json));
        return Ok(Outcome::Done);
    }
    if args.json {
        let on = |target: &str, c: Capability| json!({ "primitive": c.primitive, target: support(c.support), "meaning": c.meaning });
        let (row, in_packages) = (|c| on(CPU_SIM.name, c), |c| on("npu", c));
        terminal.print_json(&json!({
            "targets": [CPU_SIM.name],
            "primitives": CAPABILITIES.iter().copied().map(row).collect::<Value>(),
            "workload_primitives": workload_capabilities().map(row).collect::<Value>(),
            "workload_statements": statement_capabilities().map(row).collect::<Value>(),
            "aicpu_primitives": on_aicpus().map(row).collect::<Value>(),
            "npu_primitives": PACKAGE_SPACES.iter().copied().map(in_packages).collect::<Value>(),
            "array_primitives": array_capabilities().map(|c| on("xdna", c)).collect::<Value>(),
            "mechanisms": MECHANISMS.iter().map(mechanism).collect::<Value>(),
        }));
    } else {
        let heading = |what: &str| [what.to_owned(), CPU_SIM.name.to_owned(), String::new()];
        let row =
            |c: Capability| [c.primitive.to_owned(), support(c.support).to_owned(), c.meaning.to_owned()];
        let rows: Vec<[String; 3]> = std::iter::once(heading("primitive of `.pto`"))
            .chain(CAPABILITIES.iter().copied().map(row))
            .chain([heading("primitive of `.wsp`")])
            .chain(workload_capabilities().map(row))
            .chain([heading("statement of `.wsp`")])
            .chain(statement_capabilities().map(row))
            .chain([heading("with `--aicpus N`")])
            .chain(on_aicpus().map(row))
            .chain([["in a package for an NPU", "NPU", ""].map(str::to_owned)])
            .chain(PACKAGE_SPACES.iter().copied().map(row))
            .chain([["primitive of `.wsp`", "xdna", ""].map(str::to_owned)])
            .chain(array_capabilities().map(row))
            .collect();
        terminal.print(&columns(&rows));
        let heading =
            |[first, one, several]: [&str; 3]| ["mechanism", first, one, several].map(str::to_owned);
        let row = |m: &Mechanism| [m.name, m.cells[0], m.cells[1], m.cells[2]].map(str::to_owned);
        let rows = std::iter::once(heading(MECHANISM_TARGETS)).chain(MECHANISMS.iter().map(row));
        terminal.print(&format!("\n{}", columns(&rows.collect::<Vec<_>>())));
    }
    Ok(Outcome::Done)
}

/// A mechanism as JSON.
fn mechanism(m: &Mechanism) -> Value {
    let mut row = json!({ "mechanism": m.name, "primitives": m.primitives });
    for (target, cell) in MECHANISM_TARGETS.iter().zip(m.cells) {
        row[*target] = cell.into();
    }
    row
}

/// What primitives of `.pto` and of `.wsp` mean where AICPUs generate the tasks, if something else.
fn on_aicpus() -> impl Iterator<Item = Capability> {
    AICPU_SPACES.iter().copied().chain(aicpu_capabilities())
}

/// Prints what each platform does with each instruction of task graphs.
fn print_matrix(terminal: &Terminal, format: Format) {
    if format == Format::Json {
        terminal.print_json(&matrix_json());
    } else {
        terminal.print(&matrix_text());
    }
}

fn matrix_json() -> Value {
    let cells = |row: &Row| -> serde_json::Map<String, Value> {
        let cell = |p: &Platform| (platform_name(*p).to_owned(), json!(word(row.support(*p))));
        PLATFORMS.iter().map(cell).collect()
    };
    let row = |row: &Row| {
        let instructions: Vec<&str> = row.ops.iter().map(|op| op.info().mnemonic).collect();
        json!({ "row": row.name, "instructions": instructions, "support": cells(row) })
    };
    let platform = |p: &Platform| json!({ "platform": platform_name(*p), "target": Target::of(*p).name });
    json!({
        "platforms": PLATFORMS.iter().map(platform).collect::<Vec<_>>(),
        "words": WORDS.iter().map(|(word, meaning)| json!({ "word": word, "meaning": meaning })).collect::<Vec<_>>(),
        "rows": MATRIX.iter().map(row).collect::<Vec<_>>(),
    })
}

fn matrix_text() -> String {
    let line = |name: &str, cells: [&str; 4]| {
        format!("{}\n", format!("{name:<24}{}", cells.map(|c| format!("{c:<9}")).concat()).trim_end())
    };
    let mut text = line("instruction", PLATFORMS.map(platform_name));
    text.push_str(&line("", PLATFORMS.map(|p| Target::of(p).name.trim_start_matches("ascend_"))));
    for row in MATRIX {
        text.push_str(&line(row.name, PLATFORMS.map(|p| word(row.support(p)))));
    }
    text.push('\n');
    for (word, meaning) in WORDS {
        text.push_str(&format!("{word:<8} {meaning}\n"));
    }
    text.push_str("\n`wsp check --target a2 FILE.tg` tells what that means for a unit.\n");
    text
}

/// Words of the matrix and what they mean.
const WORDS: [(&str, &str); 5] = [
    ("Yes", "all of it"),
    ("Partial", "some of it; the rest becomes something stronger, with a note"),
    ("Hint", "accepted and recorded, may be ignored, with a note"),
    ("N/A", "accepted, does nothing there, with a note"),
    ("No", "an error"),
];

fn support(support: Support) -> &'static str {
    match support {
        Support::Enforced => "enforced",
        Support::Hint => "hint",
        Support::Simulated => "simulated",
        Support::NoOp => "no-op",
        Support::Error => "error",
    }
}

pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0));
    let cell = |(cell, width): (&String, usize)| format!("{cell:<width$}  ");
    let line = |row: &[String; N]| row.iter().zip(widths).map(cell).collect::<String>();
    rows.iter().map(|row| format!("{}\n", line(row).trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |a: &str, b: &str, c: &str| [a.to_owned(), b.to_owned(), c.to_owned()];
        assert_eq!(columns(&[row("a", "10", "x"), row("long", "1", "")]), "a     10  x\nlong  1\n");
    }
}
