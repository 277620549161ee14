#!/usr/bin/env python3
"""Installs what the peers of the benchmark `decode` need: `python3 benches/peers/decode/install.py [FOLDER]`.

FOLDER, by default `target/peers/decode`, becomes a virtual environment with the packages of
`requirements.txt`, and gets llama.cpp's CPU kernels, built for this machine from the sources that the package
llama-cpp-python carries. That takes a C++ compiler, the package index and some minutes. What is there already
stays. Ends with 1 if something is missing, and says what. PyTorch is not installed, because its usual wheel
is half a gigabyte.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: The package whose sources hold llama.cpp's kernels, and where.
LLAMA_CPP = "llama-cpp-python==0.3.36"
SOURCES = "/vendor/llama.cpp/ggml/"
#: Libraries that are built.
LIBRARIES = ("ggml-base", "ggml-cpu")
#: How they are built: for this machine, each finding the other beside it.
OPTIONS = (
    "-GNinja",
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=ON",
    "-DGGML_NATIVE=ON",
    "-DGGML_BUILD_TESTS=OFF",
    "-DGGML_BUILD_EXAMPLES=OFF",
    "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
    "-DCMAKE_INSTALL_RPATH=$ORIGIN",
)


def run(*command: str | Path) -> None:
    """Runs a command and shows what it says only if it fails."""
    parts = [str(part) for part in command]
    done = subprocess.run(parts, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        raise RuntimeError("\n  ".join([f"`{' '.join(parts)}` failed:", *lines[-5:]]))


def packages(folder: Path) -> None:
    """The virtual environment and what pip installs into it."""
    if not (folder / "bin/python").exists():
        venv.create(folder, with_pip=True)
    pip = [folder / "bin/python", "-m", "pip", "install", "--disable-pip-version-check"]
    run(*pip, "-r", HERE / "requirements.txt")


def llama_cpp(folder: Path) -> None:
    """llama.cpp's CPU kernels as shared libraries."""
    kept = folder / "ggml"
    if (kept / "version").is_file() and (kept / "version").read_text().strip() == LLAMA_CPP:
        return
    if shutil.which("c++") is None:
        raise RuntimeError("there is no C++ compiler (Debian: `apt install g++`)")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pip = [folder / "bin/python", "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"]
        run(*pip, "--no-binary", "llama-cpp-python", "-d", work, LLAMA_CPP)
        source = unpacked(next(work.glob("*.tar.gz")), work)
        tools = folder / "bin"
        made = f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"
        run(tools / "cmake", "-S", source, "-B", work / "build", *OPTIONS, made)
        jobs = str(max(1, os.cpu_count() or 1))
        run(tools / "cmake", "--build", work / "build", "-j", jobs, "--target", *LIBRARIES)
        kept.mkdir(exist_ok=True)
        for library in (work / "build").glob("**/libggml-*.so*"):
            shutil.copy(library, kept / library.name)
    (kept / "version").write_text(LLAMA_CPP + "\n")


def unpacked(archive: Path, work: Path) -> Path:
    """The folder with the sources of the kernels, out of the archive of a package."""
    with tarfile.open(archive) as files:
        wanted = [member for member in files.getmembers() if SOURCES in member.name and member.isfile()]
        for member in wanted:
            target = work / "source" / member.name.split(SOURCES, 1)[1]
            if not target.resolve().is_relative_to((work / "source").resolve()):
                raise RuntimeError(f"{archive.name} holds {member.name}, which lies outside of it")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(files.extractfile(member).read())
    # A template that the archive leaves out and that only an installation would need.
    (work / "source/ggml.pc.in").touch()
    return work / "source"


def main() -> int:
    """Installs one thing after the other; a failure of one does not stop the next."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[2] / "target/peers/decode").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    missing = 0
    for name, step in (("onnxruntime and numpy", packages), ("llama.cpp", llama_cpp)):
        print(f"installing {name} into {folder}", flush=True)
        try:
            step(folder)
        except (OSError, RuntimeError, subprocess.SubprocessError, tarfile.TarError, StopIteration) as fault:
            print(f"{name}: missing: {fault}", flush=True)
            missing += 1
    print(f"torch: not installed; `{folder / 'bin/python'} -m pip install torch` fetches 0.5 GB")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
