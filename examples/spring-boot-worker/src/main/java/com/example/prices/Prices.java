package com.example.prices;

import java.io.IOException;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** Returns prices of fruit: one price, the sum of a basket, and a stream of prices. */
@SpringBootApplication
@RestController
public class Prices {
    private static final Map<String, Integer> CENTS = Map.of("apple", 45, "banana", 30, "cherry", 5);

    public record Price(String name, int cents) {}

    public static void main(String[] arguments) {
        SpringApplication.run(Prices.class, arguments);
    }

    @GetMapping("/prices/{name}")
    public Price price(@PathVariable String name) {
        Integer cents = CENTS.get(name);
        if (cents == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "no fruit " + name);
        }
        return new Price(name, cents);
    }

    /** The body maps names of fruit to amounts. */
    @PostMapping("/prices/baskets")
    public Price basket(@RequestBody Map<String, Integer> basket) {
        int cents = basket.entrySet().stream()
                .mapToInt(each -> price(each.getKey()).cents() * each.getValue())
                .sum();
        return new Price("basket", cents);
    }

    /** Sends ten events, one per second. */
    @GetMapping("/prices/ticks")
    public SseEmitter ticks() {
        SseEmitter events = new SseEmitter(0L);
        Thread ticker = new Thread(() -> tick(events), "ticker");
        ticker.setDaemon(true);
        ticker.start();
        return events;
    }

    private static void tick(SseEmitter events) {
        try {
            for (int i = 1; i <= 10; i++) {
                events.send(SseEmitter.event().id(Integer.toString(i)).data("apple " + (40 + i)));
                Thread.sleep(1000);
            }
            events.complete();
        } catch (IOException | IllegalStateException e) {
            // The client has disconnected.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
