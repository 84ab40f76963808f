// Asks each address of standard input (a JSON array of [name, url, seconds]) twice, by `http` and by `fetch`, and says
// what became of it.

import http from "node:http";
import { readFileSync } from "node:fs";

function byHttp(url, seconds) {
  return new Promise((resolve) => {
    const request = http.get(url, { agent: false, signal: AbortSignal.timeout(seconds * 1000) }, (response) => {
      let bytes = 0;
      response.on("data", (chunk) => (bytes += chunk.length));
      response.on("error", (error) => resolve(`${error.message}: ${error.code}`));
      response.on("end", () => resolve(`${response.statusCode}, ${bytes} bytes`));
    });
    request.on("error", (error) => resolve(error.code));
  });
}

async function byFetch(url, seconds) {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(seconds * 1000) });
    const bytes = (await response.arrayBuffer()).byteLength;
    return `${response.status}, ${bytes} bytes`;
  } catch (error) {
    return error.cause ? `${error.message}: ${error.cause.code}` : error.name;
  }
}

const seen = {};
for (const [name, url, seconds] of JSON.parse(readFileSync(0, "utf8"))) {
  seen[name] = { http: await byHttp(url, seconds), fetch: await byFetch(url, seconds) };
}
console.log(JSON.stringify(seen));
// A socket that was left open by a fault must not keep the process.
process.exit(0);
