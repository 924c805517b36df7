"""How JupyterLab looks when `course lab` opens it, and what it saves."""

import json
import re
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import nbformat
import pytest
from ipykernel.ipkernel import IPythonKernel

from course_lib import lab
from course_lib.widget_output import WIDGET_STATE, WIDGET_VIEW


def test_the_first_layout_is_folded_and_a_learners_own_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path))
    lab.fold_file_browser()
    [path] = tmp_path.iterdir()
    content = json.loads(path.read_text("utf-8"))
    assert content["data"]["layout-restorer:data"]["left"]["collapsed"] is True
    content["data"]["layout-restorer:data"]["left"]["collapsed"] = False
    path.write_text(json.dumps(content), "utf-8")
    lab.fold_file_browser()
    assert json.loads(path.read_text("utf-8")) == content


@pytest.mark.parametrize(
    ("kernel", "named"), [({"name": "python3"}, True), ({"name": "ir"}, False), (None, False)]
)
def test_a_notebook_for_the_courses_kernel_is_opened_with_what_the_kernel_says(kernel, named):
    metadata = {"kernelspec": kernel, "language_info": {"name": "as stored"}}
    content = {"metadata": metadata}
    lab.name_language(content)
    language = content["metadata"]["language_info"]
    assert language == (IPythonKernel.language_info if named else {"name": "as stored"})


@pytest.mark.parametrize("works", [True, False])
def test_the_entrance_is_there_and_notebooks_are_read_if_ipykernel_cannot_be(monkeypatch, works):
    async def read():
        raise AssertionError

    handlers, hooks = [], []
    contents = SimpleNamespace(get=read, register_pre_save_hook=hooks.append)
    web_app = SimpleNamespace(add_handlers=lambda host, added: handlers.extend(added))
    server = SimpleNamespace(contents_manager=contents, base_url="/a+b/", web_app=web_app)
    if not works:
        monkeypatch.setitem(sys.modules, "ipykernel.ipkernel", None)
    with nullcontext() if works else pytest.raises(ImportError):
        lab._load_jupyter_server_extension(server)
    [(pattern, _)] = handlers
    assert re.fullmatch(pattern, "/a+b/course/notebooks/06_masks.ipynb")
    assert hooks == [lab.save_without_widgets] and (contents.get is read) is not works


def test_a_view_is_saved_only_with_its_widget_and_without_html_beside_it():
    view = {"model_id": "1"}
    both = {"text/html": "<p>still</p>", WIDGET_VIEW: view}
    alone = {"text/plain": "IntSlider()", WIDGET_VIEW: view}
    outputs = [
        nbformat.v4.new_output("execute_result", data, metadata={WIDGET_VIEW: {}})
        for data in (both, alone)
    ]
    outputs.append(nbformat.v4.new_output("stream", text="printed"))
    cells = [nbformat.v4.new_code_cell("1", outputs=outputs), nbformat.v4.new_markdown_cell("text")]
    content = nbformat.v4.new_notebook(cells=cells)
    lab.save_without_widgets(model={"type": "notebook", "content": content}, path="a.ipynb")
    saved = content.cells[0].outputs
    assert (saved[0].data, saved[0].metadata) == ({"text/html": "<p>still</p>"}, {})
    assert saved[1].data == {"text/plain": "IntSlider()"}
    nbformat.validate(content)
    for model_id in ("1", "2"):
        content.cells[0].outputs = [nbformat.v4.new_output("display_data", {WIDGET_VIEW: view})]
        content.metadata.widgets = {WIDGET_STATE: {"state": {model_id: {}}}}
        lab.save_without_widgets(model={"type": "notebook", "content": content})
        assert (WIDGET_VIEW in content.cells[0].outputs[0].data) == (model_id == "1")
    for other in ({"type": "file", "content": "text"}, {"type": "notebook", "content": None}):
        lab.save_without_widgets(model=other)  # nothing to do
