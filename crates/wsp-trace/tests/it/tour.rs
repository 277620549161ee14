//! A document with every form in it: what it says, and that its text says the same.

use crate::said::said;
use crate::support::{good, tour};
use expect_test::expect_file;
use wsp_core::DType;
use wsp_diag::SourceMap;
use wsp_ir::workload::text;
use wsp_plan::view_kernel::{FieldSource, ViewShape};
use wsp_trace::{KernelBody, kernel_text, workload_text};

#[test]
fn the_workload_is_what_the_document_says() {
    let trace = good(&tour());
    expect_file!["./tour/workload.wsp"].assert_eq(&workload_text(&trace));
    assert_eq!(trace.temporaries, [false, false, false, true, true]);
    assert_eq!(trace.warnings, []);
}

#[test]
fn the_text_of_the_workload_reads_as_the_workload() {
    let trace = good(&tour());
    let mut sources = SourceMap::default();
    let (module, found) = text::parse("tour.wsp", &workload_text(&trace), &mut sources);
    assert_eq!(found, []);
    assert_eq!(module.as_ref().map(said), Some(said(&trace.workload)));
}

#[test]
fn bodies_stand_in_the_order_of_kernels() {
    let trace = good(&tour());
    let [KernelBody::Compiled(source), KernelBody::Foreign { key }, KernelBody::None, KernelBody::Library] =
        &trace.bodies[..]
    else {
        panic!("{:?}", trace.bodies)
    };
    assert_eq!(key, "fill@0");
    let shape = |dtype, keep: &[u8], extents: &[Option<u32>]| ViewShape {
        dtype,
        keep: keep.to_vec(),
        extents: extents.to_vec(),
    };
    assert_eq!(
        source.views,
        [
            shape(DType::F32, &[0, 1], &[None, Some(512)]),
            shape(DType::Bf16, &[0], &[Some(512)]),
            shape(DType::F32, &[0, 1], &[None, None]),
        ]
    );
    assert_eq!(
        source.fields,
        [FieldSource::Scalar(0), FieldSource::Scalar(1), FieldSource::Extent { view: 0, dim: 0 }]
    );
}

#[test]
fn the_compiled_kernel_is_what_the_document_says() {
    let trace = good(&tour());
    let text = kernel_text(&trace, 0);
    expect_file!["./tour/norm.ir"].assert_eq(&text);
    let read = wsp_ir::text::parse(&text).unwrap();
    assert_eq!(wsp_ir::text::print(&read), text);
    assert_eq!(wsp_ir::verify(&read), []);
}

#[test]
fn kernels_without_a_text_of_their_own_say_so() {
    let trace = good(&tour());
    assert_eq!(kernel_text(&trace, 1), "(its body is the function \"fill@0\")\n");
    assert_eq!(kernel_text(&trace, 2), "(declared only: it has no body)\n");
    assert_eq!(kernel_text(&trace, 3), "(its body is that of the used file)\n");
    assert_eq!(kernel_text(&trace, 4), "");
}
