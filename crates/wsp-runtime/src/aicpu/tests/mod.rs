//! Tests of whole runs, with scripted generators.

mod failures;
mod figures;
mod oracle;
mod policies;
mod random;
mod scripted;
mod steps;
mod streams;
