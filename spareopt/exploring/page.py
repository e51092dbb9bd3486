"""The page: levers to the left, the answer beside them; each browser tab has a session of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from html import escape
from io import BytesIO
from typing import Any

import click
import panel as pn
from bokeh.models import CustomJS
from panel.io.server import get_server
from panel.io.state import set_curdoc

from spareopt.errors import InputError
from spareopt.exploring import parts
from spareopt.exploring.control import Control
from spareopt.exploring.levers import Group
from spareopt.exploring.picture import kept_figures
from spareopt.exploring.session import ADDRESS, Exploration, Session
from spareopt.exploring.solving import Reply
from spareopt.exploring.style import CARD, FOUND, LOST, PAGE, PARTS, STALE, UNLABELLED, WIDGET
from spareopt.exploring.what_ifs import name_of
from spareopt.folders import write_new_file
from spareopt.what_if import Changes

EXPORT_NAME, TABLE_NAME = "what-ifs.yaml", "what-ifs.csv"
GROUPS: tuple[tuple[Group, str], ...] = (
    ("limits", "Limits"),
    ("faults", "Faults"),
    ("repair and recovery", "Repair and recovery"),
    ("prices", "Prices"),
)
STICKY = {"position": "sticky", "top": "0", "z-index": "10"}
LEFT, RIGHT, HALF = ({"flex": flex, "min-width": "0"} for flex in ("1 1 320px", "3 1 560px", "1 1 340px"))
BELOW = (0, 0, 12, 0)
MOST_WAYS_OUT = 6
TICK = 1000  # ms


class Page:
    """The widgets of one tab, and what they show of its session."""

    def __init__(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self._document = pn.state.curdoc
        self._session = Session(exploration, self._told_elsewhere)
        self._controls = {lever.key: Control(lever, self._safely(self._moved)) for lever in exploration.levers}
        self._head, self._stale = _html(), _html()
        self._details = {name: _html(styles=CARD, margin=BELOW) for name in DETAILS}
        self._ways_out = [self._button("", partial(self._take_way_out, place)) for place in range(MOST_WAYS_OUT)]
        self._name = pn.widgets.TextInput(
            name="name of the what-if", placeholder="its name, or left to its changes", width=230,
            stylesheets=[UNLABELLED],
        )  # fmt: skip
        self._keep = self._button("Keep this what-if", self._keep_it, "primary")
        self._kept_note, self._command = _html(), _html()
        self._table, self._export_note, self._commands = _html(), _html(), _html()
        self._chosen = pn.widgets.Select(name="kept what-if", options=[], width=230, stylesheets=[UNLABELLED])
        self._pictures = pn.FlexBox(sizing_mode="stretch_width")
        self._with_kept = pn.Column(
            pn.FlexBox(
                self._chosen, self._button("Set the levers to it", self._go_back),
                self._button("Remove it", self._remove_it), sizing_mode="stretch_width",
            ),
            self._pictures,
            pn.FlexBox(*self._exports(), sizing_mode="stretch_width"),
            self._export_note,
            self._commands,
            sizing_mode="stretch_width",
        )  # fmt: skip
        self._show()
        self._show_kept()
        pn.state.add_periodic_callback(self._tick, TICK)
        self._document.js_on_event("connection_lost", CustomJS(code=LOST))
        self._document.js_on_event("client_reconnected", CustomJS(code=FOUND))
        pn.state.onload(self._safely(self._session.open))
        pn.state.on_session_destroyed(lambda _: self._session.close())

    def view(self) -> Any:
        """The whole page."""
        keeping = pn.FlexBox(
            self._name, self._keep, self._button("All as stated", lambda: self._put({})), sizing_mode="stretch_width"
        )
        ways_out = pn.FlexBox(*self._ways_out, sizing_mode="stretch_width")
        answer = [self._stale, _card(keeping, self._kept_note, self._command)]
        return pn.Column(
            _html(parts.title(self.exploration.instance), margin=(10, 14, 0, 14)),
            pn.Column(self._head, sizing_mode="stretch_width", margin=(6, 10), styles=STICKY),
            pn.FlexBox(
                pn.Column(*self._lever_cards(), sizing_mode="stretch_width", styles=LEFT),
                pn.Column(
                    *answer, ways_out, *self._details.values(), _card(self._table, self._with_kept),
                    sizing_mode="stretch_width", styles=RIGHT,
                ),
                sizing_mode="stretch_width", gap="12px", styles={"padding": "0 10px 20px"},
            ),
            sizing_mode="stretch_width",
        )  # fmt: skip

    def _lever_cards(self) -> Iterator[Any]:
        for group, title in GROUPS:
            controls = [self._controls[lever.key] for lever in self.exploration.levers if lever.group == group]
            if controls:
                yield _card(_html(f"<h2>{title}</h2>"), *(control.view() for control in controls))

    def _exports(self) -> Iterator[Any]:
        if self.exploration.export is not None:
            yield self._button(f"Write {self.exploration.export}", self._write_it)
        for name, text in ((EXPORT_NAME, self._session.export), (TABLE_NAME, self._session.table)):
            yield pn.widgets.FileDownload(
                callback=partial(_stream, text), filename=name, label=f"Download {name}", embed=False, auto=True,
                button_style="outline", stylesheets=[WIDGET],
            )  # fmt: skip

    def _button(self, name: str, pressed: Callable[[], None], kind: str = "default") -> Any:
        style = "solid" if kind == "primary" else "outline"
        result = pn.widgets.Button(name=name, button_type=kind, button_style=style, stylesheets=[WIDGET])
        result.on_click(lambda _: self._safely(pressed)())
        return result

    def _safely(self, do: Callable[[], None]) -> Callable[[], None]:
        """The same, but an error of this program is told on the page: Bokeh would drop it without a word."""

        def safely() -> None:
            try:
                do()
            except Exception as error:
                click.echo(f"error: {_internal(error)}", err=True)
                self._head.object = parts.refused(_internal(error))

        return safely

    def _moved(self) -> None:
        self._kept_note.object = ""
        self._session.move({key: control.text for key, control in self._controls.items()})
        self._show()

    def _put(self, changes: Changes) -> None:
        """Move the levers to where they make these changes."""
        for key, text in (self._session.texts(changes) or {}).items():
            self._controls[key].put(text)
        self._moved()

    def _take_way_out(self, place: int) -> None:
        ways = self._session.ways_out()
        if place < len(ways):
            self._put({**(self._session.changes or {}), **ways[place]})

    def _told_elsewhere(self, number: int, reply: Reply) -> None:
        """A reply from the session's other thread: to be shown by the page's own."""

        def show() -> None:
            with set_curdoc(self._document):
                if self._session.told(number, reply):
                    self._show()

        with suppress(RuntimeError):  # the tab is gone, or the server
            self._document.add_next_tick_callback(self._safely(show))

    def _tick(self) -> None:
        seconds = self._session.waiting
        if seconds is not None and self._session.changes is not None:
            self._head.object = parts.solving(self._session.changes, self.exploration.levers, seconds)

    def _show(self) -> None:
        """Show the answer to where the levers stand; until there is one, what stood there before, dimmed."""
        session, levers = self._session, self.exploration.levers
        reply = session.reply
        self._keep.disabled = reply is None or not reply.answer.changes
        self._stale.object = parts.stale() if reply is None else ""
        for pane in self._details.values():
            pane.css_classes = [STALE] if reply is None else []
        ways = session.ways_out()
        for place, button in enumerate(self._ways_out):
            button.visible = place < len(ways)
            button.name = f"Set {name_of(ways[place], levers)}" if place < len(ways) else ""
        command = session.command()
        self._command.object = parts.command_part("To type this what-if again:", [command]) if command else ""
        if session.changes is None:
            self._head.object = parts.refused(session.refusal)
        elif reply is None:
            self._head.object = parts.solving(session.changes, levers, 0.0)
        else:
            self._head.object = parts.headline(reply, levers, alike=self.exploration.options.alike)
            for name, part in DETAILS.items():
                self._details[name].object = text = part(session)
                self._details[name].visible = bool(text)

    def _keep_it(self) -> None:
        try:
            item = self._session.keep(self._name.value_input or "")
        except InputError as error:
            self._kept_note.object = parts.message(error.faults[0].message, "refused")
            return
        own = self._name.value_input and item.name != item.called
        note = f": names hold plain letters; “{item.called}” is its description" if own else ""
        self._kept_note.object = parts.message(f"Kept as {item.name}{note}.")
        self._name.value = self._name.value_input = ""
        self._show_kept(item.name)

    def _remove_it(self) -> None:
        self._session.remove(self._chosen.value)
        self._show_kept()

    def _go_back(self) -> None:
        for item in self._session.kept:
            if item.name == self._chosen.value:
                self._put(item.answer.changes)

    def _show_kept(self, chosen: str | None = None) -> None:
        kept, nominal = self._session.kept, self.exploration.nominal.answer
        names = [item.name for item in kept]
        self._table.object = parts.kept_part(kept, nominal, self.exploration.levers)
        self._with_kept.visible = bool(kept)
        self._chosen.options = names
        self._chosen.value = chosen or (names[-1] if names else None)
        self._pictures.objects = [
            pn.Column(
                _html(parts.finding(text)), pn.pane.Bokeh(item, sizing_mode="stretch_width"),
                sizing_mode="stretch_width", styles=HALF,
            )
            for text, item in kept_figures(nominal, kept)
        ]  # fmt: skip
        self._export_note.object = ""
        commands = self._session.commands(self.exploration.export or EXPORT_NAME)
        self._commands.object = parts.command_part("To solve them from that file:", commands)

    def _write_it(self) -> None:
        assert self.exploration.export is not None
        try:
            write_new_file(self.exploration.export, self._session.export())
        except InputError as error:
            self._export_note.object = parts.message(str(error), "refused")
        else:
            self._export_note.object = parts.message(f"Written to {self.exploration.export}.")


def _plan_of(part: Callable[[Any, Any], str]) -> Callable[[Session], str]:
    """A part that is made of a plan and its instance; nothing where there is no plan."""

    def made(session: Session) -> str:
        plan = None if session.reply is None else session.reply.answer.plan
        return "" if plan is None else part(plan, session.instance())

    return made


DETAILS: dict[str, Callable[[Session], str]] = {
    "conflict": lambda session: "" if session.reply is None else parts.conflict(session.reply, session.instance()),
    "plan": _plan_of(parts.plan_part),
    "changes": lambda session: parts.changes_part(session.compared()),
    "losses": lambda session: _plan_of(lambda plan, _: parts.losses(plan, session.nominal_plan()))(session),
    "limits": _plan_of(lambda plan, _: parts.limits_html(plan)),
    "score": _plan_of(parts.score_part),
}
"""The parts of the answer from top to bottom."""


def _stream(text: Callable[[], str]) -> BytesIO:
    return BytesIO(text().encode("utf-8"))


def _html(text: str = "", **options: Any) -> Any:
    return pn.pane.HTML(text, stylesheets=[PARTS], sizing_mode="stretch_width", **options)


def _card(*parts: Any) -> Any:
    return pn.Column(*parts, sizing_mode="stretch_width", styles=CARD, margin=BELOW)


def _internal(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {error}; please report it"


def serve(exploration: Exploration, port: int, ready: Callable[[str], None]) -> None:
    """Serve the page to this machine alone, on a free port, until interrupted; ``ready`` is told its address."""

    def tab() -> Any:
        try:
            return Page(exploration).view()
        except Exception as error:
            click.echo(f"error: {_internal(error)}", err=True)
            return pn.pane.HTML(f"<p>{escape(_internal(error))}</p>")

    pn.extension(notifications=False)
    pn.config.raw_css = [PAGE]
    hosts = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    name = f"{exploration.instance.name}: what if"
    server = get_server({"/": tab}, port=port, address=ADDRESS, websocket_origin=hosts, title=name)
    server.start()
    ready(f"http://{ADDRESS}:{port}/")
    server.io_loop.start()
    server.stop()
