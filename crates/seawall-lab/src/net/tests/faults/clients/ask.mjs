// Asks each address of standard input (a JSON array of [name, url, seconds, body]) twice, by `http` and by `fetch`, and
// says what became of it. An answer whose socket ends under it is "aborted" to one and "terminated" to the other; under
// which code depends on whether Node had read the last bytes when the end came.

import http from "node:http";
import { readFileSync } from "node:fs";

function byHttp(url, seconds, body) {
  return new Promise((resolve) => {
    const options = { agent: false, method: body ? "POST" : "GET", signal: AbortSignal.timeout(seconds * 1000) };
    let ended = "ECONNRESET";
    const request = http.request(url, options, (response) => {
      ended = "aborted";
      let bytes = 0;
      response.on("data", (chunk) => (bytes += chunk.length));
      response.on("error", (error) => resolve(error.code === "ECONNRESET" ? ended : error.code));
      response.on("end", () => resolve(`${response.statusCode}, ${bytes} bytes`));
    });
    request.on("error", (error) => resolve(error.code === "ECONNRESET" ? ended : error.code));
    request.end(body ?? undefined);
  });
}

async function byFetch(url, seconds, body) {
  try {
    const options = { method: body ? "POST" : "GET", body, signal: AbortSignal.timeout(seconds * 1000) };
    const response = await fetch(url, options);
    const bytes = (await response.arrayBuffer()).byteLength;
    return `${response.status}, ${bytes} bytes`;
  } catch (error) {
    const ended = error.message === "terminated" && ["ECONNRESET", "UND_ERR_SOCKET"].includes(error.cause?.code);
    if (ended || !error.cause) {
      return ended ? error.message : error.name;
    }
    return `${error.message}: ${error.cause.code}`;
  }
}

const seen = {};
for (const [name, ...row] of JSON.parse(readFileSync(0, "utf8"))) {
  seen[name] = { http: await byHttp(...row), fetch: await byFetch(...row) };
}
console.log(JSON.stringify(seen));
// A socket that was left open by a fault must not keep the process.
process.exit(0);
