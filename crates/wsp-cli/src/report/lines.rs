//! The lines of a summary for people.

use pto_wsp::cache::CacheUse;
use std::fmt::Write as _;

/// A table of two columns, a line per fact.
#[derive(Default)]
pub(crate) struct Lines(String);

impl Lines {
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.0, "  {name:<10} {value}");
    }

    /// A line for each, the first of which has the name.
    pub(crate) fn add_all(&mut self, name: &str, values: &[String]) {
        for (at, value) in values.iter().enumerate() {
            self.add(if at == 0 { name } else { "" }, value);
        }
    }

    /// What a cache had of a program.
    pub(super) fn cache(&mut self, cache: Option<&CacheUse>) {
        if let Some(cache) = cache {
            self.add("cache", &cache.to_string());
        }
    }

    pub(super) fn without_title(self) -> String {
        self.0
    }

    pub(crate) fn finish(self, title: &str) -> String {
        format!("{title}\n{}", self.0)
    }
}
