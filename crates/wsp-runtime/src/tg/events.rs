//! Events between launches and notifications between devices: what has happened, and who waits for it.
//!
//! # Events
//!
//! Every launch of a graph that signals an event opens an *epoch* of it when it is submitted, and fires this epoch when the
//! last of its signallers is complete. A launch that waits is bound, when it is submitted, to the epoch opened last; if there
//! is none yet, to the first. So which signal a wait means follows from the order of submission, not from timing. A signal
//! of the caller fires the open epoch, or one of its own, and stays.
//!
//! # Notifications
//!
//! They are counted: each is consumed by one wait, in the order in which the waits came up.

use super::id::LaunchId;
use std::collections::VecDeque;
use wsp_ordered::{OrderedMap, OrderedSet};

/// An event as a launch sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchEvent {
    /// The number of the unit.
    pub event: u32,
    /// The epoch that the launch waits for, or fires.
    pub epoch: u64,
    /// Whether it has fired.
    pub fired: bool,
}

/// The events of a launch, by their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchEvents {
    /// Those that it waits for and others signal.
    pub waits: Vec<LaunchEvent>,
    /// Those that it signals.
    pub signals: Vec<LaunchEvent>,
}

/// What is known of an event of a device, beside the launches that wait.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SavedEvent {
    /// The number of the unit.
    pub event: u32,
    /// Epochs opened so far.
    pub opened: u64,
    /// Those that have fired, and that a launch may still ask for.
    pub fired: Vec<u64>,
}

/// Which epochs a launch has that goes on from a saved state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Epochs {
    /// Those of a launch of the state of events that was restored with it.
    Same(LaunchEvents),
    /// New ones, as those of any launch that is submitted at this moment; but what had fired before the state was saved has fired.
    New(LaunchEvents),
}

/// An epoch that has fired, of every event.
const HAS_FIRED: u64 = 0;

/// A node that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiter {
    pub(crate) launch: LaunchId,
    pub(crate) node: u32,
}

/// An event of the unit on a device.
pub(crate) type EventKey = (u32, u32);

#[derive(Debug, Default)]
struct Event {
    /// Epochs opened so far.
    opened: u64,
    fired: OrderedSet<u64>,
    /// Launches bound to each epoch that are not complete.
    bound: OrderedMap<u64, u32>,
    waiters: Vec<(u64, Waiter)>,
    /// Who opened the epochs that have not fired.
    openers: OrderedMap<u64, LaunchId>,
}

/// The events of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Events {
    events: OrderedMap<EventKey, Event>,
}

impl Events {
    /// Opens an epoch for a launch that signals.
    pub(crate) fn open(&mut self, key: EventKey, launch: LaunchId) -> u64 {
        let event = self.events.entry(key).or_default();
        event.opened += 1;
        let Event { opened, fired, bound, .. } = event;
        fired.retain(|epoch| bound.contains_key(epoch));
        event.openers.insert(*opened, launch);
        *opened
    }

    /// The epoch that a launch submitted now waits for.
    pub(crate) fn bind(&mut self, key: EventKey) -> u64 {
        let event = self.events.entry(key).or_default();
        let epoch = event.opened.max(1);
        *event.bound.entry(epoch).or_default() += 1;
        epoch
    }

    /// Undoes [`Events::bind`] when the launch is complete.
    pub(crate) fn unbind(&mut self, key: EventKey, epoch: u64) {
        let Some(event) = self.events.get_mut(&key) else { return };
        if let Some(bound) = event.bound.get_mut(&epoch) {
            *bound -= 1;
            if *bound == 0 {
                event.bound.remove(&epoch);
            }
        }
    }

    /// Whether the epoch has fired; if not, the node waits.
    pub(crate) fn wait(&mut self, key: EventKey, epoch: u64, waiter: Waiter) -> bool {
        let event = self.events.entry(key).or_default();
        let fired = epoch == HAS_FIRED || event.fired.contains(&epoch);
        if !fired {
            event.waiters.push((epoch, waiter));
        }
        fired
    }

    /// Fires an epoch, and returns who waited for it.
    pub(crate) fn fire(&mut self, key: EventKey, epoch: u64) -> Vec<Waiter> {
        let event = self.events.entry(key).or_default();
        event.fired.insert(epoch);
        event.openers.remove(&epoch);
        let mut released = Vec::new();
        event.waiters.retain(|&(waits, waiter)| {
            if waits == epoch {
                released.push(waiter);
            }
            waits != epoch
        });
        released
    }

    /// A signal of the caller.
    pub(crate) fn signal(&mut self, key: EventKey) -> Vec<Waiter> {
        let event = self.events.entry(key).or_default();
        if event.opened == 0 || event.fired.contains(&event.opened) {
            event.opened += 1;
        }
        let epoch = event.opened;
        self.fire(key, epoch)
    }

    /// The launch that is to fire an epoch, if one was submitted and has not.
    pub(crate) fn opener(&self, key: EventKey, epoch: u64) -> Option<LaunchId> {
        self.events.get(&key)?.openers.get(&epoch).copied()
    }

    /// What is known of the events of a device.
    pub(crate) fn saved(&self, device: u32) -> Vec<SavedEvent> {
        let of_device = self.events.iter().filter(|((of, _), _)| *of == device);
        let saved = |(&(_, event), state): (&EventKey, &Event)| SavedEvent {
            event,
            opened: state.opened,
            fired: state.fired.iter().copied().collect(),
        };
        of_device.map(saved).collect()
    }

    /// Replaces what is known of the events of a device, of which no launch may be in flight.
    pub(crate) fn restore(&mut self, device: u32, saved: &[SavedEvent]) {
        self.events.retain(|(of, _), _| *of != device);
        for one in saved {
            let fired = one.fired.iter().copied().collect();
            let event = Event { opened: one.opened, fired, ..Event::default() };
            self.events.insert((device, one.event), event);
        }
    }

    /// Whether an epoch that a launch is bound to, or opened, has fired.
    pub(crate) fn has_fired(&self, key: EventKey, epoch: u64) -> bool {
        epoch == HAS_FIRED || self.events.get(&key).is_some_and(|event| event.fired.contains(&epoch))
    }

    /// Gives a launch an epoch to wait for, or the one that it was bound to.
    pub(crate) fn bind_as(&mut self, key: EventKey, epochs: Option<&Epochs>) -> u64 {
        let of = |events: &LaunchEvents| events.waits.iter().find(|one| one.event == key.1).copied();
        match epochs {
            Some(Epochs::Same(events)) => {
                let Some(same) = of(events) else { return self.bind(key) };
                let event = self.events.entry(key).or_default();
                *event.bound.entry(same.epoch).or_default() += 1;
                same.epoch
            }
            Some(Epochs::New(events)) if of(events).is_some_and(|one| one.fired) => HAS_FIRED,
            _ => self.bind(key),
        }
    }

    /// Opens an epoch for a launch that signals, or opens again the one that it had. The second is true of one that has fired
    /// before the launch goes on.
    pub(crate) fn open_as(
        &mut self,
        key: EventKey,
        launch: LaunchId,
        epochs: Option<&Epochs>,
    ) -> (u64, bool) {
        let of = |events: &LaunchEvents| events.signals.iter().find(|one| one.event == key.1).copied();
        match epochs {
            Some(Epochs::Same(events)) => {
                let Some(same) = of(events) else { return (self.open(key, launch), false) };
                if !same.fired {
                    self.events.entry(key).or_default().openers.insert(same.epoch, launch);
                }
                (same.epoch, false)
            }
            Some(Epochs::New(events)) => {
                let fired = of(events).is_some_and(|one| one.fired);
                (self.open(key, launch), fired)
            }
            None => (self.open(key, launch), false),
        }
    }

    /// Forgets the waits of a launch.
    pub(crate) fn forget(&mut self, launch: LaunchId) {
        for event in self.events.values_mut() {
            event.waiters.retain(|(_, waiter)| waiter.launch != launch);
        }
    }
}

/// From a device, to a device, the notification.
pub(crate) type NotifyKey = (u32, u32, u32);

#[derive(Debug, Default)]
struct Channel {
    tokens: u64,
    waiters: VecDeque<Waiter>,
}

/// The notifications of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Notifications {
    channels: OrderedMap<NotifyKey, Channel>,
}

impl Notifications {
    /// Notifies, and returns the wait that consumes it at once, if one does.
    pub(crate) fn notify(&mut self, key: NotifyKey) -> Option<Waiter> {
        let channel = self.channels.entry(key).or_default();
        let waiter = channel.waiters.pop_front();
        if waiter.is_none() {
            channel.tokens += 1;
        }
        waiter
    }

    /// Whether there was a notification to consume; if not, the node waits.
    pub(crate) fn wait(&mut self, key: NotifyKey, waiter: Waiter) -> bool {
        let channel = self.channels.entry(key).or_default();
        let there = channel.tokens > 0;
        match there {
            true => channel.tokens -= 1,
            false => channel.waiters.push_back(waiter),
        }
        there
    }

    /// Forgets the waits of a launch.
    pub(crate) fn forget(&mut self, launch: LaunchId) {
        for channel in self.channels.values_mut() {
            channel.waiters.retain(|waiter| waiter.launch != launch);
        }
    }

    /// Forgets notifications that nobody has consumed.
    pub(crate) fn clear(&mut self) {
        self.channels.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: EventKey = (0, 3);

    fn waiter(launch: u64) -> Waiter {
        Waiter { launch: LaunchId(launch), node: 0 }
    }

    #[test]
    fn a_wait_means_the_signal_of_the_launch_submitted_before_it() {
        let mut events = Events::default();
        let first = events.open(KEY, LaunchId(1));
        let waits_first = events.bind(KEY);
        let second = events.open(KEY, LaunchId(3));
        let waits_second = events.bind(KEY);
        assert_eq!((waits_first, waits_second), (first, second));
        assert!(!events.wait(KEY, waits_first, waiter(2)));
        assert!(!events.wait(KEY, waits_second, waiter(4)));
        assert_eq!(events.opener(KEY, second), Some(LaunchId(3)));
        assert_eq!(events.fire(KEY, second), [waiter(4)], "the later launch was faster");
        assert_eq!(events.fire(KEY, first), [waiter(2)]);
    }

    #[test]
    fn a_wait_submitted_before_any_signaller_means_the_first() {
        let mut events = Events::default();
        let waits = events.bind(KEY);
        assert!(!events.wait(KEY, waits, waiter(1)));
        let epoch = events.open(KEY, LaunchId(2));
        assert_eq!(events.fire(KEY, epoch), [waiter(1)]);
    }

    #[test]
    fn a_signal_of_the_caller_stays() {
        let mut events = Events::default();
        let early = events.bind(KEY);
        assert!(!events.wait(KEY, early, waiter(1)));
        assert_eq!(events.signal(KEY), [waiter(1)]);
        let late = events.bind(KEY);
        assert!(events.wait(KEY, late, waiter(2)));
        assert_eq!(events.signal(KEY), []);
        let later = events.bind(KEY);
        assert!(events.wait(KEY, later, waiter(3)));
    }

    #[test]
    fn epochs_that_nobody_can_ask_for_are_forgotten() {
        let mut events = Events::default();
        for launch in 0..100 {
            let epoch = events.open(KEY, LaunchId(launch));
            let bound = events.bind(KEY);
            events.fire(KEY, epoch);
            events.unbind(KEY, bound);
        }
        assert_eq!(events.events[&KEY].fired.len(), 1);
        assert!(events.events[&KEY].openers.is_empty());
    }

    /// ISA-SY-04, ISA-SY-05.
    #[test]
    fn each_notification_lets_one_wait_through() {
        let mut notifications = Notifications::default();
        let key = (0, 1, 7);
        assert_eq!(notifications.notify(key), None);
        assert!(notifications.wait(key, waiter(1)));
        assert!(!notifications.wait(key, waiter(2)));
        assert!(!notifications.wait(key, waiter(3)));
        assert!(!notifications.wait((1, 0, 7), waiter(4)), "the other way");
        assert_eq!(notifications.notify(key), Some(waiter(2)));
        notifications.forget(LaunchId(3));
        assert_eq!(notifications.notify(key), None);
    }
}
