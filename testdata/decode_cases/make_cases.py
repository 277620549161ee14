"""Makes the reference cases of this folder that did not come with it, and checks all of them.

    python -m venv venv && venv/bin/pip install numpy ml_dtypes
    venv/bin/python testdata/decode_cases/make_cases.py          # writes DESCRIBED, OWN and MERGES
    venv/bin/python testdata/decode_cases/make_cases.py --check  # compares every file with what is computed

Results are those of `formula.py`. A file holds lengths, page ids, results and every `meta_` entry that is not
the default of `formula.Problem`; readers take the default where an entry is absent.
"""

import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
from formula import Problem, merge, solve, unit

HERE = Path(__file__).parent
GIVEN = [
    "01_mha_basic",
    "02_gqa4_d128_page1",
    "05_kvlen0",
    "06_page_edges",
    "08_skew",
    "22_split_partials_128",
    "27_tier_edges",
    "28_batch64_ragged",
]
# Largest difference between two f64 computations of one case, relative to the size of the number.
AGREE = 1e-13

# Cases of README.md whose files did not come: (number, name, fields). The seed is 100 + number.
DESCRIBED = [
    (3, "gqa8_bf16", dict(lens=(7, 100, 333), qh=16, h=2, d=64, dtype="bf16")),
    (4, "mqa", dict(lens=(1, 64, 257), qh=8, h=1, d=128)),
    (7, "long_65536", dict(lens=(65536,), qh=2, h=1, d=64, part_chunk=8192)),
    (
        9,
        "soft_cap_30",
        dict(lens=(5, 77, 300), qh=8, h=2, d=64, q_scale=8.0, k_fill_scale=8.0, soft_cap=30.0),
    ),
    (10, "soft_cap_1", dict(lens=(1, 33, 400), qh=4, h=2, d=64, q_scale=4.0, soft_cap=1.0)),
    (11, "window_33", dict(lens=(1, 33, 34, 35, 200), qh=8, h=2, d=64, window_left=33)),
    (12, "window_0", dict(lens=(1, 2, 65, 130), qh=4, h=2, d=64, window_left=0)),
    (13, "alibi_12_heads", dict(lens=(1, 50, 300), qh=12, h=4, d=64, alibi=1)),
    (14, "extreme_negative", dict(lens=(3, 70), qh=4, h=2, d=128, q_const=64.0, k_const=-64.0, v_const=1.0)),
    (15, "logits_1e3", dict(lens=(40, 300), qh=4, h=2, d=64, q_scale=30.0, k_fill_scale=30.0)),
    (16, "rising_max", dict(lens=(100, 700), qh=4, h=1, d=64, q_const=1.0, k_ramp=8.0)),
    (17, "sm_scale_d96", dict(lens=(9, 150), qh=6, h=2, d=96, sm_scale=0.5)),
    (18, "fp8_e4m3", dict(lens=(5, 90, 300), qh=8, h=2, d=128, kv_dtype="f8e4m3", k_scale=0.5, v_scale=2.0)),
    (19, "rope", dict(lens=(1, 60, 500), qh=8, h=2, d=64, rope_theta=1e4)),
    (20, "sinks", dict(lens=(0, 1, 40, 300), qh=8, h=2, d=64, sink=1)),
    (21, "shared_prefix_4", dict(lens=(70, 100, 200), qh=8, h=2, d=64, prefix_pages=4)),
    (23, "d256", dict(lens=(12, 130), qh=4, h=2, d=256)),
    (24, "d80_group3", dict(lens=(8, 99, 210), qh=6, h=2, d=80)),
    (25, "group7_bf16", dict(lens=(20, 260), qh=7, h=1, d=128, dtype="bf16")),
    (26, "q_len_3", dict(lens=(3, 17, 150), qh=8, h=2, d=64, q_len=3)),
    (29, "f32", dict(lens=(1, 65, 300), qh=4, h=2, d=64, dtype="f32")),
    (
        30,
        "soft_cap_50_window_100",
        dict(
            lens=(50, 101, 400),
            qh=4,
            h=2,
            d=128,
            q_scale=8.0,
            k_fill_scale=8.0,
            soft_cap=50.0,
            window_left=100,
        ),
    ),
    (31, "page_64", dict(lens=(63, 64, 65, 300), qh=8, h=2, d=64, page_size=64)),
    (32, "llama3_8b", dict(lens=(100, 531), qh=32, h=8, d=128)),
]

# Cases of our own, by what they are about. The seed is 1000 + number.
OWN = [
    # Head sizes, groups and pages.
    (101, "d64_page1", dict(lens=(1, 63, 64, 65, 200), qh=4, h=4, d=64, page_size=1)),
    (102, "d80_group5_page8_bf16", dict(lens=(7, 8, 9, 150), qh=10, h=2, d=80, page_size=8, dtype="bf16")),
    (103, "d96_group6", dict(lens=(31, 129, 260), qh=6, h=1, d=96)),
    (
        104,
        "d128_group16_page64_bf16",
        dict(lens=(64, 257, 500), qh=16, h=1, d=128, page_size=64, dtype="bf16"),
    ),
    (105, "d256_group2_page1", dict(lens=(3, 128, 300), qh=4, h=2, d=256, page_size=1)),
    (106, "d512_group4_page8", dict(lens=(9, 140), qh=4, h=1, d=512, page_size=8)),
    (107, "d576_group3_page64", dict(lens=(1, 130), qh=3, h=1, d=576, page_size=64)),
    (108, "all_empty", dict(lens=(0, 0, 0), qh=4, h=2, d=64)),
    (109, "empty_batch", dict(lens=(), qh=8, h=2, d=128, page_size=8)),
    (110, "f32_group7_long", dict(lens=(3000, 2), qh=7, h=1, d=64, dtype="f32", page_size=64)),
    (111, "d128_group9_bf16", dict(lens=(17, 600), qh=18, h=2, d=128, dtype="bf16", page_size=8)),
    (112, "d512_group16_bf16", dict(lens=(70,), qh=16, h=1, d=512, dtype="bf16")),
    (113, "empty_between", dict(lens=(0, 300, 0, 0, 1, 0), qh=6, h=2, d=96, page_size=64, dtype="bf16")),
    (114, "ones_batch33", dict(lens=(1,) * 33, qh=2, h=1, d=64, page_size=64)),
    # Soft caps.
    (
        120,
        "cap_20_d80_bf16",
        dict(
            lens=(12, 333),
            qh=6,
            h=2,
            d=80,
            dtype="bf16",
            page_size=8,
            q_scale=6.0,
            k_fill_scale=6.0,
            soft_cap=20.0,
        ),
    ),
    (121, "cap_5_d256", dict(lens=(0, 1, 700), qh=4, h=1, d=256, q_scale=4.0, soft_cap=5.0)),
    # Windows.
    (
        125,
        "window_127_page64",
        dict(lens=(127, 128, 129, 900), qh=8, h=2, d=128, page_size=64, window_left=127),
    ),
    (126, "window_1_page1", dict(lens=(0, 1, 2, 3, 90), qh=4, h=2, d=64, page_size=1, window_left=1)),
    (127, "window_beyond_bf16", dict(lens=(10, 300), qh=4, h=1, d=128, dtype="bf16", window_left=5000)),
    # ALiBi.
    (130, "alibi_8_heads", dict(lens=(0, 2, 600), qh=8, h=1, d=128, alibi=1)),
    (131, "alibi_10_heads_bf16", dict(lens=(33, 3000), qh=10, h=2, d=64, page_size=8, dtype="bf16", alibi=1)),
    # RoPE.
    (135, "rope_5e5_long", dict(lens=(9000, 300), qh=4, h=1, d=128, rope_theta=5e5)),
    (
        136,
        "rope_bf16_page1",
        dict(lens=(0, 1, 129), qh=8, h=2, d=64, page_size=1, dtype="bf16", rope_theta=1e4),
    ),
    (137, "rope_d80", dict(lens=(64, 200), qh=6, h=2, d=80, page_size=64, rope_theta=1e4)),
    # Sinks.
    (140, "sinks_bf16_page64", dict(lens=(0, 65, 1000), qh=8, h=1, d=64, page_size=64, dtype="bf16", sink=1)),
    (141, "sinks_d128_long", dict(lens=(1, 5000), qh=4, h=2, d=128, sink=1)),
    # Eight-bit caches.
    (
        145,
        "e4m3_group8",
        dict(
            lens=(0, 16, 700),
            qh=8,
            h=1,
            d=128,
            kv_dtype="f8e4m3",
            k_fill_scale=4.0,
            k_scale=0.25,
            v_scale=0.5,
        ),
    ),
    (146, "e5m2_d64", dict(lens=(5, 64, 300), qh=8, h=2, d=64, kv_dtype="f8e5m2", k_scale=1.5, v_scale=0.75)),
    (
        147,
        "e4m3_d256_page1_bf16",
        dict(lens=(1, 150), qh=8, h=2, d=256, page_size=1, dtype="bf16", kv_dtype="f8e4m3"),
    ),
    (
        148,
        "e5m2_bf16_page8",
        dict(lens=(40, 260), qh=7, h=1, d=96, page_size=8, dtype="bf16", kv_dtype="f8e5m2", k_scale=0.5),
    ),
    (
        149,
        "e4m3_tiny_and_large",
        dict(
            lens=(300,),
            qh=4,
            h=1,
            d=128,
            kv_dtype="f8e4m3",
            q_scale=0.05,
            k_fill_scale=440.0,
            v_fill_scale=0.02,
            k_scale=0.125,
        ),
    ),
    # Several query tokens.
    (150, "q_len_2", dict(lens=(2, 65, 300), qh=4, h=1, d=128, q_len=2)),
    (151, "q_len_8_group8", dict(lens=(8, 200), qh=8, h=1, d=128, q_len=8)),
    (152, "q_len_5_bf16_page1", dict(lens=(5, 6, 131), qh=6, h=2, d=64, page_size=1, dtype="bf16", q_len=5)),
    (153, "q_len_beyond_kv", dict(lens=(0, 2, 3, 4, 100), qh=4, h=2, d=64, q_len=4)),
    # Pages that requests share, and a prefix for all of them.
    (155, "shared_prefix_16", dict(lens=(256, 257, 300, 300, 700, 20), qh=8, h=2, d=64, prefix_pages=16)),
    (
        156,
        "prefix_1024_page64_bf16",
        dict(lens=(1025, 1100, 1300, 1024), qh=8, h=2, d=128, page_size=64, dtype="bf16", prefix_pages=16),
    ),
    # Multi-head latent attention: values are the first 512 lanes of keys.
    (
        160,
        "mla_16_heads_bf16",
        dict(lens=(1, 64, 300), qh=16, h=1, d=576, dv=512, page_size=64, dtype="bf16", sm_scale=192**-0.5),
    ),
    (161, "mla_page1", dict(lens=(0, 17, 129), qh=8, h=1, d=576, dv=512, page_size=1, sm_scale=192**-0.5)),
    (
        162,
        "mla_32_heads_long",
        dict(lens=(1500,), qh=32, h=1, d=576, dv=512, dtype="bf16", sm_scale=192**-0.5),
    ),
    # Prompts, whole or the rest of one, before decoding requests.
    (164, "rest_of_prompts", dict(lens=(64, 100), qh=4, h=2, d=64, q_len=(40, 3))),
    (165, "prefill_decode", dict(lens=(17, 40, 1, 200, 65), qh=8, h=2, d=64, q_len=(17, 40, 1, 1, 1))),
    (
        166,
        "prefill_decode_bf16_page8",
        dict(lens=(30, 9, 33), qh=4, h=2, d=128, page_size=8, dtype="bf16", q_len=(30, 1, 1)),
    ),
    # Several of these at once.
    (170, "window_alibi", dict(lens=(20, 400), qh=12, h=2, d=64, alibi=1, window_left=64)),
    (
        171,
        "gemma2",
        dict(
            lens=(100, 600),
            qh=8,
            h=4,
            d=256,
            dtype="bf16",
            q_scale=4.0,
            k_fill_scale=4.0,
            soft_cap=50.0,
            window_left=255,
        ),
    ),
    (172, "sinks_window", dict(lens=(0, 50, 400), qh=8, h=1, d=64, dtype="bf16", sink=1, window_left=127)),
    (173, "rope_q_len_4", dict(lens=(4, 300), qh=4, h=1, d=64, q_len=4, rope_theta=1e4)),
    (174, "window_q_len_5", dict(lens=(5, 6, 200), qh=4, h=2, d=64, q_len=5, window_left=3)),
    (
        175,
        "gpt_oss",
        dict(lens=(0, 50, 400), qh=8, h=1, d=64, dtype="bf16", sink=1, window_left=127, rope_theta=1.5e5),
    ),
]

# Merges: (number, name, rows, states, lanes).
MERGES = [(181, "merge_two", 9, 2, 128), (182, "merge_64_states", 5, 64, 80), (183, "merge_one", 4, 1, 512)]


def cases():
    """(file name, problem) of every case that is computed here."""
    for base, group in [(100, DESCRIBED), (1000, OWN)]:
        for number, name, given in group:
            yield f"{number:02}_{name}", Problem(seed=base + number, **given)


def stored(problem):
    """The entries of a case's file."""
    result = solve(problem)
    lists, pages = problem.pages()
    entries = {
        "kv_lens": np.array(problem.lens, np.int32),
        "kv_indptr": np.cumsum([0] + [len(ids) for ids in lists]).astype(np.int32),
        "kv_indices": np.array([page for ids in lists for page in ids], np.int32),
        "kv_last_page_len": np.array(
            [(n - 1) % problem.page_size + 1 if n else 0 for n in problem.lens], np.int32
        ),
        "meta_num_pages": np.int64(pages),
        "meta_max_logit": np.float64(result.pop("max_logit")),
    }
    default = {f.name: f.default for f in fields(Problem)}
    for f in fields(Problem):
        value = getattr(problem, f.name)
        if f.name in ("lens", "table") or value == default[f.name] or value != value:
            continue
        if f.name == "q_len" and not isinstance(value, int):
            entries["q_lens"] = np.array(value, np.int32)
        else:
            entries[f"meta_{f.name}"] = np.array(value)
    entries["meta_sm_scale"] = np.float64(problem.scale())
    entries["meta_kv_dtype"] = np.array(problem.kv_dtype or problem.dtype)
    return (
        entries
        | {"meta_page_size": np.int64(problem.page_size), "meta_dtype": np.array(problem.dtype)}
        | result
    )


def states(number, rows, count, lanes):
    """A merge case: states of very different size, some of them empty."""
    v = unit(1000 + number, 1, 0, rows * count * lanes).reshape(rows, count, lanes).astype(np.float32)
    s = (
        (unit(1000 + number, 2, 0, rows * count) * 12.0)
        .astype(np.float32)
        .astype(np.float64)
        .reshape(rows, count)
    )
    s[0] = -np.inf
    s[1, : count // 2] = -np.inf
    s[2, -1] = 3000.0
    v[np.isinf(s)] = 0.0
    merged, total = merge(v, s)
    return {"v": v, "s_base2": s, "v_merged": merged, "s_merged_base2": total}


def given(name):
    """The problem of a file that came with its results."""
    file = np.load(HERE / f"{name}.npz")
    known = {f.name for f in fields(Problem)}
    meta = {key[5:]: file[key].item() for key in file.files if key[5:] in known and key.startswith("meta_")}
    table = (file["kv_indptr"], list(file["kv_indices"]), int(file["meta_num_pages"]))
    return Problem(lens=tuple(int(n) for n in file["kv_lens"]), table=table, **meta)


def compare(name, have, want):
    """What differs between two sets of entries; entries that only one has are passed over."""
    for key in sorted(set(have) & set(want)):
        a, b = np.asarray(have[key]), np.asarray(want[key])
        if a.shape != b.shape or (a.dtype.kind in "iU" and (a != b).any()):
            yield f"{name}: {key} is {a.dtype}{a.shape}, computed is {b.dtype}{b.shape}, or they differ"
        elif a.dtype.kind == "f":
            # `input_check` holds sums of many numbers.
            allowed = (1e-9 if key == "input_check" else AGREE) * np.maximum(np.abs(b), 1.0)
            with np.errstate(invalid="ignore"):
                far = ~((a == b) | (np.abs(a - b) <= allowed) | (np.isnan(a) & np.isnan(b)))
            if far.any():
                yield f"{name}: {key} differs by {np.abs(a - b)[far].max():.3g}"


def main():
    """Writes or checks."""
    check = "--check" in sys.argv[1:]
    faults, count = [], 0
    if check:
        for name in GIVEN:
            faults += compare(name, np.load(HERE / f"{name}.npz"), solve(given(name)))
            count += 1
        file = np.load(HERE / "40_merge_states.npz")
        merged, total = merge(file["v"], file["s_base2"])
        faults += compare("40", file, {"v_merged": merged, "s_merged_base2": total})
        count += 1
    made = [(name, lambda p=problem: stored(p)) for name, problem in cases()]
    made += [(f"{n}_{name}", lambda n=n, shape=shape: states(n, *shape)) for n, name, *shape in MERGES]
    for name, compute in made:
        path, entries = HERE / f"{name}.npz", compute()
        if check:
            faults += compare(name, np.load(path), entries)
        else:
            np.savez_compressed(path, **entries)
        count += 1
    print("\n".join(faults) or f"{count} cases " + ("agree" if check else "written"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
