//! The interpreter: what every instruction means, that it goes on where it stopped, and that leaving out what is not its
//! own changes nothing.

mod asm;
mod ops;
mod oracle;
mod processes;
mod random;
mod refusals;
mod run;
mod steps;
