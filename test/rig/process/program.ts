import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of a program, as a shell finds it in the folders of `path`; nothing when there is none. */
export function findProgram(name: string, path = process.env.PATH ?? ""): string | undefined {
  if (name.includes("/")) return isProgram(name) ? name : undefined;
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram);
}

/** Whether this user may run the file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The folders of programs, with those of the administrator, which a user's shell may lack. */
export function systemPath(): string {
  return [process.env.PATH ?? "", "/usr/local/sbin", "/usr/sbin", "/sbin"].join(delimiter);
}
