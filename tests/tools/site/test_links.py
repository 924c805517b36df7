import pytest

from tools.site.links import broken_links


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("b.html", []),
        ("b.html#here", []),
        ("sub/c.html#caf%C3%A9", []),
        ("sub/c.html#%22-%C2%B1", []),
        ("#top", []),
        ("https://example.org/nothing", []),
        ("missing.html", ["a.html: there is no missing.html"]),
        ("b.html#there", ["a.html: there is no anchor b.html#there"]),
        ("#bottom", ["a.html: there is no anchor #bottom"]),
        ("sub", ["a.html: there is no sub"]),
    ],
)
def test_a_link_that_leads_nowhere_is_named(tmp_path, link, broken):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(f'<p id="top"><a href="{link}">x</a><a href="#">y</a>')
    (tmp_path / "b.html").write_text('<p id="here"><script>"<a href=no.html>"</script>')
    (tmp_path / "sub" / "c.html").write_text('<p id="café"><p id="%22-%C2%B1">', "utf-8")
    assert broken_links(tmp_path) == broken
