//! Objects whose every field is known, and values of one kind.

use super::tree::quoted;
use super::{Decoded, Fault, Json, MAX_NAME, MAX_TOGETHER, codes};
use std::borrow::Cow;
use wsp_diag::did_you_mean;

/// An object while it is decoded. [`Fields::done`] reports a field that nobody asked for.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    entries: &'a [(Cow<'a, str>, Json<'a>)],
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The fields of an object.
    pub(crate) fn of(json: &'a Json<'a>) -> Decoded<Fields<'a>> {
        match json {
            Json::Object(entries) => Ok(Fields { entries, asked: Vec::with_capacity(8) }),
            _ => Err(json.expected("an object")),
        }
    }

    /// The value of a field; `null` counts as none.
    fn find(&mut self, name: &'static str) -> Option<&'a Json<'a>> {
        self.asked.push(name);
        let entry = self.entries.iter().find(|(known, _)| known == name)?;
        (!matches!(entry.1, Json::Null)).then_some(&entry.1)
    }

    /// Whether a field has a value.
    pub(crate) fn has(&mut self, name: &'static str) -> bool {
        self.find(name).is_some()
    }

    /// A field that may be absent.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'a Json<'a>) -> Decoded<T>,
    ) -> Decoded<Option<T>> {
        self.find(name).map(|json| read(json).map_err(|fault| fault.in_field(name))).transpose()
    }

    /// A field that must be there.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'a Json<'a>) -> Decoded<T>,
    ) -> Decoded<T> {
        let value = self.optional(name, read)?;
        value.ok_or_else(|| self.missing(name))
    }

    /// The fault that a field is absent.
    pub(crate) fn missing(&self, name: &'static str) -> Box<Fault> {
        let written = self.entries.iter().map(|(known, _)| &**known);
        let unasked = written.filter(|known| !self.asked.contains(known));
        Fault::new(codes::MISSING_FIELD, format!("the field `{name}` is missing"))
            .help(did_you_mean(name, unasked).map(|near| format!("it has {}", quoted(near))))
    }

    /// The items of a list; none when the field is absent.
    pub(crate) fn list<T>(
        &mut self,
        name: &'static str,
        read: impl FnMut(&'a Json<'a>) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        Ok(self.optional(name, |json| items(json, read))?.unwrap_or_default())
    }

    /// The items of a list that is short in every program.
    pub(crate) fn short_list<T>(
        &mut self,
        name: &'static str,
        read: impl FnMut(&'a Json<'a>) -> Decoded<T>,
    ) -> Decoded<Vec<T>> {
        let values = self.list(name, read)?;
        few(values.len(), name).map_err(|fault| fault.in_field(name)).map(|()| values)
    }

    /// The name of the thing.
    pub(crate) fn name(&mut self) -> Decoded<String> {
        self.required("name", Json::name)
    }

    /// A truth value; false when the field is absent.
    pub(crate) fn flag(&mut self, name: &'static str) -> Decoded<bool> {
        Ok(self.optional(name, Json::boolean)?.unwrap_or_default())
    }

    /// The word that says which form the object has.
    pub(crate) fn kind(&mut self) -> Decoded<&'a str> {
        self.required("k", Json::text)
    }

    /// A word of a fixed set.
    pub(crate) fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Decoded<T> {
        self.required(name, |json| json.word(words))
    }

    /// Ends the object. A field without a value says nothing, whatever its name.
    pub(crate) fn done(self) -> Decoded<()> {
        let mut surplus = self.entries.iter().filter(|(name, _)| !self.asked.contains(&&**name));
        let Some((name, _)) = surplus.find(|(_, value)| !matches!(value, Json::Null)) else { return Ok(()) };
        let known = self.asked.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        Err(Fault::new(codes::UNKNOWN_FIELD, format!("the field {} is not known here", quoted(name)))
            .note(format!("fields of this form: {known}"))
            .help(
                did_you_mean(name, self.asked.iter().copied()).map(|near| format!("did you mean `{near}`?")),
            ))
    }
}

/// Whether so many may be checked one against another.
pub(crate) fn few(count: usize, what: &str) -> Decoded<()> {
    if count <= MAX_TOGETHER {
        return Ok(());
    }
    Err(Fault::new(codes::TOO_LARGE, format!("there are {count} {what}; a trace has at most {MAX_TOGETHER}")))
}

/// The items of a list.
pub(crate) fn items<'a, T>(
    json: &'a Json<'a>,
    mut read: impl FnMut(&'a Json<'a>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let Json::List(list) = json else { return Err(json.expected("a list")) };
    let mut values = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        values.push(read(item).map_err(|fault| fault.in_item(index))?);
    }
    Ok(values)
}

impl<'a> Json<'a> {
    /// The fault that a value is something else.
    pub(crate) fn expected(&self, what: &str) -> Box<Fault> {
        Fault::new(codes::WRONG_VALUE, format!("expected {what}, found {}", self.describe()))
    }

    /// A text.
    pub(crate) fn text(&'a self) -> Decoded<&'a str> {
        if let Json::Text(text) = self { Ok(text) } else { Err(self.expected("a text")) }
    }

    /// A text of its own.
    pub(crate) fn string(&'a self) -> Decoded<String> {
        self.text().map(str::to_owned)
    }

    /// A name.
    pub(crate) fn name(&'a self) -> Decoded<String> {
        let name = self.text()?;
        if name.len() <= MAX_NAME {
            return Ok(name.to_owned());
        }
        let message =
            format!("the name {} has {} bytes; at most {MAX_NAME} are read", quoted(name), name.len());
        Err(Fault::new(codes::TOO_LARGE, message))
    }

    /// A truth value.
    pub(crate) fn boolean(&self) -> Decoded<bool> {
        if let Json::Bool(value) = self { Ok(*value) } else { Err(self.expected("`true` or `false`")) }
    }

    /// A whole number, if it is one.
    pub(crate) fn integer(&self) -> Option<i128> {
        match self {
            Json::Int(value) => Some(i128::from(*value)),
            Json::Large(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    /// A whole number that `T` holds.
    pub(crate) fn number<T: TryFrom<i128> + Bounds>(&self) -> Decoded<T> {
        let fits = self.integer().and_then(|value| T::try_from(value).ok());
        fits.ok_or_else(|| self.expected(&format!("a whole number {}", T::RANGE)))
    }

    /// A list of two numbers.
    pub(crate) fn pair<T: TryFrom<i128> + Bounds>(&'a self) -> Decoded<(T, T)> {
        if let Json::List(list) = self
            && let [first, second] = &list[..]
        {
            let first = first.number().map_err(|fault| fault.in_item(0))?;
            return Ok((first, second.number().map_err(|fault| fault.in_item(1))?));
        }
        Err(self.expected("a list of two numbers"))
    }

    /// A word of a fixed set.
    pub(crate) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Decoded<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| unknown_word(text, words.iter().map(|(word, _)| *word)))
    }
}

/// The fault that a word is none of those that may stand at its place.
pub(crate) fn unknown_word<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> Box<Fault> {
    let words: Vec<&str> = words.collect();
    let listed = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    Fault::new(codes::UNKNOWN_WORD, format!("{} is not known here", quoted(text)))
        .note(format!("known are {listed}"))
        .help(did_you_mean(text, words.iter().copied()).map(|near| format!("did you mean `{near}`?")))
}

/// The range of a number type, as messages say it.
pub(crate) trait Bounds {
    /// `from 0 to 255`.
    const RANGE: &'static str;
}

macro_rules! bounds {
    ($($ty:ident $range:literal;)*) => {$(
        impl Bounds for $ty {
            const RANGE: &'static str = $range;
        }
    )*};
}

bounds! {
    u8 "from 0 to 255";
    u16 "from 0 to 65535";
    u32 "from 0 to 4294967295";
    u64 "from 0 to 18446744073709551615";
    i64 "of 64 bits";
}
