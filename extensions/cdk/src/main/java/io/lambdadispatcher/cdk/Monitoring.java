package io.lambdadispatcher.cdk;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import software.amazon.awscdk.Aws;
import software.amazon.awscdk.Duration;
import software.amazon.awscdk.services.cloudwatch.Alarm;
import software.amazon.awscdk.services.cloudwatch.AlarmStatusWidget;
import software.amazon.awscdk.services.cloudwatch.ComparisonOperator;
import software.amazon.awscdk.services.cloudwatch.Dashboard;
import software.amazon.awscdk.services.cloudwatch.GraphWidget;
import software.amazon.awscdk.services.cloudwatch.IAlarm;
import software.amazon.awscdk.services.cloudwatch.IMetric;
import software.amazon.awscdk.services.cloudwatch.LogQueryWidget;
import software.amazon.awscdk.services.cloudwatch.MathExpression;
import software.amazon.awscdk.services.cloudwatch.Metric;
import software.amazon.awscdk.services.cloudwatch.MetricOptions;
import software.amazon.awscdk.services.cloudwatch.TreatMissingData;
import software.amazon.awscdk.services.cloudwatch.actions.SnsAction;
import software.amazon.awscdk.services.elasticloadbalancingv2.HttpCodeTarget;
import software.amazon.awscdk.services.elasticloadbalancingv2.IApplicationTargetGroupMetrics;
import software.amazon.awscdk.services.lambda.IFunction;
import software.amazon.awscdk.services.logs.FilterPattern;
import software.amazon.awscdk.services.logs.MetricFilter;
import software.amazon.awscdk.services.sns.ITopic;
import software.constructs.Construct;

/**
 * A dashboard and alarms of CloudWatch, from the metrics that the load balancer, ECS and Lambda
 * have without further programs, and from the dispatchers' log.
 */
final class Monitoring extends Construct {
    private static final Duration MINUTE = Duration.minutes(1);
    private static final int WIDTH = 12;

    /** A worker lives for at most 15 minutes. Lambda's metrics arrive some minutes later. */
    private static final int LIFE_MINUTES = 20;

    private final ITopic topic;

    Monitoring(LambdaDispatcher of, IFunction function, ITopic topic) {
        super(of, "Monitoring");
        this.topic = topic;
        IApplicationTargetGroupMetrics traffic = of.getTargetGroup().getMetrics();
        Metric requests = traffic.requestCount(sum());
        Metric failed = traffic.httpCodeTarget(HttpCodeTarget.TARGET_5XX_COUNT, sum());
        IMetric failedPercent = MathExpression.Builder.create()
                .expression("100 * FILL(failed, 0) / requests")
                // In a fixed order, so that the template is the same each time.
                .usingMetrics(new TreeMap<>(Map.of("failed", failed, "requests", requests)))
                .label("percent of responses with a status of 500 or more")
                .period(MINUTE)
                .build();
        Metric unhealthy = traffic.unhealthyHostCount(statistic("Maximum"));
        Metric cpu = of.getService().metricCpuUtilization(statistic("Maximum"));
        Metric memory = of.getService().metricMemoryUtilization(statistic("Maximum"));
        Metric throttles = function.metricThrottles(sum());
        Metric errors = function.metricErrors(sum());
        Metric warnings = MetricFilter.Builder.create(this, "WarningLines")
                .logGroup(of.getLogGroup())
                .filterPattern(FilterPattern.anyTerm("WARN", "ERROR"))
                .metricNamespace("LambdaDispatcher")
                // Several stacks may have the same path.
                .metricName(Aws.STACK_NAME + "/" + of.getNode().getPath())
                .metricValue("1")
                .build()
                .metric(sum());

        List<IAlarm> alarms = List.of(
                alarm(
                        "RequestsFail",
                        failedPercent,
                        5,
                        5,
                        5,
                        "More than 5 % of the responses of the dispatchers have a status of 500 or more."),
                down(traffic.healthyHostCount(statistic("Maximum")), of),
                alarm("Unhealthy", unhealthy, 0, 5, 5, "A dispatcher has not started or does not answer."),
                alarm(
                        "CpuHigh",
                        cpu,
                        70,
                        10,
                        10,
                        "A dispatcher uses more than 70 % of its CPU. Run more or larger ones."),
                alarm("MemoryHigh", memory, 85, 10, 10, "A dispatcher uses more than 85 % of its memory."),
                alarm(
                        "LaunchesThrottled",
                        throttles,
                        0,
                        3,
                        5,
                        "Lambda refuses launches. See the reserved concurrency."),
                // Lambda reports an error when the invocation ends, with the time when it began.
                alarm(
                        "WorkersFail",
                        errors,
                        0,
                        1,
                        LIFE_MINUTES,
                        "Invocations of workers fail. Read the function's log."),
                alarm("Warnings", warnings, 10, 5, 5, "The dispatchers log more than 10 warnings a minute."));
        Dashboard.Builder.create(this, "Dashboard")
                .build()
                .addWidgets(
                        AlarmStatusWidget.Builder.create()
                                .title("Alarms")
                                .alarms(alarms)
                                .width(2 * WIDTH)
                                .build(),
                        graph("Requests in a minute", requests, failed),
                        graph(
                                "Time until the response's headers, s",
                                traffic.targetResponseTime(statistic("p50")),
                                traffic.targetResponseTime(statistic("p99"))),
                        graph("Running workers", function.metric("ConcurrentExecutions", statistic("Maximum"))),
                        graph("Ends of workers in a minute", function.metricInvocations(sum()), errors, throttles),
                        graph("CPU and memory of the busiest dispatcher, percent", cpu, memory),
                        graph("Warnings and errors in the log", warnings),
                        LogQueryWidget.Builder.create()
                                .title("Latest warnings and errors")
                                .logGroupNames(List.of(of.getLogGroup().getLogGroupName()))
                                .queryLines(List.of(
                                        "fields @timestamp, @message",
                                        "filter @message like /\\b(WARN|ERROR)\\b/",
                                        "sort @timestamp desc",
                                        "limit 50"))
                                .width(2 * WIDTH)
                                .build());
    }

    /**
     * @param minutes in so many minutes, the metric must be above the threshold
     * @param within of the last so many
     */
    private IAlarm alarm(String id, IMetric metric, Number threshold, int minutes, int within, String description) {
        return notifying(Alarm.Builder.create(this, id)
                .metric(metric)
                .threshold(threshold)
                .datapointsToAlarm(minutes)
                .evaluationPeriods(within)
                .comparisonOperator(ComparisonOperator.GREATER_THAN_THRESHOLD)
                // Without requests, launches or warnings, most of these metrics have no values.
                .treatMissingData(TreatMissingData.NOT_BREACHING)
                .alarmDescription(description)
                .build());
    }

    /**
     * Without dispatchers, all other metrics have no values. Each zone counts its own tasks, so the
     * largest number is 0 if no zone has one.
     */
    private IAlarm down(IMetric healthy, LambdaDispatcher of) {
        Alarm alarm = Alarm.Builder.create(this, "Down")
                .metric(healthy)
                .threshold(1)
                .evaluationPeriods(3)
                .comparisonOperator(ComparisonOperator.LESS_THAN_THRESHOLD)
                .treatMissingData(TreatMissingData.BREACHING)
                .alarmDescription("No dispatcher serves: none is healthy, or none runs.")
                .build();
        // A new stack has no dispatchers at first.
        alarm.getNode().addDependency(of.getService());
        return notifying(alarm);
    }

    private Alarm notifying(Alarm alarm) {
        alarm.addAlarmAction(new SnsAction(topic));
        alarm.addOkAction(new SnsAction(topic));
        return alarm;
    }

    private static GraphWidget graph(String title, IMetric... metrics) {
        return GraphWidget.Builder.create()
                .title(title)
                .left(List.of(metrics))
                .width(WIDTH)
                .build();
    }

    private static MetricOptions sum() {
        return statistic("Sum");
    }

    private static MetricOptions statistic(String statistic) {
        return MetricOptions.builder().statistic(statistic).period(MINUTE).build();
    }
}
