/**
 * JavaScript for `node --eval`, with texts written backwards as arguments: prints every path below `/` at which one of them can be read, and
 * the processes that can be seen. It goes wherever a name leads, through links such as `/proc/<pid>/root`, and into each directory once.
 */
export const SEARCH = String.raw`
  const texts = process.argv.slice(1).map((text) => [...text].reverse().join(""));
  // One buffer for all files: the search shares the container's memory limit with the program that runs there.
  const bytes = Buffer.alloc(1 << 18);
  const DEEPEST = 24;
  const seen = new Set();
  const paths = [];
  const attempt = (call) => { try { return call(); } catch { return undefined; } };
  function read(path) {
    // What waits for data or for a writer must not hold the search up.
    const file = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      let length = 0;
      for (let more = 1; more > 0 && length < bytes.length; length += more)
        more = fs.readSync(file, bytes, length, bytes.length - length, null);
      return bytes.subarray(0, length);
    } finally {
      fs.closeSync(file);
    }
  }
  function visit(path, depth) {
    const stat = attempt(() => fs.statSync(path));
    if (stat === undefined || depth > DEEPEST) return;
    if (stat.isFile()) {
      const content = attempt(() => read(path));
      if (content !== undefined && texts.some((text) => content.includes(text))) paths.push(path);
    }
    if (!stat.isDirectory() || seen.has(stat.dev + ":" + stat.ino)) return;
    seen.add(stat.dev + ":" + stat.ino);
    const names = attempt(() => fs.readdirSync(path)) ?? [];
    for (const name of names) visit(path + (path === "/" ? "" : "/") + name, depth + 1);
  }
  visit("/", 0);
  // The directories of processes are there for everybody, also where nothing in them may be read.
  const processes = ["/proc", "/host/proc"].flatMap((folder) =>
    (attempt(() => fs.readdirSync(folder)) ?? []).filter((name) => /^\d+$/.test(name)));
  console.log(JSON.stringify({ paths, processes }));
`;
