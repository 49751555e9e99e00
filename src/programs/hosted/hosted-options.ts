// The options of role hosted.
import { hostname } from 'node:os'
import { HOSTED_PROGRAMS, type HostedProgram } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { defined } from '#lib/defined.ts'
import type { Environment } from '#kube/in-cluster.ts'
import { runErrors } from '../run/run-errors.ts'
import { sharedOptions } from './entries.ts'

export interface HostedOptions {
  readonly hostPrograms?: boolean
  readonly programsInClusters?: string
  readonly hosted?: string
  readonly hostedPerProcess?: string
  readonly hostedHeap?: string
  readonly hostedLogs?: string
  readonly logLevel: string
}

export interface HostedConfig {
  readonly program: HostedProgram
  /** Name of this replica: unique, and a valid name of an object. */
  readonly replica: string
  readonly perProcess: number
  readonly heapMb: number
  readonly shared: readonly string[]
  readonly logLevel: string
  /** The file of this program. */
  readonly entry: string
  readonly env: Readonly<Record<string, string>>
  readonly logs?: string
}

/** A process has some 50 MiB before its first Cluster, and each small one adds some two; see docs/operations/cluster-programs.md. */
const PER_PROCESS = 10
const HEAP_MB = 384
const MOST_PER_PROCESS = 100
const LEAST_HEAP_MB = 64
const MOST_HEAP_MB = 65_536
const MOST_NAME = 200
/** The limits of a child are its own, and it ends with the list on its input. */
const OWN_VARIABLES: ReadonlySet<string> = new Set(['NODE_OPTIONS', 'KUBENODE_UNTIL_STDIN_ENDS'])

export function hostedConfigOf(options: HostedOptions, env: Environment): HostedConfig {
  const program = HOSTED_PROGRAMS.find((p) => p === options.hosted)
  if (program === undefined) throw new KubeNodeError(runErrors.KN1002_hosted({ programs: HOSTED_PROGRAMS.join(', ') }))
  const number = (option: string, text: string | undefined, otherwise: number, least: number, most: number): number => {
    const value = text === undefined ? otherwise : Number(text)
    if (Number.isInteger(value) && value >= least && value <= most) return value
    throw new KubeNodeError(runErrors.KN1002_hostedNumber({ option, text: JSON.stringify(text), least, most }))
  }
  return {
    program,
    replica: replicaName(hostname(), process.pid, Date.now()),
    perProcess: number('--hosted-per-process', options.hostedPerProcess, PER_PROCESS, 1, MOST_PER_PROCESS),
    heapMb: number('--hosted-heap', options.hostedHeap, HEAP_MB, LEAST_HEAP_MB, MOST_HEAP_MB),
    shared: sharedOptions(program, options),
    logLevel: options.logLevel,
    entry: process.argv[1] ?? '',
    env: Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) =>
        value === undefined || OWN_VARIABLES.has(name) ? [] : [[name, value]],
      ),
    ),
    ...defined({ logs: options.hostedLogs }),
  }
}

/** A pod that is restarted is another replica: its Lease must not look alive. */
const replicaName = (host: string, pid: number, now: number): string =>
  `r-${host
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .slice(0, MOST_NAME)}-${pid}-${now.toString(36)}`
