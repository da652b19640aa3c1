package io.lambdadispatcher.cdk;

import java.util.Locale;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.Names;
import software.amazon.awscdk.UniqueResourceNameOptions;
import software.amazon.awscdk.services.ec2.IVpc;
import software.amazon.awscdk.services.ec2.Port;
import software.amazon.awscdk.services.ecs.CloudMapOptions;
import software.amazon.awscdk.services.ecs.ContainerDefinition;
import software.amazon.awscdk.services.ecs.FargateService;
import software.amazon.awscdk.services.ecs.Secret;
import software.amazon.awscdk.services.lambda.IVersion;
import software.amazon.awscdk.services.servicediscovery.PrivateDnsNamespace;

/**
 * Containers that carry the base of the function's traffic.
 *
 * @param streams how many requests one of them serves concurrently
 */
record Base(FargateService service, ContainerDefinition container, int streams) {

    /** Lets the containers find the dispatchers, reach them, and prove that they belong to them. */
    void connect(
            LambdaDispatcher construct,
            IVpc vpc,
            FargateService dispatchers,
            int workerPort,
            String function,
            Secret workersSecret) {
        String unique = Names.uniqueResourceName(
                construct,
                UniqueResourceNameOptions.builder().maxLength(40).separator("-").build());
        PrivateDnsNamespace names = PrivateDnsNamespace.Builder.create(construct, "Names")
                .name(unique.toLowerCase(Locale.ROOT) + ".internal")
                .vpc(vpc)
                .build();
        dispatchers.enableCloudMap(CloudMapOptions.builder()
                .cloudMapNamespace(names)
                .name("dispatcher")
                .dnsTtl(Duration.seconds(10))
                .build());
        dispatchers
                .getConnections()
                .allowFrom(service, Port.tcp(workerPort), "Containers of the base dial all dispatchers");
        container.addEnvironment(
                "LAMBDA_DISPATCHER_ADDRESSES", "dispatcher." + names.getNamespaceName() + ":" + workerPort);
        container.addEnvironment("LAMBDA_DISPATCHER_FUNCTION", function);
        container.addEnvironment("LAMBDA_DISPATCHER_STREAMS", Integer.toString(streams));
        container.addSecret("LAMBDA_DISPATCHER_SECRET", workersSecret);
    }

    /** Lets the containers say which version of the function has the same code. */
    void state(IVersion version) {
        container.addEnvironment("AWS_LAMBDA_FUNCTION_VERSION", version.getVersion());
    }
}
