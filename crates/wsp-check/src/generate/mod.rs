//! Made-up data: `--generate SPEC --seed N`.
//!
//! Values follow the formula of the reference cases (`testdata/decode_cases/README.md`), so that data can be made again
//! anywhere from a seed.

mod data;
mod fill;
mod fit;
mod hash;
mod lengths;
mod names;
mod origin;
mod pages;
mod pairs;
mod roles;
mod spec;
mod tensors;
mod unit;

pub use data::{Fill, Problem, QueryRows, Side, Unused, Values};
pub use fit::{extents_of, known_params, unsolved};
pub use names::Names;
pub use origin::Origin;
pub use pages::PageTable;
pub use pairs::{Pairs, SpecError};
pub use spec::{HELP, Lens, Spec};
pub use tensors::{can_make, check_dtype, extents_asked, extents_made, generate_tensors};
pub use unit::{Scale, make_tensor};

use wsp_backend::KvLayout;
use wsp_diag::Diagnostic;
use wsp_plan::Arrays;

/// The seed when none is given.
pub const DEFAULT_SEED: u64 = 1;

/// Makes the arrays that a specification describes, under the names of a program.
///
/// `layout` holds when the specification names none. Slots that belong to no request are NaN.
///
/// # Errors
/// When a list of lengths cannot be read, or the data would not fit u32 counts or memory.
pub fn generate(
    spec: &Spec,
    origin: Origin<'_>,
    layout: KvLayout,
    names: &Names,
) -> Result<Arrays, Diagnostic> {
    let seed = origin.seed;
    let mut lens = lengths::draw(spec, origin)?;
    for length in &mut lens {
        *length = length.checked_add(spec.prefix).ok_or_else(too_long)?;
    }
    // Before pages are dealt, which takes long for a batch that no memory holds.
    let tokens: u64 = lens.iter().map(|&n| u64::from(n)).sum();
    let kv_dtype = spec.kv_dtype.unwrap_or(spec.dtype);
    let row = u64::from(spec.kv_heads) * u64::from(spec.dim) * 2 * kv_dtype.size() as u64;
    crate::check_memory("the KV cache", tokens.saturating_mul(row))?;
    let rows = match names.q_indptr {
        // A request asks with tokens that it has.
        Some(_) => QueryRows::Packed(lens.iter().map(|&n| n.min(spec.rows)).collect()),
        None => QueryRows::Each(spec.rows),
    };
    let fill = if origin.forms { Fill::Nothing } else { Fill::random() };
    let problem = Problem {
        seed,
        table: PageTable::shuffled(&lens, spec.page, spec.prefix / spec.page, seed)?,
        lens,
        prefix_pages: spec.prefix / spec.page,
        rows,
        q_heads: spec.q_heads,
        kv_heads: spec.kv_heads,
        dim: spec.dim,
        page_size: spec.page,
        dtype: spec.dtype,
        kv_dtype,
        layout: spec.layout.unwrap_or(layout),
        values: spec.values,
        q: fill,
        steep: spec.steep,
        k: fill,
        v: fill,
    };
    problem.arrays(names)
}

fn too_long() -> Diagnostic {
    Diagnostic::error(
        pto_wsp::codes::TOO_MUCH_DATA,
        "a request with the prefix has more tokens than u32 counts",
    )
    .help("take shorter requests, or a smaller `prefix=`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;

    fn names() -> Names {
        Names { q: "q".to_owned(), kv: "kv".to_owned(), lens: Some("kv_lens".to_owned()), ..Names::default() }
    }

    fn make(spec: &str) -> Arrays {
        generate(&spec.parse().unwrap(), Origin::of(7), KvLayout::Nhd, &names()).unwrap()
    }

    #[test]
    fn the_same_seed_makes_the_same_data() {
        let (a, b) = (make("batch=3,len=uniform(1,40),dim=8"), make("batch=3,len=uniform(1,40),dim=8"));
        assert!(a.iter().zip(&b).all(|(x, y)| x.0 == y.0 && x.1.bytes() == y.1.bytes()));
    }

    #[test]
    fn slots_of_no_request_are_nan_and_all_others_numbers() {
        let arrays = make("len=5/0/33,heads=4/2,dim=8,page=16,dtype=f32");
        let k = arrays["kv.k"].as_slice::<f32>().unwrap();
        let numbers = k.iter().filter(|x| !x.is_nan()).count();
        assert_eq!(numbers, (5 + 33) * 2 * 8);
        assert_eq!(arrays["kv.k"].shape(), [1 + 3 + 3, 16, 2, 8]);
        assert_eq!(arrays["q"].shape(), [3, 4, 1, 8]);
    }

    #[test]
    fn layouts_hold_the_same_numbers_in_another_order() {
        let nhd = make("len=5/33,heads=4/2,dim=8,page=16,dtype=bf16");
        let hnd = make("len=5/33,heads=4/2,dim=8,page=16,dtype=bf16,layout=HND");
        assert_eq!(nhd["kv.v"].dtype(), DType::Bf16);
        let (a, b) = (nhd["kv.v"].as_slice::<u16>().unwrap(), hnd["kv.v"].as_slice::<u16>().unwrap());
        let (page, slot, head, lane) = (2, 3, 1, 5);
        assert_eq!(
            a[((page * 16 + slot) * 2 + head) * 8 + lane],
            b[((page * 2 + head) * 16 + slot) * 8 + lane]
        );
        assert_eq!(hnd["kv.v"].shape(), [7, 2, 16, 8]);
    }

    #[test]
    fn a_prefix_goes_to_every_request_or_to_a_cache_of_its_own() {
        let spec = "len=5/0/33,heads=4/2,dim=8,prefix=32,dtype=f32";
        let shared = make(spec);
        assert_eq!(shared["kv_lens"].as_slice::<u32>().unwrap(), [37, 32, 65]);
        let indices = shared["kv.indices"].as_slice::<u32>().unwrap();
        assert_eq!((&indices[..2], &indices[..2]), (&indices[3..5], &indices[5..7]));
        let names = Names { prefix: Some("prefix".to_owned()), lens: None, ..names() };
        let apart = generate(&spec.parse().unwrap(), Origin::of(7), KvLayout::Nhd, &names).unwrap();
        assert_eq!(apart["prefix.indptr"].as_slice::<u32>().unwrap(), [0, 2]);
        assert_eq!(apart["kv.indptr"].as_slice::<u32>().unwrap(), [0, 1, 1, 4]);
        let numbers = |name: &str| {
            apart[name].as_slice::<f32>().unwrap().iter().filter(|x| !x.is_nan()).count() / (2 * 8)
        };
        assert_eq!((numbers("prefix.k"), numbers("kv.v")), (32, 5 + 33));
    }

    #[test]
    fn several_queries_and_numbers_of_heads_are_made() {
        let names = Names { slopes: Some("slopes".to_owned()), sinks: Some("sinks".to_owned()), ..names() };
        let spec: Spec = "len=5/9,heads=4/2,dim=8,rows=3,kv_dtype=f8e4m3".parse().unwrap();
        let arrays = generate(&spec, Origin::of(7), KvLayout::Nhd, &names).unwrap();
        assert_eq!(arrays["q"].shape(), [2, 4, 3, 8]);
        assert_eq!((arrays["kv.k"].dtype(), arrays["kv.k"].shape()), (DType::F8E4m3, &[5u64, 16, 2, 8][..]));
        assert_eq!(arrays["slopes"].as_slice::<f32>().unwrap(), [0.25, 0.0625, 0.015625, 0.00390625]);
        assert!(arrays["sinks"].as_slice::<f32>().unwrap().iter().all(|x| x.abs() <= 2.0));
    }

    #[test]
    fn one_row_of_seven_of_the_queries_is_steep() {
        for (spec, rows) in [("len=5/9/0/7/8", 20), ("len=5/9,rows=3", 24)] {
            let arrays = make(&format!("{spec},heads=4/2,dim=8,dtype=f32"));
            let large = |row: &[f32]| row.iter().any(|x| x.abs() > 1.0);
            let q: Vec<bool> = arrays["q"].as_slice::<f32>().unwrap().chunks(8).map(large).collect();
            assert_eq!(q, (0..rows).map(|row| row % 7 == 3).collect::<Vec<_>>(), "{spec}");
        }
    }

    #[test]
    fn the_plain_batch_is_ragged() {
        let arrays = make("dim=8");
        let lens = arrays["kv_lens"].as_slice::<u32>().unwrap();
        assert_eq!(lens.len(), 32);
        assert_eq!(lens.iter().filter(|&&n| n == 0).count(), 1);
        assert_eq!(lens.iter().filter(|&&n| n == 1).count(), 3);
        assert_eq!(lens.iter().filter(|&&n| n >= 16384).count(), 1);
    }

    #[test]
    fn an_empty_batch_has_arrays() {
        let arrays = make("batch=0,len=4,dim=8");
        assert_eq!(arrays["kv.indptr"].as_slice::<u32>().unwrap(), [0]);
        assert!(arrays["q"].is_empty());
    }

    #[test]
    fn more_data_than_the_machine_holds_is_refused_before_it_is_made() {
        let spec = "batch=65536,len=1048576,heads=128/128,dim=1024".parse().unwrap();
        assert!(generate(&spec, Origin::of(1), KvLayout::Nhd, &names()).is_err());
        let spec = "batch=1,len=4000000000,page=1,heads=4096/4096,dim=4096,dtype=f32".parse().unwrap();
        assert!(generate(&spec, Origin::of(1), KvLayout::Nhd, &names()).is_err());
    }
}
