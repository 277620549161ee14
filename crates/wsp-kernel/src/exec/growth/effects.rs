//! Where lengths come in, and where what follows from them goes.

use super::linear::{Linear, above, linear};
use super::run::{Mark, Run, int};
use super::{GrowingWord, Rate, TierOf, TierWord};
use crate::exec::code::{Code, Inst, Op};

impl Run<'_> {
    /// A tier, which may become another one as long as it is only emitted.
    pub(super) fn tier(&mut self, code: &Code, i: Inst, values: &[u64], marks: &mut [Mark], mark: &mut Mark) {
        let rate = self.settle(i.a as usize, marks);
        if rate == 0 {
            return;
        }
        let (thresholds, _) = &code.tiers[i.b as usize];
        let known = self.found.tables.iter().position(|table| table == thresholds);
        let table = known.unwrap_or_else(|| {
            self.found.tables.push(thresholds.clone());
            self.found.tables.len() - 1
        });
        let value = int(i.ty, values[i.a as usize]);
        match thresholds.bounds.last() {
            _ if rate < 0 => self.reach.end(),
            Some(&last) if !thresholds.default => {
                self.reach.keep(above(&Linear::constant(last), &linear(value, rate), 0));
            }
            _ => {}
        }
        self.tiers.push(TierOf { table, value, rate });
        match u32::try_from(self.tiers.len()) {
            Ok(number) => mark.tier = number,
            Err(_) => self.reach.end(),
        }
    }

    /// The rate of an element, of the largest or of the sum of the first ones.
    pub(super) fn loaded(&mut self, i: Inst, values: &[u64], marks: &mut [Mark]) -> i64 {
        self.freeze(i.b as usize, marks);
        let count = values[i.b as usize];
        let rate = self.rates.get(values[i.a as usize] as usize).copied().unwrap_or(Rate::Unknown);
        let found = match (rate, i.op) {
            (Rate::Constant, _) => Some(0),
            (Rate::One, Op::Load) => Some(1),
            (Rate::One, Op::ArrayMax) => Some(u64::from(count > 0)),
            (Rate::One, _) => Some(count),
            _ => None,
        };
        found.and_then(|rate| i64::try_from(rate).ok()).unwrap_or_else(|| {
            self.reach.end();
            0
        })
    }

    /// Lists the words of an emission that change.
    pub(super) fn emit(&mut self, code: &Code, site: u32, marks: &mut [Mark]) {
        let site = &code.emits[site as usize];
        let first = self.found.emitted;
        self.found.emitted += site.fields;
        for (at, &slot) in site.words.iter().enumerate() {
            let mark = marks[slot as usize];
            if at >= site.fields {
                // Values of hints are not changed in place.
                self.freeze(slot as usize, marks);
            } else if let Some(number) = mark.tier.checked_sub(1) {
                let of = self.tiers[number as usize];
                self.found.tiers.push(TierWord { word: first + at, of });
            } else if mark.rate != 0 {
                self.found.words.push(GrowingWord { word: first + at, rate: mark.rate });
            }
        }
    }

    /// Reserved slots must stay what they are.
    pub(super) fn reserve(&mut self, code: &Code, site: u32, marks: &mut [Mark]) {
        let site = &code.allocs[site as usize];
        // Where all tiers have slots of one size it does not matter which one asks.
        if site.tier_bytes.windows(2).any(|pair| pair[0] != pair[1]) {
            self.freeze(site.tier as usize, marks);
        }
        for &slot in site.key.iter().chain([&site.count, &site.index]) {
            self.freeze(slot as usize, marks);
        }
    }
}
