"""Raw features to model inputs: grey pixels in 0..1 and the class number."""

from __future__ import annotations

from pipeline.tasks import images

SIDE = 28  # pixels


def preprocessing_fn(inputs: dict) -> dict:
    """Return `image` float32 [batch, 28, 28, 1] and `label` int64 [batch]."""
    return {"image": images.decode(inputs["image"], SIDE, SIDE), "label": images.digit(inputs["label"])}
