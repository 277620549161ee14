//! Replacements of packages that were killed, and what killed processes left beside packages.

use super::TWO_KERNELS;
use super::folders::tree;
use crate::command::{Folder, run};

/// A package, and another one whose files lie in it: those from `taken` on, and the manifest, have not taken their places.
struct Halves {
    folder: Folder,
    files: Vec<std::path::PathBuf>,
}

impl Halves {
    fn new() -> Halves {
        let other = TWO_KERNELS.replace("mlp_kernel", "other_kernel").replace("TRELU", "TABS");
        let folder = Folder::with(&[("two.pto", TWO_KERNELS), ("other.pto", &other)]);
        let new = Halves { folder, files: Vec::new() };
        [("two", "two"), ("other", "other")]
            .into_iter()
            .for_each(|(name, to)| assert_eq!(new.emit(name, to).0, 0));
        let root = new.folder.path("other");
        let files = tree(&root).into_iter().map(|(path, _)| path).filter(|path| path.is_file());
        let files = files.map(|path| path.strip_prefix(&root).unwrap().to_owned());
        let files = files.filter(|path| !path.ends_with("manifest.json")).collect();
        Halves { files, ..new }
    }

    fn emit(&self, name: &str, to: &str) -> (i32, String, String) {
        run(&["emit", &self.folder.at(&format!("{name}.pto")), "--target", "a2", "-o", &self.folder.at(to)])
    }

    fn copy(&self, from: &str, to: &str) {
        let mut copy = std::process::Command::new("cp");
        copy.arg("-r").arg(self.folder.path(from)).arg(self.folder.path(to));
        assert!(copy.status().unwrap().success());
    }

    /// A folder as a process leaves it that is killed, with the files of a package.
    fn left(&self, from: &str, to: &str) {
        std::fs::create_dir_all(self.folder.path(to)).unwrap();
        self.copy(from, &format!("{to}/.wsp-files"));
    }

    /// As a process leaves it that is killed when so many files have their places.
    fn make(&self, taken: usize) {
        let _ = std::fs::remove_dir_all(self.folder.path("p"));
        self.copy("two", "p");
        self.left("other", "p/.wsp-999999-0.replacement");
        std::fs::create_dir(self.folder.path("p/b")).unwrap();
        [("p/b/CMakeCache.txt", "cmake"), ("p/run", "built")]
            .into_iter()
            .for_each(|(path, text)| std::fs::write(self.folder.path(path), text).unwrap());
        for file in &self.files[..taken] {
            let from = self.folder.path("p/.wsp-999999-0.replacement/.wsp-files").join(file);
            std::fs::rename(from, self.folder.path("p").join(file)).unwrap();
        }
    }
}

#[test]
fn a_replacement_that_was_killed_is_ended_by_the_next_one() {
    let halves = Halves::new();
    let all = halves.files.len();
    let whole = |name: &str| {
        let found = tree(&halves.folder.path("p")).into_iter().filter(|(path, _)| path.is_file());
        let own = |name: &str| [name, "p"].map(|of| halves.folder.path(of));
        let [of, root] = own(name);
        for (path, bytes) in found {
            let path = path.strip_prefix(&root).unwrap();
            let want = std::fs::read(of.join(path)).unwrap_or_else(|_| match path.to_str() {
                Some("b/CMakeCache.txt") => b"cmake".to_vec(),
                Some("run") => b"built".to_vec(),
                _ => panic!("{}", path.display()),
            });
            assert!(bytes == want, "{}", path.display());
        }
    };
    for taken in [0, 1, 2, all / 2, all - 1, all] {
        for name in ["two", "other"] {
            halves.make(taken);
            let (code, _, err) = halves.emit(name, "p");
            assert_eq!((code, err.as_str()), (0, ""), "{taken}");
            whole(name);
            assert!(
                halves.folder.path("p/run").is_file() && halves.folder.path("p/b/CMakeCache.txt").is_file()
            );
        }
    }
    // One that had not begun to take places goes.
    halves.make(0);
    std::fs::remove_file(halves.folder.path("p/.wsp-999999-0.replacement/.wsp-files/manifest.json")).unwrap();
    assert_eq!(halves.emit("two", "p").0, 0);
    whole("two");
}

#[test]
fn a_replacement_that_was_killed_spares_what_was_edited_since() {
    let halves = Halves::new();
    for name in ["main.cpp", "manifest.json", "orchestration.cpp", "kernels/mlp_kernel.cpp"] {
        for taken in [1, halves.files.len()] {
            halves.make(taken);
            let path = halves.folder.path("p").join(name);
            let text = std::fs::read(&path).unwrap();
            std::fs::write(&path, [&text[..], b"// mine\n"].concat()).unwrap();
            let before = tree(&halves.folder.path("p"));
            let (code, out, err) = halves.emit("other", "p");
            assert!(code == 1 && out.is_empty() && err.contains("was edited or removed"), "{name}: {err}");
            assert!(tree(&halves.folder.path("p")) == before, "{name}");
            // As it was it is taken for what it is.
            std::fs::write(&path, text).unwrap();
            let (code, _, err) = halves.emit("other", "p");
            assert_eq!((code, err.as_str()), (0, ""), "{name}");
        }
    }
}

/// What is to become a folder of its own has another name than what is to replace files.
#[test]
fn a_package_that_was_begun_beside_is_not_spread_over_the_folder() {
    let halves = Halves::new();
    for name in ["out/notes.txt", "out/a/main.cpp"] {
        let file = halves.folder.path(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "mine").unwrap();
        halves.left("other", "out/.wsp-999999-0.partial");
        let before = tree(&halves.folder.path("out"));
        let (code, out, err) = halves.emit("other", "out");
        assert!(code == 1 && out.is_empty() && err.contains("and no package"), "{name}: {err}");
        assert!(tree(&halves.folder.path("out")) == before, "{name}");
        assert_eq!(halves.emit("other", "out/p").0, 0, "{name}");
        assert!(!halves.folder.path("out/.wsp-999999-0.partial").exists());
        std::fs::remove_dir_all(halves.folder.path("out")).unwrap();
    }
}

/// A folder in it is no reason to take away what the rest of its files are in.
#[test]
fn the_first_package_of_a_folder_that_was_killed_can_be_ended() {
    let halves = Halves::new();
    let make = || {
        halves.copy("other", "p");
        halves.left("other", "p/.wsp-999999-0.replacement");
        let left = tree(&halves.folder.path("p")).into_iter().map(|(path, _)| path);
        let root = halves.folder.path("p");
        let files: Vec<_> = left.filter(|path| path.is_file() && path.parent() == Some(&root)).collect();
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    };
    make();
    assert_eq!(halves.emit("two", "p/sub").0, 0);
    let (code, _, err) = halves.emit("other", "p");
    assert!(code == 1 && err.contains("holds `sub` beside a package"), "{err}");
    std::fs::remove_dir_all(halves.folder.path("p/sub")).unwrap();
    let (code, _, err) = halves.emit("two", "p");
    assert_eq!((code, err.as_str()), (0, ""));
    let files = |name: &str| {
        let root = halves.folder.path(name);
        let all = tree(&root).into_iter();
        all.map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes)).collect::<Vec<_>>()
    };
    assert!(files("p") == files("two"));
}

/// Their names are those of folders of processes, and what they hold is not.
#[test]
fn folders_of_the_user_stay_whatever_their_names() {
    let halves = Halves::new();
    let mine = ["two/.wsp-777-0.partial", "two/.wsp-777-0.replacement", "two/kernels/.wsp-777-1.partial"];
    for name in ["two", "other"] {
        for folder in mine {
            std::fs::create_dir_all(halves.folder.path(folder).join(".wsp-files")).unwrap();
            std::fs::write(halves.folder.path(folder).join("notes.txt"), "mine").unwrap();
        }
        let left = "two/kernels/.wsp-777-2.partial";
        halves.left("other", left);
        let (code, _, err) = halves.emit(name, "two");
        assert_eq!((code, err.as_str()), (0, ""), "{name}");
        assert!(!halves.folder.path(left).exists(), "{name}");
        for folder in mine {
            let notes = std::fs::read_to_string(halves.folder.path(folder).join("notes.txt")).unwrap();
            assert_eq!(notes, "mine", "{folder}");
        }
    }
    // A file that a process of another version left is none of the user; one of another name is.
    std::fs::write(halves.folder.path("two/.wsp-777-3.partial"), "begun").unwrap();
    assert_eq!(halves.emit("two", "two").0, 0);
    std::fs::write(halves.folder.path("two/.wsp-notes.partial"), "mine").unwrap();
    let (code, _, err) = halves.emit("two", "two");
    assert!(code == 1 && err.contains("holds `.wsp-notes.partial` beside a package"), "{err}");
}
