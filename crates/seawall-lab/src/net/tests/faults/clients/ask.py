"""Asks each address of standard input (a JSON array of [name, url, seconds, body]) and says what became of it."""

import http.client
import json
import sys
import urllib.parse


def ask(url, seconds, body):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
    try:
        connection.request("POST" if body else "GET", parts.path, body)
        response = connection.getresponse()
        return f"{response.status}, {len(response.read())} bytes"
    except Exception as error:  # Whatever it is, its class is what is asked for.
        return type(error).__name__
    finally:
        connection.close()


print(json.dumps({name: ask(*row) for name, *row in json.load(sys.stdin)}))
