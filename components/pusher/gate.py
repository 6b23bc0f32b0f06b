"""What a model has to have passed before it is pushed."""

from __future__ import annotations


def refusal(model_blessed: bool | None, infra_blessed: bool | None, edge_passed: bool | None) -> str:
    """Return why a model may not be pushed, or an empty string.

    Args:
        model_blessed: verdict of the Evaluator; None where the pipeline has none.
        infra_blessed: verdict of the InfraValidator; None where the pipeline has none.
        edge_passed: verdict of the EdgeEvaluator; None where the pipeline has none.
    """
    verdicts = {
        "the Evaluator did not bless the model": model_blessed,
        "the InfraValidator did not bless the model": infra_blessed,
        "a quantized model did not pass the EdgeEvaluator": edge_passed,
    }
    return "; ".join(reason for reason, verdict in verdicts.items() if verdict is False)
