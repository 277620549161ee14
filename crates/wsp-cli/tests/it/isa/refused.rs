//! What is refused of units, of files that are none and of options, with what to do about it.

use super::*;

/// ISA-PM-09.
#[test]
fn a_check_for_a_platform_refuses_what_it_does_not_have() {
    let folder = Folder::new();
    folder.write("notify.tg", UNIT.replace("TG_END(G)", "  SY_NOTIFY(0, DONE)\nTG_END(G)").as_bytes());
    let (code, out, err) = folder.wsp(&["check", "notify.tg", "--target", "ascend_910b"]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(err.contains("SY_NOTIFY") && err.contains("A2"), "{err}");
    let (code, _, err) = folder.wsp(&["check", "unit.tg", "--target", "a4"]);
    assert!(code == 2 && err.contains("ascend_950"), "{err}");
}

/// ISA-CA-05: by `check`, for each target, and by `run`, for the cores that are simulated.
#[test]
fn partitions_outside_of_the_device_are_refused() {
    let folder = Folder::new();
    let kernel = "TG_KERNEL(S, relax_entry, 1, AIV, 0, P)\nMC_BIND(S, 0, X)\nMC_BIND(S, 1, Y)\n";
    folder.write("small.tg", relaxing("CA_PARTITION(P, 0, 4, 0, 50)\n", kernel).as_bytes());
    for target in [&[][..], &["--target", "a2"], &["--target", "a3"], &["--target", "cpu"]] {
        let err = folder.bad(&[&["check", "small.tg"], target].concat());
        assert!(err.contains("WSP1520") && err.contains("0 to 49"), "{target:?}: {err}");
    }
    folder.good(&["check", "small.tg", "--target", "a5"]);
    for more in [&[][..], &["--hints"], &["--cores", "aic=4,aiv=49"]] {
        assert!(folder.bad(&[&["run", "small.tg"], more].concat()).contains("WSP1520"), "{more:?}");
    }
    folder.good(&["run", "small.tg", "--hints", "--cores", "aic=4,aiv=50"]);
}

/// Bytes in another folder than their text do not find the kernels, and say why and what to type.
#[test]
fn bytes_in_another_folder_say_where_kernels_are_looked_for() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("other")).expect("a folder is made");
    folder.good(&["asm", "unit.tg", "-o", "other/unit.ptog"]);
    for command in ["check", "run", "graph"] {
        let err = folder.bad(&[command, "other/unit.ptog"]);
        let said =
            ["WSP0500", "from the folder of `unit.ptog`", "wsp asm FOLDER/UNIT.tg -o FOLDER/unit.ptog"];
        assert!(said.iter().all(|part| err.contains(part)), "{command}: {err}");
    }
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    folder.good(&["check", "unit.ptog"]);
}

/// ISA-TG-21, ISA-MC-12: what `check` cannot compare it says, and `run` compares.
#[test]
fn a_race_that_values_make_is_left_to_the_run_and_found_there() {
    let folder = Folder::new();
    let row = 64 * 4;
    let kernels = format!(
        "MC_ALLOC(T, 16384)\nMC_COPY(X, T, 16384)\nTG_KERNEL(A, relax_entry, 1, AIV, 0)\nMC_BIND(A, 0, X, 0, {row})\nMC_BIND(A, 1, T, N * {row}, {row})\nTG_KERNEL(B, relax_entry, 1, AIV, 0)\nMC_BIND(B, 0, T, M * {row}, {row})\nMC_BIND(B, 1, Y, 0, {row})\n"
    );
    folder.write("args.tg", relaxing("arg N: i64 = 0\narg M: i64 = 0\n", &kernels).as_bytes());
    let (code, out, err) = folder.wsp(&["check", "args.tg"]);
    assert_eq!((code, out.as_str()), (0, "args.tg: ok\n"), "{err}");
    assert!(
        err.contains("WSP1522") && err.contains("depends on `N`") && err.contains("depends on `M`"),
        "{err}"
    );
    let err = folder.bad(&["run", "args.tg"]);
    assert!(err.contains("WSP1501") && err.contains("TG_DEPEND(A, B, DATA, T)"), "{err}");
    // One row of 64 is written.
    folder.good(&["run", "args.tg", "--set", "N=1", "--allow-unwritten", "Y"]);
}

/// ISA-TG-24.
#[test]
fn launches_that_race_are_refused_with_the_line_that_orders_them() {
    let folder = Folder::new();
    let graph = |name: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(A, relax_entry, 1, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, Y)\nTG_END({name})\n"
        )
    };
    let unit = |host: &str| {
        format!(
            "use \"relax.pto\"\nextern X: f32[64, 64]\nextern Y: f32[64, 64]\n{}{}{host}",
            graph("G"),
            graph("J")
        )
    };
    folder.write("race.tg", unit("TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\nTG_SYNC(G)\nTG_SYNC(J)\n").as_bytes());
    for command in ["check", "run"] {
        let err = folder.bad(&[command, "race.tg"]);
        assert!(err.contains("WSP1521") && err.contains("TG_SYNC(G)"), "{command}: {err}");
    }
    folder.write("order.tg", unit("TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\nTG_SYNC(J)\n").as_bytes());
    folder.good(&["check", "order.tg"]);
    folder.good(&["run", "order.tg"]);
}

/// ISA-IMP-07.
#[test]
fn files_that_are_none_of_ours_are_named_with_what_to_do() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    let bytes = folder.read("unit.ptog");
    folder.write("cut.ptog", &bytes[..bytes.len() / 2]);
    let mut flipped = bytes.clone();
    flipped[bytes.len() - 3] ^= 0x40;
    folder.write("flipped.ptog", &flipped);
    let mut swapped = bytes.clone();
    swapped[..4].reverse();
    folder.write("swapped.ptog", &swapped);
    folder.write("noise.ptog", &[0xa5; 300]);
    folder.write("noise.tg", &[0xa5; 300]);
    folder.write("empty.ptog", b"");
    folder.write("renamed.tg", &bytes);
    folder.write("later.ptog", &[&bytes[..4], &99u32.to_le_bytes(), &bytes[8..]].concat());
    for (name, part) in [
        ("cut.ptog", "cut.ptog"),
        ("flipped.ptog", "checksum"),
        ("swapped.ptog", "big-endian"),
        ("noise.ptog", "noise.ptog"),
        ("noise.tg", "UTF-8"),
        ("empty.ptog", "empty.ptog"),
        ("later.ptog", "99"),
        ("none.tg", "WSP0500"),
        ("uint.tg", "did you mean `unit.tg`?"),
    ] {
        for command in ["check", "run", "graph", "disasm"] {
            let err = folder.bad(&[command, name]);
            assert!(err.contains(part), "{command} {name}: {err}");
        }
    }
    folder.good(&["check", "renamed.tg"]);
}

#[test]
fn files_of_other_kinds_are_named_with_their_commands() {
    let folder = Folder::new();
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    folder.write("program.ptow", b"WOTP\x01\0\0\0");
    write_npz(&folder.path("arrays.npz"), &Arrays::new()).unwrap();
    for (args, part) in [
        (&["run", "program.ptow"][..], "cut off"),
        (&["check", "program.ptow"], "cut off"),
        (&["graph", "program.ptow"], "cut off"),
        (&["plan", "unit.tg"], "wsp run unit.tg"),
        (&["plan", "unit.ptog"], "wsp disasm unit.ptog"),
        (&["asm", "relax.pto"], "wsp run relax.pto"),
        (&["disasm", "arrays.npz"], "--inputs"),
        (&["run", "arrays.npz"], "--inputs"),
        (&["run", "unit.tg", "--kernels", "unit.tg"], "unit.tg"),
    ] {
        let err = folder.bad(args);
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn options_of_others_are_refused_by_name() {
    let folder = Folder::new();
    folder.write("w.wsp", b"workload main { }\n");
    for (args, option) in [
        (&["run", "unit.tg", "--aicpus", "2"][..], "--aicpus"),
        (&["run", "unit.tg", "--expand", "host"], "--expand"),
        (&["run", "unit.tg", "--schedule", "S"], "--schedule"),
        (&["run", "unit.tg", "--generate", "n=3"], "--generate"),
        (&["run", "unit.tg", "--set", "kv_layout=HND"], "kv_layout"),
        (&["run", "w.wsp", "--devices", "2"], "--devices"),
        (&["run", "w.wsp", "--resume", "--checkpoints", "d"], "--checkpoints"),
        (&["run", "relax.pto", "--hints"], "--hints"),
        (&["run", "relax.pto", "--resume"], "--resume"),
        (&["run", "relax.pto", "--cores", "aic=2"], "--cores"),
        (&["run", "relax.pto", "--event", "E"], "--event"),
        (&["run", "relax.pto", "--memory", "1G"], "--memory"),
        (&["asm", "unit.tg", "--schedule", "S"], "--schedule"),
        (&["disasm", "unit.tg", "--schedule", "S"], "--schedule"),
        (&["graph", "unit.tg", "--deps", "exact"], "--deps"),
        (&["graph", "unit.tg", "--args", "a.csv"], "--args"),
        (&["graph", "unit.tg", "--input", "X=x.npy"], "--input"),
        (&["graph", "w.wsp", "--kernels", "relax.pto"], "--kernels"),
        (&["check", "w.wsp", "--target", "a2"], "`ascend_910b`"),
        (&["check", "w.wsp", "--kernels", "relax.pto"], "--kernels"),
    ] {
        let err = folder.bad(args);
        assert!(err.contains(option), "{args:?}: {err}");
    }
    for args in [&["run", "unit.tg", "--resume"][..], &["run", "unit.tg", "--devices", "0"]] {
        assert_eq!(folder.wsp(args).0, 2, "{args:?}");
    }
}

#[test]
fn what_is_assembled_goes_to_no_name_of_another_kind() {
    let folder = Folder::new();
    folder.write("w.wsp", b"tensor y: f32[4]; kernel k(out y); workload main { k(y[0..4]); }\n");
    folder.good(&["asm", "unit.tg", "-o", "unit.ptog"]);
    for (args, to, instead) in [
        (&["asm", "unit.ptog"][..], "q.tg", "q.ptog"),
        (&["asm", "unit.tg", "--emit", "module"], "q.ptog", "q.tg"),
        (&["asm", "unit.tg", "--emit", "image"], "q.ptog", "q.image"),
        (&["asm", "w.wsp"], "q.ptog", "q.ptow"),
        (&["asm", "w.wsp"], "q.ptows", "q.ptow"),
        (&["disasm", "unit.ptog"], "q.ptog", "q.tg"),
        (&["disasm", "w.wsp"], "q.ptow", "q.ptows"),
    ] {
        let err = folder.bad(&[args, &["-o", to]].concat());
        assert!(
            err.contains("WSP0509") && err.contains(&format!("write `{instead}`")),
            "{args:?} {to}: {err}"
        );
        folder.good(&[args, &["-o", instead]].concat());
    }
}

#[test]
fn names_and_sizes_that_are_wrong_are_told_the_right_ones() {
    let folder = Folder::new();
    let array = |shape: &[u64]| Array::zeros(DType::F32, shape).unwrap();
    write_npz(&folder.path("short.npz"), &Arrays::from([("X".to_owned(), array(&[7]))])).unwrap();
    folder.write("event.tg", format!("extern event GO\n{UNIT}").as_bytes());
    folder.write("kept.tg", UNIT.replace("TG_END(G)", "  TG_CHECKPOINT(G, K)\nTG_END(G)").as_bytes());
    folder.write("entry.tg", UNIT.replace("(A, relax_entry", "(A, relax_enrty").as_bytes());
    folder.write("open.tg", UNIT.replace("extern X: f32[64, 64]", "extern X").as_bytes());
    folder.write("huge.tg", UNIT.replace("X: f32[64, 64]", "X: f32[1048576, 1048576]").as_bytes());
    folder.write("file.tg", UNIT.replace("relax.pto", "relx.pto").as_bytes());
    for (args, part) in [
        (&["run", "unit.tg", "--set", "ROUND=3"][..], "did you mean `ROUNDS`?"),
        (&["run", "unit.tg", "--set", "ROUNDS=1.5"], "integer"),
        (&["run", "unit.tg", "--input", "Z=z.npy"], "takes no array `Z`"),
        (&["run", "unit.tg", "--inputs", "short.npz"], "f32[64, 64]"),
        (&["run", "event.tg", "--event", "GOO"], "did you mean `GO`?"),
        (&["run", "unit.tg", "--event", "GO"], "extern event GO"),
        (&["run", "entry.tg"], "did you mean `relax_entry`?"),
        (&["check", "entry.tg"], "did you mean `relax_entry`?"),
        (&["run", "open.tg"], "--input X=FILE.npy"),
        (&["run", "huge.tg"], "X"),
        (&["run", "file.tg"], "did you mean `relax.pto`?"),
        (&["run", "unit.tg", "--memory", "1K"], "1024"),
        (&["run", "kept.tg", "--checkpoints", "relax.pto"], "relax.pto"),
        (&["run", "unit.tg", "--outputs", "relax.pto"], "overwritten"),
    ] {
        let err = folder.bad(args);
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn a_file_of_kernels_is_no_program() {
    let folder = Folder::new();
    folder.good(&["check", "relax.pto"]);
    for command in ["run", "plan"] {
        let err = folder.bad(&[command, "relax.pto"]);
        assert!(err.contains("--kernels relax.pto"), "{err}");
    }
}
