"""What pictures say besides what they show: the finding as a sentence, and a text for each thing pointed at."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure


@dataclass
class Told:
    """What is told of a figure: its finding, and texts by the ``gid`` of the artists that they belong to."""

    finding: str = ""
    texts: dict[str, str] = field(default_factory=dict)


_TOLD: WeakKeyDictionary[Figure, Told] = WeakKeyDictionary()


def told(figure: Figure) -> Told:
    """What is told of a figure so far; changes of it are kept as long as the figure is."""
    return _TOLD.setdefault(figure, Told())


def hover(artist: Artist, text: str) -> None:
    """Give an artist a text that is shown where a mouse points at it; SVG only."""
    texts = told(artist.figure.figure).texts
    name = f"hover{len(texts) + 1}"
    artist.set_gid(name)
    texts[name] = text


def finding_of(drawn: Axes | Figure) -> str:
    """The sentence that a picture's title says, in one line."""
    return told(drawn if isinstance(drawn, Figure) else drawn.figure.figure).finding
