// Does what node-problem-detector's health checker does, and also finds stopped processes. Restarts a service whose process is stopped or dead, within
// limits. A service that runs but is unhealthy is left to a permitted repair.
import type { Clock } from '#lib/clock.ts'
import { Steps } from '#api/agent-config/log-pattern.ts'
import { compileRegex } from '#lib/regex.ts'
import { programOutput } from '../../program-output.ts'
import type { HealthOptions } from './health-options.ts'
import type { PluginResult } from './judge.ts'
import { askCri, askDocker, askHttp, type Answer } from './runtime-call.ts'
import { ENVIRONMENT, outputOf, serviceState, TIMEOUT_MS, type ServiceState } from './service-state.ts'

export interface HealthPorts {
  readonly clock: Clock
  readonly ask: (options: HealthOptions) => Promise<Answer>
  readonly state: (service: string) => Promise<ServiceState | undefined>
  /** Undefined: the journal cannot be read. */
  readonly countLines: (service: string, pattern: string, sinceMs: number) => Promise<number | undefined>
  /** Kills the stopped process and starts the unit again. */
  readonly restart: (service: string, state: ServiceState) => Promise<void>
  /** On a frozen node, a stopped process stays stopped. */
  readonly isNodeFrozen: () => Promise<boolean>
}

/** If it takes more restarts per hour, restarting is not the fix. */
const RESTARTS_PER_HOUR = 3
const HOUR_MS = 3_600_000
/** Reads only the newest lines; older lines of a chattier service are not counted. */
const MAX_JOURNAL_BYTES = 2 ** 20
/** Caps the cost of matching a pattern of 60 plain characters against the longest journal; later lines are not counted. */
const MAX_JOURNAL_STEPS = 64 * MAX_JOURNAL_BYTES
const UNREADABLE = Symbol('unreadable')
/** Services answer within milliseconds. After this time, the check asks systemd about the process. */
const SLOW_MS = 1_000
const STOPPED = 'the process is stopped'

const KUBELET = { host: '127.0.0.1', port: 10_248, path: '/healthz' }
/** Not /healthz: it fails on purpose while a node is being drained. */
const KUBE_PROXY = { host: '127.0.0.1', port: 10_256, path: '/livez' }

function askComponent({ component, socket, timeoutMs }: HealthOptions): Promise<Answer> {
  if (component === 'kubelet') return askHttp(KUBELET, timeoutMs)
  if (component === 'kube-proxy') return askHttp(KUBE_PROXY, timeoutMs)
  return component === 'docker' ? askDocker(socket, timeoutMs) : askCri(socket, timeoutMs)
}

export const realHealthPorts = (clock: Clock, isNodeFrozen = async (): Promise<boolean> => false): HealthPorts => ({
  clock,
  ask: askComponent,
  state: serviceState,
  countLines: async (service, pattern, sinceMs) => {
    const args = [
      '--quiet',
      '--no-pager',
      '--output=cat',
      `--unit=${service}`,
      `--since=@${Math.floor(sinceMs / 1_000)}`,
    ]
    const { code, stdout } = await programOutput({
      program: 'journalctl',
      args,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_JOURNAL_BYTES,
      environment: ENVIRONMENT,
    })
    // journalctl exits with 1 when there are no entries.
    if (code !== 0 && code !== 1) return undefined
    const { text } = stdout
    const regex = compileRegex(`(?i)${pattern}`)
    const steps = new Steps(MAX_JOURNAL_STEPS)
    return text.split('\n').filter((l) => steps.spend(regex, l) && regex.test(l)).length
  },
  restart: async (service, state) => {
    // A stopped process never handles TERM.
    if (state.isFrozen) await outputOf('systemctl', ['kill', '--signal=SIGKILL', '--', service])
    await outputOf('systemctl', ['reset-failed', '--', service])
    await outputOf('systemctl', ['start', '--no-block', '--', service])
  },
  isNodeFrozen,
})

export class HealthCheck {
  readonly #options: HealthOptions
  readonly #ports: HealthPorts
  #restarts: readonly number[] = []

  constructor(options: HealthOptions, ports: HealthPorts) {
    this.#options = options
    this.#ports = ports
  }

  async run(): Promise<PluginResult> {
    const { component, service, mayRepair } = this.#options
    const inLog = (await this.#answer()) ?? (await this.#logProblem())
    if (inLog === UNREADABLE)
      return { status: 'Unknown', message: `cannot read the journal of ${service}`, isNotStarted: true }
    const why = inLog
    if (why === undefined) return { status: 'Ok', message: '' }
    const state = await this.#ports.state(service)
    const how = state?.isFrozen === true ? STOPPED : state?.isActive === false ? state.state : why
    if (mayRepair && state !== undefined) await this.#restart(state)
    return { status: 'NonOk', message: `${component}:${service} was found unhealthy: ${how}` }
  }

  /** A stopped process never answers: waiting for the whole timeout, which is long for runtimes under load, gains nothing. */
  async #answer(): Promise<Answer> {
    const { clock, ask, state } = this.#ports
    const asked = ask(this.#options)
    let timer: { cancel(): void } | undefined
    const slow = new Promise<'Slow'>((resolve) => (timer = clock.after(SLOW_MS, () => resolve('Slow'))))
    const first = await Promise.race([asked, slow])
    timer?.cancel()
    if (first !== 'Slow') return first
    const seen = await state(this.#options.service)
    return seen?.isFrozen === true ? STOPPED : asked
  }

  async #restart(state: ServiceState): Promise<void> {
    const { service, cooldownMs } = this.#options
    const { clock, restart, isNodeFrozen } = this.#ports
    // "inactive" means that a user stopped it.
    const isDead = state.state.startsWith('failed')
    if (!state.isFrozen && !isDead) return
    if (state.isFrozen && (await isNodeFrozen())) return
    const now = clock.monotonic()
    this.#restarts = this.#restarts.filter((at) => now - at < HOUR_MS)
    const isYoung = state.isFrozen && state.upMs !== undefined && state.upMs <= cooldownMs
    const last = this.#restarts.at(-1)
    if (isYoung || this.#restarts.length >= RESTARTS_PER_HOUR || (last !== undefined && now - last <= cooldownMs))
      return
    this.#restarts = [...this.#restarts, now]
    await restart(service, state)
  }

  async #logProblem(): Promise<string | typeof UNREADABLE | undefined> {
    const { logPatterns, service, loopbackMs } = this.#options
    if (logPatterns.length === 0) return undefined
    const { clock, state, countLines } = this.#ports
    const upMs = (await state(service))?.upMs ?? 0
    const backMs = loopbackMs > 0 ? Math.min(loopbackMs, upMs) : upMs
    for (const { count, pattern } of logPatterns) {
      const found = await countLines(service, pattern, clock.now() - backMs)
      if (found === undefined) return UNREADABLE
      if (found >= count) return `${found} lines of its log match ${pattern}`
    }
    return undefined
  }
}
