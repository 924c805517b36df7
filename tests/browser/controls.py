"""Operates every control of a figure with keys, and tells which ones do not answer."""

import time
from functools import partial

# Everything that can be operated, is seen, and is not switched off. A folded part opens by itself.
CONTROLS = """(root) => [...root.querySelectorAll("input, select, textarea, button")]
  .filter((c) => !c.disabled && !c.closest("[aria-hidden=true]")
    && (c.checkVisibility() || c.closest("label")?.checkVisibility()))"""
# What a reader sees or hears change, but for the words of a widget whose Python does not answer.
UNANSWERED = "No answer from Python yet"
SEEN = """(root) => JSON.stringify([
  [...root.querySelectorAll("img")].map((i) => [i.src.length, i.src.slice(-90), i.alt]),
  [...root.querySelectorAll("[role=status], [role=alert], [aria-live], [data-state], [data-step]")]
    .map((n) => [n.closest("[data-state], [data-step]") ? "" : n.textContent.replace(IGNORED, ""),
      n.dataset.state, n.dataset.step, n.dataset.focus])])"""
# A radio button or tab that is pressed already, and a list of one.
CHOSEN = """(c) => (c.type === "radio" && c.checked) || c.ariaSelected === "true"
  || (c.type === "select-one" && c.options.length < 2)"""
DESCRIBE = "(c) => c.outerHTML.slice(0, 160)"
ARROWS = {"range": ("ArrowRight", "ArrowLeft"), "select-one": ("ArrowDown", "ArrowUp")}
AT_ITS_END = """(c) => c.type === "range"
  ? Number(c.value) >= Number(c.max) : c.selectedIndex === c.options.length - 1"""


def dead_controls(page, root, *, patience=10.0, typed="hund .", told=False):
    """The controls that did not answer within so many seconds, as HTML; and how many there are.

    Args:
        page: the page.
        root: a locator of the figure.
        patience: seconds to wait for an answer.
        typed: what is typed into boxes of text.
        told: whether words that Python does not answer are an answer, too.
    """
    saved = []

    def save(download):
        saved.append(download)

    page.on("download", save)
    element = root.element_handle()
    seen = SEEN.replace("IGNORED", f"/{UNANSWERED}.*/")
    listed = page.evaluate_handle(CONTROLS, element)
    count = page.evaluate("(all) => all.length", listed)
    dead = []
    for number in range(count):
        # A control may have replaced the others: look again.
        listed = page.evaluate_handle(CONTROLS, element)
        control = page.evaluate_handle("([all, n]) => all[n] ?? null", [listed, number])
        control = control.as_element()
        if control is None or control.evaluate(CHOSEN):
            continue
        described = control.evaluate(DESCRIBE)
        before = page.evaluate(seen, element), len(saved)

        def changed(before=before):
            if told and UNANSWERED in root.inner_text():
                return True
            return (page.evaluate(seen, element), len(saved)) != before

        for act in _actions(page, control, typed):
            act()
            if _within(page, patience, changed):
                break
        else:
            dead.append(described)
    page.remove_listener("download", save)
    return dead, count


def operate_first(page, root, *, typed="hund ."):
    """Operate a figure's first control, if it has one, and don't wait for an answer."""
    listed = page.evaluate_handle(CONTROLS, root.element_handle())
    control = page.evaluate_handle("(all) => all[0] ?? null", listed).as_element()
    if control is not None:
        _actions(page, control, typed)[0]()


def _actions(page, control, typed):
    """Ways to operate a control with keys alone, first the one that moves it for certain."""
    kind = control.evaluate("(c) => c.type")

    def press(*keys):
        control.focus()
        for key in keys:
            page.keyboard.press(key)

    def fill():
        control.fill(typed)
        control.press("Enter")

    if kind in ("range", "select-one"):
        further, back = ARROWS[kind]
        keys = (back, further) if control.evaluate(AT_ITS_END) else (further, back)
        return [partial(press, key) for key in keys]
    if kind in ("text", "textarea"):
        return [fill]
    return [lambda: press("Space" if kind in ("checkbox", "radio") else "Enter")]


def _within(page, patience, changed):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if changed():
            return True
        page.wait_for_timeout(50)
    return False
