// Writes to a cluster all the time, and knows what was acknowledged. Each write is tried for a while, as people and programs do.
import { coreKind } from '#kube/core-kinds.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'

const CONFIG_MAPS = coreKind('ConfigMap')
const EVERY_MS = 100
const ONE_WRITE_MS = 10_000
/** A leader of etcd that is lost is followed after some seconds, and endpoints of one that lost its power after a minute. */
const TRIES = 12

export class PlaneWriter {
  readonly #client: HttpKubeClient
  readonly #written: string[] = []
  readonly #failed: string[] = []
  #retried = 0
  #isOver = false
  readonly #running: Promise<void>

  constructor(client: HttpKubeClient) {
    this.#client = client
    this.#running = this.#run()
  }

  get written(): number {
    return this.#written.length
  }

  /** All acknowledged writes are there, and none was given up. */
  async mustHaveLostNothing(): Promise<void> {
    const acknowledged = [...this.#written]
    const { items } = await this.#client.list(CONFIG_MAPS, { namespace: 'default', labelSelector: 'writer=1' })
    const there = new Set(items.map(({ metadata }) => metadata.name))
    const lost = acknowledged.filter((name) => !there.has(name))
    if (lost.length > 0 || this.#failed.length > 0)
      throw new Error(`lost: ${lost.join(', ')}; given up: ${this.#failed.join(', ')}`)
    process.stderr.write(`a writer: ${acknowledged.length} writes, ${this.#retried} tries more, none lost\n`)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
    this.#client.close()
  }

  async #run(): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      await this.#write(`w-${n}`)
      await systemClock.sleep(EVERY_MS)
    }
  }

  async #write(name: string): Promise<void> {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', labels: { writer: '1' } },
    }
    let last: unknown
    for (let attempt = 0; attempt < TRIES && !this.#isOver; attempt++) {
      this.#retried += attempt === 0 ? 0 : 1
      try {
        const options = { fieldManager: 'writer', force: true, timeoutMs: ONE_WRITE_MS }
        await this.#client.apply(CONFIG_MAPS, object, options)
        this.#written.push(name)
        return
      } catch (error) {
        last = error
        await systemClock.sleep(EVERY_MS * 10)
      }
    }
    if (!this.#isOver) this.#failed.push(`${name}: ${String(last)}`)
  }
}
