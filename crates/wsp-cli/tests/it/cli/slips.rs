//! Files that hold nothing, are no files or are of no known kind, and what is said of them.

use super::checks::{COPY, Folder, LIBRARY, refused, rows};
use super::{root, run};
use std::process::Command;

#[test]
fn a_file_behind_generate_is_named_as_one() {
    let (code, _, err) = run(&["run", "--generate", "br.pto"]);
    assert!(code == 2 && err.contains("`br.pto` is a file: write it first, `br.pto --generate`"), "{err}");
}

#[test]
fn advice_to_give_a_file_says_what_makes_up_the_other_arrays() {
    let folder = Folder::new();
    let text = |table: &str| {
        format!(
            "param batch = 8; table lens{table}; tensor x: f32[batch]; tensor y: f32[batch]; kernel k(in x, out y, n); workload main {{ for i in 0..batch {{ k(x[i..i + 1], y[i..i + 1], lens[i]); }} }}"
        )
    };
    let values = folder.write("values.wsp", &text("[batch] = [1, 2, 3, 4, 5, 6, 7, 8]"));
    let absent = folder.write("absent.wsp", &text("[batch]"));
    for (args, code) in
        [(&["run", &values, "--set", "batch=9"][..], "WSP0803"), (&["run", &absent], "WSP0801")]
    {
        let (_, err) = refused(args);
        assert!(err.contains(code) && err.contains("makes up the other arrays with `--generate`"), "{err}");
    }
}

#[test]
fn a_cost_below_0_is_an_error_of_the_check() {
    let folder = Folder::new();
    for (cost, cycles) in [("-10", -10), ("0-3", -3), ("2 * (1 - 4)", -6), ("(1 < 2 ? 3 - 9 : 7)", -6)] {
        let text = format!("tensor y: f32[4]; kernel k(out y) cost {cost}; workload main {{ k(y[0..4]); }}");
        let (_, err) = refused(&["check", &folder.write("cost.wsp", &text)]);
        assert!(
            err.contains("WSP0866") && err.contains(&format!("the cost of kernel `k` is {cycles}")),
            "{err}"
        );
    }
}

#[test]
fn a_check_of_costs_finds_the_same_on_any_number_of_cpus() {
    let folder = Folder::new();
    let text = "tensor x: i64[8]; kernel f(inout x) cost 4000000000000000000; workload main { parallel for i in 0..5 { f(x[i]); } } schedule { task_graph(trace = cycles); }";
    let file = folder.write("cost.wsp", text);
    let (code, _, err) = run(&["check", &file]);
    assert!(err.contains("warning[WSP0866]") && err.contains("task 4 would end after cycle"), "{err}");
    assert!(code == 0 && err.contains("of all tasks one after another"), "{err}");
    // The sum is a fault of one worker only.
    let (_, err) = refused(&["run", &file, "--threads", "1"]);
    assert!(err.contains("error[WSP0866]"), "{err}");
    assert_eq!(run(&["run", &file, "--threads", "5"]).0, 0);
}

#[test]
fn an_extent_below_0_says_which_value_to_set() {
    let folder = Folder::new();
    let text = "param n = 4; tensor y: f32[n]; kernel k(out y); workload main { k(y[0..4]); }";
    let (_, err) = refused(&["run", &folder.write("extent.wsp", text), "--set", "n=-1"]);
    let help = "give `n` such a value that the extent is 0 to 4294967295: `--set n=4`";
    assert!(err.contains("WSP0806") && err.contains("`n` is -1") && err.contains(help), "{err}");
}

#[test]
fn a_schedule_with_another_ready_policy_is_told_to_change_it() {
    let folder = Folder::new();
    let text = "axis b = dense(4); tensor y: f32[4]; kernel k(out y); workload main { parallel for i in b { k(y[i..i + 1]); } } schedule { priority(b); task_graph(ready = fifo); }";
    let (_, err) = refused(&["check", &folder.write("ready.wsp", text)]);
    assert!(err.contains("WSP0786") && err.contains("change `ready` to `ready = priority`"), "{err}");
}

#[test]
fn tensors_of_a_used_file_without_a_host_entry_have_their_own_names() {
    let folder = Folder::new();
    folder.write("rows.pto", LIBRARY);
    let user = folder
        .write("user.wsp", "use \"rows.pto\"; workload main { parallel for i in 0..4 { copy_row(i = i); } }");
    let good = |args: &[&str]| {
        let (code, out, err) = run(&[args, &[]].concat());
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
        out
    };
    let out = good(&["run", &user]);
    assert!(out.contains("made up from seed 1") && out.contains("`y` ok"), "{out}");
    let saved = folder.at("out.npz");
    good(&["run", &user, "--outputs", &saved]);
    let (_, err) = refused(&["run", &user, "--inputs", &saved]);
    assert!(err.contains("array `x` is missing") && err.contains("--input x=FILE.npy"), "{err}");
    let out = good(&["run", &user, "--inputs", &saved, "--fill", "x"]);
    assert!(out.contains("y f32[4, 4]; x made up from seed 1"), "{out}");
    good(&["run", &user, "--generate", "--seed", "2"]);
    let (_, err) = refused(&["run", &user, "--fill", "X"]);
    assert!(err.contains("did you mean `x`, which is missing?"), "{err}");
    assert!(good(&["graph", &user]).contains("4"));
    good(&["check", &user, "--strict"]);
}

#[test]
fn an_empty_file_is_not_ok() {
    let folder = Folder::new();
    for name in ["a.pto", "a.wsp", "a.tg"] {
        for text in ["", "\n// nothing here\n\n", "/* nothing\n */ ; // here"] {
            let (out, err) = refused(&["check", &folder.write(name, text)]);
            assert!(
                out.is_empty() && err.contains("WSP0513") && err.contains("is empty"),
                "{name}: {out}{err}"
            );
        }
    }
    let (out, err) = refused(&["asm", &folder.write("b.tg", ""), "-o", &folder.at("b.ptog")]);
    assert!(out.is_empty() && err.contains("WSP0513"), "{out}{err}");
    let empty = wsp_isa::tg::binary::encode(&wsp_ir::tg::TgModule::default()).expect("nothing fits");
    let bytes = folder.at("c.ptog");
    std::fs::write(&bytes, empty).expect("the folder is there");
    let (out, err) = refused(&["check", &bytes]);
    assert!(out.is_empty() && err.contains("WSP0513"), "{out}{err}");
}

#[test]
fn a_pipe_and_a_device_are_refused_before_they_are_read() {
    let folder = Folder::new();
    for name in ["p.pto", "p.wsp", "p.tg", "p.ptog", "p.ptows", "p.ptow"] {
        let path = folder.at(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let command = match name.rsplit('.').next() {
            Some("ptows") => "asm",
            Some("ptow") => "disasm",
            _ => "run",
        };
        let (out, err) = refused(&[command, &path]);
        assert!(out.is_empty() && err.contains("is not a regular file"), "{name}: {err}");
    }
    let (_, err) = refused(&["run", "/dev/zero"]);
    assert!(err.contains("is not a regular file"), "{err}");
}

#[test]
fn a_scale_that_the_reference_does_not_take_is_named_where_outputs_differ() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(root().join(super::EXAMPLE)).unwrap();
    let wrong = folder.write("scale.pto", &text.replace("1.0f / sqrt(HEAD_DIM)", "1.01f / sqrt(HEAD_DIM)"));
    let (_, err) = refused(&["run", &wrong, "--generate", super::SMALL]);
    assert!(err.contains("the reference does not take `sm_scale` from the program"), "{err}");
    assert!(err.contains("--set sm_scale="), "{err}");
    let (code, out, err) = run(&["run", &wrong, "--generate", super::SMALL, "--set", "sm_scale=0.3"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn an_arm_that_is_not_taken_may_have_no_value() {
    let folder = Folder::new();
    let program = |value: &str| {
        let body = format!("if ({value} > 2) {{ TLOAD(t, x, {{desc.idx}}); TSTORE(y, t, {{desc.idx}}); }}");
        folder.write("arm.pto", &rows("rows", &body))
    };
    for value in [
        "(1 ? 3 : 1 / 0)",
        "(0 ? 1 % 0 : 3)",
        "(1 ? 3 : 1 << 40)",
        "((0 && 1 / 0) ? 1 : 3)",
        "((1 || 1 / 0) ? 3 : 1)",
    ] {
        let (code, out, err) = run(&["run", &program(value), "--generate", "rows=4"]);
        assert_eq!(code, 0, "{value}: {out}{err}");
    }
    for value in ["(1 ? 1 / 0 : 3)", "(0 ? 3 : 1 / 0)", "((1 && 1 / 0) ? 1 : 3)", "(1 ? 3 : desc.none)"] {
        let (_, err) = refused(&["check", &program(value)]);
        assert!(err.contains("WSP0122") || err.contains("`none`"), "{value}: {err}");
    }
}

#[test]
fn a_constant_without_a_value_is_refused_whoever_uses_it_first() {
    let folder = Folder::new();
    for constants in [
        "const uint32_t CHECKED = 0 ? LEFT : 1;\nconst uint32_t LEFT = 4u - 5u;\n",
        "const int32_t CHECKED = 1 ? 1 : LEFT;\nconst int32_t LEFT = 1 / 0;\n",
    ] {
        let text = format!("{constants}{}", rows("rows", COPY));
        let (_, err) = refused(&["check", &folder.write("late.pto", &text)]);
        assert!(err.contains("WSP0122"), "{err}");
    }
}

#[test]
fn what_is_said_of_many_places_is_printed_a_few_times_and_counted() {
    let folder = Folder::new();
    let unit = folder.write("open.tg", &format!("TG_BEGIN(G)\n{}", "CF_IF(1)\n".repeat(40)));
    let (_, err) = refused(&["check", &unit]);
    assert!(err.lines().count() < 60 && err.contains("not shown"), "{err}");
}

#[test]
fn an_order_without_its_prefix_is_named() {
    let folder = Folder::new();
    let file = folder.write("order.pto", "PTO_SCHEDULE(S) { PTO_ORDER(row, PARALLEL) }");
    let (_, err) = refused(&["check", &file]);
    assert!(err.contains("did you mean `PTO_PARALLEL`?"), "{err}");
}

#[test]
fn a_constant_without_a_value_in_a_loop_that_may_have_no_round_is_a_fault_of_the_rounds() {
    let folder = Folder::new();
    let uses =
        ["uint32_t q = n / 0u;", "uint32_t q = 4294967295u + 1u;", "int32_t q = (int32_t)4294967295u;"];
    for (around, found) in [
        ("for (uint32_t i = 0; i < n; i += 1)", Some("warning")),
        ("for (uint32_t i = 0; i != n; i += 1)", Some("warning")),
        ("while (n > 9u)", Some("warning")),
        ("PTO_FOR_EACH(i, 0, n)", Some("warning")),
        ("for (uint32_t i = 0; i < 0; i += 1)", None),
        ("PTO_FOR_EACH(i, 2, 2)", None),
        ("while (false)", None),
        ("for (uint32_t i = 0; i < 3; i += 1)", Some("error")),
        ("PTO_FOR_EACH(i, 0, 3)", Some("error")),
        ("for (;;)", Some("error")),
    ] {
        for used in uses {
            let body = format!("uint32_t n = desc.idx; {around} {{ {used} break; }} {COPY}");
            let file = folder.rows("rows", &body);
            let (code, out, err) = run(&["run", &file, "--generate", "rows=1"]);
            assert_eq!(code, i32::from(found == Some("error")), "{around} {used}: {out}{err}");
            let severity = ["warning", "error"].into_iter().find(|s| err.contains(&format!("{s}[WSP0122]")));
            assert_eq!(severity, found, "{around} {used}: {err}");
        }
    }
}

#[test]
fn a_constant_without_a_value_is_a_fault_of_the_runs_that_need_it() {
    let folder = Folder::new();
    for (expr, needed) in [
        ("n < 100 || 5 % 0 == 0", false),
        ("n < 0 || 5 % 0 == 0", true),
        ("n >= 0 ? n == n : (3u << 40) == n", false),
        ("n < 0 ? n == n : (3u << 40) == n", true),
        ("n < 100 || (63ull << 63) > 0", false),
        ("n < 100 || -(-2147483647 - 1) > 0", false),
        ("n < 100 || n == 9 * 1000000000", false),
    ] {
        let body = format!("int32_t n = desc.idx; if ({expr}) {{ {COPY} }}");
        let file = folder.rows("rows", &body);
        let (code, out, err) = run(&["run", &file, "--generate", "rows=2"]);
        assert_eq!(code, i32::from(needed), "{expr}: {out}{err}");
        assert!(err.contains("warning[WSP0122]"), "{expr}: {err}");
        assert_eq!(run(&["check", &file, "--strict"]).0, 1, "{expr}");
    }
    let (_, err) = refused(&["check", &folder.rows("rows", &format!("int32_t n = 5 % 0; {COPY}"))]);
    assert!(err.contains("error[WSP0122]"), "{err}");
    let large = "18446744073709551615u * 18446744073709551615u";
    let (_, err) = refused(&["check", &folder.rows("rows", &format!("uint64_t n = {large}; {COPY}"))]);
    assert!(err.contains("this does not fit 128 bits with a sign"), "{err}");
}

#[test]
fn an_option_behind_a_flag_is_not_taken_for_its_value() {
    let (code, _, err) = run(&["check", "a.wsp", "--strict", "--isa", "plain"]);
    assert!(code == 2 && err.contains("unexpected argument '--isa'") && !err.contains("tip:"), "{err}");
    let (_, _, err) = run(&["run", "a.wsp", "--schedule", "--fast"]);
    assert!(err.contains("`--schedule=--fast`"), "{err}");
}

#[test]
fn a_number_of_cores_that_is_too_large_is_told_the_largest() {
    let (code, _, err) = run(&["run", "a.pto", "--set", "max_blocks=4294967296"]);
    assert!(code == 2 && err.contains("from 1 to 4294967295, not `4294967296`"), "{err}");
}

#[test]
fn a_table_with_values_is_not_made_up() {
    let folder = Folder::new();
    let text = "table lens = [3, 1]; tensor y: f32[4]; kernel k(out y, n); workload main { k(y, lens[0]); }";
    let file = folder.write("lens.wsp", text);
    let (_, err) = refused(&["run", &file, "--fill", "lens", "--generate"]);
    assert!(
        err.contains("the workload states its values") && err.contains("leave out `--fill lens`"),
        "{err}"
    );
    let (_, err) = refused(&["run", &file, "--fill", "b"]);
    assert!(err.contains("it takes `y`\n"), "{err}");
}

#[test]
fn a_schedule_with_a_number_that_is_too_large_is_told_one_that_is_accepted() {
    let folder = Folder::new();
    let text = |setting: &str| {
        format!(
            "axis b = dense(4); tensor y: f32[4]; kernel k(out y) on vector; workload main {{ parallel for i in b {{ k(y[i..i + 1]); }} }} schedule {{ {setting} }}"
        )
    };
    let groups = |n: &str| text(&format!("task_graph(ready = work_steal); core_groups({n});"));
    let (_, err) = refused(&["check", &folder.write("groups.wsp", &groups("5000000000"))]);
    assert!(err.contains("WSP0706") && err.contains("write a number that is at most 1024\n"), "{err}");
    let batched = |n: &str| {
        format!("kernel k(i); workload main {{ for i in 0..2 {{ k(i); }} }} schedule {{ batch_deps({n}); }}")
    };
    for n in ["4294967296", "99999999999999999999"] {
        let (_, err) = refused(&["check", &folder.write("batched.wsp", &batched(n))]);
        assert!(err.contains("WSP0706") && err.contains("write a number that is at most 1048576\n"), "{err}");
    }
    assert_eq!(run(&["check", &folder.write("most.wsp", &groups("1024"))]).0, 0);
    let pools = |v: &str| text(&format!("task_graph(pools = by_unit({v}, 512));"));
    let (_, err) = refused(&["check", &folder.write("pools.wsp", &pools("513"))]);
    assert!(err.contains("WSP0834") && err.contains("two numbers that add up to at most 1024"), "{err}");
    let (code, out, err) = run(&["check", &folder.write("fit.wsp", &pools("512"))]);
    assert_eq!(code, 0, "{out}{err}");
    let (_, err) = refused(&["check", &folder.write("fit.wsp", &pools("512")), "--target", "a3"]);
    assert!(err.contains("WSP0400") && err.contains("take target `cpu_sim`"), "{err}");
    assert_eq!(run(&["check", &folder.write("fit.wsp", &pools("512")), "--target", "cpu_sim"]).0, 0);
}

#[test]
fn a_text_that_is_taken_for_a_program_of_aicpus_is_told_how_many_bytes_are_needed() {
    let folder = Folder::new();
    let (_, err) = refused(&["disasm", &folder.write("x.txt", "hi\n")]);
    assert!(err.contains("24 bytes are needed for the header, 3 left"), "{err}");
}

#[test]
fn core_groups_beside_a_threshold_are_told_of_its_policies() {
    let folder = Folder::new();
    let schedule = |policies: &str| {
        format!(
            "axis b = dense(4); tensor y: f32[4]; kernel k(out y); workload main {{ parallel for i in b {{ k(y[i..i + 1]); }} }} schedule {{ dispatch_threshold(b, [2], [{policies}]); core_groups(2); task_graph(ready = work_steal); }}"
        )
    };
    let (_, err) = refused(&["check", &folder.write("named.wsp", &schedule("round_robin, affinity(b)"))]);
    assert!(
        err.contains("where `dispatch_threshold` gives every task")
            && err.contains("write `work_steal` for a policy of `dispatch_threshold`"),
        "{err}"
    );
    let (code, out, err) = run(&["check", &folder.write("any.wsp", &schedule("round_robin, work_steal"))]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_program_for_aicpus_is_refused_where_they_do_not_keep_the_schedule() {
    let folder = Folder::new();
    let text = "axis b = dense(4); tensor y: f32[4]; kernel k(out y); workload main { parallel for i in b { k(y[i..i + 1]); } } schedule { core_groups(2); task_graph(ready = work_steal); }";
    let file = folder.write("groups.wsp", text);
    for args in
        [["plan", "--bytes", "--aicpus=2"], ["plan", "--bytes", "--json"], ["run", "--expand", "bytecode"]]
    {
        let (_, err) = refused(&[&args[..], &[&file]].concat());
        assert!(err.contains("AICPUs do not support `core_groups(n)`"), "{err}");
    }
    let (code, out, err) = run(&["check", &file]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_program_of_spaces_is_checked_as_a_run_makes_it() {
    let folder = Folder::new();
    let text = |first: &str, second: &str| {
        let space = |of: &str, schedule: &str| {
            format!(
                "PTO_SPACE({of}) {{ PTO_AXIS(row, 0, 6) }}\nPTO_SCHEDULE(For{of}) {{ {schedule} }}\nstruct D{of} {{ uint32_t i; }};
                PTO_DESCRIPTOR_GEN({of}) {{
                    PTO_APPLY_SCHEDULE(For{of}); PTO_SCHEDULED_FOR(r) {{ PTO_EMIT_DESCRIPTOR(D{of}{{ .i = r }}); }}
                }}
                PTO_KERNEL_IMPL(k{of}) on vector {{
                    auto d = PTO_GET_DESCRIPTOR<D{of}>(); VecTile<float, 1, 8> t; TLOAD(t, x, {{d.i}}); TSTORE(y{of}, t, {{d.i}});
                }}\n"
            )
        };
        format!(
            "PTO_SHAPE(x, 6, 8) PTO_SHAPE(yA, 6, 8) PTO_SHAPE(yB, 6, 8)\n{}{}
            PTO_GRAPH(G) {{ PTO_STAGE(one, A) PTO_STAGE(two, B) }}
            void go(Tensor<float> x, Tensor<float> yA, Tensor<float> yB) {{ PTO_LAUNCH(G, {{ .x = x, .yA = yA, .yB = yB }}); }}\n",
            space("A", first),
            space("B", second)
        )
    };
    let check = |first: &str, second: &str| run(&["check", &folder.write("two.pto", &text(first, second))]);
    let (code, _, err) = check("PTO_POOLS(1, 2)", "PTO_POOLS(2, 1)");
    assert!(code == 1 && err.contains("WSP0405") && err.contains("write the same numbers"), "{err}");
    let (code, _, err) = check("PTO_POOLS(1000, 25)", "");
    assert!(code == 1 && err.contains("WSP0333") && err.contains("a run has at most 1024"), "{err}");
    let (code, out, err) = check("PTO_POOLS(3, 2)", "");
    assert_eq!((code, out.ends_with(": ok\n")), (0, true), "{err}");
    assert!(err.contains("WSP0423") && err.contains("2 workers of the cube units"), "{err}");
    let (code, _, err) = check("PTO_PIPELINE_DEPTH(4)", "");
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn a_file_of_kernels_that_is_not_there_is_the_fault_of_a_program_that_generates_tasks() {
    let folder = Folder::new();
    let text = ".value n\n.axis i dense 0 .. n\n.kernel scale vector\n.tensor x f32 2\n\
                PARALLEL_FOR i, body\nHALT\nbody:\nTASK scale\nPARAM_LOOPVAR i0\nIO_INOUT x[i0]\nEND\n";
    let program = folder.write("made.ptows", text);
    for command in ["run", "check", "graph"] {
        let (_, err) = refused(&[command, &program, "--kernels", &folder.at("none.pto")]);
        assert!(err.contains("none.pto") && !err.contains("WSP0773"), "{command}: {err}");
    }
}
