"""The engine that runs programs."""

from __future__ import annotations

import os

VARIABLE = "SELKIE_ENGINE"


def engine_name(engine: str | None) -> str:
    """Return the name of the engine: the one that is given, else that of the environment."""
    return engine or os.environ.get(VARIABLE) or "auto"
