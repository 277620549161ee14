"""Machine models are TOML as any reader takes it."""

from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")

MODELS = sorted((Path(__file__).parents[2] / "crates" / "wsp-plan" / "models").glob("*.toml"))


def test_there_is_a_model_of_each_machine() -> None:
    assert [path.stem for path in MODELS] == ["ascend_910b", "ascend_910c", "ascend_950", "cpu"]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_are_tables_of_words_and_figures(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert document["model"]["name"] == path.stem
    lists = [value if isinstance(value, list) else [value] for value in document.values()]
    tables = [table for tables in lists for table in tables]
    figures = [of for table in tables for of in table.values() if not isinstance(of, str)]
    assert len(figures) > 40
    for figure in figures:
        assert set(figure) == {"value", "unit", "mark", "source"}
        assert figure["value"] >= 0 and figure["source"]
        assert figure["mark"] in {"measured", "stated", "assumed"}
