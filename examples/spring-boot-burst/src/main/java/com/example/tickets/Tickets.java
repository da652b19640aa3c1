package com.example.tickets;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Sells tickets in 200 ms, as if from a database, and says which kind of process has sold each. */
@SpringBootApplication
@RestController
public class Tickets {
    private final String role;

    Tickets(@Value("${lambda-dispatcher.burst.role:alone}") String role) {
        this.role = role;
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Tickets.class, arguments);
    }

    @GetMapping("/ticket")
    String ticket() throws InterruptedException {
        Thread.sleep(200);
        return "sold by: " + role + "\n";
    }
}
