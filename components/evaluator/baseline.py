"""Which model a candidate is compared with: the latest blessed one that is not the candidate itself."""

from tfx.dsl.components.common import resolver


class LatestOtherBlessedModel(resolver.ResolverStrategy):
    """Resolve the latest blessed Model with other bytes than the candidate's.

    TFX's LatestBlessedModelStrategy would hand a model that is evaluated again to itself as its own baseline.
    """

    def __init__(self, baseline: str = "latest_blessed"):
        """Take `none` to compare with nothing."""
        self._baseline = baseline

    def resolve_artifacts(self, store, input_dict: dict) -> dict | None:
        """Return the baseline under `baseline_model`, or an empty list when there is none yet."""
        nothing = {key: [] for key in input_dict}
        if self._baseline == "none" or not input_dict.get("candidate"):
            return nothing
        candidate = input_dict["candidate"][0].get_string_custom_property("digest")
        blessings = {
            blessing.get_int_custom_property("current_model_id"): blessing
            for blessing in input_dict.get("blessing", [])
            if blessing.get_int_custom_property("blessed") == 1
        }
        for model in sorted(input_dict.get("baseline_model", []), key=lambda artifact: artifact.id, reverse=True):
            if model.id in blessings and model.get_string_custom_property("digest") != candidate:
                return {**nothing, "baseline_model": [model], "blessing": [blessings[model.id]]}
        return nothing
