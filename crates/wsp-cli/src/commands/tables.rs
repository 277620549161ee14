//! `wsp config` and `wsp targets`: the tables that the system is made of.

use super::Outcome;
use crate::args::JsonArgs;
use crate::terminal::Terminal;
use serde_json::{Value, json};
use wsp_core::limits;
use wsp_ir::diag::Diagnostic;
use wsp_plan::{AICPU_CAPABILITIES, CAPABILITIES, Capability, Support, WORKLOAD_CAPABILITIES};

/// Prints every limit.
pub(super) fn config(terminal: &Terminal, args: &JsonArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if args.json {
        let all: Value = limits::ALL
            .iter()
            .map(|l| json!({ "name": l.name, "value": l.value, "meaning": l.meaning.trim() }))
            .collect();
        terminal.print_json(&all);
    } else {
        let rows: Vec<[String; 3]> = limits::ALL
            .iter()
            .map(|l| [l.name.to_lowercase(), l.value.to_string(), l.meaning.trim().to_owned()])
            .collect();
        terminal.print(&columns(&rows));
    }
    Ok(Outcome::Done)
}

/// Prints the capability table.
pub(super) fn targets(terminal: &Terminal, args: &JsonArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if args.json {
        let list = |table: &[Capability]| -> Value {
            let row = |c: &Capability| json!({ "primitive": c.primitive, "cpu_sim": support(c.cpu_sim), "meaning": c.meaning });
            table.iter().map(row).collect()
        };
        terminal.print_json(&json!({
            "targets": ["cpu_sim"],
            "primitives": list(CAPABILITIES),
            "workload_primitives": list(WORKLOAD_CAPABILITIES),
            "aicpu_primitives": list(AICPU_CAPABILITIES),
        }));
    } else {
        let heading = |what: &str| [what.to_owned(), "cpu_sim".to_owned(), String::new()];
        let row =
            |c: &Capability| [c.primitive.to_owned(), support(c.cpu_sim).to_owned(), c.meaning.to_owned()];
        let rows: Vec<[String; 3]> = std::iter::once(heading("primitive of `.pto`"))
            .chain(CAPABILITIES.iter().map(row))
            .chain([heading("primitive of `.wsp`")])
            .chain(WORKLOAD_CAPABILITIES.iter().map(row))
            .chain([heading("with `--aicpus N`")])
            .chain(AICPU_CAPABILITIES.iter().map(row))
            .collect();
        terminal.print(&columns(&rows));
    }
    Ok(Outcome::Done)
}

fn support(support: Support) -> &'static str {
    match support {
        Support::Enforced => "enforced",
        Support::Hint => "hint",
        Support::NoOp => "no-op",
        Support::Error => "error",
    }
}

fn columns(rows: &[[String; 3]]) -> String {
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter()
        .map(|[a, b, c]| format!("{}\n", format!("{a:<first$}  {b:<second$}  {c}").trim_end()))
        .collect()
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
