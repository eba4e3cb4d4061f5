#!/bin/sh
# Make the passwords of compose.yaml, once. The folder is yours alone; in it the files are readable, as a container's user is
# another one than you.
set -eu
cd "$(dirname "$0")/secrets"
chmod 700 .
if [ -e undrift-key ]; then
	echo "deploy/secrets has them already. Without undrift-key nobody can read the database: never make a new one for it."
	exit 1
fi
secret() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
umask 022
secret > postgres-admin-password
secret > postgres-password
printf '[undrift]\npassword=%s\n' "$(cat postgres-password)" > postgres-service
# It wraps the keys of the texts: what is purged stays unreadable in every backup.
head -c 32 /dev/urandom | base64 > undrift-key
echo "made in deploy/secrets: postgres-admin-password, postgres-password, postgres-service, undrift-key"
