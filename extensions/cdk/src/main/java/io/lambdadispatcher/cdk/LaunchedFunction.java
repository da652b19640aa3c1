package io.lambdadispatcher.cdk;

import java.util.List;
import software.amazon.awscdk.services.ecs.FargateTaskDefinition;
import software.amazon.awscdk.services.iam.PolicyStatement;
import software.amazon.awscdk.services.lambda.IAlias;
import software.amazon.awscdk.services.lambda.IFunction;
import software.amazon.awscdk.services.lambda.IVersion;

/** The function whose workers dispatchers launch. Its ARN may name an alias or a version. */
final class LaunchedFunction {
    private LaunchedFunction() {}

    /**
     * Lets dispatchers launch workers. While an alias moves, they launch them with the number of a
     * version. The containers of a base may state another version, or the name of an alias.
     */
    static void allowInvokes(FargateTaskDefinition task, IFunction function, boolean withBase) {
        if (!withBase && !(function instanceof IAlias)) {
            function.grantInvoke(task.getTaskRole());
            return;
        }
        IFunction any = withoutQualifier(function);
        any.grantInvoke(task.getTaskRole());
        task.addToTaskRolePolicy(PolicyStatement.Builder.create()
                .actions(List.of("lambda:GetAlias"))
                .resources(List.of(any.getFunctionArn(), any.getFunctionArn() + ":*"))
                .build());
    }

    /**
     * Returns the function of an alias or a version, neither of which knows its security groups. If
     * they are imported, they only implement the interfaces.
     */
    static IFunction withoutQualifier(IFunction function) {
        if (function instanceof IAlias alias) {
            return alias.getVersion().getLambda();
        }
        return function instanceof IVersion version ? version.getLambda() : function;
    }
}
