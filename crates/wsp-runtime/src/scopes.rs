//! Ordered scopes: all tasks of a step before all tasks of the next, at one edge in and one edge out per task.
//!
//! A step of one task is followed through that task itself, one of several through an order point that all of them lead
//! to. A scope within a step is a member of that step through what its own last step left.

/// How edges are made.
pub(crate) trait Orders {
    /// A task or an order point.
    type Handle: Copy;

    /// Makes an order point; it stays open until [`close`](Self::close).
    fn order_point(&mut self) -> Self::Handle;

    /// `to`, an open order point, waits for `from`.
    fn lead(&mut self, from: Self::Handle, to: Self::Handle);

    /// No more edges lead to the order point.
    fn close(&mut self, point: Self::Handle);
}

/// Tasks of the step at hand.
#[derive(Clone, Copy, Debug)]
enum Members<H> {
    None,
    One(H),
    /// Several, which lead to an open order point.
    Many(H),
}

#[derive(Clone, Copy, Debug)]
struct Scope<H> {
    /// What tasks of this step wait for.
    token: Option<H>,
    members: Members<H>,
    /// The token is of this scope.
    own: bool,
}

/// The scopes that have begun and not ended, the innermost last.
#[derive(Clone, Debug)]
pub(crate) struct Scopes<H> {
    stack: Vec<Scope<H>>,
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

    /// What a task submitted now waits for.
    pub(crate) fn token(&self) -> Option<H> {
        self.stack.last().and_then(|scope| scope.token)
    }

    pub(crate) fn begin(&mut self) {
        self.stack.push(Scope { token: self.token(), members: Members::None, own: false });
    }

    /// A task was submitted.
    pub(crate) fn add(&mut self, task: H, orders: &mut impl Orders<Handle = H>) {
        let Some(scope) = self.stack.last_mut() else { return };
        scope.members = match scope.members {
            Members::None => Members::One(task),
            Members::One(first) => {
                let point = orders.order_point();
                orders.lead(first, point);
                orders.lead(task, point);
                Members::Many(point)
            }
            Members::Many(point) => {
                orders.lead(task, point);
                Members::Many(point)
            }
        };
    }

    /// The next step begins. False without a scope.
    pub(crate) fn step(&mut self, orders: &mut impl Orders<Handle = H>) -> bool {
        let Some(scope) = self.stack.last_mut() else { return false };
        match std::mem::replace(&mut scope.members, Members::None) {
            Members::None => return true,
            Members::One(task) => scope.token = Some(task),
            Members::Many(point) => {
                orders.close(point);
                scope.token = Some(point);
            }
        }
        scope.own = true;
        true
    }

    /// The innermost scope ends. False without one.
    pub(crate) fn end(&mut self, orders: &mut impl Orders<Handle = H>) -> bool {
        if !self.step(orders) {
            return false;
        }
        let ended = self.stack.pop();
        if let Some(Scope { token: Some(token), own: true, .. }) = ended {
            self.add(token, orders);
        }
        true
    }

    /// Ends all scopes.
    pub(crate) fn end_all(&mut self, orders: &mut impl Orders<Handle = H>) {
        while self.end(orders) {}
    }
}
