"""The page: levers to the left, the answer beside them; each browser tab is a session of its own.

The only module that touches Panel.  What a tab shows belongs to the levers as they stand: an answer to what was asked
before is never shown as that of what is asked now.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

import panel as pn
from panel.io.state import set_curdoc

from spareopt.errors import Fault, InputError
from spareopt.exploring import parts
from spareopt.exploring.levers import Group, Lever, changes_of, positions
from spareopt.exploring.picture import kept_figures
from spareopt.exploring.solving import Desk, Reply
from spareopt.exploring.style import CARD, PAGE, PARTS, STALE, UNLABELLED, WIDGET
from spareopt.exploring.what_ifs import (
    KeptWhatIf,
    as_overlay,
    keep,
    solved_by,
    typed_again,
)
from spareopt.folders import write_new_file
from spareopt.instance import Instance
from spareopt.overlays.overlay import overlay_text
from spareopt.solved import Solved
from spareopt.what_if import Changes, SolveOptions, WhatIf, changed

ADDRESS = "127.0.0.1"
"""Nothing but this machine reaches the page."""
EXPORT_NAME = "what-ifs.yaml"
GROUPS: tuple[tuple[Group, str], ...] = (
    ("limits", "Limits"),
    ("faults", "Faults"),
    ("repair and recovery", "Repair and recovery"),
    ("prices", "Prices"),
)
TICK = 1000  # ms


@dataclass(frozen=True)
class Exploration:
    """What is explored: the instance, how it was typed, its levers, its own answer, and how what-ifs are solved."""

    instance: Instance
    given: str
    levers: tuple[Lever, ...]
    nominal: Reply
    options: SolveOptions
    export: str | None = None
    """The file that what is kept is written to."""


class _Control:
    """A lever as widgets: its slider over the stops, its box for any value, and whether it is held."""

    def __init__(self, lever: Lever, moved: Callable[[], None]) -> None:
        self.lever, self._moved, self._quiet = lever, moved, False
        name = f"{lever.name}, {lever.sense}"
        self.held = pn.widgets.Checkbox(name=name, value=lever.stated is not None, stylesheets=[WIDGET])
        self.slider = pn.widgets.IntSlider(
            name=name, start=0, end=len(lever.stops) - 1, value=lever.nearest(lever.stated), show_value=False,
            sizing_mode="stretch_width", margin=(4, 12), stylesheets=[UNLABELLED],
        )  # fmt: skip
        self.box = pn.widgets.TextInput(name=name, width=150, margin=(0, 0, 0, 4), stylesheets=[UNLABELLED])
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
            now = "" if not lever.now else f" <span class='now'>as stated: {_shortened(lever.now)}</span>"
            text = f"{lever.name}{'' if lever.multiple else f', {lever.sense}'}{now}"
            title = _html(f"<div>{text}</div>", margin=(0, 0, 0, 4))
        return pn.Column(
            title,
            pn.Row(self.slider, self.box, sizing_mode="stretch_width"),
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
        self.box.disabled = self.slider.disabled = text is None
        self.box.placeholder = "no limit" if text is None else ""
        self._quiet = quiet

    def _change(self, text: str | None) -> None:
        if not self._quiet:
            self.put(text)
            self._moved()


class Session:
    """One browser tab: where its levers stand, the answer to that, and what it keeps."""

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self._document = pn.state.curdoc
        self._desk = Desk(exploration.options, self._told_elsewhere)
        self._changes: Changes | None = {}
        self._reply: Reply | None = exploration.nominal
        self._last: Reply | None = exploration.nominal
        """The last answer that was shown; while the next is awaited, what the page still shows, dimmed."""
        self._before: Reply | None = None
        """The answer with a plan before the present one."""
        self._number = 0
        self._asked_at = 0.0
        self._kept: tuple[KeptWhatIf, ...] = ()
        self._desk.know(WhatIf(exploration.instance), exploration.nominal)
        self._controls = {lever.key: _Control(lever, self._moved) for lever in exploration.levers}
        self._head, self._stale_note = _html(sizing_mode="stretch_width"), _html()
        self._plan, self._losses, self._limits = _card(), _card(), _card()
        self._score, self._change, self._conflict, self._command = _card(), _card(), _card(), _card()
        self._table, self._message, self._pictures = _html(), _html(), pn.FlexBox(sizing_mode="stretch_width")
        self._commands = _html()
        self._name = pn.widgets.TextInput(
            placeholder="name (or left to its changes)", name="name of the what-if", stylesheets=[UNLABELLED], width=230
        )
        self._keep = _button("Keep this what-if", self._keep_it, "primary")
        self._reset = _button("All as stated", lambda: self._put({}))
        self._chosen = pn.widgets.Select(name="kept what-if", options=[], width=230, stylesheets=[UNLABELLED])
        self._back = _button("Set levers to it", self._go_back)
        self._remove = _button("Remove it", self._remove_it)
        self._download = pn.widgets.FileDownload(
            callback=self._exported, filename=EXPORT_NAME, label=f"Download {EXPORT_NAME}", embed=False, auto=True,
            button_type="default", stylesheets=[WIDGET],
        )  # fmt: skip
        self._write = _button(f"Write {exploration.export}", self._write_it)
        self._show()
        self._show_kept()
        pn.state.add_periodic_callback(self._tick, TICK)
        pn.state.on_session_destroyed(lambda _: self.close())

    def view(self) -> Any:
        """The page."""
        instance = self.exploration.instance
        title = f"<div class='title'><h1>{parts.escape(instance.name)}</h1><p>{parts.escape(instance.description)}</p></div>"
        return pn.Column(
            _html(title, sizing_mode="stretch_width", margin=(10, 14, 0, 14)),
            pn.Column(self._head, sizing_mode="stretch_width", margin=(6, 10), styles=STICKY),
            pn.FlexBox(
                pn.Column(
                    *self._lever_cards(), sizing_mode="stretch_width", styles={"flex": "1 1 320px", "min-width": "0"}
                ),
                pn.Column(
                    self._stale_note, self._keep_card(), self._conflict, self._plan, self._losses, self._change,
                    self._limits, self._score, self._kept_card(),
                    sizing_mode="stretch_width", styles={"flex": "3 1 560px", "min-width": "0"},
                ),
                sizing_mode="stretch_width", gap="12px", styles={"padding": "0 10px 20px"},
            ),
            sizing_mode="stretch_width",
        )  # fmt: skip

    def close(self) -> None:
        """End the session's process."""
        self._desk.close()

    def _lever_cards(self) -> Iterator[Any]:
        for group, title in GROUPS:
            controls = [self._controls[lever.key] for lever in self.exploration.levers if lever.group == group]
            if controls:
                yield pn.Column(
                    _html(f"<h2>{title}</h2>"), *(control.view() for control in controls),
                    sizing_mode="stretch_width", styles=CARD, margin=(0, 0, 12, 0),
                )  # fmt: skip
        yield self._reset

    def _keep_card(self) -> Any:
        return pn.Column(
            pn.FlexBox(self._name, self._keep, sizing_mode="stretch_width"), self._message, self._command_html(),
            sizing_mode="stretch_width", styles=CARD, margin=(0, 0, 12, 0),
        )  # fmt: skip

    def _command_html(self) -> Any:
        self._command = _html(sizing_mode="stretch_width")
        return self._command

    def _kept_card(self) -> Any:
        export = [self._download] if self.exploration.export is None else [self._write, self._download]
        return pn.Column(
            self._table, pn.FlexBox(self._chosen, self._back, self._remove, sizing_mode="stretch_width"),
            self._pictures, pn.FlexBox(*export, sizing_mode="stretch_width"), self._commands,
            sizing_mode="stretch_width", styles=CARD, margin=(0, 0, 12, 0),
        )  # fmt: skip

    def _moved(self) -> None:
        """A lever was moved: ask what then."""
        exploration = self.exploration
        if self._reply is not None:
            self._last = self._reply
            if self._reply.answer.plan is not None:
                self._before = self._reply
        self._reply, self._changes = None, None
        self._message.object = ""
        try:
            texts = {key: control.text for key, control in self._controls.items()}
            changes = changes_of(exploration.levers, texts)
            what_if = WhatIf(changed(exploration.instance, changes), changes)
        except InputError as error:
            self._number = self._desk.ask(None)
            self._show()
            self._head.object = parts.refused("\n".join(str(fault) for fault in error.faults))
            return
        self._changes, self._asked_at = changes, time.monotonic()
        self._number = self._desk.ask(what_if)
        self._show()

    def _told_elsewhere(self, number: int, reply: Reply) -> None:
        """A reply from the desk's thread: to be shown by the page's own."""
        with contextlib.suppress(RuntimeError):  # the tab or the server is gone
            self._document.add_next_tick_callback(partial(self._told, number, reply))

    def _told(self, number: int, reply: Reply) -> None:
        if number != self._number:
            return  # the levers have moved on
        with set_curdoc(self._document):
            self._reply = self._last = reply
            self._show()

    def _tick(self) -> None:
        if self._reply is None and self._changes is not None:
            self._head.object = parts.solving(self._changes, self.exploration.levers, time.monotonic() - self._asked_at)

    def _put(self, changes: Changes) -> None:
        """Move the levers to what changes stand for."""
        texts = positions(self.exploration.levers, changes)
        if texts is None:
            return
        for key, text in texts.items():
            self._controls[key].put(text)
        self._moved()

    def _show(self) -> None:
        """Show the answer to where the levers stand, or what was shown last, dimmed."""
        exploration, instance = self.exploration, self.exploration.instance
        reply = self._reply or self._last
        fresh = self._reply is not None
        self._keep.disabled = not fresh or not self._changes
        if fresh:
            assert reply is not None
            self._head.object = parts.headline(reply, exploration.levers)
        elif self._changes is not None:
            self._head.object = parts.solving(self._changes, exploration.levers, 0.0)
        self._stale_note.object = "" if fresh else STALE_NOTE
        details = [self._conflict, self._plan, self._losses, self._change, self._limits, self._score]
        for pane in details:
            pane.stylesheets = [PARTS] if fresh else [PARTS, STALE]
        self._command.object = ""
        if fresh and self._changes is not None:
            self._command.object = parts.command_part(typed_again(exploration.given, instance, self._changes))
        if not fresh:
            return
        assert reply is not None
        plan, nominal = reply.answer.plan, exploration.nominal.answer.plan
        then = changed(instance, reply.answer.changes)
        self._conflict.object = parts.conflict(
            reply, then, typed_again(exploration.given, instance, reply.answer.changes)
        )
        self._plan.object = "" if plan is None else parts.plan_part(plan, then)
        self._losses.object = "" if plan is None else parts.losses(plan, nominal if reply.answer.changes else None)
        self._limits.object = "" if plan is None else parts.limits_html(plan)
        self._score.object = "" if plan is None else parts.score_part(plan, then)
        self._change.object = "" if plan is None else parts.changes_part(self._compared(reply, then))
        for pane in details:
            pane.visible = bool(pane.object)

    def _compared(self, reply: Reply, instance: Instance) -> list[Solved]:
        """The plans that the present one is held against, and itself: the instance as it stands, the one before."""
        plans = []
        nominal, before, now = self.exploration.nominal.answer, self._before, reply.answer
        if nominal.plan is not None and now.changes:
            plans.append(Solved("as it stands", nominal.plan, self.exploration.instance))
        if (
            before is not None
            and before.answer.plan is not None
            and before.answer.changes not in (nominal.changes, now.changes)
        ):
            then = changed(self.exploration.instance, before.answer.changes)
            plans.append(Solved("the one before", before.answer.plan, then))
        assert now.plan is not None
        return [*plans, Solved("now", now.plan, instance)]

    def _keep_it(self) -> None:
        if self._reply is None:
            return
        try:
            self._kept = keep(
                self._kept,
                self._name.value or "",
                self._reply.answer,
                self.exploration.instance,
                self.exploration.levers,
            )
        except InputError as error:
            self._message.object = parts.message(error.faults[0].message, "refused")
            return
        last = self._kept[-1]
        as_called = "" if last.name == last.called else f" (“{last.called}” in its description)"
        self._message.object = parts.message(f"Kept as {last.name}{as_called}.")
        self._name.value = ""
        self._show_kept(last.name)

    def _remove_it(self) -> None:
        self._kept = tuple(item for item in self._kept if item.name != self._chosen.value)
        self._show_kept()

    def _go_back(self) -> None:
        item = next((item for item in self._kept if item.name == self._chosen.value), None)
        if item is not None:
            self._put(item.answer.changes)

    def _show_kept(self, chosen: str | None = None) -> None:
        exploration, names = self.exploration, [item.name for item in self._kept]
        self._table.object = parts.kept_part(self._kept, exploration.nominal.answer, exploration.levers)
        self._chosen.options = names
        self._chosen.value = chosen if chosen in names else (names[0] if names else None)
        for widget in (self._chosen, self._back, self._remove, self._download, self._write):
            widget.disabled = not names
        figures = kept_figures(exploration.nominal.answer, self._kept)
        self._pictures.objects = [
            pn.pane.Bokeh(item, sizing_mode="stretch_width", styles={"flex": "1 1 340px", "min-width": "0"})
            for item in figures
        ]
        file = exploration.export or EXPORT_NAME
        commands = "\n".join(solved_by(exploration.given, file, name) for name in names)
        self._commands.object = (
            "" if not names else f"<p class='key'>To solve them from that file:</p><pre>{parts.escape(commands)}</pre>"
        )

    def _text(self) -> str:
        return overlay_text(as_overlay(self._kept, self.exploration.given, self.exploration.instance))

    def _exported(self) -> BytesIO:
        return BytesIO(self._text().encode("utf-8"))

    def _write_it(self) -> None:
        assert self.exploration.export is not None
        try:
            write_new_file(self.exploration.export, self._text())
        except InputError as error:
            self._message.object = parts.message(str(error), "refused")
            return
        self._message.object = parts.message(f"Written to {self.exploration.export}.")


STALE_NOTE = "<p class='refused'>What is dimmed below belongs to the settings before.</p>"
STICKY = {"position": "sticky", "top": "0", "z-index": "10"}


def _free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def _html(text: str = "", **options: Any) -> Any:
    return pn.pane.HTML(text, stylesheets=[PARTS], **({"sizing_mode": "stretch_width"} | options))


def _card() -> Any:
    return _html(styles=CARD, margin=(0, 0, 12, 0))


def _button(name: str, pressed: Callable[[], None], kind: str = "default") -> Any:
    result = pn.widgets.Button(name=name, button_type=kind, stylesheets=[WIDGET])
    result.on_click(lambda _: pressed())
    return result


def _shortened(values: tuple[str, ...]) -> str:
    known = list(dict.fromkeys(values))
    return ", ".join(known[:3]) + (", …" if len(known) > 3 else "")


def serve(exploration: Exploration, port: int, ready: Callable[[str], None]) -> None:
    """Serve the page on this machine until it is interrupted; ``ready`` is told its address.

    Raises InputError where the port can't be had.
    """
    port = port or _free_port()
    pn.extension(notifications=False)
    pn.config.raw_css = [PAGE]
    try:
        server = pn.io.server.get_server(
            {"/": lambda: Session(exploration).view()},
            port=port,
            address=ADDRESS,
            websocket_origin=[f"{ADDRESS}:{port}", f"localhost:{port}"],
            title=f"{exploration.instance.name}: what if",
        )
    except OSError as error:
        raise InputError("--port", [Fault("", f"{port} can't be had: {error.strerror}; leave it out")]) from None
    server.start()
    ready(f"http://{ADDRESS}:{port}/")
    server.io_loop.start()
    server.stop()
