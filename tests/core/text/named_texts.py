"""Texts in which a name, a command or a file's form tells a secret, and texts that only look so. The passwords are made up."""

import base64

__all__ = ["NEAR", "TOLD"]

PASSWORD, SECRET = "hu" + "nter2x", "Zx81kLmQ0p" + "T7vB3nW9aaQ1"
USER_AND_PASSWORD = base64.b64encode(f"bob:{SECRET}".encode()).decode()
HASH = "aB3dE5fG7h" * 8

# The text before a secret, the secret, the text behind it, and the name of its marker.
TOLD = {
    "a cookie among others": ("Cookie: theme=dark; lang=en-US; session=", SECRET, "; width=1200", "cookie"),
    "a cookie that is set": ("Set-Cookie: sid=", SECRET, "; Path=/; HttpOnly", "cookie"),
    "a cookie of hexadecimal": ("Cookie: JSESSIONID=", "A1B2C3D4E5F60718293A4B5C6D7E8F90", "", "cookie"),
    "a cookie for curl": ("curl --cookie 'auth=", SECRET, "' https://h/x", "cookie"),
    "a cookie in JSON": ('{"Cookie": "theme=dark; sid=', SECRET, '"}', "cookie"),
    "a sentence": ("my password is ", SECRET, " for now", "spoken-password"),
    "a sentence with a place": ("the password for the staging db is ", SECRET, "", "spoken-password"),
    "a place and a colon": ("password for staging: ", SECRET, "", "spoken-password"),
    "a word in quotation marks": ('password "', SECRET, '"', "spoken-password"),
    "a sentence in German": ("Das Passwort lautet ", SECRET, "", "spoken-password"),
    "netrc": ("machine api.example.org login bob password ", PASSWORD, "", "netrc-password"),
    "netrc of several lines": ("machine h\n  login bob\n  password ", SECRET, "\nmachine k", "netrc-password"),
    "netrc without a login": ("machine h password ", SECRET, " login bob", "netrc-password"),
    "a user for curl": ("curl -sS -u bob:", PASSWORD, " https://h/x", "url-password"),
    "a quoted user for curl": ("curl --user 'bob:", SECRET, "' https://h", "url-password"),
    "a user for curl on the next line": ("curl https://h/x \\\n  -u bob:", SECRET, "", "url-password"),
    "mysql": ("mysql -h db -u root -p", PASSWORD, " shop", "option-password"),
    "mysqldump, quoted": ("mysqldump -u root -p'", SECRET, "' shop", "option-password"),
    "sshpass": ("sshpass -p ", PASSWORD, " ssh root@h", "option-password"),
    "sshpass, quoted": ("sshpass -p '", SECRET, "' ssh h", "option-password"),
    "redis": ("redis-cli -h r -a ", PASSWORD, " ping", "option-password"),
    "a login to a registry": ("docker login -u bob -p ", SECRET, " registry.h", "option-password"),
    "ldap": ("ldapsearch -x -D cn=admin -w ", PASSWORD, " -b dc=h", "option-password"),
    "samba": ("smbclient //h/s -U bob%", PASSWORD, " -c ls", "option-password"),
    "openssl": ("openssl rsa -in k.pem -passin pass:", PASSWORD, " -out k2.pem", "secret"),
    "mongo": ("mongosh --host h -u bob -p ", SECRET, " shop", "option-password"),
    "an option": ("tool --password ", PASSWORD, " --verbose", "option-password"),
    "an option with two words": ("tool --db-password ", PASSWORD, "", "option-password"),
    "a token's option": ("tool --api-key ", SECRET, " run", "option-password"),
    "a quoted option": ('tool --token "', SECRET, '" run', "option-password"),
    "shadow": ("root:", f"$6$saltsalt${HASH}", ":19000:0:99999:7:::", "password-hash"),
    "htpasswd": ("bob:", "$apr1$Zx81kLmQ$0pT7vB3nW9aaQ1Zx81kLm/", "", "password-hash"),
    "bcrypt": ("hash ", "$2b$12$" + HASH[:53], " stored", "password-hash"),
    "yescrypt": ("root:", "$y$j9T$" + HASH[:22] + "$" + HASH[:43], ":19000::", "password-hash"),
    "argon2": ("", "$argon2id$v=19$m=65536,t=3,p=4$" + HASH[:22] + "$" + HASH[:43], "", "password-hash"),
    "pgpass": ("db.example.org:5432:main:bob:", SECRET, "\nnext", "pgpass-password"),
    "pgpass for all": ("*:*:*:postgres:", SECRET, "", "pgpass-password"),
    "a DSN of Sentry": ("https://", "0123456789abcdef" * 2, "@o123456.ingest.sentry.io/4501", "url-user"),
    "a token before a host": ("git clone https://", SECRET, "@git.example.org/x.git", "url-user"),
    "a signature of a query": ("https://h/c?sv=2021&sig=", SECRET + "%3D", "&se=1", "query-value"),
    "a signed URL": ("https://h/k?X-Amz-Expires=900&X-Amz-Signature=", "9f3a" + "0c7d81e25b64" * 5, "", "query-value"),
    "a code of a login": ("https://app/cb?code=", SECRET, "&state=x", "query-value"),
    "a query of HTML": ("<a href='/x?page=2&amp;auth=", SECRET, "'>", "query-value"),
    "a secret of Kubernetes": (
        "kind: Secret\nmetadata:\n  name: db\ndata:\n  pw: ", base64.b64encode(PASSWORD.encode()).decode(), "\n", "kubernetes-secret"
    ),
    "data before the kind": (
        "apiVersion: v1\ndata:\n  a.conf: ", base64.b64encode(PASSWORD.encode()).decode(), "\nkind: Secret\nmetadata:\n  name: db", "kubernetes-secret"
    ),
    "a secret of Kubernetes in JSON": (
        '{"data": {"pw": "', base64.b64encode(PASSWORD.encode()).decode(), '"}, "kind": "Secret"}', "kubernetes-secret"
    ),
    "docker": ('{"auths":{"r":{"auth":"', USER_AND_PASSWORD, '"}}}', "docker-auth"),
    "npmrc": ("//r.example.org/:_auth=", USER_AND_PASSWORD, "\n", "docker-auth"),
    "a hook of Teams": (
        "https://a.webhook.office.com/webhookb2/", "56371877-8048-4562-a9e1-ff252b9057c1@0d7a98af/IncomingWebhook/95da6b8cc0d53a685ebf/4626d1f5", "", "teams-webhook"
    ),
    "a value on the next line": ('"secret":\n    "', SECRET, '"', "secret"),
    "a block of YAML": ("api_key: >-\n  ", SECRET, "\nnext: 1", "secret"),
    "an attribute of XML": ('<add key="ClearTextPassword" value="', "LdWhSlW1tP" + "gN!468", '" />', "secret"),
    "a value with a joint": ("api_key=", "sk." + SECRET + ".01", " ", "secret"),
}  # fmt: skip

NEAR = {
    "a sentence about passwords": "the password is required, the password must-have-8chars, see password reset2024flow",
    "a property of that name": "password: props.user2Name",
    "cookies of a page": "Cookie: theme=dark; lang=en-US; width=1200; consent=accepted-all-of-them",
    "a cookie in code": "cookie = request.cookies.get('session'); cookies: dict[str, str] = load_cookies(path)",
    "netrc in a manual": "machine NAME login NAME password <password>, machine learning, a machine with a password prompt",
    "curl with a variable": "curl -u $USER:$PASS https://h; curl -u bob: https://h; curl --user ${A}:${B} h; curl -u user:password h",
    "curl without a user": "curl -s https://h:8080/x -o user:1 && echo done",
    "mysql with a prompt": "mysql -u root -p shop; mysql -P 3306 -proot; docker run mysql:8 -p3306:3306 -p 3307:3306",
    "sshpass with a variable": 'sshpass -p "$PASSWORD" ssh h; sshpass -e ssh h; sshpass -f file ssh h',
    "redis without one": "redis-cli -h r -p 6379 ping; redis-cli -a $REDIS_AUTH ping",
    "options": "tool --password-file /run/x1 --token-limit 4000 --api-key-name prod2 --password $PW --token <token> --pass-through a1b2c3",
    "options in prose": "use --password to be asked; --token needs a value; pass-word1 is no option, nor is max-token 4096",
    "parameters of a shell": 'echo "$1$2" "$5$6" $2a$3; awk "{print $1$5$6}"',
    "a hash in a manual": "$6$rounds=5000$salt$hash and $2b$12$... and $argon2id$v=19$",
    "a time and a port": "at 12:30:45 db:5432:main is up; 127.0.0.1:5432: connection refused: retry: later",
    "pgpass in a manual": "hostname:5432:database:username:password and *:*:*:*:<password>",
    "users of URLs": "ssh://git@github.com:22/x https://very-long-organisation-name@dev.azure.com/o/p mailto:someone.with.a.name@example.org",
    "queries": "?code=200&sig=none&auth=basic&sid=12345 /cb?code=invalid_grant_of_the_server&state=x ?signature=required-for-all-of-them",
    "a map of Kubernetes": "kind: ConfigMap\ndata:\n  pw: aHVudGVyMng=\n",
    "a list of kinds": "kind: SecretStore\nspec:\n  data:\n    a: aHVudGVyMng=\n",
    "a secret without data": "kind: Secret\nmetadata:\n  name: database-credentials\n  namespace: default\ntype: Opaque\n",
    "auth of no registry": '{"auth": "basic", "auth": "required1", "_auth": "c29tZXRoaW5n"}',
    "a word of 52 letters": "K" + "w" + "aBcDeFgHjKmNpQrStUvWxYz1234567" * 2,
    "the next line": "password:\n  type: string\ntoken:\n  description_of_the_token\nsecret:\nmodule.name_of_it",
    "XML": '<input name="password" value="password" type="password"> <add key="token" value="optional" />',
    "values with joints": "token=settings.secret2_of_v3 key: module.ClassName2 api_key=config.get.value1 token: v1.2.3-rc4",
}  # fmt: skip
