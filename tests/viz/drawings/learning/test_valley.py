import re

import pytest
import torch

from course_lib.viz.drawings.learning.valley import draw_valley

HESSIAN = torch.tensor([[1.0, 0.0], [0.0, 25.0]])
PATHS = {
    "SGD": torch.tensor([[-10.0, 2.0], [-9.0, -1.5], [-8.0, 1.0], [-7.0, -0.5]]),
    "Adam": torch.tensor([[-10.0, 2.0], [-5.0, 1.0], [-0.4, 0.02]]),
}


def drawing(hessian=HESSIAN, paths=PATHS, lit="Adam", **options):
    return draw_valley(hessian, paths, lit=lit, **options)


def polylines(panel):
    """The points of the contours and, last, of the path."""
    found = re.findall(r'<path d="M([^"]*)" fill="none"[^>]*stroke-linejoin', panel.body)
    return [[tuple(map(float, at.split())) for at in d.split("L")] for d in found]


def test_a_panel_says_the_losses_at_both_ends_and_the_steps():
    sgd, adam = drawing().panels
    assert [sgd.title, adam.title] == ["SGD", "Adam"]
    assert "from the loss 100 to 28 in 3 steps" in sgd.description  # 49/2 + 25/8 = 27.6
    assert "from the loss 100 to 0.09 in 2 steps" in adam.description  # 0.08 + 0.005
    assert ">after 3 steps: loss 28<" in sgd.body and ">start: loss 100<" in sgd.body
    assert "5 times as long as it is wide" in sgd.description


def test_the_steps_of_a_path_are_those_given_to_one_scale():
    for panel, path in zip(drawing().panels, PATHS.values(), strict=True):
        drawn = torch.tensor(polylines(panel)[-1])
        assert panel.body.count("<circle") == len(path)
        steps, given = drawn.diff(dim=0), path.diff(dim=0) * torch.tensor([1.0, -1.0])
        scale = steps[0, 0] / given[0, 0]
        assert torch.allclose(steps, scale * given, atol=0.21)  # points are drawn to a tenth


def test_on_a_contour_line_the_loss_is_the_same_everywhere():
    panel = drawing().panels[0]
    *rings, path = (torch.tensor(points).double() for points in polylines(panel))
    cross = re.search(r'd="M([\d.]+) ([\d.]+)h12', panel.body)
    goal = torch.tensor([float(cross[1]) + 6, float(cross[2])]).double()
    losses = [((ring - goal) ** 2 @ HESSIAN.diagonal().double()) for ring in rings]
    for loss in losses:
        assert loss.max() / loss.min() < 1.15  # points are drawn to a tenth of a pixel
    start = (path[0] - goal) ** 2 @ HESSIAN.diagonal().double()
    assert float(losses[0].mean() / start) == pytest.approx(1, abs=0.05)


def test_a_turned_valley_has_turned_contours():
    turned = torch.tensor([[5.0, 4.0], [4.0, 5.0]])  # long where the two weights are opposite
    path = {"Adam": torch.tensor([[-3.0, 2.0], [0.0, 0.0]])}
    ring = torch.tensor(polylines(drawing(turned, path).panels[0])[0])
    x, y = (ring - ring.mean(dim=0)).T
    assert float((x * y).mean()) > 0  # up is a smaller y
    assert "3 times as long" in drawing(turned, path).panels[0].description


def test_only_the_path_that_the_text_is_about_is_lit():
    sgd, adam = drawing().panels
    assert "accent" not in sgd.body and "accent" in adam.body


def test_everything_lies_inside_the_panel():
    wild = {"SGD": torch.tensor([[-10.0, 2.0], [12.0, -2.3]]), "Adam": PATHS["Adam"]}
    for panel in drawing(paths=wild).panels:
        for points in polylines(panel):
            for x, y in points:
                assert 0 <= x <= 340 and 50 <= y <= panel.height - 20
        assert panel.height <= 420


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hessian": torch.tensor([[1.0, 2.0], [0.0, 1.0]])}, "a symmetric 2 × 2 matrix"),
        ({"hessian": torch.diag(torch.tensor([1.0, -1.0]))}, "positive definite"),
        ({"lit": "RMSprop"}, "one of SGD, Adam, got 'RMSprop'"),
        ({"paths": {"Adam": torch.zeros(1, 2)}}, "1 to 200 finite steps, got 'Adam' with 0"),
        ({"paths": {"Adam": torch.tensor([[1.0, 1.0], [torch.inf, 0.0]])}}, "finite steps"),
        ({"paths": {"Adam": torch.zeros(3, 2)}}, "a start above the minimum"),
        ({"paths": PATHS | {"Adam": PATHS["Adam"] + 1}}, "paths that start at one point"),
    ],
)
def test_what_is_no_valley_or_no_path_is_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        drawing(**changes)
