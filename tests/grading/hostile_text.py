"""Text that a learner may write and that must stay text, in formgrader and in feedback."""

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "[click](javascript:alert(1)) [again][a]\n\n[a]: javascript:alert(1)",
    "<javascript:alert(1)> <https://tracker.example/>",
    "![picture](https://tracker.example/pixel.png)",
    "</code></pre><script>alert(1)</script>",
    "```\n<script>alert(1)</script>\n```\n<script>alert(1)</script>",
    "`````\n~~~~~\n<script>alert(1)</script>",
    "\u2424```````\u2424<script>alert(1)</script>",
    "\r```````\r<script>alert(1)</script>\x0c\x85\u2028<script>alert(1)</script>",
    "$$ \\href{javascript:alert(1)}{x} $$ \\begin{a}<script>alert(1)</script>\\end{a}",
    "\n\n$$\n</pre><script>alert(1)</script>\n$$",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<!--><img src=x onerror=alert(1)>--> <![CDATA[<img src=x onerror=alert(1)>]]>",
    "<math><mtext><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=a()&gt;'>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;alert(1)&#60;/script&#62;",
    "<style>@import url(https://tracker.example/x.css)</style><p style='background:url(//t.org)'>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a><base href='https://tracker.org/'>",
    "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07 \x1b[31m<script>alert(1)</script>",
    "{{ resources }} {% raw %} </textarea></title></style></script><script>alert(1)</script>",
]
EVERYTHING = "\n\n".join(HOSTILE)
