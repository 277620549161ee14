//! Integration tests, in one program: they link once.

mod json;
mod pairs;
mod perfetto;
mod read;
