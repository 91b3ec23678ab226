import type { RequestOptions } from "node:https";
import { MooringError, messageOf } from "../runtime/errors.ts";

/** Credentials for the API server. */
export interface Credentials {
  readonly read: () => Promise<RequestOptions>;
  /** Value of the `authorization` header; undefined with a client certificate. */
  readonly authorization: () => Promise<string | undefined>;
  /** The server has refused this authorization: get another one before the next request. */
  readonly forget: (authorization: string | undefined) => void;
}

/** The part of client-node's `KubeConfig` that gets the credentials of a user. */
export interface CredentialsSource {
  readonly applyToHTTPSOptions: (options: RequestOptions) => Promise<void>;
}

interface CredentialsParts {
  /** client-node caches what a program printed, in one object, until the answer says that it has expired. This creates a new object. */
  readonly open: () => CredentialsSource;
  /** The program that the kubeconfig names for its credentials, if any. */
  readonly program?: string | undefined;
}

/** Credentials that are requested once, however many API requests need them at the same time: each request for them may start a program. */
export function createCredentials({ open, program }: CredentialsParts): Credentials {
  let source: CredentialsSource | undefined;
  let pending: Promise<RequestOptions> | undefined;
  let given: string | undefined;

  const ask = async (): Promise<RequestOptions> => {
    const options: RequestOptions = {};
    try {
      source ??= open();
      await source.applyToHTTPSOptions(options);
      if (program !== undefined) checkGiven(options);
      return options;
    } catch (cause) {
      // It would cache an answer that it cannot read.
      source = undefined;
      throw failure(cause, program);
    }
  };
  const read = (): Promise<RequestOptions> => {
    if (pending !== undefined) return pending;
    const request = ask().finally(() => {
      if (pending === request) pending = undefined;
    });
    pending = request;
    return request;
  };
  return {
    read,
    authorization: async () => {
      const request = read();
      const from = source;
      const authorization = authorizationOf(await request);
      // Credentials that were dropped meanwhile must not be used for the next request.
      if (from === source) given = authorization;
      return authorization;
    },
    forget: (authorization) => {
      // The server refuses each of several requests with one token; the first refusal has dropped the token already.
      if (given === undefined || authorization !== given) return;
      given = undefined;
      source = undefined;
      pending = undefined;
    },
  };
}

/** A program's answer that cannot be used. */
class NoCredentials extends Error {}

function checkGiven(options: RequestOptions): void {
  if (authorizationOf(options) !== undefined || (options.cert && options.key)) return;
  throw new NoCredentials('neither "status.token" nor a client certificate with its key');
}

/** Retriable: the program may need a network that recovers, and a controller must not give up for that. */
function failure(cause: unknown, program: string | undefined): MooringError {
  const missing = program === undefined ? undefined : missingPart(cause);
  const reason = missing === undefined ? programOutput(cause) : `the answer of the program ${program} ${missing}`;
  // The error quotes the text that is not JSON, and that text may be a token.
  const isSecret = cause instanceof SyntaxError;
  const message = `cannot get the credentials that the kubeconfig names: ${reason}`;
  return new MooringError("kubeconfig-invalid", message, isSecret ? {} : { cause });
}

/** What a program wrote to standard error. */
function programOutput(cause: unknown): string {
  return messageOf(cause).trim() || "the program failed without a word";
}

/** What is missing in a program's answer; undefined where it gave none. */
function missingPart(cause: unknown): string | undefined {
  if (cause instanceof NoCredentials) return `has ${cause.message}`;
  if (cause instanceof SyntaxError) return "is no ExecCredential in JSON";
  return cause instanceof TypeError && NO_STATUS.test(cause.message)
    ? 'is no ExecCredential with a "status"'
    : undefined;
}

/** client-node reads an answer's `status` without checking that it exists. (Its dist/exec_auth.js.) */
const NO_STATUS = /^Cannot read properties of (?:undefined|null) \(reading 'clientCertificateData'\)$/;

function authorizationOf(options: RequestOptions): string | undefined {
  if (options.auth) return `Basic ${Buffer.from(options.auth).toString("base64")}`;
  const headers: unknown = options.headers;
  if (typeof headers !== "object" || headers === null) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === "authorization")?.[1];
  return typeof value === "string" ? value : undefined;
}
