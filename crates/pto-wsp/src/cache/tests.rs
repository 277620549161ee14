//! Hits, misses with their reasons, damage, bounds, and several users of one folder.

use super::*;
use crate::backend::Backend;
use crate::backend::cpu::CpuSimBackend;
use crate::codes::{CACHE_ENTRY, NO_CACHE};
use crate::{Args, RunOptions};
use std::path::Path;
use tempfile::TempDir;
use wsp_diag::SourceMap;
use wsp_kernel::Engine;
use wsp_plan::{Array, CompileOptions, PlanSource, lower};

const SOURCE: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(Twice) { PTO_AXIS(i, 0, n) PTO_TILE(i, 64) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(Twice) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 64 }); }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 64, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Twice, { .x = x, .y = y }); }
";

fn folder() -> TempDir {
    tempfile::tempdir().expect("there should be room for a folder")
}

fn cache(folder: &TempDir) -> PlanCache {
    PlanCache::open(&folder.path().join("cache")).expect("it can be made")
}

fn key() -> PlanKey {
    PlanKey::new("twice.pto", SOURCE, &[("used.pto".to_owned(), "// nothing")], &CompileOptions::default())
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder.join("cache")).expect("the folder is there").flatten();
    files.map(|file| file.path()).collect()
}

/// Runs the program with the code that is there, and gives the bits of its output.
fn run(cached: &CachedPlan) -> Vec<u8> {
    let (module, found) = wsp_lang::compile("twice.pto", SOURCE, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let plan = PlanSource::from(lower(&module, &CompileOptions::default()).expect("it has no fault"));
    let backend =
        CpuSimBackend { engine: Engine::Native, code: Some(cached.code()), ..CpuSimBackend::default() };
    let x: Vec<f32> = (0..200).map(|i| i as f32 / 7.0).collect();
    let x = Array::of(&[200], &x).expect("it has 200 elements");
    let program = backend.compile(&plan).expect("it has no fault");
    let outcome = program.execute(Args::new().with("x", x), RunOptions::default()).expect("it runs");
    outcome.outputs["y"].bytes().to_vec()
}

#[test]
fn what_is_kept_is_found_by_another_cache_wherever_the_folder_is() {
    if !Engine::Native.is_available() {
        return;
    }
    let folder = folder();
    let first = cache(&folder).find(key()).unwrap();
    assert_eq!(first.statistics(), CacheUse { miss: Some(Miss::New), taken: 0, compiled: 0 });
    let without = run(&first);
    assert_eq!(first.statistics().compiled, 2);
    first.keep().unwrap();
    let moved = folder.path().join("moved");
    std::fs::rename(folder.path().join("cache"), &moved).unwrap();
    let second = PlanCache::open(&moved).unwrap().find(key()).unwrap();
    assert_eq!(run(&second), without);
    assert_eq!(second.statistics(), CacheUse { miss: None, taken: 2, compiled: 0 });
    assert_eq!(second.statistics().to_string(), "hit; machine code of scalar functions: 2 taken, 0 compiled");
}

#[test]
fn a_miss_says_which_parts_of_the_key_differ() {
    let folder = folder();
    let cache = cache(&folder);
    cache.find(key()).unwrap().keep().unwrap();
    for part in Part::ALL {
        let other = cache.find(key().with(part, "another")).unwrap();
        assert_eq!(other.statistics().miss, Some(Miss::Differs(vec![part])));
        assert!(other.found().starts_with(&format!("miss, {part} differ")), "{}", other.found());
    }
    let both = cache.find(key().with(Part::Source, "another").with(Part::Target, "there")).unwrap();
    assert_eq!(both.found(), "miss, the source, the target differ");
    // The nearest entry is the one that it is compared with.
    cache.find(key().with(Part::Source, "another")).unwrap().keep().unwrap();
    let both = cache.find(key().with(Part::Source, "another").with(Part::Target, "there")).unwrap();
    assert_eq!(both.found(), "miss, the target differs");
    let unlike = PlanKey::new("other.pto", SOURCE, &[], &CompileOptions::default());
    assert_eq!(cache.find(unlike).unwrap().statistics().miss, Some(Miss::New));
    assert_eq!(cache.find(key().for_use("check")).unwrap().statistics().miss, Some(Miss::New));
    assert_eq!(cache.find(key()).unwrap().statistics().miss, None);
}

#[test]
fn where_the_files_of_a_program_lie_is_no_part_of_its_key() {
    let key = |folder: &str, used: &str| {
        let mut sources = SourceMap::default();
        sources.add("another.pto", "// read before");
        sources.add(format!("{folder}a.pto"), SOURCE);
        sources.add(format!("{folder}{used}"), "// used");
        PlanKey::of_files(&sources, 1, &CompileOptions::default())
    };
    assert_eq!(key("", "b.pto"), key("there/", "./b.pto"));
    assert_ne!(key("", "b.pto"), key("there/", "c.pto"));
    assert_ne!(key("", "b.pto"), key("there/", "b/b.pto"));
}

#[test]
fn an_entry_with_a_byte_that_was_flipped_or_without_its_end_is_a_miss_and_is_replaced() {
    if !Engine::Native.is_available() {
        return;
    }
    let folder = folder();
    let cache = cache(&folder);
    let first = cache.find(key()).unwrap();
    let without = run(&first);
    first.keep().unwrap();
    let path = entries(folder.path()).remove(0);
    #[expect(clippy::disallowed_methods, reason = "the test damages a file")]
    let (read, write) =
        (|| std::fs::read(&path).unwrap(), |bytes: &[u8]| std::fs::write(&path, bytes).unwrap());
    let good = read();
    let damaged = |bytes: &[u8], what: &str| {
        write(bytes);
        let found = cache.find(key()).unwrap();
        assert!(matches!(found.statistics().miss, Some(Miss::Damaged(_))), "{what}: {}", found.found());
        assert_eq!(found.note().map(|note| note.code), Some(CACHE_ENTRY), "{what}");
        found
    };
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x41;
        damaged(&bytes, &format!("byte {at}"));
    }
    for cut in (0..good.len()).step_by(7) {
        damaged(&good[..cut], &format!("cut to {cut}"));
    }
    damaged(&[&good[..], &[0]].concat(), "a byte more");
    let again = damaged(b"another file", "another file");
    assert_eq!(run(&again), without);
    again.keep().unwrap();
    assert_eq!(read(), good);
}

#[test]
fn what_could_not_be_written_is_written_by_a_later_run() {
    let folder = folder();
    let found = cache(&folder).find(key()).unwrap();
    let path = folder.path().join("cache");
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(found.keep().unwrap_err().code, CACHE_ENTRY);
    assert_eq!(found.keep().unwrap_err().code, CACHE_ENTRY);
    cache(&folder);
    found.keep().unwrap();
    assert_eq!(entries(folder.path()).len(), 1);
}

#[test]
fn a_file_or_a_link_to_nothing_is_refused_for_what_it_is() {
    let folder = folder();
    let path = folder.path().join("cache");
    drop(std::fs::File::create(&path).unwrap());
    let said = |fault: Diagnostic| (fault.code, fault.notes.join(" "));
    assert_eq!(said(PlanCache::open(&path).unwrap_err()), (NO_CACHE, "it is no folder".to_owned()));
    std::fs::remove_file(&path).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("nothing"), &path).unwrap();
        assert_eq!(said(PlanCache::open(&path).unwrap_err()), (NO_CACHE, "it is no folder".to_owned()));
    }
}

#[test]
fn an_entry_under_the_name_of_another_key_is_not_taken_for_it() {
    let folder = folder();
    let cache = cache(&folder);
    cache.find(key()).unwrap().keep_checked().unwrap();
    let first = entries(folder.path()).remove(0);
    cache.find(key().with(Part::Source, "another")).unwrap().keep().unwrap();
    let second = entries(folder.path()).into_iter().find(|path| *path != first).unwrap();
    std::fs::copy(&first, &second).unwrap();
    let found = cache.find(key().with(Part::Source, "another")).unwrap();
    assert_eq!(
        (found.statistics().miss, found.is_checked()),
        (Some(Miss::Differs(vec![Part::Source])), false)
    );
}

#[test]
fn what_was_used_least_recently_goes_when_the_bound_is_reached() {
    let folder = folder();
    let cache = cache(&folder);
    let of = |n: u32| PlanKey::new(&format!("p{n}.pto"), SOURCE, &[], &CompileOptions::default());
    cache.find(of(0)).unwrap().keep().unwrap();
    let path = entries(folder.path()).remove(0);
    let bytes = std::fs::metadata(&path).unwrap().len();
    // What others have put there is neither counted nor removed.
    let foreign = folder.path().join("cache/foreign.plan");
    std::fs::File::create(&foreign).unwrap().set_len(100 * bytes).unwrap();
    let bounded = cache.clone().with_most_bytes(3 * bytes + bytes / 2);
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    let is_of = |path: &Path, n: u32| path.to_string_lossy().contains(&format!("p{n}_"));
    let set = |n: u32, seconds: u64| {
        let path = entries(folder.path()).into_iter().find(|path| is_of(path, n)).unwrap();
        let time = long_ago + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    };
    for n in 1..3 {
        bounded.find(of(n)).unwrap().keep().unwrap();
        set(n, u64::from(n));
    }
    set(0, 3);
    // A hit is a use: the entry that was written first stays, that which was used before goes.
    assert_eq!(bounded.find(of(1)).unwrap().found(), "hit");
    bounded.find(of(3)).unwrap().keep().unwrap();
    let there = |n: u32| entries(folder.path()).iter().any(|path| is_of(path, n));
    assert_eq!([0, 1, 2, 3].map(there), [true, true, false, true]);
    assert!(foreign.exists());
    // An entry that is too large for the bound is not written.
    let small = cache.with_most_bytes(10);
    assert_eq!(small.find(of(9)).unwrap().keep().unwrap_err().code, CACHE_ENTRY);
    assert!(!there(9) && there(1));
}

#[test]
fn two_that_write_one_entry_at_the_same_time_leave_a_whole_one() {
    let folder = folder();
    let cache = cache(&folder);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let found = cache.find(key()).unwrap();
                    assert!(matches!(found.statistics().miss, None | Some(Miss::New)), "{}", found.found());
                    cache.keep(&key(), &found.entry()).unwrap();
                }
            });
        }
    });
    assert_eq!(cache.find(key()).unwrap().found(), "hit");
    assert_eq!(entries(folder.path()).len(), 1);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_and_one_that_goes_is_a_note() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::File::create(&file).unwrap();
    for (path, help) in [
        (file.clone(), "give a folder, or a name that is free"),
        (folder.path().join("none/within"), "make the folder around it first"),
    ] {
        let fault = PlanCache::open(&path).unwrap_err();
        assert_eq!((fault.code, fault.help.join("")), (NO_CACHE, help.to_owned()), "{}", path.display());
    }
    let found = cache(&folder).find(key()).unwrap();
    std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
    assert_eq!(found.keep().unwrap_err().code, CACHE_ENTRY);
}

#[test]
fn a_copied_entry_of_another_program_is_no_entry_of_this_one() {
    let folder = folder();
    let cache = cache(&folder);
    cache.find(key()).unwrap().keep_checked().unwrap();
    let first = entries(folder.path()).remove(0);
    // Both names look alike in the names of entries.
    let other = || PlanKey::new("twice_pto", SOURCE, &[], &CompileOptions::default());
    cache.find(other()).unwrap().keep().unwrap();
    let second = entries(folder.path()).into_iter().find(|path| *path != first).unwrap();
    std::fs::copy(&first, &second).unwrap();
    let found = cache.find(other()).unwrap();
    assert_eq!((found.statistics().miss, found.is_checked()), (Some(Miss::New), false));
}

#[cfg(unix)]
mod of_others {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    fn set(path: &Path, mode: u32) {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn refused<T: std::fmt::Debug>(got: Result<T, Diagnostic>, says: &str) {
        let fault = got.expect_err(says);
        assert!(fault.code == NO_CACHE && fault.message.contains(says), "{fault:?}");
    }

    #[test]
    fn entries_are_for_their_owner_and_those_that_others_may_write_to_are_refused() {
        let folder = folder();
        let cache = cache(&folder);
        cache.find(key()).unwrap().keep().unwrap();
        let (path, entry) = (folder.path().join("cache"), entries(folder.path()).remove(0));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&entry), mode(&path)), (0o600, 0o700));
        for open in [0o777, 0o775, 0o702] {
            set(&path, open);
            refused(PlanCache::open(&path), "others may write to");
        }
        set(&path, 0o755);
        assert!(PlanCache::open(&path).is_ok());
        for open in [0o666, 0o660, 0o602] {
            set(&entry, open);
            refused(cache.find(key()), "others may write to");
        }
        set(&entry, 0o644);
        assert_eq!(cache.find(key()).unwrap().found(), "hit");
    }

    #[test]
    fn a_folder_and_an_entry_of_another_user_are_refused() {
        // Root alone can give a file to another user.
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let folder = folder();
        let cache = cache(&folder);
        cache.find(key()).unwrap().keep().unwrap();
        let (path, entry) = (folder.path().join("cache"), entries(folder.path()).remove(0));
        chown(&entry, Some(1), None).unwrap();
        refused(cache.find(key()), "belongs to user 1");
        chown(&path, Some(1), None).unwrap();
        refused(PlanCache::open(&path), "belongs to user 1");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_is_there_and_takes_no_files_is_not_told_to_be_made() {
        let fault = PlanCache::open(Path::new("/proc")).unwrap_err();
        assert!(!fault.help.join("").contains("around it"), "{fault:?}");
    }
}
