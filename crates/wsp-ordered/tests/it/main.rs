//! Maps, sets and sorting beside those of the standard library.

mod maps;
mod sets;
mod sorting;
