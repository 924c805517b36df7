"""JupyterLab for the browser tests: started, told to open a notebook, asked what it shows."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import nbformat

from course_lib.lab import ENTRANCE, JUPYTER_CONFIG

START = 300  # seconds that the server may take


@dataclass
class Lab:
    """A server, its folder, and where it keeps which notebooks are trusted, and layouts."""

    folder: Path
    data: Path
    workspaces: Path
    port: int

    def address(self, name):
        return f"http://127.0.0.1:{self.port}/lab/tree/{name}?reset"

    def address_of_a_learner(self, name):
        """Where `course lab` opens a notebook."""
        return f"http://127.0.0.1:{self.port}/{ENTRANCE}/{name}"

    def write(self, name, cells, *, trusted=False):
        """Store a notebook of code cells: (source, outputs)."""
        notebook = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            cells=[
                nbformat.v4.new_code_cell(source, outputs=outputs, execution_count=number)
                for number, (source, outputs) in enumerate(cells, 1)
            ],
        )
        nbformat.write(notebook, self.folder / name)
        if trusted:
            environment = os.environ | {"JUPYTER_DATA_DIR": str(self.data)}
            command = [sys.executable, "-m", "jupyter", "trust", str(self.folder / name)]
            subprocess.run(command, check=True, env=environment, capture_output=True)

    def end_sessions(self):
        """Stop all kernels: each notebook gets one of its own."""
        root = f"http://127.0.0.1:{self.port}/api/sessions"
        with urllib.request.urlopen(root) as answer:
            sessions = json.load(answer)
        for session in sessions:
            request = urllib.request.Request(f"{root}/{session['id']}", method="DELETE")
            urllib.request.urlopen(request).close()


@contextmanager
def start_lab(folder):
    """A server that only this machine can reach, stopped in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = Lab(folder / "notebooks", folder / "data", folder / "workspaces", port)
    lab.folder.mkdir()
    environment = os.environ | {
        "JUPYTER_DATA_DIR": str(lab.data),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_CONFIG_PATH": str(JUPYTER_CONFIG),
        "JUPYTERLAB_WORKSPACES_DIR": str(lab.workspaces),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    arguments = f"""--no-browser --allow-root --expose-app-in-browser --ServerApp.port={port}
        --ServerApp.port_retries=0 --IdentityProvider.token= --ServerApp.disable_check_xsrf=True
        --ServerApp.root_dir={lab.folder}""".split()
    with (folder / "server.log").open("w") as log:
        command = [sys.executable, "-m", "jupyter", "lab", *arguments]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait(lab, server, folder / "server.log")
            yield lab
            lab.end_sessions()
        finally:
            server.terminate()
            try:
                server.wait(START)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(lab, server, log):
    end = time.monotonic() + START
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{lab.port}/api").close()
            return
        except (URLError, ConnectionError):
            if server.poll() is not None:
                break
            time.sleep(0.3)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


def wait_until_open(page, *, kernel):
    """Until the notebook is there and, if asked, its kernel is ready."""
    page.wait_for_function("window.jupyterapp?.restored")
    page.evaluate(
        """async (kernel) => {
          const app = window.jupyterapp;
          await app.restored;
          const pause = () => new Promise((done) => setTimeout(done, 100));
          while (!app.shell.currentWidget?.context) await pause();
          const { context, sessionContext } = app.shell.currentWidget;
          await context.ready;
          await sessionContext.ready;
          while (kernel && sessionContext.session?.kernel?.status !== "idle") await pause();
        }""",
        kernel,
    )


def without_kernel(page):
    """Stop the notebook's kernel and say that there is none."""
    return page.evaluate(
        """async () => {
          const { sessionContext } = window.jupyterapp.shell.currentWidget;
          await sessionContext.shutdown();
          return sessionContext.session?.kernel == null;
        }"""
    )


def run(page, cells=None):
    """Run all cells, or those of the given numbers, one after the other, to their end."""
    page.evaluate(
        """async (cells) => {
          const app = window.jupyterapp, { content } = app.shell.currentWidget;
          if (!cells) return void (await app.commands.execute("notebook:run-all-cells"));
          for (const cell of cells) {
            content.activeCellIndex = cell;
            await app.commands.execute("notebook:run-cell");
          }
        }""",
        cells,
    )


def output_text(page, cell):
    """What a cell has printed or returned, or the message of its error."""
    return page.evaluate(
        """(cell) => window.jupyterapp.shell.currentWidget.content.widgets[cell].model.outputs
          .toJSON().flatMap((output) =>
            output.text ?? output.data?.["text/plain"] ?? output.evalue ?? ""
          ).join("")""",
        cell,
    )


# JupyterLab's body has no height and hides what overflows, which a browser applies to the window
# instead. axe-core takes it literally: all that is in it counts as hidden, and has no contrast.
BODY_AS_HIGH_AS_THE_WINDOW = "html, body { height: 100%; }"
# JupyterLab puts cells into the page when they come into sight, or when it has time.
RENDER_ALL = """async () => {
  const app = window.jupyterapp, { content } = app.shell.currentWidget;
  for (const what of ["expand-all-headings", "show-all-cell-outputs"])
    await app.commands.execute(`notebook:${what}`);
  content.widgets.forEach((cell, index) => {
    if (!cell.isPlaceholder()) return;
    cell.dataset.windowedListIndex = String(index);
    content.layout.insertWidget(index, cell);
  });
}"""
HEIGHT = """() => document.querySelector(".jp-NotebookPanel:not(.lm-mod-hidden)"
  + " .jp-WindowedPanel-viewport").offsetHeight"""


def lay_out(page):
    """All cells of the notebook in a window as high as they are, so that axe-core sees them all."""
    page.add_style_tag(content=BODY_AS_HIGH_AS_THE_WINDOW)
    page.evaluate(RENDER_ALL)
    page.wait_for_timeout(500)
    width, height = page.viewport_size["width"], 0
    while height < (needed := page.evaluate(HEIGHT) + 300):  # pictures may load late
        height = needed
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(500)


def set_theme(page, theme):
    """A theme of JupyterLab, "light" or "dark", once nothing covers the page any more."""
    name = f"JupyterLab {theme.title()}"
    change = "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    page.evaluate(change, name)
    changed = "(theme) => document.body.dataset.jpThemeName === theme"
    page.wait_for_function(changed, arg=name)
    page.wait_for_selector("#jupyterlab-splash", state="detached")


# Code has thousands of coloured words, which take axe-core four fifths of its time: one of each
# colour is enough.
ONE_OF_EACH_COLOUR = """() => {
  const seen = new Set();
  for (const word of document.querySelectorAll(".highlight pre span")) {
    if (seen.has(word.className)) word.replaceWith(...word.childNodes);
    seen.add(word.className);
  }
}"""


def serious_violations(page, axe, selector="html"):
    """What axe-core finds serious or critical in a part of the page: rule → the first element.

    The part has text, so its contrast must have been judged.
    """
    page.evaluate(axe)
    page.evaluate(ONE_OF_EACH_COLOUR)
    found = page.evaluate(
        """async (selector) => {
          const { violations, passes } = await axe.run(selector, { resultTypes: ["violations"] });
          return { violations, judged: [...violations, ...passes].map((rule) => rule.id) };
        }""",
        selector,
    )
    assert "color-contrast" in found["judged"], (
        "axe-core could not judge any contrast: call lay_out"
    )
    return {
        violation["id"]: violation["nodes"][0]["html"][:300]
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    }
