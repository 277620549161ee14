//! What the data of a run amount to.

use super::lines::Lines;
use serde_json::Value;
use wsp_backend::KvLayout;
use wsp_check::to_u32;
use wsp_ir::{EntryTy, Module};
use wsp_plan::Arrays;

/// The requests of all paged caches of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataSummary {
    /// Requests.
    pub sequences: u64,
    /// Tokens of all of them.
    pub tokens: u64,
    /// Tokens of the longest.
    pub longest: u64,
    /// Bytes of their keys and values.
    pub kv_bytes: u64,
}

impl DataSummary {
    /// Of the caches that the host entry takes; `None` when it takes none or their arrays are not well formed.
    pub fn of(module: &Module, arrays: &Arrays, layout: KvLayout) -> Option<DataSummary> {
        let params = &module.entry.as_ref()?.params;
        let mut caches =
            params.iter().filter(|p| p.ty == EntryTy::PagedKvCache).map(|p| p.name.as_str()).peekable();
        caches.peek()?;
        let mut all = DataSummary::default();
        for name in caches {
            all.add(name, arrays, layout)?;
        }
        Some(all)
    }

    fn add(&mut self, name: &str, arrays: &Arrays, layout: KvLayout) -> Option<()> {
        let table = |field: &str| to_u32(field, arrays.get(&format!("{name}.{field}"))?).ok();
        let (indptr, last) = (table("indptr")?, table("last_page_len")?);
        let keys = arrays.get(&format!("{name}.k"))?;
        let &[_, a, b, dim] = keys.shape() else { return None };
        let (page_size, heads) = if layout == KvLayout::Nhd { (a, b) } else { (b, a) };
        for (pages, &last) in indptr.windows(2).zip(&last) {
            let pages = u64::from(pages[1].checked_sub(pages[0])?);
            let tokens = pages.saturating_sub(1).checked_mul(page_size)?.checked_add(u64::from(last))?;
            self.sequences += 1;
            self.tokens = self.tokens.checked_add(tokens)?;
            self.longest = self.longest.max(tokens);
            // A cache of latent vectors has no array of values.
            let parts = 1 + u64::from(arrays.contains_key(&format!("{name}.v")));
            let row = heads.checked_mul(dim)?.checked_mul(parts * keys.dtype().size() as u64)?;
            self.kv_bytes = self.kv_bytes.checked_add(tokens.checked_mul(row)?)?;
        }
        Some(())
    }
}

/// Most names of made-up arrays that a line lists.
const SHOWN: usize = 12;

/// Where the arrays of a run come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sources {
    /// Arrays that were given, such as `x f32[256, 512]`.
    pub given: Vec<String>,
    /// Names of those that were made up.
    pub made: Vec<String>,
    /// The seed of what was made up.
    pub seed: u64,
}

impl Sources {
    /// For people.
    pub(super) fn text(&self) -> String {
        let made = match self.made.len() {
            n if n > SHOWN => format!("{} and {} more", self.made[..SHOWN].join(", "), n - SHOWN),
            _ => self.made.join(", "),
        };
        let made = format!("{made} made up from seed {}", self.seed);
        match (self.given.join(", "), self.made.as_slice()) {
            (given, []) if given.is_empty() => "none".to_owned(),
            (given, []) => given,
            (given, _) if given.is_empty() => made,
            (given, _) => format!("{given}; {made}"),
        }
    }

    /// Adds the line of arrays, where there are any.
    pub(super) fn add_to(&self, lines: &mut Lines) {
        if !(self.given.is_empty() && self.made.is_empty()) {
            lines.add("inputs", &self.text());
        }
    }

    /// A report for machines, with the arrays.
    pub(super) fn with_json(&self, mut report: Value) -> Value {
        report["inputs"] = self.given.clone().into();
        report["made_up"] = self.made.clone().into();
        report["seed"] = self.seed().into();
        report
    }

    /// The seed, where it decided anything.
    fn seed(&self) -> Option<u64> {
        (!self.made.is_empty()).then_some(self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_check::generate::{Names, Origin, generate};

    #[test]
    fn tokens_and_bytes_are_those_of_the_requests() {
        let names = Names { q: "q".to_owned(), kv: "kv".to_owned(), ..Names::default() };
        for layout in [KvLayout::Nhd, KvLayout::Hnd] {
            let spec = "len=5/0/33,heads=4/2,dim=8,dtype=f16".parse().unwrap();
            let arrays = generate(&spec, Origin::of(1), layout, &names).unwrap();
            let mut data = DataSummary::default();
            data.add("kv", &arrays, layout).unwrap();
            assert_eq!(
                data,
                DataSummary { sequences: 3, tokens: 38, longest: 33, kv_bytes: 38 * 2 * 8 * 2 * 2 }
            );
        }
    }
}
