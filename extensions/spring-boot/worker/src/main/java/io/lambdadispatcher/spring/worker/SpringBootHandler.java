package io.lambdadispatcher.spring.worker;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.worker.adapter.web.WebHandler;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringApplicationRunListener;
import org.springframework.boot.context.logging.LoggingApplicationListener;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.env.MapPropertySource;

/**
 * Runs a Spring Boot web application in the worker's process, as on AWS Lambda, and passes requests
 * to it:
 *
 * <pre>
 * handler of the function:     io.lambdadispatcher.worker.LambdaHandler
 * LAMBDA_DISPATCHER_HANDLER    io.lambdadispatcher.spring.worker.SpringBootHandler
 * MAIN_CLASS                   com.example.Shop
 * </pre>
 *
 * <p>{@link #start} calls the {@code main} method of that class, on Lambda during the function's
 * initialisation. The application's web server listens on a free port of the loopback interface,
 * whatever {@code server.port} and {@code server.address} say. The starter starts no worker of its
 * own, whatever the properties {@code lambda-dispatcher.worker} and the environment say. Spring's
 * own shutdown hook is off: {@link #stop} closes the application, after the worker has drained.
 */
public final class SpringBootHandler implements Handler, Lifecycle, RequestStreamHandler {
    /** The environment variable that names the class with the application's {@code main} method. */
    public static final String MAIN_CLASS_VARIABLE = "MAIN_CLASS";

    /** The starter's own worker would compete with the worker that calls this handler. */
    private static final Map<String, Object> SERVER =
            Map.of("server.port", 0, "server.address", "127.0.0.1", "lambda-dispatcher.worker.enabled", false);

    private final Method main;
    private final AtomicBoolean started = new AtomicBoolean();
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private volatile @Nullable ConfigurableApplicationContext application;
    private volatile @Nullable WebHandler relay;
    private volatile boolean stopped;

    /** @throws IllegalArgumentException if {@code MAIN_CLASS} names no class with a main method */
    public SpringBootHandler() {
        this(System.getenv(MAIN_CLASS_VARIABLE));
    }

    SpringBootHandler(@Nullable String mainClass) {
        this.main = mainOf(mainClass);
    }

    private static Method mainOf(@Nullable String name) {
        if (name == null || name.isBlank()) {
            throw bad("not set");
        }
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            Method main = Class.forName(name, false, loader).getDeclaredMethod("main", String[].class);
            if (Modifier.isStatic(main.getModifiers()) && main.trySetAccessible()) {
                return main;
            }
        } catch (ClassNotFoundException | NoSuchMethodException e) {
            // Reported in the same way as a main method that is not static.
        }
        throw bad(name);
    }

    private static IllegalArgumentException bad(String value) {
        return new IllegalArgumentException(MAIN_CLASS_VARIABLE + " is " + value
                + ", expected a class on the class path that has a method static void main(String[])");
    }

    /** Starts the application once, on its own thread. */
    @Override
    public CompletionStage<Void> start() {
        if (started.compareAndSet(false, true)) {
            Thread thread = new Thread(() -> SpringApplication.withHook(Listener::new, this::callMain), "main");
            thread.setContextClassLoader(main.getDeclaringClass().getClassLoader());
            thread.start();
        }
        return ready.copy();
    }

    private void callMain() {
        // Otherwise, SIGTERM would end the log before the worker has drained.
        System.setProperty(LoggingApplicationListener.REGISTER_SHUTDOWN_HOOK_PROPERTY, "false");
        try {
            main.invoke(null, (Object) new String[0]);
            if (application == null) {
                throw new IllegalStateException(main.getDeclaringClass().getName()
                        + ".main has returned, expected it to start a web application");
            }
        } catch (InvocationTargetException e) {
            fail(e.getCause() == null ? e : e.getCause());
        } catch (IllegalAccessException | IllegalStateException e) {
            fail(e);
        }
    }

    /** Fails the start. Has no effect if the application is ready. */
    private void fail(Throwable cause) {
        ready.completeExceptionally(cause);
    }

    @Override
    public void handle(Request request, Response response) {
        relay().handle(request, response);
    }

    @Override
    public boolean servesTunnels() {
        return true;
    }

    @Override
    public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
        return relay().onDrain(reason, grace);
    }

    /**
     * Sends the event of an ordinary invocation, of any kind, to the application as one request.
     */
    @Override
    public void handleRequest(InputStream event, OutputStream result, Context context) throws IOException {
        relay().handleRequest(event, result, context);
    }

    @Override
    public void stop() {
        stopped = true;
        fail(new IllegalStateException("the application has been stopped"));
        // Spring's shutdown hook would close the parents, too.
        ApplicationContext next = application;
        while (next instanceof ConfigurableApplicationContext running) {
            running.close();
            next = running.getParent();
        }
    }

    /** Returns the application; {@code null} if its web server has not started yet. */
    @Nullable
    ConfigurableApplicationContext application() {
        return application;
    }

    private WebHandler relay() {
        WebHandler current = relay;
        if (current == null) {
            throw new IllegalStateException("the application's web server does not run");
        }
        return current;
    }

    /**
     * Listens to each application that {@code main} starts. The application with a web server
     * serves.
     */
    private final class Listener implements SpringApplicationRunListener {
        private final SpringApplication program;

        Listener(SpringApplication program) {
            this.program = program;
        }

        /**
         * The application's configuration has been read. It cannot bring back Spring's own shutdown
         * hook, which would close the application while the worker drains.
         */
        @Override
        public void contextPrepared(ConfigurableApplicationContext context) {
            program.setRegisterShutdownHook(false);
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("lambdaDispatcher", SERVER));
            context.getBeanFactory().registerSingleton("lambdaDispatcherRelay", new Relay(context));
        }

        /** Reports the failure here, because {@code main} may catch the exception and return. */
        @Override
        public void failed(@Nullable ConfigurableApplicationContext context, Throwable exception) {
            fail(exception);
        }

        @Override
        public void ready(ConfigurableApplicationContext context, @Nullable Duration timeTaken) {
            WebHandler current = relay;
            if (context == application && current != null) {
                current.start().whenComplete((nothing, failure) -> {
                    if (failure == null) {
                        ready.complete(null);
                    } else {
                        fail(failure);
                    }
                });
            }
        }
    }

    /**
     * Follows the web server, which gets another port when it starts again, for example after a
     * snapshot has been restored. The phase is the default, which is after the web server.
     */
    private final class Relay implements SmartLifecycle {
        private final ConfigurableApplicationContext context;
        private @Nullable WebHandler own;

        Relay(ConfigurableApplicationContext context) {
            this.context = context;
        }

        @Override
        public synchronized void start() {
            if (LocalServer.listens(context.getEnvironment())) {
                own = LocalServer.handler(context.getEnvironment());
                relay = own;
                application = context;
            }
            if (stopped) {
                throw new IllegalStateException("the application was stopped while it started");
            }
        }

        @Override
        public synchronized void stop() {
            if (own != null) {
                if (relay == own) {
                    relay = null;
                }
                own.stop();
                own = null;
            }
        }

        @Override
        public synchronized boolean isRunning() {
            return own != null;
        }
    }
}
