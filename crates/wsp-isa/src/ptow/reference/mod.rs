//! The reference page, `docs/reference/ptow.md`: tables of instructions, operations, records and rules from where they are
//! defined, and what stands between them.

mod layout;

use super::operators::{Form, form};
use super::usage::{placeholder, usage};
use std::fmt::Write as _;
use wsp_core::limits::{MAX_TASK_SCALARS, MAX_TASK_TENSORS};
use wsp_core::ptow::{
    Group, MAX_AICPUS, MAX_BODY_DEPTH, MAX_EXPR_STACK, MAX_EXPR_WORDS, MAX_LOOP_DEPTH, MAX_NAME_BYTES,
    MAX_THRESHOLDS, MAX_WORDS, OPS, Operand, Rule, XOPS, XOp, XOpInfo,
};

/// What the page begins with.
const INTRODUCTION: &str = include_str!("introduction.md");
/// What stands between the tables of instructions and those of expressions.
const EXPRESSIONS: &str = include_str!("expressions.md");
/// How tasks are given to AICPUs.
const DISPATCH: &str = include_str!("dispatch.md");

/// The whole page.
fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(&instructions());
    page.push_str(&operands());
    page.push_str(EXPRESSIONS);
    page.push_str(&operations());
    page.push_str(DISPATCH);
    page.push_str(&layout::records());
    page.push_str(&limits());
    page.push_str(&rules());
    page
}

/// Of the page, which `UPDATE_EXPECT=1` writes.
#[test]
fn the_page_is_not_stale() {
    expect_test::expect_file!["../../../../../docs/reference/ptow.md"].assert_eq(&reference());
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|")
}

/// The heading of a group of instructions, and what is said of it.
fn group(group: Group) -> (&'static str, &'static str) {
    match group {
        Group::Control => ("Control", "End bodies, or do nothing."),
        Group::Statement => ("Statements", "Stand in any body."),
        Group::Argument => (
            "Arguments",
            "Stand behind a `TASK` only: parameters and accesses in the order in which they are evaluated, then `AFTER`s.",
        ),
        Group::Axis => {
            ("Axes", "Stand before all statements of the outermost body, and set axes of the form `set`.")
        }
        Group::Attribute => (
            "Attributes",
            "Hold for the rest of the body in which they stand and for all bodies inside; an inner one replaces an outer one.",
        ),
        Group::Csp => (
            "Communicating processes",
            "Stand in a `PROCESS`, but for that itself and the `CHANNEL`s before it.",
        ),
        Group::Extension => {
            ("Extension", "Not written in text: its operands follow those of the instruction before it.")
        }
    }
}

fn instructions() -> String {
    let mut text = String::from("\n## Instructions\n");
    let groups = [
        Group::Control,
        Group::Statement,
        Group::Argument,
        Group::Axis,
        Group::Attribute,
        Group::Csp,
        Group::Extension,
    ];
    for kind in groups {
        let (heading, said) = group(kind);
        let _ = write!(text, "\n### {heading}\n\n{said}\n\n| code | written | meaning |\n|---|---|---|\n");
        for info in OPS.iter().filter(|info| info.group == kind) {
            let written = cell(&usage(info));
            let _ = writeln!(text, "| `{:02X}` | `{written}` | {} |", info.op.code(), cell(info.meaning));
        }
    }
    text
}

fn operands() -> String {
    let mut kinds: Vec<Operand> = Vec::new();
    let used = OPS.iter().flat_map(|info| [info.operand1, info.operand2]);
    let further = [Operand::OptBody, Operand::OptExpr, Operand::OptKey].into_iter();
    for kind in used.chain(XOPS.iter().map(|info| info.operand)).chain(further) {
        if kind != Operand::None && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut text = String::from("\n### Operands\n\n| written | is |\n|---|---|\n");
    for kind in kinds {
        let _ = writeln!(text, "| `{}` | {} |", cell(placeholder(kind)), cell(meaning(kind)));
    }
    text.push_str(
        "| `DIM` | `:` all of a dimension; `A` one index; `A .. B` up to `B`, exclusive; `A +: N` the `N` indices from `A`; \
         dimensions that are not written are whole |\n",
    );
    text.push_str("| `#N` | for any operand: the number `N`, whatever it names |\n");
    text
}

/// What an operand is.
fn meaning(kind: Operand) -> &'static str {
    match kind {
        Operand::None => "nothing",
        Operand::Axis => "the name of an axis",
        Operand::Kernel => "the name of a kernel",
        Operand::Tensor => "the name of a tensor",
        Operand::Label => "a label of tasks",
        Operand::Generator => "a descriptor generator",
        Operand::Expr => "an expression over loop variables, values, tables and slots",
        Operand::OptExpr => "such an expression, or `-` for none",
        Operand::Key => "an expression over indices of axes, values and tables",
        Operand::OptKey => "such an expression, or `-` for none",
        Operand::Body => "the label of a body",
        Operand::OptBody => "the label of a body, or `-` for none",
        Operand::Imm => "an integer of 32 bits with sign",
        Operand::Count => "a number",
        Operand::Value => "the name of a launch-time value",
        Operand::Table => "the name of a launch-time table",
        Operand::Slot => "the number of a computed slot",
        Operand::Depth => "a loop variable: `i0` is that of the outermost loop",
        Operand::Policy => "a policy and its operands; see below",
        Operand::TaskCounts => "how many parameters, accesses and `AFTER`s follow; text does not write it",
        Operand::Channel => "a channel",
    }
}

fn operations() -> String {
    let mut text = String::from("\n| code | name | stack | written | meaning |\n|---|---|---|---|---|\n");
    for info in XOPS {
        let _ = writeln!(
            text,
            "| `{:02X}` | `{}` | {} → {} | {} | {} |",
            info.op.code(),
            info.mnemonic,
            info.pops,
            info.pushes,
            cell(&infix(info)),
            cell(info.meaning)
        );
    }
    text
}

/// How an operation is written between operands.
fn infix(info: &XOpInfo) -> String {
    match form(info.op) {
        Form::Infix(_, sign) => format!("`a {sign} b`"),
        Form::Call => format!("`{}(a, b)`", info.mnemonic),
        Form::Prefix(sign) => format!("`{sign}a`"),
        Form::Own => match info.op {
            XOp::XConst => "`42`".to_owned(),
            XOp::XHigh => "part of an integer of more than 32 bits".to_owned(),
            XOp::XValue => "`NAME`".to_owned(),
            XOp::XVar => "`i0`".to_owned(),
            XOp::XPos => "`pos(i0)`".to_owned(),
            XOp::XAxis => "`axis(NAME)`".to_owned(),
            XOp::XTable => "`NAME[a]`".to_owned(),
            XOp::XLen => "`len(NAME)`".to_owned(),
            XOp::XSlot => "`slot(0)`".to_owned(),
            _ => "`a ? b : c`, `a && b`, `a || b`".to_owned(),
        },
    }
}

fn limits() -> String {
    let rows = [
        ("words of instructions, and words of expressions", u64::from(MAX_WORDS)),
        ("axes, kernels and tensors, each", u64::from(u16::MAX)),
        ("bytes of names", u64::from(MAX_NAME_BYTES)),
        ("bodies around an instruction", MAX_BODY_DEPTH as u64),
        ("loop variables in scope", MAX_LOOP_DEPTH as u64),
        ("words of an expression", MAX_EXPR_WORDS as u64),
        ("values on the stack of an expression", MAX_EXPR_STACK as u64),
        ("parameters of a task", u64::from(MAX_TASK_SCALARS)),
        ("accesses of a task", u64::from(MAX_TASK_TENSORS)),
        ("bounds of a threshold", MAX_THRESHOLDS as u64),
        ("AICPUs", u64::from(MAX_AICPUS)),
    ];
    let mut text = String::from("\n## Limits\n\n| at most | |\n|---|---|\n");
    for (what, most) in rows {
        let _ = writeln!(text, "| {most} | {what} |");
    }
    text
}

fn rules() -> String {
    let mut text = String::from(
        "\n## Rules\n\nA program is checked once, before it runs. Whoever refuses it names the rule, the place and the numbers.\n\n\
         | rule | |\n|---|---|\n",
    );
    for rule in Rule::ALL {
        let _ = writeln!(text, "| {} | {} |", rule.id(), cell(rule.text()));
    }
    text
}
