import type { RequestOptions } from "node:https";
import { MooringError, messageOf } from "../runtime/errors.ts";

/** What proves who asks. */
export interface Credentials {
  readonly read: () => Promise<RequestOptions>;
  /** Value of the `authorization` header; nothing with a client certificate. */
  readonly authorization: () => Promise<string | undefined>;
  /** The server does not accept this authorization: whoever gave it is asked anew. */
  readonly forget: (authorization: string | undefined) => void;
}

/** What knows how to get the credentials of a kubeconfig's user: client-node's `KubeConfig`. */
export interface CredentialsSource {
  readonly applyToHTTPSOptions: (options: RequestOptions) => Promise<void>;
}

interface CredentialsParts {
  /** client-node keeps what a program gave until that says that it has expired, in one object and for good: this makes another one. */
  readonly open: () => CredentialsSource;
  /** The program that the kubeconfig names for them, where it names one. */
  readonly program?: string | undefined;
}

/** Credentials that are asked for once, however many requests want them at the same time: each asking may start a program. */
export function createCredentials({ open, program }: CredentialsParts): Credentials {
  let source: CredentialsSource | undefined;
  let asking: Promise<RequestOptions> | undefined;
  let given: string | undefined;

  const ask = async (): Promise<RequestOptions> => {
    const options: RequestOptions = {};
    try {
      source ??= open();
      await source.applyToHTTPSOptions(options);
      if (program !== undefined) checkGiven(options);
      return options;
    } catch (cause) {
      // It would keep an answer that it cannot read.
      source = undefined;
      throw failure(cause, program);
    }
  };
  const read = (): Promise<RequestOptions> => {
    if (asking !== undefined) return asking;
    const asked = ask().finally(() => {
      if (asking === asked) asking = undefined;
    });
    asking = asked;
    return asked;
  };
  return {
    read,
    authorization: async () => {
      const asked = read();
      const from = source;
      const authorization = authorizationOf(await asked);
      // What was forgotten meanwhile is not what the next request will be made with.
      if (from === source) given = authorization;
      return authorization;
    },
    forget: (authorization) => {
      // Of several requests with one token each is refused; the first has forgotten it.
      if (given === undefined || authorization !== given) return;
      given = undefined;
      source = undefined;
      asking = undefined;
    },
  };
}

/** A program's answer that is of no use. */
class NoCredentials extends Error {}

function checkGiven(options: RequestOptions): void {
  if (authorizationOf(options) !== undefined || (options.cert && options.key)) return;
  throw new NoCredentials('neither "status.token" nor a client certificate with its key');
}

/** It may need a network that comes back: what a controller has to do is not given up for it. */
function failure(cause: unknown, program: string | undefined): MooringError {
  const lack = program === undefined ? undefined : lackIn(cause);
  const words = lack === undefined ? ownWords(cause) : `the answer of the program ${program} ${lack}`;
  // The text that is no JSON may be a token, and is in the error.
  const isSecret = cause instanceof SyntaxError;
  const message = `cannot get the credentials that the kubeconfig names: ${words}`;
  return new MooringError("kubeconfig-invalid", message, isSecret ? {} : { cause });
}

/** A program's words on standard error. */
function ownWords(cause: unknown): string {
  return messageOf(cause).trim() || "the program failed without a word";
}

/** What is missing in what a program answered; nothing where it did not answer. */
function lackIn(cause: unknown): string | undefined {
  if (cause instanceof NoCredentials) return `has ${cause.message}`;
  if (cause instanceof SyntaxError) return "is no ExecCredential in JSON";
  return cause instanceof TypeError && NO_STATUS.test(cause.message)
    ? 'is no ExecCredential with a "status"'
    : undefined;
}

/** client-node looks into an answer's `status` whether it is there or not. (Its dist/exec_auth.js.) */
const NO_STATUS = /^Cannot read properties of (?:undefined|null) \(reading 'clientCertificateData'\)$/;

function authorizationOf(options: RequestOptions): string | undefined {
  if (options.auth) return `Basic ${Buffer.from(options.auth).toString("base64")}`;
  const headers: unknown = options.headers;
  if (typeof headers !== "object" || headers === null) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return typeof value === "string" ? value : undefined;
}
