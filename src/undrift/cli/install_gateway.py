"""``undrift install CLIENT --gateway``: the gateway's address into the user's own settings, and the gateway as a service.

Law: the file that holds the owner's token is for its owner alone, and in no repository. The note that takes the entry out
again is written before the entry.
"""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from undrift.cli import service as services
from undrift.cli.addresses import addresses_of
from undrift.cli.change import ChangeReport, Given, SettingsChange, check_lasts, program, user_folder
from undrift.cli.show import safe
from undrift.clients import place
from undrift.clients.addressed import Address, AddressedClient, gateway_of
from undrift.clients.base import EntryScope, command, is_ours
from undrift.clients.clouds import PAST_THE_GATEWAY, cloud_with
from undrift.clients.place import Memory
from undrift.clients.valuefile import JsonValues, ValueNote, inherited, noted
from undrift.errors import InputError, SettingsError
from undrift.profiles import PROFILES
from undrift.proxy.config import DEFAULT_UPSTREAMS, upstream_of
from undrift.settings import environment
from undrift.settings.files import user_file
from undrift.stores.secret import TOKEN_NAME, http_token
from undrift.stores.service import DEFAULT_PORT, PointedClient, Service, load, remove, save
from undrift.values.extras import command_for

__all__ = ["gateway_stays", "install_gateway", "keep_for_gateway", "shared_with_gateway", "uninstall_gateway"]

_Records = tuple[Mapping[str, Any], ...]

_REFRESH_S = 10  # the line counts down until the cache is cold
_TOKEN = "0" * 64  # in the place of the token until the user has agreed
_OPENAI = f"{DEFAULT_UPSTREAMS['openai']}/v1"  # as clients write it
_UPSTREAMS: Mapping[str, str] = {str(name): url for name, url in DEFAULT_UPSTREAMS.items()} | {"openai": _OPENAI}


@dataclass(frozen=True, slots=True)
class _GatewayPlan:
    """The values to set, the addresses that they replace, and what has to be known before (`warnings`)."""

    addresses: tuple[Address, ...]
    upstreams: dict[str, str]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def install_gateway(client: AddressedClient, given: Given, port: int | None, report: ChangeReport) -> None:
    """Point a client at the gateway, and make this a service if it is none yet.

    `port`: of the service; None keeps it. Raises InputError, SettingsError: the settings or the service cannot be had.
    """
    check_lasts()
    if not all(map(find_spec, ("aiohttp", "httptools", "uvicorn"))):
        raise InputError(
            f"the gateway needs the packages aiohttp, httptools and uvicorn; first: {command_for('proxy')}"
        )
    change, client_home = _change(client, given, report)
    service = load(change.home) or Service(port or DEFAULT_PORT)
    finds_home = change.home == user_folder() / ".undrift"  # where `undrift recall` looks by itself
    service = replace(service, recall_reachable=finds_home and shutil.which("undrift") is not None)
    if port not in (None, service.port):
        raise SettingsError(f"the gateway has port {service.port} already: {', '.join(service.clients)} use it")
    if (repository := place.repository_of(change.path)) is not None:
        raise InputError(
            f"{change.path}: is in the repository {repository}, and the address holds your token; "
            f"undrift wrap {client.name} needs no settings"
        )
    known = service.clients.get(client.name)
    if known is not None and known.path != str(change.path):
        raise InputError(
            f"{known.path} leads {client.title} to the gateway already; "
            f"first: undrift uninstall {client.name} --gateway; nothing was changed"
        )
    base = change.read(_without, client, change.before or "", known, service.port)
    plan = change.read(_planned, client, base, service.without(client.name))
    line = _status_line(client, base, change.home, client_home)

    def put(token: str) -> tuple[str, list[ValueNote]]:
        text, kept = base, []
        for key, value in [*_values(plan, service.port, token), *line.values]:
            text, one = client.form.put(text, key, value)
            kept.append(one)
        for item in _allowing(client, base, service):
            text, one = JsonValues().add(text, client.allowed, item)
            kept.append(one)
        return text, kept

    notes = (*client.notes, *plan.notes, *line.notes, *(plan.warnings if report.as_json else ()))
    manager = services.manager()
    now = change.before or ""
    is_set = known is not None and change.read(_is_set, client, now, plan, line.values, service.port, change.home)
    if is_set and not change.read(_allowing, client, now, service):
        change.nothing(
            "leads to the gateway already", (*plan.warnings, *_serve(manager, service, change.home, is_new=False))
        )
        return
    if manager is None:
        _check_running(client, plan, service, change.home)
    more = [f"The gateway becomes a service of yours ({manager.name}): {manager.folder}"] if manager else []
    if change.agreed(change.read(put, _TOKEN)[0], "Install?", [*(more if not service.clients else ()), *plan.warnings]):
        token = http_token(change.home)
        change = replace(change, secrets=(*change.secrets, token))  # the first client's token was only made now
        text, kept = put(token)
        grown = _with_folders(service, manager).with_client(client.name, _pointed(change, plan, kept, known))
        notes = (*_serve(manager, grown, change.home, is_new=not service.clients), _budget(manager), *notes)
        save(change.home, grown)
        if manager and service.clients and grown.upstreams != service.upstreams:
            manager.restart()
        place.write(change.path, text, 0o600)
        change.done(text, "installed", notes)


def uninstall_gateway(client: AddressedClient, given: Given, report: ChangeReport) -> None:
    """Take the gateway out of a client's settings; with the last client the service goes as well."""
    change, _ = _change(client, given, report)
    service = load(change.home) or Service()
    known = service.clients.get(client.name)
    if known is not None and known.path != str(change.path):  # the value stands where it was put
        path = Path(known.path)
        change = replace(change, path=path, before=place.read(path))
    text = change.before or ""
    after = change.read(_without, client, text, known, service.port)
    if known is None and after == text:
        change.nothing("does not lead to the gateway")
        return
    gone = known is not None and known.made_file and after.strip() in ("", "{}")
    if change.agreed(None if gone else after, "Uninstall?"):
        if gone and known is not None:
            place.remove(change.path, folders=known.made_folders)
        elif change.before is not None:
            place.write(change.path, after, known.mode if known else None)
            _hand_over(change, known)
        left, manager = service.without(client.name), services.manager()
        if left.clients:
            save(change.home, left)
            if manager and left.upstreams != service.upstreams:
                manager.restart()
        else:
            remove(change.home)
            if manager:
                manager.remove(made_folders=service.made_folders)
        notes = () if left.clients else ("The gateway is no service any more.",)
        if manager is None and left.upstreams != service.upstreams and services.is_listened_on(service.port):
            then = f", then start it again: {_start(change.home)}" if left.clients else "."
            runs = f"The gateway on 127.0.0.1:{service.port} still has the addresses of {client.title}. End it"
            notes = (f"{runs}{then}", *notes)
        change.done(None if gone else after, "uninstalled", notes)


def gateway_stays(change: SettingsChange) -> tuple[str, ...]:
    """Return how to remove the gateway, for a user who has it and not what he wants to remove."""
    name, service = change.client.name, load(change.home)
    if service is None or name not in service.clients:
        return ()
    home = () if change.home == user_folder() / ".undrift" else ("--home", str(change.home))
    words = ("undrift", "install", name, "--gateway", "--undo", *home)
    return (f"{change.client.title} uses the gateway. To remove that: {shlex.join(words)}",)


def shared_with_gateway(change: SettingsChange, values: _Records) -> tuple[_Records, _Records]:
    """Divide the values that came with the hooks: those that go with them, and those that the gateway still needs."""
    service = load(change.home) if values else None
    known = service.clients.get(change.client.name) if service and service.recall_reachable else None
    needed = PROFILES[change.client.name].recall.allowing if known and known.path == str(change.path) else ()
    shared = tuple(one for one in values if one.get("item") in needed)
    return tuple(one for one in values if one not in shared), shared


def keep_for_gateway(change: SettingsChange, memory: Memory, shared: _Records) -> None:
    """Let the gateway's entry in a file know which values it takes over, and that a file that we made goes with it."""
    service = (load(change.home) if memory.made_file or shared else None) or Service()
    for name, client in service.clients.items():
        if client.path == str(change.path):
            kept = replace(client, kept=(*shared, *client.kept))
            if memory.made_file:
                kept = replace(kept, made_file=True, made_folders=memory.made_folders)
            save(change.home, service.with_client(name, kept))


def _hand_over(change: SettingsChange, known: PointedClient | None) -> None:
    """Let the entry that is still in a file know what goes with it: a list, and the file, that the gateway's entry made."""
    memory = place.recall(change.home, change.path)
    if memory is None or known is None:
        return
    values = [noted(one) for one in memory.values]
    for former in map(noted, known.kept):
        values = [inherited(one, former) for one in values]
    kept = replace(memory, values=tuple(map(asdict, values)))
    if known.made_file:
        kept = replace(kept, made_file=True, made_folders=known.made_folders)
    place.remember(change.home, change.path, kept)


def _change(client: AddressedClient, given: Given, report: ChangeReport) -> tuple[SettingsChange, Path]:
    client_home = given.client_home(client.name, client.folder)
    paths = client.paths(EntryScope(client_home))
    path = next((path for path in reversed(paths) if path.exists()), paths[0])
    home = given.data_home()
    secrets = tuple(filter(None, (_TOKEN, _token_of(home))))
    return SettingsChange(client, path, place.read(path), home, given.yes, report, secrets), client_home


def _token_of(home: Path) -> str:
    """Return the token of a home; empty if none was made yet, or it cannot be read."""
    try:
        return (home / TOKEN_NAME).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _without(client: AddressedClient, text: str, known: PointedClient | None, port: int) -> str:
    """Return the settings without our values; one that the user has changed since is his, and stays."""
    for one in reversed([noted(record) for record in known.kept] if known else []):
        if one.item:
            text = JsonValues().drop(text, one)
        elif _leads_here(client.form.value(text, one.key), port):
            text = client.form.take(text, one.key, one)
    return text


def _leads_here(value: Any, port: int) -> bool:
    """Return whether a value in the settings is ours: an address of the service, a list of such, or our status line."""
    if isinstance(value, dict):
        return is_ours(str(value.get("command", "")))
    if isinstance(value, list):
        return bool(value) and all(_leads_here(str(one).partition("=")[2], port) for one in value)
    found = gateway_of(value)
    return found is not None and found[0] == port


def _planned(client: AddressedClient, text: str, others: Service) -> _GatewayPlan:
    """Decide which values are set. The user's own address becomes the gateway's upstream, if no other client has another."""
    addresses, upstreams, notes = [], dict[str, str](), []
    for address in client.addresses(text):
        former = client.form.value(text, address.key)
        own = former if isinstance(former, str) and gateway_of(former) is None else None
        wanted = {name: own or _UPSTREAMS[name] for name in address.providers}
        taken = {name: url for name, url in others.upstreams.items() if name in wanted and not _same(url, wanted[name])}
        if taken:
            name, url = next(iter(taken.items()))
            users = [known for known, one in others.clients.items() if name in one.upstreams]
            notes.append(
                f"{'.'.join(address.key)} stays: the gateway sends requests for {name} to {safe(url)} "
                f"({', '.join(users)}), not to {safe(wanted[name])}"
            )
            continue
        for url in wanted.values():
            upstream_of(url)
        addresses.append(address)
        upstreams |= wanted
    if not addresses:
        raise InputError(f"{'; '.join(notes)}; `undrift wrap {client.name}` gives it a gateway of its own")
    cloud = cloud_with(client.form.value(text, ("env",)), environment()) if client.name == "claude" else None
    past = () if cloud is None else (f"Claude Code uses {cloud.title}, and {PAST_THE_GATEWAY}.",)
    return _GatewayPlan(tuple(addresses), upstreams, tuple(notes), past)


def _check_running(client: AddressedClient, plan: _GatewayPlan, service: Service, home: Path) -> None:
    """Raise SettingsError if a gateway runs that nothing restarts, and that would send a client's keys to other addresses."""
    known = {**_UPSTREAMS, **service.upstreams}
    other = [url for name, url in plan.upstreams.items() if upstream_of(url) != upstream_of(known[name])]
    if other and service.clients and services.is_listened_on(service.port):
        raise SettingsError(
            f"the gateway that runs on 127.0.0.1:{service.port} does not know {safe(other[0])}; it would send "
            f"{client.title}'s keys elsewhere. End it, repeat this command, then start it again: {_start(home)}"
        )


def _budget(manager: services.Manager | None) -> str:
    """Return which budget counts, and how another one comes to count."""
    again = manager.restart_line if manager else "end the gateway and start it again"
    return (
        "Text leaves where that costs nothing, and at three quarters of the model's window. For a fixed budget set budget_tokens in "
        f"{user_file(environment())}, then {again}. The client may compact before a prompt is so large."
    )


def _with_folders(service: Service, manager: services.Manager | None) -> Service:
    """Return the service with the number of folders that its first client makes."""
    if manager is None or service.clients:
        return service
    return replace(service, made_folders=place.missing_folders(manager.folder / "unit"))


def _serving(home: Path) -> list[str]:
    """Return the words behind the program that make it serve the clients of a home."""
    return ["proxy", "--service", f"--home={home}"]


def _start(home: Path) -> str:
    """Return the command line that starts the gateway by hand."""
    return shlex.join([*(["undrift"] if shutil.which("undrift") else program()), *_serving(home)])


def _same(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _values(plan: _GatewayPlan, port: int, token: str) -> list[tuple[tuple[str, ...], Any]]:
    at = addresses_of(f"http://127.0.0.1:{port}", token, plan.upstreams.get("openai", _OPENAI))
    return [(address.key, address.write(at)) for address in plan.addresses]


@dataclass(frozen=True, slots=True)
class _StatusLine:
    values: tuple[tuple[tuple[str, ...], Any], ...] = ()
    notes: tuple[str, ...] = ()


def _status_line(client: AddressedClient, text: str, home: Path, client_home: Path) -> _StatusLine:
    """Return our status line for a client that has none; how to add ours to the user's own, if he has one."""
    if not client.status_line:
        return _StatusLine()
    line = command(program(), client.name, home, client_home)("StatusLine", ())
    if client.form.value(text, client.status_line) is None:
        entry = {"type": "command", "command": line, "refreshInterval": _REFRESH_S}
        return _StatusLine(((client.status_line, entry),))
    return _StatusLine(notes=(f"Your status line stays. To add undrift's, let your command give its stdin to: {line}",))


def _allowing(client: AddressedClient, text: str, service: Service) -> tuple[str, ...]:
    """Return what is to be added to the commands that the agent may run without a question: our recall, which only reads."""
    if not client.allowed or not service.recall_reachable:
        return ()
    found = JsonValues().value(text, client.allowed)
    known = found if isinstance(found, list) else ()
    return tuple(item for item in PROFILES[client.name].recall.allowing if item not in known)


def _is_set(client: AddressedClient, text: str, plan: _GatewayPlan, line: Sequence[Any], port: int, home: Path) -> bool:
    """Return whether the settings have exactly these values with the token of the home."""
    token = _token_of(home)
    values = [*_values(plan, port, token), *line]
    return bool(token) and all(client.form.value(text, key) == value for key, value in values)


def _pointed(
    change: SettingsChange, plan: _GatewayPlan, kept: Sequence[ValueNote], known: PointedClient | None
) -> PointedClient:
    is_new = change.before is None
    mode = place.mode_of(change.path)
    return PointedClient(
        str(change.path),
        plan.upstreams,
        tuple(asdict(one) for one in kept),
        is_new or bool(known and known.made_file),
        place.missing_folders(change.path) if is_new else known.made_folders if known else 0,
        known.mode if known else None if mode == 0o600 else mode,
    )


def _serve(manager: services.Manager | None, service: Service, home: Path, *, is_new: bool) -> tuple[str, ...]:
    """Make the gateway a service if it is none; return what the user has to know.

    `is_new`: this is the first client of the service. Raises SettingsError: the port is taken, or the manager refuses.
    """
    words = [*program(), *_serving(home)]
    if manager is None:
        if is_new:
            services.check_port(service.port)
        runs = services.is_listened_on(service.port)
        state = (
            f"A program listens on 127.0.0.1:{service.port}. If it is no gateway of undrift, end it. To start"
            if runs
            else "Start"
        )
        return (f"Neither systemd nor launchd serves you here. {state} the gateway yourself: {_start(home)}",)
    if manager.is_installed(words, service.port):
        manager.start()
        return ()
    manager.check_home(home)
    if is_new:
        services.check_port(service.port)
    former = load(home)
    save(home, service)  # the service reads it at its start
    try:
        manager.install(words, service.port)
    except SettingsError:
        if former is None:
            remove(home)
        else:
            save(home, former)
        raise
    return (f"The gateway listens on 127.0.0.1:{service.port} and starts at the first request ({manager.name}).",)
