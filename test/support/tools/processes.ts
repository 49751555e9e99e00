// Finds processes of a test by their command line, and waits for conditions. Only for processes that the test started.
import { readFileSync, readdirSync } from 'node:fs'

export interface Found {
  readonly pid: number
  readonly command: string
}

/** Living processes whose command line has every one of these parts; zombies are no processes any more. */
export function processesWith(...parts: readonly string[]): Found[] {
  return readdirSync('/proc')
    .filter((d) => /^\d+$/.test(d))
    .flatMap((d) => {
      try {
        const command = readFileSync(`/proc/${d}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        const isZombie = / Z /.test(readFileSync(`/proc/${d}/stat`, 'utf8').split(')').at(-1)?.slice(0, 3) ?? '')
        return !isZombie && parts.every((p) => command.includes(p)) ? [{ pid: Number(d), command }] : []
      } catch {
        return []
      }
    })
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits for a condition; what it throws or answers at last is in the error. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  withinMs: number,
): Promise<T> {
  const end = performance.now() + withinMs
  let last: unknown
  for (;;) {
    try {
      const seen = await look()
      if (seen !== undefined && seen !== false) return seen
      last = seen
    } catch (e) {
      last = e
    }
    if (performance.now() > end)
      throw new Error(
        `not within ${withinMs} ms: ${what} (last: ${last instanceof Error ? last.message : JSON.stringify(last)})`,
      )
    await sleep(100)
  }
}
