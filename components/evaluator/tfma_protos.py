"""TFMA's protos without TFMA, whose package imports nltk, scipy and IPython: half of the Evaluator's time."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from types import ModuleType

PACKAGE = "tensorflow_model_analysis"


@functools.cache
def tfma_proto(name: str) -> ModuleType:
    """Return the module `tensorflow_model_analysis.proto.<name>`; the package itself is left for others to import."""
    absent = PACKAGE not in sys.modules
    if absent:  # a package that knows where it lies, its body not run
        sys.modules[PACKAGE] = importlib.util.module_from_spec(importlib.util.find_spec(PACKAGE))
    try:
        return importlib.import_module(f"{PACKAGE}.proto.{name}")
    finally:
        if absent:
            del sys.modules[PACKAGE]
