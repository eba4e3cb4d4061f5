"""The address of a home on a server: what is the driver's reaches it as it was given, and no password is shown."""

from pathlib import Path

import pytest

from undrift.errors import InputError
from undrift.stores.postgres.address import ServerAddress, with_owner, without_password
from undrift.stores.served import home_path
from undrift.values.scope import Scope

DRIVERS = "application_name=a%20b%2Bc&options=-c%20geqo%3Doff&sslrootcert=/etc/a+b.pem"
MIXED = f"postgresql://ann@db:5432/shop?undrift_person=ann&{DRIVERS}&undrift_schema=h"


def test_parameters_of_the_driver_reach_it_as_they_were_given():
    address = ServerAddress.parsed(MIXED)
    assert address.url == f"postgresql://ann@db:5432/shop?{DRIVERS}"
    assert (address.owner.person, address.schema) == ("ann", "h")


def test_the_driver_reads_what_was_meant():
    conninfo = pytest.importorskip("psycopg.conninfo", reason="needs the extra postgres")
    wanted = {"application_name": "a b+c", "options": "-c geqo=off", "sslrootcert": "/etc/a+b.pem"}
    for url in (MIXED, with_owner(MIXED, Scope(person="bob")), without_password(MIXED)):
        assert wanted.items() <= conninfo.conninfo_to_dict(ServerAddress.parsed(url).url).items()


def test_an_address_for_another_owner_differs_in_the_owner_alone():
    given = with_owner(MIXED, Scope(person="bo b", organisation="a&b"))
    assert ServerAddress.parsed(given).url == ServerAddress.parsed(MIXED).url
    assert ServerAddress.parsed(given).owner == Scope(person="bo b", organisation="a&b")
    assert with_owner(MIXED, Scope()) == MIXED


def test_an_address_that_is_shown_lacks_its_password_and_nothing_else():
    secret = f"postgresql://ann:pw@db/shop?password=pw&{DRIVERS}"
    assert without_password(secret) == f"postgresql://ann@db/shop?{DRIVERS}"
    assert str(ServerAddress.parsed(secret)) == "postgresql://ann@db/shop"
    assert "pw" not in repr(ServerAddress.parsed(secret))


def test_an_address_of_several_servers_is_shown_and_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    several = "postgresql://ann:pw@one:1,two:2/shop"
    assert str(ServerAddress.parsed(several)) == "postgresql://ann@one:1,two:2/shop"
    assert home_path(several).name.startswith("one-1-two-2-shop-")
    assert home_path(several) != home_path(several.replace("two:2", "two:3"))


@pytest.mark.parametrize("secret", ["p#w", "p?w", "p#?w"])
def test_a_password_with_signs_of_an_address_is_not_shown(secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    given = f"postgresql://ann:{secret}@db:5432/shop?undrift_person=ann"
    assert str(ServerAddress.parsed(given)) == "postgresql://ann@db:5432/shop"
    assert without_password(given) == "postgresql://ann@db:5432/shop?undrift_person=ann"
    assert home_path(given) == home_path(given.replace(secret, "other"))
    conninfo = pytest.importorskip("psycopg.conninfo", reason="needs the extra postgres")
    assert conninfo.conninfo_to_dict(ServerAddress.parsed(given).url)["password"] == secret


@pytest.mark.parametrize("wrong", ["colour=1", "affinity=maybe", "connections=0", "connections=x"])
def test_a_parameter_of_ours_that_is_wrong_is_refused(wrong: str):
    with pytest.raises(InputError, match=wrong.partition("=")[0]):
        ServerAddress.parsed(f"postgresql://db/shop?undrift_{wrong}")
