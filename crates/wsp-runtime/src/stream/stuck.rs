//! Who waits for whom when a stream of tasks cannot go on.

use super::slot::{CLOSED, NIL, POINT};
use super::submit::Submitter;
use super::waits::SourceWait;
use crate::TaskRunner;
use crate::report::{Party, Report, report};
use crate::sync::Ordering;
use wsp_core::{EventId, TaskId};

impl<R: TaskRunner> Submitter<'_, R> {
    /// Reads the open edges from the slots: all workers sleep, so nothing changes them.
    pub(super) fn explain(&mut self, source: SourceWait<'_>) -> Report {
        let mut waits = Vec::new();
        for on in (0..self.window.len()).filter(|&slot| self.window.id(slot).is_some()) {
            // Acquire: whoever changed it last may have been a worker.
            let mut edge = self.window.slot(on).successors.load(Ordering::Acquire);
            while edge != NIL && edge != CLOSED {
                let (next, waiting) = self.shared.store.edges.get(edge);
                waits.push((waiting, on));
                edge = next;
            }
        }
        if let Some(gates) = &self.shared.gates {
            gates.with(|book| waits.extend(book.early()));
        }
        let unfinished = u64::from(self.window.in_use());
        let mut made = report(unfinished, waits, |_| true, |&slot| self.party(slot));
        let on = match source {
            SourceWait::End => return made,
            SourceWait::Window => vec![Party::Window { capacity: self.capacity }],
            SourceWait::Writers(region) => {
                let writers = self.live_writers(region).into_iter();
                writers.map(|access| self.party(access.slot)).collect()
            }
        };
        made.waits.insert(0, (Party::Source, on));
        made.total += 1;
        made
    }

    fn party(&self, slot: u32) -> Party {
        let id = self.window.id(slot).unwrap_or(NIL);
        if id & POINT == 0 {
            return Party::Task { task: TaskId(id), kernel: self.window.slot(slot).call().kernel };
        }
        match self.events.iter().position(|event| event.point.task == id) {
            Some(i) if self.events[i].signalled => Party::Event(EventId(i as u32)),
            Some(i) => Party::UnsignalledEvent(EventId(i as u32)),
            None => Party::BarrierNode(id & !POINT),
        }
    }
}
