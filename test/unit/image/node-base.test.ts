import { describe, expect, it } from "vitest";
import { librariesIn } from "../../image/node-base.ts";

const LDD = `	linux-vdso.so.1 (0x00007efeb5d3a000)
	libatomic.so.1 => /lib/x86_64-linux-gnu/libatomic.so.1 (0x00007efeb5d1f000)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007efeb5817000)
	/lib64/ld-linux-x86-64.so.2 (0x00007efeb5d3c000)
`;

describe("librariesIn", () => {
  it("names libraries and the loader, not what the kernel provides", () => {
    expect(librariesIn(LDD)).toEqual([
      "/lib/x86_64-linux-gnu/libatomic.so.1",
      "/lib/x86_64-linux-gnu/libc.so.6",
      "/lib64/ld-linux-x86-64.so.2",
    ]);
  });

  it("says which library is missing", () => {
    expect(() => librariesIn(`${LDD}	libatomic.so.1 => not found\n`)).toThrow("needs libatomic.so.1");
  });
});
