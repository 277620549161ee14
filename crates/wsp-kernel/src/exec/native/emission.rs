//! Room of a host's buffer that compiled code writes descriptors into.

use crate::exec::vm::Vm;

/// Descriptors that are made room for at a time.
const RESERVED: usize = 1024;

/// Room for some descriptors, whatever their sites. What was written belongs to the buffer once settled.
#[repr(C)]
pub(super) struct Lent {
    /// Descriptors that still fit.
    pub(super) left: u64,
    pub(super) next_word: *mut u32,
    pub(super) next_site: *mut u16,
    pub(super) next_hint: *mut u32,
    /// The numbers that the buffer gave the entry's emissions.
    pub(super) numbers: *const u16,
    first_word: *mut u32,
    first_site: *mut u16,
    first_hint: *mut u32,
}

impl Lent {
    /// Room in the buffer of the run's host, if it has one.
    pub(super) fn new(vm: &mut Vm<'_>) -> Lent {
        let mut lent = Lent {
            left: 0,
            next_word: std::ptr::null_mut(),
            next_site: std::ptr::null_mut(),
            next_hint: std::ptr::null_mut(),
            numbers: std::ptr::null(),
            first_word: std::ptr::null_mut(),
            first_site: std::ptr::null_mut(),
            first_hint: std::ptr::null_mut(),
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
        lent.renew(vm);
        lent
    }

    /// Makes room again after [`Lent::settle`].
    pub(super) fn renew(&mut self, vm: &mut Vm<'_>) {
        if self.numbers.is_null() {
            return;
        }
        let sites = &vm.program.entry().emits;
        let most = sites.iter().map(|site| site.fields).max().unwrap_or(0);
        let most_hints = sites.iter().map(|site| site.words.len() - site.fields).max().unwrap_or(0);
        if let Some(flat) = vm.host.as_deref_mut().and_then(|host| host.flat()) {
            let (words, sites, hints) = flat.spare(RESERVED, most, most_hints);
            let fit = |room: usize, most: usize| room.checked_div(most).unwrap_or(usize::MAX);
            let left = fit(words.len(), most).min(fit(hints.len(), most_hints)).min(sites.len());
            self.left = left as u64;
            self.next_word = words.as_mut_ptr().cast();
            self.next_site = sites.as_mut_ptr().cast();
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
        self.left = 0;
        if sites > 0
            && let Some(flat) = vm.host.as_deref_mut().and_then(|host| host.flat())
        {
            // SAFETY: the code has written so many words, sites and values from the start of the spare room on, which nobody has
            // touched since.
            unsafe { flat.keep(words, sites, hints) };
        }
    }
}
