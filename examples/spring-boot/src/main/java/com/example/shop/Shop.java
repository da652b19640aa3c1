package com.example.shop;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

/** A small shop: articles in memory, and their sales as server-sent events. */
@SpringBootApplication
@RestController
public class Shop {
    private final Map<Long, Article> articles = new ConcurrentHashMap<>();
    private final AtomicLong lastId = new AtomicLong();

    public record Article(long id, String name, int cents) {}

    public record Draft(String name, int cents) {}

    public static void main(String[] arguments) {
        SpringApplication.run(Shop.class, arguments);
    }

    @GetMapping("/articles")
    public List<Article> all() {
        return List.copyOf(articles.values());
    }

    @GetMapping("/articles/{id}")
    public Article one(@PathVariable long id) {
        Article found = articles.get(id);
        if (found == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "no article " + id);
        }
        return found;
    }

    @PostMapping("/articles")
    @ResponseStatus(HttpStatus.CREATED)
    public Article add(@RequestBody Draft draft) {
        Article article = new Article(lastId.incrementAndGet(), draft.name(), draft.cents());
        articles.put(article.id(), article);
        return article;
    }

    /** Sends ten events, one per second. */
    @GetMapping("/sales")
    public SseEmitter sales() {
        SseEmitter events = new SseEmitter(0L);
        Thread seller = new Thread(() -> sell(events), "seller");
        seller.setDaemon(true);
        seller.start();
        return events;
    }

    private static void sell(SseEmitter events) {
        try {
            for (int i = 1; i <= 10; i++) {
                events.send(SseEmitter.event().id(Integer.toString(i)).data("sold article " + i));
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
