"""The scenarios that every interface of Selkie runs."""

from pathlib import Path

import pytest
import scenario

SCENARIOS = sorted(scenario.FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda it: it.stem)
def test_scenario(path: Path) -> None:
    described = scenario.read(path)
    runner = scenario.Runner(described)
    for index, step in enumerate(described["steps"]):
        print("step", index)
        runner.run(step)


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 5
