//! Maps and sets beside those of the standard library.
#![expect(missing_docs, reason = "tests")]

mod maps;
mod sets;
