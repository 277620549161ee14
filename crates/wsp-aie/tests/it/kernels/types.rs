//! Every operation on tiles of every type that bodies compute with: the table of the page is what comes of it.

use super::bench::{COLS, Kernel};
use super::operations::calls::call;
use super::operations::{apart, body_of, interpreted, tolerance};
use std::fmt::Write as _;
use std::path::PathBuf;
use wsp_aie::kernel::Reason;
use wsp_diag::SourceMap;
use wsp_ir::{PtoWord, TILE_OPS, TileOpRow};

/// Types of tiles, and their names in the table.
const TYPES: [(&str, &str); 4] =
    [("float", "f32"), ("bfloat16_t", "bf16"), ("int8_t", "i8"), ("int32_t", "i32")];

/// A kernel with one call on tiles of a type; what is loaded and stored is `float`.
fn text(row: &TileOpRow, word: &PtoWord, ty: &str, rows: u32) -> String {
    let (call, _) = call(row, word);
    let whole = ty.starts_with("int");
    let mut call = call.replace("VecTile<float,", &format!("VecTile<{ty},"));
    if whole {
        for (real, number) in [("-1.5f", "-2"), ("-2.0f", "-2"), ("2.5f", "3"), ("9.5f", "9"), ("1.0f", "1")]
        {
            call = call.replace(real, number);
        }
    }
    if row.form == "top_k" {
        call = call.replace(&format!("VecTile<{ty},"), "VecTile<float,");
    }
    call = call.replace("TLOAD(w,", "TLOAD(wf,");
    // Integers are divided by others than 0.
    let odd = if whole { "TMULS(u, u, 2); TADDS(u, u, 1);" } else { "" };
    let mut text = format!(
        "VecTile<float, 8, 16> tf; VecTile<float, 8, 16> uf; VecTile<{ty}, 8, 16> t; VecTile<{ty}, 8, 16> u;
         VecTile<{ty}, 8, 1> column; VecTile<{ty}, 1, 16> row;
         TLOAD(tf, x, {{2, 0}}, {rows}); TLOAD(uf, x, {{9, 16}}, {rows}); TCVT(t, tf); TCVT(u, uf); {odd}
         TROWMAX(column, u); TCOLMIN(row, u);\n"
    );
    if let Some(at) = call.find(" w;") {
        let of = call[..at].rfind("VecTile").expect("a tile");
        let declared = call[of..at].replace(ty, "float");
        call = format!("{declared} wf; {}", call.replace("TMATMUL", "TCVT(w, wf); TMATMUL"));
    }
    let result = call
        .find(" r;")
        .map(|at| call[..at].rfind("VecTile").map_or("", |of| &call[of..at]))
        .unwrap_or("")
        .to_owned();
    let float = result.replace(ty, "float");
    call = call.replace("desc.d", &rows.to_string()).replace("desc.b", "9").replace("desc.a", "2");
    match row.form {
        "load" => {
            call = call.replace("(r, x", "(rf, x").replace(&result, &float).replace(" r;", " rf;")
                + " TCVT(r, rf);"
        }
        "store" => call = call.replace("TSTORE(y, u, {19, 7});", ""),
        _ => {}
    }
    text += &call;
    match row.form {
        "load" => {
            let _ = write!(text, " {float} z; TCVT(z, r); TSTORE(y, z, {{0, 0}});");
            text = text.replace(&format!("{float} rf;"), &format!("{float} rf; VecTile<{ty}, 8, 16> r;"));
        }
        "store" => {
            text = text
                .replace(&format!("{}(y, r,", word.name), "TCVT(tf, r); STORED(y, tf,")
                .replace("STORED", word.name);
        }
        _ if float == result => text += " TSTORE(y, r, {0, 0});",
        _ => {
            let _ = write!(text, " {float} z; TCVT(z, r); TSTORE(y, z, {{0, 0}});");
        }
    }
    text
}

/// Whether the language has such a kernel.
fn exists(body: &str) -> bool {
    let text = format!(
        "PTO_SHAPE(lens, 4)\nPTO_SHAPE(x, 64, 32)\nPTO_SHAPE(y, 64, 32)\nPTO_SPACE(Space) {{ PTO_AXIS(i, 0, 1) }}
         struct D {{ uint32_t a; }};
         PTO_KERNEL_IMPL(k) {{ auto desc = PTO_GET_DESCRIPTOR<D>(); {body} }}
         PTO_DESCRIPTOR_GEN(Space) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .a = lens[0] }}); }} }}
         void go(uint32_t* lens, Tensor<float> x, Tensor<float> y) {{
             PTO_LAUNCH(Space, {{ .lens = lens, .x = x, .y = y }});
         }}"
    );
    wsp_lang::compile("kernel.pto", &text, &mut SourceMap::default()).0.is_some()
}

/// What comes of an operation on a type: its cell of the table.
fn cell(row: &TileOpRow, word: &PtoWord, ty: &str) -> String {
    let rows = if matches!(row.form, "gather" | "reshape") { 8 } else { 5 };
    let text = text(row, word, ty, rows);
    if !exists(&text) {
        return "—".to_owned();
    }
    let kernel = Kernel::new(&text);
    let body = match body_of(&kernel) {
        Ok(body) => body,
        Err(why) => {
            let number = Reason::ALL.iter().position(|reason| why.contains(reason.text()));
            return format!("[{}]", number.unwrap_or_else(|| panic!("{}: {why}", word.name)) + 1);
        }
    };
    let words = [2, 9, 0, rows];
    let have =
        interpreted(&kernel, &body, words).unwrap_or_else(|fault| panic!("{} {ty}: {fault}", word.name));
    for (at, (have, want)) in have.iter().zip(&kernel.plain(words)).enumerate() {
        // A `bf16` is 2¹⁶ of an `f32`.
        let most = tolerance(word.name) << if ty == "bfloat16_t" { 16 } else { 0 };
        let (row, col) = (at / COLS, at % COLS);
        assert!(
            apart(*have, *want) <= most,
            "{} {ty}: y[{row}, {col}] is {have} and should be {want}\n{text}",
            word.name
        );
    }
    match tolerance(word.name) {
        0 => "yes".to_owned(),
        most => format!("yes, {most}"),
    }
}

/// The table, and below it the reasons that it names by number.
fn table() -> String {
    let mut text = "| operation | f32 | bf16 | i8 | i32 |\n|---|---|---|---|---|\n".to_owned();
    let mut rows: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for row in TILE_OPS {
        for word in row.pto {
            let cells: Vec<String> = TYPES.iter().map(|(ty, _)| cell(row, word, ty)).collect();
            match rows.iter_mut().find(|(have, _)| *have == cells) {
                Some((_, words)) => words.push(word.name),
                None => rows.push((cells, vec![word.name])),
            }
        }
    }
    for (cells, words) in rows {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let _ = writeln!(text, "| {} | {} |", words.join(", "), cells.join(" | "));
    }
    text += "\n";
    for (i, reason) in Reason::ALL.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", i + 1, reason.text());
    }
    text
}

const BEGIN: &str = "<!-- Printed by a test of wsp-aie: `cargo xtask bless` writes it. -->\n";
const END: &str = "<!-- end -->\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the page that it compares with")]
fn the_page_has_what_operations_become() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/aie.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("a place for the table");
    let (have, after) = rest.split_once(END).expect("an end of the table");
    let want = table();
    if std::env::var("UPDATE_EXPECT").is_ok() {
        std::fs::write(&path, format!("{before}{BEGIN}{want}{END}{after}")).expect("the page is written");
    } else {
        assert!(have == want, "the page is another one: `cargo xtask bless` writes it\n{want}");
    }
}
