// Keeps the node-seconds of each pool and day in a ConfigMap: reads it once, then adds to it every few minutes and when the leadership ends.
import { FIELD_MANAGERS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import {
  keptIn,
  type KeptDays,
  keptText,
  NOTHING_KEPT,
  SERVICE_LEVELS_MAP,
  SERVICE_LEVELS_KEY,
  withMeasured,
} from '#measure/kept-days.ts'
import type { Part } from '#runtime/manager.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { NodeLedger } from './node-ledger.ts'

/** A crash loses at most these five minutes of a month. */
export const KEEP_MS = 300_000
const CALL_MS = 10_000

const configMapType = coreKind('ConfigMap')

export interface KeeperTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
}

export class ServiceLevelKeeper implements Part {
  readonly name = 'service-levels'
  readonly #tools: KeeperTools
  readonly #ledger: NodeLedger
  readonly #repeat: RepeatedCheck
  #end: () => void = () => undefined
  #kept: KeptDays | undefined

  constructor(tools: KeeperTools, ledger: NodeLedger) {
    this.#tools = tools
    this.#ledger = ledger
    this.#repeat = new RepeatedCheck(tools.clock)
  }

  /** The days as last written; undefined until they were read. */
  get kept(): KeptDays | undefined {
    return this.#kept
  }

  async start(): Promise<void> {
    this.#end = this.#ledger.start()
    await this.#read().catch((e: unknown) => this.#warn('cannot read the service levels', e))
    this.#repeat.start(
      () => KEEP_MS,
      () => this.keep(),
    )
  }

  async stop(): Promise<void> {
    await this.#repeat.stop()
    await this.keep()
    this.#end()
  }

  /** After a failed write, the next one includes these minutes. */
  async keep(): Promise<void> {
    try {
      const before = this.#kept ?? (await this.#read())
      if (before === undefined) return
      const { pools, keep } = this.#ledger.sinceKept()
      const after = withMeasured(before, pools, this.#ledger.inService, this.#tools.clock.now())
      await this.#write(after)
      keep()
      this.#kept = after
    } catch (e) {
      this.#warn('cannot keep the service levels', e)
    }
  }

  /** Undefined if another release wrote it: its days are not overwritten. */
  async #read(): Promise<KeptDays | undefined> {
    const found = await this.#tools.client.get(configMapType, SERVICE_LEVELS_MAP, { timeoutMs: CALL_MS })
    const text = found?.data?.[SERVICE_LEVELS_KEY]
    this.#kept = text === undefined ? NOTHING_KEPT : keptIn(text)
    if (this.#kept === undefined)
      this.#tools.log.warn('the service levels were written by another release; they are not continued', {
        configMap: SERVICE_LEVELS_MAP.name,
      })
    return this.#kept
  }

  async #write(days: KeptDays): Promise<void> {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...SERVICE_LEVELS_MAP },
      data: { [SERVICE_LEVELS_KEY]: keptText(days) },
    }
    await this.#tools.client.apply(configMapType, object, {
      fieldManager: FIELD_MANAGERS.machine,
      force: true,
      timeoutMs: CALL_MS,
    })
  }

  #warn(message: string, e: unknown): void {
    this.#tools.log.warn(message, { error: messageOf(e) })
  }
}
