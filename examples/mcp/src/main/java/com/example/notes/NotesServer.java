package com.example.notes;

import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.startup.Tomcat;

/**
 * An MCP server with one tool, {@code note}, which adds a note to the session and returns all notes
 * of the session. Sessions and notes are in the memory of this process. Listens on {@code PORT}.
 */
public final class NotesServer {
    private static final Map<String, Object> SCHEMA = Map.of(
            "type", "object", "properties", Map.of("text", Map.of("type", "string")), "required", List.of("text"));

    private final Map<String, List<String>> notes = new ConcurrentHashMap<>();

    private NotesServer() {}

    public static void main(String[] args) throws Exception {
        new NotesServer().start(Integer.parseInt(System.getenv("PORT")));
    }

    private void start(int port) throws Exception {
        HttpServletStreamableServerTransportProvider transport = HttpServletStreamableServerTransportProvider.builder()
                .mcpEndpoint("/mcp")
                .build();
        McpServer.sync(transport)
                .serverInfo("notes", "1")
                .capabilities(ServerCapabilities.builder().tools(false).build())
                .tools(note())
                .build();
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(new File(System.getProperty("java.io.tmpdir"), "notes-" + port).getPath());
        tomcat.setPort(port);
        Context context = tomcat.addContext("", null);
        Wrapper servlet = Tomcat.addServlet(context, "mcp", transport);
        servlet.setAsyncSupported(true);
        context.addServletMappingDecoded("/*", "mcp");
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        tomcat.start();
        tomcat.getServer().await();
    }

    private SyncToolSpecification note() {
        Tool tool = Tool.builder("note", SCHEMA)
                .description("Adds a note and returns all notes of the session")
                .build();
        return SyncToolSpecification.builder()
                .tool(tool)
                .callHandler((exchange, request) -> {
                    List<String> own =
                            notes.computeIfAbsent(exchange.sessionId(), id -> new CopyOnWriteArrayList<>());
                    own.add(String.valueOf(request.arguments().get("text")));
                    String text = "process " + ProcessHandle.current().pid() + ": " + String.join(", ", own);
                    return CallToolResult.builder()
                            .content(List.of(TextContent.builder(text).build()))
                            .build();
                })
                .build();
    }
}
