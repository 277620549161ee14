//! What a generator emits when every request grows, found out in one run.
//!
//! The run computes with integers that are linear in `d`, the number of tokens by which all requests have grown: their value
//! now and the change per token. At each operation whose result would not be linear, or whose outcome would be another one,
//! beyond some `d`, the reach of the run shrinks to that `d`: a branch is taken the same way, a quotient is the same, a sum
//! fits its type. So up to the reach each step is the same step, and every emitted word is linear in `d`.
//!
//! The tier of a length is the one exception, as tiers change often where there are many requests: where it is only emitted, the
//! word is listed with its length, and may change on the way.

mod effects;
mod linear;
mod run;
mod stripes;

use super::code::Thresholds;
use super::vm::{Buffers, Vm};
use super::{GeneratorCode, GeneratorHost, vm};
use crate::{Env, Trap};
use linear::Reach;
use run::{Mark, Run};
use std::sync::Arc;
pub use stripes::{Stripe, stripes};
use wsp_ir::ArrayRef;

/// How the elements of an array change when every request grows by one token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// Not at all.
    Constant,
    /// Each by one.
    One,
    /// In a way that is not linear.
    Unknown,
}

/// The lengths of requests that have grown by one token; none where one would not fit.
pub fn one_token_more(lengths: &[u32]) -> Option<Arc<[u32]>> {
    (!lengths.contains(&u32::MAX)).then(|| lengths.iter().map(|length| length + 1).collect())
}

/// What a generator emits when every request has grown by up to `reach` tokens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Growing {
    /// Most tokens.
    pub reach: u64,
    /// Words that change, in order of emission.
    pub words: Vec<GrowingWord>,
    /// Words that hold the tier of a growing length.
    pub tiers: Vec<TierWord>,
    tables: Vec<Thresholds>,
    /// Words emitted.
    pub emitted: usize,
}

/// A word that changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrowingWord {
    /// The word, counted from the first one emitted.
    pub word: usize,
    /// Change per token.
    pub rate: i64,
}

/// A word that holds a tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TierWord {
    /// The word, counted from the first one emitted.
    pub word: usize,
    of: TierOf,
}

/// The tier of a value that rises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct TierOf {
    table: usize,
    value: i128,
    rate: i64,
}

impl Growing {
    /// The tier after so many tokens, and the last number of tokens with this tier; none where no tier takes the length, which is
    /// beyond the reach.
    pub fn tier(&self, word: &TierWord, tokens: u64) -> Option<(u32, u64)> {
        self.tier_of(&word.of, tokens)
    }

    fn tier_of(&self, of: &TierOf, tokens: u64) -> Option<(u32, u64)> {
        let table = &self.tables[of.table];
        let tier = table.find(of.value + i128::from(of.rate) * i128::from(tokens))?;
        let last = table.bounds.get(tier as usize).map(|bound| (bound - of.value) / i128::from(of.rate));
        Some((tier, last.map_or(u64::MAX, |d| u64::try_from(d).unwrap_or(u64::MAX))))
    }
}

impl GeneratorCode {
    /// Runs the generator as [`GeneratorCode::run`] does, and finds out how what it emits follows requests that grow.
    /// `rate` says how the arrays of the launch do. The run ends early when the reach is 0.
    ///
    /// # Errors
    /// As [`GeneratorCode::run`].
    pub fn grow(
        &self,
        env: &Env,
        host: &mut dyn GeneratorHost,
        rate: &dyn Fn(ArrayRef) -> Rate,
        steps_limit: u64,
    ) -> Result<Growing, Trap> {
        let program = self.program();
        let (mut slots, mut buffers) = (Vec::new(), Buffers::default());
        let values = vm::frame(&mut slots, program.entry());
        let mut marks = vec![Mark::default(); values.len()];
        let mut vm = Vm::new(program, env, &mut buffers, steps_limit);
        vm.host = Some(host);
        let mut run = Run {
            vm,
            program,
            rates: env.array_refs().map(rate).collect(),
            reach: Reach(u64::MAX),
            tiers: Vec::new(),
            found: Growing::default(),
        };
        run.exec(program.entry(), values, &mut marks)?;
        run.found.reach = run.reach.0;
        Ok(run.found)
    }
}
