# LocalStack from its Python package. Replaces what LocalStack downloads at run time: the program that runs in function containers, the check
# that runtime images exist, DynamoDB Local, and the Java that runs it.
FROM localbase/python:3.13
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY requirements.txt /tmp/requirements.txt
RUN python3 -m venv /opt/code/localstack/.venv \
 && /opt/code/localstack/.venv/bin/pip install -q --no-cache-dir --cert /etc/ssl/certs/ca-certificates.crt --no-deps -r /tmp/requirements.txt \
 && mkdir -p /usr/lib/localstack/lambda-runtime/v0.1.41-pre/x86_64/var/rapid /var/lib/localstack /tmp/localstack \
    /etc/localstack/init/boot.d /etc/localstack/init/start.d /etc/localstack/init/ready.d /etc/localstack/init/shutdown.d \
    /opt/code/localstack/.venv/lib/python3.13/site-packages/local_images-1.dist-info \
 && touch /usr/lib/localstack/.community-version
COPY init init.jar /usr/lib/localstack/lambda-runtime/v0.1.41-pre/x86_64/var/rapid/
COPY --from=localbase/java:25 /opt/java /usr/lib/localstack/java/21
COPY dynamodb-local /usr/lib/localstack/dynamodb-local/2
COPY local_images.py /opt/code/localstack/.venv/lib/python3.13/site-packages/
COPY METADATA entry_points.txt /opt/code/localstack/.venv/lib/python3.13/site-packages/local_images-1.dist-info/
COPY docker-entrypoint.sh /usr/local/bin/
ENV PYTHONUNBUFFERED=1 SKIP_SSL_CERT_DOWNLOAD=1 DISABLE_EVENTS=1 GATEWAY_LISTEN=0.0.0.0:4566
WORKDIR /opt/code/localstack
EXPOSE 4566
ENTRYPOINT ["docker-entrypoint.sh"]
