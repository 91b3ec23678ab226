// In the bundle instead of packages that would talk to a proxy of a kubeconfig, which Mooring refuses.
class NoProxy {
  constructor() {
    throw new Error("proxies are not supported");
  }
}

export { NoProxy as HttpProxyAgent, NoProxy as HttpsProxyAgent, NoProxy as SocksClient, NoProxy as SocksProxyAgent };
