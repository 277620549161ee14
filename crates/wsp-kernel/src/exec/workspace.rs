//! Where `PTO_ALLOC_WS` puts slots.

use super::host::WsRequest;
use super::trap::{Trap, WORKSPACE};
use wsp_core::words::counted;
use wsp_diag::Span;

/// A reservation: slots side by side for one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reservation {
    base: u32,
    count: u32,
    slot_bytes: u64,
    /// Where its key lies in [`Workspace::keys`]: stage and tier set come first.
    key: usize,
    words: usize,
}

/// The workspace of one launch. The same requests in the same order give the same offsets, so that a sizing run tells
/// the exact size beforehand.
#[derive(Debug, Default)]
pub struct Workspace {
    reservations: Vec<Reservation>,
    keys: Vec<u32>,
    /// One more than the number of a reservation, or 0, from the place on where the hash of its key says; a power of two, and
    /// at least twice as many as there are reservations.
    table: Vec<u32>,
    bytes: u64,
    slots: u64,
}

impl Workspace {
    /// Slots reserved so far.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Bytes reserved so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets all reservations; allocations stay.
    pub fn clear(&mut self) {
        self.reservations.clear();
        self.keys.clear();
        self.table.fill(0);
        self.bytes = 0;
        self.slots = 0;
    }

    /// Offset of the slot asked for. `stage` keeps the keys of different generators apart.
    pub fn slot(&mut self, stage: u32, request: &WsRequest<'_>) -> Result<u32, Trap> {
        if request.slot_bytes == 0 {
            return Ok(0);
        }
        let head = [stage, request.set.0];
        let held = match self.find(head, request.key) {
            Ok(number) => self.reservations[number],
            Err(place) => self.reserve(place, head, request)?,
        };
        if held.count != request.count || held.slot_bytes != request.slot_bytes {
            return Err(Trap::new(
                WORKSPACE,
                format!(
                    "workspace of key {:?} was reserved as {} of {} and is now asked for as {} of {}",
                    request.key,
                    counted(held.count, "slot"),
                    counted(held.slot_bytes, "byte"),
                    request.count,
                    request.slot_bytes
                ),
                Span::default(),
            )
            .help(
                "ask for a key with one tier and one number of slots, or make what differs a part of the key",
            ));
        }
        Ok(held.base + request.index * request.slot_bytes as u32)
    }

    /// The reservation of a key, or the place of the table where it belongs.
    fn find(&mut self, head: [u32; 2], key: &[u32]) -> Result<usize, usize> {
        if self.table.len() < 2 * (self.reservations.len() + 1) {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut place = hash(&[&head, key]) & mask;
        loop {
            let Some(number) = (self.table[place] as usize).checked_sub(1) else { return Err(place) };
            let [stage, set, rest @ ..] = self.key(number) else { return Err(place) };
            if [*stage, *set] == head && rest == key {
                return Ok(number);
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn key(&self, number: usize) -> &[u32] {
        let held = &self.reservations[number];
        &self.keys[held.key..held.key + held.words]
    }

    /// Makes the table larger.
    #[cold]
    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(64);
        self.table.clear();
        self.table.resize(size, 0);
        for number in 0..self.reservations.len() {
            let mut place = hash(&[self.key(number)]) & (size - 1);
            while self.table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = number as u32 + 1;
        }
    }

    fn reserve(
        &mut self,
        place: usize,
        head: [u32; 2],
        request: &WsRequest<'_>,
    ) -> Result<Reservation, Trap> {
        let end =
            request.slot_bytes.checked_mul(u64::from(request.count)).and_then(|b| b.checked_add(self.bytes));
        let end = end.filter(|&end| u32::try_from(end).is_ok()).ok_or_else(|| {
            Trap::new(
                WORKSPACE,
                "the workspace exceeds 4 GiB, which 32-bit offsets cannot reach",
                Span::default(),
            )
            .note(format!(
                "{} are reserved, {} of {} more are needed",
                counted(self.bytes, "byte"),
                counted(request.count, "slot"),
                counted(request.slot_bytes, "byte")
            ))
            .help("take larger chunks, so that there are fewer slots, or smaller fields of `PTO_WORKSPACE`")
        })?;
        let reservation = Reservation {
            base: u32::try_from(self.bytes).expect("offsets up to the end are checked to fit 32 bits"),
            count: request.count,
            slot_bytes: request.slot_bytes,
            key: self.keys.len(),
            words: head.len() + request.key.len(),
        };
        self.bytes = end;
        self.slots += u64::from(request.count);
        self.keys.extend(head);
        self.keys.extend_from_slice(request.key);
        self.reservations.push(reservation);
        self.table[place] = self.reservations.len() as u32;
        Ok(reservation)
    }
}

/// A place in a table of any size for a key, which may be in parts: its low bits are those of the upper half of products, which all words
/// reach.
fn hash(parts: &[&[u32]]) -> usize {
    // The golden ratio in 64 bits: keys that count up go far apart.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = 0u64;
    for part in parts {
        for word in *part {
            hash = (hash.rotate_left(5) ^ u64::from(*word)).wrapping_mul(FACTOR);
        }
    }
    (hash >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
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
        assert_eq!(ws.slot(0, &request(&[0], u32::MAX, 0)).unwrap_err().code, WORKSPACE);
        assert_eq!(ws.bytes(), 0);
    }

    #[test]
    fn many_keys_keep_their_slots_and_are_forgotten_together() {
        let mut ws = Workspace::default();
        for _ in 0..2 {
            for round in 0..2 {
                for n in 0..1000 {
                    let slot = ws.slot(n % 3, &request(&[n / 30, n % 30], 2, round)).unwrap();
                    assert_eq!(slot, (2 * n + round) * 192);
                }
            }
            assert_eq!((ws.slots(), ws.bytes()), (2000, 2000 * 192));
            ws.clear();
            assert_eq!((ws.slots(), ws.bytes()), (0, 0));
        }
        // A key is more than its words in a row.
        assert_eq!(ws.slot(0, &request(&[], 1, 0)).unwrap(), 0);
        assert_eq!(ws.slot(0, &request(&[0], 1, 0)).unwrap(), 192);
        assert_eq!(ws.slot(0, &request(&[0, 0], 1, 0)).unwrap(), 384);
    }

    #[test]
    fn a_key_that_changes_its_count_is_refused() {
        let mut ws = Workspace::default();
        ws.slot(0, &request(&[0], 2, 0)).unwrap();
        assert!(ws.slot(0, &request(&[0], 3, 0)).is_err());
    }

    proptest! {
        /// The first requests in the order of their keys, as loops make them, then any.
        #[test]
        fn slots_are_those_of_a_map_of_keys(
            mut requests in prop::collection::vec((0u32..3, prop::collection::vec(0u32..4, 0..4)), 0..80),
            ordered in 0usize..80,
        ) {
            let ordered = ordered.min(requests.len());
            requests[..ordered].sort();
            let (mut ws, mut held) = (Workspace::default(), BTreeMap::new());
            for (stage, key) in &requests {
                let next = held.len() as u32 * 192;
                let want = *held.entry((*stage, key)).or_insert(next);
                prop_assert_eq!(ws.slot(*stage, &request(key, 1, 0)).unwrap(), want);
            }
            prop_assert_eq!(ws.slots(), held.len() as u64);
        }
    }
}
