-- Run once, on an empty cluster, by the image's entry point and by deploy/run.py.
-- undrift is no superuser: row-level security does not bind those.
\set ON_ERROR_STOP on
\set password `cat /run/secrets/postgres-password`
CREATE ROLE undrift LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'password';
-- The role of every request; the store takes it on for each transaction, and its policies filter by it.
CREATE ROLE undrift_app NOLOGIN NOSUPERUSER NOBYPASSRLS;
GRANT undrift_app TO undrift;
CREATE DATABASE undrift OWNER undrift;
\connect undrift
CREATE EXTENSION vector;
