"""Finding the one line that matters."""

from components.quantizer.failures import reason


def test_the_last_line_that_names_an_error_is_taken():
    output = "\n".join(
        [
            "2026-11-30 16:00:00.123456: W tensorflow/compiler/mlir/lite/python/x.cc:390] Ignored",
            "loc(fused[\"ReadVariableOp:\"]): error: 'tf.HashTableV2' op is neither a custom op nor a flex op",
            '<unknown>:0: note: loc("x"): called from',
            "error: failed while converting: 'main':",
            "Details:",
            "\ttf.HashTableV2() -> (tensor<!tf_type.resource>)",
        ]
    )
    assert reason(output) == "error: failed while converting: 'main':"


def test_without_an_error_the_last_line_that_is_no_log_line_is_taken():
    assert reason("Segmentation fault\nW0000 00:00:1 cpu.cc] hello\n\n") == "Segmentation fault"
    assert reason("I0000 00:00:1 cpu.cc] hello\n") == ""
