# The image of the dispatcher.
#   mvn -q -DskipTests package && docker build -f docker/server.Dockerfile -t lambda-dispatcher .
#   docker run -p 8080:8080 -p 8444:8444 -e LAMBDA_DISPATCHER_WORKERS_SECRET=... lambda-dispatcher
# JDK_IMAGE has a complete JDK 25 at JDK_HOME. BASE_IMAGE has a C library. Both must be for the same processor architecture.
ARG JDK_IMAGE=eclipse-temurin:25-jdk
ARG BASE_IMAGE=debian:trixie-slim

FROM ${JDK_IMAGE} AS build
ARG JDK_HOME=/opt/java/openjdk
WORKDIR /opt/lambda-dispatcher
RUN ${JDK_HOME}/bin/jlink --output java --no-header-files --no-man-pages --strip-java-debug-attributes --compress zip-2 \
    --add-modules java.base,java.logging,java.management,java.naming,java.net.http,java.sql,java.xml,jdk.crypto.ec,jdk.httpserver,jdk.jfr,jdk.management,jdk.net,jdk.unsupported
COPY dispatcher-server/target/lib lib
COPY dispatcher-server/target/dispatcher-server-*.jar lib/
COPY docker/server.flags docker/Train.java ./
# The list of components, in the format of CycloneDX.
COPY dispatcher-server/target/bom.json sbom.cdx.json
# The order is fixed, because the cache of loaded classes is valid only for exactly this class path.
RUN { echo -cp; ls lib/*.jar | sed "s|^|/opt/lambda-dispatcher/|" | tr '\n' ':' | sed 's|:$||'; echo; } > class.path \
 && ${JDK_HOME}/bin/java Train.java serve && rm Train.java

FROM ${BASE_IMAGE}
COPY --from=build /opt/lambda-dispatcher /opt/lambda-dispatcher
# For operators, in a running container: docker exec CONTAINER dispatcher status
COPY docker/dispatcher /usr/local/bin/
# Ports above 1023 need no privileges.
USER 10001:10001
WORKDIR /tmp
EXPOSE 8080 8443 8444 9901
# On a slow machine, a dispatcher with 0.25 vCPU can take 14 s to start, and this JVM shares its CPU time.
HEALTHCHECK --interval=10s --timeout=10s --start-period=120s --retries=3 \
    CMD ["/opt/lambda-dispatcher/java/bin/java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx16m", "@/opt/lambda-dispatcher/class.path", "io.lambdadispatcher.server.admin.Probe"]
# The JVM is process 1, so it receives SIGTERM. Allow it more time to stop than shutdown.delay and shutdown.grace together.
ENTRYPOINT ["/opt/lambda-dispatcher/java/bin/java", "@/opt/lambda-dispatcher/server.flags", "-XX:AOTCache=/opt/lambda-dispatcher/classes.aot", "@/opt/lambda-dispatcher/class.path", "io.lambdadispatcher.server.Main"]
CMD ["serve"]
