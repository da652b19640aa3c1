//! An ordinary function for HTTP events of format 2.0.
use lambda_runtime::streaming::{channel, Body, Response};
use lambda_runtime::{run_concurrent, service_fn, Error, FunctionResponse, LambdaEvent};
use serde_json::{json, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;
use tokio::time::{sleep, timeout};

const PARTIES: usize = 32;

type Answer = FunctionResponse<Value, Body>;

async fn handle(event: LambdaEvent<Value>, hall: Arc<Barrier>) -> Result<Answer, Error> {
    let (event, context) = event.into_parts();
    match event["rawPath"].as_str().unwrap_or_default() {
        "/meet" => {
            timeout(Duration::from_secs(20), hall.wait())
                .await
                .map_err(|_| "too few requests were here at once")?;
            Ok(text(context.request_id))
        }
        "/sleep" => {
            sleep(Duration::from_millis(300)).await;
            Ok(text(std::process::id().to_string()))
        }
        "/fail" => Err("no secret".into()),
        "/panic" => panic!("on purpose"),
        "/sse" => stream(),
        _ => Ok(FunctionResponse::BufferedResponse(json!({
            "statusCode": 200,
            "headers": {"content-type": event["headers"]["content-type"]},
            "body": event["body"],
            "isBase64Encoded": event["isBase64Encoded"],
        }))),
    }
}

fn text(body: String) -> Answer {
    FunctionResponse::BufferedResponse(json!({"statusCode": 200, "body": body}))
}

fn stream() -> Result<Answer, Error> {
    let (mut sender, body) = channel();
    tokio::spawn(async move {
        let _ = sender.send_data("data: one\n\n".into()).await;
        sleep(Duration::from_millis(1500)).await;
        let _ = sender.send_data("data: two\n\n".into()).await;
    });
    let mut response = Response::from(body);
    let prelude = &mut response.metadata_prelude;
    prelude.status_code = 218.try_into()?;
    prelude.headers.insert("content-type", "text/event-stream".parse()?);
    prelude.cookies = vec!["a=1".to_string(), "b=2".to_string()];
    Ok(FunctionResponse::StreamingResponse(response))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let hall = Arc::new(Barrier::new(PARTIES));
    run_concurrent(service_fn(move |event| handle(event, hall.clone()))).await
}
