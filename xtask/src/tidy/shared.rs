//! Types that say of themselves that threads may share or hand over what they point to.
//!
//! Memory that tasks read and write is that of `wsp_memory`: its address is the one type with an `unsafe impl` of `Send` and `Sync`, and the crate's
//! documentation has the argument. A type elsewhere that needs one points to something else, and is named here with the reason. A type with a
//! raw pointer and no `unsafe impl` cannot leave its thread, so that no run can share it.

use crate::rust::Source;

/// The crate that has the argument.
const OWNER: &str = "crates/wsp-memory/";

/// Types of other crates, each with what it points to.
const OTHERS: [(&str, &str); 4] = [
    (
        "crates/wsp-kernel/src/tile/order.rs Order",
        "rows of one operation, among them those of a tile's own floats; listed anew before each use",
    ),
    ("crates/wsp-kernel/src/tile/buffer.rs Buffer", "floats of a tile, which it owns"),
    ("crates/wsp-py/src/ffi.rs HeldBuffer", "a buffer of Python, given back once"),
    ("crates/wsp-py/src/ffi.rs HeldTensor", "a tensor of DLPack, deleted once"),
];

/// The types that were found.
#[derive(Default, Debug)]
pub(super) struct Shared {
    found: Vec<String>,
}

impl Shared {
    /// Takes a file. Tests may do as they like.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let Some((_, inside)) = name.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            return;
        };
        if !inside.starts_with("src/") || inside.contains("/tests") || name.starts_with(OWNER) {
            return;
        }
        let source = Source::new(inside.to_owned(), text.to_owned());
        for (_, rest) in
            source.code.match_indices("unsafe impl").map(|(at, word)| source.code[at..].split_at(word.len()))
        {
            let Some((traits, of)) = rest.split_once(" for ") else { continue };
            if !traits.trim_end().ends_with("Send") && !traits.trim_end().ends_with("Sync") {
                continue;
            }
            let title: String = of.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let place = format!("{name} {title}");
            if !self.found.contains(&place) {
                self.found.push(place);
            }
        }
    }

    /// A fault for each type that is not named, and for each name that is no such type.
    pub(super) fn faults(&self) -> Vec<String> {
        let is_named = |place: &String| OTHERS.iter().any(|(named, _)| named == place);
        let more = self.found.iter().filter(|place| !is_named(place)).map(|place| {
            format!(
                "{place}: has an `unsafe impl` of its own; memory of tasks is a `wsp_memory::{{Bytes, View}}`"
            )
        });
        let gone = OTHERS.iter().filter(|(named, _)| !self.found.iter().any(|place| place == named));
        more.chain(gone.map(|(named, what)| format!("{named} ({what}): named as shared, and is not")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Vec<String> {
        let mut shared = Shared { found: OTHERS.map(|(named, _)| named.to_owned()).to_vec() };
        shared.source(name, text);
        shared.faults()
    }

    #[test]
    fn a_type_with_an_argument_of_its_own_is_a_fault() {
        let text = "struct Mem(*mut u8);\nunsafe impl Send for Mem {}\nunsafe impl Sync for Mem {}\n";
        let faults = found("crates/wsp-cpu/src/x.rs", text);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("crates/wsp-cpu/src/x.rs Mem: has an `unsafe impl` of its own"));
        assert_eq!(found("crates/a/src/y.rs", "unsafe impl<T: Sync> Sync for View<T> {}").len(), 1);
    }

    #[test]
    fn the_owner_tests_comments_and_other_traits_are_none() {
        let text = "unsafe impl Send for Mem {}";
        assert!(found("crates/wsp-memory/src/x.rs", text).is_empty());
        assert!(found("crates/a/tests/x.rs", text).is_empty());
        assert!(found("crates/a/src/x.rs", "// unsafe impl Send for Mem {}").is_empty());
        assert!(found("crates/a/src/x.rs", &format!("#[cfg(test)]\nmod tests {{ {text} }}")).is_empty());
        assert!(found("crates/a/src/x.rs", "unsafe impl GlobalAlloc for Counting {}").is_empty());
    }

    #[test]
    fn a_name_that_is_no_such_type_is_a_fault() {
        assert_eq!(Shared::default().faults().len(), OTHERS.len());
    }
}
