// Counts what a program has on the wire, so that the time of the region continues only once all that was asked is answered: a busy machine makes the day slower, and nothing else.
import type { KubeClient } from '#kube/client.ts'
import { fetchTransport, type Transport } from '#providers/cloud/http.ts'
import { sleep } from '#test/support/tools/processes.ts'

/** As long as it takes an answer to become the next question. */
const QUIET_MS = 12
const LOOK_MS = 4
/** What takes longer is not waited for: a call may wait for the clock itself. */
const MOST_MS = 5_000

export class Traffic {
  #open = 0
  #last = 0

  async counted<T>(call: Promise<T>): Promise<T> {
    this.#open++
    try {
      return await call
    } finally {
      this.#open--
      this.#last = performance.now()
    }
  }

  /** Watches are open all the time: of them the events count. */
  client(client: KubeClient): KubeClient {
    const count = <T>(call: Promise<T>) => this.counted(call)
    return {
      get: (type, key, options) => count(client.get(type, key, options)),
      list: (type, options) => count(client.list(type, options)),
      watch: (type, options) => this.#events(client.watch(type, options)),
      create: (type, object, options) => count(client.create(type, object, options)),
      update: (type, object, options) => count(client.update(type, object, options)),
      patch: (type, key, patch, options) => count(client.patch(type, key, patch, options)),
      apply: (type, object, options) => count(client.apply(type, object, options)),
      delete: (type, key, options) => count(client.delete(type, key, options)),
      deleteCollection: (type, list, options) => count(client.deleteCollection(type, list, options)),
      scale: (type, key, replicas, options) => count(client.scale(type, key, replicas, options)),
      evict: (pod, options) => count(client.evict(pod, options)),
      raw: (request) => count(client.raw(request)),
    }
  }

  async *#events<T>(events: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const event of events) {
      this.#last = performance.now()
      yield event
    }
  }

  readonly transport: Transport = (request, signal) => this.counted(fetchTransport(request, signal))

  async quiet(): Promise<void> {
    const begun = performance.now()
    this.#last = begun
    while (performance.now() - begun < MOST_MS && (this.#open > 0 || performance.now() - this.#last < QUIET_MS))
      await sleep(LOOK_MS)
  }
}
