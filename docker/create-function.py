"""Creates the function of examples/hello in LocalStack, or updates its code, and waits until it can be invoked. Used by compose.yaml."""

import boto3

NAME = "hello"

lambda_ = boto3.client("lambda")
with open("/function.zip", "rb") as archive:
    code = archive.read()

try:
    lambda_.create_function(
        FunctionName=NAME,
        Runtime="java25",
        Handler="io.lambdadispatcher.worker.LambdaHandler",
        Role="arn:aws:iam::000000000000:role/" + NAME,
        Timeout=900,
        MemorySize=512,
        Environment={"Variables": {"LAMBDA_DISPATCHER_HANDLER": "com.example.hello.HelloHandler"}},
        Code={"ZipFile": code},
    )
    lambda_.get_waiter("function_active_v2").wait(FunctionName=NAME)
except lambda_.exceptions.ResourceConflictException:
    lambda_.update_function_code(FunctionName=NAME, ZipFile=code)
    lambda_.get_waiter("function_updated_v2").wait(FunctionName=NAME)
print(f"function {NAME}: {len(code)} bytes of code")
