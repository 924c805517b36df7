"""Grade notebooks that may have been written by anybody: ``course grade``.

Reading order: ``submission``, ``exercise``, ``transplant`` for what was handed in;
``library_view``, ``wire``, ``jail``, ``worker`` for running it; ``item_run``, ``grade``,
``class_run`` for the marks.
"""
