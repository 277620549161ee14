//! Sends and waits of all devices as one order, and how far it goes.

use super::Steps;
use crate::Certainty;
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// From a device, to a device, the notification.
pub(super) type Channel = (u32, u32, u32);

/// A wait for a notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wait {
    /// The device that waits.
    pub(super) device: u32,
    /// The device that it waits for.
    pub(super) from: u32,
    pub(super) notify: u32,
    /// The instruction.
    pub(super) at: u32,
}

impl Wait {
    fn channel(&self) -> Channel {
        (self.from, self.device, self.notify)
    }
}

/// What a point does.
#[derive(Clone, Copy)]
pub(super) enum Does {
    Nothing,
    /// Sends, once or in rounds that are not counted.
    Sends(Channel, Certainty, bool),
    /// Waits, once or in rounds that are not counted.
    Waits(Wait, Certainty, bool),
}

/// How what is open goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Mode {
    /// No wait for a notification holds anything back.
    WithoutNotifications,
    /// So that most go on: kernels that may be skipped send and do not wait, and each wait is the first of those that are in no order with it.
    Most,
    /// Kernels that may be skipped run, and each wait is the last.
    Taken,
    /// They are skipped.
    Left,
    /// So that nothing goes on that may be held back: kernels that may be skipped wait and do not send, and each wait is the last.
    Least,
}

/// The order: points with edges.
#[derive(Default)]
pub(super) struct Joint {
    succs: Vec<Vec<u32>>,
    /// Edges to waits of kernels that may be skipped.
    open: OrderedMap<u32, Vec<u32>>,
    does: Vec<Does>,
    /// Of each wait, those for the same notifications that surely come before it, and those that surely come behind it.
    mates: OrderedMap<u32, Mates>,
}

/// How far an order went.
struct Went {
    sent: OrderedMap<Channel, u64>,
    /// Waits that are not over.
    waiting: OrderedMap<Channel, Vec<u32>>,
    /// Which points were complete.
    done: Vec<bool>,
    is_complete: bool,
}

/// Waits for the same notifications as one.
#[derive(Clone, Copy, Default)]
struct Mates {
    before: u64,
    behind: u64,
}

impl Joint {
    pub(super) fn point(&mut self, does: Does) -> u32 {
        self.does.push(does);
        self.succs.push(Vec::new());
        self.does.len() as u32 - 1
    }

    pub(super) fn edge(&mut self, from: u32, to: u32) {
        self.succs[from as usize].push(to);
    }

    pub(super) fn open_edge(&mut self, from: u32, to: u32) {
        self.open.entry(from).or_default().push(to);
    }

    /// How many points there are.
    pub(super) fn len(&self) -> usize {
        self.does.len()
    }

    /// What is complete when nothing goes on any more, where one point never is.
    pub(super) fn done_without(&self, point: u32, mode: Mode) -> Vec<bool> {
        self.go(mode, Some(point)).done
    }

    /// Whether something waits for ever that no notification would let go on.
    pub(super) fn hangs_anyway(&self) -> bool {
        !self.go(Mode::WithoutNotifications, None).is_complete
    }

    /// Waits for notifications that are not over when nothing goes on any more, in the order of devices and instructions.
    pub(super) fn stuck(&self, mode: Mode) -> Vec<Wait> {
        let Went { sent, waiting, is_complete, .. } = self.go(mode, None);
        let totals = self.totals(mode);
        // Waits in no order were each taken to be the first.
        let is_short =
            |wait: &Wait| totals[&wait.channel()] > sent.get(&wait.channel()).copied().unwrap_or(0);
        let mut stuck: Vec<Wait> = match is_complete {
            true => self.waits(mode).filter(is_short).collect(),
            false => waiting.values().flatten().filter_map(|point| self.wait(*point)).collect(),
        };
        stuck.arrange_by_key(|wait| (wait.device, wait.at));
        stuck.dedup();
        stuck
    }

    /// Goes on until nothing can any more; `without` is held back for ever.
    fn go(&self, mode: Mode, without: Option<u32>) -> Went {
        let totals = self.totals(mode);
        let (mut needs, mut done) = (vec![0u32; self.succs.len()], vec![false; self.succs.len()]);
        let open = self.open.values().filter(|_| mode == Mode::Least);
        self.succs.iter().chain(open).flatten().for_each(|next| needs[*next as usize] += 1);
        let mut ready: Vec<u32> =
            (0..needs.len() as u32).filter(|point| needs[*point as usize] == 0).collect();
        let (mut sent, mut waiting) =
            (OrderedMap::<Channel, u64>::new(), OrderedMap::<Channel, Vec<u32>>::new());
        while let Some(point) = ready.pop() {
            if without == Some(point) {
                continue;
            }
            match self.does[point as usize] {
                Does::Sends(channel, certainty, many) if is_done(certainty, mode, mode == Mode::Most) => {
                    let count = sent.entry(channel).or_default();
                    *count = count.saturating_add(if many && mode == Mode::Most {
                        u64::from(u32::MAX)
                    } else {
                        1
                    });
                    let count = *count;
                    let held = waiting.remove(&channel).unwrap_or_default();
                    let (over, held): (Vec<u32>, Vec<u32>) =
                        held.into_iter().partition(|wait| self.need(*wait, mode, &totals) <= count);
                    waiting.insert(channel, held);
                    for wait in over {
                        done[wait as usize] = true;
                        self.complete(wait, mode, &mut needs, &mut ready);
                    }
                }
                Does::Waits(wait, certainty, _)
                    if is_done(certainty, mode, mode == Mode::Least)
                        && sent.get(&wait.channel()).copied().unwrap_or(0)
                            < self.need(point, mode, &totals) =>
                {
                    waiting.entry(wait.channel()).or_default().push(point);
                    continue;
                }
                _ => {}
            }
            done[point as usize] = true;
            self.complete(point, mode, &mut needs, &mut ready);
        }
        let is_complete = done.iter().all(|done| *done);
        Went { sent, waiting, done, is_complete }
    }

    /// How many times a device waits so, and how many notifications it is sent, at most.
    pub(super) fn counts(&self, wait: &Wait) -> (u64, u64) {
        let sends = self.does.iter().filter_map(|does| match does {
            Does::Sends(channel, certainty, many)
                if *channel == wait.channel() && *certainty != Certainty::Never =>
            {
                Some(if *many { u64::from(u32::MAX) } else { 1 })
            }
            _ => None,
        });
        (self.totals(Mode::Most).get(&wait.channel()).copied().unwrap_or(0), sends.sum())
    }

    fn waits(&self, mode: Mode) -> impl Iterator<Item = Wait> {
        self.does.iter().filter_map(move |does| match does {
            Does::Waits(wait, certainty, _) if is_done(*certainty, mode, mode == Mode::Least) => Some(*wait),
            _ => None,
        })
    }

    /// How many waits there are for the same notifications.
    fn totals(&self, mode: Mode) -> OrderedMap<Channel, u64> {
        let mut totals = OrderedMap::new();
        self.waits(mode).for_each(|wait| *totals.entry(wait.channel()).or_default() += 1);
        for does in self.does.iter().filter(|_| mode == Mode::Least) {
            if let Does::Waits(wait, _, true) = does {
                totals.insert(wait.channel(), u64::MAX);
            }
        }
        totals
    }

    fn wait(&self, point: u32) -> Option<Wait> {
        match self.does[point as usize] {
            Does::Waits(wait, ..) => Some(wait),
            _ => None,
        }
    }

    /// How many notifications must have been sent for a wait to be over.
    fn need(&self, point: u32, mode: Mode, totals: &OrderedMap<Channel, u64>) -> u64 {
        let mates = self.mates.get(&point).copied().unwrap_or_default();
        match mode {
            Mode::WithoutNotifications => 0,
            Mode::Most => 1 + mates.before,
            Mode::Taken | Mode::Left | Mode::Least => self.wait(point).map_or(0, |wait| {
                let total = totals.get(&wait.channel()).copied().unwrap_or(0);
                if total == u64::MAX { total } else { total.saturating_sub(mates.behind).max(1) }
            }),
        }
    }

    fn complete(&self, point: u32, mode: Mode, needs: &mut [u32], ready: &mut Vec<u32>) {
        let open = self.open.get(&point).filter(|_| mode == Mode::Least);
        for &next in self.succs[point as usize].iter().chain(open.into_iter().flatten()) {
            needs[next as usize] -= 1;
            if needs[next as usize] == 0 {
                ready.push(next);
            }
        }
    }

    /// Looks which waits for the same notifications are in order.
    pub(super) fn mates(&mut self, steps: &mut Steps) {
        let sure = |does: &Does| match does {
            Does::Waits(wait, Certainty::Surely, _) => Some(wait.channel()),
            _ => None,
        };
        let waits: Vec<(u32, Channel)> =
            (0..).zip(&self.does).filter_map(|(point, does)| Some((point, sure(does)?))).collect();
        let mut of: OrderedMap<Channel, u64> = OrderedMap::new();
        waits.iter().for_each(|(_, channel)| *of.entry(*channel).or_default() += 1);
        for (wait, channel) in waits.into_iter().filter(|(_, channel)| of[channel] > 1) {
            let (mut seen, mut open) = (OrderedSet::new(), vec![wait]);
            while let Some(point) = open.pop() {
                for &next in &self.succs[point as usize] {
                    if !steps.spend(1) {
                        return;
                    }
                    if seen.insert(next) {
                        open.push(next);
                    }
                }
            }
            for other in seen.into_iter().filter(|other| sure(&self.does[*other as usize]) == Some(channel)) {
                self.mates.entry(wait).or_default().behind += 1;
                self.mates.entry(other).or_default().before += 1;
            }
        }
    }
}

/// Whether something is done, if what is open is done by `when_open` or because all of it is.
fn is_done(certainty: Certainty, mode: Mode, when_open: bool) -> bool {
    match certainty {
        Certainty::Surely => true,
        Certainty::Maybe => when_open || mode == Mode::Taken,
        Certainty::Never => false,
    }
}
