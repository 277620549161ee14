//! Says which mutant of a program is on: `WSP_MUTANT` holds its number. The numbers of the mutants whose functions run are
//! written to the file that `WSP_REACHED` names.

use std::fs::File;
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

static CHOSEN: LazyLock<usize> = LazyLock::new(|| {
    let number = std::env::var("WSP_MUTANT").ok().map(|text| text.parse().expect("it should be a number"));
    number.unwrap_or(usize::MAX)
});

static REACHED: LazyLock<Option<File>> = LazyLock::new(|| {
    let path = std::env::var_os("WSP_REACHED")?;
    Some(File::options().append(true).create(true).open(path).expect("the file should be writable"))
});

/// Which numbers are written.
static WRITTEN: [AtomicBool; 1 << 16] = [const { AtomicBool::new(false) }; 1 << 16];

/// Whether this mutant is on.
#[inline]
pub fn on(number: usize) -> bool {
    if let Some(file) = REACHED.as_ref() {
        reached(file, number);
    }
    *CHOSEN == number
}

fn reached(mut file: &File, number: usize) {
    let written = &WRITTEN[number];
    if !written.load(Ordering::Relaxed) && !written.swap(true, Ordering::Relaxed) {
        file.write_all(format!("{number}\n").as_bytes()).expect("the file should be writable");
    }
}
