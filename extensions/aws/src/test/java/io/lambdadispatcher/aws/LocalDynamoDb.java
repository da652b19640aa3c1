package io.lambdadispatcher.aws;

import com.almworks.sqlite4java.SQLite;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.eclipse.jetty.io.ConnectionStatistics;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/**
 * DynamoDB Local in this JVM, in memory. It listens on a free port of all interfaces, so that
 * containers can reach it. Runs on Linux on amd64, because it needs a native library.
 */
public final class LocalDynamoDb implements AutoCloseable {
    private final LocalDynamoDBServerHandler handler;
    private final Server server = new Server(0);
    private final ConnectionStatistics connections = new ConnectionStatistics();
    private final Map<String, LongAdder> requests = new ConcurrentHashMap<>();

    private LocalDynamoDb() throws Exception {
        System.setProperty("sqlite4java.library.path", nativeLibrary().toString());
        // DynamoDB Local's main class cannot report which free port it uses, and it needs a
        // telemetry client.
        handler = new LocalDynamoDBServerHandler(new LocalDynamoDBRequestHandler(0, true, null, true, false), null);
        server.setHandler(new Handler.Wrapper(handler) {
            @Override
            public boolean handle(Request request, Response response, Callback callback) throws Exception {
                String target = request.getHeaders().get("X-Amz-Target");
                if (target != null) {
                    String action = target.substring(target.indexOf('.') + 1);
                    requests.computeIfAbsent(action, any -> new LongAdder()).increment();
                }
                return super.handle(request, response, callback);
            }
        });
        server.getConnectors()[0].addBean(connections);
        server.start();
    }

    /**
     * Returns the directory of SQLite's native library. Maven downloads the library together with
     * the jar, so it is nearby in the local repository.
     */
    private static Path nativeLibrary() throws URISyntaxException {
        Path jar = Path.of(
                SQLite.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path version = jar.getParent();
        return version.getParent().resolveSibling("libsqlite4java-linux-amd64").resolve(version.getFileName());
    }

    public static LocalDynamoDb start() throws Exception {
        return new LocalDynamoDb();
    }

    public int port() {
        return ((ServerConnector) server.getConnectors()[0]).getLocalPort();
    }

    public URI endpoint() {
        return URI.create("http://127.0.0.1:" + port());
    }

    /** Returns the number of connections accepted since the start. */
    public long connections() {
        return connections.getConnectionsTotal();
    }

    /** Returns the number of requests since the start with an action, such as {@code PutItem}. */
    public long requests(String action) {
        LongAdder count = requests.get(action);
        return count == null ? 0 : count.sum();
    }

    /** Closes all connections, as a service does with idle ones. */
    public void closeConnections() {
        for (Connector connector : server.getConnectors()) {
            connector.getConnectedEndPoints().forEach(EndPoint::close);
        }
    }

    @Override
    public void close() throws Exception {
        server.stop();
        handler.close();
    }
}
