//! Where tiles lie in every layout, and that hostile indices stay inside the array.

use super::{Clip, Fault, Layout, Paged, RowsView, Shape, TensorMem, Window};
use proptest::prelude::*;
use wsp_core::DType;
use wsp_memory::Bytes;

/// A buffer in which the bytes of every `u16` element are its number.
fn numbered(n: usize) -> Vec<u16> {
    (0..n as u16).collect()
}

fn mem(elements: &mut [u16], layout: Layout) -> TensorMem {
    // SAFETY: the tests keep the elements longer than the tensor, on one thread.
    let bytes = unsafe { Bytes::new(elements.as_mut_ptr().cast(), size_of_val(elements)) };
    TensorMem::new(bytes, DType::F16, layout)
}

/// Numbers of the elements that a view covers, row by row.
fn covered(view: &RowsView) -> Vec<Vec<u16>> {
    let element = |row: *mut u8, c: u32| {
        // SAFETY: the view covers the element.
        unsafe { row.wrapping_add(c as usize * view.col_stride).cast::<u16>().read_unaligned() }
    };
    view.starts().iter().map(|&row| (0..view.cols).map(|c| element(row, c)).collect()).collect()
}

fn locate(mem: &TensorMem, at: Window<'_>, want: Shape) -> Result<RowsView, Fault> {
    let mut view = RowsView::empty();
    mem.locate(at, want, Clip::Clamp, &mut view).map(|()| view)
}

fn window(index: &[u32], rows: Option<u8>, cols: Option<u8>) -> Window<'_> {
    Window { index, row_dim: rows, col_dim: cols }
}

fn paged() -> Paged {
    // Two requests of 5 and 3 positions, pages of 2, 2 heads of 3 lanes.
    Paged {
        lengths: [5, 3].into(),
        indptr: [0, 3, 5].into(),
        indices: [4, 0, 1, 3, 2].into(),
        page_size: 2,
        heads: 2,
        lanes: 3,
        page_stride: 12,
        slot_stride: 6,
        head_stride: 3,
    }
}

#[test]
fn a_strided_window_follows_any_two_dimensions() {
    let mut elements = numbered(24);
    let mem = mem(&mut elements, Layout::Strided { dims: vec![2, 3, 4], strides: vec![12, 4, 1] });
    let view = locate(&mem, window(&[1, 1, 2], Some(1), Some(2)), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[18, 19], [22, 23]]);
    assert!(view.is_contiguous());
    let view = locate(&mem, window(&[0, 1, 2], Some(0), None), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[6], [18]]);
    let view = locate(&mem, window(&[0, 0, 3], None, Some(0)), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[3, 15]]);
    assert!(!view.is_contiguous());
}

#[test]
fn pages_are_found_and_joined_where_memory_goes_on() {
    let mut elements = numbered(60);
    let mem = mem(&mut elements, Layout::Paged(paged()));
    let view = locate(&mem, window(&[0, 1, 1, 0], Some(1), Some(3)), Shape::new(9, 2)).unwrap();
    assert_eq!(covered(&view), [[57, 58], [3, 4], [9, 10], [15, 16]]);
    let view = locate(&mem, window(&[1, 0, 0, 1], Some(1), Some(3)), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[37, 38], [43, 44], [25, 26]]);
    // Rows along heads, and along requests.
    let view = locate(&mem, window(&[1, 2, 0, 0], Some(2), Some(3)), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[24, 25, 26], [27, 28, 29]]);
    let view = locate(&mem, window(&[0, 2, 1, 0], Some(0), Some(3)), Shape::new(9, 1)).unwrap();
    assert_eq!(covered(&view), [[3], [27]]);
}

#[test]
fn paged_faults_say_what_is_out_of_range() {
    let mut elements = numbered(60);
    let mem = mem(&mut elements, Layout::Paged(paged()));
    let all = Shape::new(9, 9);
    let out = |dim, index, extent| Some(Fault::IndexOutOfBounds { dim, index, extent });
    assert_eq!(locate(&mem, window(&[2, 0, 0, 0], Some(1), Some(3)), all).err(), out(0, 2, 2));
    assert_eq!(locate(&mem, window(&[0, 0, 2, 0], Some(1), Some(3)), all).err(), out(2, 2, 2));
    assert_eq!(mem.load_scalar(&[1, 3, 0, 0]).err(), out(1, 3, 3));
    // Request 1 is too short for its row.
    assert_eq!(locate(&mem, window(&[0, 4, 0, 0], Some(0), Some(3)), all).err(), out(1, 4, 3));
    let rows = locate(&mem, window(&[0, 7, 0, 0], Some(1), Some(3)), all).unwrap();
    assert_eq!((rows.rows, rows.starts().len()), (0, 0));
    assert_eq!(
        locate(&mem, window(&[0, 0, 0, 0], None, Some(1)), all).err(),
        Some(Fault::ColumnDimension { dim: 1 })
    );
    assert_eq!(locate(&mem, window(&[0, 0], None, None), all).err(), Some(Fault::Rank { have: 2, need: 4 }));
    assert_eq!(
        locate(&mem, window(&[0; 4], Some(4), None), all).err(),
        Some(Fault::Rank { have: 4, need: 5 })
    );
}

#[test]
fn a_broken_page_table_is_a_fault() {
    let at = window(&[0, 0, 0, 0], Some(1), Some(3));
    let all = Shape::new(9, 9);
    let fault = |change: &dyn Fn(&mut Paged)| {
        let mut elements = numbered(60);
        let mut paged = paged();
        change(&mut paged);
        locate(&mem(&mut elements, Layout::Paged(paged)), at, all).err()
    };
    let missing = |position| Some(Fault::PageMissing { batch: 0, position });
    assert_eq!(fault(&|p| p.indptr = [0, 2, 5].into()), missing(4));
    assert_eq!(fault(&|p| p.indptr = [9, 99].into()), missing(0));
    assert_eq!(fault(&|p| p.indptr = [0].into()), missing(0));
    assert_eq!(fault(&|p| p.page_size = 0), missing(0));
    assert_eq!(
        fault(&|p| p.indices = [5, 0, 1, 3, 2].into()),
        Some(Fault::OutsideBuffer { end: (5 * 12 + 6 + 3) * 2, bytes: 120 })
    );
    assert!(matches!(fault(&|p| p.page_stride = u64::MAX), Some(Fault::OutsideBuffer { .. })));
}

#[test]
fn ragged_rows_count_from_zero_for_every_outer_index() {
    let mut elements = numbered(12);
    let layout = Layout::Ragged { starts: [0, 2, 2, 6].into(), dims: vec![2], strides: vec![2, 1] };
    let mem = mem(&mut elements, layout);
    let view = locate(&mem, window(&[2, 1, 0], Some(1), Some(2)), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[6, 7], [8, 9], [10, 11]]);
    assert_eq!(locate(&mem, window(&[1, 0, 0], Some(1), Some(2)), Shape::new(9, 9)).unwrap().rows, 0);
    assert_eq!(
        mem.load_scalar(&[1, 0, 0]).err(),
        Some(Fault::IndexOutOfBounds { dim: 1, index: 0, extent: 0 })
    );
    assert_eq!(
        mem.load_scalar(&[3, 0, 0]).err(),
        Some(Fault::IndexOutOfBounds { dim: 0, index: 3, extent: 3 })
    );
}

#[test]
fn a_workspace_slot_is_chosen_by_its_byte_offset() {
    let mut elements = numbered(64);
    let layout = Layout::Slots {
        slots: 4,
        slot_bytes: 32,
        apart: Some(32),
        offset: 8,
        dims: vec![2, 3],
        strides: vec![3, 1],
    };
    let mem = mem(&mut elements, layout);
    let view = locate(&mem, window(&[64, 0, 1], Some(1), Some(2)), Shape::new(9, 9)).unwrap();
    assert_eq!(covered(&view), [[37, 38], [40, 41]]);
    let fault = |index: &[u32]| mem.load_scalar(index).err();
    assert_eq!(fault(&[33, 0, 0]), Some(Fault::SlotMisaligned { offset: 33, slot_bytes: 32 }));
    assert_eq!(fault(&[128, 0, 0]), Some(Fault::IndexOutOfBounds { dim: 0, index: 128, extent: 128 }));
    let past = mem.locate(
        window(&[0, 1, 0], Some(1), Some(2)),
        Shape::new(2, 3),
        Clip::Strict,
        &mut RowsView::empty(),
    );
    assert_eq!(past, Err(Fault::StorePastEnd { dim: 1, index: 1, count: 2, extent: 2 }));
}

#[test]
fn scalars_are_read_and_written() {
    let mut elements = vec![0u16; 4];
    let mem = mem(&mut elements, Layout::Strided { dims: vec![2, 2], strides: vec![2, 1] });
    mem.store_scalar(&[1, 0], 1.5).unwrap();
    assert_eq!(mem.load_scalar(&[1, 0]), Ok(1.5));
    assert_eq!(mem.load_scalar(&[0, 0]), Ok(0.0));
    let fault = Fault::IndexOutOfBounds { dim: 1, index: 2, extent: 2 };
    assert_eq!(mem.store_scalar(&[0, 2], 1.0), Err(fault));
}

/// Small numbers mostly, extremes sometimes.
fn any_u32() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0u32..9, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn any_u64() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0u64..40, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn any_layout() -> impl Strategy<Value = Layout> {
    let dims = || prop::collection::vec(any_u32(), 0..5);
    let strides = || prop::collection::vec(any_u64(), 0..6);
    let table = || prop::collection::vec(any_u32(), 0..6);
    prop_oneof![
        (dims(), strides()).prop_map(|(dims, strides)| Layout::Strided { dims, strides }),
        (table(), table(), table(), any_u32(), (any_u32(), any_u32()), (any_u64(), any_u64(), any_u64()))
            .prop_map(
                |(
                    lengths,
                    indptr,
                    indices,
                    page_size,
                    (heads, lanes),
                    (page_stride, slot_stride, head_stride),
                )| {
                    Layout::Paged(Paged {
                        lengths: lengths.into(),
                        indptr: indptr.into(),
                        indices: indices.into(),
                        page_size,
                        heads,
                        lanes,
                        page_stride,
                        slot_stride,
                        head_stride,
                    })
                }
            ),
        (prop::collection::vec(any_u64(), 0..5), dims(), strides())
            .prop_map(|(starts, dims, strides)| Layout::Ragged { starts: starts.into(), dims, strides }),
        (any_u32(), any_u32(), prop::option::of(any_u32()), any_u32(), dims(), strides()).prop_map(
            |(slots, slot_bytes, apart, offset, dims, strides)| {
                Layout::Slots { slots, slot_bytes, apart, offset, dims, strides }
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_layout_and_no_index_leads_outside_the_buffer(
        layout in any_layout(),
        index in prop::collection::vec(any_u32(), 8),
        given in prop_oneof![4 => Just(None), 1 => (0usize..8).prop_map(Some)],
        row_dim in prop::option::of(0u8..6),
        col_dim in prop::option::of(0u8..6),
        rows in 0u32..20,
        cols in 0u32..20,
        strict in any::<bool>(),
    ) {
        let mut elements = numbered(64);
        let mem = mem(&mut elements, layout);
        let index = &index[..given.unwrap_or(mem.rank()).min(8)];
        let clip = if strict { Clip::Strict } else { Clip::Clamp };
        let mut view = RowsView::empty();
        let found = mem.locate(window(index, row_dim, col_dim), Shape::new(rows, cols), clip, &mut view);
        prop_assert!(view.rows <= rows && view.cols <= cols);
        if found.is_err() || view.rows == 0 || view.cols == 0 {
            prop_assert!(view.starts().is_empty());
        } else {
            let (first, end) = (mem.ptr() as usize, mem.ptr() as usize + 128);
            prop_assert_eq!(view.starts().len(), view.rows as usize);
            for &row in view.starts() {
                let last = row as usize + (view.cols as usize - 1) * view.col_stride + 2;
                prop_assert!(row as usize >= first && last <= end);
            }
        }
    }
}
