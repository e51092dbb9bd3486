"""How the page looks: no font, picture or script comes from elsewhere."""

from spareopt.pictures import BLUE, GREEN, ORANGE, PALETTE

RED = PALETTE[6]
FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", "Liberation Sans", sans-serif'
PAGE = f"""
body {{ font-family: {FONT}; margin: 0; background: #f3f4f6; color: #111827; }}
#lost {{ position: fixed; inset: 0 0 auto 0; z-index: 100; margin: 0; padding: 0.8rem 1.2rem; font-weight: 600;
  background: #fff; border-bottom: 6px solid {RED}; box-shadow: 0 2px 8px rgba(0,0,0,0.4); }}
#lost::after {{ content: ""; position: fixed; inset: 0; z-index: -1; background: rgba(255, 255, 255, 0.7); }}
"""
"""Of the document."""
LOST = """
if (document.getElementById("lost") === null) {
  for (const part of document.body.children) part.inert = true
  const told = document.createElement("p")
  told.id = "lost"
  told.setAttribute("role", "alert")
  told.textContent = "spareopt explore has ended: nothing is answered any more. Start it again, and open its address."
  document.body.prepend(told)
}
"""
"""What the browser does where the command has ended: or levers would move beside an answer that is none to them."""
FOUND = """
document.getElementById("lost")?.remove()
for (const part of document.body.children) part.inert = false
"""
"""What it does once the command is there again, with the same tab."""
PARTS = f"""
:host {{ font-family: {FONT}; font-size: 14px; line-height: 1.45; min-width: 0; max-width: 100%; }}
h1 {{ font-size: 1.3rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }}
h2 {{ font-size: 1rem; margin: 0.2rem 0 0.5rem; overflow-wrap: anywhere; }}
h3 {{ font-size: 0.92rem; margin: 0.8rem 0 0; overflow-wrap: anywhere; }}
p {{ margin: 0.3rem 0; overflow-wrap: anywhere; }}
.title p {{ color: #374151; }}
.banner {{ border-left: 8px solid #6b7280; background: #fff; padding: 0.6rem 0.9rem; border-radius: 6px;
  box-shadow: 0 1px 4px rgba(0,0,0,0.25); max-height: 40vh; overflow: auto; }}
.banner.proven {{ border-color: {GREEN}; }}
.banner.unproven, .banner.refused {{ border-color: {ORANGE}; }}
.banner.infeasible, .banner.failed {{ border-color: {RED}; }}
.banner.solving {{ border-left-style: dashed; border-color: {BLUE}; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; width: auto; }}
th, td {{ padding: 0.18rem 0.9rem 0.18rem 0; text-align: left; vertical-align: top; font-weight: normal; }}
thead th {{ color: #4b5563; border-bottom: 1px solid #d1d5db; vertical-align: bottom; }}
tbody tr + tr > * {{ border-top: 1px solid #eef0f2; }}
.n {{ text-align: right; white-space: nowrap; }}
td.changed {{ font-weight: 600; white-space: normal; }}
.bar {{ width: 45%; min-width: 120px; padding-right: 0; }}
.bar div {{ position: relative; height: 1.1em; background: #eef0f2; margin-top: 0.15em; }}
.bar b {{ position: absolute; left: 0; top: 0; bottom: 0; background: {BLUE}; }}
.bar i {{ position: absolute; top: -3px; bottom: -3px; width: 0; border-left: 3px solid #111827; margin-left: -1px; }}
table.losses {{ width: 100%; }}
table.kept small {{ display: block; color: #4b5563; max-width: 22em; white-space: normal; }}
pre {{ font-size: 12px; overflow-x: auto; background: #f3f4f6; padding: 0.6rem; margin: 0.3rem 0; border-radius: 4px; }}
pre.typed {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
.key {{ color: #4b5563; font-size: 12.5px; }}
.refused {{ color: #9a3412; }}
:host(.stale) {{ opacity: 0.4; filter: grayscale(1); }}
tbody th {{ min-width: 7em; }}
table.kept td, table.kept th {{ white-space: nowrap; }}
table.kept tbody th {{ white-space: normal; min-width: 11em; }}
summary {{ cursor: pointer; font-weight: 600; }}
.now {{ color: #4b5563; font-size: 12.5px; }}
"""
"""Of every part."""
STALE = "stale"
"""The class of what belongs to an earlier question."""
WIDGET = f"""
:host {{ font-family: {FONT}; font-size: 14px; max-width: calc(100% - 20px); }}
.bk-btn {{ white-space: normal !important; overflow-wrap: anywhere; }}
.bk-btn-default {{ border: 1px solid #9ca3af !important; }}
.noUi-tooltip {{ display: none; }}
"""
"""Of buttons, boxes and sliders; a slider's tooltip would show the place of a stop, not its value."""
UNLABELLED = (
    WIDGET
    + """
label, .bk-slider-title { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
"""
)
"""A widget whose label is for those who hear the page; what it is stands beside it."""
CARD = {
    "background": "#fff",
    "border-radius": "6px",
    "padding": "10px 14px",
    "box-shadow": "0 1px 3px rgba(0,0,0,0.15)",
}
