//! What a check compares: it never passes over nothing.

use super::checks::{COPY, Folder, json, npy, refused, rows};
use super::run;

#[test]
fn a_program_that_stores_nothing_does_not_pass_its_check() {
    let folder = Folder::new();
    let load = "TLOAD(t, x, {desc.idx});";
    let leaves = folder.rows("rows", &format!("{load} return; TSTORE(y, t, {{desc.idx}});"));
    for check in [&[][..], &["--check"]] {
        let (out, err) = refused(&[&["run", &leaves, "--generate", "rows=4"], check].concat());
        assert!(err.contains("WSP0534") && err.contains("nothing was compared"), "{out}{err}");
        assert!(err.contains("WSP0269") && err.contains("never reached"), "{err}");
    }
    assert_eq!(run(&["run", &leaves, "--generate", "rows=4", "--no-check"]).0, 0);
    for command in ["check", "run"] {
        let (out, err) = refused(&[command, &leaves, "--strict"]);
        assert!(out.is_empty() && err.contains("error[WSP0269]"), "{out}{err}");
    }
    let wrong = folder.rows("rows", &format!("{load} TSTORE(x, t, {{desc.idx}});"));
    let (_, err) = refused(&["run", &wrong, "--generate", "rows=4", "--check"]);
    assert!(err.contains("WSP0537") && err.contains("no kernel loads from `y` or stores to it"), "{err}");
    let text = std::fs::read_to_string(&wrong)
        .unwrap()
        .replace("(y,", "(_y,")
        .replace("> y", "> _y")
        .replace(".y = y", "._y = _y");
    let meant = ["run", &folder.write("meant.pto", &text), "--generate", "rows=4", "--check"];
    assert_eq!(run(&meant).0, 0);
}

/// Every output is, integers and truth values beside real numbers.
#[test]
fn outputs_of_integers_are_compared() {
    let folder = Folder::new();
    let mixed = "PTO_SHAPE(x, rows, 6) PTO_SHAPE(y, rows, 6) PTO_SHAPE(z, rows, 6) PTO_SHAPE(m, rows, 6)
        struct D { uint32_t r; };
        PTO_KERNEL_IMPL(k) {
            auto d = PTO_GET_DESCRIPTOR<D>();
            VecTile<int8_t, 1, 6> t; VecTile<float, 1, 6> f; VecTile<bool, 1, 6> b;
            TLOAD(t, x, {d.r}); TADD(t, t, t); TSTORE(y, t, {d.r});
            TCVT(f, t); TSTORE(z, f, {d.r});
            TCMP_GT(b, t, 0); TSTORE(m, b, {d.r});
        }
        PTO_SPACE(S) { PTO_AXIS(i, 0, rows) }
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .r = i }); } }
        void go(Tensor<int8_t> x, Tensor<int8_t> y, Tensor<float> z, Tensor<bool> m) {
            PTO_LAUNCH(S, { .x = x, .y = y, .z = z, .m = m });
        }";
    let (code, out, err) = run(&["run", &folder.write("mixed.pto", mixed), "--generate", "rows=3"]);
    assert_eq!(code, 0, "{out}{err}");
    for name in ["y", "z", "m"] {
        assert!(out.contains(&format!("`{name}` ok")), "{out}");
    }
}

#[test]
fn an_output_without_elements_is_not_ok() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(folder.rows("4", "TLOAD(t, x, {0}, 0); TSTORE(y, t, {0});")).unwrap();
    let empty = folder.write(
        "empty.pto",
        &text.replace("PTO_SHAPE(y, rows", "PTO_PARAM(uint32_t, none, 0) PTO_SHAPE(y, none"),
    );
    let args = ["run", &empty, "--generate", "rows=4"];
    let (out, err) = refused(&args);
    assert!(out.contains("`y` not compared: it has no elements"), "{out}");
    assert!(err.contains("WSP0534"), "{err}");
    let report = json(&refused(&[&args[..], &["--stats", "json"]].concat()).0);
    assert!(report["checks"][0]["passed"].is_null(), "{report}");
}

#[test]
fn data_that_are_all_made_up_are_checked_and_listed() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    for args in [&["--fill", "x"][..], &["--generate", "rows=4"], &[]] {
        let (code, out, err) = run(&[&["run", &file, "--stats", "json"], args].concat());
        assert_eq!(code, 0, "{out}{err}");
        let report = json(&out);
        assert_eq!((&report["checks"][0]["passed"], &report["made_up"]), (&true.into(), &["x"][..].into()));
    }
    let (_, out, _) = run(&["run", &file, "--fill", "x"]);
    assert!(out.contains("x f32[256, 64], made up from seed 1"), "{out}");
    let input = folder.at("x.npy");
    std::fs::write(&input, npy("4, 64", &[1.0; 256])).unwrap();
    let (_, out, _) = run(&["run", &file, "--input", &format!("x={input}"), "--stats", "json"]);
    assert_eq!(json(&out)["made_up"], serde_json::json!([]));
    let report = json(&run(&["run", super::EXAMPLE, "--generate", super::SMALL, "--stats", "json"]).1);
    let made: Vec<&str> = report["made_up"].as_array().unwrap().iter().filter_map(|n| n.as_str()).collect();
    assert!(made.contains(&"q") && made.iter().any(|name| name.ends_with(".k")), "{report}");
}

#[test]
fn to_check_and_not_to_check_contradict_each_other() {
    let folder = Folder::new();
    let file = folder.rows("rows", COPY);
    let (code, _, err) = run(&["run", &file, "--check", "--no-check"]);
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
}

#[test]
fn a_scale_that_the_program_computes_wrong_from_the_head_size_is_found() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(super::root().join(super::EXAMPLE)).unwrap();
    let with = |default: &str| {
        let changed = text.replace("1.0f / sqrt(HEAD_DIM)", default);
        assert_ne!(changed, text);
        folder.write("scale.pto", &changed)
    };
    let (out, _) = refused(&["run", &with("1.01f / sqrt(HEAD_DIM)"), "--generate", super::SMALL]);
    assert!(out.contains("`output` WRONG"), "{out}");
    // A number is what the model has.
    let (code, out, err) = run(&["run", &with("0.11f"), "--generate", super::SMALL]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn the_summary_for_scripts_has_every_reason_for_an_exit_status_that_is_not_0() {
    let folder = Folder::new();
    let codes = |args: &[&str]| {
        let (code, out, err) = run(&[args, &["--stats", "json"]].concat());
        let report = json(&out);
        let errors = report["errors"].as_array().unwrap();
        assert_eq!(code != 0, !errors.is_empty(), "{args:?}\n{out}\n{err}");
        let codes: Vec<String> = errors.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect();
        assert!(codes.iter().all(|code| err.contains(code)), "{args:?}\n{out}\n{err}");
        (codes, report)
    };
    let made = ["--generate", "rows=4"];
    let program = |name: &str, body: &str| folder.write(name, &rows("rows", body));
    let right = program("right.pto", COPY);
    assert!(codes(&[&["run", &right], &made[..]].concat()).0.is_empty());
    // What is compared agrees, and `y` is not used.
    let unused = program("unused.pto", "TLOAD(t, x, {desc.idx}); TSTORE(x, t, {desc.idx});");
    let (found, report) = codes(&[&["run", &unused], &made[..]].concat());
    assert_eq!((found, &report["untouched"]), (vec!["WSP0537".to_owned()], &serde_json::json!(["y"])));
    let nothing = program("nothing.pto", "TLOAD(t, x, {desc.idx}); return; TSTORE(y, t, {desc.idx});");
    assert_eq!(codes(&[&["run", &nothing], &made[..]].concat()).0, ["WSP0534", "WSP0537"]);
    assert_eq!(codes(&["run", &right, "--generate", "rows=0"]).0, ["WSP0545"]);
    // A reference that cannot be computed.
    let text = format!(
        "{}PTO_REFERENCE(row_softmax, {{ .x = x, .output = y }})",
        std::fs::read_to_string(&right).unwrap()
    );
    let other = folder.write(
        "reference.pto",
        &text
            .replace("PTO_SHAPE(y, rows, 64)", "PTO_SHAPE(y, rows, 32)")
            .replace("TSTORE(y, t, {desc.idx});", "PTO_STORE_SCALAR(y, 1.0f, {desc.idx, 0});"),
    );
    let (found, _) = codes(&[&["run", &other], &made[..]].concat());
    assert_eq!(found, ["WSP0532", "WSP0537"]);
    let none = folder.write("none.wsp", "tensor y: u32[2]; param n = 0; kernel k(out y); workload main { parallel for i in 0..n { k(y[i]); } }");
    assert_eq!(codes(&["run", &none]).0, ["WSP0545", "WSP0537"]);
    let part = folder.write("part.wsp", "tensor y: u32[2]; kernel k(out y); workload main { k(y[0]); }");
    assert_eq!(codes(&["run", &part]).0, ["WSP0537"]);
}
