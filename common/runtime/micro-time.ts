/** An instant as RFC 3339 with six fractional digits: the API server takes `MicroTime` fields, those of Leases and events, in no other form. */
export function formatMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
