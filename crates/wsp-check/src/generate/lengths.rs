//! How long each request is.

use super::hash::{Draws, stream};
use super::origin::Origin;
use super::spec::{Lens, Spec};
use pto_wsp::codes;
use std::path::Path;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// Requests when the specification does not say.
const DEFAULT_BATCH: u32 = 32;
/// Longest request drawn from a lognormal distribution.
pub(super) const MAX_DRAWN: u32 = 131_072;

/// Lengths of the ragged batch of a plain run.
mod ragged {
    pub(super) const MU: f64 = 6.2;
    pub(super) const SIGMA: f64 = 1.0;
    pub(super) const MOST: u32 = 4096;
    pub(super) const LONG: u32 = 16_384;
}

/// The length of each request.
pub(super) fn draw(spec: &Spec, origin: Origin<'_>) -> Result<Vec<u32>, Diagnostic> {
    let batch = spec.batch.unwrap_or(DEFAULT_BATCH);
    let mut draws = Draws::new(origin.seed, stream::LENGTHS);
    Ok(match &spec.lens {
        Lens::List(list) => list.clone(),
        Lens::File(path) => take(path, list(path, &(origin.read)(path)?)?, spec.batch)?,
        &Lens::Fixed(n) => vec![n; batch as usize],
        &Lens::Uniform(low, high) => {
            let width = u64::from(high - low) + 1;
            (0..batch).map(|_| low + draws.below(width) as u32).collect()
        }
        &Lens::Lognormal(mu, sigma) => {
            (0..batch).map(|_| lognormal(&mut draws, mu, sigma, MAX_DRAWN)).collect()
        }
        Lens::Ragged => {
            let mut lens: Vec<u32> =
                (0..batch).map(|_| lognormal(&mut draws, ragged::MU, ragged::SIGMA, ragged::MOST)).collect();
            // One request far longer than the rest, one without tokens, neither at an end of the batch, and some of one token, of
            // which all logits may be large and negative.
            let (long, empty) = (lens.len() / 3, lens.len() * 2 / 3);
            if lens.len() > 8 {
                (1..4).for_each(|n| lens[batch as usize * n / 4] = 1);
            }
            if lens.len() > 2 {
                lens[long] = ragged::LONG;
                lens[empty] = 0;
            }
            lens
        }
    })
}

fn lognormal(draws: &mut Draws, mu: f64, sigma: f64, most: u32) -> u32 {
    // The cast saturates, so that any draw becomes a length.
    ((mu + sigma * draws.normal()).exp().round() as u32).clamp(1, most)
}

/// The lengths that the text of a file lists, one per line.
fn list(path: &Path, text: &str) -> Result<Vec<u32>, Diagnostic> {
    let mut lens = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let word = line.trim();
        if word.is_empty() || word.starts_with('#') {
            continue;
        }
        lens.push(word.parse().map_err(|_| {
            Diagnostic::error(
                codes::BAD_LENGTHS,
                format!("line {} of `{}` is not a length", i + 1, path.display()),
            )
            .note(format!("it reads `{}`", word.chars().take(40).collect::<String>().escape_debug()))
            .help("write one whole number of tokens per line")
        })?);
    }
    Ok(lens)
}

fn take(path: &Path, mut lens: Vec<u32>, batch: Option<u32>) -> Result<Vec<u32>, Diagnostic> {
    let Some(batch) = batch else { return Ok(lens) };
    if lens.len() < batch as usize {
        return Err(Diagnostic::error(
            codes::BAD_LENGTHS,
            format!("`{}` has {}, fewer than `batch={batch}`", path.display(), counted(lens.len(), "length")),
        )
        .help("leave `batch=` out to take all of them"));
    }
    lens.truncate(batch as usize);
    Ok(lens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(spec: &str) -> Vec<u32> {
        draw(&spec.parse().unwrap(), Origin::of(1)).unwrap()
    }

    #[test]
    fn lengths_follow_the_specification() {
        assert_eq!(lens("batch=3,len=7"), [7, 7, 7]);
        assert_eq!(lens("len=1/17/128"), [1, 17, 128]);
        assert!(lens("batch=100,len=uniform(3,5)").iter().all(|n| (3..=5).contains(n)));
        assert!(lens("batch=100,len=uniform(0,4294967295)").iter().any(|&n| n > 1 << 30));
        let drawn = lens("batch=1000,len=lognormal(7.2,1.0)");
        let middle = drawn.iter().filter(|n| (670..2680).contains(*n)).count();
        assert!((400..600).contains(&middle), "half lie within 0.67 sigma of exp(7.2) = 1339: {middle}");
        assert!(lens("batch=9,len=lognormal(700,1)").iter().all(|&n| n == MAX_DRAWN));
    }

    #[test]
    fn a_list_file_is_read_line_by_line() {
        let drawn = |spec: &str, text: &str| {
            let read = |path: &Path| {
                assert_eq!(path, Path::new("lens.txt"));
                Ok(text.to_owned())
            };
            draw(&spec.parse().unwrap(), Origin { seed: 1, forms: false, read: &read })
        };
        assert_eq!(drawn("lens=lens.txt", "# lengths\n5\n\n 7 \n").unwrap(), [5, 7]);
        assert_eq!(drawn("lens=lens.txt,batch=1", "5\n7\n").unwrap(), [5]);
        assert!(drawn("lens=lens.txt,batch=3", "5\n7\n").is_err());
        assert!(drawn("lens=lens.txt", "5\nmany\n").unwrap_err().message.starts_with("line 2 of"));
        assert_eq!(drawn("lens=lens.txt", "-5\n").unwrap_err().code, codes::BAD_LENGTHS);
    }

    #[test]
    fn without_files_a_list_file_is_refused() {
        let fault = draw(&"lens=lens.txt".parse().unwrap(), Origin::of(1)).unwrap_err();
        assert_eq!(fault.code, codes::BAD_LENGTHS);
    }
}
