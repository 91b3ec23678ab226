// The baseline of the load bench: Node.js' own server with TLS 1.3 takes a report, parses its JSON, answers, and does nothing else. Usage:
// bare-server.ts <port> <certificate> <key>
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

const [port = "", cert = "", key = ""] = process.argv.slice(2);
const tls = { minVersion: "TLSv1.3", cert: readFileSync(cert), key: readFileSync(key) } as const;
const server = createServer({ ...tls, keepAliveTimeout: 5_000 }, (request, response) => {
  // The client only checks whether the server is up.
  if (request.method !== "PUT") return void response.end();
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const body = JSON.stringify({ forget: [] });
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
  });
});
server.listen(Number(port), "127.0.0.1");
