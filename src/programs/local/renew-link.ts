// Keeps the link on the screen valid: renews it before it expires, until the fleet stops.
import type { Clock } from '#lib/clock.ts'

/** The link on the screen is always valid for at least this long. */
export const LINK_LEFT_MS = 60_000

/** A user who comes back to the terminal after an hour finds a working link. */
export async function renewLink(
  renew: () => void,
  linkMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(linkMs - LINK_LEFT_MS, signal).catch(() => undefined)
    if (!signal.aborted) renew()
  }
}
