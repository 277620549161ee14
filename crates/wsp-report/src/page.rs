//! The page: one file of HTML with its style, its script and the data of its traces.
//!
//! Style and script are made by `cargo xtask report` from `page/`, and stand in the program compressed.

use crate::columns::packed;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{self, Read as _, Write};
use wsp_runtime::timeline::Timeline;

/// The page without traces.
static PAGE: &[u8] = include_bytes!("../page/dist/page.html.z");

/// Where traces go.
const TRACES: &str = "<!--traces-->";

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes the page of one trace, or of two that [`pair`](crate::pair) allows, each with its name.
///
/// # Errors
/// Those of `out`.
pub fn write(traces: &[(&str, &Timeline)], out: &mut dyn Write) -> io::Result<()> {
    let mut page = String::new();
    ZlibDecoder::new(PAGE).read_to_string(&mut page)?;
    let (before, after) = page.split_once(TRACES).unwrap_or((&page, ""));
    out.write_all(before.as_bytes())?;
    for (name, timeline) in traces {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&packed(name, timeline))?;
        out.write_all(b"<script type=\"application/octet-stream\">")?;
        base64(&encoder.finish()?, out)?;
        out.write_all(b"</script>\n")?;
    }
    out.write_all(after.as_bytes())
}

fn base64(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::with_capacity(4096);
    for part in bytes.chunks(3072) {
        text.clear();
        for three in part.chunks(3) {
            let [a, b, c] = [0, 1, 2].map(|at| u32::from(three.get(at).copied().unwrap_or(0)));
            let bits = a << 16 | b << 8 | c;
            let digits = [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize]);
            text.extend_from_slice(&digits[..three.len() + 1]);
            text.resize(text.len() + 3 - three.len(), b'=');
        }
        out.write_all(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text_of_base64() {
        for (bytes, expected) in
            [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"foob", "Zm9vYg==")]
        {
            let mut out = Vec::new();
            base64(bytes, &mut out).unwrap();
            assert_eq!(out, expected.as_bytes());
        }
    }

    #[test]
    fn what_is_compressed_is_the_page_that_stands_beside() {
        let mut page = Vec::new();
        ZlibDecoder::new(PAGE).read_to_end(&mut page).unwrap();
        assert!(page == include_bytes!("../page/dist/page.html"), "run `cargo xtask report`");
        assert!(String::from_utf8(page).unwrap().contains(TRACES));
    }
}
