//! Why launches cannot go on: who waits for what, with names.

use super::bodies::Bodies;
use super::failure::{Cause, LaunchFailure, LaunchFault};
use super::graph::Graph;
use super::id::LaunchId;
use super::launch::{Launch, Outside, Stage};
use super::state::{Failed, State};
use crate::report::{Party, Report, report};
use std::sync::Arc;
use wsp_core::tg::machine::Waiting;

/// What waits, or is waited for. The smallest is listed first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    Node(LaunchId, u32),
    /// An epoch of an event on a device, with its name.
    Event(u32, u32, u64, String),
    Notification(u32, u32, u32, String),
    Launch(LaunchId),
}

/// What waits, each for what.
type Waits = Vec<(Key, Key)>;

impl<B: Bodies> State<B> {
    /// Fails launches that have begun, when nothing can go on: those that wait for what a failed launch was to do, else all of them.
    pub(crate) fn fail_stuck(&mut self) {
        if self.launches.is_empty() {
            return;
        }
        let failed = |(&id, launch): (&LaunchId, &Launch<B>)| Some((id, self.failed_for(launch)?));
        let after: Vec<_> = self.launches.iter().filter_map(failed).collect();
        if !after.is_empty() {
            return after
                .into_iter()
                .for_each(|(id, failure)| self.fail(id, Cause::Source(LaunchFault::After(failure))));
        }
        if let Some(fault) = self.unreplayed() {
            return self.fail_all(|| Cause::Source(LaunchFault::NotReplayed(fault.clone())));
        }
        let (stuck, report) = self.hang_report();
        for id in stuck {
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

    /// The launches that have begun and cannot go on, and why.
    fn hang_report(&mut self) -> (Vec<LaunchId>, Report) {
        let mut waits = Waits::new();
        let ids: Vec<LaunchId> = self.launches.keys().copied().collect();
        let (mut stuck, mut nodes) = (Vec::new(), 0);
        for &id in &ids {
            match self.launches[&id].stage {
                Stage::Queued => self.queued_waits(id, &mut waits),
                _ => {
                    stuck.push(id);
                    nodes += self.running_waits(id, &mut waits);
                }
            }
        }
        // What is told of events and notifications stands beside their names already; launches that run wait for their nodes.
        let is_listed = |key: &Key| match key {
            Key::Node(..) => true,
            Key::Launch(id) => !stuck.contains(id),
            Key::Event(..) | Key::Notification(..) => false,
        };
        let report = report(nodes, waits, is_listed, |key| Party::Named(self.name(key)));
        (stuck, report)
    }

    /// A launch that has not begun waits for the one before it in its stream, and for those that it comes after.
    fn queued_waits(&self, id: LaunchId, waits: &mut Waits) {
        let launch = &self.launches[&id];
        let before = self.streams.before(launch.stream, id);
        let after = launch.after.iter().copied().filter(|after| self.launches.contains_key(after));
        for other in before.into_iter().chain(after) {
            waits.push((Key::Launch(id), Key::Launch(other)));
        }
    }

    /// What the nodes of a launch wait for, and how many are not complete.
    fn running_waits(&mut self, id: LaunchId, waits: &mut Waits) -> u64 {
        let Some(launch) = self.launches.get_mut(&id) else { return 0 };
        let graph = launch.graph.clone();
        let waiting = graph.waiting(&mut launch.words);
        let launch = &self.launches[&id];
        waits.extend(waiting.iter().map(|waiting| (Key::Launch(id), Key::Node(id, waiting.node))));
        let open = open_edges(&graph, &waiting).into_iter();
        waits.extend(open.map(|(node, on)| (Key::Node(id, node), Key::Node(id, on))));
        for &(node, outside) in &launch.outside {
            self.outside_waits(id, launch, node, outside, waits);
        }
        waiting.len() as u64
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
                let key = Key::Event(launch.device, event, epoch, name);
                waits.push((Key::Node(id, node), key.clone()));
                if let Some(opener) = opener {
                    waits.push((key, self.source(opener, |graph| graph.signal_node(event))));
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
                let key = Key::Notification(from, launch.device, number, name);
                waits.push((Key::Node(id, node), key.clone()));
                for sender in senders {
                    let to = launch.device;
                    waits.push((key.clone(), self.source(sender, |graph| graph.notify_node(to, number))));
                }
            }
        }
    }

    /// The node of a launch that brings something about, or the launch, if it has not begun.
    fn source(&self, id: LaunchId, node: impl Fn(&Graph) -> Option<u32>) -> Key {
        let launch = self.launches.get(&id).filter(|launch| launch.stage != Stage::Queued);
        let node = launch.and_then(|launch| node(&launch.graph));
        node.map_or(Key::Launch(id), |node| Key::Node(id, node))
    }

    fn name(&self, key: &Key) -> String {
        let launch = |id: LaunchId| match self.launches.get(&id) {
            Some(launch) => format!("launch {} of `{}`", id.0, launch.graph.name()),
            None => format!("launch {}", id.0),
        };
        match key {
            Key::Node(id, node) => {
                let name = self.launches.get(id).map(|launch| launch.graph.node_name(*node));
                format!("{} of {}", name.unwrap_or_default(), launch(*id))
            }
            Key::Event(.., name) | Key::Notification(.., name) => name.clone(),
            Key::Launch(id) => launch(*id),
        }
    }
}

/// Which of the nodes that are not complete wait for which.
pub(crate) fn open_edges(graph: &Graph, waiting: &[Waiting]) -> Vec<(u32, u32)> {
    let mut is_open = vec![false; graph.image().nodes.len()];
    waiting.iter().for_each(|waiting| is_open[waiting.node as usize] = true);
    let after = |node: u32| graph.succs(node).iter().map(move |&to| (to, node));
    let edges = waiting.iter().flat_map(|waiting| after(waiting.node));
    // A loop waits for the end of its body.
    edges
        .filter(|&(to, _)| is_open[to as usize])
        .chain(graph.loops().filter(|&(_, end)| is_open[end as usize]))
        .collect()
}
