// The conditions of a node without an agent: those of its components, and those that the detectors of a round found, combined, held and written as an agent
// does it.
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { componentConditionType } from '#api/node-conditions.ts'
import { CLEAR_AFTER_MS } from '#api/agent-config/agent-config.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Channel } from '#ssh/channel.ts'
import type { AllComponents } from '../../components/all-components.ts'
import { foreignConditions } from '../../detect/detection.ts'
import { ProblemBoard } from '../../detect/problem-board.ts'
import type { Files } from '../../files/port.ts'
import type { NodeDir } from '../../node-dir.ts'
import type { HostFacts } from '../../node/facts.ts'
import type { NodeObject } from '../../node/node-object.ts'
import { isSameStatus, nodeStatus } from '../../node/node-status.ts'
import { nodeType } from '../../node/types.ts'
import { problemsOf } from '../../parts/detection.ts'
import type { Processes } from '../../supervise/port.ts'
import { CONDITIONS_OVER_SSH, HostDetectors } from './host-detectors.ts'

/** What the rounds of one host remember. */
export interface ConditionsPast {
  detectors?: HostDetectors
  /** The text of the board on the disk of the host. */
  saved?: string
  written?: { readonly object: KubeObject; readonly at: number }
}

interface HostConditionsDeps {
  readonly channel: Pick<Channel, 'ask'>
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly client: KubeClient
  readonly node: string
  readonly nodeObject: NodeObject
  readonly facts: HostFacts
  readonly version: string
  readonly upMs: () => number
  readonly components: AllComponents
  readonly processes: Processes
  readonly past: ConditionsPast
}

/** As the agent repeats it. */
const REPEAT_MS = 300_000

export class HostConditions {
  readonly #deps: HostConditionsDeps
  readonly #board: ProblemBoard
  readonly #detectors: HostDetectors
  #isStarted = false

  constructor(deps: HostConditionsDeps) {
    this.#deps = deps
    const { files, dir, clock, log, facts, past, components, processes } = deps
    if (past.detectors?.bootId !== facts.bootId) past.detectors = new HostDetectors(facts.bootId, clock)
    this.#detectors = past.detectors
    this.#board = new ProblemBoard({
      files,
      dir,
      clock,
      log,
      bootId: facts.bootId,
      sources: [],
      clearAfterMs: CLEAR_AFTER_MS,
      // Longer ago than that in any case: a round is a minute.
      unwatchedMs: CLEAR_AFTER_MS,
      ...defined({ saved: past.saved }),
      components: () => problemsOf(components, processes),
      onChange: () => undefined,
    })
  }

  /** Once all components have a verdict: what is not known yet is not reported as healthy. */
  async look(): Promise<void> {
    const { channel, upMs } = this.#deps
    await this.#start()
    const found = this.#board.open('detectors', { owns: (type) => CONDITIONS_OVER_SSH.has(type) })
    for (const { type, ...finding } of await this.#detectors.look({
      channel,
      upMs,
      problem: (type) => found.problem(type),
    }))
      // A condition that was never true is no news.
      if (finding.status !== 'False' || found.problem(type) !== undefined)
        found.find(type, { ...finding, isKept: true })
  }

  async #start(): Promise<void> {
    if (this.#isStarted) return
    this.#isStarted = true
    const { client, node, clock } = this.#deps
    this.#board.leave('Unknown')
    await this.#board.start()
    const found = await client.get(nodeType, { name: node })
    if (found !== undefined) this.#board.leave(foreignConditions(found, FIELD_MANAGERS.agent, clock.now()))
  }

  /** Writes what changed, and everything now and then. */
  async report(): Promise<void> {
    if (!this.#isStarted) return
    const { clock, node: name, facts, version, past, nodeObject, log } = this.#deps
    this.#board.read()
    const now = clock.now()
    const observed = { name, facts, address: undefined, version, problems: this.#board.problems, readySince: now }
    const object = nodeStatus(observed, now, { ready: false })
    if (past.written === undefined && this.#board.problems.length === 0) return
    if (past.written !== undefined && now - past.written.at < REPEAT_MS && isSameStatus(past.written.object, object))
      return
    try {
      if ((await nodeObject.uid()) === undefined) return
      await nodeObject.applyStatus(object)
      past.written = { object, at: now }
    } catch (e) {
      log.warn('cannot write the conditions of the node', { node: name, error: messageOf(e) })
    }
  }

  /** A component is well again, and its condition is about to end. */
  get isSettling(): boolean {
    const { components, processes } = this.#deps
    return [...problemsOf(components, processes)].some(
      ([component, problem]) =>
        problem === undefined && this.#board.problem(componentConditionType(component))?.isTrue === true,
    )
  }

  async end(): Promise<void> {
    if (this.#isStarted) this.#deps.past.saved = await this.#board.end()
  }
}
