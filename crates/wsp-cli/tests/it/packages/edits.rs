//! Packages whose files were edited.

use super::TWO_KERNELS;
use crate::command::{Folder, ended, run};
use std::collections::BTreeMap;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Changes bytes: one, a piece that is gone, one that is there twice.
    fn edit(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let end = (at + 1 + self.below(40)).min(bytes.len());
        match self.below(4) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.insert(at, b" 01,\"}\n"[self.below(7)]),
            _ => drop(bytes.splice(at..at, bytes[at..end].to_vec()).count()),
        }
    }
}

#[test]
fn a_package_that_was_edited_anywhere_is_known() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let args = ["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at("p")];
    let (code, out, err) = run(&args);
    assert_eq!(code, 0, "{err}");
    let paths: Vec<String> = out.lines().map(|path| path.replace(&folder.at("p/"), "")).collect();
    let files: BTreeMap<&str, Vec<u8>> =
        paths.iter().map(|path| (&**path, std::fs::read(folder.path("p").join(path)).unwrap())).collect();
    let own: Vec<&str> = paths.iter().map(String::as_str).filter(|path| !path.contains('/')).collect();
    let manifest = wsp_backend::MANIFEST;
    let known = wsp_backend::intact(&files[manifest], &mut |path| files.get(path).cloned()).unwrap();
    assert_eq!(known.len() + 1, files.len());
    let cases = std::env::var("WSP_CASES").map_or(200, |cases| cases.parse::<u64>().unwrap());
    println!("{cases} edits");
    for case in 0..cases {
        let mut random = Random(case + 1);
        // Half of the edits are in the manifest, most others in tables.
        let path = match random.below(8) {
            0..4 => manifest,
            4..7 => own[random.below(own.len())],
            _ => &*paths[random.below(paths.len())],
        };
        let mut bytes = files[path].clone();
        (0..=random.below(3)).for_each(|_| random.edit(&mut bytes));
        let edited = bytes != files[path];
        let of = |name: &str| if name == path { Some(bytes.clone()) } else { files.get(name).cloned() };
        let found = wsp_backend::intact(&of(manifest).unwrap(), &mut |name| of(name));
        assert_eq!(found.err().as_deref(), edited.then_some(path), "edit {case}");
    }
}

/// Code of generators, which every AICPU interprets, trusts no word.
#[test]
fn code_of_generators_that_was_edited_ends() {
    let folder = Folder::with(&[("edits.cpp", include_str!("edits.cpp"))]);
    let args = ["emit", "examples/decode_attention.pto", "--target", "a2", "--generate", "len=7"];
    let (code, _, err) = run(&[&args[..], &["--expand", "bytecode", "-o", &folder.at("p")]].concat());
    assert_eq!(code, 0, "{err}");
    // Loops that do not end are found sooner.
    let header = folder.path("p/include/pto/wsp/backend/npu/on_device_gen.hpp");
    let text = std::fs::read_to_string(&header).unwrap();
    assert!(text.contains("= 20000000000;"));
    std::fs::write(&header, text.replace("= 20000000000;", "= 200;")).unwrap();
    let mut compile = std::process::Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    compile.current_dir(folder.path("")).args(["-std=c++17", "-O0", "-Ip", "-Ip/include", "edits.cpp"]);
    compile.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", "edits"]);
    let (code, _, err) = ended(compile);
    assert_eq!(code, 0, "{err}");
    let cases = std::env::var("WSP_CASES").map_or(2_000, |cases| cases.parse::<u32>().unwrap());
    let mut edits = std::process::Command::new(folder.path("edits"));
    edits.arg(cases.to_string());
    let (code, out, err) = ended(edits);
    assert_eq!((code, out), (0, format!("{cases} codes with edits, ended or trapped\n")), "{err}");
    println!("{cases} edits of code");
}
