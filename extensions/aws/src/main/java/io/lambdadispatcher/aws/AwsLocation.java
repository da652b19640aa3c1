package io.lambdadispatcher.aws;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.awscore.client.builder.AwsAsyncClientBuilder;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.core.client.config.ClientAsyncConfiguration;
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.http.nio.netty.SdkEventLoopGroup;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;
import software.amazon.awssdk.retries.DefaultRetryStrategy;

/**
 * The settings that all builders of this package share: where the AWS service is. Not thread-safe.
 *
 * @param <B> the type of the builder
 */
public abstract sealed class AwsLocation<B extends AwsLocation<B>> permits LambdaFunctions, DynamoDbLedger.Builder {
    private static final int CLOSE_SECONDS = 5;

    private @Nullable String region;
    private @Nullable URI endpoint;

    AwsLocation() {}

    abstract B self();

    /**
     * Looks for the region that clients without {@link #region} use. It may ask the machine's
     * metadata service, so it blocks.
     *
     * @throws software.amazon.awssdk.core.exception.SdkClientException if there is no region
     */
    public static void requireRegion() {
        new DefaultAwsRegionProviderChain().getRegion();
    }

    /**
     * Sets the AWS region, for example {@code eu-central-1}. Default: the SDK's default chain, for
     * example {@code AWS_REGION}.
     */
    public B region(String value) {
        region = value;
        return self();
    }

    /**
     * Sets the address of the service's API, for example of an emulator. Default: the endpoint of
     * the region.
     */
    public B endpoint(URI value) {
        endpoint = value;
        return self();
    }

    /** Prepares a client that does not retry. */
    <K extends AwsAsyncClientBuilder<K, C> & AwsClientBuilder<K, C>, C> K client(
            K builder, NettyNioAsyncHttpClient.Builder http) {
        builder.httpClientBuilder(http);
        builder.overrideConfiguration(calls -> calls.retryStrategy(DefaultRetryStrategy.doNotRetry()));
        if (region != null) {
            builder.region(Region.of(region));
        }
        if (endpoint != null) {
            builder.endpointOverride(endpoint);
        }
        return builder;
    }

    /** Runs the work that follows a result without another thread. It must be short. */
    static void complete(ClientAsyncConfiguration.Builder async) {
        async.advancedOption(SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, (Runnable task) -> task.run());
    }

    /**
     * Returns one event loop. The SDK's own event loops would take two seconds to stop. The class
     * is Netty 4.1's, because the SDK supports no other.
     */
    @SuppressWarnings("deprecation")
    static EventLoopGroup eventLoop(String name) {
        return new NioEventLoopGroup(1, new DefaultThreadFactory(name, true));
    }

    static SdkEventLoopGroup shared(EventLoopGroup eventLoop) {
        return SdkEventLoopGroup.create(eventLoop, NioSocketChannel::new);
    }

    static void close(EventLoopGroup eventLoop) {
        eventLoop.shutdownGracefully(0, CLOSE_SECONDS, TimeUnit.SECONDS).awaitUninterruptibly();
    }
}
