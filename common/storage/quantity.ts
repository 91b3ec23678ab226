const SUFFIXES: ReadonlyMap<string, number> = new Map([
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
]);

/** The API server accepts no larger one. */
const LARGEST = 2 ** 63;
/** More digits than any client writes. */
const LONGEST = 64;

/** The bytes of a quantity as the API writes it (`10Gi`, `1.5e3`), rounded up; undefined for anything else. */
export function parseBytes(text: string | undefined): number | undefined {
  if (text === undefined || text.length > LONGEST) return undefined;
  const [, number = "", suffix = ""] = /^(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d{1,3}|[a-zA-Z]{0,2})$/.exec(text) ?? [];
  if (number === "") return undefined;
  const isExponent = /^[eE][-+]?\d/.test(suffix);
  const factor = isExponent ? 1 : SUFFIXES.get(suffix);
  if (factor === undefined) return undefined;
  return Math.min(LARGEST, Math.ceil(Number(isExponent ? number + suffix : number) * factor));
}
