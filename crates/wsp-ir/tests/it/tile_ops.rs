//! What is written from the table of tile operations is what the table says: `docs/reference/tiles.md` and the functions of
//! kernels in Python.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads the files that it checks"
)]

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write;
use std::path::Path;
use wsp_core::{AccessKind, LocalId, TensorId};
use wsp_ir::{
    BinaryTileOp, Expr, Operand, Part, Place, PythonForm, ReduceOp, ScalarTy, TILE_OPS, TileExtent, TileOp,
    TileOpKind, TileOpRow, TileSource, TileWork, UnaryTileOp,
};

/// A tile operation whose operands are the names of its fields.
type Named = TileOp<&'static str, &'static str, ()>;

/// Gives every field its name.
struct Names(TileOpKind);

type Given<T> = Result<T, Infallible>;

impl TileSource<&'static str, &'static str, ()> for Names {
    type Error = Infallible;

    fn tile(&mut self, field: &'static str) -> Given<&'static str> {
        Ok(field)
    }

    fn number(&mut self, field: &'static str, _: ScalarTy) -> Given<&'static str> {
        Ok(field)
    }

    fn optional(&mut self, field: &'static str, _: ScalarTy) -> Given<Option<&'static str>> {
        Ok(Some(field))
    }

    fn tensor(&mut self, _: &'static str, _: AccessKind) -> Given<TensorId> {
        Ok(TensorId(0))
    }

    fn place(&mut self, _: &'static str) -> Given<()> {
        Ok(())
    }

    fn operand(&mut self, field: &'static str) -> Given<Operand<&'static str, &'static str>> {
        Ok(Operand::Tile(field))
    }

    fn flag(&mut self, _: &'static str) -> Given<bool> {
        Ok(false)
    }

    fn unary(&mut self) -> Given<UnaryTileOp> {
        Ok(UnaryTileOp::ALL.iter().copied().find(|op| self.0 == TileOpKind::Unary(*op)).unwrap())
    }

    fn binary(&mut self) -> Given<BinaryTileOp> {
        Ok(BinaryTileOp::ALL.iter().copied().find(|op| self.0 == TileOpKind::Binary(*op)).unwrap())
    }

    fn reduce(&mut self) -> Given<ReduceOp> {
        Ok(ReduceOp::ALL.iter().copied().find(|op| self.0 == TileOpKind::Reduce(*op)).unwrap())
    }
}

fn named(row: &TileOpRow) -> Named {
    let Ok(op) = Named::build(row.form, &mut Names(row.kind));
    op.unwrap_or_else(|| panic!("`{}` is no form", row.form))
}

/// The file is what it should be; `UPDATE_EXPECT=1` writes it.
fn check_file(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    expect_test::expect_file![path].assert_eq(text);
}

/// Parameters without the types of annotations.
fn plain(params: &str) -> String {
    let (mut text, mut depth, mut is_type) = (String::new(), 0, false);
    for c in params.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ':' => is_type = true,
            ',' | '=' if depth == 0 => is_type = false,
            _ => {}
        }
        if !is_type && c != ']' && !(c == ' ' && text.ends_with('=')) {
            text.push(c);
        }
    }
    text.replace(" = ", "=").trim_end().to_owned()
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

fn python_form(form: &PythonForm) -> String {
    match form {
        PythonForm::Function { name, params, .. } => format!("pto.{name}({})", plain(params)),
        PythonForm::Written(text) => (*text).to_owned(),
    }
}

fn extent(extent: TileExtent<'_, &'static str, &'static str>) -> String {
    match extent {
        TileExtent::Rows(tile) => format!("rows of `{tile}`"),
        TileExtent::Cols(tile) => format!("columns of `{tile}`"),
        TileExtent::Outer(tile, _) => format!("columns of `{tile}`, or rows where it is transposed"),
        TileExtent::One => "1".to_owned(),
        TileExtent::Capacity => "at most the capacity".to_owned(),
        TileExtent::Exactly(asked) => format!("`{}`, or the capacity", asked.unwrap()),
        TileExtent::AtMost(asked) => format!("at most the capacity and `{}`", asked.unwrap()),
    }
}

fn result(op: &Named) -> String {
    match op.gives() {
        Some((rows, cols)) => format!("{} × {}", extent(rows), extent(cols)),
        None => "as before".to_owned(),
    }
}

fn work(op: &Named) -> String {
    match op.work() {
        TileWork::Each(tile) => format!("elements of `{tile}`"),
        TileWork::Both(a, b) => format!("elements of `{a}` and `{b}`"),
        TileWork::Products(dst, a) => format!("elements of `{dst}` × columns of `{a}`"),
    }
}

fn accuracy(row: &TileOpRow) -> String {
    match row.kind {
        TileOpKind::Unary(op) if op.ulps() > 0 => format!("; vector units are within {} ulp", op.ulps()),
        _ => String::new(),
    }
}

fn page() -> String {
    let mut page = include_str!("tile_ops/head.md").to_owned();
    for row in TILE_OPS {
        let op = named(row);
        let pto = list(row.pto.iter().map(|word| word.usage()));
        let python = list(row.python.iter().map(python_form));
        let (meaning, more) = (row.meaning.replace('|', "\\|"), accuracy(row));
        writeln!(page, "| {pto} | {python} | {meaning}{more} | {} | {} |", result(&op), work(&op)).unwrap();
    }
    page.push_str(include_str!("tile_ops/tail.md"));
    page
}

/// What a function does, as a sentence.
fn summary(row: &TileOpRow, params: &str) -> String {
    let mut meaning = row.meaning.to_owned();
    if let Some(first) = meaning.get(..1) {
        meaning.replace_range(..1, &first.to_uppercase());
    }
    let of = match (row.kind, params) {
        (TileOpKind::Unary(_), "x: Value") => ", of every element of a tile or of a number",
        (TileOpKind::Unary(_), "tile: Tile") => ", of every element of a tile",
        (TileOpKind::Binary(_), _) => {
            ": of two tiles element by element, of a tile and a number, or of two numbers"
        }
        _ => "",
    };
    match meaning.split_once(';') {
        Some((what, except)) => format!("{what}{of};{except}."),
        None => format!("{meaning}{of}."),
    }
}

/// A text in lines of at most so many characters.
fn filled(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for (number, paragraph) in text.split("\n\n").enumerate() {
        if number > 0 {
            lines.extend([String::new(), String::new()]);
        }
        for word in paragraph.split(' ') {
            let last = lines.last_mut().unwrap();
            if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
                lines.push(word.to_owned());
            } else {
                last.extend([if last.is_empty() { "" } else { " " }, word]);
            }
        }
    }
    let indented = |line: &String| if line.is_empty() { String::new() } else { format!("    {line}") };
    lines.iter().map(indented).collect::<Vec<_>>().join("\n")
}

/// A bracket with its parts as Python's formatter writes it: on the line, below it, or each on a line of its own, whatever is within 110
/// columns first.
fn within(open: &str, parts: &[String], close: &str, indent: usize) -> String {
    let (inner, outer) = (" ".repeat(indent + 4), " ".repeat(indent));
    let (line, below) =
        (format!("{open}{}{close}", parts.join(", ")), format!("{inner}{}", parts.join(", ")));
    if line.chars().count() + usize::from(indent > 0) <= 110 {
        return line;
    }
    let below = match below.chars().count() <= 110 {
        true => below,
        false => parts.iter().map(|part| format!("{inner}{part},")).collect::<Vec<_>>().join("\n"),
    };
    format!("{open}\n{below}\n{outer}{close}")
}

/// The definition of a function that a kernel calls.
fn definition(row: &TileOpRow, form: &PythonForm) -> Option<String> {
    let PythonForm::Function { name, params, returns, doc } = form else { return None };
    let text = if doc.is_empty() { summary(row, params) } else { (*doc).to_owned() };
    let one_line = !text.contains('\n') && text.chars().count() <= 100;
    let lines = filled(&text, 103);
    let close = if one_line { "\"\"\"" } else { "\n    \"\"\"" };
    let lines = lines.trim_start();
    let head = within(&format!("def {name}("), &[(*params).to_owned()], &format!(") -> {returns}:"), 0);
    Some(format!("\n\n{head}\n    \"\"\"{lines}{close}\n    outside(\"{name}\")\n"))
}

/// The form behind a function, as the compiler of kernels takes it.
fn entry(row: &TileOpRow, form: &PythonForm) -> Option<(String, [String; 3])> {
    let PythonForm::Function { name, .. } = form else { return None };
    let op = match row.kind {
        TileOpKind::Unary(op) => format!("\"{}\"", op.word()),
        TileOpKind::Binary(op) => format!("\"{}\"", op.word()),
        TileOpKind::Reduce(op) => format!("\"{}\"", op.word()),
        TileOpKind::Only => "None".to_owned(),
    };
    let mut numbers = Vec::new();
    named(row).each(&mut |part| {
        if let Part::Number(field, ty, _) = part {
            numbers.push(format!("(\"{field}\", \"{}\")", ty.name()));
        }
    });
    let numbers = match &numbers[..] {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    };
    Some(((*name).to_owned(), [format!("\"{}\"", row.form), op, numbers]))
}

fn module() -> String {
    let mut text = include_str!("tile_ops/head.py").to_owned();
    let forms = || TILE_OPS.iter().flat_map(|row| row.python.iter().map(move |form| (row, form)));
    let mut entries: Vec<(String, [String; 3])> =
        forms().filter_map(|(row, form)| entry(row, form)).collect();
    entries.sort();
    text.push_str("\n__all__ = [\n");
    entries.iter().for_each(|(name, _)| writeln!(text, "    \"{name}\",").unwrap());
    text.push_str("]\n\nFORMS: dict[str, Form] = {\n");
    for (name, form) in &entries {
        writeln!(text, "{},", within(&format!("    \"{name}\": Form("), form, ")", 4)).unwrap();
    }
    text.push_str("}\n\"\"\"What each function comes to.\"\"\"\n\nOPERATORS: dict[str, str] = {\n");
    for (row, form) in forms() {
        if let (TileOpKind::Binary(op), PythonForm::Written(written)) = (row.kind, form) {
            let sign = written.split(' ').nth(1).unwrap();
            writeln!(text, "    \"{sign}\": \"{}\",", op.word()).unwrap();
        }
    }
    text.push_str("}\n\"\"\"Operations of the form `binary` that operators of Python stand for.\"\"\"\n");
    text.push_str("\nMIRRORED: dict[str, str] = {\n");
    for op in BinaryTileOp::ALL {
        if let Some(mirrored) = op.mirrored() {
            writeln!(text, "    \"{}\": \"{}\",", op.word(), mirrored.word()).unwrap();
        }
    }
    text.push_str("}\n\"\"\"Operations of the form `binary`, and what gives the same of the operands in the other order.\"\"\"\n");
    for row in TILE_OPS {
        text.extend(row.python.iter().filter_map(|form| definition(row, form)));
    }
    text
}

#[test]
fn the_page_is_not_stale() {
    check_file("docs/reference/tiles.md", &page());
}

#[test]
fn the_functions_of_python_are_not_stale() {
    check_file("python/pto_wsp/tile_functions.py", &module());
}

#[test]
fn every_operation_has_a_row_with_names_of_its_own() {
    let rows: BTreeSet<String> = TILE_OPS.iter().map(|row| format!("{} {:?}", row.form, row.kind)).collect();
    assert_eq!(rows.len(), TILE_OPS.len());
    for form in TileOp::<LocalId, Expr, Place>::WORDS {
        let rows = TILE_OPS.iter().filter(|row| row.form == *form).count();
        let operations = match *form {
            "unary" => UnaryTileOp::ALL.len(),
            "binary" => BinaryTileOp::ALL.len(),
            "row_reduce" | "col_reduce" => ReduceOp::ALL.len(),
            _ => 1,
        };
        assert_eq!(rows, operations, "{form}");
    }
    let names: Vec<&str> = TILE_OPS.iter().flat_map(|row| row.pto).map(|word| word.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(TILE_OPS.iter().all(|row| !row.pto.is_empty() && !row.python.is_empty()));
}

#[test]
fn arguments_of_calls_are_fields_of_their_forms() {
    let known = |row: &TileOpRow| {
        let text = format!("{:?}", named(row));
        move |field: &str| text.contains(&format!("{field}: "))
    };
    for row in TILE_OPS {
        let has = known(row);
        for word in row.pto {
            for arg in word.args {
                let field = arg.trim_matches(['[', ']']);
                let second =
                    ["binary", "select"].contains(&row.form) && ["value", "column", "row"].contains(&field);
                assert!(field.starts_with('{') || second || has(field), "{}: {arg}", word.name);
            }
        }
    }
}
