//! Credits of pairs of locks around buffers of which a use is not followed: those of two locks that two users hand to each other are compared with the buffers between them.

use super::Findings;
use super::shared::{Access, Use, Uses};
use crate::codes;
use crate::design::User;
use crate::design::{Design, Lock};
use std::collections::BTreeMap;
use wsp_diag::Diagnostic;

/// A lock that one user acquires and another releases, as often and by as much as is written.
#[derive(Clone, Copy)]
struct Handed {
    by: User,
    to: User,
    acquires: u64,
    credits: i64,
    /// How much of the lock a credit is.
    each: i64,
}

impl Handed {
    fn of(lock: &Lock, uses: &BTreeMap<User, Use>) -> Option<Handed> {
        let (acquire, release): (Vec<_>, Vec<_>) = uses.iter().partition(|(_, of)| of.acquires > 0);
        let ([(to, one)], [(by, other)]) = (acquire.as_slice(), release.as_slice()) else { return None };
        let each = one.by.filter(|by| one.releases == 0 && other.by == Some(*by))?;
        Some(Handed { by: **by, to: **to, acquires: one.acquires, credits: lock.init / each, each })
    }

    /// Whether it is handed the other way.
    fn is_back(&self, other: &Handed) -> bool {
        (self.by, self.to) == (other.to, other.by)
    }
}

/// Two locks that two users hand to each other have one credit at most for each buffer between them.
pub(super) fn check(
    design: &Design,
    (uses, is_open): (&Uses, &dyn Fn(usize) -> bool),
    findings: &mut Findings,
) {
    let of = |(lock, uses)| Some((lock, Handed::of(lock, uses)?));
    let all: Vec<(&Lock, Handed)> = design.locks.iter().zip(&uses.locks).filter_map(of).collect();
    for (at, (lock, one)) in all.iter().enumerate() {
        for (beside, other) in all[at + 1..].iter().filter(|(_, other)| one.is_back(other)) {
            // Each descriptor of a chain acquires once; the other user's releases say how often a core acquires. Two cores use what both name.
            let of_chain =
                [one, other].iter().find_map(|of| matches!(of.to, User::Channel(..)).then_some(of.acquires));
            let is_of_both = |of: &BTreeMap<User, Access>| {
                let both = of.get(&one.by).zip(of.get(&one.to));
                both.is_some_and(|(by, to)| by.writes || to.writes)
            };
            let of_both = || uses.buffers.iter().filter(|of| is_of_both(of)).count() as u64;
            if !uses.buffers.iter().enumerate().any(|(at, of)| is_open(at) && is_of_both(of)) {
                continue;
            }
            let buffers = of_chain.unwrap_or_else(of_both);
            let given = one.credits.saturating_add(other.credits);
            let is_more = u64::try_from(given).is_ok_and(|given| given > buffers);
            // Of two pairs of locks around one buffer the one with fewer credits is enough.
            let is_kept = || buffers == 1 && of_both() == 1 && fewest(&all, one) <= 1;
            if buffers > 0 && lock.tile == beside.tile && is_more && !is_kept() {
                findings.0.push(too_many((lock, one), (beside, other), buffers));
            }
        }
    }
}

/// The fewest credits of two locks that these two users hand to each other.
fn fewest(all: &[(&Lock, Handed)], like: &Handed) -> i64 {
    let of = |is: &dyn Fn(&Handed) -> bool| {
        all.iter().filter(|(_, of)| is(of)).map(|(_, of)| of.credits).min().unwrap_or(0)
    };
    of(&|of| like.is_back(of)).saturating_add(of(&|of| (of.by, of.to) == (like.by, like.to)))
}

fn too_many((lock, one): (&Lock, &Handed), (beside, other): (&Lock, &Handed), buffers: u64) -> Diagnostic {
    let name = |lock: &Lock| lock.name.as_ref().map_or("a lock".to_owned(), |name| format!("`@{name}`"));
    let begin = lock.init.saturating_add(beside.init);
    let uses = match (one.each, other.each) {
        (1, 1) => String::new(),
        _ => format!(" for {} uses", one.credits.saturating_add(other.credits)),
    };
    let message = format!(
        "{} and {} of tile {} begin at {begin} together{uses}, with {} between {} and {}",
        name(lock),
        name(beside),
        lock.tile,
        wsp_core::words::counted(buffers, "buffer"),
        one.to,
        one.by
    );
    let most = i64::try_from(buffers).unwrap_or(i64::MAX).saturating_mul(one.each.min(other.each));
    Diagnostic::warning(codes::SHARED, message)
        .at(beside.span, "")
        .help(format!("have them begin at {most} together: both use a buffer at once else"))
}
