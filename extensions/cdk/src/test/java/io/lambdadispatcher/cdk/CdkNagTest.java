package io.lambdadispatcher.cdk;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.cdklabs.cdknag.AwsSolutionsChecks;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import software.amazon.awscdk.App;
import software.amazon.awscdk.Aspects;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.assertions.Annotations;
import software.amazon.awscdk.assertions.Match;
import software.amazon.awscdk.cxapi.SynthesisMessage;

/** What cdk-nag finds in the templates is mended, or accepted here with its reason. */
class CdkNagTest {
    private static final Map<String, String> ACCEPTED = Map.of(
            "/ExecPolicy/Resource: AwsSolutions-IAM5[Resource::*]",
            "the actions of ECS Exec know no resources; the policy exists only if the user turns it on",
            "/Dispatcher/Task/ExecutionRole/DefaultPolicy/Resource: AwsSolutions-IAM5[Resource::*]",
            "ecr:GetAuthorizationToken knows no resource",
            "/Dispatcher/Task/TaskRole/DefaultPolicy/Resource: AwsSolutions-IAM5[Resource::<Workers96E39E36.Arn>:*]",
            "versions and aliases of the one function",
            "/Workers/ServiceRole/Resource: AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
            "what every function needs: it writes its log",
            "/Workers/ServiceRole/Resource: AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole]",
            "what every function in a VPC needs: its network interfaces",
            "/Dispatcher/Task/Resource: AwsSolutions-ECS2",
            "the variables are settings; TaskSettings refuses secrets in them",
            "/Dispatcher/Cluster/Resource: AwsSolutions-ECS4",
            "Container Insights have a price; cluster(...) takes a cluster that has them",
            "/Dispatcher/LoadBalancer/Resource: AwsSolutions-ELB2",
            "the parameter AccessLogBucket turns access logs on; cdk-nag does not follow conditions",
            "/Dispatcher/LoadBalancer/SecurityGroup/Resource: AwsSolutions-EC23",
            "the template replaces this rule by the addresses in its parameter Clients");

    @ParameterizedTest
    @EnumSource
    void should_satisfy_the_rules_of_aws_solutions(PlainTemplate.Kind kind) {
        Stack stack = PlainTemplate.stack(new App(), kind);
        Aspects.of(stack).add(new AwsSolutionsChecks());

        Annotations annotations = Annotations.fromStack(stack);
        List<SynthesisMessage> errors = annotations.findError("*", Match.stringLikeRegexp("AwsSolutions-.*"));
        assertThat(errors).as("cdk-nag has looked").isNotEmpty();
        assertThat(errors).extracting(CdkNagTest::finding).isSubsetOf(ACCEPTED.keySet());
        assertThat(annotations.findWarning("*", Match.stringLikeRegexp("(AwsSolutions|CdkNag).*")))
                .extracting(CdkNagTest::finding)
                .isEmpty();
    }

    /** Returns the resource without the stack, and the rule. */
    private static String finding(SynthesisMessage message) {
        String rule = message.getEntry().getData().toString().replaceFirst("(?s)\\]?: .*", "");
        return message.getId().replaceFirst("^/lambda-dispatcher", "") + ": " + rule + (rule.contains("[") ? "]" : "");
    }
}
