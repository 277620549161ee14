//! JSON as a tree.

use super::{Decoded, Fault, MAX_BYTES, MAX_FIELDS, MAX_LEVELS, MAX_VALUES, codes};
use serde_core::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// A JSON value; texts without escapes are those of the document.
#[derive(Debug)]
pub(crate) enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number above `i64::MAX`.
    Large(u64),
    /// Any other number.
    Float(f64),
    /// A string.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Json<'a>>),
    /// An object; its names differ.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl Json<'_> {
    /// What it is, as messages say it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Int(value) => value.to_string(),
            Json::Large(value) => value.to_string(),
            Json::Float(value) => format!("{value:?}"),
            Json::Text(text) => format!("the text {}", quoted(text)),
            Json::List(items) => format!("a list of {}", items.len()),
            Json::Object(_) => "an object".to_owned(),
        }
    }
}

/// A text as messages show it: escaped, and not longer than a line.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Reads a document.
///
/// # Errors
/// [`codes::NOT_JSON`] with line and column, or [`codes::TOO_LARGE`].
pub(crate) fn parse(bytes: &[u8]) -> Decoded<Json<'_>> {
    if bytes.len() > MAX_BYTES {
        let message = format!("the trace has {} bytes; at most {MAX_BYTES} are read", bytes.len());
        return Err(Fault::new(codes::TOO_LARGE, message));
    }
    let budget = Budget { values: Cell::new(MAX_VALUES), exceeded: Cell::new(false) };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // `Tree` counts levels itself.
    reader.disable_recursion_limit();
    let tree = Tree { level: 0, budget: &budget }.deserialize(&mut reader);
    let found = tree.and_then(|tree| reader.end().map(|()| tree));
    found.map_err(|error| {
        let code = if budget.exceeded.get() { codes::TOO_LARGE } else { codes::NOT_JSON };
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let what = text.strip_suffix(&place).unwrap_or(&text);
        let message =
            if error.is_data() { what.to_owned() } else { format!("the trace is not JSON: {what}") };
        Fault::new(code, message).note(format!(
            "line {}, column {} of the document",
            error.line(),
            error.column()
        ))
    })
}

/// What is left of the limits of a document.
struct Budget {
    values: Cell<u32>,
    exceeded: Cell<bool>,
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Tree<'b> {
    /// Lists and objects around it.
    level: u32,
    budget: &'b Budget,
}

impl Tree<'_> {
    /// Counts one value.
    fn count<E: Error>(self) -> Result<(), E> {
        let left = self.budget.values.get().checked_sub(1);
        let left = left.ok_or_else(|| self.exceed(format!("the trace has more than {MAX_VALUES} values")))?;
        self.budget.values.set(left);
        Ok(())
    }

    /// For what stands inside this value.
    fn inside<E: Error>(self) -> Result<Self, E> {
        self.count()?;
        if self.level >= MAX_LEVELS {
            let message = format!("lists and objects of the trace nest more than {MAX_LEVELS} deep");
            return Err(self.exceed(message));
        }
        Ok(Tree { level: self.level + 1, ..self })
    }

    fn exceed<E: Error>(self, message: String) -> E {
        self.budget.exceeded.set(true);
        E::custom(message)
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Json<'de>, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json<'de>, E> {
        self.count().map(|()| Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json<'de>, E> {
        self.count().map(|()| Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json<'de>, E> {
        self.count().map(|()| Json::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json<'de>, E> {
        self.count().map(|()| i64::try_from(value).map_or(Json::Large(value), Json::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json<'de>, E> {
        self.count().map(|()| Json::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Json<'de>, E> {
        self.count().map(|()| Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json<'de>, E> {
        self.count().map(|()| Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json<'de>, A::Error> {
        let inside = self.inside()?;
        let mut fields: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        while let Some(name) = object.next_key_seed(inside)? {
            let Json::Text(name) = name else { return Err(A::Error::custom("a field has no name")) };
            if fields.iter().any(|(earlier, _)| *earlier == name) {
                return Err(A::Error::custom(format!("an object has two fields {}", quoted(&name))));
            }
            if fields.len() >= MAX_FIELDS {
                return Err(self.exceed(format!("an object has more than {MAX_FIELDS} fields")));
            }
            let value = object.next_value_seed(inside)?;
            fields.push((name, value));
        }
        Ok(Json::Object(fields))
    }
}
