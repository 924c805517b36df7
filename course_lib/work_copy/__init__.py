"""A learner's own copy of the course: ``folders`` says where it is, ``merge`` merges a notebook of
a new release into the learner's, ``update`` is what the commands do with all of them.
"""
