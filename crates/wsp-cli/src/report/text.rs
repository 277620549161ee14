//! The summary of a run for people.

use super::lines::Lines;
use super::units::{bytes, millis};
use super::{GraphStats, RunReport, aicpus};
use wsp_check::reference::Comparison;
use wsp_core::words::counted;

/// What ran: chunks by tier, merges and workspace, or simply the tasks of a program without tiers.
fn tasks(report: &RunReport, lines: &mut Lines) {
    let stats = &report.stats;
    let tiles: Vec<String> = stats.tiles.iter().map(|(axis, n)| format!("{axis} by {n}")).collect();
    let tiles = if tiles.is_empty() { String::new() } else { format!(" ({})", tiles.join(", ")) };
    let of = |tiered: bool| {
        tiers(stats.tasks.iter().filter(|g| g.tier.is_some() == tiered).map(|g| (g.kernel.as_str(), g.tasks)))
    };
    if !stats.tasks.iter().any(|g| g.tier.is_some()) {
        lines.add("tasks", &format!("{}{tiles}", of(false)));
        return;
    }
    lines.add("chunks", &format!("{}{tiles}", stats.chunks()));
    lines.add("tiers", &of(true));
    lines.add("merges", &of(false));
    lines.add(
        "workspace",
        &format!("{} in {}", bytes(stats.workspace_bytes), counted(stats.workspace_slots, "slot")),
    );
}

pub(super) fn run(report: &RunReport) -> String {
    let stats = &report.stats;
    let mut lines = Lines::default();
    let seed = match report.seed {
        None => String::new(),
        Some(seed) if report.all_made => format!(", made up from seed {seed}"),
        Some(seed) => format!("; {} made up from seed {seed}", report.made.join(", ")),
    };
    if !report.inputs.is_empty() {
        lines.add("inputs", &format!("{}{seed}", report.inputs.join(", ")));
    }
    if let Some(data) = &report.data {
        lines.add(
            "sequences",
            &format!(
                "{} with {}, the longest {}; {} of keys and values{seed}",
                data.sequences,
                counted(data.tokens, "token"),
                data.longest,
                bytes(data.kv_bytes)
            ),
        );
    }
    tasks(report, &mut lines);
    lines.add("schedule", stats.schedule.as_deref().unwrap_or("none"));
    lines.add_all("grid", &stats.grid);
    lines.add(
        "time",
        &format!(
            "run {} on {}; first task after {}; plan {}",
            millis(stats.run),
            counted(u64::from(stats.threads), "thread"),
            millis(stats.first_task),
            millis(stats.plan)
        ),
    );
    lines.cache(report.cache.as_ref());
    match &stats.aicpus {
        Some(outcome) => {
            let given = "the generators, which each runs for its own tasks";
            aicpus::add(outcome, given, stats.graph.overlapped, &mut lines);
        }
        None if stats.graph.is_counted() => lines.add("graph", &graph(&stats.graph)),
        None => {}
    }
    if let Some(rate) = report.kv_gb_per_s() {
        lines.add("KV read", &format!("{rate:.2} GB/s"));
    }
    let balance: Vec<String> = [
        report.planned_balance().map(|b| format!("{b:.2} planned on {}", counted(stats.max_blocks, "block"))),
        report
            .measured_balance()
            .map(|b| format!("{b:.2} measured on {}", counted(u64::from(stats.threads), "thread"))),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !balance.is_empty() {
        lines.add("balance", &format!("{} (longest / mean)", balance.join(", ")));
    }
    report.check.add_to(&report.findings, &mut lines);
    lines.finish(&report.program)
}

/// Edges, overlap of generation and execution, and what became of placement and prefetch.
pub(super) fn graph(graph: &GraphStats) -> String {
    let mut parts = vec![
        counted(graph.edges(), "edge").to_string(),
        format!("{} done while generating", counted(graph.overlapped, "task")),
    ];
    let placed = graph.affinity_hits + graph.affinity_misses;
    if placed > 0 {
        parts.push(format!("{} of {placed} placed as asked", graph.affinity_hits));
    }
    let fetched = graph.prefetch_issued + graph.prefetch_missed;
    if fetched > 0 {
        parts.push(format!("{} of {fetched} prefetched", graph.prefetch_issued));
    }
    parts.join(", ")
}

pub(super) fn tiers<'a>(groups: impl Iterator<Item = (&'a str, u64)>) -> String {
    let parts: Vec<String> =
        groups.filter(|(_, n)| *n > 0).map(|(kernel, n)| format!("{n} {kernel}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// `wrong` says what is, apart from values that differ.
pub(super) fn comparison(check: &Comparison, wrong: Option<&str>) -> String {
    if check.elements == 0 {
        return format!("`{}` not compared: it has no elements", check.name);
    }
    if check.compared() == 0 {
        return format!("`{}` not compared: every element is NaN on both sides", check.name);
    }
    let verdict = match (check.passed(), wrong) {
        (true, None) => "ok".to_owned(),
        (false, _) => "WRONG".to_owned(),
        (true, Some(wrong)) => format!("WRONG: {wrong}; what is compared agrees"),
    };
    let nan = match check.nans - check.wrong_nans {
        0 => String::new(),
        nans => format!(", {} NaN on both sides", counted(nans, "element")),
    };
    format!(
        "`{}` {verdict}: max error {:.2e}, {:.1}% of what is allowed{nan}; against {}",
        check.name,
        check.max_abs,
        check.max_ratio * 100.0,
        check.against.text()
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    #[test]
    fn a_summary_fits_a_screen() {
        expect![[r#"
            examples/decode_attention.pto
              sequences  32 with 41230 tokens, the longest 16384; 42.2 MB of keys and values, made up from seed 1
              chunks     72 (kv_chunk by 2731)
              tiers      60 decode_kernel_2k, 12 decode_kernel_64k
              merges     2 merge_partial_outputs
              workspace  26.1 KB in 12 slots
              schedule   DecodeSchedule
              time       run 14.2 ms on 2 threads; first task after 0.412 ms; plan 0.140 ms
              graph      12 edges, 3 tasks done while generating, 72 of 72 placed as asked, 60 of 68 prefetched
              KV read    2.97 GB/s
              balance    1.00 planned on 72 blocks, 1.04 measured on 2 threads (longest / mean)
              check      `output` ok: max error 2.40e-5, 2.3% of what is allowed; against f64 reference `paged_decode_attention`
        "#]].assert_eq(&super::run(&super::super::sample()));
    }
}
