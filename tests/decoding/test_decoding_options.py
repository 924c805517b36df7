import math
from dataclasses import asdict

import pytest

from course_lib.decoding import Decoding
from course_lib.errors import CourseError


def test_options_survive_being_written_down():
    for decoding in (
        Decoding(),
        Decoding("beam", width=6, length_penalty=0.0),
        Decoding("sample", temperature=0.5, top_k=9, top_p=1.0, seed=-3),
    ):
        assert Decoding(**asdict(decoding)) == decoding


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be a positive whole number of hypotheses, got 0"),
        ({"width": 10**6}, "width must be at most 10,000 hypotheses, got 1,000,000: memory"),
        ({"length_penalty": -1.0}, "length_penalty must be finite and not negative, got -1.0"),
        ({"length_penalty": 2000.0}, "length_penalty must be at most 100, got 2000.0: from 2"),
        ({"length_penalty": math.inf}, "length_penalty must be finite and not negative, got inf"),
        ({"temperature": 0.0}, "temperature must be positive and finite, got 0.0: .*greedily"),
        ({"temperature": math.nan}, "temperature must be positive and finite, got nan"),
        ({"temperature": math.inf}, "temperature must be positive and finite, got inf"),
        ({"top_k": 0}, "top_k must be a positive whole number of tokens, or None for all, got 0"),
        ({"top_p": 0.0}, r"must lie in \(0, 1\], or be None for all, got 0.0"),
        ({"top_p": 1.5}, r"must lie in \(0, 1\], or be None for all, got 1.5"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(options, message):
    method = "beam" if {"width", "length_penalty"} & set(options) else "sample"
    with pytest.raises(CourseError, match=message):
        Decoding(method, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "beans"}, "method must be one of 'greedy', 'beam', 'sample', got 'beans'"),
        ({"width": True}, "width must be a positive whole number of hypotheses, got True"),
        ({"top_k": 2.5}, "top_k must be a positive whole number of tokens, .* got 2.5"),
        ({"seed": 0.5}, "seed must be a whole number, got 0.5"),
    ],
)
def test_a_value_of_another_kind_is_refused(own_messages, options, message):
    with pytest.raises(CourseError, match=message):
        Decoding(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"width": 8},
            r"option of the method 'beam', .*'greedy': .* Decoding\('beam', width=8\)\?",
        ),
        ({"method": "beam", "top_k": 5}, "top_k is an option of the method 'sample', got it with"),
        ({"method": "sample", "length_penalty": 1.0}, "length_penalty is an option of the method"),
    ],
)
def test_an_option_that_nobody_would_read_is_refused(options, message):
    with pytest.raises(CourseError, match=message):
        Decoding(**options)
