package io.lambdadispatcher.cdk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import software.amazon.awscdk.App;
import software.amazon.awscdk.AppProps;
import software.amazon.awscdk.CfnCondition;
import software.amazon.awscdk.CfnOutput;
import software.amazon.awscdk.CfnParameter;
import software.amazon.awscdk.CfnResource;
import software.amazon.awscdk.DefaultStackSynthesizer;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.Fn;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.StackProps;
import software.amazon.awscdk.Token;
import software.amazon.awscdk.services.ec2.IVpc;
import software.amazon.awscdk.services.ec2.Vpc;
import software.amazon.awscdk.services.ec2.VpcAttributes;
import software.amazon.awscdk.services.ecr.Repository;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.lambda.Code;
import software.amazon.awscdk.services.lambda.Function;
import software.amazon.awscdk.services.lambda.Runtime;
import software.amazon.awscdk.services.s3.Bucket;

/**
 * Renders {@code docker/cloudformation.json}, for teams without the CDK. What the construct takes
 * as Java values is here a parameter of the stack.
 */
final class PlainTemplate {
    private final Stack stack;

    private PlainTemplate(App app) {
        stack = new Stack(
                app,
                "lambda-dispatcher",
                StackProps.builder()
                        .description("Lambda Dispatcher on ECS Fargate, with a Lambda function that runs its workers")
                        .synthesizer(DefaultStackSynthesizer.Builder.create()
                                .generateBootstrapVersionRule(false)
                                .build())
                        .build());
    }

    /** Returns the template as JSON. Needs a directory for the files of the CDK. */
    static String render(Path directory) throws IOException {
        App app = new App(AppProps.builder()
                .analyticsReporting(false)
                .treeMetadata(false)
                .outdir(directory.toString())
                .build());
        new PlainTemplate(app).fill();
        app.synth();
        return Files.readString(directory.resolve("lambda-dispatcher.template.json")) + "\n";
    }

    private void fill() {
        IVpc vpc = vpc();
        Number workerMemory = CfnParameter.Builder.create(stack, "WorkerMemory")
                .type("Number")
                .description("Memory of a worker in MB")
                .defaultValue(512)
                .build()
                .getValueAsNumber();
        Function workers = workers(vpc, workerMemory);
        LambdaDispatcher dispatcher = LambdaDispatcher.Builder.create(stack, "Dispatcher")
                .vpc(vpc)
                .image(ContainerImage.fromEcrRepository(
                        Repository.fromRepositoryName(
                                stack,
                                "Repository",
                                text(
                                        "ImageRepository",
                                        "Name of the repository in ECR, in the same account and region")),
                        text("ImageTag", "Tag of the image")))
                .function("api", workers)
                .setting("function.worker-memory", Token.asString(workerMemory))
                .setting(
                        "function.min-workers", text("MinWorkers", "Workers without traffic, for each dispatcher", "1"))
                .setting("function.max-workers", text("MaxWorkers", "Maximum number of workers of a dispatcher", "50"))
                .setting(
                        "function.worker-concurrency",
                        text("WorkerConcurrency", "Requests in flight on a worker", "10"))
                .internetFacing()
                .build();
        admitClients(dispatcher);
        CfnOutput.Builder.create(stack, "Address")
                .description("Where clients send requests")
                .value(dispatcher.getLoadBalancer().getLoadBalancerDnsName())
                .build();
    }

    private IVpc vpc() {
        return Vpc.fromVpcAttributes(
                stack,
                "Vpc",
                VpcAttributes.builder()
                        .vpcId(CfnParameter.Builder.create(stack, "VpcId")
                                .type("AWS::EC2::VPC::Id")
                                .build()
                                .getValueAsString())
                        .availabilityZones(Fn.getAzs())
                        .publicSubnetIds(
                                subnets(
                                        "LoadBalancerSubnets",
                                        "Subnets of the load balancer, in two zones at least; public ones if Scheme is internet-facing"))
                        .privateSubnetIds(
                                subnets(
                                        "PrivateSubnets",
                                        "Subnets of dispatchers and workers. They reach Lambda, ECR and CloudWatch Logs, for example through a NAT gateway"))
                        .build());
    }

    private Function workers(IVpc vpc, Number memory) {
        return Function.Builder.create(stack, "Workers")
                .runtime(Runtime.JAVA_25)
                .code(Code.fromBucket(
                        Bucket.fromBucketName(
                                stack, "Bucket", text("CodeBucket", "Bucket with the zip of the function")),
                        text("CodeKey", "Key of the zip in the bucket")))
                .handler("io.lambdadispatcher.worker.LambdaHandler")
                .environment(Map.of(
                        "LAMBDA_DISPATCHER_HANDLER",
                        text("Handler", "Class that handles requests", "com.example.hello.HelloHandler")))
                .memorySize(memory)
                .timeout(Duration.minutes(15))
                .reservedConcurrentExecutions(CfnParameter.Builder.create(stack, "ReservedConcurrency")
                        .type("Number")
                        .description(
                                "Maximum of concurrent executions: MaxWorkers for each of two dispatchers, twice, and a tenth")
                        .defaultValue(220)
                        .build()
                        .getValueAsNumber())
                .vpc(vpc)
                .build();
    }

    /** Without a certificate, the load balancer listens on port 80. */
    private void admitClients(LambdaDispatcher dispatcher) {
        String certificate = text("CertificateArn", "Certificate in ACM, for HTTPS; HTTP without it", "");
        CfnCondition tls = CfnCondition.Builder.create(stack, "Tls")
                .expression(Fn.conditionNot(Fn.conditionEquals(certificate, "")))
                .build();
        Object port = Fn.conditionIf(tls.getLogicalId(), 443, 80);
        CfnResource listener =
                resource(dispatcher.getLoadBalancer().getListeners().get(0));
        listener.addPropertyOverride("Port", port);
        listener.addPropertyOverride("Protocol", Fn.conditionIf(tls.getLogicalId(), "HTTPS", "HTTP"));
        listener.addPropertyOverride(
                "Certificates",
                Fn.conditionIf(
                        tls.getLogicalId(),
                        List.of(Map.of("CertificateArn", certificate)),
                        Map.of("Ref", "AWS::NoValue")));
        listener.addPropertyOverride(
                "SslPolicy",
                Fn.conditionIf(
                        tls.getLogicalId(), "ELBSecurityPolicy-TLS13-1-2-2021-06", Map.of("Ref", "AWS::NoValue")));
        CfnResource loadBalancer = resource(dispatcher.getLoadBalancer());
        loadBalancer.addPropertyOverride(
                "Scheme",
                CfnParameter.Builder.create(stack, "Scheme")
                        .allowedValues(List.of("internal", "internet-facing"))
                        .defaultValue("internal")
                        .build()
                        .getValueAsString());
        CfnResource group = (CfnResource) dispatcher
                .getLoadBalancer()
                .getNode()
                .findChild("SecurityGroup")
                .getNode()
                .getDefaultChild();
        group.addPropertyOverride(
                "SecurityGroupIngress",
                // Sorted, because the order in the file must not vary.
                List.of(new TreeMap<>(Map.of(
                        "CidrIp",
                        text("Clients", "Addresses of clients, such as 10.0.0.0/8, or 0.0.0.0/0 for everyone"),
                        "Description",
                        "Clients",
                        "IpProtocol",
                        "tcp",
                        "FromPort",
                        port,
                        "ToPort",
                        port))));
    }

    private static CfnResource resource(software.constructs.IConstruct construct) {
        return (CfnResource) construct.getNode().getDefaultChild();
    }

    private String text(String name, String description) {
        return parameter(name, description).build().getValueAsString();
    }

    private String text(String name, String description, String byDefault) {
        return parameter(name, description).defaultValue(byDefault).build().getValueAsString();
    }

    private CfnParameter.Builder parameter(String name, String description) {
        return CfnParameter.Builder.create(stack, name).type("String").description(description);
    }

    private List<String> subnets(String name, String description) {
        return CfnParameter.Builder.create(stack, name)
                .type("List<AWS::EC2::Subnet::Id>")
                .description(description)
                .build()
                .getValueAsList();
    }
}
