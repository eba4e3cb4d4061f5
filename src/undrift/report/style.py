"""The page's one style sheet, light and dark. Pure; its hash stands in the page's content security policy."""

import base64
import hashlib

__all__ = ["STYLE", "policy"]

STYLE = """
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#16202b;--soft:#5a6875;--rule:#dfe4e9;--fill:#3b82c4;
--area:#3b82c422;--cut:#c2410c;--again:#a16207;--ours:#15803d;--quote:#fff7ed}
@media(prefers-color-scheme:dark){:root{--page:#0f151b;--card:#172029;--ink:#e4eaf0;--soft:#94a3b1;--rule:#2a3641;
--fill:#60a5e0;--area:#60a5e029;--cut:#fb923c;--again:#eab308;--ours:#4ade80;--quote:#2a2117}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1060px;margin:0 auto;padding:40px 20px 64px}
h1{font-size:28px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:18px;margin:0 0 2px;overflow-wrap:anywhere}
h3{font-size:15px;margin:26px 0 6px;padding-top:18px;border-top:1px solid var(--rule)}
p{margin:6px 0}.soft{color:var(--soft)}.path{color:var(--soft);font-size:13px;overflow-wrap:anywhere}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:12px;margin:26px 0 12px}
.tile,.card{background:var(--card);border:1px solid var(--rule);border-radius:12px}
.tile{padding:14px 16px}.tile b{display:block;font-size:25px;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px;line-height:1.35;display:block}
.card{padding:20px 22px 22px;margin:18px 0}
svg{display:block;width:100%;height:auto;margin:12px 0 4px}
svg text{fill:var(--soft);font:12px system-ui,sans-serif}
svg .strong{fill:var(--ink);font-weight:600}
svg .grid{stroke:var(--rule)}svg .area{fill:var(--area)}svg .line{fill:none;stroke:var(--fill);stroke-width:1.8;stroke-linejoin:round}
svg .cut{stroke:var(--cut);stroke-width:1.6;stroke-dasharray:4 3}svg .cutlabel{fill:var(--cut);font-weight:600}
svg .again{fill:var(--again);fill-opacity:.75}svg .track{fill:var(--rule)}
svg .native{fill:var(--fill)}svg .ours{fill:var(--ours)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px;margin:8px 0}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--rule);font-variant-numeric:tabular-nums;white-space:nowrap}
th{color:var(--soft);font-weight:500}th:first-child,td:first-child{text-align:left;padding-left:0}
td.what{text-align:left;white-space:normal;overflow-wrap:anywhere;font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px}
th.what{text-align:left}
blockquote{margin:6px 0;padding:7px 12px;border-left:3px solid var(--cut);background:var(--quote);border-radius:0 6px 6px 0;
overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--soft);margin-top:8px}
footer{color:var(--soft);font-size:13px;margin-top:30px}
.key{display:inline-block;width:10px;height:10px;border-radius:50%;margin-right:5px;background:var(--again)}
.key.k1{background:var(--fill)}.key.k2{background:var(--cut)}
.legend span{margin-right:18px}.legend{color:var(--soft);font-size:13px}
@media(max-width:560px){main{padding:24px 12px}.card{padding:16px 14px}}
"""


def policy() -> str:
    """Give the content security policy: nothing may be loaded or run, and no style but this one."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
