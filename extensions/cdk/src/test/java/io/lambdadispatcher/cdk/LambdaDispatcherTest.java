package io.lambdadispatcher.cdk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awscdk.App;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.assertions.Template;
import software.amazon.awscdk.services.ec2.SecurityGroup;
import software.amazon.awscdk.services.ec2.Vpc;
import software.amazon.awscdk.services.ecs.Cluster;
import software.amazon.awscdk.services.ecs.ContainerDefinition;
import software.amazon.awscdk.services.ecs.ContainerDefinitionOptions;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.ecs.CpuArchitecture;
import software.amazon.awscdk.services.ecs.FargateService;
import software.amazon.awscdk.services.ecs.FargateTaskDefinition;
import software.amazon.awscdk.services.ecs.Secret;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationListenerAttributes;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCertificate;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCondition;
import software.amazon.awscdk.services.elasticloadbalancingv2.TargetGroupAttributes;
import software.amazon.awscdk.services.lambda.Alias;
import software.amazon.awscdk.services.lambda.AliasAttributes;
import software.amazon.awscdk.services.lambda.Code;
import software.amazon.awscdk.services.lambda.Function;
import software.amazon.awscdk.services.lambda.FunctionAttributes;
import software.amazon.awscdk.services.lambda.IAlias;
import software.amazon.awscdk.services.lambda.IFunction;
import software.amazon.awscdk.services.lambda.IVersion;
import software.amazon.awscdk.services.lambda.LayerVersion;
import software.amazon.awscdk.services.lambda.Runtime;
import software.amazon.awscdk.services.lambda.Version;
import software.amazon.awscdk.services.lambda.VersionAttributes;
import software.amazon.awscdk.services.s3.Bucket;
import software.amazon.awscdk.services.sns.Topic;

class LambdaDispatcherTest {
    private static final Pattern JAVA = Pattern.compile("(?ms)^```java\\n(.*?)^```$");
    private static final String CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/1";

    private final Stack stack = new Stack(new App(), "stack");
    private final Vpc vpc = Vpc.Builder.create(stack, "Vpc").maxAzs(2).build();
    private final Function workers =
            function("Workers").timeout(Duration.minutes(15)).build();

    private Function.Builder function(String id) {
        return Function.Builder.create(stack, id)
                .runtime(Runtime.JAVA_25)
                .code(Code.fromBucket(Bucket.fromBucketName(stack, id + "Bucket", "code"), "function.zip"))
                .handler("io.lambdadispatcher.worker.LambdaHandler")
                .vpc(vpc);
    }

    private LambdaDispatcher.Builder builder() {
        return builder("api", workers);
    }

    private LambdaDispatcher.Builder builder(String name, IFunction function) {
        return withoutEntrance(name, function).plainHttp();
    }

    private LambdaDispatcher.Builder withoutEntrance(String name, IFunction function) {
        return LambdaDispatcher.Builder.create(stack, "Dispatcher")
                .vpc(vpc)
                .image(ContainerImage.fromRegistry("registry.example.org/lambda-dispatcher:1"))
                .function(name, function);
    }

    private LambdaDispatcher.Builder withCertificate() {
        return withoutEntrance("api", workers).certificate(ListenerCertificate.fromArn(CERTIFICATE));
    }

    private IApplicationListener existingListener() {
        return ApplicationListener.fromApplicationListenerAttributes(
                stack,
                "Listener",
                ApplicationListenerAttributes.builder()
                        .listenerArn("arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/app/shop/1/2")
                        .securityGroup(SecurityGroup.fromSecurityGroupId(stack, "BalancerGroup", "sg-balancer"))
                        .build());
    }

    /** A template of the built construct, as the maps and lists of its JSON. */
    private record Rendered(Map<String, Object> resources) {
        @SuppressWarnings("unchecked")
        static Rendered of(Stack stack) {
            return new Rendered(
                    (Map<String, Object>) Template.fromStack(stack).toJSON().get("Resources"));
        }

        /** Returns the properties of all resources of a type whose logical id has this prefix. */
        List<Map<String, Object>> all(String type, String prefix) {
            List<Map<String, Object>> found = new ArrayList<>();
            new TreeMap<>(resources).forEach((id, resource) -> {
                Map<String, Object> members = map(resource);
                if (members.get("Type").equals(type) && id.startsWith(prefix)) {
                    found.add(map(members.get("Properties")));
                }
            });
            return found;
        }

        Map<String, Object> one(String type, String prefix) {
            List<Map<String, Object>> found = all(type, prefix);
            assertThat(found).as(type).hasSize(1);
            return found.get(0);
        }

        Map<String, Object> container() {
            return map(list(one("AWS::ECS::TaskDefinition", "DispatcherTask").get("ContainerDefinitions"))
                    .get(0));
        }

        Map<String, Object> environment() {
            return list(container().get("Environment")).stream()
                    .map(Rendered::map)
                    .collect(Collectors.toMap(each -> (String) each.get("Name"), each -> each.get("Value")));
        }

        /** Returns the actions that the tasks' own role allows, each with its resources. */
        Map<String, Object> allowedToTasks() {
            Map<String, Object> allowed = new TreeMap<>();
            for (Object each :
                    list(map(one("AWS::IAM::Policy", "DispatcherTaskTaskRole").get("PolicyDocument"))
                            .get("Statement"))) {
                Map<String, Object> statement = map(each);
                assertThat(statement).containsEntry("Effect", "Allow");
                List<Object> actions = statement.get("Action") instanceof List<?> several
                        ? list(several)
                        : List.of(statement.get("Action"));
                actions.forEach(action -> allowed.put((String) action, statement.get("Resource")));
            }
            return allowed;
        }

        /** Returns the security groups that reach the worker port. */
        Set<String> sourcesOfWorkers() {
            Set<String> sources = new TreeSet<>();
            all("AWS::EC2::SecurityGroupIngress", "").forEach(rule -> {
                if (rule.get("FromPort").equals(8444)) {
                    sources.add(rule.get("SourceSecurityGroupId").toString());
                }
            });
            return sources;
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> map(Object value) {
            return (Map<String, Object>) value;
        }

        @SuppressWarnings("unchecked")
        static List<Object> list(Object value) {
            return (List<Object>) value;
        }
    }

    private Rendered render(Consumer<LambdaDispatcher.Builder> with) {
        LambdaDispatcher.Builder builder = builder();
        with.accept(builder);
        builder.build();
        return Rendered.of(stack);
    }

    @Test
    void should_allow_the_tasks_only_to_invoke_the_function() {
        Rendered rendered = render(builder -> {});

        assertThat(rendered.allowedToTasks()).containsOnlyKeys("lambda:InvokeFunction");
        assertThat(rendered.allowedToTasks().toString()).contains("Workers").doesNotContain("[*]", "=*");
    }

    @Test
    void should_allow_the_tasks_to_send_metrics_to_cloudwatch_if_they_do() {
        Rendered rendered = render(builder -> builder.setting(
                "metrics.endpoint", "https://monitoring." + stack.getRegion() + ".amazonaws.com/v1/metrics"));

        assertThat(rendered.allowedToTasks()).containsOnlyKeys("lambda:InvokeFunction", "cloudwatch:PutMetricData");
    }

    @Test
    void should_allow_the_tasks_nothing_for_metrics_to_a_collector() {
        Rendered rendered = render(builder -> builder.setting("metrics.endpoint", "http://collector:4318/v1/metrics"));

        assertThat(rendered.allowedToTasks()).containsOnlyKeys("lambda:InvokeFunction");
    }

    @Test
    void should_allow_a_fleet_three_actions_on_its_table() {
        Rendered rendered = render(LambdaDispatcher.Builder::fleet);

        assertThat(rendered.allowedToTasks())
                .containsOnlyKeys("lambda:InvokeFunction", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:DeleteItem");
        assertThat(rendered.allowedToTasks().get("dynamodb:Query").toString()).contains("DispatcherFleet");
        assertThat(rendered.one("AWS::IAM::Policy", "DispatcherTaskTaskRole").toString())
                .contains("Condition={ForAllValues:StringEquals={dynamodb:LeadingKeys=[default]}}");
    }

    @Test
    void should_allow_only_the_items_of_the_fleet_with_its_name() {
        Rendered rendered = render(builder -> builder.fleet().setting("fleet.name", "shop"));

        assertThat(rendered.one("AWS::IAM::Policy", "DispatcherTaskTaskRole").toString())
                .contains("dynamodb:LeadingKeys=[shop]");
    }

    @Test
    void should_create_the_table_of_fleet_init_and_a_secret() {
        Rendered rendered = render(LambdaDispatcher.Builder::fleet);

        assertThat(rendered.one("AWS::DynamoDB::Table", "DispatcherFleet").get("KeySchema"))
                .isEqualTo(List.of(
                        Map.of("AttributeName", "fleet", "KeyType", "HASH"),
                        Map.of("AttributeName", "entry", "KeyType", "RANGE")));
        assertThat(rendered.environment()).containsKey("LAMBDA_DISPATCHER_FLEET_TABLE");
        assertThat(rendered.container().get("Secrets").toString())
                .contains("Name=LAMBDA_DISPATCHER_WORKERS_SECRET", "DispatcherWorkersSecret");
    }

    @Test
    void should_have_neither_table_nor_secret_without_a_fleet() {
        Rendered rendered = render(builder -> {});

        assertThat(rendered.all("AWS::DynamoDB::Table", "")).isEmpty();
        assertThat(rendered.all("AWS::SecretsManager::Secret", "")).isEmpty();
        assertThat(rendered.container()).doesNotContainKey("Secrets");
    }

    @Test
    void should_admit_the_load_balancer_and_the_workers_only() {
        Rendered rendered = render(builder -> {});

        Map<Integer, String> sources = new TreeMap<>();
        for (Map<String, Object> rule : rendered.all("AWS::EC2::SecurityGroupIngress", "")) {
            assertThat(rule.get("GroupId").toString()).contains("DispatcherService");
            sources.put(
                    ((Number) rule.get("FromPort")).intValue(),
                    rule.get("SourceSecurityGroupId").toString());
        }
        assertThat(sources).containsOnlyKeys(8080, 8444, 9901);
        assertThat(sources.get(8080)).contains("DispatcherLoadBalancer");
        assertThat(sources.get(9901)).contains("DispatcherLoadBalancer");
        assertThat(sources.get(8444)).contains("Workers");
        for (Map<String, Object> group : rendered.all("AWS::EC2::SecurityGroup", "")) {
            assertThat(group).doesNotContainKey("SecurityGroupIngress");
        }
    }

    @Test
    void should_open_the_load_balancer_to_the_internet_only_if_asked() {
        Rendered rendered = render(LambdaDispatcher.Builder::internetFacing);

        assertThat(rendered.one("AWS::ElasticLoadBalancingV2::LoadBalancer", "Dispatcher"))
                .containsEntry("Scheme", "internet-facing");
        assertThat(rendered.one("AWS::EC2::SecurityGroup", "DispatcherLoadBalancer")
                        .get("SecurityGroupIngress")
                        .toString())
                .contains("CidrIp=0.0.0.0/0", "FromPort=80");
    }

    @Test
    void should_check_the_health_of_the_admin_port() {
        Rendered rendered = render(builder -> {});

        assertThat(rendered.one("AWS::ElasticLoadBalancingV2::TargetGroup", "Dispatcher"))
                .containsEntry("HealthCheckPath", "/started")
                .containsEntry("HealthCheckPort", "9901")
                .containsEntry("Port", 8080)
                .containsEntry("TargetType", "ip");
    }

    /** A target group with HTTP/1.1 has no gRPC. Guides must not promise it. */
    @Test
    void should_say_that_the_load_balancer_has_no_grpc() throws IOException {
        assertThat(render(builder -> {}).one("AWS::ElasticLoadBalancingV2::TargetGroup", "Dispatcher"))
                .doesNotContainKey("ProtocolVersion");
        for (String guide : List.of("deploy-on-ecs.md", "move-one-path.md")) {
            assertThat(Files.readString(Path.of("../../docs/guides", guide)))
                    .containsPattern("\\*\\*gRPC\\.\\*\\* The (new )?target group uses HTTP/1\\.1");
        }
    }

    @Test
    void should_listen_with_tls_and_redirect_other_clients() {
        withCertificate().internetFacing().build();
        Rendered rendered = Rendered.of(stack);

        assertThat(rendered.one("AWS::ElasticLoadBalancingV2::Listener", "DispatcherLoadBalancerClients"))
                .containsEntry("Port", 443)
                .containsEntry("Protocol", "HTTPS")
                .extracting(listener -> listener.get("Certificates").toString())
                .asString()
                .contains("certificate/1");
        assertThat(rendered.one("AWS::ElasticLoadBalancingV2::Listener", "DispatcherLoadBalancerRedirect"))
                .containsEntry("Port", 80)
                .extracting(listener -> listener.get("DefaultActions").toString())
                .asString()
                .contains("Type=redirect", "Protocol=HTTPS", "HTTP_301")
                .doesNotContain("TargetGroupArn");
    }

    @Test
    void should_have_no_tls_only_if_asked() {
        assertThatThrownBy(() -> withoutEntrance("api", workers).build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("LambdaDispatcher Dispatcher: expected certificate(...), or plainHttp() if clients send"
                        + " requests without TLS, got neither");
        assertThatThrownBy(() -> withCertificate().plainHttp().build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageEndingWith("got both");
    }

    @Test
    void should_drop_header_fields_that_are_invalid() {
        assertThat(attributes(render(builder -> {})))
                .containsEntry("routing.http.drop_invalid_header_fields.enabled", "true");
    }

    private static Map<String, String> attributes(Rendered rendered) {
        return Rendered.list(rendered.one("AWS::ElasticLoadBalancingV2::LoadBalancer", "Dispatcher")
                        .get("LoadBalancerAttributes"))
                .stream()
                .map(Rendered::map)
                .collect(Collectors.toMap(each -> (String) each.get("Key"), each -> (String) each.get("Value")));
    }

    /** Otherwise, it sends requests over connections that the dispatcher is closing: 502. */
    @Test
    void should_have_a_load_balancer_that_closes_idle_connections_before_the_dispatcher() throws IOException {
        String reference = Files.readString(Path.of("../../docs/reference/configuration.md"));
        Matcher byDefault =
                Pattern.compile("\\| `http.idle-timeout` \\| `(\\d+)m` ").matcher(reference);
        assertThat(byDefault.find()).isTrue();
        int balancerSeconds = Integer.parseInt(attributes(render(builder -> {})).get("idle_timeout.timeout_seconds"));

        assertThat(balancerSeconds).isLessThan(60 * Integer.parseInt(byDefault.group(1)));
        assertThatThrownBy(() -> builder()
                        .setting("http.idle-timeout", balancerSeconds + "s")
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("http.idle-timeout: expected more than 60 s, because the load balancer keeps idle"
                        + " connections for this time, got 60s");
    }

    @Test
    void should_add_a_rule_to_an_existing_listener() {
        withoutEntrance("api", workers)
                .listenerRule(existingListener(), 7, ListenerCondition.pathPatterns(List.of("/shop/*")))
                .build();
        Rendered rendered = Rendered.of(stack);

        Map<String, Object> rule = rendered.one("AWS::ElasticLoadBalancingV2::ListenerRule", "Dispatcher");
        assertThat(rule).containsEntry("Priority", 7);
        assertThat(rule.get("ListenerArn").toString()).contains("listener/app/shop/1/2");
        assertThat(rule.get("Conditions").toString()).contains("path-pattern", "/shop/*");
        assertThat(rule.get("Actions").toString()).contains("Type=forward", "DispatcherTargets");
        assertThat(rendered.all("AWS::ElasticLoadBalancingV2::LoadBalancer", ""))
                .isEmpty();
        assertThat(rendered.all("AWS::ElasticLoadBalancingV2::Listener", "")).isEmpty();
        assertThat(rendered.all("AWS::EC2::SecurityGroupIngress", "").stream()
                        .filter(ingress -> "sg-balancer".equals(ingress.get("SourceSecurityGroupId")))
                        .map(ingress -> ((Number) ingress.get("FromPort")).intValue()))
                .containsExactlyInAnyOrder(8080, 9901);
    }

    @Test
    void should_share_the_requests_of_the_rule_with_another_target_group() {
        IApplicationTargetGroup other = ApplicationTargetGroup.fromTargetGroupAttributes(
                stack,
                "Other",
                TargetGroupAttributes.builder()
                        .targetGroupArn("arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/before/1")
                        .build());
        withoutEntrance("api", workers)
                .listenerRule(existingListener(), 7, ListenerCondition.pathPatterns(List.of("/shop/*")))
                .shareWith(10, other, 90)
                .build();

        assertThat(Rendered.of(stack)
                        .one("AWS::ElasticLoadBalancingV2::ListenerRule", "Dispatcher")
                        .get("Actions")
                        .toString())
                .containsPattern("DispatcherTargets\\w*}, Weight=10")
                .containsPattern("targetgroup/before/1, Weight=90");
    }

    @Test
    void should_refuse_a_rule_together_with_a_load_balancer() {
        LambdaDispatcher.Builder builder =
                builder().listenerRule(existingListener(), 7, ListenerCondition.pathPatterns(List.of("/shop/*")));

        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("LambdaDispatcher Dispatcher: expected either listenerRule(...), or");
    }

    @Test
    void should_let_operators_run_commands_only_if_asked() {
        Rendered rendered = render(LambdaDispatcher.Builder::executeCommand);

        assertThat(rendered.one("AWS::ECS::Service", "Dispatcher")).containsEntry("EnableExecuteCommand", true);
        assertThat(rendered.allowedToTasks())
                .containsKeys("lambda:InvokeFunction", "ssmmessages:OpenDataChannel")
                .allSatisfy((action, resources) -> assertThat(action).matches("lambda:.*|ssmmessages:.*|logs:.*"));
    }

    @Test
    void should_send_alarms_to_a_topic() {
        Rendered rendered = render(builder ->
                builder.alarms(Topic.fromTopicArn(stack, "Topic", "arn:aws:sns:eu-west-1:123456789012:operators")));

        assertThat(rendered.all("AWS::CloudWatch::Alarm", "DispatcherMonitoring"))
                .hasSize(8)
                .allSatisfy(alarm -> assertThat(alarm)
                        .containsEntry("AlarmActions", List.of("arn:aws:sns:eu-west-1:123456789012:operators"))
                        .containsKey("AlarmDescription"));
        assertThat(rendered.all("AWS::CloudWatch::Alarm", "DispatcherMonitoring"))
                .filteredOn(alarm -> !alarm.get("TreatMissingData").equals("notBreaching"))
                .as("fires without dispatchers, when no metric has values")
                .containsExactly(rendered.one("AWS::CloudWatch::Alarm", "DispatcherMonitoringDown"));
        assertThat(rendered.one("AWS::CloudWatch::Alarm", "DispatcherMonitoringDown"))
                .containsEntry("MetricName", "HealthyHostCount")
                .containsEntry("Statistic", "Maximum")
                .containsEntry("ComparisonOperator", "LessThanThreshold")
                .containsEntry("Threshold", 1)
                .containsEntry("TreatMissingData", "breaching");
        assertThat(rendered.one("AWS::CloudWatch::Alarm", "DispatcherMonitoringWorkersFail"))
                .as("looks back for longer than a worker lives, because an error has the time of its launch")
                .containsEntry("EvaluationPeriods", 20)
                .containsEntry("DatapointsToAlarm", 1)
                .containsEntry("Period", 60);
        assertThat(rendered.one("AWS::CloudWatch::Dashboard", "Dispatcher")
                        .get("DashboardBody")
                        .toString())
                .contains("TargetResponseTime", "ConcurrentExecutions", "Throttles", "CPUUtilization", "WARN|ERROR");
        assertThat(rendered.one("AWS::Logs::MetricFilter", "Dispatcher")
                        .get("LogGroupName")
                        .toString())
                .contains("DispatcherLog");
    }

    @Test
    void should_have_no_alarms_without_a_topic() {
        assertThat(render(builder -> {}).all("AWS::CloudWatch::Alarm", "")).isEmpty();
    }

    @Test
    void should_pass_settings_as_environment_variables() {
        Rendered rendered = render(
                builder -> builder.setting("function.max-workers", "7").setting("http.max-concurrent-streams", "50"));

        assertThat(rendered.environment())
                .containsEntry("LAMBDA_DISPATCHER_FUNCTION_NAME", "api")
                .containsEntry("LAMBDA_DISPATCHER_FUNCTION_LAUNCHER", "lambda")
                .containsEntry("LAMBDA_DISPATCHER_FUNCTION_MAX_WORKERS", "7")
                .containsEntry("LAMBDA_DISPATCHER_HTTP_MAX_CONCURRENT_STREAMS", "50")
                .containsEntry("LAMBDA_DISPATCHER_FORWARDING_TRUST", "append")
                .containsEntry("LAMBDA_DISPATCHER_ADMIN_PORT", "0.0.0.0:9901");
        assertThat(rendered.environment()
                        .get("LAMBDA_DISPATCHER_FUNCTION_LAMBDA")
                        .toString())
                .contains("Workers");
    }

    @Test
    void should_pass_secrets_without_showing_them() {
        software.amazon.awscdk.services.secretsmanager.Secret token =
                software.amazon.awscdk.services.secretsmanager.Secret.Builder.create(stack, "Token")
                        .build();

        Rendered rendered = render(builder -> builder.secret("admin.token", Secret.fromSecretsManager(token)));

        assertThat(rendered.container().get("Secrets").toString())
                .contains("Name=LAMBDA_DISPATCHER_ADMIN_TOKEN", "Token");
        assertThat(rendered.environment()).doesNotContainKey("LAMBDA_DISPATCHER_ADMIN_TOKEN");
    }

    @Test
    void should_replace_tasks_without_a_gap_and_bring_back_the_previous_ones() {
        Rendered rendered = render(builder -> builder.count(3));

        Map<String, Object> service = rendered.one("AWS::ECS::Service", "Dispatcher");
        assertThat(service).containsEntry("DesiredCount", 3);
        assertThat(service.get("DeploymentConfiguration").toString())
                .contains("MinimumHealthyPercent=100", "MaximumPercent=200", "Rollback=true", "Enable=true");
    }

    /** A count in the template would end tasks at the next update. */
    @Test
    void should_leave_the_number_of_tasks_to_scaling() {
        Rendered rendered = render(builder -> builder.scale(2, 10));

        assertThat(rendered.one("AWS::ECS::Service", "Dispatcher")).doesNotContainKey("DesiredCount");
        assertThat(rendered.one("AWS::ApplicationAutoScaling::ScalableTarget", "Dispatcher"))
                .containsEntry("MinCapacity", 2)
                .containsEntry("MaxCapacity", 10);
        assertThat(rendered.one("AWS::ApplicationAutoScaling::ScalingPolicy", "Dispatcher")
                        .toString())
                .contains("ECSServiceAverageCPUUtilization", "TargetValue=60");
        assertThatThrownBy(() -> builder().scale(3, 2))
                .hasMessage("dispatchers: expected at least 1, and no smaller maximum, got 3 to 2");
        assertThatThrownBy(() -> builder().count(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_give_a_task_the_time_to_stop_that_its_settings_need() {
        Rendered rendered =
                render(builder -> builder.setting("shutdown.delay", "1500ms").setting("shutdown.grace", "1m"));

        assertThat(rendered.container()).containsEntry("StopTimeout", 2 + 60 + 20);
    }

    @Test
    void should_run_on_the_smallest_size_by_default() {
        Rendered rendered = render(builder -> {});

        assertThat(rendered.one("AWS::ECS::TaskDefinition", "Dispatcher"))
                .containsEntry("Cpu", "256")
                .containsEntry("Memory", "512");
        assertThat(rendered.environment()).containsEntry("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1");
    }

    @Test
    void should_run_on_the_size_and_architecture_that_were_chosen() {
        Rendered rendered = render(builder -> builder.size(2048, 4096)
                .architecture(CpuArchitecture.ARM64)
                .cluster(Cluster.Builder.create(stack, "Own").vpc(vpc).build()));

        assertThat(rendered.one("AWS::ECS::TaskDefinition", "Dispatcher"))
                .containsEntry("Cpu", "2048")
                .containsEntry("Memory", "4096")
                .containsEntry("RuntimePlatform", Map.of("CpuArchitecture", "ARM64", "OperatingSystemFamily", "LINUX"));
        assertThat(rendered.one("AWS::ECS::Service", "Dispatcher")
                        .get("Cluster")
                        .toString())
                .contains("Own");
        assertThat(rendered.environment()).doesNotContainKey("JDK_JAVA_OPTIONS");
    }

    /** The layer runs a web application. The alias has no security group of its own. */
    @Test
    void should_invoke_an_alias_and_admit_its_function() {
        Function shop = function("Shop")
                .timeout(Duration.minutes(15))
                .layers(List.of(LayerVersion.fromLayerVersionArn(
                        stack, "Layer", "arn:aws:lambda:eu-west-1:123456789012:layer:lambda-dispatcher:1")))
                .build();
        Alias live = Alias.Builder.create(stack, "Live")
                .aliasName("live")
                .version(shop.getCurrentVersion())
                .build();

        builder("shop", live).build();
        Rendered rendered = Rendered.of(stack);

        assertThat(rendered.allowedToTasks()).containsOnlyKeys("lambda:InvokeFunction", "lambda:GetAlias");
        assertThat(rendered.allowedToTasks().values())
                .as("all versions of the function, because the alias moves")
                .allSatisfy(resources -> assertThat(resources.toString())
                        .contains(logicalId("Shop"))
                        .contains(":*"));
        assertThat(rendered.sourcesOfWorkers()).singleElement().asString().contains("Shop");
    }

    @Test
    void should_admit_the_function_of_an_alias_of_another_stack() {
        IFunction shop = Function.fromFunctionAttributes(
                stack,
                "Shop",
                FunctionAttributes.builder()
                        .functionArn("arn:aws:lambda:eu-west-1:123456789012:function:shop")
                        .sameEnvironment(true)
                        .securityGroup(SecurityGroup.fromSecurityGroupId(stack, "ShopGroup", "sg-shop"))
                        .build());
        IVersion version = Version.fromVersionAttributes(
                stack,
                "Version",
                VersionAttributes.builder().lambda(shop).version("7").build());
        IAlias live = Alias.fromAliasAttributes(
                stack,
                "Live",
                AliasAttributes.builder()
                        .aliasName("live")
                        .aliasVersion(version)
                        .build());
        builder("shop", live).build();

        assertThat(Rendered.of(stack).sourcesOfWorkers()).containsExactly("sg-shop");
    }

    @Test
    void should_admit_the_function_of_a_version() {
        builder("shop", workers.getCurrentVersion()).build();

        assertThat(Rendered.of(stack).sourcesOfWorkers())
                .singleElement()
                .asString()
                .contains("Workers");
    }

    private String logicalId(String construct) {
        return stack.getLogicalId((software.amazon.awscdk.CfnElement)
                stack.getNode().findChild(construct).getNode().getDefaultChild());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            Function.MaxWorkers   | 7          | expected the name of a setting such as function.max-workers, got 'Function.MaxWorkers'
            workers.port          | 9000       | workers.port: the construct decides this setting
            admin.tls.certificate | /admin.pem | admin.tls.certificate: the construct decides this setting
            admin.tls.key         | /admin.key | admin.tls.key: the construct decides this setting
            workers.secret        | hunter2    | workers.secret: expected a secret
            """)
    void should_refuse_settings_that_cannot_be_right(String name, String value, String message) {
        assertThatThrownBy(() -> builder().setting(name, value))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(message)
                .hasMessageNotContaining("hunter2");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            2 minutes | shutdown.grace: expected 0, or a duration such as 500ms, 10s, 15m or 1h, got '2 minutes'
            90s       | shutdown.delay and shutdown.grace: expected at most 100 s together, because Fargate kills a task after 120 s, got 15s and 90s
            """)
    void should_refuse_a_grace_that_fargate_cannot_give(String grace, String message) {
        LambdaDispatcher.Builder builder = builder().setting("shutdown.grace", grace);

        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void should_refuse_a_function_that_ends_too_soon() {
        assertThatThrownBy(() -> builder("api", function("Short").build()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("function api: expected a timeout of at least 60 s, got 3 s. It is the life of a worker:"
                        + " set Duration.minutes(15)");
    }

    @Test
    void should_refuse_a_second_function() {
        assertThatThrownBy(() -> builder().function("shop", workers))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("function shop: expected one function, got api before. Use a LambdaDispatcher for each"
                        + " function");
    }

    @Test
    void should_refuse_a_secret_for_a_setting_that_is_none() {
        assertThatThrownBy(() -> builder().secret("function.name", null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(
                        "function.name: expected one of admin.read-token, admin.token, function.secret, workers.secret");
    }

    @Test
    void should_use_the_secret_that_is_given_to_a_fleet() {
        Rendered rendered = render(builder -> builder.fleet()
                .secret(
                        "workers.secret",
                        Secret.fromSecretsManager(
                                software.amazon.awscdk.services.secretsmanager.Secret.fromSecretNameV2(
                                        stack, "Own", "own"))));

        assertThat(rendered.all("AWS::SecretsManager::Secret", "")).isEmpty();
        assertThat(rendered.container().get("Secrets").toString())
                .contains("Name=LAMBDA_DISPATCHER_WORKERS_SECRET")
                .contains(":secret:own");
    }

    /** Each class of {@code com.example} compiles. */
    @Test
    void should_be_what_the_guides_show() throws IOException {
        StringBuilder compiled = new StringBuilder();
        for (Path file : files(Path.of("src/test/java/com/example"))) {
            compiled.append(Files.readString(file))
                    .append(Files.readString(file).indent(-8));
        }
        int examples = 0;
        for (Path page : files(Path.of("../../docs/guides"))) {
            for (MatchResult block :
                    JAVA.matcher(Files.readString(page)).results().toList()) {
                if (block.group(1).contains("LambdaDispatcher.Builder")) {
                    assertThat(compiled).as(page.toString()).contains(block.group(1));
                    examples++;
                }
            }
        }
        assertThat(examples).isEqualTo(3);
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        }
    }

    private LambdaDispatcher.Builder withBase(LambdaDispatcher.Builder builder, int streams) {
        FargateTaskDefinition task =
                FargateTaskDefinition.Builder.create(stack, "BaseTask").build();
        ContainerDefinition container = task.addContainer(
                "shop",
                ContainerDefinitionOptions.builder()
                        .image(ContainerImage.fromRegistry("registry.example.org/shop:1"))
                        .build());
        FargateService service = FargateService.Builder.create(stack, "Base")
                .cluster(Cluster.Builder.create(stack, "BaseCluster").vpc(vpc).build())
                .taskDefinition(task)
                .build();
        return builder.base(service, container, streams);
    }

    @Test
    void should_let_a_base_find_reach_and_convince_the_dispatchers() {
        withBase(builder(), 10).build();
        Rendered rendered = Rendered.of(stack);

        assertThat(rendered.sourcesOfWorkers()).hasSize(2).anyMatch(group -> group.contains("BaseSecurityGroup"));
        String namespace = (String) rendered.one("AWS::ServiceDiscovery::PrivateDnsNamespace", "DispatcherNames")
                .get("Name");
        assertThat(rendered.one("AWS::ServiceDiscovery::Service", "DispatcherService"))
                .containsEntry("Name", "dispatcher");
        assertThat(rendered.one("AWS::ECS::Service", "DispatcherService")).containsKey("ServiceRegistries");
        Map<String, Object> base = Rendered.map(Rendered.list(
                        rendered.one("AWS::ECS::TaskDefinition", "BaseTask").get("ContainerDefinitions"))
                .get(0));
        assertThat(base.get("Environment"))
                .isEqualTo(List.of(
                        variable("LAMBDA_DISPATCHER_ADDRESSES", "dispatcher." + namespace + ":8444"),
                        variable("LAMBDA_DISPATCHER_FUNCTION", "api"),
                        variable("LAMBDA_DISPATCHER_STREAMS", "10")));
        Map<String, Object> secret =
                Rendered.map(Rendered.list(rendered.container().get("Secrets")).get(0));
        assertThat(base.get("Secrets"))
                .isEqualTo(List.of(Map.of("Name", "LAMBDA_DISPATCHER_SECRET", "ValueFrom", secret.get("ValueFrom"))));
        assertThat(rendered.environment())
                .containsKey("LAMBDA_DISPATCHER_FLEET_TABLE")
                .containsEntry("LAMBDA_DISPATCHER_FUNCTION_MIN_WORKERS", "0");
    }

    @Test
    void should_refuse_a_base_that_the_dispatchers_would_refuse() {
        LambdaDispatcher.Builder builder = withBase(builder(), 10)
                .secret(
                        "function.secret",
                        Secret.fromSecretsManager(
                                software.amazon.awscdk.services.secretsmanager.Secret.fromSecretNameV2(
                                        stack, "Own", "own")));

        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("LambdaDispatcher Dispatcher: expected no function.secret with base(...)");
    }

    private static Map<String, Object> variable(String name, String value) {
        return Map.of("Name", name, "Value", value);
    }

    /** Launched workers have this version until the containers have been replaced. */
    @Test
    void should_let_a_base_state_the_version_of_the_alias() {
        IVersion version = Version.fromVersionAttributes(
                stack,
                "Version",
                VersionAttributes.builder()
                        .lambda(function("Shop").timeout(Duration.minutes(15)).build())
                        .version("7")
                        .build());
        IAlias live = Alias.fromAliasAttributes(
                stack,
                "Live",
                AliasAttributes.builder()
                        .aliasName("live")
                        .aliasVersion(version)
                        .build());
        withBase(builder("shop", live), 10).build();

        Map<String, Object> base = Rendered.map(Rendered.list(Rendered.of(stack)
                        .one("AWS::ECS::TaskDefinition", "BaseTask")
                        .get("ContainerDefinitions"))
                .get(0));
        assertThat(Rendered.list(base.get("Environment"))).contains(variable("AWS_LAMBDA_FUNCTION_VERSION", "7"));
    }

    /** The base may state another version than the one that the dispatchers know. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_allow_the_tasks_to_find_the_version_that_a_base_states(boolean ofVersion) {
        LambdaDispatcher.Builder builder = ofVersion ? builder("shop", workers.getCurrentVersion()) : builder();
        withBase(builder, 10).build();

        Rendered rendered = Rendered.of(stack);
        assertThat(rendered.allowedToTasks()).containsKeys("lambda:InvokeFunction", "lambda:GetAlias");
        assertThat(rendered.allowedToTasks()).allSatisfy((action, resources) -> {
            if (action.startsWith("lambda:")) {
                assertThat(resources.toString())
                        .contains(logicalId("Workers"))
                        .contains(":*")
                        .doesNotContain("CurrentVersion");
            }
        });
    }

    @Test
    void should_keep_a_minimum_that_is_set_before_the_base() {
        withBase(builder().setting("function.min-workers", "2"), 10).build();

        assertThat(Rendered.of(stack).environment()).containsEntry("LAMBDA_DISPATCHER_FUNCTION_MIN_WORKERS", "2");
    }

    @Test
    void should_refuse_streams_of_a_base_that_would_stay_unused() {
        LambdaDispatcher.Builder builder = withBase(builder(), 20);

        assertThatThrownBy(builder::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("base: expected at most 10 streams, which is function.worker-concurrency, got 20. The"
                        + " dispatchers would not use more: raise function.worker-concurrency, or give fewer streams");
    }

    @Test
    void should_use_more_streams_of_a_base_if_the_concurrency_is_raised_later() {
        withBase(builder(), 20).setting("function.worker-concurrency", "20").build();

        assertThat(Rendered.of(stack).environment())
                .containsEntry("LAMBDA_DISPATCHER_FUNCTION_WORKER_CONCURRENCY", "20");
    }

    @Test
    void should_name_what_is_missing() {
        assertThatThrownBy(() -> LambdaDispatcher.Builder.create(stack, "Dispatcher")
                        .vpc(vpc)
                        .build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("LambdaDispatcher Dispatcher: expected image, got nothing");
    }
}
