//! What runs without data tell: whether sequences hang, each alone, or behind others whose objects cores hold.

use super::Findings;
use crate::codes;
use crate::design::Design;
use crate::run::{Deadlock, foresee};
use wsp_diag::Diagnostic;

/// Whether all was followed: where it was not, uses of buffers are to be looked at by what is written.
pub(super) fn check(design: &Design, findings: &mut Findings) -> bool {
    let mut is_followed = true;
    if design.sequences.is_empty() {
        let found = foresee(design, (&[], None));
        is_followed = found.is_some();
        findings.0.extend(found.into_iter().flatten().flatten().filter(Diagnostic::is_error));
    }
    let (mut launched, mut hanging) = (Vec::new(), Vec::new());
    for at in 0..design.sequences.len() {
        match foresee(design, (&[], Some(at))) {
            Some(Err(deadlock)) => hanging.push((at, deadlock)),
            Some(Ok(found)) => {
                // Uses of a buffer are the same in several sequences.
                let is_told = |one: &Diagnostic, have: &Diagnostic| {
                    (one.code, &one.message, &one.primary) == (have.code, &have.message, &have.primary)
                };
                found.into_iter().for_each(|one| {
                    if !findings.0.iter().any(|have| is_told(&one, have)) {
                        findings.0.push(one);
                    }
                });
                launched.push(at);
            }
            None => is_followed = false,
        }
    }
    // What one of them leaves with cores opens others, which may open more.
    loop {
        let count = hanging.len();
        let mut still = Vec::new();
        for (at, deadlock) in hanging {
            match behind(design, &launched, at) {
                Some((before, warnings)) => {
                    findings.0.extend(warnings);
                    opened(design, (&before, at), deadlock, findings);
                    launched.push(at);
                }
                None => still.push((at, deadlock)),
            }
        }
        hanging = still;
        if hanging.len() == count {
            break;
        }
    }
    for (at, deadlock) in hanging {
        let told = deadlock.diagnostic();
        findings.add(codes::STALL, design.sequences[at].span, told.message).notes = told.notes;
    }
    is_followed
}

/// The sequences behind which one does not hang: one of these, or all in their order.
fn behind(design: &Design, launched: &[usize], at: usize) -> Option<(Vec<usize>, Vec<Diagnostic>)> {
    let all = (launched.len() > 1).then(|| launched.to_vec());
    let mut ways = launched.iter().map(|one| vec![*one]).chain(all);
    ways.find_map(|before| {
        let warnings = foresee(design, (&before, Some(at)))?.ok()?;
        Some((before, warnings))
    })
}

/// Says that a sequence is to be launched behind others.
fn opened(design: &Design, (before, at): (&[usize], usize), deadlock: Deadlock, findings: &mut Findings) {
    let name = |at: &usize| format!("`@{}`", design.sequences[*at].name);
    let names: Vec<String> = before.iter().map(name).collect();
    let names = names.join(" and ");
    let message = format!("sequence {} hangs unless {names} is launched before it", name(&at));
    let warning =
        Diagnostic { notes: deadlock.diagnostic().notes, ..Diagnostic::warning(codes::STALL, message) };
    findings.0.push(warning.at(design.sequences[at].span, ""));
}
