//! What is suggested for a wrong name is a name that is right at that place, or nothing is suggested.

use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::TILE_OPS;

/// A kernel with a statement.
fn kernel(statement: &str) -> Vec<Diagnostic> {
    let program = format!(
        "PTO_SHAPE(x, rows, 8)
         PTO_SHAPE(y, rows, 8)
         struct Row {{ uint32_t i; }};
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<Row>();
             VecTile<float, 1, 8> t;
             VecTile<float, 1, 8> u;
             float coord = 1.0f;
             TLOAD(t, x, {{d.i}});
             {statement}
             TSTORE(y, t, {{d.i}});
         }}"
    );
    wsp_lang::compile("a.pto", &program, &mut SourceMap::default()).1
}

/// The helps of the errors, and the codes.
fn said(found: &[Diagnostic]) -> (Vec<&str>, Vec<u16>) {
    let errors = || found.iter().filter(|d| d.is_error());
    (errors().flat_map(|d| &d.help).map(String::as_str).collect(), errors().map(|d| d.code.0).collect())
}

/// The names in a help of the form "did you mean `a` or `b`?".
fn suggested(found: &[Diagnostic]) -> Vec<String> {
    let (helps, _) = said(found);
    let meant = helps.into_iter().filter_map(|help| help.strip_prefix("did you mean "));
    meant.flat_map(|names| names.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// The name with each letter left out, replaced, doubled, or in the place of its neighbour.
fn typos(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let text = |letters: Vec<char>| letters.into_iter().collect::<String>();
    let mut all = Vec::new();
    for at in 0..letters.len() {
        let (before, after) = (&letters[..at], &letters[at + 1..]);
        all.push(text([before, after].concat()));
        all.extend(['Q', 'S'].map(|other| text([before, &[other], after].concat())));
        all.push(text([before, &[letters[at], letters[at]], after].concat()));
        if let Some((next, rest)) = after.split_first() {
            all.push(text([before, &[*next, letters[at]], rest].concat()));
        }
    }
    all.retain(|typo| typo != name && typo.chars().next().is_some_and(char::is_alphabetic));
    all
}

const UNKNOWN_FUNCTION: u16 = 103;

/// A call in which the name is wrong: what is suggested, each of which must be known at that place.
fn suggestions_of(wrong: &str, call: &dyn Fn(&str) -> String) -> Option<Vec<String>> {
    let found = kernel(&call(wrong));
    if !said(&found).1.contains(&UNKNOWN_FUNCTION) {
        return None;
    }
    let names = suggested(&found);
    for name in &names {
        let (_, codes) = said(&kernel(&call(name)));
        let leads_on = codes.iter().any(|code| [UNKNOWN_FUNCTION, 104, 134].contains(code));
        assert!(!leads_on, "`{wrong}` suggests `{name}`, which is refused with {codes:?}");
    }
    Some(names)
}

#[test]
fn a_misspelt_tile_operation_is_answered_with_the_right_name_or_none() {
    let mut asked = 0;
    for word in TILE_OPS.iter().flat_map(|row| row.pto) {
        let args = vec!["t"; word.arity().0].join(", ");
        let call = |name: &str| format!("{name}({args});");
        let bare = word.name.strip_prefix('T').expect("tile operations should begin with T").to_owned();
        let prefixed = ["pto.", "pto::", "PTO_"].map(|prefix| format!("{prefix}{bare}"));
        let known = [word.name.to_lowercase(), bare.to_lowercase(), bare, format!("T_{}", &word.name[1..])];
        for wrong in known.into_iter().chain(prefixed) {
            if let Some(names) = suggestions_of(&wrong, &call) {
                assert!(names.iter().any(|name| name == word.name), "`{wrong}` suggests {names:?}");
                asked += 1;
            }
        }
        for wrong in typos(word.name) {
            if let Some(names) = suggestions_of(&wrong, &call) {
                // `TNE` is as near to `TCMP_NE`, of which it is the end.
                let end = wrong.replacen('T', "_", 1);
                let right = names.iter().all(|name| name.ends_with(&end))
                    || names.iter().any(|name| name == word.name);
                assert!(right, "`{wrong}` for `{}` suggests {names:?}", word.name);
                asked += 1;
            }
        }
    }
    assert!(asked > 1000, "{asked} names were wrong");
}

#[test]
fn a_misspelt_function_of_numbers_is_answered_with_the_right_name_or_none() {
    for (name, args) in [
        ("PTO_MIN", "1.0f, coord"),
        ("PTO_CEIL_DIV", "d.i, d.i"),
        ("PTO_EXP", "coord"),
        ("PTO_LOG2", "coord"),
        ("sqrt", "coord"),
        ("fabs", "coord"),
        ("std::exp2", "coord"),
        ("PTO_GET_BATCH_SIZE", ""),
        ("PTO_VALID_ROWS", "t"),
        ("TROWMAX", "t"),
    ] {
        let call = |name: &str| format!("auto value = {name}({args});");
        for wrong in typos(name) {
            if let Some(names) = suggestions_of(&wrong, &call) {
                let right = names.is_empty() || names.iter().any(|other| other == name);
                assert!(right, "`{wrong}` for `{name}` suggests {names:?}");
            }
        }
    }
}

#[test]
fn names_of_other_languages_are_answered_with_those_of_this_one() {
    for (statement, names) in [
        ("texp(t, t);", vec!["TEXP"]),
        ("TIOTA(t, 0);", vec!["TCI"]),
        ("TCAST(u, t);", vec!["TMOV", "TCVT"]),
        ("TCOPY(u, t);", vec!["TMOV", "TCVT"]),
        ("TFILL(u, 0.0f);", vec!["TASSIGN"]),
        ("pto.round(t, t);", vec!["TROUND"]),
        ("pto.floor(t, t);", vec!["TFLOOR"]),
        ("pto.histogram(t, t);", vec![]),
        ("transpose(u, t);", vec!["TTRANS"]),
        ("float r = PTO_ROUND(1.0f);", vec![]),
        ("float r = floor(1.0f);", vec![]),
        ("float r = texp(coord);", vec!["exp"]),
        ("float r = EXP(coord);", vec!["PTO_EXP", "exp", "std::exp"]),
    ] {
        let found = kernel(statement);
        assert_eq!(said(&found).1, [UNKNOWN_FUNCTION], "{statement}");
        assert_eq!(suggested(&found), names, "{statement}");
    }
}

/// Each help has the right call, with the parts that do not depend on the operands.
#[test]
fn functions_of_numbers_and_of_tiles_name_each_other() {
    for (statement, help) in [
        ("exp(t, t);", "of tiles it is the statement `TEXP(dst, src)`"),
        ("float r = std::sqrt(t);", "of tiles it is the statement `TSQRT(dst, src)`"),
        ("PTO_MAX(t, u);", "of tiles it is the statement `TMAX(dst, a, b)`"),
        ("float r = TEXP(t);", "it is written `TEXP(dst, src);`"),
        ("TADD(t, x, u);", "name a tile; `TLOAD(tile, x, {…});` loads one from the tensor"),
    ] {
        let found = kernel(statement);
        let (helps, codes) = said(&found);
        assert_eq!((helps.as_slice(), codes.len()), (&[help][..], 1), "{statement}: {found:?}");
    }
}

#[test]
fn operands_in_the_other_order_are_told_by_kind_and_order() {
    for (statement, message, help) in [
        (
            "TSTORE(t, y, {d.i});",
            "`t` is a tile, not a tensor",
            "the operands are in the other order: write `TSTORE(y, t, {…});`",
        ),
        (
            "TLOAD(x, t, {d.i});",
            "`t` is a tile, not a tensor",
            "the operands are in the other order: write `TLOAD(t, x, {…});`",
        ),
        (
            "TSTORE(t, u, {d.i});",
            "`t` is a tile, not a tensor",
            "it is written `TSTORE(tensor, src, {index, …});`",
        ),
        ("PTO_STORE_SCALAR(t, 1.0f, {d.i, 0});", "`t` is a tile, not a tensor", ""),
        ("TSTORE(coord, t, {d.i});", "`coord` is a number, not a tensor", ""),
    ] {
        let found = kernel(statement);
        let errors: Vec<&Diagnostic> = found.iter().filter(|d| d.is_error()).collect();
        assert_eq!(errors.len(), 1, "{statement}: {found:?}");
        assert_eq!(errors[0].message, message, "{statement}");
        assert_eq!(errors[0].help.join("\n"), help, "{statement}");
    }
}

#[test]
fn a_misspelt_form_is_answered_with_the_right_one_or_told_where_the_near_one_stands() {
    for (program, help) in [
        ("PTO_SHAP(x, rows, 8)", "did you mean `PTO_SHAPE(name, d0, d1, …)`?"),
        ("pto_shape(x, rows, 8)", "did you mean `PTO_SHAPE(name, d0, d1, …)`?"),
        ("SHAPE(x, rows, 8)", "did you mean `PTO_SHAPE(name, d0, d1, …)`?"),
        ("kernel_impl(k) { }", "did you mean `PTO_KERNEL_IMPL(name) { … }`?"),
        ("PTO_SPACE(S) { axis(r, 0, 4) }", "did you mean `PTO_AXIS(name, start, end)`?"),
        (
            "PTO_AXI(r, 0, 3)",
            "`PTO_AXIS(name, start, end)` is near, which stands inside `PTO_SPACE(name) { … }`",
        ),
    ] {
        let (_, found) = wsp_lang::compile("a.pto", program, &mut SourceMap::default());
        let (helps, codes) = said(&found);
        assert!(helps.contains(&help), "{program}: {found:?}");
        assert_eq!(codes[0], 20, "{program}: {found:?}");
    }
}

/// Every form whose name no other form has, each letter of it wrong in turn.
#[test]
fn a_letter_that_is_wrong_in_a_form_of_files_never_leads_elsewhere() {
    for name in [
        "PTO_SHAPE",
        "PTO_PARAM",
        "PTO_TENSOR",
        "PTO_WORKSPACE",
        "PTO_RESIDENT",
        "PTO_SPACE",
        "PTO_TIER_DEF",
        "PTO_SCHEDULE",
        "PTO_DESCRIPTOR_GEN",
        "PTO_KERNEL_IMPL",
        "PTO_GRAPH",
        "PTO_REQUIRE",
        "PTO_REFERENCE",
    ] {
        for wrong in typos(name).into_iter().filter(|wrong| wrong.starts_with("PTO_")) {
            let (_, found) =
                wsp_lang::compile("a.pto", &format!("{wrong}(a, b) {{ }}"), &mut SourceMap::default());
            let names: Vec<String> = suggested(&found);
            assert!(names.iter().all(|usage| usage.starts_with(&format!("{name}("))), "{wrong}: {names:?}");
        }
    }
}

#[test]
fn messages_have_the_article_and_the_number_of_what_they_name() {
    let found = kernel(
        "AccTile<float, 1, 8> acc; AccTile<float, 1, 8> r; LeftTile<float, 1, 1> l; TMATMUL(acc, l, r);
         TLOAD(t, x, {d.i, 0, 0});",
    );
    let text: String = found
        .iter()
        .filter(|d| d.is_error())
        .flat_map(|d| [d.message.clone(), d.primary.as_ref().map(|l| l.text.clone()).unwrap_or_default()])
        .collect::<Vec<_>>()
        .join("; ");
    assert!(text.contains("an `AccTile`"), "{text}");
    assert!(text.contains("3 indices") && !text.contains("a `AccTile`"), "{text}");
}

#[test]
fn the_elements_of_a_tensor_are_a_type_that_is_near() {
    for program in [
        "PTO_KERNEL_IMPL(k, Tensor<flaot> x) { }",
        "PTO_KERNEL_IMPL(k, Workspace<flaot> x) { }",
        "void run(Tensor<flaot> x) { PTO_LAUNCH(S, { .x = x }); }",
    ] {
        let (_, found) = wsp_lang::compile("a.pto", program, &mut SourceMap::default());
        let first = found.iter().find(|d| d.code.0 == 104).expect(program);
        assert_eq!(
            (&first.message[..], &first.help[0][..]),
            ("unknown type `flaot`", "did you mean `float`?")
        );
    }
}
