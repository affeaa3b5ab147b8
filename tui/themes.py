"""Colours: the app's themes, and the inks its texts are written in.

An ink is a named style ("good", "muted", "seat1"). Whoever writes a text names inks only; what they look like
is decided here, once for each theme. Few, each with one meaning. Knows no widget and no text.
"""

from collections.abc import Mapping

from rich.style import Style
from rich.theme import Theme as Inks
from textual.color import Color
from textual.theme import Theme

SEATS = 5
"""Seats with a colour of their own; further ones begin again at the first."""

DEFAULT = "simarena-dark"
COLOURLESS = "simarena-ansi"
"""The theme that stays readable when all colour is taken away (NO_COLOR): it says everything by weight too."""


def _theme(name: str, dark: bool, colours: Mapping[str, str], seats: tuple[str, ...], ansi: bool = False) -> Theme:
    page, ink = colours["background"], colours["foreground"]
    variables = {
        "muted": colours["muted"],
        "faint": colours["faint"],
        "quiet": colours["quiet"],
        "ansi-background": page,
        "ansi-foreground": ink,
        "chosen": colours["chosen"],
        "chosen-blurred": colours["blurred"],
        **{f"seat{i + 1}": colour for i, colour in enumerate(seats)},
        "footer-background": page,
        "footer-item-background": page,
        "footer-key-background": page,
        "footer-description-background": page,
        "footer-key-foreground": colours["primary"],
        "footer-description-foreground": colours["muted"],
        "border": colours["faint"],
        "border-blurred": colours["faint"],
        "scrollbar": colours["faint"],
        "scrollbar-hover": colours["muted"],
        "scrollbar-active": colours["primary"],
        "scrollbar-background": page,
        "scrollbar-background-hover": page,
        "scrollbar-background-active": page,
        "scrollbar-corner-color": page,
        "block-cursor-foreground": ink,
        "block-cursor-background": colours["chosen"],
        "input-cursor-background": ink,
        "input-cursor-foreground": page,
    }
    return Theme(
        name=name,
        dark=dark,
        ansi=ansi,
        primary=colours["primary"],
        secondary=colours["muted"],
        accent=colours["primary"],
        warning=colours["warning"],
        error=colours["error"],
        success=colours["success"],
        foreground=ink,
        background=page,
        surface=page,
        panel=colours["panel"],
        boost=colours["panel"],
        variables=variables,
    )


THEMES = (
    _theme(
        "simarena-dark",
        True,
        {
            "background": "#12141c",
            "panel": "#1b1e29",
            "foreground": "#d5d8e2",
            "muted": "#8a91a6",
            "faint": "#3a4052",
            "quiet": "#646b80",
            "chosen": "#29324a",
            "blurred": "#1f2432",
            "primary": "#7aa2f7",
            "success": "#8ac87b",
            "warning": "#e5b567",
            "error": "#ee7684",
        },
        ("#7aa2f7", "#dba7f0", "#63c7c2", "#e3b27d", "#a3b3cc"),
    ),
    _theme(
        "simarena-light",
        False,
        {
            "background": "#fbfbfd",
            "panel": "#f0f1f6",
            "foreground": "#23262f",
            "muted": "#656c7f",
            "faint": "#c8ccd8",
            "quiet": "#9299ab",
            "chosen": "#e3eafd",
            "blurred": "#e9ecf4",
            "primary": "#2a5bd0",
            "success": "#1d6b32",
            "warning": "#8f5c00",
            "error": "#bd2c3d",
        },
        ("#2a5bd0", "#8a3fb0", "#0d7377", "#96590f", "#55617a"),
    ),
    _theme(
        "simarena-contrast",
        True,
        {
            "background": "#000000",
            "panel": "#000000",
            "foreground": "#ffffff",
            "muted": "#d8d8d8",
            "faint": "#9a9a9a",
            "quiet": "#b8b8b8",
            "chosen": "#0038a8",
            "blurred": "#303030",
            "primary": "#6fd6ff",
            "success": "#5dff6a",
            "warning": "#ffe14a",
            "error": "#ff9e9e",
        },
        ("#6fd6ff", "#ff9df5", "#5dffda", "#ffc56b", "#ffffff"),
    ),
    _theme(
        "simarena-ansi",
        True,
        {
            "background": "ansi_default",
            "panel": "ansi_default",
            "foreground": "ansi_default",
            "muted": "ansi_default",
            "faint": "ansi_bright_black",
            "quiet": "ansi_bright_black",
            "chosen": "ansi_default",
            "blurred": "ansi_default",
            "primary": "ansi_blue",
            "success": "ansi_green",
            "warning": "ansi_yellow",
            "error": "ansi_red",
        },
        ("ansi_blue", "ansi_magenta", "ansi_cyan", "ansi_yellow", "ansi_default"),
        ansi=True,
    ),
)


def inks(theme: Theme) -> Inks:
    """Every ink in the colours of this theme."""
    named = {**theme.variables, "good": theme.success, "bad": theme.error, "warn": theme.warning}
    colour = {name: Color.parse(value).rich_color for name, value in named.items() if value}
    dim = theme.ansi  # sixteen colours have no quiet one that every terminal shows
    styles = {
        "plain": Style(),
        "strong": Style(bold=True),
        "muted": Style(color=colour["muted"], dim=dim),
        "faint": Style(color=colour["faint"], dim=dim),
        "quiet": Style(color=colour["quiet"]),
        "thought": Style(color=colour["muted"], italic=True, dim=dim),
        "key": Style(color=Color.parse(theme.primary).rich_color, bold=True),
        "good": Style(color=colour["good"]),
        "bad": Style(color=colour["bad"]),
        "warn": Style(color=colour["warn"]),
        "alarm": Style(color=colour["warn"], bold=True),
        "found": Style(color=colour["warn"], reverse=True),
        "chosen": Style(reverse=True) if theme.ansi else Style(bgcolor=colour["chosen"]),
        "chosen-blurred": Style(bold=True) if theme.ansi else Style(bgcolor=colour["chosen-blurred"]),
    }
    styles |= {f"seat{i}": Style(color=colour[f"seat{i}"], bold=True) for i in range(1, SEATS + 1)}
    return Inks(styles, inherit=False)


def seat_ink(place: int) -> str:
    """The ink of the seat at this place in the scenario's list of seats."""
    return f"seat{place % SEATS + 1}"
