#!/bin/sh
# Testcontainers calls it by this path.
exec /opt/code/localstack/.venv/bin/localstack-supervisor
