//! Room of a host's buffer that compiled code writes descriptors into.

use super::function::Translator;
use super::run::Run;
use crate::exec::code::Inst;
use crate::exec::vm::Vm;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData};
use std::mem::offset_of;

/// Descriptors that are made room for at a time.
const RESERVED: usize = 1024;

/// Room for some descriptors, whatever their sites. What was written belongs to the buffer once settled.
#[repr(C)]
pub(super) struct Lent {
    pub(super) next_word: *mut u32,
    pub(super) next_site: *mut u16,
    /// Where the sites of the descriptors that fit end.
    pub(super) end_site: *mut u16,
    pub(super) next_hint: *mut u32,
    /// The numbers that the buffer gave the entry's emissions.
    pub(super) numbers: *const u16,
    first_word: *mut u32,
    first_site: *mut u16,
    first_hint: *mut u32,
    /// Most fields and values of hints of a descriptor.
    most: [usize; 2],
}

impl Lent {
    /// Room in the buffer of the run's host, if it has one.
    pub(super) fn new(vm: &mut Vm<'_>) -> Lent {
        let mut lent = Lent {
            next_word: std::ptr::null_mut(),
            next_site: std::ptr::null_mut(),
            end_site: std::ptr::null_mut(),
            next_hint: std::ptr::null_mut(),
            numbers: std::ptr::null(),
            first_word: std::ptr::null_mut(),
            first_site: std::ptr::null_mut(),
            first_hint: std::ptr::null_mut(),
            most: [0; 2],
        };
        let sites = &vm.program.entry().emits;
        let Some(flat) = vm.host.as_deref_mut().filter(|_| !sites.is_empty()).and_then(|host| host.flat())
        else {
            return lent;
        };
        vm.sites.clear();
        for site in sites {
            match flat.register(site.descriptor, site.fields, &site.hints) {
                Some(number) => vm.sites.push(number),
                None => return lent,
            }
        }
        lent.numbers = vm.sites.as_ptr();
        lent.most = [
            sites.iter().map(|site| site.fields).max().unwrap_or(0),
            sites.iter().map(|site| site.words.len() - site.fields).max().unwrap_or(0),
        ];
        lent.renew(vm);
        lent
    }

    /// Makes room again after [`Lent::settle`].
    pub(super) fn renew(&mut self, vm: &mut Vm<'_>) {
        if self.numbers.is_null() {
            return;
        }
        let [most, most_hints] = self.most;
        if let Some(flat) = vm.host.as_deref_mut().and_then(|host| host.flat()) {
            let (words, sites, hints) = flat.spare(RESERVED, most, most_hints);
            let fit = |capacity: usize, most: usize| capacity.checked_div(most).unwrap_or(usize::MAX);
            let left = fit(words.len(), most).min(fit(hints.len(), most_hints)).min(sites.len());
            let sites = sites[..left].as_mut_ptr_range();
            self.next_word = words.as_mut_ptr().cast();
            self.next_site = sites.start.cast();
            self.end_site = sites.end.cast();
            self.next_hint = hints.as_mut_ptr().cast();
            self.first_word = self.next_word;
            self.first_site = self.next_site;
            self.first_hint = self.next_hint;
        }
    }

    /// Hands over what was written.
    pub(super) fn settle(&mut self, vm: &mut Vm<'_>) {
        let words = (self.next_word.addr() - self.first_word.addr()) / size_of::<u32>();
        let sites = (self.next_site.addr() - self.first_site.addr()) / size_of::<u16>();
        let hints = (self.next_hint.addr() - self.first_hint.addr()) / size_of::<u32>();
        self.first_word = self.next_word;
        self.first_site = self.next_site;
        self.first_hint = self.next_hint;
        self.end_site = self.next_site;
        if sites > 0
            && let Some(flat) = vm.host.as_deref_mut().and_then(|host| host.flat())
        {
            // SAFETY: the code has written so many words, sites and values from the start of the spare room on, which nobody has
            // touched since.
            unsafe { flat.keep(words, sites, hints) };
            vm.emitted_at = vm.steps;
        }
    }
}

impl Translator<'_> {
    /// A task: written to the host's buffer where there is room.
    pub(super) fn emit(&mut self, pc: usize, i: Inst) {
        let site = &self.code.emits[i.a as usize];
        let lent = offset_of!(Run<'_, '_>, lent);
        let site_at = lent + offset_of!(Lent, next_site);
        let at = self.load_run(site_at);
        let end = self.load_run(lent + offset_of!(Lent, end_site));
        let is_full = self.b.ins().icmp(IntCC::Equal, at, end);
        let (direct, full, next) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(is_full, full, &[], direct, &[]);

        self.b.switch_to_block(full);
        self.b.set_cold_block(full);
        self.outlined(pc, i);
        self.b.ins().jump(next, &[]);

        self.b.switch_to_block(direct);
        let (fields, hints) = site.words.split_at(site.fields);
        self.append(fields, lent + offset_of!(Lent, next_word));
        self.append(hints, lent + offset_of!(Lent, next_hint));
        let flags = MemFlagsData::trusted();
        let numbers = self.load_run(lent + offset_of!(Lent, numbers));
        let number = self.b.ins().uload16(I64, flags, numbers, 2 * i.a as i32);
        self.b.ins().istore16(flags, number, at, 0);
        let at = self.b.ins().iadd_imm_s(at, 2);
        self.store_run(site_at, at);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Writes the low words of slots where the pointer in a field of the run says, and moves it on.
    fn append(&mut self, slots: &[u32], pointer: usize) {
        if slots.is_empty() {
            return;
        }
        let at = self.load_run(pointer);
        for (n, slot) in slots.iter().enumerate() {
            let value = self.get(*slot);
            self.b.ins().istore32(MemFlagsData::trusted(), value, at, 4 * n as i32);
        }
        let end = self.b.ins().iadd_imm_s(at, 4 * slots.len() as i64);
        self.store_run(pointer, end);
    }
}
