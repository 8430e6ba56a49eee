from wm.datasets.wording import reason, shown


def test_long_lists_of_names_are_cut():
    assert shown(["a", "b"]) == "'a', 'b'"
    assert shown([str(number) for number in range(784)]).endswith("'9', ... (784 in all)")


def test_a_reason_is_one_line_and_never_empty():
    assert reason(ValueError("two\r\n  lines\n")) == "two lines"
    assert reason(TimeoutError()) == "TimeoutError"
