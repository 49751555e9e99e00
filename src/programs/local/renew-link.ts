// Keeps a link on the screen that still opens: it is renewed before it ends, until the fleet ends.
import type { Clock } from '#lib/clock.ts'

/** The link on the screen always has at least this long to be used. */
export const LINK_LEFT_MS = 60_000

/** A user who comes back to the terminal after an hour finds a link that opens. */
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
