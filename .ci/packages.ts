/** The names in a list of distribution packages: one a line. */
export function namesIn(list: string): readonly string[] {
  return list
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** What asks dpkg for the state of packages, in lines that `missingOf` understands; it fails where one is unknown to dpkg. */
export function askForPackages(names: readonly string[]): readonly string[] {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: these are dpkg's own fields.
  return ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", ...names];
}

/** The packages that are not installed, by dpkg's answer: one that was removed keeps a line with another state. */
export function missingOf(names: readonly string[], answer: string): readonly string[] {
  const installed = new Set(
    answer
      .split("\n")
      .filter((line) => line.endsWith(" installed"))
      .map((line) => line.split(" ")[0]),
  );
  return names.filter((name) => !installed.has(name));
}
