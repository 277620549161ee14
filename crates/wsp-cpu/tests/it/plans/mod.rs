//! Reusable plans: what they hold, when they are stale, and how they follow growing requests.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod advance;
mod capacity;
mod data;
mod execute;
mod in_place;
mod kept;
mod metadata;
mod stale;
