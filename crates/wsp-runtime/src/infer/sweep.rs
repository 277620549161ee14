//! Forgetting tasks that nobody has to wait for, and places that nobody uses.

use super::region_map::{RegionMap, SWEEP_AT_LEAST};
use super::tasks::{OTHER, PINNED, Users};
use super::{NIL, TaskHandle};

impl<H: TaskHandle> RegionMap<H> {
    /// Forgets tasks that are `dead`, and places without tasks. The cost is that of looking at everything; it comes when
    /// as much has been left behind, so an access bears a constant share.
    #[inline(never)]
    pub(super) fn sweep(&mut self, dead: impl Fn(H) -> bool) {
        let before = self.tasks.readers.used() + self.tasks.links.used() + self.tasks.users.len();
        let mut unused = false;
        for place in 0..self.tasks.users.len() {
            let users = &mut self.tasks.users[place];
            if users.writer != H::NONE && dead(users.writer) {
                users.writer = H::NONE;
            }
            if users.more != NIL {
                users.more = self.tasks.readers.retain(users.more, |reader| !dead(reader));
            }
            if users.reader != H::NONE && dead(users.reader) {
                users.reader = H::NONE;
                if let Some((reader, rest)) = self.tasks.readers.pop(users.more) {
                    (users.reader, users.more) = (reader, rest);
                }
            }
            unused |= users.is_idle() && users.flags & PINNED == 0;
        }
        if unused {
            self.drop_idle_places();
        }
        let after = self.tasks.readers.used() + self.tasks.links.used() + self.tasks.users.len()
            - self.geometry.vacant();
        // Where nothing dies there is little to come back for.
        let factor = if after < before - before / 4 { 2 } else { 8 };
        self.sweep_at = SWEEP_AT_LEAST.max(factor * after);
        self.tasks.debt = 0;
    }

    fn drop_idle_places(&mut self) {
        let in_use = |users: &[Users<H>], place: u32| {
            let users = &users[place as usize];
            !users.is_idle() || users.flags & PINNED != 0
        };
        for place in 0..self.tasks.users.len() as u32 {
            let links = self.tasks.users[place as usize].links;
            if in_use(&self.tasks.users, place) {
                let kept = self.tasks.links.retain(links, |link| in_use(&self.tasks.users, link & OTHER));
                self.tasks.users[place as usize].links = kept;
            } else {
                self.tasks.links.consume(links, |_| ());
                self.tasks.users[place as usize].links = NIL;
                self.tasks.users[place as usize].flags = 0;
            }
        }
        self.geometry.retain(|place| in_use(&self.tasks.users, place));
    }
}
