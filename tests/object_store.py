"""An S3 server on loopback, for tests: moto's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

BUCKET = "headrace"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextlib.contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """Run the server with an empty bucket and yield the variables that clients find it by."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        environ = {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}
        boto3.client(
            "s3",
            endpoint_url=environ["AWS_ENDPOINT_URL"],
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="us-east-1",
        ).create_bucket(Bucket=BUCKET)
        yield environ
    finally:
        server.stop()
