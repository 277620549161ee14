//! Memory, events, graphs and arguments that are used in no way or in the wrong way.

use super::{bound, check, check_with, graph, kernels};
use wsp_core::DType;
use wsp_core::tg::Direction;
use wsp_diag::Severity;
use wsp_ir::tg::{ArgSignature, KernelSignature};
use wsp_tg::LintOptions;

/// ISA-MC-01: allocations that no kernel uses, or none reads.
#[test]
fn unused_memory_is_told() {
    check("TG_BEGIN(0)\nMC_ALLOC(U, 64) //! 1504\nTG_END(0)\nMC_ALLOC(V, 64) //! 1504\n");
    check("TG_BEGIN(0)\nMC_ALLOC(U, 64) //! 1505\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, U)\nTG_END(0)\n");
    check(
        "TG_BEGIN(0)\nMC_ALLOC(U, 64)\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, U)\nCF_IF(load(U))\nCF_ENDIF\nTG_END(0)\n",
    );
}

/// ISA-SY-04: notifications that nothing waits for, and those that go to no device.
#[test]
fn notifications_that_reach_nothing_are_told() {
    let unit = |statements: &str| {
        format!("TG_BEGIN(G)\nTG_KERNEL(A, e, 1, AIV, 0)\n{statements}\nTG_END(G)\nTG_LAUNCH(G, default)\n")
    };
    let of = |devices| LintOptions { devices, ..LintOptions::default() };
    let waited = "CF_IF(device == 1)\nTG_KERNEL(B, e, 1, AIV, 0)\nSY_WAIT_NOTIFY(0, N, before = B)\nCF_ENDIF";
    for devices in [None, Some(8)] {
        check_with(&unit("SY_NOTIFY(7, N, after = A) //! 1504"), &kernels(), &of(devices));
    }
    let sent = "CF_IF(device == 0)\nTG_KERNEL(C, e, 1, AIV, 0)\nSY_NOTIFY(1, N, after = C)\nCF_ENDIF";
    check_with(&unit(&format!("{sent}\n{waited}")), &kernels(), &of(Some(2)));
    let none =
        "CF_IF(device == 0)\nTG_KERNEL(D, e, 1, AIV, 0)\nSY_NOTIFY(2, N, after = D) //! 1504\nCF_ENDIF";
    check_with(&unit(&format!("{sent}\n{waited}\n{none}")), &kernels(), &of(Some(2)));
    check_with(
        &unit(&format!("{sent}\n{waited}\n{}", none.replace(" //! 1504", ""))),
        &kernels(),
        &of(Some(3)),
    );
}

/// Reads of memory that nothing writes: by kernels, copies and conditions.
#[test]
fn memory_that_is_read_and_never_written_is_told() {
    let unit =
        |body: &str| format!("extern Y: u8[64]\nTG_BEGIN(G)\nMC_ALLOC(U, 64) //! 1523\n{body}TG_END(G)\n");
    check(&unit("TG_KERNEL(A, r, 1, AIV, 0)\nMC_BIND(A, 0, U)\n"));
    check(&unit("MC_COPY(U, Y, 64)\n"));
    check(&unit("CF_IF(load(U))\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nCF_ENDIF\n"));
    let written = "TG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, U)\n";
    check(&unit(written).replace(" //! 1523", ""));
}

/// Elements of four bytes begin at multiples of four.
#[test]
fn bindings_at_misaligned_bytes_are_told() {
    let mut signatures = kernels();
    let mut arg = ArgSignature::new("x", Direction::InOut);
    (arg.dtype, arg.shape) = (Some(DType::I32), vec![None]);
    signatures.insert(KernelSignature::new("words", vec![arg]));
    let unit = |offset: &str, mark: &str| {
        format!(
            "arg N: i64 = 2\nextern T: i32[64]\nTG_BEGIN(G)\nCF_LOOP(3, i)\nTG_KERNEL(A, words, 1, AIV, 0)\nMC_BIND(A, 0, T, {offset}, 8){mark}\nCF_ENDLOOP\nTG_END(G)\n"
        )
    };
    let options = LintOptions::default();
    for (offset, mark) in [
        ("0", ""),
        ("8", ""),
        ("2", " //! 1524"),
        ("i * 4", ""),
        ("i * 4 + 2", " //! 1524"),
        ("i * 2", " //! 1524"),
        ("N", ""),
    ] {
        check_with(&unit(offset, mark), &signatures, &options);
    }
    check(&graph(
        "CF_IF(load(T, 2, u32)) //! 1524 1529\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_ENDIF",
    ));
}

#[test]
fn unused_events_partitions_and_graphs_are_told() {
    check(&graph("TG_KERNEL(A, e, 1, AIV, 0)\nSY_SIGNAL(E, A) //! 1504"));
    check("CA_PARTITION(P, 0, 4, 0, 8) //! 1504\n");
    check("TG_BEGIN(0) //! 1504\nTG_END(0)\nTG_BEGIN(1)\nTG_END(1)\nTG_LAUNCH(1, default)\n");
    check("TG_BEGIN(0)\nTG_END(0)\nTG_BEGIN(1)\nTG_END(1)\n");
}

/// A direction that says less than the kernel does hides nothing.
#[test]
fn kernels_race_by_what_they_do_whatever_their_bindings_say() {
    let mut signatures = kernels();
    signatures.insert(KernelSignature::new("stir", vec![ArgSignature::new("q", Direction::InOut)]));
    let unit = |direction: &str, marks: [&str; 2]| {
        let [first, second] = marks;
        format!(
            "extern Q: f32[4]\nTG_BEGIN(0)\nTG_KERNEL(0, stir, 1, AIV, 0)\nMC_BIND(0, 0, Q{direction}){first}\n\
             TG_KERNEL(1, stir, 1, AIV, 0)\nMC_BIND(1, 0, Q{direction}){second}\nTG_END(0)\n"
        )
    };
    for direction in ["", ", direction = INOUT"] {
        check_with(&unit(direction, ["", " //! 1501"]), &signatures, &LintOptions::default());
    }
    for direction in [", direction = IN", ", direction = OUT"] {
        let marks = [" //! 1518", " //! 1501 1518"];
        check_with(&unit(direction, marks), &signatures, &LintOptions::default());
    }
}

/// ISA-MC-07: against the signature.
#[test]
fn arguments_fit_the_signature() {
    let mut signatures = kernels();
    let mut arg = ArgSignature::new("q", Direction::In);
    (arg.dtype, arg.shape) = (Some(DType::F16), vec![None, Some(64)]);
    let mut kernel = KernelSignature::new("attend", vec![arg, ArgSignature::new("o", Direction::Out)]);
    kernel.workspace = 4096;
    signatures.insert(kernel);
    let check = |text: &str| check_with(text, &signatures, &LintOptions::default());
    let unit = |kernel: &str, body: &str| {
        format!(
            "extern Q: f16[2, 64]\nextern O: f16[64]\nTG_BEGIN(0)\nTG_KERNEL(0, attend, 1, AIV, {kernel}\n{body}\nTG_END(0)\n"
        )
    };
    check(&unit("4096)", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)"));
    let found = check(&unit("4096) //! 1506", "MC_BIND(0, 0, Q)"));
    assert_eq!(found[0].help, ["MC_BIND(0, 1, TENSOR)"]);
    check(&unit("4096)", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)\nMC_BIND(0, 2, O) //! 1506"));
    check(&unit("4095) //! 1507", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, 0, 128)\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, 0, 127) //! 1507\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, 192) //! 1507\nMC_BIND(0, 1, O)"));
    check(&unit("4096)", "MC_BIND(0, 0, Q, direction = OUT) //! 1518\nMC_BIND(0, 1, O)"));
    // Of rounds that may not be taken only the one with the most bytes is sure to have too few.
    let in_loop = |around: (&str, &str), range: &str| {
        let (before, after) = around;
        let kernel = "TG_KERNEL(0, attend, 1, AIV, 4096)";
        check(&format!(
            "arg N: i64\nextern Q: f16[2, 64]\nextern O: f16[64]\nTG_BEGIN(0)\n{before}\n{kernel}\nMC_BIND(0, 0, Q, {range}\nMC_BIND(0, 1, O)\n{after}\nTG_END(0)\n"
        ));
    };
    let arm = ("CF_LOOP(4, i)\nCF_IF(i < N)", "CF_ENDIF\nCF_ENDLOOP");
    let always = ("CF_LOOP(4, i)", "CF_ENDLOOP");
    let leaves = ("CF_LOOP(4, i)\nCF_BREAK(i == N)", "CF_ENDLOOP");
    for taken in [arm, leaves] {
        for range in ["64 * i)", "128 * i)", "0, i)", "64 * i, 64 * i + 64)"] {
            in_loop(taken, range);
        }
        in_loop(taken, "130 + 64 * i) //! 1507");
        in_loop(taken, "0, i + 1) //! 1507");
        in_loop(taken, "0, 4 * i + 1) //! 1507");
    }
    in_loop(always, "64 * i) //! 1507");
    in_loop(always, "0, i) //! 1507");
    in_loop(("CF_LOOP(2, i)", "CF_ENDLOOP"), "128 * i)");
    let found = check(
        &unit("4096)", "MC_BIND(0, 0, Q)\nMC_BIND(0, 1, O)")
            .replace("extern Q: f16", "extern Q: bf16")
            .replace("MC_BIND(0, 0, Q)", "MC_BIND(0, 0, Q) //! 1518"),
    );
    assert!(found[0].is_error(), "{found:#?}");
}

/// ISA-TG-18: an edge for what the first kernel does not write.
#[test]
fn a_data_edge_carries_what_its_first_kernel_writes() {
    check(&graph(&format!("{}TG_DEPEND(A, B, DATA, T) //! 1509", bound(&[("A", "r"), ("B", "r")]))));
    check(&graph(&format!(
        "TG_KERNEL(A, e, 1, AIV, 0)\n{}TG_DEPEND(A, B, DATA, T) //! 1509",
        bound(&[("B", "r")])
    )));
}

/// ISA-TG-17: an edge that only orders says nothing of a tensor.
#[test]
fn the_tensor_of_an_after_edge_is_told_to_say_nothing() {
    let found =
        check(&graph(&format!("{}TG_DEPEND(A, B, AFTER, T) //! 1510", bound(&[("A", "r"), ("B", "r")]))));
    assert_eq!(found[0].severity, Severity::Note);
}

#[test]
fn unknown_directions_are_told_once() {
    let text = graph(
        "TG_KERNEL(A, opaque, 1, AIV, 0)\nMC_BIND(A, 0, T) //! 1508\nMC_BIND(A, 1, T)\nTG_KERNEL(B, opaque, 1, AIV, 0)\nMC_BIND(B, 0, T, direction = IN)",
    );
    assert_eq!(check(&text)[0].severity, Severity::Note);
}

/// A number is read as the elements are: other integers are a warning, real numbers and what takes several elements in an error.
#[test]
fn numbers_that_are_read_as_another_type_are_told() {
    let unit = |dtype: &str, condition: &str| {
        format!(
            "extern C: {dtype}[8]\nextern Y: u8[64]\nTG_BEGIN(G)\nCF_IF({condition} //! 1529\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nCF_ENDIF\nTG_END(G)\n"
        )
    };
    for (dtype, condition, severity) in [
        ("u8", "load(C, 0, i32))", Severity::Warning),
        ("i64", "1 + load(C, 8, u64) > 3)", Severity::Warning),
        ("i8", "load(C, 0, u8))", Severity::Warning),
        ("u16", "C)", Severity::Error),
        ("i16", "C > 0)", Severity::Error),
        ("i8", "C)", Severity::Error),
        ("bool", "load(C, 0, i32))", Severity::Error),
        ("f32", "C == 1)", Severity::Error),
        ("bf16", "load(C, 0, u8))", Severity::Error),
    ] {
        let found = check(&unit(dtype, condition));
        assert!(
            found[0].severity == severity && !found[0].help.is_empty(),
            "{dtype} {condition}: {found:#?}"
        );
    }
    for (dtype, condition) in [
        ("u8", "C)"),
        ("bool", "C)"),
        ("bool", "load(C, 7))"),
        ("i64", "load(C, 8))"),
        ("u32", "C > 0)"),
        ("u64", "load(C, 0, u64))"),
    ] {
        check(&unit(dtype, condition).replace(" //! 1529", ""));
    }
}

/// Rows of another shape than the kernel takes are told, as elements of another type are.
#[test]
fn rows_of_another_shape_are_told() {
    let mut signatures = kernels();
    let mut arg = ArgSignature::new("x", Direction::InOut);
    (arg.dtype, arg.shape) = (Some(DType::F32), vec![None, Some(32)]);
    signatures.insert(KernelSignature::new("rows", vec![arg]));
    for (shape, mark) in [("100, 32", ""), ("32, 100", " //! 1518"), ("3200", ""), ("4, 100, 32", "")] {
        let text = format!(
            "extern Y: f32[{shape}]\nTG_BEGIN(G)\nTG_KERNEL(A, rows, 1, AIV, 0)\nMC_BIND(A, 0, Y){mark}\nTG_END(G)\n"
        );
        check_with(&text, &signatures, &LintOptions::default());
    }
}
