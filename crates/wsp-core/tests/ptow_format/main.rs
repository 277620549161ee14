//! The format of PTOW programs: layouts, the table of instructions, reading and the rules of the verifier.

mod image;
mod layouts;
mod ops;
mod read;
mod rules;
mod total;
