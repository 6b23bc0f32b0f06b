"""What the forkserver imports once, so that each killed run starts at once."""

from pipeline import environment

environment.prepare()

import apache_beam  # noqa: E402, F401
import tensorflow as tf  # noqa: E402, F401
import tensorflow_transform.beam  # noqa: E402, F401
from tfx.orchestration.portable import launcher  # noqa: E402, F401
