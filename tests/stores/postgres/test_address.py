"""The address of a home on a server: what is the driver's reaches it as it was given, and no password is shown."""

import pytest

from undrift.errors import InputError
from undrift.stores.postgres.address import ServerAddress, with_owner, without_password
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


def test_an_address_of_several_servers_is_shown():
    assert str(ServerAddress.parsed("postgresql://ann:pw@one:1,two:2/shop")) == "postgresql://ann@one:1,two:2/shop"


@pytest.mark.parametrize("wrong", ["colour=1", "affinity=maybe", "connections=0", "connections=x"])
def test_a_parameter_of_ours_that_is_wrong_is_refused(wrong: str):
    with pytest.raises(InputError, match=wrong.partition("=")[0]):
        ServerAddress.parsed(f"postgresql://db/shop?undrift_{wrong}")
