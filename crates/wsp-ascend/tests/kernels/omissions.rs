//! No event, wait or barrier of an emitted kernel can be left out unseen.

use crate::batch::emitted;
use crate::bench::{Kernel, told};
use crate::calls::{OPERANDS, call};
use crate::mixed::{ATTENTION, BEHIND, CHANGED, COLUMN, DEEP, GATED, HELD, LARGEST, MERGED, NARROW, OUTER};
use crate::mutate::{syncs, without};
use crate::paged::{ATTENTION_OF_PAGES, PRODUCT_OF_PAGES, Paged, ROWS_OF_PAGES};
use crate::whole::{COLUMNS, PRODUCT, RMSNORM, ROUND, SCALARS, SHORT, SOFTMAX, TURNED};
use wsp_ascend::kernels::{Chip, KernelSource};
use wsp_ir::TILE_OPS;
use wsp_tile::check;

const BODIES: [(&str, &str); 19] = [
    ("rmsnorm", RMSNORM),
    ("softmax", SOFTMAX),
    ("product", PRODUCT),
    ("turned", TURNED),
    ("short", SHORT),
    ("columns", COLUMNS),
    ("scalars", SCALARS),
    ("round", ROUND),
    ("attention", ATTENTION),
    ("gated", GATED),
    ("largest", LARGEST),
    ("changed", CHANGED),
    ("deep", DEEP),
    ("merged", MERGED),
    ("held", HELD),
    ("behind", BEHIND),
    ("narrow", NARROW),
    ("outer", OUTER),
    ("column", COLUMN),
];

/// Kernels, or the tasks of which they consist, with their names: of every operation by every word, and those above.
fn kernels(chip: Chip) -> Vec<(String, KernelSource)> {
    let words = TILE_OPS.iter().filter(|row| row.form != "matmul").flat_map(|row| {
        row.pto.iter().map(move |word| {
            let (call, _) = call(row, word);
            (word.name.to_owned(), format!("{OPERANDS} {call} TSTORE(y, r, {{0, 0}});"))
        })
    });
    let pages = [
        ("rows of pages", ROWS_OF_PAGES),
        ("attention of pages", ATTENTION_OF_PAGES),
        ("product of pages", PRODUCT_OF_PAGES),
    ];
    let bodies = BODIES.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned()));
    words
        .chain(bodies)
        .filter_map(|(name, body)| Some((name, emitted(&Kernel::new(&body), chip).ok()?)))
        .chain(pages.map(|(name, body)| (name.to_owned(), Paged::new(body).emitted(chip).unwrap())))
        .flat_map(|(name, source)| {
            let parts = if source.tasks.is_empty() { vec![source] } else { source.tasks };
            parts.into_iter().map(move |part| (name.clone(), part))
        })
        .collect()
}

#[test]
fn each_synchronisation_that_is_left_out_is_found_without_a_run() {
    for chip in Chip::ALL {
        let (mut omitted, mut unseen) = (0, Vec::new());
        let all = kernels(chip);
        for (name, part) in &all {
            let found = check(&part.program, &part.memories);
            assert!(found.is_empty(), "{name} on {}: {}", chip.name(), told(&found));
            for (number, sync) in syncs(&part.program).into_iter().enumerate() {
                omitted += 1;
                if check(&without(&part.program, |at, _| at == number), &part.memories).is_empty() {
                    unseen.push(format!("{name}, {}: number {number}, {sync:?}", part.name));
                }
            }
        }
        println!(
            "{}: {} kernels and tasks, {omitted} omissions, {} unseen",
            chip.name(),
            all.len(),
            unseen.len()
        );
        assert!(all.len() > 100 && omitted > 500, "{} kernels, {omitted} omissions", all.len());
        assert!(unseen.is_empty(), "on {}:\n{}", chip.name(), unseen.join("\n"));
    }
}
