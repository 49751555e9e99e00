// Finds problems of the node outside its components: monitors, built-in detectors, their events and counters, and reports of other writers.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { COMPONENT_UNHEALTHY, componentConditionType } from '#api/node-conditions.ts'
import type { OperationName } from '#api/kinds/operations.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Files } from '../files/port.ts'
import type { NodeDir } from '../node-dir.ts'
import { nodeType } from '../node/types.ts'
import { Detectors } from './builtin/detectors.ts'
import type { ComponentProblem } from './component-problems.ts'
import type { DetectConfig } from '#api/agent-config/detect-config.ts'
import type { AgentEvents } from '../agent-events.ts'
import { NodeEvents } from './node-events.ts'
import { changeEvent } from './npd/judge.ts'
import { Monitors } from './npd/monitors.ts'
import { ProblemMetrics } from './npd/problem-metrics.ts'
import type { ProblemBoard } from './problem-board.ts'
import type { Problem } from './problems.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

export interface DetectionDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly bootId: string
  /** Environment of the check programs. */
  readonly environment: Readonly<Record<string, string>>
  readonly client: KubeClient
  /** Address of the API server. */
  readonly server: string
  readonly agentEvents: AgentEvents
  readonly node: string
  readonly nodeUid: () => string | undefined
  readonly config: DetectConfig
  readonly board: ProblemBoard
  readonly components: () => ReadonlyMap<string, ComponentProblem | undefined>
  /** Of the Machine. Empty: it has none. Undefined: not known yet. */
  readonly machineClass: () => string | undefined
}

/** One small read; a writer that appears or disappears is noticed within this time. */
const OBSERVE_NODE_MS = 120_000
const RETRY_MS = 2_000
const CALL_MS = 10_000

/** node-problem-detector sends a heartbeat every five minutes; it may miss three. */
const FRESH_MS = 15 * 60_000

/** Conditions of the Node that another writer, such as node-problem-detector, keeps fresh. The agent does not touch them. */
export function foreignConditions(node: KubeObject, ownManager: string, now: number): ReadonlySet<string> {
  const status = isObject(node['status']) ? node['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
  const fresh = conditions.filter((c) => now - Date.parse(String(c['lastHeartbeatTime'])) < FRESH_MS)
  const others = ownedByOthers(node, ownManager)
  return new Set(fresh.map((c) => String(c['type'])).filter((type) => others.has(type)))
}

/** Condition types whose heartbeat another manager owns. */
function ownedByOthers(node: KubeObject, ownManager: string): ReadonlySet<string> {
  const entries = Array.isArray(node.metadata['managedFields']) ? node.metadata['managedFields'] : []
  const types = new Set<string>()
  for (const entry of entries as readonly unknown[]) {
    if (!isObject(entry) || entry['manager'] === ownManager) continue
    const conditions = child(child(entry['fieldsV1'], 'f:status'), 'f:conditions')
    for (const [key, fields] of Object.entries(conditions ?? {})) {
      const type = /^k:\{"type":"([^"]+)"\}$/.exec(key)?.[1]
      if (type !== undefined && child(fields, 'f:lastHeartbeatTime') !== undefined) types.add(type)
    }
  }
  return types
}

function child(v: unknown, name: string): Readonly<Record<string, unknown>> | undefined {
  const inner = isObject(v) ? v[name] : undefined
  return isObject(inner) ? inner : undefined
}

export class Detection {
  readonly #deps: DetectionDeps
  readonly metrics = new ProblemMetrics()
  readonly events: NodeEvents
  readonly monitors: Monitors
  readonly detectors: Detectors
  #timer: { cancel(): void } | undefined
  #isClosed = false

  constructor(deps: DetectionDeps) {
    this.#deps = deps
    const { board, config, clock } = deps
    this.events = new NodeEvents(deps)
    const onEvent = (source: string, event: Parameters<NodeEvents['report']>[1]): void => {
      this.events.report(source, event)
      this.monitors.soon()
    }
    this.monitors = new Monitors({ ...deps, entries: config.monitors, metrics: this.metrics, onEvent, board })
    this.detectors = new Detectors({ ...deps, settings: config.detectors, board, clock })
  }

  /** Call after the board has loaded its saved state. */
  async start(): Promise<void> {
    // Otherwise the first write could take over another writer's condition, and it would count as the agent's from then on.
    this.#deps.board.leave('Unknown')
    await this.monitors.start()
    this.detectors.start()
    this.#deps.board.dropUnopened()
    void this.#observeNode()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.detectors.close()
    await this.monitors.close()
  }

  /** Reports changes of conditions that monitors do not report: those of components, log rules and built-in detectors. */
  turned({ type, isTrue, reason, message }: Problem, changedBy: string): void {
    // A condition of one component is reported for that component.
    if (type === COMPONENT_UNHEALTHY || this.monitors.reports(changedBy)) return
    const source = type.startsWith(componentConditionType('')) ? 'components' : 'detectors'
    this.events.report(source, changeEvent(type, { status: isTrue ? 'True' : 'False', reason, message }))
  }

  /** A repair step succeeded: ends the conditions that it is known to fix, unless they were observed again since the step began. */
  repaired(operation: OperationName, beganAt: number): void {
    this.monitors.repaired(operation, beganAt)
  }

  async #observeNode(): Promise<void> {
    const { client, node, clock, random, board } = this.#deps
    let againMs = RETRY_MS
    try {
      const found = await client.get(nodeType, { name: node }, { timeoutMs: CALL_MS })
      board.leave(found === undefined ? new Set() : foreignConditions(found, FIELD_MANAGERS.agent, clock.now()))
      againMs = OBSERVE_NODE_MS
    } catch {
      // While the server is unreachable, other clients cannot write the Node either.
    }
    if (this.#isClosed) return
    this.#timer = clock.after(random.jitter(againMs), () => void this.#observeNode())
  }
}
