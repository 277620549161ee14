//! Memory that arrays need, before it is asked for.

use pto_wsp::codes;
use std::fs;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// So many bytes are there, or nothing else runs either.
const SMALL: u64 = 1 << 20;

/// Refuses what the machine has no memory for, before it is asked for; `need` is in bytes.
///
/// # Errors
/// When the system says that fewer bytes are available.
pub fn check_memory(what: &str, need: u64) -> Result<(), Diagnostic> {
    // What the system says takes longer to read than so little to take.
    let have = if need > SMALL { available_memory() } else { None };
    match have {
        Some(have) if need > have => {
            Err(Diagnostic::error(codes::NOT_ENOUGH_MEMORY, format!("there is not enough memory for {what}"))
                .note(format!("it needs {need}; {have} are available", need = counted(need, "byte")))
                .help("free some memory or take less data"))
        }
        _ => Ok(()),
    }
}

/// Bytes of memory that can be taken without pushing others out; `None` where the system does not say. Reads `/proc` and `/sys`.
pub fn available_memory() -> Option<u64> {
    let machine = meminfo("MemAvailable:")?;
    Some(machine.min(group_memory_left().unwrap_or(u64::MAX)))
}

/// Bytes of memory installed; `None` where the system does not say.
pub fn total_memory() -> Option<u64> {
    meminfo("MemTotal:")
}

fn meminfo(key: &str) -> Option<u64> {
    field_kib(&system("/proc/meminfo")?, key)
}

fn field_kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What the control group may still take, if it is limited.
fn group_memory_left() -> Option<u64> {
    let read = |name: &str| system(&format!("/sys/fs/cgroup/{name}"))?.trim().parse::<u64>().ok();
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

#[allow(clippy::disallowed_methods, reason = "what the system says of its memory stands in files")]
fn system(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lines_are_in_kibibytes() {
        let text = "MemTotal:       100 kB\nMemAvailable:    42 kB\n";
        assert_eq!(field_kib(text, "MemAvailable:"), Some(42 * 1024));
        assert_eq!(field_kib(text, "MemFree:"), None);
        assert_eq!(field_kib("MemAvailable: lots\n", "MemAvailable:"), None);
    }
}
