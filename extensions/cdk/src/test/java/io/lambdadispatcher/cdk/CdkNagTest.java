package io.lambdadispatcher.cdk;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.cdklabs.cdknag.AwsSolutionsChecks;
import io.github.cdklabs.cdknag.NagPackSuppression;
import io.github.cdklabs.cdknag.NagSuppressions;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import software.amazon.awscdk.App;
import software.amazon.awscdk.Aspects;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.assertions.Annotations;
import software.amazon.awscdk.assertions.Match;
import software.amazon.awscdk.cxapi.SynthesisMessage;

/** What cdk-nag finds in the templates is mended, or suppressed here with its reason. */
class CdkNagTest {
    private static final Map<String, String> SUPPRESSED = Map.of();

    @ParameterizedTest
    @EnumSource
    void should_satisfy_the_rules_of_aws_solutions(PlainTemplate.Kind kind) {
        Stack stack = PlainTemplate.stack(new App(), kind);
        NagSuppressions.addStackSuppressions(
                stack,
                SUPPRESSED.entrySet().stream()
                        .map(each -> NagPackSuppression.builder()
                                .id(each.getKey())
                                .reason(each.getValue())
                                .build())
                        .toList());
        Aspects.of(stack).add(AwsSolutionsChecks.Builder.create().verbose(true).build());

        Annotations annotations = Annotations.fromStack(stack);
        assertThat(annotations.findError("*", Match.stringLikeRegexp("AwsSolutions-.*")))
                .extracting(CdkNagTest::text)
                .isEmpty();
        assertThat(annotations.findWarning("*", Match.stringLikeRegexp("(AwsSolutions|CdkNag).*")))
                .extracting(CdkNagTest::text)
                .isEmpty();
    }

    private static String text(SynthesisMessage message) {
        return message.getId() + ": " + message.getEntry().getData();
    }
}
