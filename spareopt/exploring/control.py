"""A lever as widgets of the page: whether it is held, a slider over its stops, a box for any value."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn

from spareopt.exploring.levers import Lever
from spareopt.exploring.style import PARTS, UNLABELLED, WIDGET


class Control:
    """A lever as widgets: its slider over the stops, its box for any value, and whether it is held."""

    def __init__(self, lever: Lever, moved: Callable[[], None]) -> None:
        self.lever, self._moved, self._quiet = lever, moved, False
        name = f"{lever.name}, {lever.sense}" if lever.multiple else lever.title
        self.held = pn.widgets.Checkbox(name=name, value=lever.stated is not None, stylesheets=[WIDGET])
        self.slider = pn.widgets.IntSlider(
            name=name, start=0, end=max(1, len(lever.stops) - 1), value=lever.nearest(lever.stated), show_value=False,
            sizing_mode="stretch_width", margin=(4, 12), stylesheets=[UNLABELLED], visible=len(lever.stops) > 1,
        )  # fmt: skip
        self.box = pn.widgets.TextInput(name=name, width=150, margin=(0, 0, 0, 4), stylesheets=[UNLABELLED])
        self.row = pn.Row(self.slider, self.box, sizing_mode="stretch_width")
        self.put(lever.stated)
        self.held.param.watch(lambda _: self._change(lever.start if self.held.value else None), "value")
        self.slider.param.watch(lambda _: self._change(lever.stops[self.slider.value]), "value")
        self.box.param.watch(lambda _: self._change(self.box.value), "value")

    def view(self) -> Any:
        """The widgets in their places."""
        lever = self.lever
        if lever.off:
            title: Any = self.held
        else:
            now = "" if not lever.now else f" <span class='now'>as stated: {escape(_shortened(lever.now))}</span>"
            text = f"{lever.title}{now}"
            title = pn.pane.HTML(f"<div>{text}</div>", margin=(0, 0, 0, 10), stylesheets=[PARTS])
        return pn.Column(
            title,
            self.row,
            sizing_mode="stretch_width",
            margin=(2, 0, 8, 0),
            css_classes=[f"lever-{lever.key.replace('.', '-').replace('*', 'any')}"],
        )

    @property
    def text(self) -> str | None:
        """What the lever is set to, as typed; None where its cap is off."""
        return self.box.value if self.held.value or not self.lever.off else None

    def put(self, text: str | None) -> None:
        """Move the widgets to a value without asking anything."""
        quiet, self._quiet = self._quiet, True
        self.held.value = text is not None
        self.box.value = text or ""
        self.slider.value = self.lever.nearest(text)
        self.row.visible = text is not None
        self._quiet = quiet

    def _change(self, text: str | None) -> None:
        if not self._quiet:
            self.put(text)
            self._moved()


def _shortened(values: tuple[str, ...]) -> str:
    known = list(dict.fromkeys(values))
    return ", ".join(known[:3]) + (", …" if len(known) > 3 else "")
