//! What is made up where arrays are given, what options of data say, and wrong command lines for programs.

use super::checks::{COPY, Folder, json, refused, rows};
use super::{EXAMPLE, run};
use wsp_check::generate::{Names, Origin, generate};
use wsp_cli::KvLayout;
use wsp_cli::files::{Npz, write_npz};

#[track_caller]
fn good(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    out
}

#[test]
fn lengths_come_from_a_file() {
    let folder = Folder::new();
    let lens = folder.write("lens.txt", "5\n7\n");
    let out = good(&["run", EXAMPLE, "--generate", &format!("lens={lens}")]);
    assert!(out.contains("sequences  2 with 12 tokens"), "{out}");
    let (_, err) = refused(&["run", EXAMPLE, "--generate", "lens=none.txt"]);
    assert!(err.contains("there is no file `none.txt`"), "{err}");
}

/// `--fill` names some, `--generate` makes up the rest of what is read.
#[test]
fn fill_and_generate_are_taken_together() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let out = good(&["run", &file, "--fill", "y", "--generate", "rows=10"]);
    assert!(out.contains("x f32[10, 64], y f32[10, 64], made up from seed 1"), "{out}");
    let x = folder.array("x", "4, 64", &[1.0; 256]);
    let out = good(&["run", &file, "--input", &x, "--fill", "y", "--generate"]);
    assert!(out.contains("x f32[4, 64]; y made up from seed 1"), "{out}");
    let (_, err) = refused(&["run", &file, "--fill", "z", "--generate"]);
    assert!(err.contains("takes no array `z` that could be made up"), "{err}");
    let (_, err) = refused(&["run", &file, "--input", &x, "--fill", "x", "--generate"]);
    assert!(err.contains("`x` is given and is to be made up"), "{err}");
    let workload = folder.write(
        "two.wsp",
        "param n = 4; tensor x: u32[4]; tensor y: u32[4]; kernel k(in a, out c);
         workload main { parallel for i in 0..n { k(x[i], y[i]); } }",
    );
    for (options, made) in
        [(&["--generate"][..], "x made up"), (&["--generate", "--fill", "y"], "x, y made up")]
    {
        let out = good(&[&["run", &workload, "--no-check"], options].concat());
        assert!(out.contains(made), "{options:?}: {out}");
    }
    let unit = folder.write(
        "unit.tg",
        "extern X: i64[4]\nextern Y: i64[4]\nTG_BEGIN(G)\nMC_COPY(X, Y, 32)\nTG_END(G)\nTG_INVOKE(G, 0)",
    );
    for (options, made) in
        [(&["--generate"][..], "X made up"), (&["--generate", "--fill", "Y"], "X, Y made up")]
    {
        let out = good(&[&["run", &unit, "--no-check"], options].concat());
        assert!(out.contains(made), "{options:?}: {out}");
    }
}

/// The batch of a cache is made up as a whole, and others that are named beside it.
#[test]
fn fill_names_others_beside_the_batch_of_a_cache() {
    let keys = "len=5/0/700,heads=4/2,dim=16";
    let out = good(&["run", EXAMPLE, "--generate", keys, "--fill", "output"]);
    assert!(out.contains("output"), "{out}");
    let report = json(&good(&["run", EXAMPLE, "--generate", keys, "--fill", "output", "--stats", "json"]));
    assert!(report["made_up"].as_array().unwrap().contains(&"output".into()), "{report}");
    let (_, err) = refused(&["run", EXAMPLE, "--generate", keys, "--fill", "outputs"]);
    assert!(err.contains("did you mean `output`?"), "{err}");
}

#[test]
fn what_is_made_up_beside_a_cache_has_its_extents() {
    let folder = Folder::new();
    let names = Names {
        q: "q".to_owned(),
        kv: "kv".to_owned(),
        lens: Some("kv_lens".to_owned()),
        ..Names::default()
    };
    for (layout, set) in [(KvLayout::Nhd, "kv_layout=NHD"), (KvLayout::Hnd, "kv_layout=HND")] {
        let spec = "len=5/9/70,heads=4/2,dim=48,page=8".parse().unwrap();
        let mut arrays = generate(&spec, Origin::of(1), layout, &names).unwrap();
        arrays.remove("q");
        let file = folder.at("cache.npz");
        write_npz(file.as_ref(), &arrays).unwrap();
        let out = folder.at("out.npz");
        good(&["run", EXAMPLE, "--inputs", &file, "--fill", "q", "--set", set, "--outputs", &out]);
        let output = Npz::open(out.as_ref()).unwrap().read("output").unwrap();
        assert_eq!((output.shape()[0], output.shape()[3]), (3, 48), "{set}: {:?}", output.shape());
    }
}

/// An extent that does not follow from arrays that are given, though theirs are computed from it.
#[test]
fn an_extent_that_cannot_be_told_is_to_be_typed() {
    let folder = Folder::new();
    let text = rows("rows", COPY).replace("PTO_SHAPE(x, rows, 64)", "PTO_SHAPE(x, rows, cols)");
    let file =
        folder.write("wide.pto", &text.replace("PTO_SHAPE(y, rows, 64)", "PTO_SHAPE(y, rows, 2 * cols)"));
    let y = folder.array("y", "4, 128", &[1.0; 512]);
    let (out, err) = refused(&["run", &file, "--input", &y, "--fill", "x"]);
    assert!(out.is_empty() && err.contains("`x` cannot be made up: its extent `cols` is not known"), "{err}");
    assert!(err.contains("`--generate cols=N`") && err.contains("`--input x=FILE.npy`"), "{err}");
    let out = good(&["run", &file, "--input", &y, "--fill", "x", "--generate", "cols=64", "--no-check"]);
    assert!(out.contains("y f32[4, 128]; x made up"), "{out}");
}

/// `--allow-unused` and `--generate` are taken where they could say something, and refused where they cannot.
#[test]
fn options_that_scripts_always_give_are_taken_where_they_could_have_an_effect() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let x = folder.array("x", "4, 64", &[1.0; 256]);
    good(&["run", &file, "--input", &x, "--allow-unused"]);
    good(&["run", &file, "--input", &x, "--generate"]);
    good(&["run", &file, "--input", &x, "--allow-unused", "--generate"]);
    for options in
        [&["--allow-unused"][..], &["--allow-unused", "--generate"], &["--allow-unused", "--fill", "x"]]
    {
        let (out, err) = refused(&[&["run", &file], options].concat());
        assert!(out.is_empty() && err.contains("`--allow-unused` has no meaning"), "{options:?}: {err}");
    }
    let (_, err) = refused(&["run", &file, "--input", &x, "--generate", "rows=4"]);
    assert!(err.contains("nothing is made up"), "{err}");
    let ones = folder.write("ones.pto", &rows("4", "TASSIGN(t, 1.0f); TSTORE(y, t, {desc.idx});"));
    let text = std::fs::read_to_string(&ones).unwrap().replace("Tensor x, ", "").replace(".x = x, ", "");
    std::fs::write(&ones, text.replace("PTO_SHAPE(x, rows, 64)", "").replace("y, rows", "y, 4")).unwrap();
    let workload = folder.write("half.wsp", "tensor y: u32[1]; kernel k(out y); workload main { k(y[0]); }");
    let unit = folder.write("empty.tg", "extern Y: i64[4]\nTG_BEGIN(G)\nTG_END(G)\nTG_INVOKE(G, 0)");
    for file in [&ones, &workload, &unit] {
        let (out, err) = refused(&["run", file, "--generate"]);
        let said = err.contains("`--generate` has no meaning") && err.contains("reads no array");
        assert!(out.is_empty() && said, "{file}: {out}{err}");
    }
}

#[test]
fn numbers_below_0_are_values_of_the_option_before_them() {
    let range = "a seed is a whole number from 0 to 18446744073709551615";
    for (args, part) in [
        (&["run", EXAMPLE, "--seed", "-1"][..], range),
        (&["run", EXAMPLE, "--seed", "18446744073709551616"], range),
        (&["run", EXAMPLE, "--threads", "-1"], "write a whole number from 1 to 1024"),
        (&["plan", EXAMPLE, "--limit", "x"], "write a whole number from 0 to"),
        (&["run", EXAMPLE, "--aicpus", "0"], "from 1 to 1024, and up to 64 with `--target ascend_host`"),
        (&["plan", EXAMPLE, "--aicpus", "x"], "write a whole number from 1 to 1024"),
        (&["disasm", EXAMPLE, "--target", "a2"], "unexpected argument '--target' found"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(part) && !err.contains("-- -"), "{args:?}: {err}");
    }
}

#[test]
fn scalars_of_units_say_what_they_take() {
    let folder = Folder::new();
    let unit = |ty: &str| {
        let name = format!("{ty}.tg");
        let text =
            "extern X: i64[4]\nextern Y: i64[4]\narg N: TYPE = 3\nTG_BEGIN(G)\nMC_COPY(X, Y, 32)\nTG_END(G)
CF_LOOP(N, i, SEQUENTIAL)\nTG_INVOKE(G, i)\nCF_ENDLOOP";
        folder.write(&name, &text.replace("TYPE", ty))
    };
    for (ty, range) in [
        ("i64", "from -9223372036854775808 to 9223372036854775807"),
        ("u64", "from 0 to 9223372036854775807"),
        ("i32", "from -2147483648 to 2147483647"),
        ("u8", "from 0 to 255"),
    ] {
        for value in ["18446744073709551615", "1.5"] {
            let (_, err) = refused(&["run", &unit(ty), "--set", &format!("N={value}")]);
            assert!(err.contains(&format!("`N` takes an integer {range}, not {value}")), "{ty}: {err}");
        }
    }
}

/// One object in the shape of other errors, with the exit status of a wrong command line.
#[test]
fn wrong_command_lines_are_json_where_errors_are() {
    let lines: [(&[&str], &str, &str); 6] = [
        (&["run"], "required arguments were not provided: <FILE>", "--help"),
        (&["rum", "a.pto"], "unrecognized subcommand 'rum'", "'run'"),
        (&["run", "a.pto", "--sed", "3"], "unexpected argument '--sed' found", "'--seed'"),
        (&["run", "a.pto", "--seed", "-1"], "a seed is a whole number from 0 to", "--help"),
        (&["run", "a.pto", "--threads", "0"], "write a whole number from 1 to 1024", "--help"),
        (&["run", "a.pto", "--check", "--no-check"], "cannot be used with '--no-check'", "--help"),
    ];
    for (line, message, help) in lines {
        let forms = [[&["--error-format", "json"], line].concat(), [line, &["--error-format=json"]].concat()];
        for args in forms {
            let (code, out, err) = run(&args);
            assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
            assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
            let object = json(&err);
            assert_eq!((&object["code"], &object["severity"]), (&"WSP0548".into(), &"error".into()), "{err}");
            let said = object["message"].as_str().unwrap();
            assert!(said.contains(message) && !said.contains('\n'), "{args:?}: {err}");
            assert!(object["help"].to_string().contains(help), "{args:?}: {err}");
        }
        assert!(run(line).2.lines().count() > 1, "{line:?}");
    }
    let (code, out, err) = run(&["run", "--error-format", "json", "--help"]);
    assert!(code == 0 && out.contains("Usage:") && err.is_empty(), "{err}");
    let (code, _, err) = run(&["run", "--error-format", "xml"]);
    assert!(code == 2 && err.contains("possible values"), "{err}");
    // The same keys as those of an error that is found later.
    let keys = |text: &str| json(text).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (_, later) = refused(&["run", "none.pto", "--error-format", "json"]);
    let (_, _, wrong) = run(&["run", "--error-format", "json"]);
    assert_eq!(keys(&later), keys(&wrong));
}
