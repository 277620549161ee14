//! Folders that files are written to: what stands there, and what is left where they are not.

use super::TWO_KERNELS;
use crate::command::{Folder, run};
use std::os::unix::fs::symlink;

/// Every entry below a folder, with the bytes of files.
pub(super) fn tree(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
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

#[test]
fn a_name_that_ends_in_two_dots_spares_what_stands_there() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS), ("main.cpp", "mine"), ("CMakeLists.txt", "mine")]);
    let before = tree(&folder.path(""));
    for to in ["none/..", "none/in/../.."] {
        let args = ["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at(to)];
        let (code, out, err) = run(&args);
        assert!(code == 1 && out.is_empty() && err.contains("and no package"), "{to}: {err}");
        assert!(err.contains("give a folder that is empty") && !err.contains("remove"), "{to}: {err}");
        assert!(tree(&folder.path("")) == before, "{to}");
    }
    let mut nameless = crate::command::wsp(&["emit", "two.pto", "--target", "a2", "-o", ""]);
    nameless.current_dir(folder.path(""));
    let (code, out, err) = crate::command::ended(nameless);
    assert!(code != 0 && out.is_empty() && err.contains("-o"), "{err}");
    assert!(tree(&folder.path("")) == before);
}

/// A process holds what it has begun; what one left that was killed is removed by the next.
#[test]
fn a_folder_that_another_process_has_begun_stays() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let names = [".wsp-999999-0.partial", ".wsp-999999-1.partial", ".wsp-notes.partial", ".wsp-9-.partial"];
    let all = names.map(|name| folder.path(name));
    for path in &all {
        std::fs::create_dir_all(path.join(".wsp-files")).unwrap();
        std::fs::write(path.join(".wsp-files/main.cpp"), "begun").unwrap();
    }
    let held = std::fs::File::open(&all[0]).unwrap();
    held.lock().unwrap();
    let (code, _, err) = run(&["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(folder.path("p/main.cpp").is_file());
    assert_eq!(all.map(|path| path.join(".wsp-files/main.cpp").exists()), [true, false, true, true]);
}

#[test]
fn nothing_is_written_inside_a_package() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let emit = |to: &str, more: &[&str]| {
        let mut command = crate::command::wsp(&["emit", "../two.pto", "--target", "a2", "-o", to]);
        command.current_dir(folder.path("at")).args(more);
        crate::command::ended(command)
    };
    std::fs::create_dir(folder.path("at")).unwrap();
    assert_eq!(emit("../pk", &[]).0, 0);
    let before = tree(&folder.path(""));
    for (to, more) in [
        ("../pk/host", &["--stage", "kernels"][..]),
        ("../pk/new/in", &["--stage", "kernels"]),
        ("../pk/", &["--stage", "kernels"]),
        ("../pk/sub", &[]),
    ] {
        let (code, out, err) = emit(to, more);
        assert!(code == 1 && out.is_empty(), "{to}: {err}");
        assert!(err.contains("pk` holds a package, to which these files do not belong"), "{to}: {err}");
        assert!(err.contains("pk_new`"), "{to}: {err}");
        assert!(tree(&folder.path("")) == before, "{to}");
    }
    assert_eq!(emit("../pk", &[]).0, 0);
}

#[test]
fn processes_that_write_one_folder_at_once_all_succeed() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    for to in ["first", "second"] {
        let args = ["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at(to)];
        let start = |_| {
            let mut command = crate::command::wsp(&args);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        };
        let started: Vec<_> = (0..6).map(start).collect();
        for child in started {
            let ended = child.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        assert_eq!(run(&args).0, 0, "the package is as it was written");
    }
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["first", "second", "two.pto"]);
}

#[test]
fn links_that_lead_to_no_folder_are_named() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    symlink("none", folder.path("dangling")).unwrap();
    symlink("dangling", folder.path("second")).unwrap();
    symlink("ring", folder.path("ring")).unwrap();
    let before = tree(&folder.path(""));
    for (to, message, help) in [
        ("dangling/sub", "dangling` is a link to", "mkdir -p"),
        ("second", "/none`, which is not there", "/none`"),
        ("ring", "ring` is a link that leads to no folder", "remove the link"),
        ("ring/sub", "ring` is a link that leads to no folder", "remove the link"),
    ] {
        let (code, out, err) = run(&["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at(to)]);
        assert!(code == 1 && out.is_empty() && err.contains(message) && err.contains(help), "{to}: {err}");
        assert!(tree(&folder.path("")) == before, "{to}");
    }
}

#[test]
fn a_pipe_in_place_of_a_file_is_not_opened() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let (file, to) = (folder.at("two.pto"), folder.at("p"));
    for (stage, name, word) in [
        ("package", "main.cpp", "whose file `main.cpp` was edited or removed"),
        ("package", "manifest.json", "and no package"),
        ("kernels", "mlp_kernel.cpp", "mlp_kernel.cpp` is there, and is not as"),
    ] {
        let args = ["emit", &file, "--target", "a2", "--stage", stage, "-o", &to];
        assert_eq!(run(&args).0, 0, "{name}");
        let pipe = folder.path("p").join(name);
        std::fs::remove_file(&pipe).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (code, out, err) = run(&args);
        assert!(code == 1 && out.is_empty() && err.contains(word), "{name}: {err}");
        std::fs::remove_dir_all(folder.path("p")).unwrap();
    }
}

/// To open a pipe is to wait, and behind the name of a file a `/` leads nowhere.
#[test]
fn a_file_with_a_slash_behind_it_is_a_file() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS), ("file", "mine")]);
    assert!(std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    for name in ["file/", "pipe/", "file", "pipe", "pipe//", "file/in"] {
        let (code, out, err) =
            run(&["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at(name)]);
        let bare = folder.at(&name[..4]);
        let what = if name.starts_with("pipe") { "no folder" } else { "a file" };
        let want = format!("`{bare}` is {what}: ");
        assert!(code == 2 && out.is_empty() && err.contains(&want), "{name}: {err}");
    }
}

#[test]
fn folders_that_are_not_needed_do_not_stay() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let emit = |to: &str| run(&["emit", &folder.at("two.pto"), "--target", "a2", "-o", &folder.at(to)]);
    let (code, _, err) = emit("q/../r");
    assert_eq!(code, 0, "{err}");
    assert!(folder.path("r/main.cpp").is_file() && !folder.path("q").exists());
}

#[test]
fn folders_around_a_relative_path_are_made() {
    let folder = Folder::with(&[("two.pto", TWO_KERNELS)]);
    let emit = |to: &str, stage: &str| {
        let args = ["emit", "two.pto", "--target", "a2", "--stage", stage, "-o", to];
        let mut command = crate::command::wsp(&args);
        command.current_dir(folder.path(""));
        crate::command::ended(command)
    };
    for (to, stage, file) in [
        ("out/in/p", "package", "out/in/p/main.cpp"),
        ("kernels/k", "kernels", "kernels/k/mlp_kernel.cpp"),
        ("q/../r", "package", "r/main.cpp"),
        ("./dot/p", "package", "dot/p/main.cpp"),
    ] {
        let (code, _, err) = emit(to, stage);
        assert!(code == 0 && folder.path(file).is_file(), "{to}: {err}");
    }
    assert!(!folder.path("q").exists());
}

/// Names of C++ have no underscore at their end.
#[test]
fn kernels_whose_names_are_one_in_cpp_get_two() {
    let named = |name: &str| {
        let source = TWO_KERNELS.replace("attn_kernel", "k").replace("mlp_kernel", name);
        let folder = Folder::with(&[("k.pto", &source)]);
        let (code, _, err) = run(&["emit", &folder.at("k.pto"), "--target", "a2", "-o", &folder.at("p")]);
        (code, err, folder)
    };
    let (code, err, folder) = named("k_");
    assert_eq!(code, 0, "{err}");
    assert!(["p/kernels/k.cpp", "p/kernels/k_n2.cpp"].iter().all(|file| folder.path(file).is_file()));
    let check = "#include \"kernel_ids.h\"\nstatic_assert(K_TASK != K_N2_TASK);\n";
    std::fs::write(folder.path("p/check.cpp"), check).unwrap();
    super::beside::compile(&folder.path("p"), &["-fsyntax-only", "-I.", "-Iinclude", "-Ihost", "check.cpp"]);
    let (code, err, _) = named("K");
    assert!(code == 1 && err.contains("kernel `k` and kernel `K` have one name in C++: `K_TASK`"), "{err}");
}

/// Parts of a kernel have its name with a number behind it, and other kernels may be called so, and macros of `math.h`.
#[test]
fn names_in_cpp_are_apart_from_those_of_parts_and_of_others() {
    let pair = "TADDS(t, t, 1.0f); RightTile<float, 64, 64> w; TLOAD(w, x, {0, 0}); VecTile<float, 16, 64> o; \
        TMATMUL(o, t, w); TADDS(o, o, 1.0f); TSTORE(y, o, {d.at, 0});";
    let copy = "TSTORE(y, t, {d.at, 0});";
    let program = |kernels: &[(&str, &str)]| {
        let mut text = "PTO_SHAPE(x, 64, 64)\nPTO_SHAPE(y, 64, 64)\n".to_owned();
        let mut emits = String::new();
        for (at, (name, body)) in kernels.iter().enumerate() {
            text += &format!(
                "struct D{at} {{ uint32_t at; }};\nPTO_KERNEL_IMPL({name}) {{ auto d = PTO_GET_DESCRIPTOR<D{at}>(); \
                 VecTile<float, 16, 64> t; TLOAD(t, x, {{d.at, 0}}); {body} }}\n"
            );
            emits += &format!("if (r == {at}) {{ PTO_EMIT_DESCRIPTOR(D{at}{{ .at = r * 16 }}); }} ");
        }
        text + "PTO_SPACE(P) { PTO_AXIS(r, 0, 4) }\nPTO_DESCRIPTOR_GEN(P) { PTO_SCHEDULED_FOR(r) { "
            + &emits
            + "} }\nvoid go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(P, { .x = x, .y = y }); }\n"
    };
    let parts = program(&[("k", pair), ("k_", copy), ("M_PI", pair)]);
    let several = program(&[("k", copy), ("k_", copy), ("k_2", copy), ("k_n2", copy)]);
    let called = program(&[("k", pair), ("k_2", copy)]);
    let folder = Folder::with(&[("parts.pto", &parts), ("several.pto", &several), ("called.pto", &called)]);
    let emit = |name: &str, stage: &str, to: &str| {
        run(&["emit", &folder.at(name), "--target", "a2", "--stage", stage, "-o", &folder.at(to)])
    };
    for (name, files) in [
        (
            "parts",
            &[
                "M_PI.hpp",
                "M_PI_part0.cpp",
                "M_PI_part1.cpp",
                "M_PI_part2.cpp",
                "k.hpp",
                "k_0.cpp",
                "k_1.cpp",
                "k_2.cpp",
                "k_n2.cpp",
            ][..],
        ),
        ("several", &["k.cpp", "k_2.cpp", "k_n2.cpp", "k_n3.cpp"]),
    ] {
        for (stage, to) in [("package", "p/kernels"), ("kernels", "k")] {
            let (code, _, err) = emit(&format!("{name}.pto"), stage, to.trim_end_matches("/kernels"));
            assert_eq!(code, 0, "{name} {stage}: {err}");
            let mut found: Vec<_> =
                std::fs::read_dir(folder.path(to)).unwrap().map(|one| one.unwrap().file_name()).collect();
            found.sort();
            assert_eq!(found, files, "{stage}");
        }
        let options = ["-fsyntax-only", "-I.", "-Iinclude", "-Ihost", "orchestration.cpp"];
        super::beside::compile(&folder.path("p"), &options);
        ["p", "k"].iter().for_each(|of| std::fs::remove_dir_all(folder.path(of)).unwrap());
    }
    let (code, _, err) = emit("called.pto", "package", "p");
    assert!(code == 1 && err.contains("part `k_2` of kernel `k` and kernel `k_2`"), "{err}");
    assert!(err.contains("parts of a kernel have its name with a number behind it"), "{err}");
}

/// So do fields of descriptors.
#[test]
fn fields_whose_names_are_one_in_cpp_get_two() {
    let kernel = "PTO_SHAPE(x, 64, 64)\nPTO_SHAPE(y, 64, 64)\nstruct D { uint32_t r, r_, r_2, r__; };\n\
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 16, 64> t; TLOAD(t, x, {d.r, 0}); \
        TADDS(t, t, float(d.r_ + d.r_2 + d.r__)); TSTORE(y, t, {d.r, 0}); }\n\
        PTO_SPACE(P) { PTO_AXIS(r, 0, 4) }\nPTO_DESCRIPTOR_GEN(P) { PTO_SCHEDULED_FOR(r) { \
        PTO_EMIT_DESCRIPTOR(D{ .r = r * 16, .r_ = 1, .r_2 = 2, .r__ = 3 }); } }\n\
        void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(P, { .x = x, .y = y }); }\n";
    let folder = Folder::with(&[("k.pto", kernel)]);
    let (code, _, err) = run(&["emit", &folder.at("k.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!(code, 0, "{err}");
    let text = folder.read("p/kernels/k.cpp");
    assert!(
        text.contains("uint32_t desc_r, uint32_t desc_r_n2, uint32_t desc_r_2, uint32_t desc_r_n3"),
        "{text}"
    );
    let options = ["-fsyntax-only", "-I.", "-Iinclude", "-Ihost", "orchestration.cpp"];
    super::beside::compile(&folder.path("p"), &options);
}

/// So do arrays; and a variable of a kernel does not get the name of a macro, as `M_PI_2` is one.
#[test]
fn arrays_and_variables_have_names_of_their_own_in_cpp() {
    let kernel = "PTO_SHAPE(x, 8, 8)\nPTO_SHAPE(x_, 8, 8)\nPTO_SHAPE(y, 8, 8)\nstruct D { uint32_t r; };\n\
        PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 4, 8> t, u; TLOAD(t, x, {d.r, 0}); \
        TLOAD(u, x_, {d.r, 0}); uint32_t M_PI = d.r + 1; TADD(t, t, u); TADDS(t, t, float(M_PI)); TSTORE(y, t, {d.r, 0}); }\n\
        PTO_SPACE(S) { PTO_AXIS(i, 0, 2) }\n\
        PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i) { PTO_EMIT_DESCRIPTOR(D{ .r = i * 4 }); } }\n\
        void go(Tensor<float> x, Tensor<float> x_, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .x_ = x_, .y = y }); }\n";
    let folder = Folder::with(&[("k.pto", kernel)]);
    let (code, _, err) = run(&["emit", &folder.at("k.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!(code, 0, "{err}");
    let text = folder.read("p/kernels/k.cpp");
    assert!(["x_gm", "x_n2_gm", "M_PI_n"].iter().all(|name| text.contains(name)), "{text}");
    let options = ["-fsyntax-only", "-DPTO_PLATFORM=a2", "-DWSP_ONE_FILE", "-I.", "-Iinclude", "-Ihost"];
    super::beside::compile(&folder.path("p"), &[&options[..], &["aicore_dispatch.cpp"]].concat());
}

/// The list of tasks is a macro whose parameter would stand for a kernel of its name.
#[test]
fn a_kernel_may_have_the_name_of_the_parameter_of_a_list() {
    let source = TWO_KERNELS.replace("attn_kernel", "X");
    assert!(source != TWO_KERNELS);
    let check = "#include \"kernel_ids.h\"\nstatic_assert(int(KernelId::X_kernel) == X_TASK);\n";
    let folder = Folder::with(&[("x.pto", &source)]);
    let (code, _, err) = run(&["emit", &folder.at("x.pto"), "--target", "a2", "-o", &folder.at("p")]);
    assert_eq!(code, 0, "{err}");
    std::fs::write(folder.path("p/check.cpp"), check).unwrap();
    super::beside::compile(&folder.path("p"), &["-fsyntax-only", "-I.", "-Iinclude", "-Ihost", "check.cpp"]);
}

/// Kernels are made for one size of each of their tensors.
#[test]
fn launches_of_a_kernel_on_tensors_of_two_sizes_are_refused() {
    let kernels = "PTO_SHAPE(x, rows, 32)\nPTO_SHAPE(y, rows, 32)\n\
        PTO_KERNEL_IMPL(addone, Tensor<float> x, Tensor<float> y) {\n\
            for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {\n\
                VecTile<float, 1, 32> t;\n        TLOAD(t, x, {r});\n        TADDS(t, t, 1.0f);\n        TSTORE(y, t, {r});\n    }\n}\n";
    let unit = |rows: u32| {
        format!(
            "use \"k.pto\"\nextern A: f32[8, 32]\nextern B: f32[{rows}, 32]\nextern C: f32[8, 32]\nextern D: f32[{rows}, 32]\n\
             TG_BEGIN(G)\n  TG_KERNEL(P, addone, 3, AIV, 0)\n  MC_BIND(P, 0, A)\n  MC_BIND(P, 1, C)\n  \
             TG_KERNEL(R, addone, 2, AIV, 0)\n  MC_BIND(R, 0, B)\n  MC_BIND(R, 1, D)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n"
        )
    };
    let folder = Folder::with(&[("k.pto", kernels), ("two.tg", &unit(16)), ("one.tg", &unit(8))]);
    let emit = |name: &str| run(&["emit", &folder.at(name), "--target", "a2", "-o", &folder.at("p")]);
    let (code, out, err) = emit("two.tg");
    assert!(code == 1 && out.is_empty(), "{out}{err}");
    assert!(
        err.contains("`x` of the kernels is `A`, 1024 bytes, in one launch and `B`, 2048 bytes, in another"),
        "{err}"
    );
    let (code, _, err) = emit("one.tg");
    assert_eq!(code, 0, "{err}");
}
