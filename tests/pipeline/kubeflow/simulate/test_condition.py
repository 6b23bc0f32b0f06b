import pytest

from pipeline.kubeflow.simulate.condition import Unsupported, check_condition, holds
from pipeline.kubeflow.simulate.model import StepError

VALUES = {"n": 3.0, "word": "heads", "on": True, "digits": "12"}


def value(name):
    return f"inputs.parameter_values['{name}']"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (f"{value('word')} == 'heads'", True),
        (f'{value("word")} != "heads"', False),
        (f"int({value('n')}) >= 3 && {value('on')} == true", True),
        (f"{value('n')} > 3 || {value('n')} < -1", False),
        (f"!({value('n')} > 3 || {value('word')} == 'tails')", True),
        (f"int({value('digits')}) == 12", True),
        (f"string({value('n')}) == '3'", True),
        (f"{value('on')}", True),
    ],
)
def test_a_condition_is_evaluated(condition, expected):
    assert holds(condition, VALUES) is expected
    check_condition(condition)


@pytest.mark.parametrize(
    "condition", [f"{value('n')}", f"{value('none')} == 1", f"{value('word')} > 1", f"int({value('word')}) == 1"]
)
def test_a_condition_that_cannot_be_evaluated_fails_the_step(condition):
    with pytest.raises(StepError, match="evaluation error"):
        holds(condition, VALUES)


@pytest.mark.parametrize(
    "condition",
    ["", "1 ==", "(1 == 1", "1 == 1)", "int 1 == 1", "size('a') == 1", "1 + 1 == 2", "inputs.artifacts['a']"],
)
def test_more_of_cel_is_refused(condition):
    with pytest.raises(Unsupported):
        check_condition(condition)
