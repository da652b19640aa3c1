# A web application as a Lambda container image. Only one line differs from an image for the AWS Lambda Web Adapter. The application
# listens on 8080 (or PORT), and CMD starts it as usual.
#   docker/build-layer && unzip -q lambda-worker/target/lambda-dispatcher-layer.zip -d layer
#   docker build -f docker/web.Dockerfile --build-arg APP_IMAGE=my-app .
ARG APP_IMAGE=node:22-bookworm-slim
FROM ${APP_IMAGE}
# Replaces: COPY --from=public.ecr.aws/awsguru/aws-lambda-adapter:1.1.0 /lambda-adapter /opt/extensions/lambda-adapter
COPY layer/ /opt/

# Outside Lambda, or to start the worker first: the worker is the main process and starts the application.
#   ENV LAMBDA_DISPATCHER_WEB_COMMAND="node server.js" LAMBDA_DISPATCHER_WEB_PORT=8080
#   ENTRYPOINT ["/opt/lambda-dispatcher/java/bin/java", "@/opt/lambda-dispatcher/worker.flags", "-cp", "/opt/lambda-dispatcher/lib/*", \
#               "io.lambdadispatcher.worker.WorkerMain"]
