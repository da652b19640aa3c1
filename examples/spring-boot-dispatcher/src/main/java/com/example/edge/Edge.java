package com.example.edge;

import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** Sends requests for prices to workers, and answers 404 to all others. */
@SpringBootApplication
public class Edge {
    public static void main(String[] arguments) {
        SpringApplication.run(Edge.class, arguments);
    }

    @Bean
    RequestRouter router() {
        RouteTarget prices = RouteTarget.of("prices");
        return head -> head.path().toString().startsWith("/prices/") ? prices : null;
    }
}
