// A cluster in memory with a recorder beside it, on a clock of its own: what really happened is known, so what was recorded can be held to it.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { timestamp } from '#lib/clock.ts'
import { type Logger, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { HistoryReader, type Transition } from '#history/ask/reader.ts'
import { DEFAULT_BOUNDS, type HistoryBounds } from '#history/record/bounds.ts'
import { HistoryPart } from '#history/record/part.ts'
import { nodeType } from '#nodes/objects.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

export const CLUSTER = 'prod-1'

interface Options {
  readonly bounds?: Partial<HistoryBounds>
  readonly log?: Logger
  readonly startMs?: number
}

export class HistoryWorld {
  readonly clock: VirtualClock
  readonly kube: FakeKube
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-history-world-'))
  readonly #folders: string[] = [this.folder]
  readonly #options: Options
  readonly #parts: HistoryPart[] = []

  constructor(options: Options = {}) {
    this.#options = options
    this.clock = new VirtualClock(options.startMs)
    this.kube = this.server()
  }

  /** A server of its own, such as the one before a restore. */
  server(): FakeKube {
    const kinds = KINDS.map((type) => ({ type, schema: type.schema, status: type.definition.status !== undefined }))
    return new FakeKube({ clock: this.clock, random: seededRandom(7), kinds })
  }

  /** Started, and with the first lists read. */
  async recorder(folder = this.folder, client = this.kube.client({ actor: 'history' })): Promise<HistoryPart> {
    const { clock } = this
    const part = new HistoryPart({
      folder,
      cluster: CLUSTER,
      client,
      clock,
      random: seededRandom(3),
      log: this.#options.log ?? silentLogger,
      metrics: createMetrics(),
      bounds: { ...DEFAULT_BOUNDS, ...this.#options.bounds },
    })
    this.#parts.push(part)
    part.start()
    await clock.advance(2_000)
    return part
  }

  plantNode(name: string, ready = 'True'): void {
    this.kube.plant(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { conditions: [this.#ready(ready)] },
    })
  }

  setReady(name: string, status: string): void {
    this.kube.poke(nodeType, { name }, { status: { conditions: [this.#ready(status)] } }, 'status')
  }

  #ready(status: string) {
    return {
      type: 'Ready',
      status,
      reason: 'Kubelet',
      message: 'as told',
      lastTransitionTime: timestamp(this.clock.now()),
    }
  }

  /** The files as they are now: what a kill at this moment leaves. */
  snapshot(): string {
    const copy = mkdtempSync(join(tmpdir(), 'kubenode-history-copy-'))
    this.#folders.push(copy)
    cpSync(this.folder, copy, { recursive: true, filter: (path) => !path.endsWith('.lock') })
    return copy
  }

  read<T>(use: (reader: HistoryReader) => T, folder = this.folder): T {
    const reader = this.reader(folder)
    try {
      return use(reader)
    } finally {
      reader.close()
    }
  }

  /** To be closed by the caller. */
  reader(folder = this.folder): HistoryReader {
    return new HistoryReader(folder, CLUSTER)
  }

  /** Statuses of the condition Ready of a node, in the order in which they were recorded. */
  readyOf(name: string, folder = this.folder): readonly (string | undefined)[] {
    return this.read(
      (r) =>
        r
          .subjects('Node', name)
          .flatMap((s) => r.rowsOf(s))
          .filter(isReady)
          .map(statusOf),
      folder,
    )
  }

  async end(): Promise<void> {
    for (const part of this.#parts) await part.stop()
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true })
  }
}

const isReady = ({ topic }: Transition): boolean => topic === 'status/conditions/Ready'
const statusOf = ({ value }: Transition): string | undefined =>
  value === undefined ? undefined : (JSON.parse(value) as { readonly status: string }).status

/** Ends with its test. */
export function historyWorld(...args: ConstructorParameters<typeof HistoryWorld>): HistoryWorld {
  const world = new HistoryWorld(...args)
  onTestFinished(() => world.end())
  return world
}
