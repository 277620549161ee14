//! Graphs with control flow, run by the machine in random orders and compared with a plain walk over the instructions.

mod flows;
mod generate;
mod graphs;
mod host;
mod image;
mod oracle;
mod random;
mod resume;
mod simulate;
mod skipped;
mod source;
