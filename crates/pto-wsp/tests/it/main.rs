//! Integration tests, in one program: they link once.

mod counting;
mod errors;
mod selection;
