//! Paged KV caches: shapes and page tables, checked once so that kernels can trust them.

use super::integers::to_u32;
use crate::codes;
use crate::metadata::{ArrayFact, Metadata};
use std::sync::Arc;
use wsp_backend::KvLayout;
use wsp_core::DType;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// A cache as bound.
#[derive(Clone, Debug)]
pub(crate) struct BoundCache {
    /// Name of the entry parameter: arrays are `NAME.k`, `NAME.v`, ….
    pub(crate) name: String,
    /// Tokens per page.
    pub(crate) page_size: u32,
    /// KV heads.
    pub(crate) heads: u32,
    /// Elements per token and head.
    pub(crate) lanes: u32,
    /// Order of heads and tokens inside a page.
    pub(crate) layout: KvLayout,
    /// Tokens per request.
    pub(crate) lengths: Arc<[u32]>,
    /// First entry of each request in `indices`.
    pub(crate) indptr: Arc<[u32]>,
    /// Page ids.
    pub(crate) indices: Arc<[u32]>,
    /// Tokens in the last page of each request.
    pub(crate) last_page_len: Arc<[u32]>,
}

/// The page table of a cache as integers.
struct PageTable {
    indptr: Arc<[u32]>,
    indices: Arc<[u32]>,
    last_page_len: Arc<[u32]>,
}

/// Whether some kernel uses the values of a cache. One whose values are part of its keys has no array of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// `NAME.v` must be there.
    Needed,
    /// `NAME.v` may be left out.
    Unused,
}

/// Binds the arrays `NAME.k`, `NAME.v`, `NAME.indptr`, `NAME.indices` and `NAME.last_page_len`.
/// `wanted` are the names of all arrays that the launch takes.
pub(super) fn bind(
    name: &str,
    arrays: &Metadata<'_>,
    layout: KvLayout,
    values: Values,
    wanted: &[String],
) -> Result<BoundCache, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut get = |field: &str, shape: &str| {
        let full = format!("{name}.{field}");
        let found = arrays.get(&full);
        if found.is_none() && (field != "v" || values == Values::Needed) {
            faults.push(super::faults::missing(&full, shape, arrays, wanted));
        }
        found
    };
    let axes = layout.axes();
    let keys = get("k", axes);
    let value_pages = get("v", axes);
    let indptr = get("indptr", "[batch + 1]");
    let indices = get("indices", "[pages in use]");
    let last = get("last_page_len", "[batch]");
    let (Some(keys), Some(indptr), Some(indices), Some(last)) = (keys, indptr, indices, last) else {
        return Err(faults);
    };
    let dims = check_pages(name, keys, value_pages, layout, &mut faults);
    let table = match read_table(name, indptr, indices, last) {
        Ok(table) => table,
        Err(mut more) => {
            faults.append(&mut more);
            return Err(faults);
        }
    };
    let Some([pages, page_size, heads, lanes]) = dims else { return Err(faults) };
    let lengths = check_table(name, &table, pages, page_size, &mut faults);
    // Heads and tokens that stand the other way round show in the table first.
    if let Some(fault) = faults.iter_mut().find(|fault| fault.code == codes::BAD_LAST_PAGE)
        && table.last_page_len.iter().all(|&last| last <= heads)
    {
        fault.notes.push(format!("`{name}.k` is {:?}, with pages taken as {}", keys.shape(), layout.axes()));
        let (what, other) = (format!("the table fits pages of {}", counted(heads, "token")), layout.other());
        let how = "if heads and tokens stand the other way round, say so";
        fault.help.push(format!("{what}: {how}: `--set kv_layout={other}`"));
        fault.python.push(format!("{what}: {how}: `load(path).program(kv_layout=\"{other}\")`"));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(BoundCache {
        name: name.to_owned(),
        page_size,
        heads,
        lanes,
        layout,
        lengths: lengths.into(),
        indptr: table.indptr,
        indices: table.indices,
        last_page_len: table.last_page_len,
    })
}

/// `[pages, page_size, heads, lanes]` when both page arrays agree and are usable.
fn check_pages(
    name: &str,
    keys: &ArrayFact<'_>,
    values: Option<&ArrayFact<'_>>,
    layout: KvLayout,
    faults: &mut Vec<Diagnostic>,
) -> Option<[u32; 4]> {
    let before = faults.len();
    for (field, array) in [("k", Some(keys)), ("v", values)] {
        let Some(array) = array else { continue };
        if array.shape().len() != 4 {
            faults.push(
                Diagnostic::error(
                    codes::WRONG_RANK,
                    format!("array `{name}.{field}` has {}, but a paged cache has 4", counted(array.shape().len(), "dimension")),
                )
                .note(format!("its shape is {:?}", array.shape()))
                .help("shape it [pages, page_size, heads, dim], or [pages, heads, page_size, dim] with `--set kv_layout=HND`")
                .python("shape it [pages, page_size, heads, dim], or [pages, heads, page_size, dim] with `load(path).program(kv_layout=\"HND\")`"),
            );
        }
        if array.dtype() != DType::F32 && !array.dtype().is_short_float() {
            faults.push(super::faults::wrong_float(&format!("{name}.{field}"), array.dtype()));
        }
    }
    if faults.len() > before {
        return None;
    }
    if let Some(values) = values.filter(|values| values.shape() != keys.shape()) {
        faults.push(
            Diagnostic::error(codes::WRONG_EXTENT, format!("`{name}.k` and `{name}.v` differ in shape"))
                .note(format!("`{name}.k` is {:?}, `{name}.v` is {:?}", keys.shape(), values.shape())),
        );
        return None;
    }
    let mut dims = [0u32; 4];
    for (d, &extent) in keys.shape().iter().enumerate() {
        match u32::try_from(extent) {
            Ok(extent) => dims[d] = extent,
            Err(_) => faults.push(super::faults::too_large(&format!("{name}.k"), d, extent)),
        }
    }
    let [pages, a, b, lanes] = dims;
    let (page_size, heads) = match layout {
        KvLayout::Nhd => (a, b),
        KvLayout::Hnd => (b, a),
    };
    for (what, extent) in [("page size", page_size), ("number of heads", heads), ("head dimension", lanes)] {
        if extent == 0 && faults.len() == before {
            faults.push(
                Diagnostic::error(codes::ZERO_EXTENT, format!("the {what} of cache `{name}` is 0"))
                    .note(format!("`{name}.k` is {:?}", keys.shape())),
            );
        }
    }
    (faults.len() == before).then_some([pages, page_size, heads, lanes])
}

fn read_table(
    name: &str,
    indptr: &ArrayFact<'_>,
    indices: &ArrayFact<'_>,
    last: &ArrayFact<'_>,
) -> Result<PageTable, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut read = |field: &str, array: &ArrayFact<'_>, used: usize| {
        let full = format!("{name}.{field}");
        let result = super::faults::rank_one(&full, array).and_then(|()| to_u32(&full, array, used));
        result.map_err(|fault| faults.push(fault)).ok()
    };
    let indptr = read("indptr", indptr, usize::MAX);
    let used = indptr.as_ref().and_then(|indptr| indptr.last()).map_or(usize::MAX, |&n| n as usize);
    // Behind the last page there is room, which may hold anything.
    let table = (indptr, read("indices", indices, used), read("last_page_len", last, usize::MAX));
    match table {
        (Some(indptr), Some(indices), Some(last_page_len)) => {
            Ok(PageTable { indptr, indices, last_page_len })
        }
        _ => Err(faults),
    }
}

/// Checks the page table against the pages and returns the length of each request.
fn check_table(
    name: &str,
    table: &PageTable,
    pages: u32,
    page_size: u32,
    faults: &mut Vec<Diagnostic>,
) -> Vec<u32> {
    let Some(batch) = check_indptr(name, table, faults) else { return Vec::new() };
    if table.last_page_len.len() != batch {
        faults.push(
            Diagnostic::error(
                codes::WRONG_EXTENT,
                format!("`{name}.last_page_len` does not have one entry per request"),
            )
            .note(format!(
                "it has {}, and `{name}.indptr` has {} for {batch}",
                table.last_page_len.len(),
                batch + 1,
                batch = counted(batch, "request")
            ))
            .help("give one number of tokens for each request"),
        );
        return Vec::new();
    }
    let used = table.indptr.last().map_or(0, |&n| n as usize);
    if let Some((i, &page)) = table.indices[..used].iter().enumerate().find(|&(_, &page)| page >= pages) {
        let request = table.indptr.partition_point(|&first| first as usize <= i).saturating_sub(1);
        faults.push(
            Diagnostic::error(
                codes::BAD_PAGE,
                format!(
                    "`{name}.indices[{i}]` is page {page}, but there are {pages}",
                    pages = counted(pages, "page")
                ),
            )
            .note(format!("it belongs to request {request}; valid page ids are 0..{pages}"))
            .help(format!("give ids of pages that `{name}.k` has, or a cache of more pages")),
        );
    }
    let mut lengths = Vec::with_capacity(batch);
    for request in 0..batch {
        let held = table.indptr[request + 1] - table.indptr[request];
        let last = table.last_page_len[request];
        match length(held, last, page_size) {
            Some(length) => lengths.push(length),
            None => {
                faults.push(last_page_fault(name, request, held, last, page_size));
                break;
            }
        }
    }
    lengths
}

/// Tokens of a request that holds this many pages; `None` when the last page's count cannot be.
fn length(held: u32, last: u32, page_size: u32) -> Option<u32> {
    match held {
        0 => (last == 0).then_some(0),
        _ if last == 0 || last > page_size => None,
        _ => (held - 1).checked_mul(page_size)?.checked_add(last),
    }
}

fn last_page_fault(name: &str, request: usize, held: u32, last: u32, page_size: u32) -> Diagnostic {
    let valid =
        if held == 0 { "0, for a request without pages".to_owned() } else { format!("1..={page_size}") };
    Diagnostic::error(codes::BAD_LAST_PAGE, format!("`{name}.last_page_len[{request}]` is {last}"))
        .note(format!(
            "request {request} holds {held} of {page_size}; valid values are {valid}",
            held = counted(held, "page"),
            page_size = counted(page_size, "token")
        ))
        .help("give the tokens that the last page of each request has")
}

/// The number of requests, when `indptr` is a valid row pointer into `indices`.
fn check_indptr(name: &str, table: &PageTable, faults: &mut Vec<Diagnostic>) -> Option<usize> {
    let indptr = &table.indptr;
    let Some((&first, rest)) = indptr.split_first() else {
        faults.push(
            Diagnostic::error(codes::BAD_INDPTR, format!("`{name}.indptr` is empty"))
                .help("an empty batch has `indptr = [0]`"),
        );
        return None;
    };
    if first != 0 {
        let message = format!("`{name}.indptr[0]` is {first}, but must be 0");
        faults.push(
            Diagnostic::error(codes::BAD_INDPTR, message).python(format!(
                "give where the pages of each request begin: `{{\"{name}.indptr\": [0, …]}}`"
            )),
        );
        return None;
    }
    if let Some(i) = indptr.windows(2).position(|w| w[1] < w[0]) {
        faults.push(
            Diagnostic::error(
                codes::BAD_INDPTR,
                format!(
                    "`{name}.indptr` decreases: entry {i} is {}, entry {} is {}",
                    indptr[i],
                    i + 1,
                    indptr[i + 1]
                ),
            )
            .note(format!("request {i} would hold a negative number of pages"))
            .help("give where the pages of each request begin, and where the last ones end: they never fall"),
        );
        return None;
    }
    let last = rest.last().copied().unwrap_or(0) as usize;
    if last > table.indices.len() {
        faults.push(
            Diagnostic::error(
                codes::BAD_INDPTR,
                format!(
                    "`{name}.indptr` ends at {last}, but `{name}.indices` has {}",
                    counted(table.indices.len(), "entry")
                ),
            )
            .help(format!("`{name}.indices` needs at least {last} page ids")),
        );
        return None;
    }
    Some(rest.len())
}
