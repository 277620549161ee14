//! Maps and sets beside those of the standard library.

mod maps;
mod sets;
