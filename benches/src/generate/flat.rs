//! Nanoseconds per own task of one AICPU, while there are more and more of them.

use super::super::runtime::measure::median;
use super::super::runtime::table::{Row, Target};
use super::Plan;
use super::nest::Nest;
use wsp_core::ptow::interp::Mode;

/// Numbers of AICPUs.
const AICPUS: [u16; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Own iterations of the inner loop.
const INNER: u32 = 1024;
/// Iterations of a short inner loop: fewer than there are AICPUs at most, so that own tasks lie in a row each.
const SHORT: u32 = 64;
/// How much more than alone an AICPU's task may cost among 64.
const FLAT: f64 = 1.1;

/// Which loop has more iterations the more AICPUs there are; the other has as many as one AICPU has on its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grows {
    /// The inner one, whose iterations are dealt.
    Inner,
    /// The outer one.
    Outer,
    /// The outer one, of short rows: next to none of a row's tasks belong to one AICPU.
    OuterOfShort,
}

/// A policy: what the schedule says for so many tasks and AICPUs.
struct Policy {
    name: &'static str,
    text: fn(u64, u16) -> String,
    grows: Grows,
}

const POLICIES: [Policy; 5] = [
    Policy { name: "round_robin", text: |_, _| "round_robin".to_owned(), grows: Grows::Inner },
    Policy { name: "affinity inner", text: |_, _| "affinity(j)".to_owned(), grows: Grows::Inner },
    Policy { name: "affinity outer", text: |_, _| "affinity(i)".to_owned(), grows: Grows::Outer },
    Policy { name: "static_partition", text: partition, grows: Grows::Outer },
    Policy { name: "rows of 64", text: |_, _| "round_robin".to_owned(), grows: Grows::OuterOfShort },
];

fn partition(tasks: u64, n: u16) -> String {
    let each = tasks / u64::from(n);
    let ranges: Vec<String> =
        (0..u64::from(n)).map(|i| format!("{}..{}", i * each, (i + 1) * each)).collect();
    format!("static_partition([{}])", ranges.join(", "))
}

/// Measures each policy.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    for Policy { name, text, grows } in POLICIES {
        let mut nests = Vec::new();
        for n in AICPUS {
            let (outer, inner) = extents(plan.own, n, grows);
            let policy = text(outer * inner, n);
            let source = format!("{}schedule {{ dispatch({policy}); }}\n", super::dense::SOURCE);
            nests.push(Nest::new(&source, &[("n", outer), ("m", inner)])?);
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
            target: (grows != Grows::OuterOfShort).then_some(Target::AtMost(FLAT)),
            ..Row::plain(name, 64, "times as with 1")
        });
    }
    Ok(())
}

/// Iterations of the outer and of the inner loop, of which one AICPU of `n` has `own` tasks.
fn extents(own: u32, n: u16, grows: Grows) -> (u64, u64) {
    let inner = if grows == Grows::OuterOfShort { SHORT } else { INNER }.min(own);
    let (outer, inner, n) = (u64::from(own / inner), u64::from(inner), u64::from(n));
    if grows == Grows::Inner { (outer, inner * n) } else { (outer * n, inner) }
}
