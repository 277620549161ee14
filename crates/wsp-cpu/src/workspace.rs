//! Where `PTO_ALLOC_WS` puts slots.

use crate::codes;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wsp_ir::Span;
use wsp_kernel::{Trap, WsRequest};

type Key = SmallVec<[u32; 8]>;

/// A reservation: slots side by side for one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reservation {
    base: u32,
    count: u32,
    slot_bytes: u64,
}

/// The workspace of one launch. The same requests in the same order give the same offsets, so that a sizing run tells
/// the exact size beforehand.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    reservations: FxHashMap<Key, Reservation>,
    bytes: u64,
    slots: u64,
}

impl Workspace {
    /// Slots reserved so far.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// Bytes reserved so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Offset of the slot asked for. `stage` keeps the keys of different generators apart.
    pub(crate) fn slot(&mut self, stage: u32, request: &WsRequest<'_>) -> Result<u32, Trap> {
        if request.slot_bytes == 0 {
            return Ok(0);
        }
        let mut key: Key = SmallVec::with_capacity(request.key.len() + 2);
        key.extend([stage, request.set.0]);
        key.extend_from_slice(request.key);
        let held = match self.reservations.get(&key) {
            Some(held) => *held,
            None => self.reserve(key, request)?,
        };
        if held.count != request.count || held.slot_bytes != request.slot_bytes {
            return Err(Trap::new(
                codes::WORKSPACE,
                format!(
                    "workspace of key {:?} was reserved as {} slots of {} bytes and is now asked for as {} of {}",
                    request.key, held.count, held.slot_bytes, request.count, request.slot_bytes
                ),
                Span::default(),
            ));
        }
        Ok(held.base + request.index * request.slot_bytes as u32)
    }

    fn reserve(&mut self, key: Key, request: &WsRequest<'_>) -> Result<Reservation, Trap> {
        let end =
            request.slot_bytes.checked_mul(u64::from(request.count)).and_then(|b| b.checked_add(self.bytes));
        let end = end.filter(|&end| u32::try_from(end).is_ok()).ok_or_else(|| {
            Trap::new(
                codes::WORKSPACE,
                "the workspace exceeds 4 GiB, which 32-bit offsets cannot reach",
                Span::default(),
            )
            .note(format!(
                "{} bytes are reserved, {} slots of {} bytes more are needed",
                self.bytes, request.count, request.slot_bytes
            ))
        })?;
        let base = u32::try_from(self.bytes).expect("offsets up to the end are checked to fit 32 bits");
        let reservation = Reservation { base, count: request.count, slot_bytes: request.slot_bytes };
        self.bytes = end;
        self.slots += u64::from(request.count);
        self.reservations.insert(key, reservation);
        Ok(reservation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::TierSetId;

    fn request(key: &[u32], count: u32, index: u32) -> WsRequest<'_> {
        WsRequest { set: TierSetId(0), tier: 0, slot_bytes: 192, key, count, index }
    }

    #[test]
    fn slots_of_one_key_are_contiguous_whatever_the_order_of_requests() {
        let mut ws = Workspace::default();
        assert_eq!(ws.slot(0, &request(&[0, 1], 3, 2)).unwrap(), 384);
        assert_eq!(ws.slot(0, &request(&[5, 1], 2, 0)).unwrap(), 576);
        assert_eq!(ws.slot(0, &request(&[0, 1], 3, 0)).unwrap(), 0);
        assert_eq!(ws.slot(0, &request(&[5, 1], 2, 1)).unwrap(), 768);
        assert_eq!(ws.bytes(), 5 * 192);
    }

    #[test]
    fn stages_do_not_share_slots() {
        let mut ws = Workspace::default();
        assert_eq!(ws.slot(0, &request(&[0], 1, 0)).unwrap(), 0);
        assert_eq!(ws.slot(1, &request(&[0], 1, 0)).unwrap(), 192);
    }

    #[test]
    fn a_workspace_past_four_gib_is_refused_before_anything_runs() {
        let mut ws = Workspace::default();
        assert_eq!(ws.slot(0, &request(&[0], u32::MAX, 0)).unwrap_err().code, codes::WORKSPACE);
        assert_eq!(ws.bytes(), 0);
    }

    #[test]
    fn a_key_that_changes_its_count_is_refused() {
        let mut ws = Workspace::default();
        ws.slot(0, &request(&[0], 2, 0)).unwrap();
        assert!(ws.slot(0, &request(&[0], 3, 0)).is_err());
    }
}
