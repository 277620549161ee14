//! Who holds how much memory of a device: what is refused, and what a run reached at most.

use super::codes;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wsp_backend::{BytesByLocation, Peak};
use wsp_core::tg::MemLocation;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ordered::{Arrange, OrderedMap};

/// Most holders that a refusal names.
const NAMED: usize = 5;

/// The memory of one device.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    /// Bytes that there are; none if nothing but the machine sets a bound.
    capacity: Option<u64>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    in_use: BytesByLocation,
    total: u64,
    peak: BytesByLocation,
    peak_total: u64,
    /// Bytes by what is said of the holder.
    holders: OrderedMap<String, u64>,
}

/// A piece of memory that somebody asks for or holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    /// Who: the allocation and its graph.
    pub(crate) who: String,
    pub(crate) bytes: u64,
    pub(crate) location: MemLocation,
}

impl Accounts {
    /// A device with so many bytes.
    pub(crate) fn new(capacity: Option<u64>) -> Accounts {
        Accounts { capacity, held: Mutex::default() }
    }

    /// Enters claims: all of them, or none.
    ///
    /// # Errors
    /// There is less memory left. The refusal names what is asked for, what is in use, what there is, and the largest holders.
    pub(crate) fn reserve(&self, claims: &[Claim]) -> Result<(), Box<Diagnostic>> {
        let mut held = self.held();
        let asked = claims.iter().fold(0u64, |sum, claim| sum.saturating_add(claim.bytes));
        if let Some(capacity) = self.capacity
            && held.total.checked_add(asked).is_none_or(|total| total > capacity)
        {
            return Err(Box::new(refusal(&held, claims, asked, capacity)));
        }
        for claim in claims {
            held.in_use[claim.location as usize] += claim.bytes;
            held.total = held.total.saturating_add(claim.bytes);
            *held.holders.entry(claim.who.clone()).or_default() += claim.bytes;
        }
        let held = &mut *held;
        for (peak, in_use) in held.peak.iter_mut().zip(&held.in_use) {
            *peak = (*peak).max(*in_use);
        }
        held.peak_total = held.peak_total.max(held.total);
        Ok(())
    }

    /// Strikes claims off.
    pub(crate) fn release(&self, claims: &[Claim]) {
        let mut held = self.held();
        for claim in claims {
            held.in_use[claim.location as usize] -= claim.bytes;
            held.total -= claim.bytes;
            if let Some(bytes) = held.holders.get_mut(&claim.who) {
                *bytes -= claim.bytes;
                if *bytes == 0 {
                    held.holders.remove(&claim.who);
                }
            }
        }
    }

    /// The refusal of the machine itself.
    pub(crate) fn refused_by_machine(&self, claim: &Claim) -> Box<Diagnostic> {
        let held = self.held();
        let message =
            format!("the machine has no memory for the {} of {}", counted(claim.bytes, "byte"), claim.who);
        Box::new(described(Diagnostic::error(codes::OUT_OF_MEMORY, message), &held, claim.bytes))
    }

    /// What was in use at most.
    pub(crate) fn peak(&self) -> Peak {
        let held = self.held();
        Peak { by_location: held.peak, total: held.peak_total }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal(held: &Held, claims: &[Claim], asked: u64, capacity: u64) -> Diagnostic {
    let who = match claims {
        [one] => one.who.clone(),
        all => {
            let largest = all.iter().max_by_key(|claim| claim.bytes);
            largest.map_or_else(String::new, |c| format!("{} and {}", c.who, counted(all.len() - 1, "other")))
        }
    };
    let message = format!("there is no memory for {who}");
    let fault = Diagnostic::error(codes::OUT_OF_MEMORY, message)
        .note(format!("the device has {capacity}", capacity = counted(capacity, "byte")));
    described(fault, held, asked)
        .help("release tensors that are not needed any more with `MC_FREE`, or raise the capacity: `--memory BYTES`")
        .python("release tensors that are not needed any more with `MC_FREE`, or raise the capacity: `graph.run(…, memory=BYTES)`")
}

fn described(mut fault: Diagnostic, held: &Held, asked: u64) -> Diagnostic {
    fault = fault.note(format!(
        "asked for: {asked}; in use: {}",
        counted(held.total, "byte"),
        asked = counted(asked, "byte")
    ));
    let mut largest: Vec<(&String, u64)> = held.holders.iter().map(|(who, bytes)| (who, *bytes)).collect();
    largest.arrange_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    if !largest.is_empty() {
        let named: Vec<String> =
            largest.iter().take(NAMED).map(|(who, bytes)| format!("{who} ({bytes})")).collect();
        fault = fault.note(format!("largest users: {}", named.join(", ")));
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(who: &str, bytes: u64, location: MemLocation) -> Claim {
        Claim { who: who.to_owned(), bytes, location }
    }

    /// ISA-MC-04.
    #[test]
    fn a_refusal_names_what_is_asked_in_use_and_there_and_the_largest_users() {
        let accounts = Accounts::new(Some(1000));
        accounts.reserve(&[claim("`A`", 100, MemLocation::Gm)]).expect("it fits");
        accounts.reserve(&[claim("`B`", 500, MemLocation::L2)]).expect("it fits");
        let fault = accounts.reserve(&[claim("`C`", 401, MemLocation::Gm)]).expect_err("too much");
        let text = format!("{} {:?} {:?}", fault.message, fault.notes, fault.help);
        for part in
            ["`--memory BYTES`", "`C`", "401 bytes", "600 bytes", "1000 bytes", "`B` (500), `A` (100)"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        accounts.reserve(&[claim("`C`", 400, MemLocation::Gm)]).expect("it fits exactly");
        assert_eq!(accounts.held().total, 1000);
    }

    #[test]
    fn peaks_are_kept_by_place_and_in_all() {
        let accounts = Accounts::new(None);
        let (a, b) = (claim("`A`", 100, MemLocation::Gm), claim("`B`", 50, MemLocation::Shared));
        accounts.reserve(std::slice::from_ref(&a)).expect("there is no bound");
        accounts.release(std::slice::from_ref(&a));
        accounts.reserve(&[b.clone(), b.clone()]).expect("there is no bound");
        let peak = accounts.peak();
        assert_eq!((peak.by_location, peak.total), ([100, 0, 0, 100], 100));
        accounts.release(&[b.clone(), b]);
        assert_eq!(accounts.held().total, 0);
    }

    #[test]
    fn claims_are_entered_all_or_none() {
        let accounts = Accounts::new(Some(10));
        let both = [claim("`A`", 6, MemLocation::Gm), claim("`B`", 6, MemLocation::Gm)];
        assert!(accounts.reserve(&both).is_err());
        assert_eq!(accounts.held().total, 0);
        assert!(accounts.reserve(&[claim("`A`", u64::MAX, MemLocation::Gm)]).is_err());
    }
}
