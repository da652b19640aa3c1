package io.lambdadispatcher.benchmarks.gateway;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * Spring Cloud Gateway as it comes. Ports and the one route are properties, given by
 * benchmarks/macro/contenders.py.
 */
@SpringBootApplication
public class SpringGateway {
    public static void main(String[] args) {
        SpringApplication.run(SpringGateway.class, args);
    }
}
