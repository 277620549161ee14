//! Tokens of every kind, and text that is none.

use super::*;

/// The tokens as text, with `|` before the first of a line, and the codes reported.
fn check(text: &str, tokens: &str, codes: &[u16]) {
    let found = lex(FileId(0), text);
    let shown: Vec<String> = found
        .tokens
        .iter()
        .map(|t| {
            let body = match t.kind {
                Tok::Eof => "EOF",
                Tok::Bad => "BAD",
                _ => &text[t.start as usize..t.end as usize],
            };
            format!("{}{body}", if t.starts_line { "|" } else { "" })
        })
        .collect();
    assert_eq!(shown.join(" "), tokens, "tokens of {text:?}");
    let reported: Vec<u16> =
        found.sink.merge(Sink::default(), codes::TOO_MANY_ERRORS).iter().map(|d| d.code.0).collect();
    assert_eq!(reported, codes, "codes of {text:?}");
}

#[test]
fn operators_are_taken_longest_first() {
    check("a<<=b>>c<=d<e", "|a <<= b >> c <= d < e EOF", &[]);
    check("x+++y--", "|x ++ + y -- EOF", &[]);
    check("a->b::c . d", "|a -> b::c . d EOF", &[]);
    check(":: x", "|:: x EOF", &[]);
}

#[test]
fn qualified_names_are_one_token() {
    check("std::max_element(p)", "|std::max_element ( p ) EOF", &[]);
    check("a:: b", "|a :: b EOF", &[]);
}

#[test]
fn numbers_end_where_c_ends_them() {
    check("1.5e-3f+2", "|1.5e-3f + 2 EOF", &[]);
    check("0xe+1", "|0xe + 1 EOF", &[]);
    check("a[0].b .5", "|a [ 0 ] . b .5 EOF", &[]);
    check("1'000 12ab", "|1'000 12ab EOF", &[6]);
    check("99999999999999999999", "|99999999999999999999 EOF", &[7]);
}

#[test]
fn blanks_comments_and_joined_lines_leave_nothing() {
    check("a // b\n/* c\n */ d /* e */ f", "|a |d f EOF", &[]);
    check("a\r\n\tb\\\nc\\\r\nd", "|a |b c d EOF", &[]);
    check("\u{feff}a", "|a EOF", &[]);
    check("", "|EOF", &[]);
}

#[test]
fn a_comment_without_an_end_is_reported_where_it_opens() {
    check("a /* b", "|a EOF", &[4]);
    check("a /*/", "|a EOF", &[4]);
}

#[test]
fn include_and_pragma_lines_are_ignored_and_others_reported() {
    check("#include <a'b>\n# pragma once\na", "|a EOF", &[]);
    check("#define A \\\n 1\nb", "|b EOF", &[8]);
    check("#ifdef X\na\n#else\nb\n#endif\nc", "|a |b |c EOF", &[8]);
    check("#endif\n#", "|EOF", &[8, 8]);
    check("a #include <b>", "|a EOF", &[8]);
}

#[test]
fn paths_in_quotation_marks_are_files_of_the_program() {
    let found = lex(FileId(0), "#include <x>\n#include \"a/b.pto\" // c\n # include\t\"c\"\nx");
    let paths: Vec<(&str, u32, u32)> =
        found.includes.iter().map(|i| (i.path.as_str(), i.span.start, i.span.end)).collect();
    assert_eq!(paths, [("a/b.pto", 22, 31), ("c", 48, 51)]);
    check("#include \"a\nb", "|b EOF", &[54]);
    check("#include \"\"\nb", "|b EOF", &[54]);
}

#[test]
fn text_literals_end_with_their_line() {
    check("\"a\\\"b\" c", "|BAD c EOF", &[5]);
    check("'x\nd", "|BAD |d EOF", &[5]);
    check("\"", "|BAD EOF", &[5]);
}

#[test]
fn stray_characters_are_reported_once_per_run() {
    check("a @@ b", "|a BAD b EOF", &[3]);
    check("a \u{a0}b", "|a b EOF", &[3]);
    check("a “b” \0", "|a BAD b BAD BAD EOF", &[3, 3, 3]);
}

#[test]
fn names_outside_ascii_are_names_and_reported() {
    check("größe = 1", "|größe = 1 EOF", &[9]);
}
