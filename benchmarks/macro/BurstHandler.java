package burst;

import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.websocket.WebSocketHandler;
import io.lambdadispatcher.worker.websocket.WebSocketListener;
import io.lambdadispatcher.worker.websocket.WebSocketSession;

/** For burst.py: the handler of the demo, and at any path a WebSocket that sends texts back. */
public final class BurstHandler implements Handler {
    private final Handler demo = new DemoHandler();
    private final Handler webSocket = ((WebSocketHandler) session -> new WebSocketListener() {
                @Override
                public void onText(WebSocketSession session, String text) {
                    session.sendText(text);
                }
            })
            .asHandler();

    @Override
    public boolean servesTunnels() {
        return true;
    }

    @Override
    public void handle(Request request, Response response) throws Exception {
        (request.method().toString().equals("CONNECT") ? webSocket : demo).handle(request, response);
    }
}
