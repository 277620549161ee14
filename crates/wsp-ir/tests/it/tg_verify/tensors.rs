//! Tensors of units: who allocates and releases them, and what is bound and copied.

use super::*;

/// ISA-MC-02.
#[test]
fn tensors_are_defined_once_with_a_size_and_a_power_of_two() {
    check("TG_BEGIN(0)\nMC_ALLOC(1, 64)\nMC_ALLOC(1, 64) //! 1463\nTG_END(0)\n");
    check("TG_BEGIN(0)\nMC_ALLOC(1, 64)\nTG_END(0)\nTG_BEGIN(1)\nMC_ALLOC(1, 64) //! 1463\nTG_END(1)\n");
    check("extern T: f16[8]\nMC_ALLOC(T, 64) //! 1463\n");
    check("MC_ALLOC(0, 64) //! 1464\n");
    check(
        "MC_ALLOC(1, 0) //! 1467\nMC_ALLOC(2, 64, 96) //! 1467\nMC_ALLOC(3, 64, 0) //! 1467\nMC_ALLOC(4, 64, 1)\n",
    );
}

/// ISA-MC-03: a tensor of a graph is its own, one in SHARED is everybody's.
#[test]
fn a_graph_does_not_see_what_another_allocates() {
    let unit = |location: &str, mark: &str| {
        format!(
            "TG_BEGIN(0)\nMC_ALLOC(1, 64, 512, {location})\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(0, a, 1, AIV, 0)\nMC_BIND(0, 0, 1){mark}\nTG_END(1)\n"
        )
    };
    check(&unit("GM", " //! 1466"));
    check(&unit("L2", " //! 1466"));
    check(&unit("SHARED", ""));
}

/// ISA-MC-05.
#[test]
fn nothing_uses_a_tensor_after_its_release() {
    let text =
        in_graph("MC_BIND(A, 0, T)\nMC_FREE(T)\nTG_KERNEL(C, c, 1, AIV, 0)\nMC_BIND(C, 0, T) //! 1472");
    assert_eq!(lines(&text, &check(&text)[0]), [8, 6, 7]);
    check(&in_graph("MC_FREE(T)\nMC_BIND(A, 0, T)"));
    check(&in_graph("MC_ALLOC(U, 64)\nMC_FREE(T)\nMC_COPY(T, U, 64) //! 1472"));
    check(&in_graph("MC_FREE(T)\nCF_IF(load(T)) //! 1472\nCF_ENDIF"));
}

/// ISA-MC-05.
#[test]
fn a_graph_is_not_launched_after_the_host_released_its_tensor() {
    let unit = |after: &str| {
        format!(
            "MC_ALLOC(T, 64)\nTG_BEGIN(G)\nTG_KERNEL(A, a, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nMC_FREE(T)\n{after}"
        )
    };
    check(&unit(""));
    check(&unit("TG_LAUNCH(G, default) //! 1472\n"));
}

/// ISA-MC-05.
#[test]
fn a_tensor_is_released_once_by_whom_it_belongs_to() {
    check(&in_graph("MC_FREE(T)\nMC_FREE(T) //! 1473"));
    check(&in_graph("CF_IF(iteration)\nMC_FREE(T)\nCF_ELSE\nMC_FREE(T)\nCF_ENDIF"));
    check(&in_graph("CF_IF(iteration)\nMC_FREE(T)\nCF_ENDIF\nMC_FREE(T) //! 1473"));
    check(&in_graph("CF_LOOP(2, i)\nMC_FREE(T) //! 1473\nCF_ENDLOOP"));
    check("extern T: f16[8]\nMC_FREE(T) //! 1473\n");
    check("MC_ALLOC(T, 64)\nTG_BEGIN(0)\nMC_FREE(T) //! 1473\nTG_END(0)\n");
    check("MC_ALLOC(T, 64)\nMC_FREE(T)\nMC_FREE(T) //! 1473\n");
}

/// ISA-MC-07.
#[test]
fn a_binding_lies_within_its_tensor() {
    check(&in_graph("MC_BIND(A, 0, T, 0, 1024)\nMC_BIND(A, 1, T, 1023)\nMC_BIND(A, 2, T, 512, 512)"));
    let found = check(&in_graph(
        "MC_BIND(A, 0, T, 0, 1025) //! 1468\nMC_BIND(A, 1, T, 1024) //! 1468\nMC_BIND(A, 2, T, 9223372036854775807, 1) //! 1468",
    ));
    assert_eq!(found[0].primary.as_ref().map(|label| label.text.as_str()), Some("bytes 0 to 1025"));
    assert!(found[0].notes.contains(&"`T` has 1024 bytes".to_owned()), "{:?}", found[0].notes);
    check(
        "extern T: f16[8]\nTG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIV, 0)\nMC_BIND(0, 0, T, 0, 16)\nMC_BIND(0, 1, T, 0, 17) //! 1468\nTG_END(0)\n",
    );
}

/// ISA-MC-07, ISA-CF-06: for every value of the loop's variable.
#[test]
fn a_binding_in_a_loop_lies_within_its_tensor_in_every_round() {
    let unit = |count: u32, binding: &str, around: (&str, &str)| {
        in_graph(&format!(
            "CF_LOOP({count}, i)\n{}\nTG_KERNEL(C, c, 1, AIV, 0)\n{binding}\n{}\nCF_ENDLOOP",
            around.0, around.1
        ))
    };
    check(&unit(4, "MC_BIND(C, 0, T, i * 256, 256)", ("", "")));
    check(&unit(5, "MC_BIND(C, 0, T, i * 256, 256) //! 1468", ("", "")));
    check(&unit(4, "MC_BIND(C, 0, T, i * 256 - 256, 256) //! 1468", ("", "")));
    check(&unit(4, "MC_BIND(C, 0, T, i * 256, (i + 1) * 256) //! 1468", ("", "")));
    // Whether the last rounds come, or run this kernel, is not known.
    check(&unit(5, "MC_BIND(C, 0, T, i * 256, 256)", ("CF_IF(i < 4)", "CF_ENDIF")));
    check(&unit(5, "MC_BIND(C, 0, T, i * 256, 256)", ("CF_BREAK(i == 4)", "")));
    check(&unit(0, "MC_BIND(C, 0, T, i * 256 + 5000, 256)", ("", "")));
    // The end is the same in every round, the offset is not.
    check(&unit(5, "MC_BIND(C, 0, T, i * 256, 1024 - i * 256) //! 1468", ("", "")));
    check(&unit(5, "MC_BIND(C, 0, T, i * 256, 1024 - i * 256)", ("CF_IF(i < 4)", "CF_ENDIF")));
}

/// ISA-MC-07.
#[test]
fn an_argument_is_bound_once_and_none_is_left_out() {
    let text = in_graph("MC_BIND(A, 0, T)\nMC_BIND(A, 0, T) //! 1469");
    assert_eq!(lines(&text, &check(&text)[0]), [6, 5]);
    let hole = in_graph("MC_BIND(A, 0, T)\nMC_BIND(A, 2, T)")
        .replace("TG_KERNEL(A, a, 1, AIV, 0)", "TG_KERNEL(A, a, 1, AIV, 0) //! 1470");
    check(&hole);
    let many: String = (0..100).map(|arg| format!("MC_BIND(A, {arg}, T)\n")).collect();
    check(&in_graph(&many));
    check(&in_graph(&format!("{many}MC_BIND(A, 77, T) //! 1469")));
    let hole = many.replace("MC_BIND(A, 80, T)\n", "");
    check(&in_graph(&hole).replace("TG_KERNEL(A, a, 1, AIV, 0)", "TG_KERNEL(A, a, 1, AIV, 0) //! 1470"));
}

/// ISA-MC-06.
#[test]
fn kernels_and_tensors_of_bindings_are_known() {
    check(&in_graph("MC_BIND(7, 0, T) //! 1458\nMC_BIND(A, 0, 9) //! 1465\nMC_BIND(A, 1, 0) //! 1464"));
}

/// ISA-CF-03: arguments do not depend on what runs.
#[test]
fn a_binding_stands_in_the_block_of_its_kernel() {
    check(&in_graph("CF_IF(iteration)\nMC_BIND(A, 0, T) //! 1471\nCF_ENDIF"));
    check(&in_graph("CF_IF(iteration)\nTG_KERNEL(C, c, 1, AIV, 0)\nCF_ENDIF\nMC_BIND(C, 0, T)"));
}

/// ISA-TG-27: double buffering.
#[test]
fn a_table_of_tensors_is_indexed_inside_of_it() {
    check(&in_graph("MC_ALLOC(U, 1024)\nMC_BIND(A, 0, {T, U}[iteration % 2])"));
    let unit = |index: &str| {
        in_graph(&format!(
            "MC_ALLOC(U, 1024)\nCF_LOOP(2, i)\nTG_KERNEL(C, c, 1, AIV, 0)\nMC_BIND(C, 0, {{T, U}}[{index}\nCF_ENDLOOP"
        ))
    };
    check(&unit("i])"));
    check(&unit("i + 1]) //! 1491"));
    check(&in_graph("MC_ALLOC(U, 8)\nMC_BIND(A, 0, {T, U}[iteration % 2], 0, 1024) //! 1468"));
}

/// ISA-MC-10.
#[test]
fn a_copy_lies_within_its_tensors_and_does_not_overlap_itself() {
    check(&in_graph("MC_ALLOC(U, 64)\nMC_COPY(T, U, 64, 960, 0)\nMC_COPY(T, T, 512, 0, 512)"));
    check(&in_graph(
        "MC_ALLOC(U, 64)\nMC_COPY(T, U, 65) //! 1468\nMC_COPY(T, U, 64, 961) //! 1468\nMC_COPY(T, U, 0) //! 1467",
    ));
    check(&in_graph("MC_COPY(T, T, 512, 0, 511) //! 1474\nMC_COPY(T, T, 8, 16, 16) //! 1474"));
    check(&in_graph("MC_COPY(T, 0, 8) //! 1464\nMC_COPY(9, T, 8) //! 1465"));
}
