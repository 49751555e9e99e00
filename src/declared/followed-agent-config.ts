// The agent.json that providers give to agents: what git declares for this cluster in a ConfigMap. If the ConfigMap is deleted, unusable or edited by
// hand, no node changes, and an event reports it. Until the caches are complete, nothing is known and nothing changes.
import {
  AGENT_CONFIG_MAP,
  AGENT_CONFIG_NAME,
  agentConfigText,
  isAgentConfigMap,
} from '#api/agent-config/agent-config-map.ts'
import { gitLimitProblems, HOST_CONFIG_NAME } from '#api/agent-config/git-limits.ts'
import { type Inventory, inventory } from '#api/kinds/inventory.ts'
import { type CommittedContent, contentOf } from '#api/protocol/committed.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { Informers, SharedInformer } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'

const configMapType = coreKind('ConfigMap')

export type AgentConfigVerdict =
  | { readonly kind: 'Give'; readonly text: string }
  /** Agents keep their current configuration. */
  | {
      readonly kind: 'Keep'
      readonly reason: 'AgentConfigUnusable' | 'AgentConfigRefused' | 'UncommittedChange'
      readonly note: string
    }

/** `committed` undefined: no Inventory records what git declares, so the object may be foreign. Pure. */
function judgeAgentConfig(object: KubeObject, committed: readonly CommittedContent[] | undefined): AgentConfigVerdict {
  const found = contentOf(object)
  if (committed === undefined)
    return {
      kind: 'Keep',
      reason: 'UncommittedChange',
      note: 'agents keep their configuration: no Inventory records it as declared in git; commit it',
    }
  if (!committed.some((c) => c.digest === found?.digest))
    return {
      kind: 'Keep',
      reason: 'UncommittedChange',
      note: 'agents keep their configuration: this edit does not come from git; commit it instead',
    }
  const text = agentConfigText(object)
  if (text.kind === 'Unusable') {
    const note = `agents keep their configuration: ${text.why}`
    return { kind: 'Keep', reason: 'AgentConfigUnusable', note }
  }
  const [refused] = gitLimitProblems(text.text)
  if (refused === undefined) return { kind: 'Give', text: text.text }
  const note = `agents keep their configuration: ${refused}; put this into ${HOST_CONFIG_NAME} on the hosts`
  return { kind: 'Keep', reason: 'AgentConfigRefused', note }
}

/** What git declares for the ConfigMap, from any source; undefined when no Inventory lists it, or one lists it without its content. Pure. */
function committedConfig(inventories: readonly Inventory[]): readonly CommittedContent[] | undefined {
  const refs = inventories.flatMap(({ spec }) =>
    spec.refs.filter(({ group, kind, namespace, name }) =>
      isAgentConfigMap({ apiVersion: group === '' ? 'v1' : group, kind, metadata: { namespace, name } }),
    ),
  )
  return refs.length === 0 || refs.some((r) => r.committed === undefined)
    ? undefined
    : refs.flatMap((r) => r.committed ?? [])
}

/** An Inventory arrives shortly after the object that it lists; an edit that is resolved by then is not reported. */
const REPORT_AFTER_MS = 5_000

export interface DeclaredAgentConfigDeps {
  readonly informers: Informers
  readonly clock: Pick<Clock, 'monotonic'>
  readonly events: EventRecorder
  readonly log: Pick<Logger, 'warn' | 'info'>
}

interface Trouble {
  readonly object: KubeObject
  readonly reason: string
  readonly note: string
  readonly since: number
}

export class DeclaredAgentConfig {
  readonly #configs: SharedInformer
  readonly #inventories: SharedInformer<Inventory>
  readonly #deps: DeclaredAgentConfigDeps
  /** The last text for agents. */
  #text: string | undefined
  #lastSeen: KubeObject | undefined
  #verdict: AgentConfigVerdict | undefined
  #trouble: Trouble | undefined
  #isReported = false

  constructor(deps: DeclaredAgentConfigDeps) {
    this.#deps = deps
    this.#configs = deps.informers.of(configMapType, {
      selection: { namespace: AGENT_CONFIG_MAP.namespace, fieldSelector: `metadata.name=${AGENT_CONFIG_NAME}` },
    })
    this.#inventories = deps.informers.of(inventory)
    const changed = () => void (this.#verdict = undefined)
    this.#configs.onChange(changed)
    this.#inventories.onChange(changed)
  }

  /**
   * Undefined: nothing was declared yet, or nothing is known. Costs nothing while nothing changes, because it is called for each node, many times a
   * minute.
   */
  text(): string | undefined {
    if (!this.#configs.isSynced || !this.#inventories.isSynced) return this.#text
    const object = this.#configs.get(AGENT_CONFIG_MAP)
    if (object === undefined) this.#deleted()
    else this.#found(object)
    this.#report()
    return this.#text
  }

  #deleted(): void {
    const object = this.#lastSeen
    if (object === undefined) return
    this.#inTrouble(object, 'AgentConfigDeleted', NOTE_DELETED)
  }

  #found(object: KubeObject): void {
    if (this.#verdict !== undefined && this.#lastSeen === object) return
    this.#lastSeen = object
    this.#verdict = judgeAgentConfig(object, committedConfig(this.#inventories.list()))
    if (this.#verdict.kind === 'Keep') return this.#inTrouble(object, this.#verdict.reason, this.#verdict.note)
    this.#trouble = undefined
    if (this.#text === this.#verdict.text) return
    this.#text = this.#verdict.text
    this.#deps.log.info('agents are given a new configuration', {
      commit: object.metadata.annotations?.[ANNOTATIONS.commit] ?? '',
    })
  }

  #inTrouble(object: KubeObject, reason: string, note: string): void {
    if (this.#trouble?.reason === reason && this.#trouble.note === note) return
    this.#trouble = { object, reason, note, since: this.#deps.clock.monotonic() }
    this.#isReported = false
  }

  #report(): void {
    const trouble = this.#trouble
    if (trouble === undefined || this.#isReported) return
    if (this.#deps.clock.monotonic() - trouble.since < REPORT_AFTER_MS) return
    this.#isReported = true
    const { object, reason, note } = trouble
    this.#deps.log.warn('agents keep their configuration', { reason, note })
    this.#deps.events.record(object, { type: 'Warning', reason, action: 'Configure', note })
  }
}

const NOTE_DELETED =
  'it was deleted: agents keep the configuration they have; to return to the defaults, declare an empty one ({})'
