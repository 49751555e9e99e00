// The programs that lead on a Lease: their names, the kinds they handle, and what stops while they do not run. Pure.
import { timestamp } from '#lib/clock.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Finding } from './finding.ts'

export const PROGRAMS = ['sync', 'controllers', 'defender', 'approver', 'cluster'] as const
export type Program = (typeof PROGRAMS)[number]

const OF_MACHINES: readonly Program[] = ['controllers', 'defender']

/** The programs that handle each kind. */
const NEEDED: Readonly<Record<string, readonly Program[]>> = {
  ComponentCanary: OF_MACHINES,
  Machine: OF_MACHINES,
  MachineComponentSet: OF_MACHINES,
  MachineSet: OF_MACHINES,
  Node: OF_MACHINES,
  NodeRemedier: OF_MACHINES,
  RemedyOperationJob: OF_MACHINES,
  DefenderPolicy: ['defender'],
  OperationPermit: ['defender'],
  Cluster: ['sync'],
  FleetSource: ['sync'],
  Release: ['sync'],
  ReleasePipeline: ['sync'],
}

export const programsOf = (kinds: readonly string[]): readonly Program[] => [
  ...new Set(kinds.flatMap((kind) => NEEDED[kind] ?? [])),
]

interface Title {
  readonly name: string
  readonly isPlural?: boolean
  readonly effect: string
}

const TITLES: Readonly<Record<Program, Title>> = {
  sync: { name: 'sync', effect: 'no commit is read, and no release continues' },
  controllers: {
    name: 'the controllers',
    isPlural: true,
    effect: 'nothing continues, and statuses may be out of date',
  },
  defender: { name: 'the Defender', effect: 'no permit is granted, so disruptions do not begin' },
  approver: { name: 'the approver', effect: 'no machine joins, and no agent renews its certificate' },
  cluster: { name: 'the cluster program', effect: 'no control plane is created, changed or deleted' },
}

export const effectOf = (program: Program): string => TITLES[program].effect

/** `the Defender has`, `the controllers have`. */
export const programWith = (program: Program, verbs: readonly [one: string, many: string]): string =>
  `${TITLES[program].name} ${verbs[TITLES[program].isPlural === true ? 1 : 0]}`

export interface StoppedProgram {
  readonly program: Program
  /** Undefined: it never ran here. */
  readonly since: number | undefined
}

/** Time for a program to start and to take its lease, on a slow machine. */
const STARTS_WITHIN_MS = 30_000

/** It stopped with the whole fleet, which has just been started again. */
export const isStarting = ({ since }: StoppedProgram, fleetSince: number, now: number): boolean =>
  (since === undefined || since < fleetSince) && now - fleetSince < STARTS_WITHIN_MS

const HAVE = ['has', 'have'] as const

export const stoppedText = ({ program, since }: StoppedProgram, now: number): string =>
  since === undefined
    ? `Stopped: ${programWith(program, HAVE)} never run here; ${effectOf(program)}`
    : `Stopped for ${formatDuration(now - since)}: ${programWith(program, HAVE)} not renewed the lease since ${timestamp(since)}; ${effectOf(program)}`

export const stoppedFinding = (stopped: StoppedProgram, now: number): Finding => ({
  text: stoppedText(stopped, now),
  cause: `program/${stopped.program}`,
  urgency: 'Stopped',
  command: { line: 'kubenode check', does: 'see more' },
})
