//! Kernels that load from paged caches and store to them: pages in any order, both layouts, requests that end within a page or on its end.

use crate::batch::{Batch, Given, Launched};
use crate::bench::{COLS, Kernel, ROWS, element, told};
use crate::randomised::cases;
use std::collections::BTreeMap;
use wsp_ascend::kernels::{Chip, KernelSource, emit_kernel};
use wsp_backend::KvLayout;
use wsp_diag::Diagnostic;
use wsp_ir::Elem;
use wsp_plan::{Array, Arrays};
use wsp_tile::Known;

/// Heads, and elements of each.
const HEADS: usize = 3;
const LANES: usize = 32;

/// Keys and values of one head, of all heads at a position, and single rows and columns; also in short elements. Of a tile that is loaded twice
/// the second load counts.
pub(crate) const ROWS_OF_PAGES: &str = "
    VecTile<float, 24, 8> t; VecTile<half, 24, 8> h; VecTile<float, 3, 8> heads; VecTile<float, 1, 8> one;
    VecTile<float, 24, 1> c;
    TASSIGN(t, 0.0f);
    TLOAD(t, k_cache, {desc.a, desc.b, desc.c}, desc.d);
    TSTORE(y, t, {0, 0});
    TLOAD(h, v_cache, {desc.a, desc.b, desc.c, 8}, desc.d);
    TSTORE(y, h, {0, 8});
    if (desc.b < kv_lens[desc.a]) {
        TLOAD(t, k_cache, {desc.a, desc.b, 0, 16}, desc.d);
        TSTORE(y, t, {24, 0});
        TLOAD(heads, v_cache, {desc.a, desc.b, PTO_ROWS(0), 0});
        TLOAD(one, k_cache, {desc.a, desc.b, desc.c, 24});
        TSTORE(y, heads, {48, 0});
        TSTORE(y, one, {56, 0});
    }
    TLOAD(c, v_cache, {desc.a, PTO_ROWS(desc.b), desc.c, 5}, desc.d);
    TSTORE(y, c, {PTO_ROWS(0), 16});";

/// Attention of a few queries over the positions of a request, whose keys and values are operands of products.
pub(crate) const ATTENTION_OF_PAGES: &str = "
    VecTile<float, 8, 32> q; AccTile<float, 8, 32> o; VecTile<float, 8, 1> m; VecTile<float, 8, 1> d;
    uint32_t end = PTO_MIN(desc.d, kv_lens[desc.a]);
    TLOAD(q, x, {desc.c, 0});
    TASSIGN(o, 0.0f); TASSIGN(m, -INFINITY); TASSIGN(d, 0.0f);
    for (uint32_t pos = desc.b; pos < end; pos += 48) {
        RightTile<float, 48, 32> k; RightTile<float, 48, 32> v;
        VecTile<float, 8, 48> p; VecTile<float, 8, 1> m_new; VecTile<float, 8, 1> t;
        TLOAD(k, k_cache, {desc.a, pos, desc.c}, end - pos);
        TLOAD(v, v_cache, {desc.a, pos, desc.c}, end - pos);
        TMATMUL(p, q, PTO_TRANSPOSE(k));
        TMULS(p, p, 0.01f);
        TROWMAX(m_new, p);
        TMAX(m_new, m_new, m);
        TSUB(t, m, m_new);
        TEXP2(t, t);
        TROWEXPANDMUL(o, o, t);
        TMUL(d, d, t);
        TROWEXPANDSUB(p, p, m_new);
        TEXP2(p, p);
        TROWSUM(t, p);
        TADD(d, d, t);
        TMATMUL_ACC(o, p, v);
        TMOV(m, m_new);
    }
    TMAXS(d, d, FLT_MIN);
    TROWEXPANDDIV(o, o, d);
    TSTORE(y, o, {8, 0});";

/// Stores of rows, of all heads at a position, and of one row; what lies there afterwards, and what lay there before, is read again.
pub(crate) const STORES_TO_PAGES: &str = "
    VecTile<float, 24, 8> t; VecTile<float, 3, 8> heads; VecTile<float, 1, 8> one; VecTile<float, 24, 32> all;
    TASSIGN(all, 0.0f);
    if (desc.b < kv_lens[desc.a]) {
        uint32_t rows = PTO_MIN(desc.d, kv_lens[desc.a] - desc.b);
        TLOAD(t, x, {desc.c, 0}, rows);
        TSTORE(k_cache, t, {desc.a, desc.b, desc.c});
        TMULS(t, t, 2.0f);
        TSTORE(v_cache, t, {desc.a, desc.b, desc.c, 16});
        TLOAD(one, x, {40, 8}); TSTORE(k_cache, one, {desc.a, desc.b, desc.c, 24});
        TLOAD(heads, x, {50, 16}); TSTORE(v_cache, heads, {desc.a, desc.b, PTO_ROWS(0), 0});
        TLOAD(all, k_cache, {desc.a, desc.b / 2, desc.c});
    }
    TSTORE(y, all, {0, 0});
    TLOAD(all, v_cache, {desc.a, desc.b, desc.c}, desc.d);
    TSTORE(y, all, {24, 0});";

/// A product of nothing but tiles of the matrix unit, one of which is as long as the request.
pub(crate) const PRODUCT_OF_PAGES: &str = "
    LeftTile<float, 16, 32> a; RightTile<float, 32, 32> b; AccTile<float, 16, 32> c;
    TLOAD(a, x, {desc.c, 0});
    TLOAD(b, k_cache, {desc.a, desc.b, desc.c}, desc.d);
    TMATMUL(c, a, PTO_TRANSPOSE(b));
    TSTORE(y, c, {0, 0});";

/// A kernel `k` over a cache, `x` and `y`.
pub(crate) struct Paged(Kernel);

/// Pages of a cache, and what requests have in them.
struct Table {
    page_size: u32,
    layout: KvLayout,
    lengths: Vec<u32>,
    indptr: Vec<u32>,
    indices: Vec<u32>,
    last_page_len: Vec<u32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl Paged {
    pub(crate) fn new(body: &str) -> Paged {
        Paged::of(LANES, 1, "lens[1]", body)
    }

    /// A kernel of some tasks, whose field `b` is `field`, over a cache with so many lanes.
    fn of(lanes: usize, tasks: u32, field: &str, body: &str) -> Paged {
        let text = format!(
            "PTO_SHAPE(lens, 4)
             PTO_SHAPE(kv_cache, batch, PTO_DYNAMIC, heads, {lanes})
             PTO_SHAPE(kv_lens, batch)
             PTO_SHAPE(x, {ROWS}, {COLS})
             PTO_SHAPE(y, {ROWS}, {COLS})
             PTO_SPACE(Space) {{ PTO_AXIS(i, 0, {tasks}) }}
             struct D {{ uint32_t a, b, c, d; }};
             PTO_KERNEL_IMPL(k) {{ auto desc = PTO_GET_DESCRIPTOR<D>(); {body} }}
             PTO_DESCRIPTOR_GEN(Space) {{ PTO_SCHEDULED_FOR(i) {{
                 PTO_EMIT_DESCRIPTOR(D{{ .a = lens[0], .b = {field}, .c = lens[2], .d = lens[3] }});
             }} }}
             void go(uint32_t* lens, PagedKVCache<float> kv, uint32_t* kv_lens, Tensor<float> x, Tensor<float> y) {{
                 PTO_LAUNCH(Space, {{ .lens = lens, .kv_cache = kv, .kv_lens = kv_lens, .x = x, .y = y }});
             }}"
        );
        Paged(Kernel::of_text(text))
    }

    pub(crate) fn emitted(&self, chip: Chip) -> Result<KernelSource, Vec<Diagnostic>> {
        let module = self.0.module();
        let elems = module.tensors.iter().map(|tensor| match tensor.elem {
            Elem::Fixed(elem) => Some(elem),
            Elem::Of(_) => None,
        });
        let elems: Vec<_> = elems.collect();
        let kernel = module.function_named("k").unwrap();
        emit_kernel(module, kernel, Known { params: &[], elems: &elems }, chip)
    }

    /// What a plain run leaves in `y`.
    fn plain(&self, table: &Table, words: [u32; 4]) -> Vec<f32> {
        let (page, heads, lanes) = (u64::from(table.page_size), HEADS as u64, LANES as u64);
        let pages = table.keys.len() as u64 / (page * heads * lanes);
        let shape = match table.layout {
            KvLayout::Nhd => [pages, page, heads, lanes],
            KvLayout::Hnd => [pages, heads, page, lanes],
        };
        let numbers = |all: &[u32]| Array::of(&[all.len() as u64], all).unwrap();
        let x: Vec<f32> = (0..ROWS * COLS).map(element).collect();
        let arrays = [
            ("lens", numbers(&words)),
            ("kv.k", Array::of(&shape, &table.keys).unwrap()),
            ("kv.v", Array::of(&shape, &table.values).unwrap()),
            ("kv.indptr", numbers(&table.indptr)),
            ("kv.indices", numbers(&table.indices)),
            ("kv.last_page_len", numbers(&table.last_page_len)),
            ("kv_lens", numbers(&table.lengths)),
            ("x", Array::of(&[ROWS as u64, COLS as u64], &x).unwrap()),
        ];
        let arrays = Arrays::from(arrays.map(|(name, array)| (name.to_owned(), array)));
        self.0.plain_of(&arrays, |options| options.kv_layout = table.layout)
    }

    fn case(&self, table: &Table, words: [u32; 4]) -> Launched {
        let (page, heads, lanes) = (table.page_size, HEADS as u32, LANES as u32);
        let [position, head] = match table.layout {
            KvLayout::Nhd => [heads * lanes, lanes],
            KvLayout::Hnd => [lanes, page * lanes],
        };
        let given = [
            ("k_cache_gm", Given::Floats(table.keys.clone())),
            ("v_cache_gm", Given::Floats(table.values.clone())),
            ("kv_lens_gm", Given::Numbers(table.lengths.clone())),
            ("kv_cache_lengths_gm", Given::Numbers(table.lengths.clone())),
            ("kv_cache_indptr_gm", Given::Numbers(table.indptr.clone())),
            ("kv_cache_indices_gm", Given::Numbers(table.indices.clone())),
            ("cache_kv_cache_page_size", Given::Number(page)),
            ("cache_kv_cache_position_stride", Given::Number(position)),
            ("cache_kv_cache_head_stride", Given::Number(head)),
            ("param_heads", Given::Number(heads)),
        ];
        let given = given.map(|(name, value)| (name.to_owned(), value));
        let name = format!("{words:?}, pages of {page}, {:?}", table.layout);
        Launched { name, given: BTreeMap::from(given), ..Launched::new(words, self.plain(table, words)) }
    }
}

impl Table {
    /// Requests that end at each place of a page that differs, in pages whose order is not theirs. Elements that no request has are large.
    fn new(page_size: u32, layout: KvLayout) -> Table {
        let lengths = vec![0, 1, page_size - 1, page_size, page_size + 1, 3 * page_size + 5, 0, 75];
        let mut indptr = vec![0];
        for length in &lengths {
            indptr.push(indptr.last().unwrap() + length.div_ceil(page_size));
        }
        let used = *indptr.last().unwrap();
        // A number without a factor of the step: each page once, one of them in no request.
        let pages = (used + 1..).find(|pages| pages % 7 != 0).unwrap();
        // The last page of all is one in whose middle a load of several pages begins: what is read behind it lies in no array.
        let middle = indptr[5] + lengths[5] / 2 / page_size;
        let first = (pages - 1 + 7 * (pages - middle)) % pages;
        let indices: Vec<u32> = (0..used).map(|at| (at * 7 + first) % pages).collect();
        let last = |length: &u32| if *length == 0 { 0 } else { (length - 1) % page_size + 1 };
        let last_page_len = lengths.iter().map(last).collect();
        let of_page = page_size as usize * HEADS * LANES;
        let [mut keys, mut values] = [0, 1].map(|_| vec![1e9; pages as usize * of_page]);
        for (request, length) in lengths.iter().enumerate() {
            for position in 0..*length {
                let page = indices[(indptr[request] + position / page_size) as usize] as usize * of_page;
                for (head, lane) in (0..HEADS).flat_map(|head| (0..LANES).map(move |lane| (head, lane))) {
                    let slot = (position % page_size) as usize;
                    let row = match layout {
                        KvLayout::Nhd => slot * HEADS + head,
                        KvLayout::Hnd => head * page_size as usize + slot,
                    };
                    let at = ((request * 97 + position as usize) * HEADS + head) * LANES + lane;
                    keys[page + row * LANES + lane] = element(at);
                    values[page + row * LANES + lane] = element(at * 5 + 2);
                }
            }
        }
        Table { page_size, layout, lengths, indptr, indices, last_page_len, keys, values }
    }

    /// Every request, from its first position and from one within it, with a head.
    fn words(&self, most: u32) -> Vec<[u32; 4]> {
        let of = |(request, length): (usize, &u32)| {
            let head = request as u32 % HEADS as u32;
            [[request as u32, 0, head, most], [request as u32, length / 2, head, most / 2 + 1]]
        };
        self.lengths.iter().enumerate().flat_map(of).collect()
    }
}

#[test]
fn loads_and_stores_of_pages_give_what_a_plain_run_gives() {
    // Few runs are one of the two of each request, from its first position or from its middle.
    let (all, mut runs) = (cases(1) > 1, 0);
    // The texts for a3 are those for a2.
    for chip in [Chip::A2, Chip::A5] {
        let mut batch = Batch::new(chip, "paged");
        for (name, body, most, tolerance) in [
            ("rows", ROWS_OF_PAGES, 24, 0.0),
            ("attention", ATTENTION_OF_PAGES, 64, 4e-6),
            ("product", PRODUCT_OF_PAGES, 32, 0.0),
            ("stores", STORES_TO_PAGES, 24, 0.0),
        ] {
            let kernel = Paged::new(body);
            let source = kernel.emitted(chip);
            let source = source.unwrap_or_else(|found| panic!("{name}: {}", told(&found)));
            let layouts = [1, 16, 64].map(|size| [(size, KvLayout::Nhd), (size, KvLayout::Hnd)]);
            let tables = layouts.into_iter().flatten().map(|(size, layout)| Table::new(size, layout));
            let given = tables.enumerate().flat_map(|(number, table)| {
                let words = table.words(most).into_iter().enumerate();
                let words = words.filter(|(at, _)| all || (at / 2 + at + number) % 2 == 0);
                words.map(|(_, words)| kernel.case(&table, words)).collect::<Vec<_>>()
            });
            let given: Vec<Launched> = given.collect();
            runs += given.len();
            batch.add_source(name, source, given, tolerance);
        }
        batch.run();
    }
    println!("{runs} runs");
}

#[test]
fn what_is_not_emitted_of_caches_is_refused_by_its_name() {
    for (body, what) in [
        (
            "VecTile<float, 8, 32> t; TASSIGN(t, 0.0f); TSTORE_ATOMIC_ADD(k_cache, t, {desc.a, desc.b, desc.c});",
            "an addition to a paged cache",
        ),
        (
            "LeftTile<float, 16, 32> l; RightTile<float, 32, 32> r; AccTile<float, 16, 32> t; TLOAD(l, x, {0, 0}); TLOAD(r, x, {0, 0});
             TMATMUL(t, l, r); TSTORE(k_cache, t, {desc.a, desc.b, desc.c});",
            "a store to a paged cache from the matrix unit",
        ),
        (
            "VecTile<float, 8, 32> t; TLOAD(t, k_cache, {PTO_ROWS(desc.a), desc.b, desc.c, 0}); TSTORE(y, t, {0, 0});",
            "a tile whose rows are requests of a paged cache",
        ),
        (
            "PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(k_cache, {desc.a, desc.b, desc.c, 0}), {0, 0});",
            "a single element of a paged cache",
        ),
    ] {
        let found = told(&Paged::new(body).emitted(Chip::A2).unwrap_err());
        assert!(found.contains("WSP1721") && found.contains(what), "{found}");
    }
}

#[test]
fn a_tile_of_pages_that_does_not_fit_is_told_with_the_room_of_its_load() {
    let body = "VecTile<float, 1024, 32> t; TLOAD(t, k_cache, {desc.a, desc.b, desc.c}, desc.d); TSTORE(y, t, {0, 0});";
    let found = told(&Paged::new(body).emitted(Chip::A2).unwrap_err());
    let room = "1024 x 32 of f32, 262016 bytes, 130944 of them for its instructions, beside its elements";
    assert!(found.contains("WSP1705") && found.contains(room), "{found}");
}

#[test]
fn stores_to_caches_share_a_line_where_a_position_is_less_than_one() {
    for (lanes, cols, lane, shared) in [
        (32, 32, 0, false),
        (32, 8, 8, false),
        (16, 16, 0, false),
        (8, 8, 0, true),
        (24, 8, 0, false),
        (24, 24, 0, true),
    ] {
        let body = format!(
            "VecTile<float, 8, {cols}> t; TASSIGN(t, 0.0f); TSTORE(v_cache, t, {{desc.a, desc.b, desc.c, {lane}}});"
        );
        let made = Paged::of(lanes, 4, "i", &body).emitted(Chip::A2);
        let source = made.unwrap_or_else(|found| panic!("{}", told(&found)));
        let found: Vec<u16> = source.notes.iter().map(|note| note.code.0).collect();
        assert_eq!(found, if shared { vec![1726] } else { Vec::new() }, "{lanes} lanes: {body}");
    }
    // What rounds choose for each task is its own place.
    for (lanes, shared) in [(8, true), (16, false)] {
        let body = format!(
            "VecTile<float, 1, {lanes}> t; TASSIGN(t, 1.0f);
             for (uint32_t p = 0; p < 4; p += 1) {{ if (p == desc.b) {{ TSTORE(k_cache, t, {{0, p, 0, 0}}); }} }}"
        );
        let made = Paged::of(lanes, 4, "i", &body).emitted(Chip::A2);
        let source = made.unwrap_or_else(|found| panic!("{}", told(&found)));
        assert_eq!(source.notes.iter().any(|note| note.code.0 == 1726), shared, "{body}");
    }
    // A store along the lanes is as one of a row, and all tasks have one place where no index differs.
    for (place, shared) in [("0, desc.b, 0", true), ("0, 7, 0", false)] {
        let body = format!(
            "VecTile<float, 24, 1> t; TASSIGN(t, 1.0f); TSTORE(k_cache, t, {{{place}, PTO_ROWS(0)}});"
        );
        let made = Paged::of(24, 4, "i", &body).emitted(Chip::A2);
        let source = made.unwrap_or_else(|found| panic!("{}", told(&found)));
        assert_eq!(source.notes.iter().any(|note| note.code.0 == 1726), shared, "{body}");
    }
}
