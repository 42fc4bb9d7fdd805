"""A server of S3 on loopback that checks signatures: moto, in a Python of its own.

    with S3Server() as s3:
        os.environ.update(s3.env)
        s3.names()
"""
import json
import os
import subprocess
import sys

import pinned

BUCKET = "runs"
EVERYTHING = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})


class S3Server:
    def __enter__(self):
        env = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "4"}   # the calls of serve()
        self.process = subprocess.Popen([pinned.python("moto"), __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=env)
        self.port, key, self.secret = json.loads(self.process.stdout.readline())
        self.env = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": self.secret}
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def _ask(self, *words):
        print(json.dumps(words), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def names(self):
        return self._ask("names")

    def bytes(self, name):
        return bytes.fromhex(self._ask("bytes", name))


def serve():
    import boto3
    from moto.server import ThreadedMotoServer
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    first = {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
    iam = boto3.client("iam", **first)
    iam.create_user(UserName="benchd")
    key = iam.create_access_key(UserName="benchd")["AccessKey"]
    iam.put_user_policy(UserName="benchd", PolicyName="all", PolicyDocument=EVERYTHING)
    boto3.client("s3", **first).create_bucket(Bucket=BUCKET)
    s3 = boto3.client("s3", **{**first, "aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]})
    print(json.dumps([port, key["AccessKeyId"], key["SecretAccessKey"]]), flush=True)
    for line in sys.stdin:
        what, *name = json.loads(line)
        if what == "names":
            answer = [row["Key"] for row in s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])]
        else:
            answer = s3.get_object(Bucket=BUCKET, Key=name[0])["Body"].read().hex()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
