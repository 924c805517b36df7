"""Items of lesson 14: six bugs that were published, from five systems.

Attention: ``museum_attention``. What a program holds on to: ``museum_state``. What goes in and
comes out: ``museum_words``.
"""

from course_lib.checks.museum_attention import mask_in_another_order as mask_in_another_order
from course_lib.checks.museum_attention import root_of_the_wrong_width as root_of_the_wrong_width
from course_lib.checks.museum_state import best_that_goes_on as best_that_goes_on
from course_lib.checks.museum_state import places_left_behind as places_left_behind
from course_lib.checks.museum_words import last_of_all_sentences as last_of_all_sentences
from course_lib.checks.museum_words import lines_that_slip as lines_that_slip
