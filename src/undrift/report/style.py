"""The page's one style sheet, light and dark. Pure; its hash stands in the page's content security policy."""

import base64
import hashlib

__all__ = ["STYLE", "policy"]

STYLE = """
:root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--ink:#14202b;--soft:#52606d;--rule:#dde2e8;--fill:#2f74b5;
--area:#2f74b51f;--bad:#b93a0b;--again:#96600a;--good:#11733a;--tint:#eef3f8;--quote:#fdf3ea}
@media(prefers-color-scheme:dark){:root{--page:#0e141a;--card:#161f28;--ink:#e6ecf2;--soft:#9dabb8;--rule:#2b3743;
--fill:#67a9e6;--area:#67a9e62b;--bad:#ff9152;--again:#e8b62c;--good:#55d68b;--tint:#1b2733;--quote:#2a2118}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0 auto;max-width:1040px;padding:28px 24px 56px;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:clamp(27px,4.6vw,46px);line-height:1.14;letter-spacing:-.02em;margin:18px 0 12px;max-width:22em;text-wrap:balance}
h1 span{display:block;color:var(--bad)}
h2{font-size:19px;line-height:1.3;margin:0 0 4px;overflow-wrap:anywhere;scroll-margin-top:24px}
h3{font-size:16px;margin:22px 0 4px}
p{margin:6px 0}
a{color:var(--fill);text-underline-offset:2px}
a:focus-visible,summary:focus-visible{outline:3px solid var(--fill);outline-offset:2px;border-radius:3px}
code{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--tint);padding:2px 6px;border-radius:5px;
overflow-wrap:anywhere}
.soft,.about,.path,.legend{color:var(--soft);font-size:14px}
.path{font-size:13px;overflow-wrap:anywhere;margin-top:14px}
.brand{color:var(--soft);font-size:14px;margin:0}.brand b{color:var(--ink);font-size:18px;letter-spacing:-.01em;margin-right:10px}
.what{max-width:48em;margin:14px 0}
.notice{background:var(--tint);border-left:4px solid var(--fill);border-radius:0 8px 8px 0;padding:9px 14px;font-size:14px}
.tiles{list-style:none;display:grid;grid-template-columns:repeat(3,1fr);gap:12px;margin:22px 0 14px;padding:0}
.four{grid-template-columns:repeat(4,1fr)}
.tiles li,.card{background:var(--card);border:1px solid var(--rule);border-radius:12px}
.tiles li{padding:14px 16px}
.tiles b{display:block;font-size:30px;line-height:1.2;letter-spacing:-.01em;font-variant-numeric:tabular-nums}
.tiles span{display:block;color:var(--soft);font-size:14px;line-height:1.4}
.bad{color:var(--bad)}.good{color:var(--good)}
.card{padding:20px 22px;margin:14px 0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(280px,1fr));gap:4px 36px}
.two h3{margin-top:12px}
.share{display:flex;justify-content:space-between;gap:12px;font-size:14px;margin:8px 0 4px}
.share span{color:var(--soft)}
svg{display:block;overflow:visible}
.bar{width:100%;height:12px}.bar rect{height:12px;rx:6px}
.time{width:100%;height:208px;margin:14px 0 4px}.time svg{width:100%}
.time text{fill:var(--soft);font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;paint-order:stroke;
stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.time .mid{text-anchor:middle}.time .to{text-anchor:end}
.grid{stroke:var(--rule)}.area{fill:var(--area)}
.line{fill:none;stroke:var(--fill);stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}
.cut line{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:4 3}.time .cut text{fill:var(--bad);font-weight:700}
.again{fill:var(--again);fill-opacity:.8}.track{fill:var(--rule)}.native{fill:var(--fill)}.ours{fill:var(--good)}
.legend{margin:26px 2px 0}.legend span{display:inline-block;margin-right:18px}
.legend i{display:inline-block;width:11px;height:11px;border-radius:50%;margin-right:6px}
.k1{background:var(--fill)}.k2{background:var(--bad)}.k3{background:var(--again)}
.cuts{margin:8px 0;padding-left:22px;font-size:15px}.cuts li::marker{color:var(--bad);font-weight:700}
table{border-collapse:collapse;width:100%;font-size:14px;line-height:1.4;margin:8px 0}
th,td{text-align:right;padding:7px 0 7px 14px;border-bottom:1px solid var(--rule);font-variant-numeric:tabular-nums;
font-weight:400;vertical-align:top}
thead th{color:var(--soft)}
th:first-child,td:first-child,.what{text-align:left}th:first-child,td:first-child{padding-left:0}
tbody th{overflow-wrap:anywhere}.index tbody th{width:100%}td{white-space:nowrap}tbody tr:last-child>*{border-bottom:0}
td.what{white-space:normal;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
td.what span,.index th span{display:block;color:var(--soft);font:13px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
blockquote{margin:6px 0;padding:8px 14px;border-left:4px solid var(--bad);background:var(--quote);border-radius:0 8px 8px 0;
overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--fill);margin-top:8px;padding:3px 0;width:fit-content}
footer{color:var(--soft);font-size:14px;margin-top:26px}footer h2{color:var(--ink);font-size:17px;margin-top:20px}
footer .card{color:var(--ink);font-size:15px}footer .card h2{margin-top:0}
@media(max-width:600px){body{padding:18px 14px 40px}.card{padding:16px 14px}.wide{display:none}
.tiles{grid-template-columns:1fr 1fr;gap:8px}.tiles li{padding:11px 12px}.tiles b{font-size:24px}.tiles span{font-size:13px}
.what{font-size:15px}th,td{padding-left:9px}.cuts{padding-left:20px}}
"""


def policy() -> str:
    """Give the content security policy: nothing may be loaded or run, and no style but this one."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
