/** A hash that is the same for the same lines in the same order (two rounds of FNV-1a, 64 bits together). */
export class Trace {
  #one = 0x811c9dc5;
  #other = 0x9e3779b9;

  add(line: string): void {
    let [one, other] = [this.#one, this.#other];
    for (let index = 0; index < line.length; index += 1) {
      const code = line.charCodeAt(index);
      one = Math.imul(one ^ code, 0x01000193);
      other = Math.imul(other ^ (code + index), 0x85ebca6b);
    }
    this.#one = one ^ line.length;
    this.#other = other;
  }

  get hash(): string {
    return [this.#one, this.#other].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
