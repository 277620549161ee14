//! Words of a plan that follow growing requests.

use super::Plan;
use super::generate::Run;
use std::cmp::Reverse;
use wsp_diag::Diagnostic;
use wsp_ir::{ArrayRef, LaunchArray, MetaKind};
use wsp_kernel::{Growing, Rate, Stripe, stripes};

/// A reach below this is not worth the run that finds it out: that takes as long as some tens of runs of compiled code.
const LITTLE: u64 = 64;
/// Most advances without another try, as a power of two.
const MOST_PATIENCE: u32 = 10;

/// How a plan follows growing requests, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Patches {
    known: Option<Known>,
    /// Advances to come before it is worth finding out.
    wait: u32,
    patience: u32,
}

#[derive(Clone, Debug)]
struct Known {
    growing: Vec<(usize, Growing)>,
    stripes: Vec<Stripe>,
    /// The last number of tokens at which a tier holds, with the stage and the word's number, the next one last.
    due: Vec<(Reverse<u64>, usize, usize)>,
    reach: u64,
    /// Tokens since the generators ran.
    tokens: u64,
}

impl Patches {
    /// The descriptors are others now.
    pub(super) fn forget(&mut self) {
        self.known = None;
    }

    /// Changes the words for one token more of every request; the number of words changed, or none when more than words
    /// would change.
    pub(super) fn advance(&mut self, words: &mut [u32]) -> Option<u32> {
        let known = self.known.as_mut()?;
        (known.tokens < known.reach).then(|| known.advance(words))
    }

    /// Whether to find out, before an advance, what follows growing requests.
    pub(super) fn is_worth_it(&mut self) -> bool {
        if self.known.is_some() {
            return false;
        }
        self.wait = self.wait.saturating_sub(1);
        self.wait == 0
    }

    /// Takes what was found out, per stage with the stage's first word; it is of use for no more than `most` tokens. Where it does
    /// not reach far, the next try waits.
    pub(super) fn learn(&mut self, found: Option<Vec<(usize, Growing)>>, most: u64) {
        let reach = found.iter().flatten().map(|(_, growing)| growing.reach.min(most)).min().unwrap_or(0);
        self.patience = if reach < LITTLE { (self.patience + 1).min(MOST_PATIENCE) } else { 0 };
        self.wait = if reach < LITTLE { 1 << self.patience } else { 0 };
        let Some(growing) = found.filter(|_| reach > 0) else { return };
        let mut known = Known { stripes: stripes(&growing), growing, due: Vec::new(), reach, tokens: 0 };
        for (stage, (_, growing)) in known.growing.iter().enumerate() {
            for (number, word) in growing.tiers.iter().enumerate() {
                if let Some((_, last)) = growing.tier(word, 0).filter(|(_, last)| *last < reach) {
                    known.due.push((Reverse(last), stage, number));
                }
            }
        }
        known.due.sort_unstable();
        self.known = Some(known);
    }
}

impl Known {
    fn advance(&mut self, words: &mut [u32]) -> u32 {
        self.tokens += 1;
        let mut changed = 0;
        for stripe in &self.stripes {
            changed += stripe.advance(words);
        }
        while let Some((_, stage, number)) = self.due.pop_if(|(Reverse(last), ..)| *last < self.tokens) {
            let (first, growing) = &self.growing[stage];
            let word = &growing.tiers[number];
            let (tier, last) =
                growing.tier(word, self.tokens).expect("within reach every length should have a tier");
            words[first + word.word] = tier;
            changed += 1;
            if last < self.reach {
                let entry = (Reverse(last), stage, number);
                let at = self.due.partition_point(|other| *other < entry);
                self.due.insert(at, entry);
            }
        }
        changed
    }
}

impl Plan {
    /// Finds out what follows growing requests; the plan's surroundings must be up to date.
    pub(super) fn look_ahead(&mut self) -> Result<(), Vec<Diagnostic>> {
        let run = Run { plan: &self.lowered, bound: &self.bound, env: &self.env };
        let rate = |array: ArrayRef| match array {
            _ if self.grows(array) => Rate::One,
            ArrayRef::Tensor(_) => Rate::Constant,
            ArrayRef::Local(_) | ArrayRef::Meta(..) => Rate::Unknown,
            ArrayRef::Derived(derived) => match derived.of {
                LaunchArray::Meta(_, kind) if kind != MetaKind::Lengths => Rate::Unknown,
                // All requests grow alike, so an order by length stays. Cuts stay where they are as long as they are good.
                LaunchArray::Meta(..) | LaunchArray::Tensor(_) => Rate::Constant,
            },
        };
        let found = run.look_ahead(&self.generators, &rate, self.flat.words())?;
        let kept = if found.is_some() { self.kept_for() } else { 0 };
        self.patches.learn(found, kept);
        Ok(())
    }
}
