//! What makes a design impossible, or hang, that no other tool says before hardware does.
//!
//! | code | rule |
//! |---|---|
//! | 1820 | tiles are of the array, and named once |
//! | 1821 | cores, buffers, locks and ends of fifos stand on tiles of the right kind |
//! | 1822 | links join or distribute on one tile, with offsets within the object |
//! | 1823 | cores use ends of fifos that they have |
//! | 1824 | a tile has a channel for each end |
//! | 1825 | a tile's memory holds stack, buffers and objects |
//! | 1826 | dimensions and transfers lie in their memory |
//! | 1827 | a tile has the locks, and their values fit |
//! | 1828 | a tile has the descriptors, and their numbers exist |
//! | 1829 | sizes fit their fields |
//! | 1830 | strides fit their fields |
//! | 1831 | transfers are whole words |
//! | 1832 | a descriptor is repeated at most 64 times |
//! | 1833 | a descriptor has the dimensions |
//! | 1834 | numbers of channels exist |
//! | 1835 | a core holds no more objects than there are |
//! | 1836 | objects have the fifo's type, and one that is used was acquired |
//! | 1837 | each fifo is fed |
//! | 1838 | each fifo is drained |
//! | 1839 | a broadcast whose consumers feed what is sent again has the depth for it |
//! | 1840 | objects are sent again by memory tiles and cores only, once at least |
//! | 1841 | transfers and waits name a fifo or channel of a shim tile |
//! | 1842 | a descriptor is used again after a wait only |
//! | 1843 | a wait is for a transfer that tells its end |
//! | 1844 | cores use memory and locks that they reach |
//! | 1845 | symbols are names of one thing |
//! | 1846 | streams go from a port to another, and end in a port alone |
//! | 1847 | packets have numbers of 5 bits and one source |
//! | 1848 | cascades go to the next core |
//! | 1849 | each fifo is given the objects that what the host waits for needs, or a warning tells which are too many |
//! | 1850 | kernels are called as they are declared |
//! | 1851 | a core's program fits its memory |
//! | 1852 | the design does not hang, whatever its data, or a warning tells which sequence has to be launched before another |
//! | 1853 | a block of a chain is one descriptor at most, which acquires one lock at most and releases one at most |
//! | 1854 | initial objects are those that the producer has |
//! | 1855 | a lock is released by one that uses memory and acquired by another, or a warning tells that it is not |
//! | 1856 | uses of a buffer are ordered by locks or fifos; where that cannot be followed, a warning tells of users that none is between, and of two locks with more credits than buffers |
//! | 1863 | it does not do so by buffers only that lowering adds |
//! | 1868 | transfers write all of an array, or a warning counts the rest |
//! | 1869 | sequences wait for what they write, or a warning tells what for they do not |

mod ahead;
mod balance;
mod buffers;
mod chains;
mod cores;
mod credits;
mod ends;
mod fifos;
mod guards;
mod held;
mod indices;
mod moved;
mod shared;
mod streams;
mod tiles;
mod transfers;
mod waits;

pub(crate) use balance::{constants, rates, rounds};
pub(crate) use cores::size;

use crate::design::Design;
use crate::run::refused;
use wsp_diag::{Code, Diagnostic, Span};

/// What is found.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Diagnostic>);

impl Findings {
    /// Whether there is no error.
    fn are_none(&self) -> bool {
        self.0.iter().all(|found| !found.is_error())
    }

    fn add(&mut self, code: Code, span: Span, message: String) -> &mut Diagnostic {
        let at = self.0.len();
        self.0.push(Diagnostic::error(code, message).at(span, ""));
        &mut self.0[at]
    }
}

/// Everything that is wrong with a design, in the order of its text: errors, and warnings where nothing else is found.
pub fn check(design: &Design) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    tiles::check(design, &mut findings);
    fifos::check(design, &mut findings);
    cores::check(design, &mut findings);
    streams::check(design, &mut findings);
    chains::check(design, &mut findings);
    transfers::check(design, &mut findings);
    buffers::check(design, &mut findings);
    tiles::room(design, &mut findings);
    if findings.are_none() {
        findings.0.extend(refused(design));
        indices::check(design, &mut findings);
    }
    // What is needed follows from fifos that fit.
    if findings.are_none() {
        balance::check(design, &mut findings);
    }
    let unseen = if findings.are_none() { ahead::check(design, &mut findings) } else { None };
    if findings.are_none() {
        moved::check(design, &mut findings);
        waits::check(design, &mut findings);
        held::check(design, &mut findings);
        let uses = shared::Uses::of(design);
        guards::check(design, &uses, &mut findings);
        // What was followed needs no look at what is written.
        let is_open =
            |at: usize| unseen.as_ref().is_none_or(|unseen| unseen.contains(&design.buffers[at].value));
        shared::check(design, (&uses, &is_open), &mut findings);
        credits::check(design, (&uses, &is_open), &mut findings);
    }
    findings.0.sort_by_key(|found| found.primary.as_ref().map_or(0, |label| label.span.start));
    findings.0
}
