# A web application as a Lambda container image: an image that was built for the AWS Lambda Web Adapter, with one line changed. The
# application listens on 8080 (or PORT), and CMD starts it as ever.
#   docker/build-layer && unzip -q lambda-worker/target/lambda-dispatcher-layer.zip -d layer
#   docker build -f docker/web.Dockerfile --build-arg APP_IMAGE=my-app .
ARG APP_IMAGE=node:22-bookworm-slim
FROM ${APP_IMAGE}
# In place of: COPY --from=public.ecr.aws/awsguru/aws-lambda-adapter:1.0.0 /lambda-adapter /opt/extensions/lambda-adapter
COPY layer/ /opt/

# The same outside Lambda, or with the worker in front: the worker is the process, and starts the application.
#   ENV LAMBDA_DISPATCHER_WEB_COMMAND="node server.js" LAMBDA_DISPATCHER_WEB_PORT=8080
#   ENTRYPOINT ["/opt/lambda-dispatcher/java/bin/java", "@/opt/lambda-dispatcher/worker.flags", "-cp", "/opt/lambda-dispatcher/lib/*", \
#               "io.lambdadispatcher.worker.WorkerMain"]
