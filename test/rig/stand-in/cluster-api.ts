import { type ApiCall, type ApiRequest, accepted } from "../control-plane/api.ts";

/** Asks the API server as its administrator; a refusal is an error. */
export interface ClusterApi {
  readonly get: (path: string) => Promise<unknown>;
  readonly create: (path: string, object: object) => Promise<unknown>;
  readonly patch: (path: string, change: object) => Promise<void>;
  readonly apply: (path: string, object: object) => Promise<void>;
  /** Deletes at once, without a grace period: what is gone already is fine. */
  readonly remove: (path: string) => Promise<void>;
}

export function createClusterApi(api: ApiCall): ClusterApi {
  const ask = async (request: ApiRequest): Promise<unknown> =>
    JSON.parse(await accepted(api(request), `${request.method ?? "GET"} ${request.path}`));
  return {
    get: (path) => ask({ path }),
    create: (path, body) => ask({ method: "POST", path, body }),
    patch: async (path, body) => {
      await ask({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    },
    apply: async (path, body) => {
      const query = "fieldManager=mooring-tests&force=true";
      await ask({ method: "PATCH", path: `${path}?${query}`, body, contentType: "application/apply-patch+yaml" });
    },
    remove: async (path) => {
      const answer = await api({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` });
      if (answer.status !== 404) await accepted(Promise.resolve(answer), `DELETE ${path}`);
    },
  };
}
