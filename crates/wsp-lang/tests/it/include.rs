//! `#include "file"`: what a program of several files means, and what is wrong with some.

use std::collections::BTreeMap;
use std::path::Path;
use wsp_diag::{Code, Diagnostic, SourceMap, render_all};
use wsp_ir::Module;

const NOT_THERE: Code = Code(500);

/// Compiles the file of this name; the others are read from memory.
fn compile(files: &[(&str, &str)], name: &str) -> (Option<Module>, Vec<String>, Vec<String>) {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let mut sources = SourceMap::default();
    let mut read = Vec::new();
    let mut reader = |path: &Path| {
        let path = path.display().to_string();
        read.push(path.clone());
        let text = files.get(path.as_str()).map(|text| (*text).to_owned());
        text.ok_or_else(|| Diagnostic::error(NOT_THERE, format!("there is no file `{path}`")))
    };
    let (module, found) = wsp_lang::compile_with(name, files[name], &mut sources, &mut reader);
    let shown = found.iter().map(|d| {
        let place = |span| {
            let (line, column) = sources.line_col(span);
            format!("{}:{line}:{column}", sources.file(span.file).expect("a span has a file").name)
        };
        let at = place(d.primary.as_ref().expect("every report has a place").span);
        let others: Vec<String> = d.labels.iter().map(|l| format!("{} {}", place(l.span), l.text)).collect();
        assert!(!render_all(std::slice::from_ref(d), &sources, false).is_empty());
        format!("{at} {} {} [{}]", d.code, d.message, others.join("; "))
    });
    (module, shown.collect(), read)
}

#[test]
fn names_of_all_files_are_visible_in_all_files() {
    let files = [
        ("dir/main.pto", "#include \"lib/tile.pto\"\nPTO_PARAM(uint32_t, n, 4)\nconst uint32_t m = size(n);"),
        ("dir/lib/tile.pto", "#include \"../sizes.pto\"\nconst uint32_t twice = 2 * n;"),
        ("dir/sizes.pto", "#include \"lib/./tile.pto\"\n"),
        ("dir/loop.pto", "#include \"a.pto\"\n#include \"b.pto\""),
        ("dir/a.pto", "#include \"sizes2.pto\""),
        ("dir/b.pto", "#include \"../dir/sizes2.pto\""),
        ("dir/sizes2.pto", "PTO_PARAM(uint32_t, n, 4)"),
    ];
    let (module, found, read) = compile(&files, "dir/loop.pto");
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(read, ["dir/a.pto", "dir/sizes2.pto", "dir/b.pto"], "each file once");
    assert_eq!(module.expect("no errors").params.len(), 1);

    let (module, found, _) = compile(&files, "dir/main.pto");
    assert!(module.is_none());
    assert_eq!(
        found,
        [
            "dir/sizes.pto:1:10 WSP0051 `dir/lib/tile.pto` includes itself [dir/lib/tile.pto:1:10 by way of this]"
        ]
    );
}

#[test]
fn a_template_of_another_file_is_called_with_its_arguments() {
    let library = "template <uint32_t N>\nvoid twice(VecTile<float, 1, N>& t) { TMULS(t, t, 2.0f); }";
    let main = "#include \"lib.pto\"\nPTO_SHAPE(x, rows, 64)\nstruct Row { uint32_t idx; };\nPTO_KERNEL_IMPL(k) {\n\
        auto desc = PTO_GET_DESCRIPTOR<Row>();\nVecTile<float, 1, 64> t;\nTLOAD(t, x, {desc.idx});\ntwice<64>(t);\n\
        TSTORE(x, t, {desc.idx});\n}";
    let (module, found, _) = compile(&[("main.pto", main), ("lib.pto", library)], "main.pto");
    assert_eq!(found, Vec::<String>::new());
    assert!(module.is_some());
}

#[test]
fn a_missing_file_is_reported_where_it_is_included() {
    let (module, found, _) = compile(&[("a/b.pto", "\n  #include \"c.pto\"\n")], "a/b.pto");
    assert!(module.is_none());
    assert_eq!(found, ["a/b.pto:2:12 WSP0500 there is no file `a/c.pto` []"]);
}

#[test]
fn a_file_does_not_include_itself() {
    let (_, found, _) = compile(&[("a.pto", "#include \"./a.pto\"\n")], "a.pto");
    assert_eq!(found, ["a.pto:1:10 WSP0051 `a.pto` includes itself []"]);
}

#[test]
fn a_name_defined_in_two_files_is_shown_in_both() {
    let files =
        [("a.pto", "#include \"b.pto\"\nconst uint32_t n = 1;"), ("b.pto", "\nconst uint32_t n = 2;")];
    let (_, found, _) = compile(&files, "a.pto");
    assert_eq!(found, ["b.pto:2:16 WSP0100 `n` is defined twice [a.pto:2:16 first defined here]"]);
}

#[test]
fn errors_of_an_included_file_stand_in_that_file() {
    let files = [("a.pto", "#include \"b.pto\"\nconst uint32_t n = 1;"), ("b.pto", "const uint32_t m = 1")];
    let (_, found, _) = compile(&files, "a.pto");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("b.pto:1:"), "{found:?}");
    let files = [("a.pto", "#include \"b.pto\"\n"), ("b.pto", "\nconst uint32_t m = nothing;")];
    let (_, found, _) = compile(&files, "a.pto");
    assert!(found[0].starts_with("b.pto:2:20 WSP0102"), "{found:?}");
}

#[test]
fn a_text_alone_includes_nothing() {
    let (module, found) = wsp_lang::compile("a.pto", "#include \"b.pto\"\n", &mut SourceMap::default());
    assert!(module.is_none());
    assert_eq!(found[0].code, Code(53));
    assert!(found[0].message.contains("`b.pto`"), "{}", found[0].message);
}

#[test]
fn a_program_has_a_bounded_number_of_files() {
    let mut read = |path: &Path| {
        let number: u32 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
        Ok(format!("#include \"{}.pto\"\n", number + 1))
    };
    let (_, found) =
        wsp_lang::compile_with("0.pto", "#include \"1.pto\"\n", &mut SourceMap::default(), &mut read);
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [Code(52)]);
}
