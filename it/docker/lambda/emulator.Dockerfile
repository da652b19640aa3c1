# The image local/lambda-java with Lambda's runtime interface emulator in front. One container is one execution environment.
FROM local/lambda-java:25
COPY aws-lambda-rie /usr/local/bin/aws-lambda-rie
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/aws-lambda-rie", "/var/runtime/bootstrap"]
CMD ["io.lambdadispatcher.worker.LambdaHandler"]
