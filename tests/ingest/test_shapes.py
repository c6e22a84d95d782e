"""Shapes that are written are checked: pytest instruments every module that names one."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_module_with_shapes_is_instrumented() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["addopts"]
    (listed,) = [option.partition("=")[2] for option in options if option.startswith("--jaxtyping-packages=")]
    *packages, checker = listed.split(",")
    assert checker == "beartype.beartype"
    modules = {
        "neurothek." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("catalog", "dashboards", "ingest", "queries")
        for path in (ROOT / package).rglob("*.py")
        if "from jaxtyping import" in path.read_text("utf-8")
    }
    assert len(modules) > 80
    covered = {module for module in modules if any(f"{module}.".startswith(f"{package}.") for package in packages)}
    assert modules == covered
    for package in packages:
        assert any(f"{module}.".startswith(f"{package}.") for module in modules), package
