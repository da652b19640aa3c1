package burst;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** For saturation.py. Each response is the role of the process that has sent it. */
@SpringBootApplication
@RestController
public class BurstApplication {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Connections to a database that is somewhere else. */
    private final Semaphore connections = new Semaphore(5);

    private final String role;

    BurstApplication(@Value("${lambda-dispatcher.burst.role}") String role) {
        this.role = role;
    }

    public static void main(String[] arguments) {
        SpringApplication.run(BurstApplication.class, arguments);
    }

    @GetMapping("/quick")
    String quick() {
        return role;
    }

    @GetMapping("/sleep")
    String sleep(@RequestParam long millis) throws InterruptedException {
        Thread.sleep(millis);
        return role;
    }

    /** Uses processor time. */
    @GetMapping("/burn")
    String burn(@RequestParam long millis) {
        long endNanos = THREADS.getCurrentThreadCpuTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (THREADS.getCurrentThreadCpuTime() < endNanos) {
            Thread.onSpinWait();
        }
        return role;
    }

    /** Uses processor time, but only in the base. */
    @GetMapping("/burn-base")
    String burnBase(@RequestParam long millis) throws InterruptedException {
        return role.equals("base") ? burn(millis) : sleep(millis);
    }

    @GetMapping("/query")
    String query(@RequestParam long millis) throws InterruptedException {
        connections.acquire();
        try {
            Thread.sleep(millis);
            return role;
        } finally {
            connections.release();
        }
    }
}
