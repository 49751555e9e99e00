// Keeps the systemd unit that starts the agent: without it the host would have no agent after its next boot, and nothing would report that before. Restores
// it like a file of a component. A program that removes it again and again wins, and so does a user who masks it.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { AGENT_UNIT, UNIT_PATH, WANTED_BY } from '../leave/leave-host.ts'
import { agentUnitFile, onNode, type NodeDir } from '../node-dir.ts'
import type { Systemctl } from '../supervise/systemd/systemctl.ts'
import type { Finding } from './inspect.ts'
import { failedHeal, planDrift, type HealFailure } from './plan.ts'

export interface AgentUnitDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly systemctl: Pick<Systemctl, 'run'>
  readonly onHealed: (what: string) => void
  readonly onLeft: (what: string) => void
}

/** As it was when the agent last saw it. */
interface KnownUnit {
  readonly text: string
  readonly isEnabled: boolean
}

const EVERY_MS = 60_000
const KEY = 'unit'
/** Any other unit of this name belongs to another program, or removes an agent that has left. */
const RUNS_AGENT = /^ExecStart=.*\/supervisor\.mjs\s/m
const MASKED = '/dev/null'

export class AgentUnitWatch {
  readonly #deps: AgentUnitDeps
  #inspectedAt = Number.NEGATIVE_INFINITY
  readonly #heals = new Map<string, readonly number[]>()
  readonly #left = new Set<string>()
  readonly #failures = new Map<string, HealFailure>()

  constructor(deps: AgentUnitDeps) {
    this.#deps = deps
  }

  /** Never throws: components are inspected in the same round. */
  async inspect(): Promise<void> {
    const now = this.#deps.clock.monotonic()
    if (now - this.#inspectedAt < EVERY_MS) return
    this.#inspectedAt = now
    try {
      await this.#inspect(now)
    } catch (error) {
      this.#deps.log.warn('cannot check the unit of the agent', { unit: AGENT_UNIT, error })
    }
  }

  async #inspect(now: number): Promise<void> {
    const { files, dir, log, onLeft } = this.#deps
    const known = await readState(files, agentUnitFile(dir), parseKnown)
    const path = onNode(dir, UNIT_PATH)
    const text = (await files.read(path))?.toString('utf8')
    const isEnabled = (await files.readLink(onNode(dir, WANTED_BY))) !== undefined
    const isMasked = (await files.readLink(path)) === MASKED
    if (text !== undefined && !isMasked) await this.#remember(known, { text, isEnabled })
    const finding = known === undefined ? undefined : findingOf(known, { text, isEnabled, isMasked })
    if (known === undefined || finding === undefined) return
    const past = { heals: this.#heals, left: this.#left, failures: this.#failures }
    const plan = planDrift([finding], past, now)
    const isLeft = isMasked ? !this.#left.has(KEY) : plan.giveUp.length > 0
    if (isLeft) {
      this.#left.add(KEY)
      log.warn('the unit of the agent is no longer put back', { unit: AGENT_UNIT, what: finding.what })
      onLeft(finding.what)
    } else if (plan.heal.length > 0) await this.#heal(known, finding, text === undefined, now)
  }

  async #remember(known: KnownUnit | undefined, { text, isEnabled }: KnownUnit): Promise<void> {
    if (!RUNS_AGENT.test(text)) return
    const next = { text, isEnabled: isEnabled || known?.isEnabled === true }
    if (next.text === known?.text && next.isEnabled === known.isEnabled) return
    await writeDurably(this.#deps.files, agentUnitFile(this.#deps.dir), JSON.stringify(next))
  }

  async #heal(known: KnownUnit, { what }: Finding, isMissing: boolean, now: number): Promise<void> {
    const { files, dir, log, systemctl, onHealed } = this.#deps
    try {
      if (isMissing) await writeDurably(files, onNode(dir, UNIT_PATH), known.text, 0o644)
      await systemctl.run('daemon-reload')
      if (known.isEnabled) await systemctl.run('enable', '--', AGENT_UNIT)
      this.#failures.delete(KEY)
      this.#heals.set(KEY, [...(this.#heals.get(KEY) ?? []), now].slice(-10))
      log.warn('the unit of the agent was put back', { unit: AGENT_UNIT, what })
      onHealed(what)
    } catch (error) {
      log.warn('cannot put the unit of the agent back', { unit: AGENT_UNIT, what, error })
      this.#failures.set(KEY, failedHeal(this.#failures.get(KEY), what, messageOf(error), now))
    }
  }
}

interface SeenUnit {
  readonly text: string | undefined
  readonly isEnabled: boolean
  readonly isMasked: boolean
}

function findingOf(known: KnownUnit, { text, isEnabled, isMasked }: SeenUnit): Finding | undefined {
  const found = (what: string): Finding => ({ kind: 'Unit', key: KEY, what: `unit ${AGENT_UNIT} ${what}` })
  if (isMasked) return found('is masked: the agent does not start at the next boot')
  if (text === undefined) return found('is missing')
  return known.isEnabled && !isEnabled && RUNS_AGENT.test(text) ? found('is disabled') : undefined
}

const parseKnown = (value: unknown): KnownUnit | undefined =>
  isObject(value) && typeof value['text'] === 'string' && typeof value['isEnabled'] === 'boolean'
    ? (value as unknown as KnownUnit)
    : undefined
