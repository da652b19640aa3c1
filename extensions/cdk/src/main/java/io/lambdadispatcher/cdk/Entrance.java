package io.lambdadispatcher.cdk;

import java.util.List;
import org.jspecify.annotations.Nullable;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.services.ec2.IConnectable;
import software.amazon.awscdk.services.ec2.IVpc;
import software.amazon.awscdk.services.elasticloadbalancingv2.AddApplicationTargetGroupsProps;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationListenerRule;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationLoadBalancer;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationProtocol;
import software.amazon.awscdk.services.elasticloadbalancingv2.ApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.BaseApplicationListenerProps;
import software.amazon.awscdk.services.elasticloadbalancingv2.HealthCheck;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationListener;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationTargetGroup;
import software.amazon.awscdk.services.elasticloadbalancingv2.IListenerCertificate;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerAction;
import software.amazon.awscdk.services.elasticloadbalancingv2.ListenerCondition;
import software.amazon.awscdk.services.elasticloadbalancingv2.RedirectOptions;
import software.amazon.awscdk.services.elasticloadbalancingv2.SslPolicy;
import software.amazon.awscdk.services.elasticloadbalancingv2.TargetType;
import software.amazon.awscdk.services.elasticloadbalancingv2.WeightedTargetGroup;
import software.constructs.Construct;

/** How the requests of clients reach the tasks: through a load balancer. */
final class Entrance {
    /** ELB's default. The dispatcher must keep idle connections for longer: see TaskSettings. */
    static final int IDLE_SECONDS = 60;

    private final ApplicationTargetGroup targets;
    private final @Nullable ApplicationLoadBalancer loadBalancer;

    /** What connects to the tasks. */
    private final IConnectable source;

    private Entrance(
            ApplicationTargetGroup targets, @Nullable ApplicationLoadBalancer loadBalancer, IConnectable source) {
        this.targets = targets;
        this.loadBalancer = loadBalancer;
        this.source = source;
    }

    /**
     * A rule of a listener that exists.
     *
     * @param sharing another target group of the same rule; without it, the tasks get all requests
     */
    record Rule(
            IApplicationListener listener,
            Number priority,
            List<ListenerCondition> conditions,
            @Nullable Sharing sharing) {
        Rule with(Sharing shared) {
            return new Rule(listener, priority, conditions, shared);
        }
    }

    /** The requests that the tasks get, and those that another target group gets. */
    record Sharing(Number weight, IApplicationTargetGroup other, Number otherWeight) {}

    /** Adds a load balancer. */
    static Entrance of(Construct scope, IVpc vpc, List<IListenerCertificate> certificates, boolean internetFacing) {
        ApplicationLoadBalancer loadBalancer = ApplicationLoadBalancer.Builder.create(scope, "LoadBalancer")
                .vpc(vpc)
                .internetFacing(internetFacing)
                // Such as x_forwarded_for, which some applications take for x-forwarded-for.
                .dropInvalidHeaderFields(true)
                .idleTimeout(Duration.seconds(IDLE_SECONDS))
                .build();
        boolean tls = !certificates.isEmpty();
        ApplicationListener listener = loadBalancer.addListener(
                "Clients",
                BaseApplicationListenerProps.builder()
                        .port(tls ? 443 : 80)
                        .protocol(tls ? ApplicationProtocol.HTTPS : ApplicationProtocol.HTTP)
                        .certificates(certificates)
                        .sslPolicy(tls ? SslPolicy.RECOMMENDED_TLS : null)
                        // The user opens the security group of an internal load balancer.
                        .open(internetFacing)
                        .build());
        if (tls) {
            ApplicationListener redirect = loadBalancer.addListener(
                    "Redirect",
                    BaseApplicationListenerProps.builder()
                            .port(80)
                            .protocol(ApplicationProtocol.HTTP)
                            .open(internetFacing)
                            .defaultAction(ListenerAction.redirect(RedirectOptions.builder()
                                    .protocol("HTTPS")
                                    .port("443")
                                    .permanent(true)
                                    .build()))
                            .build());
            // A stack that has used port 80 for requests frees it first.
            redirect.getNode().addDependency(listener);
        }
        ApplicationTargetGroup targets = targets(scope, vpc);
        listener.addTargetGroups(
                "Dispatchers",
                AddApplicationTargetGroupsProps.builder()
                        .targetGroups(List.of(targets))
                        .build());
        return new Entrance(targets, loadBalancer, loadBalancer);
    }

    /** Adds a rule to a listener. */
    static Entrance of(Construct scope, IVpc vpc, Rule rule) {
        ApplicationTargetGroup targets = targets(scope, vpc);
        Sharing sharing = rule.sharing();
        ApplicationListenerRule.Builder.create(scope, "Rule")
                .listener(rule.listener())
                .priority(rule.priority())
                .conditions(rule.conditions())
                .action(
                        sharing == null
                                ? ListenerAction.forward(List.of(targets))
                                : ListenerAction.weightedForward(List.of(
                                        weighted(targets, sharing.weight()),
                                        weighted(sharing.other(), sharing.otherWeight()))))
                .build();
        return new Entrance(targets, null, rule.listener());
    }

    private static WeightedTargetGroup weighted(IApplicationTargetGroup group, Number weight) {
        return WeightedTargetGroup.builder().targetGroup(group).weight(weight).build();
    }

    private static ApplicationTargetGroup targets(Construct scope, IVpc vpc) {
        return ApplicationTargetGroup.Builder.create(scope, "Targets")
                .vpc(vpc)
                .targetType(TargetType.IP)
                .port(LambdaDispatcher.PUBLIC_PORT)
                .protocol(ApplicationProtocol.HTTP)
                // A check of port 8080 would reach a worker, and keep it alive. ECS replaces tasks
                // that fail: with /ready, those whose launching is off. The new ones would launch.
                .healthCheck(HealthCheck.builder()
                        .path("/started")
                        .port(Integer.toString(LambdaDispatcher.ADMIN_PORT))
                        .interval(Duration.seconds(5))
                        .timeout(Duration.seconds(2))
                        .healthyThresholdCount(2)
                        .unhealthyThresholdCount(2)
                        .build())
                // ECS drains a task for this time. Then requests are cut off.
                .deregistrationDelay(Duration.seconds(60))
                .build();
    }

    ApplicationTargetGroup targets() {
        return targets;
    }

    /** Returns the load balancer that was added, or null. */
    @Nullable
    ApplicationLoadBalancer loadBalancer() {
        return loadBalancer;
    }

    IConnectable source() {
        return source;
    }
}
