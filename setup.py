"""Package metadata. `make setup` installs headrace, editable, beside the locked versions of the machine's stack."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (ROOT / "pipeline/__init__.py").read_text(), re.MULTILINE)[1]

setup(
    name="headrace",
    version=VERSION,
    description="From a table or a folder of images to a served, quantized, evaluated TensorFlow model, in one command",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    # no install_requires: requirements/<stack>.lock is the one list of dependencies, ranges here would argue with it
    packages=find_namespace_packages(include=["pipeline", "pipeline.*", "components", "components.*"]),
    package_dir={"": "."},  # makes the editable install a plain path entry: no import hook, so a faster start
    package_data={"pipeline": ["tasks/*/*.yaml", "config/environments/*.yaml", "report/templates/*"]},
    entry_points={"console_scripts": ["headrace = pipeline.cli:main"]},
)
