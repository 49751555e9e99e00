// Picks ports for programs that are about to start, and waits until they answer.
import type { KubeClient } from '#kube/client.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { freePort } from '#lib/free-port.ts'

/** Less than a caller of the host waits for an answer. */
const START_WITHIN_MS = 100_000
const POLL_MS = 50
const ANSWER_WITHIN_MS = 2_000

export async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = await freePort()
    if (port === undefined) throw new Error('no port is free')
    found.add(port)
  }
  return [...found]
}

export interface Awaited {
  readonly what: string
  readonly path: string
  readonly client: KubeClient
  /** Rejects if a program exits first. */
  readonly failed: Promise<never>
  readonly clock: Clock
}

export async function untilAnswer({ what, path, client, failed, clock }: Awaited): Promise<void> {
  const until = clock.monotonic() + START_WITHIN_MS
  for (;;) {
    const seen = await Promise.race([failed, answerOf(client, path)])
    if (seen === 'ok') return
    if (clock.monotonic() > until) throw new Error(`${what} is not ready within ${START_WITHIN_MS / 1_000} s: ${seen}`)
    await clock.sleep(POLL_MS)
  }
}

async function answerOf(client: KubeClient, path: string): Promise<string> {
  try {
    const { status } = await client.raw({ method: 'GET', path, timeoutMs: ANSWER_WITHIN_MS })
    return status === 200 ? 'ok' : `it answers ${status}`
  } catch (e) {
    return messageOf(e)
  }
}
