//! Slots of workspace whose reservation the host has told of already.

use super::function::Translator;
use super::helpers::Helper;
use super::run::Run;
use crate::exec::code::{Code, Inst, WsSite};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData};
use std::mem::offset_of;

/// Words of what is known of a reservation: how many slots it has, or 0 where nothing is known; its tier; where its first slot
/// lies; bytes per slot. Those of its key follow.
const COUNT: usize = 0;
const TIER: usize = 1;
const BASE: usize = 2;
const BYTES: usize = 3;
const HEAD: usize = 4;

/// Words that the reservations of a function take.
pub(super) fn words(code: &Code) -> usize {
    code.allocs.iter().map(entry_words).sum()
}

fn entry_words(site: &WsSite) -> usize {
    HEAD + site.key.len()
}

/// The first word of the reservation that an allocation asked for last: the same for all of one tier set and length of keys.
fn entry(code: &Code, number: u32) -> usize {
    let of = &code.allocs[number as usize];
    let other = |site: &&WsSite| (site.set, site.key.len()) != (of.set, of.key.len());
    code.allocs.iter().take_while(other).map(entry_words).sum()
}

impl Run<'_, '_> {
    /// Takes down the reservation of an allocation whose slot lies at `offset`, if the host allows that.
    pub(super) fn remember(&mut self, code: &Code, number: u32, frame: &[u64], offset: u64) {
        if !self.vm.host.as_deref().is_some_and(|host| host.remembers_slots()) {
            return;
        }
        let site = &code.allocs[number as usize];
        let word = |slot: u32| frame[slot as usize];
        let bytes = site.tier_bytes[word(site.tier) as usize];
        let base = offset.wrapping_sub(word(site.index).wrapping_mul(bytes));
        let first = entry(code, number);
        let head = [word(site.count), word(site.tier), base, bytes];
        let values = head.into_iter().chain(site.key.iter().map(|slot| word(*slot)));
        for (known, value) in self.vm.known[first..].iter().zip(values) {
            known.set(value);
        }
    }
}

impl Translator<'_> {
    /// A slot of workspace: of the reservation that was asked for last, or from the host.
    pub(super) fn alloc_ws(&mut self, pc: usize, i: Inst) {
        let site = &self.code.allocs[i.a as usize];
        let first = entry(self.code, i.a);
        let known = self.load_run(offset_of!(Run<'_, '_>, known));
        let word = |t: &mut Self, at: usize| {
            t.b.ins().load(I64, MemFlagsData::trusted(), known, 8 * (first + at) as i32)
        };
        let (count, index) = (self.get(site.count), self.get(site.index));
        let mut is_known = self.b.ins().icmp(IntCC::UnsignedLessThan, index, count);
        let words = [(COUNT, site.count), (TIER, site.tier)];
        let keys = site.key.iter().enumerate().map(|(n, slot)| (HEAD + n, *slot));
        for (at, slot) in words.into_iter().chain(keys) {
            let (have, want) = (word(self, at), self.get(slot));
            let same = self.b.ins().icmp(IntCC::Equal, have, want);
            is_known = self.b.ins().band(is_known, same);
        }
        let [direct, ask, next] = [(); 3].map(|()| self.b.create_block());
        let value = self.b.append_block_param(next, I64);
        self.b.ins().brif(is_known, direct, &[], ask, &[]);

        self.b.switch_to_block(ask);
        self.spill(i);
        self.call_checked(Helper::AllocWs, pc);
        let asked = self.load_run(offset_of!(Run<'_, '_>, value));
        self.b.ins().jump(next, &[asked.into()]);

        self.b.switch_to_block(direct);
        let (base, bytes) = (word(self, BASE), word(self, BYTES));
        let within = self.b.ins().imul(index, bytes);
        let found = self.b.ins().iadd(base, within);
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(next);
        self.set(i.dst, value);
    }
}
