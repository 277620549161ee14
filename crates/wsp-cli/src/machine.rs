//! What this machine has: SIMD, caches, pages. Reads `/proc` and `/sys` where they exist.

use std::fs;

/// The processor's name.
pub fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("model name") || l.starts_with("Model"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

/// Bytes of a page of memory.
pub(crate) fn page_size() -> Option<u64> {
    const AT_PAGESZ: u64 = 6;
    let bytes = fs::read("/proc/self/auxv").ok()?;
    bytes.chunks_exact(16).find_map(|pair| {
        let word = |at: usize| Some(u64::from_ne_bytes(pair[at..at + 8].try_into().ok()?));
        (word(0)? == AT_PAGESZ).then(|| word(8)).flatten()
    })
}

/// Whether the system backs large arrays with huge pages: its setting.
pub(crate) fn huge_pages() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(chosen, _)| chosen.to_owned())
}

/// Caches of the first core: `L1 Data 48K`, ….
pub(crate) fn caches() -> Vec<String> {
    let read = |index: u32, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        fs::read_to_string(path).ok().map(|t| t.trim().to_owned())
    };
    (0..8)
        .filter_map(|i| Some(format!("L{} {} {}", read(i, "level")?, read(i, "type")?, read(i, "size")?)))
        .collect()
}

/// A processor feature that kernels may use, and whether it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feature {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether the processor has it.
    pub(crate) present: bool,
}

/// Features that the fast kernels look for.
#[cfg(target_arch = "x86_64")]
pub(crate) fn features() -> Vec<Feature> {
    macro_rules! features {
        ($($name:tt)*) => {
            vec![$(Feature { name: $name, present: std::is_x86_feature_detected!($name) }),*]
        };
    }
    features!("sse4.2" "avx" "avx2" "fma" "f16c" "avx512f" "avx512bw" "avx512dq" "avx512vl" "avx512bf16" "avx512fp16")
}

/// Features that the fast kernels look for.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn features() -> Vec<Feature> {
    Vec::new()
}

/// The widest vector instructions that kernels can use here.
pub fn simd_level() -> &'static str {
    let features = features();
    let has = |names: &[&str]| names.iter().all(|n| features.iter().any(|f| f.name == *n && f.present));
    if has(&["avx512f", "avx512bw", "avx512vl"]) {
        "avx512"
    } else if has(&["avx2", "fma", "f16c"]) {
        "avx2"
    } else {
        "portable"
    }
}
