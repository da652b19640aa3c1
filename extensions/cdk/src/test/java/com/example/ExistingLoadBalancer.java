package com.example;

import io.lambdadispatcher.cdk.LambdaDispatcher;
import java.util.List;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.services.ec2.IVpc;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCondition;
import software.amazon.awscdk.services.lambda.IFunction;

/** What docs/guides/move-one-path.md shows. */
final class ExistingLoadBalancer {
    private ExistingLoadBalancer() {}

    static void add(
            Stack stack,
            IVpc vpc,
            ContainerImage image,
            IFunction workers,
            IApplicationListener listener,
            IApplicationTargetGroup oldTargetGroup) {
        LambdaDispatcher.Builder.create(stack, "Dispatcher")
                .vpc(vpc)
                .image(image)
                .function("api", workers)
                .listenerRule(listener, 10, ListenerCondition.pathPatterns(List.of("/shop", "/shop/*")))
                .shareWith(10, oldTargetGroup, 90)
                .build();
    }
}
