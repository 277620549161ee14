//! Headers that travel with emitted files.

use flate2::read::ZlibDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// The bytes of paths and texts of all headers, each of which ends with a zero, and these as `build.rs` packs them.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/headers.z"));

/// Paths and texts in the order of paths.
static ALL: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let (length, packed) = PACKED.split_first_chunk().expect("a build packs their length first");
    let mut texts = String::with_capacity(u64::from_le_bytes(*length) as usize);
    ZlibDecoder::new(packed).read_to_string(&mut texts).expect("a build packs texts");
    let mut parts = Box::leak(texts.into_boxed_str()).split_terminator('\0');
    std::iter::from_fn(|| Some((parts.next()?, parts.next()?))).collect()
});

/// A list of headers.
#[derive(Clone, Copy, Debug)]
pub struct Headers(pub(crate) &'static [&'static str]);

impl Headers {
    /// Paths, as they are included.
    #[must_use]
    pub fn paths(self) -> &'static [&'static str] {
        self.0
    }
}

/// Paths, as they are included, and texts.
impl IntoIterator for Headers {
    type Item = (&'static str, &'static str);
    type IntoIter = std::iter::Map<std::slice::Iter<'static, &'static str>, fn(&&'static str) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|path| (*path, text(path)))
    }
}

/// The text of a header.
pub(crate) fn text(path: &str) -> &'static str {
    let at =
        ALL.binary_search_by_key(&path, |(path, _)| path).expect("a build packs all headers that lists name");
    ALL[at].1
}
