//! How many types hold memory of tasks: each is one more place where bytes can go away while a task uses them, or where what tasks store is
//! not recorded.
//!
//! A type holds memory when a field of it is an address, what keeps bytes, or the record of what is stored to them. Three do: the buffer,
//! the range of a buffer, and the bytes that a task has. What has one of these as a field, such as a view with its extents, holds none by itself;
//! but of types that give the bytes of a task a layout, as kernels' arrays do, there is one.

use super::twins::bodies;
use crate::rust::{Source, has_word};

/// The crate that has the types.
const OWNER: &str = "crates/wsp-memory/";

/// Places whose types hold no memory of tasks, each with what they hold.
const ELSEWHERE: [(&str, &str); 4] = [
    ("crates/wsp-simd/src/", "operands of one operation while it runs"),
    ("crates/wsp-kernel/src/tile/", "tiles, and operands of one operation while it runs"),
    ("crates/wsp-device/", "the C interface of devices"),
    ("crates/wsp-py/", "objects of Python"),
];

/// Types that have an address and are named here, each with the reason.
const NAMED: [(&str, &str); 4] = [
    ("crates/wsp-memory/src/address.rs Address", "the address of which the others are made"),
    ("crates/wsp-kernel/src/memory/view.rs Segment", "rows that are added to those of a tile"),
    ("crates/wsp-kernel/src/memory/view.rs RowsView", "rows of a tile, found anew for each operation"),
    (
        "crates/wsp-kernel/src/exec/native/run.rs Row",
        "integers of one run of compiled code, listed anew before it",
    ),
];

/// What is counted: what such a type does, the words of its fields, how many there may be.
const KINDS: [(&str, &[&str], usize); 2] = [
    (
        "hold memory of tasks",
        &["Address", "NonNull", "Owner", "Stored", "Arc<Buffer>", "MmapMut", "*mut u8", "*const u8"],
        3,
    ),
    ("give bytes of tasks a layout", &["Bytes"], 1),
];

/// The types that were found, of each kind.
#[derive(Default, Debug)]
pub(super) struct Memory {
    found: [Vec<String>; KINDS.len()],
}

impl Memory {
    /// Takes a file. Tests may do as they like.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let Some((_, inside)) = name.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            return;
        };
        let is_elsewhere = ELSEWHERE.iter().any(|(place, _)| name.starts_with(place));
        if !inside.starts_with("src/") || inside.contains("/tests") || is_elsewhere {
            return;
        }
        let source = Source::new(inside.to_owned(), text.to_owned());
        // Other crates have names such as these for other things.
        let knows = name.starts_with(OWNER) || source.code.contains("wsp_memory");
        for (title, body) in ["struct", "enum", "union"].iter().flat_map(|word| bodies(&source.code, word)) {
            for (found, (_, words, _)) in self.found.iter_mut().zip(KINDS) {
                let holds = |word: &&str| (knows || word.starts_with('*')) && has_word(body, word);
                if words.iter().any(holds) {
                    found.push(format!("{name} {title}"));
                }
            }
        }
    }

    /// A fault for each kind of which there are too many, and for each name that is no such type.
    pub(super) fn faults(&self) -> Vec<String> {
        let is_named = |place: &&String| NAMED.iter().any(|(named, _)| named == place);
        let mut faults = Vec::new();
        for (found, (what, _, most)) in self.found.iter().zip(KINDS) {
            let counted: Vec<&str> =
                found.iter().filter(|place| !is_named(place)).map(String::as_str).collect();
            if counted.len() > most {
                let (count, which) = (counted.len(), counted.join(", "));
                faults.push(format!(
                    "{count} types {what}, at most {most} may; have a `wsp_memory::{{ByteRange, View}}`, or a `wsp_kernel::TensorMem`: {which}"
                ));
            }
        }
        let gone = NAMED.iter().filter(|(named, _)| !self.found[0].iter().any(|place| place == named));
        faults.extend(gone.map(|(named, why)| format!("{named} ({why}): named as an address, and has none")));
        faults
    }

    /// Which types there are, in a line.
    pub(super) fn summary(&self) -> String {
        let is_named = |place: &&String| NAMED.iter().any(|(named, _)| named == place);
        let titles = |found: &[String]| {
            let counted = found.iter().filter(|place| !is_named(place));
            counted.filter_map(|place| place.rsplit(' ').next()).collect::<Vec<_>>().join(", ")
        };
        let kinds =
            self.found.iter().zip(KINDS).map(|(found, (what, ..))| format!("{} {what}", titles(found)));
        kinds.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "pub struct Buffer { at: Address, owner: Owner, stored: Option<Stored> }
        pub struct ByteRange { buffer: Arc<Buffer>, at: Address }
        pub struct Bytes { at: Address, count: usize }
        pub struct View { range: ByteRange, dtype: DType }";
    const ARRAY: &str =
        "use wsp_memory::Bytes;\npub struct TensorMem<L = Layout> { bytes: Bytes, layout: L }";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut memory = Memory { found: [NAMED.map(|(named, _)| named.to_owned()).to_vec(), Vec::new()] };
        memory.source("crates/wsp-memory/src/x.rs", THREE);
        memory.source("crates/wsp-kernel/src/memory/tensor.rs", ARRAY);
        for (name, text) in files {
            memory.source(name, text);
        }
        memory.faults()
    }

    #[test]
    fn three_types_are_taken_and_a_fourth_is_a_fault() {
        assert!(found(&[]).is_empty());
        for fourth in [
            "use std::sync::Arc; use wsp_memory::Stored; struct Pair { view: View, stored: Option<Arc<Stored>> }",
            "struct Held { ptr: *mut u8, bytes: usize }",
            "use wsp_memory::{Buffer}; enum Kept { None, Some(Arc<Buffer>, usize) }",
            "use wsp_memory as memory; struct Rows(Vec<memory::Address>);",
        ] {
            let faults = found(&[("crates/wsp-cpu/src/y.rs", fourth)]);
            assert!(
                faults.len() == 1 && faults[0].starts_with("4 types hold memory of tasks"),
                "{fourth} {faults:?}"
            );
            assert!(
                faults[0].contains("crates/wsp-memory/src/x.rs Bytes, crates/wsp-cpu/src/y.rs "),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn a_second_layout_over_bytes_is_a_fault() {
        let faults = found(&[(
            "crates/wsp-kernel/src/y.rs",
            "use wsp_memory::Bytes; struct Ints { bytes: Bytes, stride: usize }",
        )]);
        assert!(
            faults.len() == 1 && faults[0].starts_with("2 types give bytes of tasks a layout"),
            "{faults:?}"
        );
    }

    #[test]
    fn types_of_ranges_names_of_other_things_tests_and_places_elsewhere_are_none() {
        for other in [
            ("crates/wsp-cpu/src/y.rs", "use wsp_memory::ByteRange; pub struct TensorRange(ByteRange);"),
            ("crates/wsp-ir/src/y.rs", "struct Builder { owner: Owner, at: Address, bytes: Bytes }"),
            (
                "crates/wsp-cpu/src/y.rs",
                "use wsp_memory::Stored; fn f(stored: &Stored) { struct X { AddressBook: u8 } }",
            ),
            ("crates/wsp-cpu/src/y.rs", "#[cfg(test)]\nmod tests { struct X { at: *mut u8 } }"),
            ("crates/wsp-cpu/tests/y.rs", "struct X { at: *mut u8 }"),
            ("crates/wsp-simd/src/y.rs", "struct X { at: *mut u8 }"),
        ] {
            assert!(found(&[other]).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn a_name_that_is_no_such_type_is_a_fault() {
        assert_eq!(Memory::default().faults().len(), NAMED.len());
    }

    #[test]
    fn the_summary_says_which() {
        let mut memory = Memory::default();
        memory.source("crates/wsp-memory/src/x.rs", THREE);
        memory.source("crates/wsp-kernel/src/memory/tensor.rs", ARRAY);
        let summary = "Buffer, ByteRange, Bytes hold memory of tasks; TensorMem give bytes of tasks a layout";
        assert_eq!(memory.summary(), summary);
    }
}
