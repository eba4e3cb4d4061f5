"""The engineering pack: words whose meanings exclude each other, each with its class. Pure, data only.

Law: two values of one class exclude each other in one place, unless the statement says that there are many; a word that
also has another meaning counts only as it is written here (``REST`` is no pause, ``Go`` is no step).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

__all__ = ["CASED", "CLASSES", "OPPOSITES", "Relation", "relation_of", "values"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation, and what a new value of it does to the older ones.

    Args:
        cardinality: ``one``: a new value displaces the old one; ``many``: values stand side by side.
        volatility: ``static``, ``slow`` or ``fast``: how soon its value is expected to change.
        project_wide: Whether a statement without any place is about the project as a whole.
    """

    name: str
    cardinality: str = "one"
    volatility: str = "slow"
    nouns: frozenset[str] = frozenset()
    project_wide: bool = True


def _relation(name: str, nouns: str = "", volatility: str = "slow", project_wide: bool = True) -> Relation:
    return Relation(name, "one", volatility, frozenset(nouns.split()), project_wide)


CLASSES: Mapping[str, Relation] = {
    one.name: one
    for one in (
        _relation("database", "database db datastore store persistence engine data"),
        _relation(
            "package_manager",
            "package packag dependency manager environment virtual workspace tool setup system set-up",
        ),
        _relation("language", "language program code script implementation"),
        _relation("runtime", "runtime version"),
        _relation("cloud", "cloud host hosting provider platform deployment deploy production server"),
        _relation("cdn", "cdn"),
        _relation("ci", "ci pipeline build continuous integration job deploy"),
        _relation("web_framework", "framework web"),
        _relation("ui_framework", "framework frontend ui web app component"),
        _relation("test_runner", "test runner framework unit"),
        _relation("e2e_runner", "test runner framework end-to-end e2e browser"),
        _relation("formatter", "formatter format code python style"),
        _relation("linter", "linter lint code"),
        _relation("bundler", "bundler bundle build frontend"),
        _relation("state_management", "state management store library"),
        _relation("broker", "broker message queue messaging event job background"),
        _relation("orm", "orm database mapper"),
        _relation("log_store", "log logging shipping ship"),
        _relation("error_tracking", "error tracking tracker report"),
        _relation("monitoring", "monitoring monitor metric"),
        _relation("styling", "styling style css stylesheet"),
        _relation("authentication", "authentication auth login token authenticate log"),
        _relation("password_hash", "password hash hashing"),
        _relation("api_style", "api style interface protocol public"),
        _relation("data_format", "format file config configuration response"),
        _relation("encoding", "encoding charset"),
        _relation("time_zone", "time zone timestamp"),
        _relation("identifier", "id identifier primary key"),
        _relation("letter_case", "case naming name", project_wide=False),
        _relation("licence", "licence license licensed project header copyright", "static"),
        _relation("quotes", "quote string"),
        _relation("indentation", "indent indentation tab"),
        _relation("spoken_language", "language answer reply"),
        _relation("object_store", "bucket storage file upload attachment"),
        _relation("infrastructure", "infrastructure provisioning"),
        _relation("orchestrator", "orchestrator cluster container"),
        _relation("version_control", "version control"),
        _relation("docs_tool", "doc documentation generator"),
        _relation("mail_service", "mail email service"),
        _relation("editor", "editor ide"),
        _relation("log_level", "log level logging", "fast", False),
        _relation("priority", "priority ticket", "fast", False),
        _relation("degree", "level severity priority risk confidence", "fast", False),
        _relation("isolation", "isolation level", project_wide=False),
        _relation("optimisation", "optimisation optimization level", project_wide=False),
        _relation("switch", "flag feature mode setting", "fast", False),
        _relation("visibility", "", "slow", False),
        _relation("consent", "", "slow", False),
        _relation("obligation", "column field", "slow", False),
        _relation("permission", "", "slow", False),
        _relation("synchrony", "", "slow", False),
        _relation("statefulness", "", "slow", False),
        _relation("mutability", "", "slow", False),
        _relation("automation", "", "slow", False),
        _relation("availability", "state status", "fast", False),
        _relation("result", "state status", "fast", False),
        _relation("progress", "state status", "fast", False),
        _relation("length", "", "fast", False),
        _relation("speed", "level", "fast", False),
        _relation("order", "", "slow", False),
        _relation("version", "version release", "fast", False),
        _relation("port", "port", "slow", False),
        _relation("region", "region zone datacenter"),
        _relation("duration", "duration time", "fast", False),
        _relation("size", "size limit", "fast", False),
        _relation("share", "percentage share", "fast", False),
        _relation("money", "price cost", "fast", False),
        _relation("number", "number count", "fast", False),
        _relation("date", "date day", "fast", False),
        _relation("weekday", "day", "fast", False),
        _relation("clock", "time clock", "fast", False),
        _relation("name", "name", "slow", False),
    )
}
"""The registry of relations; ``count:`` and a noun, and any name that is missing, behave as `relation_of` says."""


def relation_of(name: str) -> Relation:
    """Return how a relation behaves; a relation that is not declared has many values, so no value displaces another."""
    if name.startswith("count:"):
        return Relation(name, "one", "fast", frozenset(), False)
    return CLASSES.get(name) or Relation(name, "many", "fast", frozenset(), False)


_WORDS = {
    "database": """postgresql=postgres,pg,postgre,psql mysql mariadb sqlite=sqlite3 mongodb=mongo cassandra
        cockroachdb=cockroach dynamodb redis memcached=memcache elasticsearch=elastic opensearch
        meilisearch solr typesense snowflake bigquery redshift clickhouse duckdb influxdb=influx
        timescaledb=timescale qdrant pgvector pinecone weaviate milvus chroma=chromadb lancedb
        firestore supabase firebase oracle db2 mssql=sql_server,ms_sql neo4j couchdb couchbase
        scylladb=scylla etcd leveldb rocksdb h2 tidb vitess spanner lmdb valkey keydb faiss
        planetscale turso arangodb dgraph trino presto hbase""",
    "package_manager": """npm yarn pnpm bun pip=pip3,pip_install pipenv poetry uv conda=miniconda mamba pdm hatch
        rye maven=mvn gradle ant sbt cargo conan vcpkg homebrew=brew nix apt=apt-get
        chocolatey=choco composer nuget cocoapods leiningen cabal""",
    "language": """python=python3 golang=Go rust=Rust javascript=js typescript=ts ruby=Ruby elixir java
        kotlin bash=shell_script c=C cpp=c++ csharp=c# fsharp=f# zig swift=Swift scala php perl
        haskell ocaml clojure erlang lua julia=Julia dart=Dart objective-c cobol fortran nim=Nim
        crystal=Crystal powershell groovy delphi assembly""",
    "runtime": "node=node.js,nodejs deno",
    "cloud": """aws=amazon_web_services gcp=google_cloud,google_cloud_platform azure=microsoft_azure
        heroku fly.io=fly vercel netlify digitalocean hetzner render.com railway linode ovh
        cloud_run=google_cloud_run container_apps=azure_container_apps app_engine ecs eks gke
        fargate openshift scaleway oracle_cloud cloudflare_workers""",
    "cdn": "cloudfront cloudflare fastly akamai bunny.net",
    "ci": """jenkins github_actions=gh_actions gitlab_ci=gitlab circleci buildkite travis=travis_ci
        teamcity drone=drone_ci azure_pipelines bitbucket_pipelines argo_cd=argocd bamboo
        concourse tekton woodpecker""",
    "web_framework": """django flask fastapi rails=ruby_on_rails express=express.js spring=spring_boot laravel
        starlette sanic tornado phoenix gin actix axum nestjs koa fastify hapi bottle pyramid
        litestar quarkus micronaut""",
    "ui_framework": """react=react.js vue=vue.js angular svelte=sveltekit preact ember solidjs=solid.js qwik
        lit alpine.js jquery htmx""",
    "test_runner": """pytest unittest nose=nose2 jest vitest mocha jasmine karma ava rspec minitest junit
        testng phpunit nextest""",
    "e2e_runner": "cypress playwright selenium puppeteer testcafe webdriverio nightwatch",
    "formatter": "black=Black ruff yapf autopep8 prettier biome dprint gofmt rustfmt clang-format standardjs",
    "linter": "eslint pylint flake8 oxlint tslint rubocop golangci-lint clippy",
    "bundler": "webpack vite rollup esbuild parcel=Parcel turbopack rspack snowpack browserify rolldown",
    "state_management": "redux=redux_toolkit zustand mobx recoil=Recoil jotai pinia vuex xstate ngrx",
    "broker": """rabbitmq nats=NATS kafka sqs activemq zeromq pulsar pubsub=pub/sub mosquitto kinesis
        celery sidekiq redpanda""",
    "orm": """sqlalchemy tortoise_orm=tortoise peewee hibernate jooq prisma typeorm sequelize drizzle
        gorm diesel=Diesel mikroorm active_record entity_framework ponyorm doctrine""",
    "log_store": "splunk loki graylog papertrail logstash fluentd cloudwatch logtail",
    "error_tracking": "sentry rollbar bugsnag airbrake honeybadger raygun glitchtip",
    "monitoring": "nagios prometheus zabbix datadog new_relic grafana_cloud checkmk icinga dynatrace",
    "styling": "sass=scss tailwind=tailwindcss,tailwind_css bootstrap styled-components css_modules bulma",
    "authentication": """jwt=jwt_tokens,jwts,json_web_tokens session_cookies=session_cookie,server-side_sessions
        saml oidc=openid_connect oauth=oauth2 ldap basic_auth=basic_authentication kerberos
        api_keys=api_key mtls=mutual_tls passkeys okta auth0 keycloak""",
    "password_hash": "bcrypt scrypt argon2=argon2id,argon2i pbkdf2 md5 sha-1=sha1 sha-256=sha256 sha-512=sha512",
    "api_style": "rest=REST,restful graphql grpc soap=SOAP json-rpc trpc odata websocket=websockets",
    "data_format": """yaml=yml toml json xml ini csv=CSV parquet protobuf=protocol_buffers avro
        msgpack=messagepack hcl json5""",
    "encoding": "latin-1=latin1,iso-8859-1 utf-8=utf8 utf-16=utf16 ascii windows-1252=cp1252 shift_jis",
    "time_zone": "utc=gmt local_time=localtime cet=CET est=EST pst=PST",
    "identifier": """uuid=uuids,guid,guids,uuidv4,uuidv7
        integer=integers,auto-increment_integers,auto-incrementing_integers,serial,bigint,ints
        ulid=ulids nanoid slug=slugs snowflake_ids""",
    "letter_case": """camelcase=camel_case snake_case pascalcase=pascal_case kebab-case=kebab_case
        upper-case=uppercase lower-case=lowercase""",
    "licence": """mit=MIT apache-2.0=apache,apache_2.0,apache2,apache_license
        gpl-3.0=gpl,gplv3,gpl-3,gnu_gpl gpl-2.0=gplv2 lgpl=lgpl-3.0 agpl=agpl-3.0,agplv3
        bsd-3-clause=bsd bsd-2-clause mpl-2.0=mpl isc=ISC unlicense proprietary
        cc_by_4.0=cc-by-4.0,cc_by cc_by-sa_4.0=cc-by-sa-4.0,cc_by-sa cc0 bsl=bsl-1.1 eupl wtfpl
        sspl elv2""",
    "quotes": "single_quotes=single_quote double_quotes=double_quote backticks",
    "indentation": "tabs=tab spaces=space",
    "spoken_language": """english german french spanish italian portuguese dutch polish russian japanese chinese
        korean swedish danish norwegian finnish turkish czech greek hindi arabic""",
    "object_store": """s3=s3_bucket,amazon_s3 gcs=google_cloud_storage azure_blob=blob_storage minio
        local_disk=disk r2=cloudflare_r2""",
    "infrastructure": "terraform pulumi cloudformation ansible opentofu=tofu puppet chef=Chef saltstack bicep=Bicep",
    "orchestrator": "kubernetes=k8s nomad docker_swarm=swarm docker_compose mesos",
    "version_control": "git=Git svn=subversion mercurial=hg perforce",
    "docs_tool": """mkdocs sphinx docusaurus confluence swagger redoc jekyll hugo=Hugo gitbook antora
        vitepress readthedocs notion=Notion""",
    "mail_service": "sendgrid postmark mailgun ses=SES mailchimp sparkpost resend=Resend",
    "editor": "vs_code=vscode vim neovim=nvim emacs intellij pycharm sublime_text zed=Zed cursor=Cursor",
    "log_level": "debug=DEBUG info=INFO warning=WARNING,WARN,warn error=ERROR critical=CRITICAL,FATAL trace=TRACE",
    "priority": "p0 p1 p2 p3 p4",
    "degree": "low=minor medium=moderate high=major critical=severe,urgent blocker trivial",
    "isolation": "read_uncommitted read_committed repeatable_read serializable=serialisable snapshot_isolation",
    "optimisation": "o0=-o0 o1=-o1 o2=-o2 o3=-o3 os=-os",
    "switch": """on=enabled,active,activated,turned_on,switched_on,true,switch_on,turn_on,enable,activate
        off=disabled,inactive,deactivated,turned_off,switched_off,false,switch_off,turn_off,disable,deactivate""",
    "visibility": "public private internal-only=internal",
    "consent": "opt-in opt-out",
    "obligation": "required=mandatory,compulsory,obligatory,not_null,non-null optional=nullable",
    "permission": """allowed=permitted,allow,permit
        forbidden=prohibited,disallowed,banned,forbid,prohibit,ban,not_allowed,not_permitted""",
    "synchrony": "synchronous=sync,synchronously asynchronous=async,asynchronously",
    "statefulness": "stateless stateful",
    "mutability": "mutable=writable,read-write immutable=read-only,readonly",
    "automation": "automatic=automatically,automated manual=manually,by_hand",
    "availability": "up=online,reachable,back_up,up_again down=offline,unreachable",
    "result": """passes=pass,passing,green,works,working,reliable,stable,passed
        fails=fail,failing,red,broken,flaky,failed,unstable""",
    "progress": """open=unresolved,reopened
        pending=waiting,waiting_for_review,in_review,under_review,queued,on_hold blocked
        in_progress=ongoing,underway,started draft fixed=resolved,solved
        completed=complete,done,finished,closed,merged,applied,shipped,deployed,released,delivered
        approved rejected=declined cancelled=canceled,abandoned""",
    "length": "short=brief,concise,terse long=detailed,verbose,lengthy",
    "speed": "fast=fastest slow=slowest maximum=max,best minimum=min",
    "order": "before after",
}

OPPOSITES: Mapping[str, tuple[str, str]] = {
    "switch": ("on", "off"),
    "consent": ("opt-in", "opt-out"),
    "obligation": ("required", "optional"),
    "permission": ("allowed", "forbidden"),
    "synchrony": ("synchronous", "asynchronous"),
    "statefulness": ("stateless", "stateful"),
    "mutability": ("mutable", "immutable"),
    "automation": ("automatic", "manual"),
    "availability": ("up", "down"),
    "result": ("passes", "fails"),
}
"""Relations with two values, of which to deny one is to say the other."""

CASED: frozenset[str] = frozenset({
    "Go", "Rust", "Ruby", "C", "Swift", "Julia", "Dart",
    "Nim", "Crystal", "Black", "Parcel", "Recoil", "NATS", "Diesel", "REST",
    "SOAP", "CSV", "CET", "EST", "PST", "MIT", "ISC", "Chef",
    "Bicep", "Git", "Hugo", "Notion", "SES", "Resend", "Zed", "Cursor",
    "DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "TRACE",
})  # fmt: skip
"""Words that count as values only when they are written like this."""


@cache
def values() -> Mapping[tuple[str, ...], tuple[str, str]]:
    """Return for each written form, word by word, its relation and value.

    Forms in `CASED` are to be matched as written, the others in lower case.
    """
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    for relation, words in _WORDS.items():
        for item in words.split():
            value, _, aliases = item.partition("=")
            forms = aliases.split(",") if aliases else []
            cased = [form for form in forms if form in CASED]
            written = forms if any(form.lower() == value for form in cased) else [value, *forms]
            for form in written:
                key = tuple(form.split("_")) if value != "snake_case" and form != "snake_case" else (form,)
                found[key] = (relation, value)
    return found
