package io.lambdadispatcher.benchmarks.gateway;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * Spring Cloud Gateway with its default configuration. benchmarks/macro/contenders.py sets the
 * ports and the only route as properties.
 */
@SpringBootApplication
public class SpringGateway {
    public static void main(String[] args) {
        SpringApplication.run(SpringGateway.class, args);
    }
}
