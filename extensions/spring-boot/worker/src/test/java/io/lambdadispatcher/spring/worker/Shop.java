package io.lambdadispatcher.spring.worker;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.multipart.MultipartFile;
import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;
import org.springframework.web.socket.TextMessage;
import org.springframework.web.socket.WebSocketSession;
import org.springframework.web.socket.config.annotation.EnableWebSocket;
import org.springframework.web.socket.config.annotation.WebSocketConfigurer;
import org.springframework.web.socket.config.annotation.WebSocketHandlerRegistry;
import org.springframework.web.socket.handler.TextWebSocketHandler;

/** A Spring MVC application that knows nothing of the dispatcher. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableWebSocket
@RestController
public class Shop implements WebSocketConfigurer {
    /** The number of slow requests that have arrived. */
    static final AtomicInteger SLOW = new AtomicInteger();

    /** Slow requests and the second event wait for this latch. */
    static volatile CountDownLatch gate = new CountDownLatch(0);

    private final ExecutorService events = Executors.newCachedThreadPool();

    record Article(String name, int cents) {}

    public static void main(String[] args) {
        SpringApplication.run(Shop.class, args);
    }

    /** Serves a WebSocket that sends each message twice. */
    @Override
    public void registerWebSocketHandlers(WebSocketHandlerRegistry registry) {
        registry.addHandler(
                new TextWebSocketHandler() {
                    @Override
                    protected void handleTextMessage(WebSocketSession session, TextMessage message) throws IOException {
                        session.sendMessage(new TextMessage(message.getPayload() + message.getPayload()));
                    }
                },
                "/twice");
    }

    @PostMapping("/uploads")
    String upload(@RequestParam MultipartFile file) {
        return file.getOriginalFilename() + " " + file.getSize();
    }

    @GetMapping("/hello")
    Map<String, String> hello(@RequestHeader("host") String host) {
        return Map.of("host", host);
    }

    @PostMapping("/articles")
    ResponseEntity<Article> add(@RequestBody Article article) {
        return ResponseEntity.status(201).body(new Article(article.name(), article.cents() + 1));
    }

    @GetMapping(path = "/sales", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
    SseEmitter sales() {
        SseEmitter emitter = new SseEmitter(60_000L);
        CountDownLatch next = gate;
        events.execute(() -> {
            try {
                emitter.send("first");
                next.await();
                emitter.send("second");
                emitter.complete();
            } catch (IOException | InterruptedException e) {
                emitter.completeWithError(e);
            }
        });
        return emitter;
    }

    @PostMapping("/echo")
    byte[] echo(@RequestBody byte[] body) {
        return body;
    }

    @GetMapping("/slow")
    String slow() throws InterruptedException {
        SLOW.incrementAndGet();
        gate.await();
        return "slow";
    }
}
