// Clients that write, read, list and watch config maps of one namespace at random, over restarts of the server, and keep the history.
import { assertNever } from '#lib/errors.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Entry, Intent, Seen, Write } from './api-history.ts'
import { Requests, type Reply, type WatchLine } from './api-requests.ts'
import type { ServerProcess } from './apiserver-process.ts'

const HISTORY_PATH = '/api/v1/namespaces/default/configmaps'
const KEYS = 6
const PREFIX = 'h-'

/** What stands between a server and who records it; the honest one changes nothing. Mutants of a server are made with it. */
export interface Between {
  line(line: WatchLine): readonly WatchLine[]
  reply(reply: Reply, path: string): Reply
}
const HONEST: Between = { line: (l) => [l], reply: (r) => r }

const versionOf = (o: KubeObject) => ({
  revision: Number(o.metadata.resourceVersion),
  data: o['data'] as Readonly<Record<string, string>> | undefined,
})
const isOurs = (name: string | undefined): name is string => name?.startsWith(PREFIX) === true
const now = () => performance.now()

export class HistoryClients {
  readonly entries: Entry[] = []
  readonly #random: Random
  readonly #between: Between
  #requests: Requests | undefined
  #over = true
  #written = 0

  constructor(random: Random, between: Between = HONEST) {
    this.#random = random
    this.#between = between
  }

  /** Until `rest`: so many writers, readers and watchers at once. Resolves when all have stopped. */
  async work(server: ServerProcess, clients: number, watchers: number): Promise<void> {
    this.#over = false
    const requests = new Requests(server)
    this.#requests = requests
    await Promise.all([
      ...Array.from({ length: clients }, (_, i) => this.#client(requests, i)),
      ...Array.from({ length: watchers }, () => this.#watch(requests)),
    ])
    requests.close()
  }

  /** No new calls; those under way end with the server, or by themselves. */
  rest(): void {
    this.#over = true
  }

  /** Connections go, so that watches end too. */
  cut(): void {
    this.#over = true
    this.#requests?.close()
  }

  /** One list without other requests, and one watch that is read until it has seen the last write. */
  async lookAtRest(server: ServerProcess): Promise<void> {
    const requests = new Requests(server)
    const { body } = await requests.post(HISTORY_PATH, { metadata: { name: `last-${now()}` } })
    const end = Number(body.metadata.resourceVersion)
    await this.#list(requests)
    const oldest = this.entries.findLast((e) => e.is === 'watch')?.events.at(-1)?.revision
    if (oldest !== undefined) await this.#watchOnce(requests, oldest, end)
    requests.close()
  }

  async #client(requests: Requests, client: number): Promise<void> {
    let read: { readonly key: string; readonly revision: number } | undefined
    while (!this.#over) {
      const key = `${PREFIX}${Math.floor(this.#random.next() * KEYS)}`
      const luck = this.#random.next()
      const data = { v: `${++this.#written}`, [`c${client}`]: `${this.#written}` }
      try {
        if (luck < 0.2) read = await this.#get(requests, key)
        else if (luck < 0.27) await this.#list(requests)
        else if (luck < 0.45) await this.#write(requests, key, { kind: 'put', data })
        else if (luck < 0.65) await this.#write(requests, key, { kind: 'patch', data })
        else if (luck < 0.8 && read !== undefined)
          await this.#write(requests, read.key, { kind: 'swap', data, base: read.revision })
        else if (luck < 0.9) await this.#write(requests, key, { kind: 'create', data })
        else await this.#write(requests, key, { kind: 'delete' })
      } catch (e) {
        if (this.#over) return
        throw e
      }
    }
  }

  async #write(requests: Requests, key: string, intent: Intent): Promise<void> {
    const began = now()
    let outcome: Write['outcome'] = 'unknown'
    try {
      const { code, body } = await this.#sent(requests, key, intent)
      if (code >= 500) throw new Error(`${intent.kind} of ${key} was answered ${code}: ${body.message ?? ''}`)
      if (code >= 300) outcome = 'refused'
      else outcome = intent.kind === 'delete' ? 'deleted' : versionOf(body)
    } catch (e) {
      if (!this.#over) throw e
    }
    this.entries.push({ is: 'write', key, intent, began, ended: now(), outcome })
  }

  #sent(requests: Requests, key: string, intent: Intent): Promise<Reply> {
    const path = `${HISTORY_PATH}/${key}`
    const object = (more = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: key, ...more },
      data: 'data' in intent ? intent.data : {},
    })
    switch (intent.kind) {
      case 'create':
        return requests.post(HISTORY_PATH, object())
      case 'put':
        return requests.put(path, object())
      case 'swap':
        return requests.put(path, object({ resourceVersion: String(intent.base) }))
      case 'patch':
        return requests.patch('merge', path, { data: intent.data })
      case 'delete':
        return requests.delete(path)
      default:
        return assertNever(intent)
    }
  }

  async #get(requests: Requests, key: string) {
    const began = now()
    const path = `${HISTORY_PATH}/${key}`
    const { code, body } = this.#between.reply(await requests.get(path), path)
    if (code !== 200 && code !== 404) throw new Error(`GET of ${key} was answered ${code}`)
    const found = code === 404 ? undefined : versionOf(body)
    this.entries.push({ is: 'read', key, began, ended: now(), found })
    return found === undefined ? undefined : { key, revision: found.revision }
  }

  async #list(requests: Requests): Promise<number> {
    const began = now()
    const { code, body } = await requests.get(HISTORY_PATH)
    if (code !== 200) throw new Error(`a list was answered ${code}`)
    const items = (body.items ?? [])
      .filter((o) => isOurs(o.metadata.name))
      .map((o) => ({ key: o.metadata.name ?? '', ...versionOf(o) }))
    const revision = Number(body.metadata.resourceVersion)
    this.entries.push({ is: 'list', began, ended: now(), revision, items })
    return revision
  }

  /** From a list, then again and again from where it was, until it is over. */
  async #watch(requests: Requests): Promise<void> {
    try {
      let from = await this.#list(requests)
      while (!this.#over) {
        const isGone = await this.#watchOnce(requests, from)
        const last = this.entries.findLast((e) => e.is === 'watch' && e.from === from)
        from = isGone
          ? await this.#list(requests)
          : last?.is === 'watch'
            ? (last.events.at(-1)?.revision ?? from)
            : from
      }
    } catch (e) {
      if (!this.#over) throw e
    }
  }

  /** True when the server no longer knows so old a revision. */
  async #watchOnce(requests: Requests, from: number, until?: number): Promise<boolean> {
    const seconds = 1 + Math.floor(this.#random.next() * 2)
    const events: Seen[] = []
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${from}&timeoutSeconds=${until === undefined ? seconds : 5}`
    const watch = await requests.watch(`${HISTORY_PATH}?${query}`)
    let isGone = false
    let read = 0
    const look = () => {
      for (; read < watch.lines.length; read++) {
        const raw = watch.lines[read]
        if (raw?.type === 'ERROR') isGone = raw.object.code === 410
        for (const line of raw === undefined || raw.type === 'ERROR' ? [] : this.#between.line(raw)) {
          const name = line.object.metadata.name
          if (line.type !== 'BOOKMARK' && !isOurs(name)) {
            if (until !== undefined && versionOf(line.object).revision >= until) watch.close()
            continue
          }
          events.push({ at: now(), type: line.type as Seen['type'], key: name ?? '', ...versionOf(line.object) })
        }
      }
      return false
    }
    void watch.until(look).catch(() => undefined)
    await watch.ended
    look()
    if (!isGone) this.entries.push({ is: 'watch', from, events })
    return isGone
  }
}
