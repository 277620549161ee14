//! Folders that files are written to: what stands there, and what is left where they are not.

use super::TWO_KERNELS;
use crate::command::{Folder, run};
use std::os::unix::fs::symlink;

/// Every entry below a folder, with the bytes of files.
fn tree(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let all = std::fs::read_dir(folder).into_iter().flatten();
    for path in all.map(|entry| entry.unwrap().path()) {
        let bytes = std::fs::read(&path).unwrap_or_default();
        if path.is_dir() && !path.is_symlink() {
            found.extend(tree(&path));
        }
        found.push((path, bytes));
    }
    found.sort();
    found
}

#[test]
fn what_is_no_package_as_it_was_written_stays_as_it_is() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    std::fs::create_dir(folder.path("kept")).unwrap();
    let to = folder.at("p");
    let emit =
        |more: &[&str]| run(&[&["emit", &folder.at("two.pto"), "--target", "a2", "-o", &to], more].concat());
    let refused = |word: &str| {
        let before = tree(&folder.path(""));
        let (code, out, err) = emit(&[]);
        assert!(code == 1 && out.is_empty() && err.contains(word), "{word}: {err}");
        assert_eq!(err.matches("error").count(), 1, "{err}");
        assert!(tree(&folder.path("")) == before, "{word}");
    };
    assert_eq!(emit(&[]).0, 0);
    // A file beside those of the package, wherever it lies.
    std::fs::write(folder.path("p/kernels/mine.cpp"), "mine").unwrap();
    refused("holds `kernels/mine.cpp` beside a package");
    std::fs::remove_file(folder.path("p/kernels/mine.cpp")).unwrap();
    // A link in place of a file with the same text, of a folder, and of one that a build would make.
    let kernel = folder.path("p/kernels/attn_kernel.cpp");
    std::fs::rename(&kernel, folder.path("kept/attn.cpp")).unwrap();
    symlink(folder.path("kept/attn.cpp"), &kernel).unwrap();
    refused("kernels/attn_kernel.cpp` is a link");
    std::fs::remove_file(&kernel).unwrap();
    std::fs::rename(folder.path("kept/attn.cpp"), &kernel).unwrap();
    std::fs::rename(folder.path("p/kernels"), folder.path("kept/kernels")).unwrap();
    symlink(folder.path("kept/kernels"), folder.path("p/kernels")).unwrap();
    refused("kernels` is a link");
    std::fs::remove_dir_all(folder.path("p")).unwrap();
    std::fs::create_dir(folder.path("p")).unwrap();
    symlink(folder.path("kept/nothing.cpp"), folder.path("p/main.cpp")).unwrap();
    refused("main.cpp` is a link");
    std::fs::remove_dir_all(folder.path("p")).unwrap();
    // The folder itself may be one, to one that is there.
    symlink(folder.path("kept/none"), folder.path("p")).unwrap();
    refused("is a link to");
    std::fs::remove_file(folder.path("p")).unwrap();
    symlink(folder.path("kept/new"), folder.path("p")).unwrap();
    std::fs::create_dir(folder.path("kept/new")).unwrap();
    assert_eq!(emit(&[]).0, 0);
    assert!(folder.path("kept/new/main.cpp").is_file());
}

/// Nothing is left beside a folder that is written, nor of one that cannot be.
#[test]
fn a_new_folder_is_there_whole_or_not_at_all() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let emit = |to: &str| run(&["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at(to)]);
    assert_eq!(emit("new/in/p/").0, 0);
    let names = |within: &str| {
        let all = std::fs::read_dir(folder.path(within)).unwrap();
        all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names("new/in"), ["p"]);
    // A file is in the way, and one is longer than files may be.
    let before = tree(&folder.path(""));
    let (code, out, err) = emit("two.pto/p");
    assert!(code == 2 && out.is_empty() && err.contains("two.pto` is a file"), "{err}");
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\"", crate::command::program(), "emit"]);
    limited.arg(folder.path("two.pto")).args(["--target", "a2", "-o"]).arg(folder.path("made/p"));
    let (code, out, err) = crate::command::ended(limited);
    assert!(code == 1 && out.is_empty() && err.contains("WSP0509"), "{err}");
    assert!(tree(&folder.path("")) == before);
}

#[test]
fn kernels_are_not_written_into_a_package() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let (file, to) = (folder.at("two.pto"), folder.at("p"));
    let emit = |stage: &str| run(&["emit", &file, "--target", "a2", "--stage", stage, "-o", &to]);
    assert_eq!(emit("package").0, 0);
    let before = tree(&folder.path("p"));
    let (code, out, err) = emit("kernels");
    assert!(code == 1 && out.is_empty() && err.contains("holds a package"), "{err}");
    assert!(tree(&folder.path("p")) == before);
    assert_eq!(emit("package").0, 0);
}

#[test]
fn kernels_that_were_edited_are_not_written_over() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let to = folder.at("k");
    let args = ["emit", &folder.at("two.pto"), "--target", "a2", "--stage", "kernels", "-o", &to];
    assert_eq!(run(&args).0, 0);
    assert_eq!(run(&args).0, 0, "the same text again");
    // Of another source, or for another target, they are.
    assert_eq!(run(&["emit", &folder.at("two.pto"), "--target", "a5", "--stage", "kernels", "-o", &to]).0, 0);
    let text = folder.read("k/mlp_kernel.cpp");
    std::fs::write(folder.path("k/mlp_kernel.cpp"), text.replacen("TRELU", "TABS", 1)).unwrap();
    let before = tree(&folder.path("k"));
    let (code, out, err) = run(&args);
    assert!(code == 1 && out.is_empty(), "{err}");
    assert!(err.contains("mlp_kernel.cpp` is there, and is not as `wsp emit` wrote it"), "{err}");
    assert!(tree(&folder.path("k")) == before);
}
