"""The widgets that Python redraws, moved with real keys in a live notebook."""

from tests.browser.lab import run

SOURCE = """import time
from course_lib.viz import interact, live_training_widget, plot_curves
def draw(depth=3, norm="post"):
    ax = plot_curves({norm: [0.0, depth]}, x_label="x", y_label="y", title=norm)
    return ax, f"A line up to {depth} with {norm}-norm."
interact(draw, depth=(1, 9), norm=["pre", "post"])"""
TRAINING = """def train(lr, momentum, seed):
    for step in range(1, 7):
        time.sleep(0.5 * (seed > 0))
        yield [lr] * step, "done" if step == 6 else ""
live_training_widget(train, steps=6)"""


def words(page, number):
    return page.locator(".jp-OutputArea-output div[role=status]:not(.lm-Widget)").nth(number)


def picture(page, number):
    return page.locator(".jp-OutputArea-output img").nth(number).get_attribute("src")


def test_sliders_and_dropdowns_redraw_the_picture_and_its_words(lab, open_lab):
    lab.write("widgets.ipynb", [(SOURCE, []), (TRAINING, [])])
    page = open_lab("widgets.ipynb", kernel=True)
    run(page)
    words(page, 1).wait_for()
    assert words(page, 0).inner_text() == "A line up to 3 with post-norm."
    before = picture(page, 0)
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=A line up to 4 with post-norm.")
    assert picture(page, 0) != before
    page.locator("input[type=range]").first.dispatch_event("change")  # as when a drag is let go
    page.wait_for_timeout(3500)
    assert page.locator("text=No answer from Python yet").count() == 0
    page.locator(".jp-OutputArea-output select").first.select_option("pre")
    page.wait_for_selector("text=A line up to 4 with pre-norm.")
    assert "after 6 steps the loss is 0.03. Model output: done" in words(page, 1).inner_text()
    page.locator("input[type=range]").last.focus()
    page.keyboard.press("ArrowRight")
    for step in (2, 5):  # seen while the kernel still trains
        page.wait_for_selector(f"text=seed 1: after {step} steps the loss is 0.03.")
    page.wait_for_selector("text=Model output: done")
    assert page.locator("text=Error displaying widget").count() == 0
