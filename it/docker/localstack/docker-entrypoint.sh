#!/bin/sh
# Testcontainers runs this path.
exec /opt/code/localstack/.venv/bin/localstack-supervisor
