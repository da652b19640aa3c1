"""Lets a runtime image that exists locally count as pulled, for tests without an image registry."""

from localstack.runtime import hooks  # noqa: F401  (defines the hook points)
from localstack.services.lambda_ import hooks as lambda_hooks
from localstack.services.lambda_.invocation import docker_runtime_executor as executor
from localstack.utils.docker_utils import DOCKER_CLIENT


def prepare(function_version):
    config = function_version.config
    image = executor.resolver.get_image_for_runtime(config.runtime)
    platform = executor.docker_platform(config.architectures[0])
    try:
        DOCKER_CLIENT.inspect_image(image, pull=False)
    except Exception:
        return  # LocalStack then pulls the image.
    executor.PULLED_IMAGES.add((image, platform))


hook = lambda_hooks.prepare_docker_executor()(prepare)
