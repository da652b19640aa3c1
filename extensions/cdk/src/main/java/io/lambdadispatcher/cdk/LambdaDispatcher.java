package io.lambdadispatcher.cdk;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.RemovalPolicy;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.services.applicationautoscaling.EnableScalingProps;
import software.amazon.awscdk.services.dynamodb.Attribute;
import software.amazon.awscdk.services.dynamodb.AttributeType;
import software.amazon.awscdk.services.dynamodb.BillingMode;
import software.amazon.awscdk.services.dynamodb.Table;
import software.amazon.awscdk.services.ec2.IVpc;
import software.amazon.awscdk.services.ec2.Port;
import software.amazon.awscdk.services.ecs.AwsLogDriverProps;
import software.amazon.awscdk.services.ecs.Cluster;
import software.amazon.awscdk.services.ecs.ContainerDefinition;
import software.amazon.awscdk.services.ecs.ContainerDefinitionOptions;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.ecs.CpuArchitecture;
import software.amazon.awscdk.services.ecs.CpuUtilizationScalingProps;
import software.amazon.awscdk.services.ecs.DeploymentCircuitBreaker;
import software.amazon.awscdk.services.ecs.FargateService;
import software.amazon.awscdk.services.ecs.FargateTaskDefinition;
import software.amazon.awscdk.services.ecs.ICluster;
import software.amazon.awscdk.services.ecs.LogDriver;
import software.amazon.awscdk.services.ecs.OperatingSystemFamily;
import software.amazon.awscdk.services.ecs.PortMapping;
import software.amazon.awscdk.services.ecs.RuntimePlatform;
import software.amazon.awscdk.services.ecs.Secret;
import software.amazon.awscdk.services.ecs.Ulimit;
import software.amazon.awscdk.services.ecs.UlimitName;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationLoadBalancer;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.IListenerCertificate;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCondition;
import software.amazon.awscdk.services.iam.PolicyStatement;
import software.amazon.awscdk.services.lambda.Function;
import software.amazon.awscdk.services.lambda.IAlias;
import software.amazon.awscdk.services.lambda.IFunction;
import software.amazon.awscdk.services.logs.LogGroup;
import software.amazon.awscdk.services.logs.RetentionDays;
import software.amazon.awscdk.services.secretsmanager.SecretStringGenerator;
import software.amazon.awscdk.services.sns.ITopic;
import software.constructs.Construct;

/**
 * Dispatchers on ECS Fargate, behind an Application Load Balancer. They launch workers by invoking
 * a Lambda function.
 *
 * <pre>{@code
 * Function workers = Function.Builder.create(this, "Workers")
 *         .runtime(Runtime.JAVA_25)
 *         .code(Code.fromAsset("hello-function.zip"))
 *         .handler("io.lambdadispatcher.worker.LambdaHandler")
 *         .environment(Map.of("LAMBDA_DISPATCHER_HANDLER", "com.example.hello.HelloHandler"))
 *         .memorySize(512)
 *         .timeout(Duration.minutes(15)) // the life of a worker
 *         .vpc(vpc)
 *         .build();
 * LambdaDispatcher.Builder.create(this, "Dispatcher")
 *         .vpc(vpc)
 *         .image(ContainerImage.fromEcrRepository(repository, "0.1.0"))
 *         .function("api", workers)
 *         .setting("function.max-workers", "50")
 *         .certificate(ListenerCertificate.fromArn("arn:aws:acm:..."))
 *         .build();
 * }</pre>
 *
 * <p><b>Network.</b> Clients reach port 8080 of the dispatchers, through the load balancer. The
 * security group of the function, and of a base, reaches the worker port, 8444. The load balancer
 * reaches the admin port, 9901, for its health check. Nothing else may connect. Workers dial the
 * address of the task that launched them, so the load balancer has no listener for the worker port.
 *
 * <p><b>Permissions.</b> The tasks may call {@code lambda:InvokeFunction} on the function, with an
 * alias or a base also {@code lambda:GetAlias}, in a fleet use its table and its secret, and, if
 * {@code metrics.endpoint} is CloudWatch's, put metrics there. They have no other permission.
 *
 * <p><b>Errors.</b> Values that cannot be right throw {@link IllegalArgumentException} when they
 * are given. The dispatcher itself checks all settings when it starts. If it refuses them, ECS
 * brings back the previous deployment.
 *
 * <p><b>Threading.</b> One thread, as for all constructs.
 */
public final class LambdaDispatcher extends Construct {
    static final int PUBLIC_PORT = 8080;
    static final int ADMIN_PORT = 9901;
    private static final int WORKER_PORT = 8444;
    private static final int VCPU = 1024;

    private final FargateTaskDefinition task;
    private final FargateService service;
    private final Entrance entrance;
    private final LogGroup logGroup;
    private final @Nullable Table fleetTable;

    private LambdaDispatcher(Builder from) {
        super(from.scope, from.id);
        IVpc vpc = Objects.requireNonNull(from.vpc);
        logGroup = LogGroup.Builder.create(this, "Log")
                .retention(RetentionDays.ONE_MONTH)
                .build();
        task = FargateTaskDefinition.Builder.create(this, "Task")
                .cpu(from.cpu)
                .memoryLimitMiB(from.memoryMiB)
                .runtimePlatform(RuntimePlatform.builder()
                        .cpuArchitecture(from.architecture)
                        .operatingSystemFamily(OperatingSystemFamily.LINUX)
                        .build())
                .build();
        Map<String, Secret> secrets = new TreeMap<>(from.secrets);
        fleetTable = from.fleet ? fleetTable(from.settings.all().getOrDefault("fleet.name", "default")) : null;
        if (fleetTable != null) {
            secrets.computeIfAbsent("workers.secret", name -> workersSecret());
        }
        task.addContainer("dispatcher", container(from, secrets));
        service = FargateService.Builder.create(this, "Service")
                .cluster(from.cluster != null ? from.cluster : cluster(vpc))
                .taskDefinition(task)
                .desiredCount(from.least == from.most ? from.least : null)
                // A new task has its own workers before an old task stops.
                .minHealthyPercent(100)
                .maxHealthyPercent(200)
                .circuitBreaker(
                        DeploymentCircuitBreaker.builder().rollback(true).build())
                .healthCheckGracePeriod(Duration.minutes(2))
                .enableExecuteCommand(from.executeCommand)
                .build();
        if (from.least < from.most) {
            service.autoScaleTaskCount(EnableScalingProps.builder()
                            .minCapacity(from.least)
                            .maxCapacity(from.most)
                            .build())
                    .scaleOnCpuUtilization(
                            "Cpu",
                            CpuUtilizationScalingProps.builder()
                                    .targetUtilizationPercent(60)
                                    .build());
        }
        entrance = from.rule == null
                ? Entrance.of(this, vpc, from.certificates, from.internetFacing)
                : Entrance.of(this, vpc, from.rule);
        entrance.targets().addTarget(service);
        service.getConnections()
                .allowFrom(
                        entrance.source(), Port.tcp(ADMIN_PORT), "The load balancer checks the health of dispatchers");
        IFunction function = LaunchedFunction.withoutQualifier(Objects.requireNonNull(from.function));
        service.getConnections()
                .allowFrom(function, Port.tcp(WORKER_PORT), "Workers dial the dispatcher that launched them");
        if (from.base != null) {
            from.base.connect(
                    this,
                    vpc,
                    service,
                    WORKER_PORT,
                    Objects.requireNonNull(from.settings.all().get("function.name")),
                    Objects.requireNonNull(secrets.get("workers.secret")));
            if (from.function instanceof IAlias alias) {
                from.base.state(alias.getVersion());
            }
        }
        if (from.alarmTopic != null) {
            new Monitoring(this, function, from.alarmTopic);
        }
    }

    private Cluster cluster(IVpc vpc) {
        return Cluster.Builder.create(this, "Cluster").vpc(vpc).build();
    }

    /** The dispatcher's {@code fleet init} creates the same table. */
    private Table fleetTable(String fleet) {
        Table table = Table.Builder.create(this, "Fleet")
                .partitionKey(key("fleet"))
                .sortKey(key("entry"))
                .billingMode(BillingMode.PAY_PER_REQUEST)
                // It has nothing that outlives the dispatchers.
                .removalPolicy(RemovalPolicy.DESTROY)
                .build();
        task.addToTaskRolePolicy(PolicyStatement.Builder.create()
                .actions(List.of("dynamodb:Query", "dynamodb:PutItem", "dynamodb:DeleteItem"))
                .resources(List.of(table.getTableArn()))
                // Nothing of another fleet that may share the table.
                .conditions(Map.of("ForAllValues:StringEquals", Map.of("dynamodb:LeadingKeys", List.of(fleet))))
                .build());
        return table;
    }

    private static Attribute key(String name) {
        return Attribute.builder().name(name).type(AttributeType.STRING).build();
    }

    private ContainerDefinitionOptions container(Builder from, Map<String, Secret> secrets) {
        IFunction function = Objects.requireNonNull(from.function);
        LaunchedFunction.allowInvokes(task, function, from.base != null);
        Map<String, String> settings = new TreeMap<>(from.settings.all());
        settings.put("aws.region", Stack.of(this).getRegion());
        settings.put("function.lambda", function.getFunctionArn());
        if (fleetTable != null) {
            settings.put("fleet.table", fleetTable.getTableName());
        }
        if (settings.getOrDefault("metrics.endpoint", "").startsWith("https://monitoring.")) {
            task.addToTaskRolePolicy(PolicyStatement.Builder.create()
                    .actions(List.of("cloudwatch:PutMetricData"))
                    .resources(List.of("*")) // This action knows no resources.
                    .build());
        }
        Map<String, String> environment = TaskSettings.asEnvironment(settings);
        if (from.cpu < VCPU) {
            // The second compiler would use most of the task during the first minute.
            environment.put("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1");
        }
        return ContainerDefinitionOptions.builder()
                .image(Objects.requireNonNull(from.image))
                .environment(environment)
                .secrets(TaskSettings.asEnvironment(secrets))
                .portMappings(Stream.of(PUBLIC_PORT, WORKER_PORT, ADMIN_PORT)
                        .map(port -> PortMapping.builder().containerPort(port).build())
                        .toList())
                .stopTimeout(Duration.seconds(from.settings.stopSeconds()))
                .ulimits(List.of(Ulimit.builder()
                        .name(UlimitName.NOFILE)
                        .softLimit(65536)
                        .hardLimit(65536)
                        .build()))
                .logging(LogDriver.awsLogs(AwsLogDriverProps.builder()
                        .logGroup(logGroup)
                        .streamPrefix("dispatcher")
                        .build()))
                .build();
    }

    /** Workers of a fleet dial dispatchers that have not launched them. */
    private Secret workersSecret() {
        return Secret.fromSecretsManager(
                software.amazon.awscdk.services.secretsmanager.Secret.Builder.create(this, "WorkersSecret")
                        .generateSecretString(SecretStringGenerator.builder()
                                .passwordLength(64)
                                .excludePunctuation(true)
                                .build())
                        .build());
    }

    /** Returns the service, for example to add an alarm. {@link Builder#scale} scales it. */
    public FargateService getService() {
        return service;
    }

    /** Returns the task definition, for example to give its role more permissions. */
    public FargateTaskDefinition getTaskDefinition() {
        return task;
    }

    /**
     * Returns the load balancer, for example for a DNS record or a security group, or null with
     * {@link Builder#listenerRule}.
     */
    public @Nullable ApplicationLoadBalancer getLoadBalancer() {
        return entrance.loadBalancer();
    }

    /** Returns the target group of the tasks, for example for its metrics. */
    public ApplicationTargetGroup getTargetGroup() {
        return entrance.targets();
    }

    /** Returns where the dispatchers' log is, which is kept for a month. */
    public LogGroup getLogGroup() {
        return logGroup;
    }

    /** Returns the table of the fleet, or null if the dispatchers are no fleet. */
    public @Nullable Table getFleetTable() {
        return fleetTable;
    }

    /**
     * Builds a {@link LambdaDispatcher}. {@link #vpc}, {@link #image}, {@link #function}, and one
     * of {@link #certificate}, {@link #plainHttp} and {@link #listenerRule} are required.
     */
    public static final class Builder {
        private final Construct scope;
        private final String id;
        private final TaskSettings settings = new TaskSettings();
        private final Map<String, Secret> secrets = new TreeMap<>();
        private final List<IListenerCertificate> certificates = new ArrayList<>();
        private @Nullable IVpc vpc;
        private @Nullable ICluster cluster;
        private @Nullable ContainerImage image;
        private @Nullable IFunction function;
        private CpuArchitecture architecture = CpuArchitecture.X86_64;
        private int cpu = 256;
        private int memoryMiB = 512;
        private int least = 2;
        private int most = 2;
        private boolean internetFacing;
        private boolean plainHttp;
        private boolean fleet;
        private boolean executeCommand;
        private Entrance.@Nullable Rule rule;
        private @Nullable Base base;
        private @Nullable ITopic alarmTopic;

        private Builder(Construct scope, String id) {
            this.scope = scope;
            this.id = id;
        }

        /**
         * Begins a construct.
         *
         * @param scope the stack, or a part of it
         * @param id unique within the scope
         */
        public static Builder create(Construct scope, String id) {
            return new Builder(scope, id);
        }

        /**
         * Sets the network of the load balancer, which uses public subnets if it is {@link
         * #internetFacing}, and of the tasks, which use private subnets. They must reach Lambda's
         * API, the image registry and CloudWatch Logs.
         */
        public Builder vpc(IVpc vpc) {
            this.vpc = vpc;
            return this;
        }

        /** Sets the cluster of the service. By default, the construct creates one. */
        public Builder cluster(ICluster cluster) {
            this.cluster = cluster;
            return this;
        }

        /** Sets the image of the dispatcher, which {@code docker/server.Dockerfile} builds. */
        public Builder image(ContainerImage image) {
            this.image = image;
            return this;
        }

        /**
         * Sets the function that runs the workers.
         *
         * <p>With an alias of {@code getCurrentVersion()}, give the function {@code
         * currentVersionOptions} with {@code RemovalPolicy.RETAIN}. Otherwise, the next deployment
         * deletes the old version, from which the dispatchers launch workers until they have
         * changed to the new version.
         *
         * @param name {@code function.name}, which metrics and logs use
         * @param function in a VPC that routes to the tasks; an alias keeps workers on one version
         * @throws IllegalArgumentException if the function's own timeout is less than a minute,
         *     because a worker lives only so long; 15 minutes are best
         * @throws IllegalStateException if there is a function already
         */
        public Builder function(String name, IFunction function) {
            if (this.function != null) {
                throw new IllegalStateException("function " + name + ": expected one function, got "
                        + settings.all().get("function.name") + " before. Use a LambdaDispatcher for each function");
            }
            if (function instanceof Function own) {
                Duration timeout = own.getTimeout();
                long seconds = timeout == null ? 3 : timeout.toSeconds().longValue();
                if (seconds < 60) {
                    throw new IllegalArgumentException(
                            "function " + name + ": expected a timeout of at least 60 s, got " + seconds
                                    + " s. It is the life of a worker: set Duration.minutes(15)");
                }
            }
            settings.own("function.name", name);
            this.function = function;
            return this;
        }

        /**
         * Changes a setting of the dispatcher.
         *
         * @param name a name of the configuration reference, such as {@code function.max-workers}
         * @param value as in an environment variable; it may be a token of the CDK
         * @throws IllegalArgumentException if no setting can have this name, if the construct
         *     itself sets it, or if it is a secret, which belongs into {@link #secret}. Only the
         *     dispatcher knows which settings there are
         */
        public Builder setting(String name, String value) {
            settings.set(name, value);
            return this;
        }

        /**
         * Sets a secret of the dispatcher.
         *
         * @param name {@code admin.token}, {@code function.secret} or {@code workers.secret}
         * @param secret in Secrets Manager or Parameter Store; the tasks may read it
         * @throws IllegalArgumentException if this setting is no secret
         */
        public Builder secret(String name, Secret secret) {
            TaskSettings.expectSecret(name);
            secrets.put(name, secret);
            return this;
        }

        /**
         * Adds a certificate. The load balancer listens with TLS on port 443, and redirects
         * requests of port 80 there.
         */
        public Builder certificate(IListenerCertificate certificate) {
            certificates.add(certificate);
            return this;
        }

        /** Lets clients send requests without TLS, on port 80. Then no certificate is needed. */
        public Builder plainHttp() {
            plainHttp = true;
            return this;
        }

        /**
         * Adds a rule to a listener of a load balancer that you have, instead of a load balancer.
         * Its security group must allow connections to the tasks on ports 8080 and 9901, which the
         * construct adds if it may change the group.
         *
         * @param listener in the same VPC; its idle timeout must be shorter than {@code
         *     http.idle-timeout}, which is 5 minutes by default
         * @param priority no other rule of the listener has it
         * @param conditions such as {@code ListenerCondition.pathPatterns(List.of("/shop/*"))}
         */
        public Builder listenerRule(IApplicationListener listener, Number priority, ListenerCondition... conditions) {
            rule = new Entrance.Rule(listener, priority, List.of(conditions), null);
            return this;
        }

        /**
         * Lets another target group get a part of the requests of the {@link #listenerRule}.
         *
         * @param weight of the dispatchers, 0 to 999; of 10 and 90, they get a tenth
         * @param other what has served these requests before
         * @param otherWeight its weight
         * @throws IllegalStateException if there is no rule
         */
        public Builder shareWith(Number weight, IApplicationTargetGroup other, Number otherWeight) {
            if (rule == null) {
                throw new IllegalStateException("shareWith: expected listenerRule(...) before");
            }
            rule = rule.with(new Entrance.Sharing(weight, other, otherWeight));
            return this;
        }

        /**
         * Allows ECS Exec: operators run the command {@code dispatcher} in a task. The role of the
         * tasks may then also use the channels of Systems Manager.
         */
        public Builder executeCommand() {
            executeCommand = true;
            return this;
        }

        /**
         * Adds a dashboard and alarms of CloudWatch, which have a price.
         *
         * @param topic gets a message when an alarm begins and when it ends
         */
        public Builder alarms(ITopic topic) {
            alarmTopic = topic;
            return this;
        }

        /**
         * Opens the load balancer to the internet. By default, it is internal and admits nobody:
         * open the security group of {@link LambdaDispatcher#getLoadBalancer}.
         */
        public Builder internetFacing() {
            internetFacing = true;
            return this;
        }

        /**
         * Lets the dispatchers share limits and workers: adds a DynamoDB table, and a secret unless
         * {@code workers.secret} is set. Without it, each dispatcher has its own workers, and
         * limits hold for each of them.
         */
        public Builder fleet() {
            fleet = true;
            return this;
        }

        /**
         * Makes the containers of a service workers, which carry the base of the function's
         * traffic. The function is invoked only for what exceeds it, so {@code
         * function.min-workers} is 0 by default. The dispatchers become a {@link #fleet}, and the
         * containers find them by a DNS name. Each container still needs its handler or web
         * application, see the page "Burst a service to Lambda". With an alias, the containers
         * state its version, which launched workers follow.
         *
         * @param service in the same stack and VPC
         * @param container gets the environment variables and the secret of a worker
         * @param streams how many requests a container serves concurrently, at most {@code
         *     function.worker-concurrency}
         */
        public Builder base(FargateService service, ContainerDefinition container, int streams) {
            base = new Base(service, container, streams);
            settings.byDefault("function.min-workers", "0");
            return fleet();
        }

        /** Sets how many dispatchers run. Default: 2. */
        public Builder count(int count) {
            return scale(count, count);
        }

        /**
         * Lets the number of dispatchers follow their CPU, so that they use 60 % of it. An update
         * of the stack does not change the number. Use it with {@link #fleet}.
         */
        public Builder scale(int least, int most) {
            if (least < 1 || most < least) {
                throw new IllegalArgumentException(
                        "dispatchers: expected at least 1, and no smaller maximum, got " + least + " to " + most);
            }
            this.least = least;
            this.most = most;
            return this;
        }

        /**
         * Sets the size of a task. Default: 256 and 512, which is the smallest size of Fargate. The
         * JVM of a task of less than one vCPU compiles with C1 only.
         *
         * @param cpu 1024 are one vCPU
         * @param memoryMiB that Fargate offers for this CPU
         */
        public Builder size(int cpu, int memoryMiB) {
            this.cpu = cpu;
            this.memoryMiB = memoryMiB;
            return this;
        }

        /** Sets the architecture of the image. Default: x86-64. */
        public Builder architecture(CpuArchitecture architecture) {
            this.architecture = architecture;
            return this;
        }

        /**
         * Adds the construct to the scope.
         *
         * @throws IllegalStateException if a required part is missing, or parts contradict each
         *     other
         * @throws IllegalArgumentException if {@code shutdown.delay} and {@code shutdown.grace} are
         *     longer than Fargate allows, {@code http.idle-timeout} is not longer than the load
         *     balancer's, or a container of the base has more streams than the dispatchers use
         */
        public LambdaDispatcher build() {
            expect("vpc", vpc);
            expect("image", image);
            expect("function", function);
            if (base != null) {
                settings.expectConcurrency(base.streams());
                if (secrets.containsKey("function.secret")) {
                    throw new IllegalStateException("LambdaDispatcher " + id + ": expected no function.secret with"
                            + " base(...), because the containers have workers.secret, which is refused then. Remove"
                            + " this secret");
                }
            }
            if (rule != null && (plainHttp || internetFacing || !certificates.isEmpty())) {
                throw new IllegalStateException("LambdaDispatcher " + id + ": expected either listenerRule(...), or"
                        + " certificate(...), plainHttp() and internetFacing() of a load balancer of its own");
            }
            if (rule == null && plainHttp != certificates.isEmpty()) {
                throw new IllegalStateException("LambdaDispatcher " + id
                        + ": expected certificate(...), or plainHttp() if clients send requests without TLS, got "
                        + (plainHttp ? "both" : "neither"));
            }
            settings.expectLongerIdleTimeout(Entrance.IDLE_SECONDS);
            return new LambdaDispatcher(this);
        }

        private void expect(String part, @Nullable Object value) {
            if (value == null) {
                throw new IllegalStateException("LambdaDispatcher " + id + ": expected " + part + ", got nothing");
            }
        }
    }
}
