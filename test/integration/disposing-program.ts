// A program under test: its second try succeeds, unless the first one's error is kept.
async function open(): Promise<AsyncDisposable> {
  return { [Symbol.asyncDispose]: async () => {} };
}

for (const attempt of ["first", "second"]) {
  try {
    await using _file = await open();
    if (attempt === "first") throw new Error("taken");
    process.stdout.write(`${attempt} try\n`);
  } catch (error) {
    process.stdout.write(`${attempt} try: ${String(error)}\n`);
  }
}
