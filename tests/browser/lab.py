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

from course_lib.lab import JUPYTER_CONFIG, WORKSPACE

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
        return f"http://127.0.0.1:{self.port}/lab/workspaces/{WORKSPACE}/tree/{name}"

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
    """What axe-core finds serious or critical in a part of the page: rule → the first element."""
    page.evaluate(axe)
    page.evaluate(ONE_OF_EACH_COLOUR)
    found = page.evaluate(
        "async (selector) => (await axe.run(selector, {resultTypes: ['violations']})).violations",
        selector,
    )
    return {
        violation["id"]: violation["nodes"][0]["html"][:300]
        for violation in found
        if violation["impact"] in ("serious", "critical")
    }
