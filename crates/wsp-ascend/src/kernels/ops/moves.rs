//! Loads and stores: tiles of tensors that lie without gaps, and of pages of a cache.

use super::cube;
use crate::kernels::memories::{L0C, UB};
use crate::kernels::paged::{self, Pages};
use crate::kernels::recipe::{Arg, Lack, Recipe, input, out};
use crate::kernels::scalars::Size;
use crate::kernels::view::{CElem, Valid, View};
use wsp_core::{CacheId, DType, TensorId};
use wsp_ir::{ArrayRef, Expr, ExprKind, MetaKind, Place, ScalarTy, Storage};
use wsp_tile::Tile;

/// A transfer from a tensor.
pub(in crate::kernels) fn load(
    r: &mut Recipe<'_>,
    dst: &Tile,
    tensor: TensorId,
    at: &Place,
) -> Result<(), Lack> {
    if let Some(cache) = paged::cache(&r.scalars.module.tensors[tensor.index()]) {
        // A transfer may write all rows of the view that it is given, so the last one has the room of a whole tile.
        let buffer = r.program.buffer(dst.buffer);
        if at.row_dim == Some(1) && buffer.rows > 1 {
            let twice = buffer.row_bytes.saturating_mul(2 * u64::from(buffer.rows) - 1);
            let room = r.room.entry(dst.buffer).or_default();
            *room = twice.max(*room);
        }
        return by_pages(r, dst, tensor, at, cache, &|r, view, global| r.call("TLOAD", [out(view), global]));
    }
    let (view, global) = both(r, dst, tensor, at, None)?;
    r.call("TLOAD", [out(&view), global]);
    Ok(())
}

/// Positions of a request that lie in one page.
struct Part {
    /// The first of them.
    first: String,
    /// The number of the page, among those of all requests.
    page: String,
    /// How many they are, and how many rows of the tile lie before; none where the tile has no more than one position.
    rows: Option<[String; 2]>,
}

/// Transfers between a tile and a paged cache: one for each page that the positions lie in, from the first page on.
fn by_pages<'a>(
    r: &mut Recipe<'a>,
    tile: &Tile,
    tensor: TensorId,
    at: &Place,
    cache: CacheId,
    transfer: &dyn Fn(&mut Recipe<'a>, &View, Arg),
) -> Result<(), Lack> {
    let [request, position, ..] = at.index.as_slice() else {
        return Err(Lack::Refused("a cache has the indices request, position, head and lane"));
    };
    if at.row_dim == Some(0) {
        return Err(Lack::NotYet("a tile whose rows are requests of a paged cache"));
    }
    let size = r.scalars.number(Pages::Size.of(cache));
    let entry = Expr::new(
        ExprKind::Load(ArrayRef::Meta(cache, MetaKind::Indptr), Box::new(request.clone())),
        ScalarTy::U32,
        request.span,
    );
    let entry = r.scalars.expr(&entry);
    let pages = paged::array(r.scalars.module, cache, MetaKind::Indices);
    let pages = pages.map(|id| r.scalars.tensor(id)).unwrap_or_default();
    let page = |number: &str| format!("static_cast<int64_t>(element({pages}, {entry} + {number}))");
    let from = r.scalars.as_type(position, ScalarTy::U32);
    let buffer = r.program.buffer(tile.buffer);
    if at.row_dim != Some(1) || buffer.rows == 1 {
        let part = Part { page: page(&format!("{from} / {size}")), first: from, rows: None };
        let (view, global) = both(r, tile, tensor, at, Some(&part))?;
        transfer(r, &view, global);
        return Ok(());
    }
    let end = format!("({from} + {})", Valid::of(tile.rows, r.scalars).text());
    let first = format!("larger(page * {size}, {from})");
    let count = format!("smaller({size} - {first} % {size}, {end} - {first})");
    let part = Part { page: page("page"), rows: Some([count, format!("({first} - {from})")]), first };
    let (view, global) = both(r, tile, tensor, at, Some(&part))?;
    r.looped("page", &format!("{from} / {size}"), &format!("ceil_div({end}, {size})"), |r| {
        transfer(r, &view, global);
    });
    Ok(())
}

/// A transfer to a tensor.
pub(in crate::kernels) fn store(
    r: &mut Recipe<'_>,
    tensor: TensorId,
    src: &Tile,
    at: &Place,
    add: bool,
) -> Result<(), Lack> {
    if let Some(cache) = paged::cache(&r.scalars.module.tensors[tensor.index()]) {
        if add {
            return Err(Lack::NotYet("an addition to a paged cache"));
        }
        if r.program.buffer(src.buffer).memory != UB {
            return Err(Lack::NotYet("a store to a paged cache from the matrix unit"));
        }
        return by_pages(r, src, tensor, at, cache, &|r, view, global| {
            r.call("TSTORE", [global, input(view)]);
        });
    }
    let (view, global) = both(r, src, tensor, at, None)?;
    let name = match &global {
        Arg::Global(c_type, _) if add => {
            format!("TSTORE<{}, {c_type}, AtomicType::AtomicAdd>", view.c_type())
        }
        _ => "TSTORE".to_owned(),
    };
    r.call(name, [global, input(&view)]);
    Ok(())
}

/// How far neighbours of a tile are apart in a tensor, in elements, by dimension of the tile; none where the tile does not go along a
/// dimension of the tensor.
pub(in crate::kernels) fn steps(
    r: &Recipe<'_>,
    tensor: TensorId,
    at: &Place,
) -> Result<[Option<Size>; 2], Lack> {
    let strides = strides(r, tensor)?;
    let of = |dim: Option<u8>| dim.and_then(|dim| strides.get(usize::from(dim)).cloned());
    Ok([of(at.row_dim), of(at.col_dim)])
}

fn strides(r: &Recipe<'_>, tensor: TensorId) -> Result<Vec<Size>, Lack> {
    let of = &r.scalars.module.tensors[tensor.index()];
    if let Some(cache) = paged::cache(of) {
        let [position, head] = [Pages::PositionStride, Pages::HeadStride]
            .map(|what| Size::Text(r.scalars.number(what.of(cache))));
        // The first index is a request, which is no distance: `pointer` has its page in place of it.
        let lacking = Lack::NotYet("a tensor with rows of different lengths");
        return Ok(vec![page_stride(r, tensor, cache).ok_or(lacking)?, position, head, Size::Known(1)]);
    }
    let strides = r.scalars.strides(tensor, of.span);
    let mut strides = strides.ok_or(Lack::NotYet("a tensor with rows of different lengths"))?;
    if of.storage == Storage::Workspace {
        // The first index is in bytes, which `pointer` knows.
        strides.insert(0, Size::Known(1));
    }
    Ok(strides)
}

/// Elements of a page.
fn page_stride(r: &Recipe<'_>, tensor: TensorId, cache: CacheId) -> Option<Size> {
    let of = &r.scalars.module.tensors[tensor.index()];
    let mut all = Size::Text(r.scalars.number(Pages::Size.of(cache)));
    for dim in of.dims.get(2..)? {
        all = all.times(&r.scalars.dim(dim, of.span)?);
    }
    Some(all)
}

/// The tile of a transfer and what it sees of a tensor; `part` says which page of a cache.
fn both(
    r: &Recipe<'_>,
    tile: &Tile,
    tensor: TensorId,
    at: &Place,
    part: Option<&Part>,
) -> Result<(View, Arg), Lack> {
    let steps = steps(r, tensor, at)?;
    let elem = r.scalars.elem_of(tensor).and_then(CElem::of);
    let elem = elem.ok_or(Lack::Refused("cores have no elements of the type of this tensor"))?;
    let in_ub = r.program.buffer(tile.buffer).memory == UB;
    let mut view = if in_ub { r.tile(tile)? } else { cube::tile(r, tile)? };
    if let Some([count, before]) = part.and_then(|part| part.rows.as_ref()) {
        view.valid[0] = Valid::Text(count.clone());
        view.offset = Some(format!("{before} * {}u", r.program.buffer(tile.buffer).row_bytes));
    }
    let stored = r.program.buffer(tile.buffer).memory == L0C;
    if elem != view.elem && !(stored && matches!(elem, CElem::F16 | CElem::Bf16)) {
        return Err(Lack::NotYet(
            "a transfer between global memory and the matrix unit that converts elements",
        ));
    }
    let one = Some(Size::Known(1));
    let [row_step, col_step] = &steps;
    let flat = view.is_column();
    if flat {
        if row_step.is_some() && *row_step != one {
            return Err(Lack::NotYet("a column whose elements are apart in its tensor"));
        }
        view = view.as_row();
    } else if col_step.is_some() && *col_step != one {
        return Err(Lack::NotYet("a tile whose columns are apart in its tensor"));
    }
    let turned = !in_ub && r.turned.contains(tile.buffer);
    // An operand of the matrix unit is seen as it will be used; in memory its rows and columns are exchanged.
    let (rows, cols) =
        if turned { (&view.valid[1], &view.valid[0]) } else { (&view.valid[0], &view.valid[1]) };
    let row_step = match row_step {
        Some(step) if !flat => step.clone(),
        _ => Size::Known(u64::from(if turned { view.rows } else { view.cols })),
    };
    let pointer = pointer(r, tensor, at, part)?;
    let (shape, stride, layout) = if turned {
        ([cols.clone(), rows.clone()], [Size::Known(1), row_step], "DN")
    } else {
        ([rows.clone(), cols.clone()], [row_step, Size::Known(1)], "ND")
    };
    let (shape_type, shape) = five(
        "Shape",
        &shape.map(|valid| match valid {
            Valid::Known(n) => Size::Known(u64::from(n)),
            Valid::Text(text) => Size::Text(text),
        }),
        1,
    );
    // The outer dimensions have one element each: how far the next would be does not count.
    let outer = stride.iter().filter_map(Size::known).max().unwrap_or(1);
    let (stride_type, stride) = five("Stride", &stride, outer);
    let c_type = format!("GlobalTensor<{}, {shape_type}, {stride_type}, Layout::{layout}>", elem.name());
    Ok((view, Arg::Global(c_type, format!("{pointer}, {shape}, {stride}"))))
}

/// The type with five dimensions, and a value of it.
fn five(name: &str, last: &[Size; 2], outer: u64) -> (String, String) {
    let dims: Vec<String> =
        last.iter().map(|size| size.known().map_or_else(|| "-1".to_owned(), |n| n.to_string())).collect();
    let given: Vec<String> = last.iter().filter(|size| size.known().is_none()).map(Size::text).collect();
    let c_type = format!("{name}<{outer}, {outer}, {outer}, {}>", dims.join(", "));
    let value = format!("{c_type}({})", given.join(", "));
    (c_type, value)
}

/// Where the first element is.
fn pointer(r: &Recipe<'_>, tensor: TensorId, at: &Place, part: Option<&Part>) -> Result<String, Lack> {
    let strides = strides(r, tensor)?;
    let mut text = r.scalars.tensor(tensor);
    let of = &r.scalars.module.tensors[tensor.index()];
    for (dim, (index, stride)) in at.index.iter().zip(&strides).enumerate() {
        if let Some(part) = part.filter(|_| dim < 2) {
            let cache = paged::cache(of).map(|id| r.scalars.number(Pages::Size.of(id)));
            let within = format!("({} % {})", part.first, cache.unwrap_or_default());
            let index = if dim == 0 { &part.page } else { &within };
            text += &format!(" + {index} * {}", stride.text());
            continue;
        }
        if index.as_const_int() == Some(0) {
            continue;
        }
        let index = r.scalars.as_type(index, ScalarTy::I64);
        if of.storage == Storage::Workspace && dim == 0 {
            let size = r.scalars.elem_of(tensor).map_or(1, DType::size);
            text += &format!(" + {index} / {size}");
            continue;
        }
        text += &match stride.known() {
            Some(1) => format!(" + {index}"),
            _ => format!(" + {index} * {}", stride.text()),
        };
    }
    Ok(text)
}
