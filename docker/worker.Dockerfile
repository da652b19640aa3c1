# A worker for AWS Lambda as a container image. It serves the handler of examples/hello. To serve your handler, start your Dockerfile FROM
# this image, COPY your jars into /opt/lambda-dispatcher/lib/user/, and set LAMBDA_DISPATCHER_HANDLER.
#   mvn -q -DskipTests package && docker build -f docker/worker.Dockerfile -t lambda-worker .
ARG JDK_IMAGE=eclipse-temurin:25-jdk
ARG BASE_IMAGE=debian:trixie-slim

FROM ${JDK_IMAGE} AS build
ARG JDK_HOME=/opt/java/openjdk
WORKDIR /opt/lambda-dispatcher
# Your jars may need any module of Java, as Spring needs java.desktop.
RUN ${JDK_HOME}/bin/jlink --output java --no-header-files --no-man-pages --strip-java-debug-attributes --compress zip-2 \
    --add-modules java.base,java.se,jdk.crypto.ec,jdk.jfr,jdk.management,jdk.naming.dns,jdk.net,jdk.security.auth,jdk.unsupported,jdk.zipfs
COPY lambda-worker/target/lib lib
COPY examples/hello/target/hello.jar lib/
COPY docker/worker.flags docker/Train.java ./
COPY dispatcher-server/target/lib dispatcher/lib
COPY dispatcher-server/target/dispatcher-server-*.jar dispatcher/lib/
# The order is fixed, because the cache of loaded classes is valid only for this class path and for extensions of it.
RUN mkdir -p lib/user \
 && { echo -cp; ls lib/*.jar | sed "s|^|/opt/lambda-dispatcher/|" | tr '\n' ':'; echo '/opt/lambda-dispatcher/lib/user/*'; } > class.path \
 && ${JDK_HOME}/bin/java Train.java work "$PWD/dispatcher/lib/*" && rm -r Train.java dispatcher

FROM ${BASE_IMAGE}
COPY --from=build /opt/lambda-dispatcher /opt/lambda-dispatcher
ENV LAMBDA_DISPATCHER_HANDLER=com.example.hello.HelloHandler
# Lambda runs the image as its own user. Elsewhere, it runs as this user without privileges.
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["/opt/lambda-dispatcher/java/bin/java", "@/opt/lambda-dispatcher/worker.flags", "-XX:AOTCache=/opt/lambda-dispatcher/classes.aot", "@/opt/lambda-dispatcher/class.path", "com.amazonaws.services.lambda.runtime.api.client.AWSLambda"]
CMD ["io.lambdadispatcher.worker.LambdaHandler"]
