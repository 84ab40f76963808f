// Asks each address of standard input (a JSON array of [name, url, seconds, body]) twice, by `http` and by `fetch`, and says
// what became of it.

import http from "node:http";
import { readFileSync } from "node:fs";

function byHttp(url, seconds, body) {
  return new Promise((resolve) => {
    const options = { agent: false, method: body ? "POST" : "GET", signal: AbortSignal.timeout(seconds * 1000) };
    const request = http.request(url, options, (response) => {
      let bytes = 0;
      response.on("data", (chunk) => (bytes += chunk.length));
      response.on("error", (error) => resolve(`${error.message}: ${error.code}`));
      response.on("end", () => resolve(`${response.statusCode}, ${bytes} bytes`));
    });
    request.on("error", (error) => resolve(error.code));
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
    return error.cause ? `${error.message}: ${error.cause.code}` : error.name;
  }
}

const seen = {};
for (const [name, ...row] of JSON.parse(readFileSync(0, "utf8"))) {
  seen[name] = { http: await byHttp(...row), fetch: await byFetch(...row) };
}
console.log(JSON.stringify(seen));
// A socket that was left open by a fault must not keep the process.
process.exit(0);
