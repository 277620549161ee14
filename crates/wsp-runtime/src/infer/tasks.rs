//! The tasks of each place, and what an access waits for.

use super::gather::Gather;
use super::geometry::Geometry;
use super::list::ListPool;
use super::{Conflict, Hazard, Matching, NIL, TaskHandle};

/// Conflicts that are kept with their regions.
pub(super) const CONFLICTS_KEPT: usize = 64;

/// Published as read.
pub(super) const SEEN: u8 = 1;
/// Published as written.
pub(super) const WRITTEN: u8 = 2;
/// A tile of a registered tensor: never freed.
pub(super) const PINNED: u8 = 4;

/// In a link, beside the other place's number: this place covers the other.
const COVERS: u32 = 1 << 31;
/// In a link: the conflict of the two has been reported.
const REPORTED: u32 = 1 << 30;
/// The number of the other place.
pub(super) const OTHER: u32 = REPORTED - 1;

/// The tasks of a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Users<H> {
    pub(super) writer: H,
    /// The latest reader since, and the list of the others.
    pub(super) reader: H,
    pub(super) more: u32,
    /// Places that overlap this one.
    pub(super) links: u32,
    pub(super) flags: u8,
}

impl<H: TaskHandle> Users<H> {
    pub(super) const NOBODY: Users<H> =
        Users { writer: H::NONE, reader: H::NONE, more: NIL, links: NIL, flags: 0 };

    pub(super) fn is_idle(&self) -> bool {
        self.writer == H::NONE && self.reader == H::NONE
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Tasks<H> {
    pub(super) matching: Matching,
    /// Per place.
    pub(super) users: Vec<Users<H>>,
    pub(super) readers: ListPool<H>,
    pub(super) links: ListPool<u32>,
    pub(super) gather: Gather<H>,
    pub(super) conflicts: Vec<Conflict<H>>,
    pub(super) conflict_count: u64,
    /// Places and links made and idle places visited since the last sweep.
    pub(super) debt: usize,
}

impl<H: TaskHandle> Tasks<H> {
    pub(super) fn bytes(&self) -> usize {
        self.users.capacity() * size_of::<Users<H>>()
            + self.readers.bytes()
            + self.links.bytes()
            + self.gather.bytes()
            + self.conflicts.capacity() * size_of::<Conflict<H>>()
    }

    /// Notes that a place overlaps another. There must be room.
    pub(super) fn link(&mut self, geometry: &Geometry, from: u32, to: u32) {
        let covers = if geometry.covers(from, to) { COVERS } else { 0 };
        let users = &mut self.users[from as usize];
        users.links = self.links.push(users.links, to | covers);
    }

    /// Forgets all tasks, and keeps places and links.
    pub(super) fn clear(&mut self) {
        for users in &mut self.users {
            (users.writer, users.reader, users.more) = (H::NONE, H::NONE, NIL);
        }
        self.readers.clear();
        if self.conflict_count > 0 {
            self.links.for_all(|link| *link &= !REPORTED);
        }
        self.conflicts.clear();
        self.conflict_count = 0;
    }

    /// Gathers what a task waits for that reads and writes these places, and records it. There must be room for as many
    /// readers.
    #[inline]
    pub(super) fn record(
        &mut self,
        geometry: &Geometry,
        task: H,
        reads: impl Iterator<Item = u32>,
        writes: impl Iterator<Item = u32>,
        live: &impl Fn(H) -> bool,
    ) {
        for place in reads {
            self.read(geometry, place, task, live);
        }
        for place in writes {
            self.write(geometry, place, task, live);
        }
    }

    /// Shows the newest writer of each place read, and records the writes only.
    pub(super) fn record_newest(
        &mut self,
        task: H,
        reads: &[u32],
        writes: &[u32],
        live: impl Fn(H) -> bool,
        mut found: impl FnMut(H, Hazard),
    ) {
        for &place in reads {
            let writer = self.users[place as usize].writer;
            if writer != H::NONE && writer != task && live(writer) {
                found(writer, Hazard::Raw);
            }
        }
        for &place in writes {
            self.users[place as usize].writer = task;
        }
    }

    #[inline(always)]
    fn read(&mut self, geometry: &Geometry, place: u32, task: H, live: &impl Fn(H) -> bool) {
        let users = &mut self.users[place as usize];
        if users.writer != H::NONE && users.writer != task {
            if live(users.writer) {
                self.gather.push(users.writer, Hazard::Raw);
            } else {
                users.writer = H::NONE;
            }
        }
        if users.reader != task {
            if users.reader != H::NONE {
                users.more = self.readers.push(users.more, users.reader);
            }
            users.reader = task;
        }
        if users.links != NIL {
            self.read_links(geometry, place, task, live);
        }
    }

    #[inline(always)]
    fn write(&mut self, geometry: &Geometry, place: u32, task: H, live: &impl Fn(H) -> bool) {
        let users = &mut self.users[place as usize];
        let links = users.links;
        take_users(users, &mut self.readers, &mut self.gather, task, live);
        users.writer = task;
        if links != NIL {
            self.write_links(geometry, place, task, live);
        }
    }

    /// What a read waits for at the places that overlap its own.
    #[inline(never)]
    fn read_links(&mut self, geometry: &Geometry, place: u32, task: H, live: &impl Fn(H) -> bool) {
        let mut at = self.users[place as usize].links;
        while let Some((link, next)) = self.links.first(at) {
            let other = &mut self.users[(link & OTHER) as usize];
            if other.writer == H::NONE {
                self.debt += usize::from(other.reader == H::NONE);
            } else if !live(other.writer) {
                other.writer = H::NONE;
            } else if other.writer != task {
                let writer = other.writer;
                match self.matching {
                    Matching::Equal => self.report(geometry, place, at, task, writer, Hazard::Raw),
                    _ => self.gather.push(writer, Hazard::Raw),
                }
            }
            at = next;
        }
    }

    /// What a write waits for at the places that overlap its own; those that it covers are forgotten.
    #[inline(never)]
    fn write_links(&mut self, geometry: &Geometry, place: u32, task: H, live: &impl Fn(H) -> bool) {
        let mut at = self.users[place as usize].links;
        while let Some((link, next)) = self.links.first(at) {
            let other = &mut self.users[(link & OTHER) as usize];
            if other.is_idle() {
                self.debt += 1;
            } else if self.matching == Matching::Equal {
                self.report_write(geometry, place, at, task, live);
            } else if link & COVERS != 0 {
                take_users(other, &mut self.readers, &mut self.gather, task, live);
            } else {
                show_users(other, &mut self.readers, &mut self.gather, task, live);
            }
            at = next;
        }
    }

    fn report_write(
        &mut self,
        geometry: &Geometry,
        place: u32,
        link: u32,
        task: H,
        live: &impl Fn(H) -> bool,
    ) {
        let Some((found, _)) = self.links.first(link) else { return };
        let Users { writer, reader, mut more, .. } = self.users[(found & OTHER) as usize];
        let conflicts = |other: H| other != H::NONE && other != task && live(other);
        if conflicts(writer) {
            return self.report(geometry, place, link, task, writer, Hazard::Waw);
        }
        let mut readers = std::iter::once(reader).chain(std::iter::from_fn(|| {
            let (reader, next) = self.readers.first(more)?;
            more = next;
            Some(reader)
        }));
        if let Some(reader) = readers.find(|&reader| conflicts(reader)) {
            self.report(geometry, place, link, task, reader, Hazard::War);
        }
    }

    /// Reports the conflict of a link, once.
    fn report(&mut self, geometry: &Geometry, place: u32, link: u32, task: H, other: H, hazard: Hazard) {
        let Some(found) = self.links.item_mut(link) else { return };
        if *found & REPORTED != 0 {
            return;
        }
        *found |= REPORTED;
        let other_place = *found & OTHER;
        let mut back = self.users[other_place as usize].links;
        while let Some((link, next)) = self.links.first(back) {
            if link & OTHER == place
                && let Some(found) = self.links.item_mut(back)
            {
                *found |= REPORTED;
            }
            back = next;
        }
        self.conflict_count += 1;
        if self.conflicts.len() < CONFLICTS_KEPT {
            self.conflicts.push(Conflict {
                task,
                region: geometry.region(place),
                other,
                other_region: geometry.region(other_place),
                hazard,
            });
        }
    }
}

/// What a write waits for at a place that it does not cover.
fn show_users<H: TaskHandle>(
    users: &mut Users<H>,
    readers: &mut ListPool<H>,
    gather: &mut Gather<H>,
    task: H,
    live: &impl Fn(H) -> bool,
) {
    if users.writer != H::NONE && users.writer != task {
        if live(users.writer) {
            gather.push(users.writer, Hazard::Waw);
        } else {
            users.writer = H::NONE;
        }
    }
    if users.reader != H::NONE && users.reader != task && live(users.reader) {
        gather.push(users.reader, Hazard::War);
    }
    users.more = readers.retain(users.more, |reader| {
        let keep = live(reader);
        if keep && reader != task {
            gather.push(reader, Hazard::War);
        }
        keep
    });
}

/// What a write waits for at a place that it covers, and nobody will wait for after it.
#[inline(always)]
fn take_users<H: TaskHandle>(
    users: &mut Users<H>,
    readers: &mut ListPool<H>,
    gather: &mut Gather<H>,
    task: H,
    live: &impl Fn(H) -> bool,
) {
    let mut show = |other: H, hazard: Hazard| {
        if other != H::NONE && other != task && live(other) {
            gather.push(other, hazard);
        }
    };
    show(users.writer, Hazard::Waw);
    show(users.reader, Hazard::War);
    if users.more != NIL {
        readers.consume(users.more, |reader| show(reader, Hazard::War));
        users.more = NIL;
    }
    users.writer = H::NONE;
    users.reader = H::NONE;
}
