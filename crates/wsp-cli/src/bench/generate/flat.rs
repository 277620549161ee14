//! Nanoseconds per own task of one AICPU, while there are more and more of them.

use super::super::runtime::measure::median;
use super::super::runtime::table::{Row, Target};
use super::Plan;
use super::nest::Nest;
use wsp_core::ptow::interp::Mode;

/// Numbers of AICPUs.
const AICPUS: [u16; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Iterations of the inner loop.
const INNER: u32 = 1024;
/// How much more than alone an AICPU's task may cost among 64.
const FLAT: f64 = 1.1;

/// Policies: what the schedule says for so many tasks and AICPUs.
const POLICIES: [(&str, fn(u64, u16) -> String); 4] = [
    ("round_robin", |_, _| "round_robin".to_owned()),
    ("affinity outer", |_, _| "affinity(i)".to_owned()),
    ("affinity inner", |_, _| "affinity(j)".to_owned()),
    ("static_partition", partition),
];

fn partition(tasks: u64, n: u16) -> String {
    let each = tasks / u64::from(n);
    let ranges: Vec<String> =
        (0..u64::from(n)).map(|i| format!("{}..{}", i * each, (i + 1) * each)).collect();
    format!("static_partition([{}])", ranges.join(", "))
}

/// Measures each policy.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let inner = INNER.min(plan.own);
    let outer = plan.own / inner;
    for (name, policy) in POLICIES {
        let mut nests = Vec::new();
        for n in AICPUS {
            let outer = u64::from(outer) * u64::from(n);
            let policy = policy(outer * u64::from(inner), n);
            let source = format!("{}schedule {{ dispatch({policy}); }}\n", super::dense::SOURCE);
            nests.push(Nest::new(&source, &[("n", outer), ("m", inner.into())])?);
        }
        let mut times = vec![Vec::new(); AICPUS.len()];
        for _ in 0..=plan.rounds {
            for ((n, nest), times) in AICPUS.into_iter().zip(&nests).zip(&mut times) {
                let took = nest.generate(&nest.config(n, n / 2)?, Mode::Skip)?;
                if took.sum.tasks != u64::from(plan.own) {
                    return Err(format!("{name}, {n}: {} own tasks, not {}", took.sum.tasks, plan.own));
                }
                times.push(took.ns / f64::from(plan.own));
            }
        }
        let medians: Vec<f64> = times.into_iter().map(|times| median(times[1..].to_vec())).collect();
        for (n, ns) in AICPUS.into_iter().zip(&medians) {
            row(Row { ours: *ns, ..Row::plain(name, n.into(), "ns/own task") });
        }
        let (first, last) = (medians[0], medians[medians.len() - 1]);
        row(Row {
            ours: last / first,
            target: Some(Target::AtMost(FLAT)),
            ..Row::plain(name, 64, "times as with 1")
        });
    }
    Ok(())
}
