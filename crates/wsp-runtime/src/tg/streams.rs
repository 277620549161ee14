//! Streams: which launches run one after the other.

use super::failure::{LaunchFailure, Refused};
use super::id::{LaunchId, StreamId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serial numbers of streams, over all runtimes, so that a stream of another runtime is told from one of this.
static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

pub(crate) struct Stream<F> {
    serial: u64,
    pub(crate) device: u32,
    is_destroyed: bool,
    /// Launches that are not complete; the first may run.
    pub(crate) queue: VecDeque<LaunchId>,
    /// The failure of a launch that nobody has been told of.
    pub(crate) failure: Option<Arc<LaunchFailure<F>>>,
}

/// The streams of a runtime. The first are the default streams of the devices.
pub(crate) struct Streams<F> {
    streams: Vec<Stream<F>>,
    devices: u32,
}

impl<F> Streams<F> {
    pub(crate) fn new(devices: u32) -> Streams<F> {
        let mut streams = Streams { streams: Vec::new(), devices };
        for device in 0..devices {
            streams.streams.push(streams.make(device));
        }
        streams
    }

    fn make(&self, device: u32) -> Stream<F> {
        // Relaxed: only that no two are the same matters.
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        Stream { serial, device, is_destroyed: false, queue: VecDeque::new(), failure: None }
    }

    fn check_device(&self, device: u32) -> Result<(), Refused> {
        let devices = self.devices;
        if device < devices { Ok(()) } else { Err(Refused::NoDevice { device, devices }) }
    }

    fn id(&self, index: u32) -> StreamId {
        StreamId { index, serial: self.streams[index as usize].serial }
    }

    pub(crate) fn default_of(&self, device: u32) -> Result<StreamId, Refused> {
        self.check_device(device)?;
        Ok(self.id(device))
    }

    pub(crate) fn create(&mut self, device: u32) -> Result<StreamId, Refused> {
        self.check_device(device)?;
        let stream = self.make(device);
        let unused = |stream: &Stream<F>| stream.is_destroyed && stream.queue.is_empty();
        let index = self.streams.iter().position(unused).unwrap_or(self.streams.len());
        match self.streams.get_mut(index) {
            Some(old) => *old = stream,
            None => self.streams.push(stream),
        }
        Ok(self.id(index as u32))
    }

    /// Launches that are in the stream go on.
    pub(crate) fn destroy(&mut self, id: StreamId) -> Result<(), Refused> {
        self.check(id)?;
        if id.index < self.devices {
            return Err(Refused::DefaultStream);
        }
        self.streams[id.index as usize].is_destroyed = true;
        Ok(())
    }

    pub(crate) fn check(&self, id: StreamId) -> Result<(), Refused> {
        let stream = self.streams.get(id.index as usize);
        match stream.is_some_and(|stream| stream.serial == id.serial && !stream.is_destroyed) {
            true => Ok(()),
            false => Err(Refused::StaleStream(id)),
        }
    }

    /// A stream of a launch.
    pub(crate) fn at(&mut self, index: u32) -> &mut Stream<F> {
        &mut self.streams[index as usize]
    }

    /// The launches that are first in their streams.
    pub(crate) fn first(&self) -> Vec<LaunchId> {
        self.streams.iter().filter_map(|stream| stream.queue.front().copied()).collect()
    }

    /// The launch before this one in its stream.
    pub(crate) fn before(&self, index: u32, launch: LaunchId) -> Option<LaunchId> {
        let queue = &self.streams[index as usize].queue;
        let at = queue.iter().position(|&queued| queued == launch)?;
        at.checked_sub(1).map(|at| queue[at])
    }

    /// Somebody has been told of a failure.
    pub(crate) fn told(&mut self, failure: &Arc<LaunchFailure<F>>) {
        for stream in &mut self.streams {
            stream.failure.take_if(|pending| std::ptr::eq(pending.first(), failure.first()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISA-TG-29.
    #[test]
    fn handles_of_destroyed_streams_and_of_other_runtimes_are_refused() {
        let mut streams: Streams<()> = Streams::new(2);
        let other: Streams<()> = Streams::new(2);
        assert_eq!(streams.check(streams.default_of(1).unwrap()), Ok(()));
        let foreign = other.default_of(1).unwrap();
        assert_eq!(streams.check(foreign), Err(Refused::StaleStream(foreign)));
        let old = streams.create(1).unwrap();
        assert_eq!(streams.destroy(old), Ok(()));
        assert_eq!(streams.destroy(old), Err(Refused::StaleStream(old)));
        let new = streams.create(0).unwrap();
        assert_eq!(new.index(), old.index(), "the place is used again");
        assert_eq!(streams.check(old), Err(Refused::StaleStream(old)));
        assert_eq!(streams.check(new), Ok(()));
    }

    #[test]
    fn the_default_stream_stays_and_devices_are_checked() {
        let mut streams: Streams<()> = Streams::new(1);
        let default = streams.default_of(0).unwrap();
        assert_eq!(streams.destroy(default), Err(Refused::DefaultStream));
        assert_eq!(streams.create(1), Err(Refused::NoDevice { device: 1, devices: 1 }));
    }

    #[test]
    fn a_destroyed_stream_keeps_its_place_until_its_launches_are_complete() {
        let mut streams: Streams<()> = Streams::new(1);
        let old = streams.create(0).unwrap();
        streams.at(old.index).queue.push_back(LaunchId(1));
        streams.destroy(old).unwrap();
        assert_ne!(streams.create(0).unwrap().index(), old.index());
    }
}
