"""Loads the Python files of the examples, which lie outside every package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(path: str) -> ModuleType:
    """The module in the file at ``path`` below the folder of examples, under the name of the file."""
    file = EXAMPLES / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # a dataclass looks its module up while it is made
    spec.loader.exec_module(module)
    return module
