"""Every widget of a lesson, and quizzes, moved with real keys and clicks in a live JupyterLab."""

from tests.browser.lab import lay_out, run, serious_violations, set_theme

HEAD = """import torch
from course_lib import viz
from course_lib.data import bucket
from course_lib.model import Transformer, TransformerConfig
from course_lib.training import inverse_sqrt_lr, warmup_cosine_lr
from course_lib.viz import Branch
torch.manual_seed(0)
small = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 2}
model = Transformer(TransformerConfig(source_vocab=9, target_vocab=9, **small)).eval()
def search(sentence, width, length_penalty):
    first = [Branch((word,), 0.5 / n) for n, word in enumerate(["i", *"bcde"], 1)]
    best = ("i", "<eos>") if length_penalty < 1 else ("i", "am", "<eos>")
    more = [Branch(best[:n], 0.5, "ended" if n == len(best) else "kept") for n in (2, len(best))]
    return first[:width] + more[-(len(best) - 1):], best
def train(lr, momentum, seed):
    yield [lr / (step + 1) + 0.01 * seed for step in range(9)], "done"
"""
# name → the call, and how its first control is moved: "slider", "tick", "select" or typed text
WIDGETS = {
    "01-positions": ("viz.positions_widget()", "slider"),
    "03-depth": ("viz.depth_widget()", "slider"),
    "04-steps": ("viz.attention_steps_widget(*torch.randn(3, 4, 8), list('abcd'))", "select"),
    "05-einsum": ("viz.einsum_widget()", "ij,jk->ik"),
    "06-masks": ("viz.mask_widget()", "we like tea / yes"),
    "07-blocks": (
        "viz.block_widget(model, torch.tensor([[4, 5]]), torch.tensor([[1, 6]]))",
        "tick",
    ),
    "08-config": ("viz.config_widget()", "any"),
    "09-batches": ("viz.batch_widget([3, 9, 4, 8, 5, 7] * 4, bucket)", "slider"),
    "10-live-training": ("viz.live_training_widget(train, steps=9, floor=0.1)", "any"),
    "11-schedules": (
        "viz.schedule_widget({'paper': inverse_sqrt_lr, 'cosine': warmup_cosine_lr})",
        "slider",
    ),
    "12-beams": ("viz.beam_widget(search, ['Mir ist kalt.'])", "any"),
}
CHANGED = """([n, picture, words]) => {
  const outputs = document.querySelectorAll(".jp-OutputArea-output:has(img)");
  const status = outputs[n].querySelector("div[role=status]:not(.lm-Widget)").innerText;
  return outputs[n].querySelector("img").src != picture && status != words;
}"""
QUIZ = """viz.quiz("Which sums to 1?", ["query", "key <b>", "both"], "b", "Softmax: $d=1$.")"""
SHAPE = """viz.predict_shape("What comes out?", (2, 5, 9), "A row a query.", code="q @ k.mT")"""


def move(page, output, how):
    """One move of the first control of a kind."""
    slider, chosen = output.locator("input[type=range]").first, output.locator("select").first
    if how in ("slider", "any") and slider.count():
        slider.focus()
        page.keyboard.press("ArrowRight")
    elif how in ("select", "any") and chosen.count():
        options = chosen.locator("option").all_inner_texts()
        now = chosen.evaluate("(select) => select.selectedIndex")
        chosen.select_option(index=(now + 1) % len(options))
    elif how in ("tick", "any"):
        output.locator("input[type=checkbox]").first.click()
    else:
        typed = output.locator("input[type=text]").first
        typed.fill(how)
        typed.press("Enter")


def test_every_widget_answers_and_is_accessible_in_both_themes(lab, open_lab, axe, take_screenshot):
    lab.write("all.ipynb", [(HEAD, []), *((call, []) for call, _ in WIDGETS.values())])
    page = open_lab("all.ipynb", kernel=True)
    set_theme(page, "light")
    page.set_viewport_size({"width": 1300, "height": 9000})
    run(page)
    page.locator(".jp-OutputArea-output img").nth(len(WIDGETS) - 1).wait_for()
    outputs = page.locator(".jp-OutputArea-output:has(img)")
    take_screenshot(page, "widgets-light-before")
    for number, (_, how) in enumerate(WIDGETS.values()):
        output = outputs.nth(number)
        before = output.locator("img").get_attribute("src")
        words = output.locator("div[role=status]:not(.lm-Widget)").inner_text()
        move(page, output, how)
        page.wait_for_function(CHANGED, arg=[number, before, words])
    assert page.locator("text=Error displaying widget").count() == 0
    for theme in ("light", "dark"):
        set_theme(page, theme)
        lay_out(page)
        take_screenshot(page, f"widgets-{theme}-after")
        assert serious_violations(page, axe, ".jp-OutputArea-output:has(img)") == {}, theme


def test_a_quiz_is_answered_with_the_keyboard_in_both_themes(lab, open_lab, axe):
    lab.write("quiz.ipynb", [(HEAD, []), (QUIZ, []), (SHAPE, [])])
    page = open_lab("quiz.ipynb", kernel=True)
    run(page, [0])
    for theme in ("light", "dark"):
        set_theme(page, theme)
        run(page, [1, 2])
        answer_both(page)
        lay_out(page)
        assert serious_violations(page, axe, ".jp-OutputArea-output") == {}, theme


def answer_both(page):
    """The quiz and the shape, wrong first, with keys alone."""
    page.get_by_role("button", name="a query").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=status] >> text=a) is not right")
    assert page.locator("details .course-why").first.is_visible() is False  # not given away
    page.keyboard.press("Tab")
    cells = page.locator(".jp-Cell").count()
    page.keyboard.type("abdd")  # JupyterLab's keys for cells
    assert page.locator(".jp-Cell").count() == cells
    page.keyboard.press("Space")
    page.wait_for_selector("[role=status] >> text=b) is right")
    assert page.locator("[role=status] .course-why").first.inner_text().startswith("Softmax")
    box = page.get_by_label("shape")
    for typed, verdict in (
        ("B, <b>T", "This is not a shape"),
        ("(2, 9, 5)", "in another order"),
        ("2 5 9", "(2, 5, 9) is right"),
    ):
        box.fill(typed)
        box.press("Enter")
        page.wait_for_selector(f"[role=status] >> text={verdict}")
