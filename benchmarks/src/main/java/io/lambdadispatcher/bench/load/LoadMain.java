package io.lambdadispatcher.bench.load;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Generates loads in the order in which they are read from standard input, one per line (see {@link
 * LoadOrder#parse}). Prints results as JSON, one object per line: {@code window} during a load,
 * then {@code end}, or {@code failed} with the reason. Ends at the end of input.
 *
 * <p>One process serves many orders, because a JVM that has just started is slower than the system
 * that it measures.
 */
public final class LoadMain {
    private LoadMain() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        EventLoopGroup loops = newLoop();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            print(answer(line, loops));
        }
        loops.shutdownGracefully();
    }

    static EventLoopGroup newLoop() {
        return new MultiThreadIoEventLoopGroup(
                1, Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    }

    static String answer(String line, EventLoopGroup loops) throws InterruptedException {
        LoadOrder order;
        try {
            order = LoadOrder.parse(line);
        } catch (IllegalArgumentException | UncheckedIOException e) {
            return failed(e);
        }
        try {
            return new LoadRun(order, loops.next(), LoadMain::print).start().get();
        } catch (ExecutionException e) {
            return failed(e.getCause());
        } finally {
            order.release();
        }
    }

    private static String failed(@Nullable Throwable cause) {
        String text = String.valueOf(cause).replaceAll("[\"\\\\\\p{Cntrl}]", " ");
        return "{\"event\":\"failed\",\"why\":\"" + text + "\"}";
    }

    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
