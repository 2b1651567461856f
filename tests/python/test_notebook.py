"""A notebook that Jupyter's kernel runs: the results of its cells are tables."""

import html.parser
import sys

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: make notebook-tests installs it")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

BEFORE = "import numpy as np, backplane as bp\nx = np.ones((6, 6))\nbp.matmul(x, x, settings={'blas.preferred': 'native'});"
RECORD = "with bp.record() as calls:\n    for _ in range(3):\n        bp.matmul(x, x)\ncalls"
# The code of a cell, and cells of the table that it shows.
CELLS = {
    "explanation": ("bp.explain(bp.matmul, x, x)", {"native"}),
    "plan": ("bp.last_plan()", {"f64 6x6 @ 6x6 -> 6x6"}),
    "library": ("bp.libraries()[0]", {"id"}),
    "libraries": ("bp.libraries()", {"native"}),
    "backends": ("bp.backends_status()", {"cudnn"}),
    "settings": ("bp.settings", {"num_threads"}),
    "part of the settings": ("bp.settings.blas", {"preferred"}),
    "record": (RECORD, {"native", "runs"}),
    "tensor": ("bp.ones(2, 2)", {"1."}),
}


class Cells(html.parser.HTMLParser):
    """The texts of a table's cells."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.inside = set(), False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.inside = tag in ("td", "th")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts.add(data)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Returns a notebook after a run: its first cell is the beginning, and each further one an entry of CELLS."""
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(code) for code in (BEFORE, *(code for code, _ in CELLS.values()))]
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    folder = tmp_path_factory.mktemp("jupyter")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        patch.setenv(name, str(folder / name))
    try:
        nbclient.NotebookClient(made, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    finally:
        patch.undo()
    return made


@pytest.mark.parametrize("name", CELLS)
def test_results_of_cells_are_tables(notebook, name):
    cell = notebook.cells[1 + list(CELLS).index(name)]
    result, = (output for output in cell.outputs if output.output_type == "execute_result")
    shown = Cells(result.data["text/html"]).texts
    assert shown & CELLS[name][1], shown
    assert result.data["text/plain"].strip()


def test_no_cell_warns(notebook):
    assert [output for cell in notebook.cells for output in cell.outputs if output.output_type != "execute_result"] == []
