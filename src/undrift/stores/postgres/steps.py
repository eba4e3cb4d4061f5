"""The steps of the server's layout. Law: a released step never changes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg

from undrift.stores.postgres.connection import APP_ROLE

__all__ = ["FUNCTIONS", "LayoutStep", "STEPS", "TABLES"]


class LayoutStep(NamedTuple):
    """One step. `least_reader`: the number of steps that an undrift must know to work beside it."""

    run: Callable[[psycopg.Connection[Any]], object]
    least_reader: int


_PEOPLE = """
CREATE TABLE organisations(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name bytea NOT NULL UNIQUE,
    key bytea  -- wrapped by the deployment's key; NULL: it was destroyed, and with it all that it sealed
);
CREATE TABLE people(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation bigint NOT NULL REFERENCES organisations,
    name bytea NOT NULL,
    login name UNIQUE,  -- a login role that is this person: then no setting can name another one
    UNIQUE(organisation, name)
);
CREATE TABLE projects(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation bigint NOT NULL REFERENCES organisations,
    name bytea NOT NULL,
    clock bigint NOT NULL DEFAULT 0,  -- grows with each change of a memory, and with each rewind
    top_seq bigint NOT NULL DEFAULT 0,  -- the greatest `seq` of a memory
    epoch int NOT NULL DEFAULT 0,  -- grows with each purge of a memory: what is cached is read again
    UNIQUE(organisation, name)
);
"""
_LOG = """
CREATE SEQUENCE written;
CREATE TABLE sessions(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation bigint NOT NULL, person bigint NOT NULL REFERENCES people, project bigint NOT NULL REFERENCES projects,
    name bytea NOT NULL,
    month date NOT NULL,  -- when it began: its partition
    last_seq bigint NOT NULL DEFAULT 0,
    epoch int NOT NULL DEFAULT 0,  -- grows with each purge: then its log is read again
    written bigint NOT NULL DEFAULT 0,
    first_at_ms bigint NOT NULL, last_at_ms bigint NOT NULL, used_at_ms bigint,
    originals bigint NOT NULL DEFAULT 0, decisions bigint NOT NULL DEFAULT 0,
    archived bigint NOT NULL DEFAULT 0, archived_bytes bigint NOT NULL DEFAULT 0,
    documents text[] NOT NULL DEFAULT '{}',
    key bytea NOT NULL,  -- wrapped by the organisation's; a purge of the session destroys it
    UNIQUE(project, person, name)
);
CREATE INDEX sessions_by_time ON sessions(person, project, written DESC);
CREATE TABLE operations(
    month date NOT NULL, session bigint NOT NULL, seq bigint NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL,
    kind bytea NOT NULL, at_ms bigint NOT NULL,
    clock bigint NOT NULL,
    token bytea NOT NULL,  -- of the commit: settles whether it was written, if the connection ended before the answer
    record_sha256 bytea NOT NULL,
    payload bytea, events bytea NOT NULL,
    PRIMARY KEY (month, session, seq)
) PARTITION BY RANGE (month);
CREATE TABLE segments(
    month date NOT NULL, session bigint NOT NULL, seq bigint NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL,
    raw_bytes bigint NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (month, session, seq)
) PARTITION BY RANGE (month);
CREATE TABLE originals(
    month date NOT NULL, session bigint NOT NULL, seq bigint NOT NULL, place int NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL,
    ref bytea NOT NULL,
    words int[],  -- keyed hashes of its words; NULL: it is not indexed yet
    PRIMARY KEY (month, session, seq, place)
) PARTITION BY RANGE (month);
CREATE INDEX originals_by_ref ON originals(ref);
CREATE INDEX originals_to_index ON originals(person) WHERE words IS NULL;
CREATE INDEX originals_by_word ON originals USING gin(words);
ALTER TABLE operations ALTER COLUMN events SET STORAGE EXTERNAL;  -- it is compressed and sealed already
CREATE TABLE readings(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    organisation bigint NOT NULL, person bigint NOT NULL,
    key bytea NOT NULL, before bytea NOT NULL, sha256 bytea NOT NULL, length bigint NOT NULL,
    record_sha256 bytea NOT NULL, record bytea NOT NULL,
    UNIQUE (session, record_sha256)
);
CREATE TABLE marks(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation bigint NOT NULL, person bigint NOT NULL, project bigint NOT NULL REFERENCES projects,
    session bytea NOT NULL, mark bytea NOT NULL, kind text NOT NULL, record_sha256 bytea NOT NULL,
    UNIQUE (project, person, mark, session)
);
CREATE INDEX marks_of_session ON marks(project, person, session, number);
CREATE FUNCTION ensure_month(wanted date) RETURNS date LANGUAGE plpgsql SECURITY DEFINER SET search_path = {path}, pg_temp AS $$
DECLARE one text; part text := to_char(wanted, '"_"YYYY"_"MM');
BEGIN
    IF wanted <> date_trunc('month', wanted) OR wanted > now() + interval '2 months' OR wanted < '2020-01-01' THEN
        RAISE EXCEPTION 'no month of ours: %', wanted USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF to_regclass(quote_ident(current_schema()) || '.originals' || part) IS NOT NULL THEN RETURN wanted; END IF;
    PERFORM pg_advisory_xact_lock(hashtext(current_schema() || part));
    FOREACH one IN ARRAY ARRAY['operations', 'segments', 'originals'] LOOP
        IF to_regclass(quote_ident(current_schema()) || '.' || one || part) IS NULL THEN
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) PARTITION BY HASH (session)',
                one || part, one, wanted, wanted + interval '1 month');
            FOR n IN 0..3 LOOP
                EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 4, REMAINDER %s)',
                    one || part || '_' || n, one || part, n);
                EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one || part || '_' || n);
            END LOOP;
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one || part);
        END IF;
    END LOOP;
    RETURN wanted;
END $$;
"""
_MEMORY = """
CREATE TABLE memory_events(
    project bigint NOT NULL REFERENCES projects, clock bigint NOT NULL, part int NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL, is_shared boolean NOT NULL,
    session bigint NOT NULL, seq bigint NOT NULL, act bytea NOT NULL,
    name bytea NOT NULL,  -- the memory's id
    visibility text NOT NULL, owner bytea NOT NULL,  -- project, user, agent or session; which agent or session
    digest bigint NOT NULL,  -- keyed hash of its words
    is_learned boolean NOT NULL, has_conflicts boolean NOT NULL,
    record bytea,  -- NULL: it was taken out of sight
    PRIMARY KEY (project, clock, part)
);
CREATE INDEX memory_events_by_name ON memory_events(project, name, clock, part);
CREATE INDEX memory_events_by_digest ON memory_events(project, digest);
CREATE INDEX memory_events_by_session ON memory_events(session);
CREATE TABLE memory_spans(  -- when which version was active; derived from the events and the rewinds
    project bigint NOT NULL, name bytea NOT NULL, clock bigint NOT NULL, part int NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL, is_shared boolean NOT NULL,
    from_clock bigint NOT NULL, to_clock bigint,
    FOREIGN KEY (project, clock, part) REFERENCES memory_events ON DELETE CASCADE
);
CREATE UNIQUE INDEX memory_spans_now ON memory_spans(project, person, name) WHERE to_clock IS NULL;
CREATE INDEX memory_spans_by_event ON memory_spans(project, clock, part);
CREATE INDEX memory_spans_since ON memory_spans(project, greatest(from_clock, to_clock));
CREATE TABLE memory_slots(
    project bigint NOT NULL, relation bigint NOT NULL, entity bigint NOT NULL, name bytea NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL, is_shared boolean NOT NULL,
    PRIMARY KEY (project, relation, entity, person, name)
);
CREATE TABLE memory_lines(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project bigint NOT NULL, name bytea NOT NULL,
    organisation bigint NOT NULL, person bigint NOT NULL, is_shared boolean NOT NULL,
    line bytea NOT NULL, embedder text NOT NULL DEFAULT '', dimension int NOT NULL DEFAULT 0, vectors bytea,
    UNIQUE (project, person, name)
);
CREATE INDEX memory_lines_since ON memory_lines(project, number);
CREATE TABLE moves(
    project bigint NOT NULL, session bigint NOT NULL, seq bigint NOT NULL, target bigint NOT NULL, clock bigint NOT NULL,
    organisation bigint NOT NULL, PRIMARY KEY (project, session, seq)
);
"""
_TEAM = """
CREATE TABLE credentials(
    digest bytea PRIMARY KEY,  -- SHA-256 of a key; the key itself is shown once
    organisation bigint NOT NULL REFERENCES organisations, person bigint NOT NULL REFERENCES people,
    project bigint REFERENCES projects,  -- NULL: the request names it
    label bytea NOT NULL, made_at timestamptz NOT NULL DEFAULT now(), ends_at timestamptz
);
CREATE TABLE used(
    organisation bigint NOT NULL, name bytea NOT NULL, day date NOT NULL, amount bigint NOT NULL,
    PRIMARY KEY (organisation, name, day)
);
CREATE TABLE audit(
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    reader bigint NOT NULL, person bigint NOT NULL, project bigint NOT NULL,  -- who read whose
    what text NOT NULL, names bytea[] NOT NULL
);
CREATE INDEX audit_by_time ON audit(organisation, at);
CREATE FUNCTION me() RETURNS people LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {path}, pg_temp AS $$
    SELECT p FROM people p WHERE p.login = session_user
    UNION ALL SELECT p FROM people p WHERE p.number = nullif(current_setting('undrift.person', true), '')::bigint
        AND p.organisation = nullif(current_setting('undrift.organisation', true), '')::bigint
        AND NOT EXISTS (SELECT 1 FROM people q WHERE q.login = session_user)
    LIMIT 1
$$;
CREATE FUNCTION enter(organisation_name bytea, person_name bytea, project_name bytea, new_key bytea)
    RETURNS TABLE(organisation bigint, person bigint, project bigint, key bytea)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = {path}, pg_temp AS $$
#variable_conflict use_column
DECLARE bound people;
BEGIN
    SELECT p.* INTO bound FROM people p WHERE p.login = session_user;
    IF bound.number IS NOT NULL THEN
        SELECT o.number, o.key INTO organisation, key FROM organisations o
            WHERE o.number = bound.organisation AND o.name = organisation_name;
        IF organisation IS NULL OR bound.name <> person_name THEN
            RAISE EXCEPTION 'this login is another person' USING ERRCODE = 'insufficient_privilege';
        END IF;
        person := bound.number;
    ELSE
        INSERT INTO organisations(name, key) VALUES(organisation_name, new_key) ON CONFLICT (name) DO NOTHING;
        SELECT o.number, o.key INTO organisation, key FROM organisations o WHERE o.name = organisation_name;
        INSERT INTO people(organisation, name) VALUES(organisation, person_name) ON CONFLICT (organisation, name) DO NOTHING;
        SELECT p.number INTO person FROM people p WHERE p.organisation = enter.organisation AND p.name = person_name;
    END IF;
    INSERT INTO projects(organisation, name) VALUES(organisation, project_name) ON CONFLICT (organisation, name) DO NOTHING;
    SELECT p.number INTO project FROM projects p WHERE p.organisation = enter.organisation AND p.name = project_name;
    PERFORM ensure_month(date_trunc('month', now() AT TIME ZONE 'utc')::date);
    RETURN NEXT;
END $$;
CREATE FUNCTION refuse() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'others wrote first' USING ERRCODE = 'UD001'; END $$;
CREATE FUNCTION count_use(organisation_name bytea, given bytea, given_day date, more bigint) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = {path}, pg_temp AS $$
    INSERT INTO used AS u (organisation, name, day, amount)
        SELECT number, given, given_day, more FROM organisations WHERE name = organisation_name
    ON CONFLICT (organisation, name, day) DO UPDATE SET amount = u.amount + excluded.amount RETURNING amount
$$;
CREATE FUNCTION member(given bytea) RETURNS TABLE(organisation bytea, person bytea, project bytea)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {path}, pg_temp AS $$
    SELECT o.name, p.name, coalesce(j.name, ''::bytea) FROM credentials c JOIN organisations o ON o.number = c.organisation
        JOIN people p ON p.number = c.person LEFT JOIN projects j ON j.number = c.project
        WHERE c.digest = given AND (c.ends_at IS NULL OR c.ends_at > now())
$$;
"""
_OF_PERSON = ("sessions", "operations", "segments", "originals", "readings", "marks")
_SHARED = ("memory_events", "memory_spans", "memory_slots", "memory_lines")
_OF_ORGANISATION = ("organisations", "people", "projects", "moves", "used", "audit", "credentials")
FUNCTIONS = (
    "ensure_month(date)",
    "me()",
    "enter(bytea, bytea, bytea, bytea)",
    "member(bytea)",
    "count_use(bytea, bytea, date, bigint)",
)
"""Those that look for tables in their own schema alone, at any path of the caller."""
TABLES = (
    "organisations", "people", "projects", "sessions", "operations", "segments", "originals", "readings", "marks",
    "memory_events", "memory_spans", "memory_slots", "memory_lines", "moves", "credentials", "used", "audit",
)  # fmt: skip
"""All tables with records, in an order in which each stands behind those that it names."""
_READ_ONLY = ("organisations", "people")
_AUTHORS = """DROP POLICY mine ON memory_events;
CREATE POLICY seen ON memory_events FOR SELECT TO {role} USING ({seen});
CREATE POLICY changed ON memory_events FOR UPDATE TO {role} USING ({seen});
CREATE POLICY destroyed ON memory_events FOR DELETE TO {role} USING ({seen});
CREATE POLICY written ON memory_events FOR INSERT TO {role} WITH CHECK ({mine});
REVOKE UPDATE ON memory_events FROM {role};
GRANT UPDATE (name, visibility, owner, digest, is_learned, has_conflicts, record) ON memory_events TO {role};"""
"""The author of a memory never changes, and no person writes in the name of another one."""
_POLICY = """ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON {table} TO {role} USING ({condition});"""
_MINE = "{0} = (SELECT (me()).organisation)"
_PERSON = "person = (SELECT (me()).number)"


def first(connection: psycopg.Connection[Any]) -> None:
    """Step 1: everything."""
    path = str((connection.execute("SELECT quote_ident(current_schema())").fetchone() or ("undrift",))[0])
    for text in (_PEOPLE, _LOG, _MEMORY, _TEAM):
        connection.execute(text.replace("{path}", path))
    for table in (*_OF_PERSON, *_SHARED, *_OF_ORGANISATION):
        condition = _MINE.format("number" if table == "organisations" else "organisation")
        if table in _OF_PERSON:
            condition += f" AND {_PERSON}"
        if table in _SHARED:
            condition += f" AND (is_shared OR {_PERSON})"
        connection.execute(_POLICY.format(table=table, role=APP_ROLE, condition=condition))
        rights = "SELECT" if table in _READ_ONLY else "SELECT, INSERT, UPDATE, DELETE"
        connection.execute(f"GRANT {rights} ON {table} TO {APP_ROLE}")
    mine = f"{_MINE.format('organisation')} AND {_PERSON}"
    seen = f"{_MINE.format('organisation')} AND (is_shared OR {_PERSON})"
    connection.execute(_AUTHORS.format(role=APP_ROLE, seen=seen, mine=mine))
    for function in FUNCTIONS:
        connection.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
        connection.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {APP_ROLE}")
    connection.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {path} TO {APP_ROLE}")
    connection.execute("ALTER TABLE versions ENABLE ROW LEVEL SECURITY")
    connection.execute("CREATE POLICY known ON versions FOR SELECT USING (true)")
    connection.execute(f"GRANT SELECT ON versions TO {APP_ROLE}")
    connection.execute(f"REVOKE UPDATE, DELETE ON audit FROM {APP_ROLE}")
    connection.execute(f"REVOKE ALL ON credentials FROM {APP_ROLE}")


STEPS = (LayoutStep(first, 1),)
