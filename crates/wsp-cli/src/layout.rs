//! Order of heads and tokens inside a page.

/// Order of heads and tokens inside a page of a KV cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// `[pages, page_size, heads, dim]`
    #[default]
    Nhd,
    /// `[pages, heads, page_size, dim]`
    Hnd,
}

impl Layout {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Nhd => "NHD",
            Layout::Hnd => "HND",
        }
    }

    /// The layout with this name, in either case.
    pub fn from_name(name: &str) -> Option<Layout> {
        [Layout::Nhd, Layout::Hnd].into_iter().find(|l| l.name().eq_ignore_ascii_case(name))
    }

    /// The shape of an array of pages.
    pub fn shape(self, pages: u64, page_size: u64, heads: u64, dim: u64) -> [u64; 4] {
        match self {
            Layout::Nhd => [pages, page_size, heads, dim],
            Layout::Hnd => [pages, heads, page_size, dim],
        }
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
