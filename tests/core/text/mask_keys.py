"""The shapes of keys that vendors publish: ``{h32}`` is 32 hexadecimal digits; a bar keeps scanners from finding one here."""

import hashlib
import re
import uuid

_LOWER, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"

ALPHABETS = {
    "h": "0123456789abcdef",
    "a": _LOWER.upper() + _LOWER + _DIGITS,
    "b": _LOWER.upper() + _LOWER + _DIGITS + "+/",
    "l": _LOWER + _DIGITS,
    "u": _LOWER.upper() + _DIGITS,
    "w": _LOWER.upper() + _LOWER + _DIGITS + "-_",
    "d": _DIGITS,
    "s": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}

_SHAPES = """
    AK|IA{u16} sk-|ant-api03-{w93}AA sk-|or-v1-{h64} sk-|proj-{a60}7{a59} gh|p_{a36} gh|s_{a36} github|_pat_{a22}_{a59}
    gl|pat-{a20} xo|xb-{d12}-{a24} sk_|live_{a24} rk_|test_{a24} wh|sec_{a32} S|K{h32} S|G.{a22}.{a43} np|m_{a36}
    py|pi-AgEIcHlwaS5vcmc{a120} h|f_{a34} AI|za{a35} ya|29.{a99}7 GOC|SPX-{a27}7 gs|k_{a52} xa|i-{a80} pp|lx-{a48}
    r|8_{a37} dop|_v1_{h64} shp|at_{h32} da|pi{h32} dck|r_pat_{a27} lin|_api_{a40} nt|n_{a46} PM|AK-{h24}-{h34}
    gl|sa_{a32}_{h8} hv|s.{a90} ATA|TT3xFfGF0{a160} AGE-SECRET|-KEY-1{u58}
    AB|SK{a110} nv|api-{a64} pc|sk_{a6}_{a64} tv|ly-dev-{a31}7 ji|na_{h32}{a28} cs|k-7{l47} ls|v2_pt_{h32}_{h10}
    sk-|lf-{uuid} sk_|{h48} pa|-7{a42} tgp|_v1_{a43} fw|_7{a22} e2|b_{h40} fc|-{h32} apify|_api_{a36} ph|x_7{a42}
    wandb|_v1_{a60} sb_|secret_7{a30} sb|p_{h40} ts|key-auth-k7{a10}-{a32} psc|ale_tkn_{a43} psc|ale_pw_{a43}
    d|p.pt.{a43} d|p.st.dev.{a43} hv|b.{a90} do|o_v1_{h64} HR|KU-{uuid} HR|KU-AA{a58} fo|1_7{a42} fm|2_7{a120}
    nf|p_{a36} na|pi_7{l62} v1|.0-{h24}-{h146} pu|l-{h40} LT|AI7{a19} AQ|VN7{a37} dck|r_oat_{a27} bk|ua_{h40} pn|u_{a36}
    sg|p_{h40} ruby|gems_{h48} ci|o7{a31} CLO|JARS_{h60} sntr|ys_{a120} sntr|yu_{h64} gl|c_{a64} dt|0c01.{u24}.{u64}
    NR|AK-{u27} sd|k-{uuid} ke|y-{h32} xkey|sib-{h64}-{a16} re|_7{a7}_{a24} M|T{a22}.{a6}.7{a37} fi|gd_{a40}
    pa|t{a14}.{h64} pat|-na1-{uuid} CF|PAT-{a43} s|l.u.7{a135} lin|_oauth_{a40} tf|p_{a44} ops|_eyJ{a250} ai|o_7{a27}
    rd|me_{l70} sq0|csp-{a43} sq0|atp-{a22} EA|AA7{a59} access_token|$production${l16}${h32} access|-production-{uuid}
    shippo|_live_{h40} FLWSE|CK-{h32}-X duffel|_live_{a43} EZ|AK7{a53} {a14}.atlas|v1.{a67}
    cf|ut_{a48} IQoJb3|JpZ2luX2Vj{a300} YC|7{a37} t1|.{w60}.{a86}== hc|xik_{a58} sk.|eyJ{a60}.{a22} xoxe|.xoxp-1-{a166}
    os_v2|_app_{l103} 100|0.{h32}.{h32} AAAAAAAAAAAAAAAAA|AAAAA7{a20}%3D{a60} api_|live_us.7{a10}.{a32}
    5|H{s49} K|w{s50}
"""
VENDORS = _SHAPES.split()


def key_of(shape: str) -> str:
    """Make the key of a shape; by itself, so that this file holds no key."""

    def part(found: re.Match[str]) -> str:
        seed = hashlib.sha512(f"{shape}{found.start()}".encode()).digest()
        if found[1] == "uuid":
            return str(uuid.UUID(bytes=seed[:16], version=4))
        alphabet, length = ALPHABETS[found[1]], int(found[2])
        stream = b"".join(hashlib.sha512(seed + bytes([n])).digest() for n in range(length // 64 + 1))
        return "".join(alphabet[byte % len(alphabet)] for byte in stream[:length])

    return re.sub(r"\{(uuid|[a-z])(\d*)\}", part, shape.replace("|", ""))
