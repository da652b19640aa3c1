package com.example;

import io.lambdadispatcher.cdk.LambdaDispatcher;
import software.amazon.awscdk.Stack;
import software.amazon.awscdk.services.ec2.IVpc;
import software.amazon.awscdk.services.ecs.ContainerDefinition;
import software.amazon.awscdk.services.ecs.ContainerImage;
import software.amazon.awscdk.services.ecs.FargateService;
import software.amazon.awscdk.services.elasticloadbalancingv2.IListenerCertificate;
import software.amazon.awscdk.services.lambda.IFunction;

/** What docs/guides/burst-to-lambda.md shows. */
final class BurstDeployment {
    private BurstDeployment() {}

    static void add(
            Stack stack,
            IVpc vpc,
            ContainerImage image,
            IFunction workers,
            IListenerCertificate certificate,
            FargateService shop,
            ContainerDefinition shopContainer) {
        LambdaDispatcher.Builder.create(stack, "Dispatcher")
                .vpc(vpc)
                .image(image)
                .function("shop", workers)
                .setting("function.max-workers", "20") // launched ones only
                .setting("function.worker-concurrency", "40") // of each launched worker
                .base(shop, shopContainer, 20) // of each container
                .certificate(certificate)
                .build();
    }
}
