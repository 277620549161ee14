//! Ordered scopes: all tasks of a step before all tasks of the next, at one edge in and one edge out per task.
//!
//! When a step has ended and another task comes, the tasks of the step are joined: one is followed through itself, several
//! through a barrier node that all of them lead to. So a barrier node comes after what it waits for and before what waits
//! for it, and there is none that nothing waits for. What the last step of a scope leaves belongs to the step around it.

/// How barrier nodes are made.
pub(crate) trait Orders {
    /// A task or a barrier node.
    type Handle: Copy;

    /// Whether somebody may still have to wait for it.
    fn is_live(&self, handle: Self::Handle) -> bool;

    /// One that comes after all of these, of which there is at least one; nothing if nobody has to wait for them.
    fn join(&mut self, members: &mut Vec<Self::Handle>) -> Option<Self::Handle>;
}

/// A list of unfinished tasks is not pruned below this length.
const PRUNE_AT_LEAST: usize = 64;

/// Tasks that may be unfinished, without most of those that are complete: at most about twice as many as are in flight.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished<H> {
    list: Vec<H>,
    prune_at: usize,
}

impl<H> Default for Unfinished<H> {
    fn default() -> Unfinished<H> {
        Unfinished { list: Vec::new(), prune_at: PRUNE_AT_LEAST }
    }
}

impl<H: Copy> Unfinished<H> {
    #[inline]
    pub(crate) fn push(&mut self, handle: H, live: impl Fn(H) -> bool) {
        if self.list.len() >= self.prune_at {
            self.prune(live);
        }
        self.list.push(handle);
    }

    fn prune(&mut self, live: impl Fn(H) -> bool) {
        self.list.retain(|&earlier| live(earlier));
        self.prune_at = (2 * self.list.len()).max(PRUNE_AT_LEAST);
    }

    /// Takes those of a list over, in whatever order.
    fn absorb(&mut self, mut others: Vec<H>, live: impl Fn(H) -> bool) {
        if self.list.len() < others.len() {
            std::mem::swap(&mut self.list, &mut others);
        }
        self.list.append(&mut others);
        if self.list.len() >= self.prune_at {
            self.prune(live);
        }
    }

    /// Those that `live` says are unfinished.
    pub(crate) fn take(&mut self, live: impl Fn(H) -> bool) -> Vec<H> {
        self.prune_at = PRUNE_AT_LEAST;
        self.list.retain(|&handle| live(handle));
        std::mem::take(&mut self.list)
    }
}

#[derive(Clone, Debug)]
struct OrderedScope<H> {
    /// Tasks of the step at hand.
    members: Unfinished<H>,
    /// Tasks of the step before, until they are joined.
    finished: Vec<H>,
    /// What tasks of this step wait for, once it is known.
    token: Option<H>,
    /// Tasks of this step wait for something, of this scope or of one around it.
    waits: bool,
    /// A step of this scope has ended.
    own: bool,
}

/// The scopes that have begun and not ended, the innermost last.
#[derive(Clone, Debug)]
pub(crate) struct Scopes<H> {
    stack: Vec<OrderedScope<H>>,
}

impl<H> Default for Scopes<H> {
    fn default() -> Scopes<H> {
        Scopes { stack: Vec::new() }
    }
}

impl<H: Copy> Scopes<H> {
    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.stack.clear();
    }

    pub(crate) fn begin(&mut self) {
        let waits = self.stack.last().is_some_and(|scope| scope.waits);
        self.stack.push(OrderedScope {
            members: Unfinished::default(),
            finished: Vec::new(),
            token: None,
            waits,
            own: false,
        });
    }

    /// What a task submitted now waits for. Joins the step before, if that has not been done.
    pub(crate) fn token(&mut self, orders: &mut impl Orders<Handle = H>) -> Option<H> {
        let scope = self.stack.last()?;
        if scope.token.is_some() || !scope.waits {
            return scope.token;
        }
        let waits = |scope: &OrderedScope<H>| scope.token.is_some() || !scope.finished.is_empty();
        let at = self.stack.iter().rposition(waits)?;
        let scope = &mut self.stack[at];
        if !scope.finished.is_empty() {
            scope.token = orders.join(&mut scope.finished);
            scope.finished.clear();
        }
        // A step that is complete leaves nothing to wait for further out: it waited for that itself.
        let token = scope.token;
        for scope in &mut self.stack[at..] {
            (scope.token, scope.waits) = (token, token.is_some());
        }
        token
    }

    /// A task was submitted, which waits for the [`token`](Self::token).
    pub(crate) fn add(&mut self, task: H, orders: &impl Orders<Handle = H>) {
        if let Some(scope) = self.stack.last_mut() {
            scope.members.push(task, |handle| orders.is_live(handle));
        }
    }

    /// The next step begins. False without a scope.
    pub(crate) fn step(&mut self) -> bool {
        let Some(scope) = self.stack.last_mut() else { return false };
        if !scope.members.list.is_empty() {
            // The first of them had the step before joined.
            std::mem::swap(&mut scope.finished, &mut scope.members.list);
            scope.members.list.clear();
            scope.members.prune_at = PRUNE_AT_LEAST;
            (scope.token, scope.waits, scope.own) = (None, true, true);
        }
        true
    }

    /// The innermost scope ends. False without one.
    pub(crate) fn end(&mut self, orders: &impl Orders<Handle = H>) -> bool {
        if !self.step() {
            return false;
        }
        if let (Some(mut ended), Some(around)) = (self.stack.pop(), self.stack.last_mut())
            && ended.own
        {
            ended.finished.extend(ended.token);
            around.members.absorb(ended.finished, |handle| orders.is_live(handle));
        }
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Numbers tasks and barrier nodes; those below `complete` need no waiting for.
    #[derive(Default)]
    struct Record {
        next: u32,
        complete: u32,
        joined: Vec<(u32, Vec<u32>)>,
        scopes: Scopes<u32>,
    }

    impl Orders for Record {
        type Handle = u32;

        fn is_live(&self, handle: u32) -> bool {
            handle >= self.complete
        }

        fn join(&mut self, members: &mut Vec<u32>) -> Option<u32> {
            members.retain(|&member| self.is_live(member));
            if members.len() < 2 {
                return members.pop();
            }
            self.next += 1;
            self.joined.push((self.next - 1, members.clone()));
            Some(self.next - 1)
        }
    }

    impl Record {
        /// Submits a task and tells its number and what it waits for.
        fn task(&mut self) -> (u32, Option<u32>) {
            let mut scopes = std::mem::take(&mut self.scopes);
            let token = scopes.token(self);
            self.next += 1;
            scopes.add(self.next - 1, self);
            self.scopes = scopes;
            (self.next - 1, token)
        }

        fn end(&mut self) {
            let mut scopes = std::mem::take(&mut self.scopes);
            assert!(scopes.end(self));
            self.scopes = scopes;
        }
    }

    #[test]
    fn a_barrier_node_is_made_when_the_next_step_has_a_task() {
        let mut record = Record::default();
        record.scopes.begin();
        assert_eq!([record.task(), record.task()], [(0, None), (1, None)]);
        assert!(record.scopes.step() && record.scopes.step());
        assert_eq!(record.next, 2);
        assert_eq!([record.task(), record.task()], [(3, Some(2)), (4, Some(2))]);
        record.end();
        assert_eq!((record.task(), record.joined), ((5, None), vec![(2, vec![0, 1])]));
    }

    #[test]
    fn what_an_inner_scope_leaves_belongs_to_the_step_around_it() {
        let mut record = Record::default();
        record.scopes.begin();
        record.task();
        record.scopes.begin();
        record.task();
        assert!(record.scopes.step());
        assert_eq!([record.task(), record.task()], [(2, Some(1)), (3, Some(1))]);
        record.end();
        assert!(record.scopes.step());
        // The first task of the next step is in a scope of its own, which has a step before it without tasks.
        record.scopes.begin();
        assert!(record.scopes.step());
        assert_eq!(record.task(), (5, Some(4)));
        record.end();
        assert_eq!(record.task(), (6, Some(4)));
        let (point, mut members) = record.joined.remove(0);
        members.sort_unstable();
        assert_eq!((point, members, record.joined.len()), (4, vec![0, 2, 3], 0));
    }

    #[test]
    fn nobody_waits_for_a_step_that_is_complete_and_members_do_not_pile_up() {
        let mut record = Record::default();
        record.scopes.begin();
        for _ in 0..10_000 {
            record.complete = record.next.saturating_sub(10);
            record.task();
        }
        assert!(record.scopes.stack[0].members.list.len() <= 2 * PRUNE_AT_LEAST);
        record.complete = record.next;
        assert!(record.scopes.step());
        assert_eq!(record.task(), (10_000, None));
    }

    #[test]
    fn without_a_scope_there_is_no_step() {
        let mut record = Record::default();
        assert!(!record.scopes.step());
        assert!(!Scopes::default().end(&record));
        assert_eq!(record.task(), (0, None));
    }
}
