//! Integration tests, in one program: they link once.

mod depth;
mod faults;
mod names;
mod no_panic;
mod places;
mod support;
mod tour;
