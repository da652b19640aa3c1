package com.example;

import io.lambdadispatcher.cdk.LambdaDispatcher;
import java.util.Map;
import software.amazon.awscdk.App;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.RemovalPolicy;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.services.ec2.Vpc;
import software.amazon.awscdk.services.ecr.IRepository;
import software.amazon.awscdk.services.ecr.Repository;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCertificate;
import software.amazon.awscdk.services.lambda.Alias;
import software.amazon.awscdk.services.lambda.Code;
import software.amazon.awscdk.services.lambda.Function;
import software.amazon.awscdk.services.lambda.Runtime;
import software.amazon.awscdk.services.lambda.VersionOptions;

public final class Deployment {
    public static void main(String[] arguments) {
        App app = new App();
        Stack stack = new Stack(app, "lambda-dispatcher");
        Vpc vpc = Vpc.Builder.create(stack, "Vpc").maxAzs(2).build();
        IRepository repository = Repository.fromRepositoryName(stack, "Repository", "lambda-dispatcher");
        Function workers = Function.Builder.create(stack, "Workers")
                .runtime(Runtime.JAVA_25)
                .code(Code.fromAsset("examples/hello/target/hello-function.zip"))
                .handler("io.lambdadispatcher.worker.LambdaHandler")
                .environment(Map.of("LAMBDA_DISPATCHER_HANDLER", "com.example.hello.HelloHandler"))
                .memorySize(512)
                .timeout(Duration.minutes(15)) // the life of a worker
                .reservedConcurrentExecutions(220)
                .vpc(vpc)
                // Workers of the old version are launched until the change has ended.
                .currentVersionOptions(VersionOptions.builder()
                        .removalPolicy(RemovalPolicy.RETAIN)
                        .build())
                .build();
        Alias live = Alias.Builder.create(stack, "Live")
                .aliasName("live")
                .version(workers.getCurrentVersion())
                .build();
        LambdaDispatcher.Builder.create(stack, "Dispatcher")
                .vpc(vpc)
                .image(ContainerImage.fromEcrRepository(repository, "VERSION"))
                .function("api", live)
                .setting("function.max-workers", "50")
                .setting("function.worker-memory", "512") // as the function has
                .certificate(ListenerCertificate.fromArn("CERTIFICATE"))
                .internetFacing()
                .build();
        app.synth();
    }
}
