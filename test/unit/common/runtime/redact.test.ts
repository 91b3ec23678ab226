import { describe, expect, it } from "vitest";
import { redact } from "../../../../common/runtime/redact.ts";

const JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IkEifQ.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJlLW9mLWl0";

describe("redact", () => {
  it.each([
    { name: "a token of a service account", text: `the answer was ${JWT}.`, secret: "c2lnbmF0dXJl" },
    { name: "a token that was cut", text: JWT.slice(0, 60), secret: JWT.slice(45, 60) },
    { name: "a token behind other words with dots", text: `a.b.c.${JWT}`, secret: "c2lnbmF0dXJl" },
    { name: "a token behind an escaped line break", text: `at\\n${JWT}`, secret: "c2lnbmF0dXJl" },
    { name: "a header with a token", text: "sent Authorization: Bearer abc.def-123", secret: "abc.def" },
    { name: "a header with a password", text: "authorization: basic dXNlcjpwYXNz", secret: "dXNlcjpwYXNz" },
    { name: "a password in an address", text: "cannot reach https://user:hunter2@gateway/x", secret: "hunter2" },
    { name: "a mount option", text: "options rw,username=a,password=hunter2,vers=3", secret: "hunter2" },
    { name: "a field of JSON", text: '{"clientSecret": "hunter2"}', secret: "hunter2" },
    { name: "a field of JSON in a text", text: '{"err":"got {\\"token\\":\\"hunter2\\"}"}', secret: "hunter2" },
    { name: "an access key", text: "secret_access_key=hunter2&x=1", secret: "hunter2" },
    {
      name: "a private key, cut or whole",
      text: "-----BEGIN RSA PRIVATE KEY-----\\nhunter2\\n-----END RSA PRIVATE KEY-----",
      secret: "hunter2",
    },
  ])("cuts out $name", ({ text, secret }) => {
    const line = redact(text);

    expect(line).not.toContain(secret);
    expect(line).toContain("[redacted]");
  });

  it.each([
    "own pod's token mount is not in the table",
    "cannot read the service account's token: no such file",
    '{"volume":"name/pvc-1","podUid":"3b1c1d9e-1c5b-4e7e-8f0a-2d3e4f5a6b7c"}',
    "https://10.96.0.1:443/api/v1/pods",
    '{"release":"5f2c/1234567/0a1b/name/pv-1","outcome":"written"}',
  ])("leaves what is no secret: %s", (text) => {
    expect(redact(text)).toBe(text);
  });
});
