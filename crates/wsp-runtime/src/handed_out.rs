//! Which numbers of a pool are handed out: a number that is given back twice, or handed out twice, panics in tests and debug
//! builds. Other builds keep no account.

/// The account of one pool.
#[derive(Debug, Default)]
pub(crate) struct HandedOut {
    /// By number; empty without debug assertions.
    out: Vec<bool>,
}

impl HandedOut {
    /// The pool hands a number out.
    #[inline]
    pub(crate) fn take(&mut self, number: u32) {
        if cfg!(debug_assertions) {
            assert!(!self.replace(number, true), "number {number} is handed out twice");
        }
    }

    /// The pool gets a number back.
    #[inline]
    pub(crate) fn give_back(&mut self, number: u32) {
        if cfg!(debug_assertions) {
            assert!(self.replace(number, false), "number {number} is given back twice");
        }
    }

    /// The pool has all numbers back.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
    }

    fn replace(&mut self, number: u32, out: bool) -> bool {
        let at = number as usize;
        if at >= self.out.len() {
            self.out.resize(at + 1, false);
        }
        std::mem::replace(&mut self.out[at], out)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_handed_out_and_given_back_in_turns() {
        let wrong = |steps: fn(&mut HandedOut)| {
            std::panic::catch_unwind(move || steps(&mut HandedOut::default())).is_err()
        };
        assert!(!wrong(|pool| {
            pool.take(3);
            pool.give_back(3);
            pool.take(3);
        }));
        assert_eq!(cfg!(debug_assertions), wrong(|pool| pool.give_back(0)));
        assert_eq!(
            cfg!(debug_assertions),
            wrong(|pool| {
                pool.take(1);
                pool.take(1);
            })
        );
    }
}
