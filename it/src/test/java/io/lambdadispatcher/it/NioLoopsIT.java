package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.adapter.web.WebConfig;
import io.lambdadispatcher.worker.adapter.web.WebConfig.AppProtocol;
import io.lambdadispatcher.worker.adapter.web.WebHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A worker on event loops of the program, which are for NIO although there is epoll. */
@Timeout(180)
class NioLoopsIT {
    /** The application is another dispatcher, which speaks both protocols. */
    @ParameterizedTest
    @EnumSource(AppProtocol.class)
    void should_relay_to_a_web_application(AppProtocol protocol) throws Exception {
        IoEventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try (Rig app = Rig.start();
                Rig rig = Rig.start()) {
            app.worker(1, 10, Rig.DEMO);
            WebConfig config = WebConfig.builder(app.http("/").getPort())
                    .protocol(protocol)
                    .build();
            try (Worker worker = Worker.onLoops(
                    WorkerConfig.of("demo", Rig.SECRET, rig.dispatcher.workerAddress()).toBuilder()
                            .plain()
                            .build(),
                    new WebHandler(config),
                    loops)) {
                worker.start().ready().toCompletableFuture().get(60, TimeUnit.SECONDS);
                HttpResponse<String> response = rig.client(HttpClient.Version.HTTP_1_1)
                        .send(HttpRequest.newBuilder(rig.http("/ping")).build(), BodyHandlers.ofString());
                assertThat(response.body()).isEqualTo("pong");
                assertThat(response.statusCode()).isEqualTo(200);
            }
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }
}
