// Starts the processes of light API servers, and adds up what they count.
import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { newAuthority } from '#test/support/servers/tls.ts'
import type { LightCounts } from './light-server.ts'

/** Two processes keep both cores of a small machine busy beside sync. */
const PROCESSES = 2

export class LightServers {
  readonly #children: readonly { readonly child: ChildProcess; readonly port: number }[]

  /** PEM of the authority. */
  readonly ca: string

  private constructor(ca: string, children: readonly { readonly child: ChildProcess; readonly port: number }[]) {
    this.ca = ca
    this.#children = children
  }

  static async start(): Promise<LightServers> {
    const authority = await newAuthority()
    const { cert, key } = await authority.server(['127.0.0.1'])
    const started = [JSON.stringify({ cert, key })]
    const file = join(import.meta.dirname, 'light-server.ts')
    const children = Array.from({ length: PROCESSES }, () => fork(file, started))
    return new LightServers(
      authority.cert,
      await Promise.all(
        children.map(async (child) => ({ child, port: ((await messageOf(child)) as { port: number }).port })),
      ),
    )
  }

  /** Of the cluster with this number. */
  address(cluster: number): string {
    return `https://127.0.0.1:${this.#children[cluster % PROCESSES]?.port ?? 0}/c${cluster}`
  }

  reset(): Promise<LightCounts> {
    return this.#ask('reset')
  }

  counts(): Promise<LightCounts> {
    return this.#ask('counts')
  }

  async #ask(what: 'reset' | 'counts'): Promise<LightCounts> {
    const all = await Promise.all(
      this.#children.map(async ({ child }) => {
        const answer = messageOf(child)
        child.send(what)
        return (await answer) as LightCounts
      }),
    )
    const sum = (of: (c: LightCounts) => number) => all.reduce((n, c) => n + of(c), 0)
    return { reads: sum((c) => c.reads), writes: sum((c) => c.writes), compared: sum((c) => c.compared) }
  }

  stop(): void {
    for (const { child } of this.#children) child.disconnect()
  }
}

const messageOf = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a light server ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (answer) => {
      child.off('exit', ended)
      resolve(answer)
    })
  })
