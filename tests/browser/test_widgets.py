"""The widgets that Python redraws, moved with real keys in a live notebook."""

from tests.browser.lab import run

SOURCE = """import torch
from course_lib.viz import attention_widget, explore, plot_curves
def draw(depth=3, norm="post"):
    ax = plot_curves({norm: [0.0, depth]}, x_label="x", y_label="y", title=norm)
    return ax, f"A line up to {depth} with {norm}-norm."
explore(draw, depth=(1, 9), norm=["pre", "post"])"""
ATTENTION = """attention_widget(torch.eye(3).repeat(2, 4, 1, 1), ["a", "b", "c"])"""


def words(page, number):
    return page.locator(".jp-OutputArea-output [role=status]").nth(number)


def picture(page, number):
    return page.locator(".jp-OutputArea-output img").nth(number).get_attribute("src")


def test_sliders_and_dropdowns_redraw_the_picture_and_its_words(lab, open_lab):
    lab.write("widgets.ipynb", [(SOURCE, []), (ATTENTION, [])])
    page = open_lab("widgets.ipynb", kernel=True)
    run(page)
    words(page, 1).wait_for()
    assert words(page, 0).inner_text() == "A line up to 3 with post-norm."
    before = picture(page, 0)
    page.locator(".noUi-handle").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=A line up to 4 with post-norm.")
    assert picture(page, 0) != before
    page.locator(".jp-OutputArea-output select").first.select_option("pre")
    page.wait_for_selector("text=A line up to 4 with pre-norm.")
    assert "Heatmap of 3 queries by 3 keys" in words(page, 1).inner_text()
    page.locator(".jp-OutputArea-output select").last.select_option(index=2)
    page.wait_for_selector("text='b' reads most: 'b' 1.00")
    assert page.locator("text=Error displaying widget").count() == 0
