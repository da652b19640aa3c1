package io.lambdadispatcher.cdk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
import software.amazon.awscdk.services.ec2.SecurityGroup;
import software.amazon.awscdk.services.ec2.Vpc;
import software.amazon.awscdk.services.ec2.VpcAttributes;
import software.amazon.awscdk.services.ecr.Repository;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.ecs.CpuArchitecture;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationListenerAttributes;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationLoadBalancer;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCertificate;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCondition;
import software.amazon.awscdk.services.elasticloadbalancingv2.TargetGroupAttributes;
import software.amazon.awscdk.services.iam.Policy;
import software.amazon.awscdk.services.iam.PolicyStatement;
import software.amazon.awscdk.services.lambda.Code;
import software.amazon.awscdk.services.lambda.Function;
import software.amazon.awscdk.services.lambda.Runtime;
import software.amazon.awscdk.services.s3.Bucket;
import software.amazon.awscdk.services.sns.Topic;
import software.constructs.IConstruct;

/**
 * Renders the templates in {@code docker/}, for teams without the CDK. What the construct takes as
 * Java values is here a parameter of the stack.
 */
final class PlainTemplate {
    /** The templates. */
    enum Kind {
        /** With a load balancer. */
        COMPLETE(
                "cloudformation.json",
                "Lambda Dispatcher on ECS Fargate, with a Lambda function that runs its workers"),
        /** With a rule of a listener that exists. */
        EXISTING_ALB(
                "cloudformation-existing-alb.json",
                "Lambda Dispatcher on ECS Fargate, for some paths of an existing Application Load Balancer");

        final String file;
        private final String description;

        Kind(String file, String description) {
            this.file = file;
            this.description = description;
        }
    }

    private static final Map<String, String> NO_VALUE = Map.of("Ref", "AWS::NoValue");

    private final Kind kind;
    private final Stack stack;

    private PlainTemplate(App app, Kind kind) {
        this.kind = kind;
        stack = new Stack(
                app,
                "lambda-dispatcher",
                StackProps.builder()
                        .description(kind.description)
                        .synthesizer(DefaultStackSynthesizer.Builder.create()
                                .generateBootstrapVersionRule(false)
                                .build())
                        .build());
    }

    /** Returns the template as JSON. Needs a directory for the files of the CDK. */
    static String render(Kind kind, Path directory) throws IOException {
        App app = new App(AppProps.builder()
                .analyticsReporting(false)
                .treeMetadata(false)
                .outdir(directory.toString())
                .build());
        stack(app, kind);
        app.synth();
        return Files.readString(directory.resolve("lambda-dispatcher.template.json")) + "\n";
    }

    /** Returns the stack that a template is rendered from. */
    static Stack stack(App app, Kind kind) {
        PlainTemplate template = new PlainTemplate(app, kind);
        template.fill();
        return template.stack;
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
        LambdaDispatcher.Builder builder = LambdaDispatcher.Builder.create(stack, "Dispatcher")
                .vpc(vpc)
                .image(ContainerImage.fromEcrRepository(
                        Repository.fromRepositoryName(
                                stack,
                                "Repository",
                                text(
                                        "ImageRepository",
                                        "Name of the repository in ECR, in the same account and region")),
                        text("ImageTag", "Tag of the image")))
                .architecture(CpuArchitecture.of(CfnParameter.Builder.create(stack, "Architecture")
                        .type("String")
                        .description("Architecture of the image: tasks on ARM64 cost less")
                        .allowedValues(List.of("X86_64", "ARM64"))
                        .defaultValue("X86_64")
                        .build()
                        .getValueAsString()))
                .function("api", workers)
                .setting("function.worker-memory", Token.asString(workerMemory))
                .setting(
                        "function.min-workers", text("MinWorkers", "Workers without traffic, for each dispatcher", "1"))
                .setting("function.max-workers", text("MaxWorkers", "Maximum number of workers of a dispatcher", "50"))
                .setting(
                        "function.worker-concurrency",
                        text("WorkerConcurrency", "Requests in flight on a worker", "10"))
                .alarms(Topic.fromTopicArn(
                        stack,
                        "Topic",
                        text("AlarmTopic", "ARN of an SNS topic, for a dashboard and alarms; none without it", "")));
        if (kind == Kind.COMPLETE) {
            withLoadBalancer(builder);
        } else {
            withRule(builder);
        }
    }

    private void withLoadBalancer(LambdaDispatcher.Builder builder) {
        String certificate = text(
                "CertificateArn",
                "Certificate in ACM. Clients use HTTPS, and port 80 redirects there. none: plain HTTP on port 80");
        LambdaDispatcher dispatcher = builder.certificate(ListenerCertificate.fromArn(certificate))
                .internetFacing()
                .build();
        ApplicationLoadBalancer loadBalancer = Objects.requireNonNull(dispatcher.getLoadBalancer());
        admitClients(loadBalancer, condition("Tls", certificate, "none"));
        logAccesses(loadBalancer);
        makeOptional(dispatcher);
        CfnOutput.Builder.create(stack, "Address")
                .description("Where clients send requests")
                .value(loadBalancer.getLoadBalancerDnsName())
                .build();
    }

    private void withRule(LambdaDispatcher.Builder builder) {
        IApplicationListener listener = ApplicationListener.fromApplicationListenerAttributes(
                stack,
                "Listener",
                ApplicationListenerAttributes.builder()
                        .listenerArn(text("ListenerArn", "Listener of the load balancer that gets the rule"))
                        .securityGroup(SecurityGroup.fromSecurityGroupId(
                                stack,
                                "LoadBalancerGroup",
                                CfnParameter.Builder.create(stack, "LoadBalancerSecurityGroup")
                                        .type("AWS::EC2::SecurityGroup::Id")
                                        .description("Security group of the load balancer")
                                        .build()
                                        .getValueAsString()))
                        .build());
        IApplicationTargetGroup other = ApplicationTargetGroup.fromTargetGroupAttributes(
                stack,
                "Other",
                TargetGroupAttributes.builder()
                        .targetGroupArn(text("OtherTargetGroupArn", "Target group that serves these paths today"))
                        .build());
        List<String> paths = CfnParameter.Builder.create(stack, "Paths")
                .type("CommaDelimitedList")
                .description("Paths of the rule, at most 5, such as /shop,/shop/*")
                .build()
                .getValueAsList();
        LambdaDispatcher dispatcher = builder.listenerRule(listener, 1, ListenerCondition.pathPatterns(paths))
                .shareWith(
                        number("Weight", "Share of the requests that the dispatchers get: 0 to 999", 0),
                        other,
                        number("OtherWeight", "Share of the requests that the other target group gets: 0 to 999", 100))
                .build();
        // The construct takes a number. A reference to a parameter would be a negative one.
        resource(dispatcher.getNode().findChild("Rule"))
                .addPropertyOverride(
                        "Priority",
                        CfnParameter.Builder.create(stack, "Priority")
                                .type("Number")
                                .description("Priority of the rule, which no other rule of the listener has")
                                .build()
                                .getValueAsNumber());
        makeOptional(dispatcher);
        CfnOutput.Builder.create(stack, "TargetGroup")
                .description("Target group of the dispatchers")
                .value(dispatcher.getTargetGroup().getTargetGroupArn())
                .build();
    }

    /** The dashboard and the alarms are only for those who name a topic, ECS Exec if it is on. */
    private void makeOptional(LambdaDispatcher dispatcher) {
        CfnCondition alarms = CfnCondition.Builder.create(stack, "Alarms")
                .expression(Fn.conditionNot(Fn.conditionEquals(Fn.ref("AlarmTopic"), "")))
                .build();
        dispatcher.getNode().findChild("Monitoring").getNode().findAll().stream()
                .filter(CfnResource.class::isInstance)
                .forEach(each -> ((CfnResource) each).getCfnOptions().setCondition(alarms));
        CfnParameter.Builder.create(stack, "ExecuteCommand")
                .type("String")
                .description("Whether operators may run commands in a task, with ECS Exec")
                .allowedValues(List.of("true", "false"))
                .defaultValue("false")
                .build();
        CfnCondition exec = CfnCondition.Builder.create(stack, "Exec")
                .expression(Fn.conditionEquals(Fn.ref("ExecuteCommand"), "true"))
                .build();
        resource(dispatcher.getService().getNode().findChild("Service"))
                .addPropertyOverride("EnableExecuteCommand", Fn.conditionIf("Exec", true, false));
        Policy policy = Policy.Builder.create(stack, "ExecPolicy")
                .roles(List.of(dispatcher.getTaskDefinition().getTaskRole()))
                .statements(List.of(PolicyStatement.Builder.create()
                        .actions(List.of(
                                "ssmmessages:CreateControlChannel",
                                "ssmmessages:CreateDataChannel",
                                "ssmmessages:OpenControlChannel",
                                "ssmmessages:OpenDataChannel"))
                        .resources(List.of("*")) // These actions know no resources.
                        .build()))
                .build();
        resource(policy).getCfnOptions().setCondition(exec);
    }

    private IVpc vpc() {
        VpcAttributes.Builder attributes = VpcAttributes.builder()
                .vpcId(CfnParameter.Builder.create(stack, "VpcId")
                        .type("AWS::EC2::VPC::Id")
                        .build()
                        .getValueAsString())
                .availabilityZones(Fn.getAzs())
                .privateSubnetIds(
                        subnets(
                                "PrivateSubnets",
                                "Subnets of dispatchers and workers. They reach Lambda, ECR and CloudWatch Logs, for example through a NAT gateway"));
        if (kind == Kind.COMPLETE) {
            attributes.publicSubnetIds(subnets(
                    "LoadBalancerSubnets",
                    "Subnets of the load balancer, in two zones at least; public ones if Scheme is internet-facing"));
        }
        return Vpc.fromVpcAttributes(stack, "Vpc", attributes.build());
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

    /** Without a certificate, the load balancer listens on port 80, and redirects nobody. */
    private void admitClients(ApplicationLoadBalancer loadBalancer, CfnCondition tls) {
        Object port = Fn.conditionIf("Tls", 443, 80);
        CfnResource listener = resource(loadBalancer.getNode().findChild("Clients"));
        listener.addPropertyOverride("Port", port);
        listener.addPropertyOverride("Protocol", Fn.conditionIf("Tls", "HTTPS", "HTTP"));
        listener.addPropertyOverride(
                "Certificates",
                Fn.conditionIf("Tls", List.of(Map.of("CertificateArn", Fn.ref("CertificateArn"))), NO_VALUE));
        listener.addPropertyOverride(
                "SslPolicy", Fn.conditionIf("Tls", "ELBSecurityPolicy-TLS13-1-2-2021-06", NO_VALUE));
        resource(loadBalancer.getNode().findChild("Redirect")).getCfnOptions().setCondition(tls);
        resource(loadBalancer)
                .addPropertyOverride(
                        "Scheme",
                        CfnParameter.Builder.create(stack, "Scheme")
                                .allowedValues(List.of("internal", "internet-facing"))
                                .defaultValue("internal")
                                .build()
                                .getValueAsString());
        String clients = text("Clients", "Addresses of clients, such as 10.0.0.0/8, or 0.0.0.0/0 for everyone");
        resource(loadBalancer.getNode().findChild("SecurityGroup"))
                .addPropertyOverride(
                        "SecurityGroupIngress",
                        List.of(
                                ingress(clients, "Clients", port),
                                Fn.conditionIf("Tls", ingress(clients, "Clients that are redirected", 80), NO_VALUE)));
    }

    /** Sorted, because the order in the file must not vary. */
    private static Map<String, Object> ingress(String clients, String description, Object port) {
        return new TreeMap<>(Map.of(
                "CidrIp", clients, "Description", description, "IpProtocol", "tcp", "FromPort", port, "ToPort", port));
    }

    private void logAccesses(ApplicationLoadBalancer loadBalancer) {
        String bucket =
                text("AccessLogBucket", "Bucket for the access logs of the load balancer; no logs without it", "");
        condition("AccessLogs", bucket, "");
        CfnResource resource = resource(loadBalancer);
        // After the attributes that the construct sets.
        resource.addPropertyOverride("LoadBalancerAttributes.3", accessLogs("access_logs.s3.enabled", "true"));
        resource.addPropertyOverride("LoadBalancerAttributes.4", accessLogs("access_logs.s3.bucket", bucket));
    }

    private static Object accessLogs(String key, String value) {
        return Fn.conditionIf("AccessLogs", new TreeMap<>(Map.of("Key", key, "Value", value)), NO_VALUE);
    }

    /** Holds if the text is not empty. */
    private CfnCondition condition(String name, String text, String absent) {
        return CfnCondition.Builder.create(stack, name)
                .expression(Fn.conditionNot(Fn.conditionEquals(text, absent)))
                .build();
    }

    private static CfnResource resource(IConstruct construct) {
        return (CfnResource)
                (construct instanceof CfnResource
                        ? construct
                        : Objects.requireNonNull(construct.getNode().getDefaultChild()));
    }

    private Number number(String name, String description, Number byDefault) {
        return CfnParameter.Builder.create(stack, name)
                .type("Number")
                .description(description)
                .defaultValue(byDefault)
                .build()
                .getValueAsNumber();
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
