//! Requests that grow, and tasks that follow them.

/// How the requests of a launch grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth<'a> {
    /// Every request by one token.
    ByOne,
    /// Every request to the length given for it, which may be shorter.
    To(&'a [u32]),
}

/// How the tasks of a launch were brought up to date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// So many words were changed in place: nothing else depends on the new tokens.
    Patched {
        /// Words.
        words: u32,
    },
    /// The generators ran again.
    Regenerated,
}
