// Pure: the options of one invocation of node-problem-detector's health checker.
import { durationMs } from '#lib/duration.ts'
import { logPatternProblem } from '#api/agent-config/log-pattern.ts'
import { parseFlags } from './flags.ts'

const HEALTH_COMPONENTS = ['kubelet', 'kube-proxy', 'docker', 'cri'] as const
export type HealthComponent = (typeof HEALTH_COMPONENTS)[number]

export interface HealthOptions {
  readonly component: HealthComponent
  readonly service: string
  readonly mayRepair: boolean
  readonly timeoutMs: number
  /** Minimum run time between two restarts. */
  readonly cooldownMs: number
  readonly socket: string
  /** This many matching lines in the service's journal mean that it is unhealthy. */
  readonly logPatterns: readonly { readonly count: number; readonly pattern: string }[]
  /** The period in which lines are counted; 0: since the start. */
  readonly loopbackMs: number
}

const DEFAULT_TIMEOUT_MS = 10_000
const DEFAULT_COOLDOWN_MS = 120_000
const CONTAINERD = 'unix:///var/run/containerd/containerd.sock'
const DOCKER = 'unix:///var/run/docker.sock'

/** Returns the options, or the problems with them. */
export function healthOptions(args: readonly string[]): HealthOptions | string {
  const flags = parseFlags(args)
  const of = (name: string): string | undefined => flags.get(name)?.at(-1)
  const named = of('component') ?? 'kubelet'
  const component = HEALTH_COMPONENTS.find((c) => c === named)
  if (component === undefined) return `cannot check ${named}; known components: ${HEALTH_COMPONENTS.join(', ')}`
  const ms = (name: string, otherwise: number): number => durationMs(of(name) ?? '') ?? otherwise
  const service = of('service') ?? of('systemd-service') ?? (component === 'cri' ? 'containerd' : component)
  if (!/^[A-Za-z0-9@_.:-]+$/.test(service)) return `${service} is no name of a service`
  const logPatterns = (flags.get('log-pattern') ?? []).flatMap((v) => v.split(',')).flatMap(patternOf)
  const problem = logPatterns.map(({ pattern }) => logPatternProblem(pattern)).find((p) => p !== undefined)
  if (problem !== undefined) return problem
  const socket = of('cri-socket-path') ?? (component === 'docker' ? DOCKER : CONTAINERD)
  return {
    component,
    service,
    mayRepair: of('enable-repair') !== 'false',
    timeoutMs: ms('health-check-timeout', DEFAULT_TIMEOUT_MS),
    cooldownMs: ms('cooldown-time', DEFAULT_COOLDOWN_MS),
    socket: socket.replace(/^unix:\/\//, ''),
    loopbackMs: ms('loopback-time', 0),
    logPatterns,
  }
}

function patternOf(text: string): HealthOptions['logPatterns'] {
  const at = text.indexOf(':')
  const [count, pattern] = [Number(text.slice(0, at)), text.slice(at + 1)]
  return at > 0 && Number.isSafeInteger(count) && count > 0 && pattern !== '' ? [{ count, pattern }] : []
}
