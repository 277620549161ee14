//! What runs without data tell: whether sequences hang, each alone, or behind others whose objects cores hold.

use super::Findings;
use crate::codes;
use crate::design::Design;
use crate::mlir::Value;
use crate::run::{Deadlock, foresee, unseen};
use std::collections::BTreeSet;
use wsp_diag::{Diagnostic, Span};

/// Sequences of which each two are launched one behind the other, for what they do to buffers.
const PAIRED: usize = 8;

/// Buffers of which a use was not followed: they are to be looked at by what is written. `None` where a launch was not followed, and so none of the buffers.
pub(super) fn check(design: &Design, findings: &mut Findings) -> Option<BTreeSet<Value>> {
    let mut is_followed = true;
    if design.sequences.is_empty() {
        let found = foresee(design, (&[], None));
        is_followed = found.is_some();
        findings.0.extend(found.into_iter().flatten().flatten());
    }
    let (mut launched, mut hanging) = (Vec::new(), Vec::new());
    for at in 0..design.sequences.len() {
        match foresee(design, (&[], Some(at))) {
            Some(Err(deadlock)) => hanging.push((at, deadlock)),
            Some(Ok(found)) => {
                // Where a channel is not there, nothing behind it was looked at.
                is_followed &= found.iter().all(|found| found.code != codes::SYMBOL);
                once(found, findings);
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
                    once(warnings, findings);
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
    is_followed &= pairs(design, &launched, findings);
    is_followed.then(|| unseen(design))
}

/// What one sequence does to a buffer meets what another one does that is launched before it; whether all was followed.
fn pairs(design: &Design, launched: &[usize], findings: &mut Findings) -> bool {
    let mut is_followed = true;
    if design.locks.is_empty() && design.dmas.is_empty() {
        return is_followed;
    }
    let all = &launched[..launched.len().min(PAIRED)];
    for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
        if one != other {
            let found = foresee(design, (&[*one], Some(*other)));
            is_followed &= found.is_some();
            let found = found.into_iter().flatten().flatten();
            once(found.filter(|found| found.code == codes::SHARED).collect(), findings);
        }
    }
    is_followed && launched.len() <= PAIRED
}

/// Adds what is not there yet: two uses of a buffer are the same in several sequences, whichever of them is first.
fn once(found: Vec<Diagnostic>, findings: &mut Findings) {
    for one in found {
        let places = |of: &Diagnostic| {
            of.primary.iter().chain(&of.labels).map(|label| label.span).collect::<BTreeSet<Span>>()
        };
        let is_there = |have: &Diagnostic| match one.code {
            codes::SHARED => have.code == one.code && places(have) == places(&one),
            _ => (have.code, &have.message, &have.primary) == (one.code, &one.message, &one.primary),
        };
        if !findings.0.iter().any(is_there) {
            findings.0.push(one);
        }
    }
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
