"""Secrets do not get past the mask, ordinary text does, and hostile text does not hold it up."""

import base64
import hashlib
import json
from re import _constants, _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.text.mask_keys import VENDORS, key_of
from tests.long_form import sized
from undrift.core.text.own_patterns import OWN_PATTERNS
from undrift.core.text.secrets import PATTERNS, mask

HEX = "0123456789abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
URLSAFE = ALNUM + "-_"


def run(alphabet: str, length: int, seed: str = "a") -> str:
    """A reproducible run of characters that looks random; built here so that no scanner finds a secret in this file."""
    out = ""
    while len(out) < length:
        digest = hashlib.sha512(f"{seed}{len(out)}{length}".encode()).digest()
        out += "".join(alphabet[byte % len(alphabet)] for byte in digest)
    return out[:length]


def b64(length: int, seed: str = "b") -> str:
    raw = hashlib.sha512(seed.encode()).digest() * (length // 64 + 1)
    return base64.b64encode(raw[:length]).decode()


def block(kind: str, body: str) -> str:
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


def jwt() -> str:
    part = lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")  # noqa: E731
    return ".".join(
        [part('{"alg":"HS256","typ":"JWT"}'), part('{"sub":"1234567890","iat":1516239022}'), run(URLSAFE, 43)]
    )


# name -> (text before, secret, text after)
SHAPES = {
    "RSA private key": ("", block("RSA PRIVATE" + " KEY", b64(600)), ""),
    "PKCS 8 private key": ("", block("PRIVATE" + " KEY", b64(400)), ""),
    "encrypted private key": ("", block("ENCRYPTED PRIVATE" + " KEY", b64(400)), ""),
    "OpenSSH private key": ("", block("OPENSSH PRIVATE" + " KEY", "b3BlbnNzaC1rZXktdjEA" + b64(300)), ""),
    "PGP private key": ("", block("PGP PRIVATE" + " KEY BLOCK", "Version: GnuPG v2\n\n" + b64(500)), ""),
    "PuTTY private key": ("PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 4\n", b64(240), "\nPrivate-MAC: 0"),
    "JSON web key": ('{"kty":"EC","crv":"P-256","d":"', run(URLSAFE, 43, "k"), '"}'),
    "AWS access key id": ("", "AK" + "IA" + run(UPPER, 16), ""),
    "AWS session key id": ("", "AS" + "IA" + run(UPPER, 16), ""),
    "AWS secret key": ("aws_secret_access_key = ", run(ALNUM + "/+", 40), ""),
    "AWS secret key in JSON": ('"SecretAccessKey": "', run(ALNUM + "/+", 40, "j"), '"'),
    "GitHub personal token": ("", "gh" + "p_" + run(ALNUM, 36), ""),
    "GitHub app token": ("", "gh" + "s_" + run(ALNUM, 36), ""),
    "GitHub fine-grained token": ("", "github" + "_pat_" + run(ALNUM, 22) + "_" + run(ALNUM, 59), ""),
    "GitLab token": ("", "gl" + "pat-" + run(URLSAFE, 20), ""),
    "Slack bot token": ("", "xo" + "xb-" + run("0123456789", 12) + "-" + run(ALNUM, 24), ""),
    "Slack app token": ("", "xap" + "p-1-" + run(UPPER, 11) + "-" + run("0123456789", 13) + "-" + run(HEX, 64), ""),
    "Slack webhook": ("https://hooks.slack.com/services/", f"T{run(UPPER, 8)}/B{run(UPPER, 8)}/{run(ALNUM, 24)}", ""),
    "Discord webhook": ("https://discord.com/api/webhooks/" + run("0123456789", 18) + "/", run(URLSAFE, 68), ""),
    "Stripe live key": ("", "sk_" + "live_" + run(ALNUM, 24), ""),
    "Stripe restricted key": ("", "rk_" + "test_" + run(ALNUM, 24), ""),
    "Stripe webhook secret": ("", "wh" + "sec_" + run(ALNUM, 32), ""),
    "Twilio API key": ("", "S" + "K" + run(HEX, 32), ""),
    "Twilio auth token": ("TWILIO_AUTH_TOKEN=", run(HEX, 32), ""),
    "SendGrid key": ("", "S" + "G." + run(URLSAFE, 22) + "." + run(URLSAFE, 43), ""),
    "npm token": ("", "np" + "m_" + run(ALNUM, 36), ""),
    "npmrc token": ("//registry." + "npmjs" + ".org/:_authToken=", run(HEX, 32, "n"), ""),
    "PyPI token": ("", "py" + "pi-AgEIcHlwaS5vcmc" + run(URLSAFE, 120), ""),
    "Hugging Face token": ("", "h" + "f_" + run(ALNUM, 34), ""),
    "Google API key": ("", "AI" + "za" + run(URLSAFE, 34) + "x", ""),
    "Google OAuth token": ("", "ya" + "29." + run(URLSAFE, 100), ""),
    "Google client secret": ("", "GOC" + "SPX-" + run(URLSAFE, 28), ""),
    "Anthropic key": ("", "sk-" + "ant-api03-" + run(URLSAFE, 93) + "AA", ""),
    "OpenAI key": ("", "sk-" + run(ALNUM, 20) + "T3Blbk" + "FJ" + run(ALNUM, 20), ""),
    "OpenAI project key": ("", "sk-" + "proj-" + run(URLSAFE, 120), ""),
    "OpenRouter key": ("", "sk-" + "or-v1-" + run(HEX, 64), ""),
    "Groq key": ("", "gs" + "k_" + run(ALNUM, 52), ""),
    "DigitalOcean token": ("", "dop" + "_v1_" + run(HEX, 64), ""),
    "Shopify token": ("", "shp" + "at_" + run(HEX, 32), ""),
    "Databricks token": ("", "da" + "pi" + run(HEX, 32), ""),
    "Docker token": ("", "dck" + "r_pat_" + run(URLSAFE, 27), ""),
    "Linear key": ("", "lin" + "_api_" + run(ALNUM, 40), ""),
    "Vault token": ("", "hv" + "s." + run(URLSAFE, 90), ""),
    "xAI key": ("", "xa" + "i-" + run(ALNUM, 80), ""),
    "Perplexity key": ("", "pp" + "lx-" + run(ALNUM, 48), ""),
    "Replicate token": ("", "r" + "8_" + run(ALNUM, 37), ""),
    "Atlassian token": ("", "ATA" + "TT3xFfGF0" + run(URLSAFE, 160) + "=" + run(HEX.upper(), 8), ""),
    "Notion token": ("", "nt" + "n_" + run(ALNUM, 46), ""),
    "Postman key": ("", "PM" + "AK-" + run(HEX, 24) + "-" + run(HEX, 34), ""),
    "Grafana token": ("", "gl" + "sa_" + run(ALNUM, 32) + "_" + run(HEX, 8), ""),
    "age key": ("", "AGE-SECRET" + "-KEY-1" + run(UPPER, 58), ""),
    "Telegram bot token": ("bot" + run("0123456789", 10) + ":", "AA" + run(URLSAFE, 33), ""),
    "JSON web token": ("", jwt(), ""),
    "bearer header": ("Authorization: Bearer ", run(ALNUM, 40), ""),
    "bearer header in curl": ('curl -H "Authorization: Bearer ', run(ALNUM, 32), '" https://api.test/v1'),
    "basic header": ("Authorization: Basic ", base64.b64encode(b"admin:open-sesame").decode(), ""),
    "token header": ('"Authorization": "token ', run(HEX, 40), '"'),
    "URL password": ("postgres://app:", "hun" + "ter2x", "@db.internal:5432/main"),
    "URL password with an at sign": ("redis://app:", "p@" + "ss9w", "@cache.internal:6379"),
    "URL password without a user": ("redis://:", run(ALNUM, 24), "@cache.internal:6379"),
    "environment file": ("DB_PASSWORD=", "Tr0ub4d" + "or3", ""),
    "exported key": ("export API_KEY=", run(ALNUM, 32), ""),
    "JSON password": ('{"user": "root", "password": "', "hunter" + "2", '"}'),
    "escaped JSON password": ('{\\"password\\": \\"', "c0rrect" + "horse", '\\"}'),
    "YAML secret": ("secret_key: ", run(ALNUM, 50), ""),
    "Python assignment": ('client_secret: str = "', run(URLSAFE, 40), '"'),
    "header of an API": ("x-api-key: ", run(ALNUM, 40), ""),
    "XML password": ("<password>", "s3cr3t" + "Pass", "</password>"),
    "Azure storage key": ("AccountName=x;AccountKey=", b64(64), ";EndpointSuffix=core.windows.net"),
}

AROUND = {
    "alone": "{}",
    "a line of a log": "2026-03-01 12:00:00 INFO started with {} (ok)\nnext line",
    "an escape before it": "first\\n{}\\nlast",
    "quoted": 'see "{}" above',
    "foreign script": "キーは {} です",
}

ORDINARY = {
    "a git hash": "commit 6f1ed002ab5595859014ebf0951522d9a1b2c3d4",
    "a UUID": "session 123e4567-e89b-12d3-a456-426614174000 resumed",
    "an image": "data:image/png;base64," + b64(3000),
    "a digest": "sha256:" + "ab12" * 16,
    "a thinking signature": '"signature": "' + b64(400) + '"',
    "a lock file": '"integrity": "sha512-' + b64(64) + '"',
    "a placeholder": 'API_KEY="your-api-key-123-here" TOKEN=${GITHUB_TOKEN} PASSWORD=<password1> SECRET="xxxxxxxx1234"',
    "a look-up": 'token = os.environ["TOKEN_V2"]; api_key = get_key1(region2, name3); secret = settings.secret2_of_v3',
    "code": "def token_count(text: str) -> int:\n    max_tokens = 4096\n    if token == TOKEN_TYPE_2: return hash2",
    "a test report": "--- PASS: TestPhaseFromString/active2 (0.00s)\n--- PASS: TestV2/idle",
    "a colour": "--pass: #34d399; --key: #16a34a;",
    "a schema": '{"password": {"type": "string"}, "token": "string", "apiKey": "the key of the service"}',
    "a URL with a port": "http://localhost:3000/a@b ssh://git@github.com:22/x https://user:password@example.org",
    "words with hyphens": "a task-orientation-and-risk-assessment-page, sk-fading-circle-with-a-long-class-name",
    "an association": '"AWS::EC2::EIPAssociation": "a267820d6250f189"',
    "a template": "postgres://$USER:${PASSWORD}@host/db and mysql://app:{{ password }}@host",
    "a described header": "Authorization: Basic abcdefghi, Authorization: Basic word; authorization=tok9(x1y2z3)",
    "a public key": block("PUBLIC KEY", b64(300)),
    "a described key": "-----BEGIN RSA PRIVATE" + " KEY-----\n...\n-----END RSA PRIVATE" + " KEY-----",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_published_shape_is_masked_wherever_it_stands(shape, around):
    before, secret, after = SHAPES[shape]
    text = AROUND[around].format(before + secret + after)
    masked = mask(text)
    assert secret not in masked.text
    assert masked.text.endswith(AROUND[around].rpartition("{}")[2])  # only the secret went
    assert before in masked.text
    assert after in masked.text
    assert any(text[span.start : span.start + span.length] == secret for span in masked.spans)


def test_the_shapes_are_as_many_as_promised_and_leave_no_pattern_out():
    assert len(SHAPES) >= 30
    found = {span.name for shape in SHAPES.values() for span in mask("".join(shape)).spans}
    others = {span.name for shape in VENDORS for span in mask(key_of(shape)).spans}
    assert {pattern.name for pattern in OWN_PATTERNS} <= found | others <= {pattern.name for pattern in PATTERNS}


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_text_stays_as_it_is(what):
    text = ORDINARY[what]
    masked = mask(text)
    assert masked.text is text
    assert masked.spans == ()


def test_the_marker_names_the_kind_and_the_rest_of_the_text_stays():
    key = SHAPES["Anthropic key"][1]
    masked = mask(f"key {key}, twice {key}.")
    assert masked.text == "key [masked:anthropic-key], twice [masked:anthropic-key]."
    assert [(span.name, span.start, span.length) for span in masked.spans] == [
        ("anthropic-key", 4, len(key)),
        ("anthropic-key", 4 + len(key) + 8, len(key)),
    ]


def test_only_the_password_of_a_url_goes():
    assert mask("amqp://rabbit:" + "carr0t" + "@mq:5672/v").text == "amqp://rabbit:[masked:url-password]@mq:5672/v"


def test_the_beginning_of_a_private_key_whose_end_was_cut_off_is_masked_and_what_follows_stays():
    lines = [run(ALNUM, 64, str(n)) for n in range(4)]
    text = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "\n".join(lines) + "\n\nThe rest was cut. Go on."
    masked = mask(text).text
    assert not any(line in masked for line in lines)
    assert masked.endswith("The rest was cut. Go on.")


def test_overlapping_secrets_share_one_marker_with_the_name_of_the_first():
    text = "Authorization: Bearer " + jwt()
    masked = mask(text)
    assert len(masked.spans) == 1
    assert masked.text in ("Authorization: Bearer [masked:authorization]", "Authorization: Bearer [masked:jwt]")


def test_what_a_marker_uncovers_is_masked_as_well_and_every_span_stands_in_the_text_before():
    token, first, second = SHAPES["npm token"][1], "hunter" + "2x", run(HEX, 40)
    # The first looks like the name of a scheme until the second is gone.
    text = f"{token} Authorization: {first} {second}\nsee {run(HEX, 8)}"
    masked = mask(text)
    assert masked.text == (
        f"[masked:npm-token] Authorization: [masked:authorization] [masked:authorization]\nsee {run(HEX, 8)}"
    )
    assert [text[span.start : span.start + span.length] for span in masked.spans] == [token, first, second]


def test_a_secret_between_the_brackets_of_a_marker_is_still_a_secret():
    secret = "sk-" + run(HEX, 30)
    assert secret not in mask(f"[masked:{secret}]").text


def test_a_lone_surrogate_does_not_disturb():
    key = SHAPES["GitHub personal token"][1]
    assert mask(f"\ud800 {key} \udfff").text == "\ud800 [masked:github-token] \udfff"


PIECES = [shape[1] for shape in SHAPES.values()] + [
    *(
        "password=",
        "token",
        '"api_key": "',
        "secret",
        " = ",
        ":",
        "=",
        "'",
        '"',
        "\\n",
        "\\",
        "\n",
        " ",
        "://u:",
        "@h",
        ".",
    ),
    *(
        "[masked:",
        "]",
        "[masked:secret]",
        "[masked:github-token]",
        "Authorization: ",
        "Bearer ",
        "\x1b[32m",
        "\\u001b[K",
        "%3D",
        "%26",
        "&page=2",
        "Basic ",
        "-",
        "_",
        "a1B2",
        "K",
        "sshpass -p ",
        "Cookie: sid=",
        "kind: Secret\ndata:\n  pw: ",
        "nAuthorization: \n",
        "%41",
        "\\u0041",
        "\\/",
        "a1B2c3D4e5F6g7H8",
        base64.b64encode(b"password=hunter2xyz and more").decode(),
        "Y" * 30,
    ),
]
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=14).map("".join)


@given(hostile)
def test_masking_twice_is_masking_once(text):
    once = mask(text)
    assert mask(once.text).text == once.text


@given(hostile)
def test_a_string_of_json_is_one_after_it_was_masked(text):
    once = json.dumps(text)
    for whole in (once, json.dumps({"out": once})):
        value = json.loads(mask(whole).text)
        assert isinstance(value, str) or isinstance(json.loads(value["out"]), str)


def test_a_token_whose_first_letter_belongs_to_an_escape_is_none():
    token = "n" + "pm_" + run(ALNUM, 36)
    assert json.loads(mask(json.dumps("\n" + token[1:])).text) == "\n" + token[1:]
    assert mask(json.dumps("\n" + token)).text == '"\\n[masked:npm-token]"'


@given(hostile)
def test_the_spans_are_in_order_and_rebuild_the_masked_text(text):
    masked, end, rebuilt = mask(text), 0, ""
    for span in masked.spans:
        assert span.length > 0
        assert span.start >= end
        rebuilt += text[end : span.start] + f"[masked:{span.name}]"
        end = span.start + span.length
    assert end <= len(text)
    assert masked.text == rebuilt + text[end:]


def test_of_two_equal_texts_each_is_given_back_as_the_object_it_is():
    first, second = (b"no secret".decode() for _ in range(2))
    assert first is not second
    assert mask(first).text is first
    assert mask(second).text is second


@given(st.text())
def test_any_text_without_a_secret_is_the_very_same_object(text):
    masked = mask(text)
    assert masked.spans or masked.text is text


# The detector's rules are alike: each twelfth of them.
HOSTILE = sized(8_000, 25_000)
"""The characters of each hostile text."""
TRIED = [*range(len(OWN_PATTERNS)), *range(len(OWN_PATTERNS), len(PATTERNS), 12)]


@pytest.mark.parametrize("number", TRIED, ids=lambda n: f"{n}-{PATTERNS[n].name}")
def test_much_hostile_text_comes_to_an_end(number):
    """An expression that ran away would need hours here; nothing is timed (tests/house/test_expression_cost.py times each)."""
    literal = PATTERNS[number].literals[0]
    seeds = [
        literal,
        literal + " ",
        literal + "aaaa-",
        literal + "=",
        literal + ":\\'",
        literal + '="x',
        literal + "a1" * 2000,
    ]
    for seed in [*seeds, literal + "eyJ" + "a" * 40 + ".", literal + "://a:b", literal + "-" * 4]:
        mask((seed * (HOSTILE // len(seed) + 1))[:HOSTILE])
    mask(literal + "a" * HOSTILE)


def test_no_unbounded_quantifier_stands_inside_another():
    def depth(node) -> int:
        """How many unbounded quantifiers stand inside each other."""
        deepest = 0
        if isinstance(node, _parser.SubPattern):
            for operator, argument in node.data:
                quantifier = operator in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
                own = 1 if quantifier and argument[1] is _constants.MAXREPEAT else 0
                deepest = max(deepest, own + depth(argument))
        elif isinstance(node, (tuple, list)):
            deepest = max(map(depth, node), default=0)
        return deepest

    assert depth(_parser.parse("(?:a+b)*")) == 2  # the walker itself can see one
    assert not [pattern.name for pattern in PATTERNS if depth(_parser.parse(pattern.expression)) > 1]


def test_every_pattern_has_a_name_that_its_marker_can_bear():
    for pattern in PATTERNS:
        assert mask(f"[masked:{pattern.name}]").spans == ()
        assert pattern.literals
        assert all(pattern.literals)
        assert not pattern.folded or all(literal == literal.lower() for literal in pattern.literals)


def test_of_recorded_sessions_at_most_one_character_in_a_hundred_thousand_is_masked(recorded_files):
    read = masked = 0
    for path in recorded_files:
        if read > 8_000_000:
            break
        text = path.read_bytes().decode("utf-8", "replace")
        read += len(text)
        masked += sum(span.length for span in mask(text).spans)
    assert read > 1_000_000
    assert masked <= read / 100_000
