//! Why launches cannot go on: who waits for what, with names.

use super::bodies::Bodies;
use super::failure::{Cause, LaunchFailure};
use super::graph::Graph;
use super::launch::{Launch, LaunchId, Outside, Stage};
use super::state::State;
use crate::report::{MOST_LISTED, Wait, cycle};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// Launches that are not complete, though nothing runs and nothing could be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HangReport {
    /// Launches that have begun and cannot go on.
    pub stuck: Vec<LaunchId>,
    /// Who waits for what, the first of them: launch by launch, in the order of nodes.
    pub waits: Vec<(String, Vec<String>)>,
    /// How many waits there are in all.
    pub total: usize,
    /// Parties each of which waits for the next, and the last for the first; empty if nothing closes a cycle.
    pub cycle: Vec<String>,
}

impl fmt::Display for HangReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing runs and nothing can start")?;
        if let Some(first) = self.cycle.first() {
            write!(f, "\n  a cycle:")?;
            for party in &self.cycle {
                write!(f, " {party} waits for")?;
            }
            write!(f, " {first}")?;
        }
        for (waiting, on) in &self.waits {
            write!(f, "\n  {waiting} waits for {}", on.join(", "))?;
        }
        if self.total > self.waits.len() {
            write!(f, "\n  and {} more wait", self.total - self.waits.len())?;
        }
        Ok(())
    }
}

/// Somebody who waits, or who is waited for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Party {
    Node(LaunchId, u32),
    /// An epoch of an event on a device, with its name.
    Event(u32, u32, u64, String),
    Notification(u32, u32, u32, String),
    Launch(LaunchId),
}

/// Parties by number, and their waits.
#[derive(Default)]
struct Waits {
    numbers: BTreeMap<Party, u32>,
    parties: Vec<Party>,
    waits: Vec<Wait>,
}

impl Waits {
    fn number(&mut self, party: Party) -> u32 {
        let next = self.parties.len() as u32;
        *self.numbers.entry(party.clone()).or_insert_with(|| {
            self.parties.push(party);
            next
        })
    }

    fn add(&mut self, waiting: Party, on: Party) {
        let (waiting, on) = (self.number(waiting), self.number(on));
        self.waits.push(Wait { waiting, on });
    }
}

/// A launch that failed, and what others may wait for that it did not do.
pub(crate) struct Failed<F> {
    failure: Arc<LaunchFailure<F>>,
    /// The number of its graph, and the graph, which it does not keep.
    key: u64,
    graph: Weak<Graph>,
    device: u32,
    /// Events that it opened and did not signal, with their epochs.
    events: Vec<(u32, u64)>,
}

impl<B: Bodies> State<B> {
    /// Fails launches that have begun, when nothing can go on: those that wait for what a failed launch was to do, else all of them.
    pub(crate) fn fail_stuck(&mut self) {
        if self.launches.is_empty() {
            return;
        }
        let failed = |(&id, launch): (&LaunchId, &Launch<B>)| Some((id, self.failed_for(launch)?));
        let after: Vec<_> = self.launches.iter().filter_map(failed).collect();
        if !after.is_empty() {
            return after.into_iter().for_each(|(id, failure)| self.fail(id, Cause::After(failure)));
        }
        let report = Arc::new(self.hang_report());
        for &id in &report.stuck {
            self.fail(id, Cause::Stuck(report.clone()));
        }
    }

    /// The failure of a launch that was to do what another waits for.
    fn failed_for(&self, launch: &Launch<B>) -> Option<Arc<LaunchFailure<B::Failure>>> {
        let is_owed = |failed: &Failed<B::Failure>, outside: Outside| match outside {
            Outside::Event { event, epoch } => {
                failed.device == launch.device && failed.events.contains(&(event, epoch))
            }
            Outside::Notification { from, id } => {
                let graph = failed.graph.upgrade().filter(|_| failed.device == from);
                graph.is_some_and(|graph| graph.notify_node(launch.device, id).is_some())
            }
        };
        let mut waits = launch.outside.iter().map(|(_, outside)| *outside);
        waits.find_map(|outside| {
            let failed = self.failed.iter().find(|failed| is_owed(failed, outside));
            failed.map(|failed| failed.failure.clone())
        })
    }

    /// Notes how a launch ended.
    pub(crate) fn note_end(&mut self, launch: &Launch<B>) {
        let others = &self.launches;
        let is_bound = |failed: &Failed<B::Failure>| {
            let mut bound =
                others.values().filter(|other| other.device == failed.device).flat_map(|other| &other.bound);
            bound.any(|event| failed.events.contains(event))
        };
        // Launches to come wait for what the last of each graph does.
        let is_last =
            |failed: &Failed<B::Failure>| (failed.key, failed.device) != (launch.graph.key(), launch.device);
        self.failed.retain(|failed| is_last(failed) || is_bound(failed));
        let Some(failure) = launch.failure.clone() else { return };
        let device = launch.device;
        let is_open = |(event, epoch): &(u32, u64)| !self.events.has_fired((device, *event), *epoch);
        let events = launch.opened.iter().copied().filter(is_open).collect();
        let (key, graph) = (launch.graph.key(), Arc::downgrade(&launch.graph));
        self.failed.push(Failed { failure, key, graph, device, events });
    }

    /// Tells why nothing goes on.
    fn hang_report(&mut self) -> HangReport {
        let mut waits = Waits::default();
        let ids: Vec<LaunchId> = self.launches.keys().copied().collect();
        let mut stuck = Vec::new();
        for &id in &ids {
            match self.launches[&id].stage {
                Stage::Queued => self.queued_waits(id, &mut waits),
                _ => {
                    stuck.push(id);
                    self.running_waits(id, &mut waits);
                }
            }
        }
        let Waits { parties, waits: mut list, .. } = waits;
        list.sort_by_key(|wait| (wait.waiting, wait.on));
        list.dedup_by_key(|wait| (wait.waiting, wait.on));
        let name = |number: u32| self.party_name(&parties[number as usize]);
        let groups: Vec<&[Wait]> = list.chunk_by(|a, b| a.waiting == b.waiting).collect();
        // What is told of events and notifications stands beside their names already; launches that run wait for their nodes.
        let is_listed = |group: &&&[Wait]| match &parties[group[0].waiting as usize] {
            Party::Node(..) => true,
            Party::Launch(id) => !stuck.contains(id),
            Party::Event(..) | Party::Notification(..) => false,
        };
        let nodes: Vec<&&[Wait]> = groups.iter().filter(is_listed).collect();
        let listed = nodes.iter().take(MOST_LISTED).map(|group| {
            (name(group[0].waiting), group.iter().take(MOST_LISTED).map(|wait| name(wait.on)).collect())
        });
        let cycle = cycle(&list).into_iter().map(name).collect();
        let (waits, total) = (listed.collect(), nodes.len());
        HangReport { stuck, waits, total, cycle }
    }

    /// A launch that has not begun waits for the one before it in its stream, and for those that it comes after.
    fn queued_waits(&self, id: LaunchId, waits: &mut Waits) {
        let launch = &self.launches[&id];
        let before = self.streams.before(launch.stream, id);
        let after = launch.after.iter().copied().filter(|after| self.launches.contains_key(after));
        for other in before.into_iter().chain(after) {
            waits.add(Party::Launch(id), Party::Launch(other));
        }
    }

    fn running_waits(&mut self, id: LaunchId, waits: &mut Waits) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        let graph = launch.graph.clone();
        let waiting = graph.waiting(&mut launch.words);
        let launch = &self.launches[&id];
        let mut is_open = vec![false; graph.image().nodes.len()];
        waiting.iter().for_each(|waiting| is_open[waiting.node as usize] = true);
        for waiting in &waiting {
            waits.add(Party::Launch(id), Party::Node(id, waiting.node));
            for &to in graph.succs(waiting.node).iter().filter(|&&to| is_open[to as usize]) {
                waits.add(Party::Node(id, to), Party::Node(id, waiting.node));
            }
        }
        // A loop waits for the end of its body.
        for (node, end) in graph.loops().filter(|&(_, end)| is_open[end as usize]) {
            waits.add(Party::Node(id, node), Party::Node(id, end));
        }
        for &(node, outside) in &launch.outside {
            self.outside_waits(id, launch, node, outside, waits);
        }
    }

    /// What a node waits for outside of its launch, and who could bring it about.
    fn outside_waits(
        &self,
        id: LaunchId,
        launch: &Launch<B>,
        node: u32,
        outside: Outside,
        waits: &mut Waits,
    ) {
        match outside {
            Outside::Event { event, epoch } => {
                let opener = self.events.opener((launch.device, event), epoch);
                let opener = opener.filter(|opener| self.launches.contains_key(opener));
                let told = if opener.is_some() { "" } else { ", which nobody is left to signal" };
                let name = format!("{}{told}", launch.graph.event_name(event));
                let party = Party::Event(launch.device, event, epoch, name);
                waits.add(Party::Node(id, node), party.clone());
                if let Some(opener) = opener {
                    waits.add(party, self.source(opener, |graph| graph.signal_node(event)));
                }
            }
            Outside::Notification { from, id: number } => {
                let sends = |(_, other): &(&LaunchId, &Launch<B>)| {
                    other.device == from && other.graph.notify_node(launch.device, number).is_some()
                };
                let senders: Vec<LaunchId> =
                    self.launches.iter().filter(sends).map(|(&sender, _)| sender).collect();
                let told = if senders.is_empty() { ", which nobody is left to send" } else { "" };
                let name = format!("{}{told}", launch.graph.notification_name(from, number));
                let party = Party::Notification(from, launch.device, number, name);
                waits.add(Party::Node(id, node), party.clone());
                for sender in senders {
                    let to = launch.device;
                    waits.add(party.clone(), self.source(sender, |graph| graph.notify_node(to, number)));
                }
            }
        }
    }

    /// The node of a launch that brings something about, or the launch, if it has not begun.
    fn source(&self, id: LaunchId, node: impl Fn(&Graph) -> Option<u32>) -> Party {
        let launch = self.launches.get(&id).filter(|launch| launch.stage != Stage::Queued);
        let node = launch.and_then(|launch| node(&launch.graph));
        node.map_or(Party::Launch(id), |node| Party::Node(id, node))
    }

    fn party_name(&self, party: &Party) -> String {
        let launch = |id: LaunchId| match self.launches.get(&id) {
            Some(launch) => format!("launch {} of `{}`", id.0, launch.graph.name()),
            None => format!("launch {}", id.0),
        };
        match party {
            Party::Node(id, node) => {
                let name = self.launches.get(id).map(|launch| launch.graph.node_name(*node));
                format!("{} of {}", name.unwrap_or_default(), launch(*id))
            }
            Party::Event(.., name) | Party::Notification(.., name) => name.clone(),
            Party::Launch(id) => launch(*id),
        }
    }
}
