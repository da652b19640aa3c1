package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs {@code docker/prove-on-aws} with the AWS command line against LocalStack. Its free edition
 * accepts the template, but has no load balancers, so the proof ends when it looks for their
 * address. Everything that it has deployed must be removed.
 */
@DockerTest(
        value = {Image.LOCALSTACK, Image.LAMBDA},
        programs = {"aws", "python3"})
class ProveOnAwsIT {
    private static final String ACCOUNT = "000000000000";

    /** The command that lists what exists, by kind of resource. */
    private static final Map<String, String[]> LISTS = Map.of(
            "functions",
            new String[] {"lambda", "list-functions", "--query", "Functions[].FunctionName"},
            "roles",
            new String[] {"iam", "list-roles", "--query", "Roles[].RoleName"},
            "log groups",
            new String[] {"logs", "describe-log-groups", "--query", "logGroups[].logGroupName"},
            "buckets",
            new String[] {"s3api", "list-buckets", "--query", "Buckets[].Name"},
            "security groups",
            new String[] {
                "ec2", "describe-security-groups", "--query", "SecurityGroups[?GroupName!=`default`].GroupName"
            },
            "stacks",
            new String[] {
                "cloudformation",
                "list-stacks",
                "--query",
                "StackSummaries[?StackStatus!=`DELETE_COMPLETE`].[StackName,StackStatus][]"
            });

    private static Cloud cloud;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
    }

    @AfterAll
    static void stop() {
        cloud.close();
    }

    @Test
    void should_deploy_both_stacks_end_at_the_load_balancer_and_leave_nothing() throws Exception {
        String vpc = list("ec2", "describe-vpcs", "--query", "Vpcs[0].VpcId");
        String subnets = String.join(
                ",",
                list("ec2", "describe-subnets", "--query", "Subnets[:2].SubnetId")
                        .split("\\s+"));

        Outcome proof = run(
                Path.of("../docker/prove-on-aws").toString(),
                "--account=" + ACCOUNT,
                "--region=" + Cloud.REGION,
                "--spending-limit=20",
                "--vpc=" + vpc,
                "--load-balancer-subnets=" + subnets,
                "--private-subnets=" + subnets,
                "--clients=198.51.100.7/32",
                "--image-repository=lambda-dispatcher",
                "--image-tag=1",
                "--scale=0.02",
                "--rotation-minutes=1");

        assertThat(proof.output())
                .contains("The proof has failed: the address unknown of a load balancer cannot be resolved")
                .doesNotContain("is not removed");
        assertThat(proof.exitCode()).describedAs(proof.output()).isEqualTo(1);
        assertThat(left()).describedAs(proof.output()).isEmpty();
        assertThat(statesOfStack(proof, "worker")).containsSubsequence("CREATE_COMPLETE", "DELETE_COMPLETE");
        assertThat(statesOfStack(proof, "direct")).containsSubsequence("CREATE_COMPLETE", "DELETE_COMPLETE");
    }

    /** Returns the states of a stack, the oldest first. */
    private List<String> statesOfStack(Outcome proof, String kind) throws Exception {
        Matcher name =
                Pattern.compile("lambda-dispatcher-proof-[0-9a-f]{8}-" + kind).matcher(proof.output());
        assertThat(name.find()).describedAs(proof.output()).isTrue();
        String id = list(
                "cloudformation",
                "list-stacks",
                "--query",
                "StackSummaries[?StackName==`" + name.group() + "`].StackId");
        String states = list(
                "cloudformation",
                "describe-stack-events",
                "--stack-name",
                id,
                "--query",
                "reverse(StackEvents[?PhysicalResourceId==StackId].ResourceStatus)");
        return List.of(states.split("\\s+"));
    }

    /** Returns everything that exists, except what LocalStack has from the beginning. */
    private List<String> left() throws Exception {
        List<String> left = new ArrayList<>();
        for (Map.Entry<String, String[]> each : LISTS.entrySet()) {
            String names = list(each.getValue());
            if (!names.isEmpty()) {
                left.add(each.getKey() + ": " + names);
            }
        }
        return left;
    }

    private String list(String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of("env", "aws", "--region", Cloud.REGION, "--output", "text"));
        command.addAll(List.of(words));
        Outcome outcome = run(command.toArray(String[]::new));
        assertThat(outcome.exitCode())
                .describedAs(command + ": " + outcome.output())
                .isZero();
        return outcome.output().strip();
    }

    private record Outcome(int exitCode, String output) {}

    private Outcome run(String... command) throws IOException, InterruptedException {
        Path output = directory.resolve("output");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(name -> name.startsWith("AWS_"));
        environment.putAll(Map.of(
                "PATH", Programs.path(),
                "AWS_ENDPOINT_URL", cloud.endpoint().toString(),
                "AWS_ACCESS_KEY_ID", "test",
                "AWS_SECRET_ACCESS_KEY", "test",
                "AWS_CONFIG_FILE", "/dev/null",
                "AWS_SHARED_CREDENTIALS_FILE", "/dev/null",
                "AWS_MAX_ATTEMPTS", "1"));
        Process process = builder.start();
        try {
            // Other programs on the machine can delay it.
            assertThat(process.waitFor(10, TimeUnit.MINUTES))
                    .describedAs(() -> "has not ended: " + List.of(command))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        return new Outcome(process.exitValue(), Files.readString(output));
    }
}
