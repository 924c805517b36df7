"""Grade notebooks that may have been written by anybody: ``course grade``.

Reading order: ``submission``, ``exercise``, ``transplant`` for what was handed in;
``library_view``, ``wire``, ``jail``, ``worker`` for running it; ``item_run``, ``grade``,
``class_run`` for the results; ``class_marks``, ``exports``, ``report_page`` and ``similarity`` for
what an instructor does with them.
"""
