//! `dispatch(policy)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::IntExpr;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::{Checker, error, rule};
use crate::{CapabilityRow, Support};
use wsp_diag::Span;

/// `dispatch(policy)`: which worker (AICPU) a task goes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Dispatch {
    /// Workers in turn.
    RoundRobin,
    /// Worker `key % workers`.
    Affinity(IntExpr),
    /// Worker by a hash of the key.
    Hash(IntExpr),
    /// The first worker takes the first `ranges[0]` tasks of elaboration order, and so on: `(start, end)` per worker.
    StaticPartition(Vec<(u64, u64)>),
    /// Any worker that is idle.
    WorkSteal,
}

const WORDS: &[&str] = &["round_robin", "affinity", "hash", "static_partition", "work_steal"];

impl DirectiveDef for Dispatch {
    const FORMS: &'static [Form] = &[Form::Statement("dispatch")];

    capability_rows! {
        Dispatch::RoundRobin => CapabilityRow::new(
            "dispatch(round_robin)",
            Support::Hint,
            "tasks go to the workers in turn, and workers that stay idle may take them",
        )
        .on_aicpus(
            Support::Enforced,
            "AICPU `i` generates and issues the tasks whose number in elaboration order is `i` modulo `N`, as it does without `dispatch`",
        ),
        Dispatch::Affinity(_) => CapabilityRow::new(
            "dispatch(affinity(key))",
            Support::Hint,
            "a task goes to worker `key` modulo the number of workers, and workers that stay idle may take it",
        )
        .on_aicpus(
            Support::Enforced,
            "AICPU `key` modulo `N` generates and issues a task",
        ),
        Dispatch::Hash(_) => CapabilityRow::new(
            "dispatch(hash(key))",
            Support::Hint,
            "a task goes to a worker by a fixed hash of `key`, and workers that stay idle may take it",
        )
        .on_aicpus(
            Support::Enforced,
            "an AICPU by a fixed hash of `key` generates and issues a task",
        ),
        Dispatch::StaticPartition(_) => CapabilityRow::new(
            "dispatch(static_partition([0..n, …]))",
            Support::Hint,
            "worker `i` gets the tasks of range `i` of elaboration order, and workers that stay idle may take them",
        )
        .on_aicpus(
            Support::Enforced,
            "AICPU `i` generates and issues range `i` of elaboration order, and more ranges than AICPUs are an error",
        ),
        Dispatch::WorkSteal => CapabilityRow::new(
            "dispatch(work_steal)",
            Support::Enforced,
            "tasks go to no worker in particular, and whichever is idle takes them",
        )
        .on_aicpus(
            Support::Hint,
            "AICPUs generate tasks in turn, and none takes another's",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Dispatch> {
        let (name, span) = parser.name("a dispatch policy")?;
        let takes = matches!(name, "affinity" | "hash" | "static_partition");
        if !takes {
            return match name {
                "round_robin" => Ok(Dispatch::RoundRobin),
                "work_steal" => Ok(Dispatch::WorkSteal),
                _ => Err(parser.unknown_word(name, span, "dispatch policy", WORDS)),
            };
        }
        let argument = if name == "static_partition" { "[0..10, 10..20]" } else { "b" };
        let open = parser.open(&format!("`(` after `{name}`"), &format!("write `{name}({argument})`"))?;
        let policy = match name {
            "affinity" => Dispatch::Affinity(parser.expr()?),
            "hash" => Dispatch::Hash(parser.expr()?),
            _ => Dispatch::StaticPartition(parser.bracketed("the ranges of task numbers", task_range)?),
        };
        parser.close(open, "`)` after the policy")?;
        Ok(policy)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Dispatch, F::Fault> {
        fields.policy("policy")
    }
}

impl DirectiveInterface for Dispatch {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        match self {
            Dispatch::RoundRobin => printer.text("round_robin"),
            Dispatch::WorkSteal => printer.text("work_steal"),
            Dispatch::Affinity(key) => keyed(printer, "affinity", key),
            Dispatch::Hash(key) => keyed(printer, "hash", key),
            Dispatch::StaticPartition(ranges) => {
                printer.text("static_partition([");
                printer.separated(ranges, |p, (start, end)| p.text(&format!("{start}..{end}")));
                printer.text("])");
            }
        }
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        match self {
            Dispatch::RoundRobin | Dispatch::WorkSteal => {}
            Dispatch::Affinity(key) | Dispatch::Hash(key) => checker.key(key),
            Dispatch::StaticPartition(ranges) => partition(checker, ranges, span),
        }
    }

    fn exprs(&self) -> Vec<&IntExpr> {
        match self {
            Dispatch::Affinity(key) | Dispatch::Hash(key) => vec![key],
            Dispatch::RoundRobin | Dispatch::StaticPartition(_) | Dispatch::WorkSteal => Vec::new(),
        }
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.dispatch = Some(self.clone());
    }
}

fn task_range(parser: &mut Parser<'_>) -> Parsed<(u64, u64)> {
    let start = parser.count("the number of a task", u64::MAX, u64::MAX)?;
    if parser.at(Tok::RangeIncl) {
        return Err(parser.bad_range());
    }
    parser.expect(Tok::Range, "`..` and the end of the range")?;
    Ok((start, parser.count("the number of a task", u64::MAX, u64::MAX)?))
}

fn keyed(printer: &mut Printer<'_>, word: &str, key: &IntExpr) {
    printer.text(word);
    printer.text("(");
    printer.expr(key);
    printer.text(")");
}

fn partition(checker: &mut Checker<'_>, ranges: &[(u64, u64)], span: Span) {
    checker.require(!ranges.is_empty(), || error(rule::PARTITION, span, "the partition has no part"));
    let mut next = 0;
    for (start, end) in ranges {
        let problem = if start > end {
            Some("ends before it starts".to_owned())
        } else if *start != next {
            Some(format!("does not start at {next}"))
        } else {
            None
        };
        if let Some(problem) = problem {
            let diagnostic = error(rule::PARTITION, span, format!("the part {start}..{end} {problem}"))
                .help("parts are half-open and join: `[0..10, 10..20]`")
                .python("parts are half-open and join: `[(0, 10), (10, 20)]`");
            return checker.push(diagnostic);
        }
        next = *end;
    }
}
