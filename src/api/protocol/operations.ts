// Properties of each repair operation and each permitted disruption. Invariant: every operation has all of them; one added to the schema does not compile until
// they are given.
import type { RISKS } from '../kinds/defender-policy.ts'
import { OPERATIONS, type OperationName } from '../kinds/operations.ts'
import type { Disruption } from '../kinds/operation-permit.ts'
import type { RemedyOperationJob } from '../kinds/remedy-operation-job.ts'

export type Operation = RemedyOperationJob['spec']['operations'][number]
export type Risk = (typeof RISKS)[number]

interface OperationFacts {
  /** The part that carries it out. */
  readonly executor: 'Agent' | 'Controller'
  /** Whether its provider can do it if the machine's agent is silent. */
  readonly byProviderIfSilent: boolean
  /** What the Defender must permit. Empty: it disrupts nothing. */
  readonly disruptions: readonly Disruption[]
  /** Whether it may run again if the last attempt's result is unknown. */
  readonly isSafeToRepeat: boolean
  /** What it does to the fault's evidence. */
  readonly evidence: 'Keeps' | 'Leaves' | 'Destroys'
  /** Whether it acts on the host, not just the node: Machine and rule are read again before each step. */
  readonly needsHost: boolean
  /** Whether it removes the node, so that nothing can follow. */
  readonly takesNode: boolean
  /** Whether it undoes the job's changes to the node: also runs during a hold and after the permit ended. */
  readonly givesBack: boolean
}

const LEAVES_NODE = { byProviderIfSilent: false, needsHost: false, takesNode: false, givesBack: false } as const

export const OPERATION_FACTS = {
  collectEvidence: { ...LEAVES_NODE, executor: 'Agent', disruptions: [], isSafeToRepeat: true, evidence: 'Keeps' },
  restartComponent: {
    ...LEAVES_NODE,
    executor: 'Agent',
    disruptions: ['RestartComponent'],
    isSafeToRepeat: false,
    evidence: 'Leaves',
  },
  reinstallComponent: {
    ...LEAVES_NODE,
    executor: 'Agent',
    disruptions: ['ReinstallComponent'],
    isSafeToRepeat: false,
    evidence: 'Leaves',
  },
  cleanDisk: {
    ...LEAVES_NODE,
    executor: 'Agent',
    disruptions: ['CleanDisk'],
    isSafeToRepeat: true,
    evidence: 'Leaves',
  },
  runScript: {
    ...LEAVES_NODE,
    executor: 'Agent',
    disruptions: ['RunScript'],
    isSafeToRepeat: false,
    evidence: 'Leaves',
  },
  // One pod for each attempt, found by its name.
  runPod: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: ['RunScript'],
    isSafeToRepeat: true,
    evidence: 'Leaves',
  },
  cordon: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: ['Cordon'],
    isSafeToRepeat: true,
    evidence: 'Leaves',
  },
  // A cordon of one device.
  isolateDevice: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: ['Cordon'],
    isSafeToRepeat: true,
    evidence: 'Leaves',
  },
  drain: { ...LEAVES_NODE, executor: 'Controller', disruptions: ['Drain'], isSafeToRepeat: true, evidence: 'Leaves' },
  rescue: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: ['RestartAgent'],
    isSafeToRepeat: true,
    evidence: 'Leaves',
    needsHost: true,
  },
  rescueReboot: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: ['Reboot'],
    // The order names the boot that it ends: the host refuses it after that.
    isSafeToRepeat: true,
    evidence: 'Destroys',
    needsHost: true,
  },
  reboot: {
    executor: 'Agent',
    byProviderIfSilent: true,
    disruptions: ['Reboot'],
    isSafeToRepeat: false,
    evidence: 'Destroys',
    needsHost: true,
    takesNode: false,
    givesBack: false,
  },
  fence: {
    executor: 'Controller',
    byProviderIfSilent: false,
    disruptions: ['Fence'],
    isSafeToRepeat: true,
    evidence: 'Destroys',
    needsHost: true,
    takesNode: false,
    givesBack: false,
  },
  replace: {
    executor: 'Controller',
    byProviderIfSilent: false,
    // The machine controller takes the machine out of service under the same permit.
    disruptions: ['Replace', 'ScaleIn'],
    isSafeToRepeat: true,
    evidence: 'Destroys',
    needsHost: true,
    takesNode: true,
    givesBack: false,
  },
  uncordon: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: [],
    isSafeToRepeat: true,
    evidence: 'Leaves',
    givesBack: true,
  },
  webhook: { ...LEAVES_NODE, executor: 'Controller', disruptions: [], isSafeToRepeat: false, evidence: 'Leaves' },
  reportFault: {
    ...LEAVES_NODE,
    executor: 'Controller',
    disruptions: [],
    isSafeToRepeat: false,
    evidence: 'Leaves',
    needsHost: true,
  },
} as const satisfies Readonly<Record<OperationName, OperationFacts>>

type OfExecutor<E extends OperationFacts['executor']> = {
  readonly [N in OperationName]: (typeof OPERATION_FACTS)[N]['executor'] extends E ? N : never
}[OperationName]

/** Agent operations. The step executor handles each of them, or does not compile. */
export type AgentOperation = OfExecutor<'Agent'>
/** Operations of the job controller, directly or through a provider. */
export type CentralOperation =
  | OfExecutor<'Controller'>
  | {
      readonly [N in OperationName]: (typeof OPERATION_FACTS)[N]['byProviderIfSilent'] extends true ? N : never
    }[OperationName]

export const factsOf = (name: OperationName): OperationFacts => OPERATION_FACTS[name]

export const isOfAgent = (name: OperationName): name is AgentOperation => factsOf(name).executor === 'Agent'

export const isCentral = (name: OperationName): name is CentralOperation =>
  factsOf(name).executor === 'Controller' || factsOf(name).byProviderIfSilent

/** Undefined for an operation of a later version. */
export const operationName = (operation: Operation): OperationName | undefined =>
  OPERATIONS.find((name) => operation[name] !== undefined)

/** With the rescue key of the host: without one, it does nothing. */
export const isRescue = ({ rescue, rescueReboot }: Operation): boolean => (rescue ?? rescueReboot) !== undefined

/** The arguments of an operation found by name. */
export function argumentsOf<N extends OperationName>(operation: Operation, name: N): NonNullable<Operation[N]> {
  const found = operation[name]
  if (found === undefined) throw new TypeError(`an operation without ${name} was taken for one`)
  return found
}

/** What accepts a node, in messages. */
export const acceptanceText = ({ runScript, runPod }: Operation): string =>
  runPod === undefined ? `script ${runScript?.component ?? ''} ${runScript?.version ?? ''}` : `pod ${runPod.template}`

/** Its properties; undefined as above. */
export function operationFacts(operation: Operation): OperationFacts | undefined {
  const name = operationName(operation)
  return name === undefined ? undefined : factsOf(name)
}

interface DisruptionFacts {
  /** How much harm it can do. */
  readonly risk: Risk
  /** Whether it acts on a machine without its agent. */
  readonly isFromOutside: boolean
  /** Whether its permit ends with the target deleted. */
  readonly deletesTarget: boolean
  /**
   * Whether the target may stop serving while it runs: then it needs room in unavailability budgets and health floors. A switch to a version with `disruption:
   * None` has no such permit: it passes them all.
   */
  readonly takesAvailability: boolean
}

const facts = (
  risk: Risk,
  isFromOutside: boolean,
  deletesTarget: boolean,
  takesAvailability: 'Serves' | 'MayStop',
): DisruptionFacts => ({
  risk,
  isFromOutside,
  deletesTarget,
  takesAvailability: takesAvailability === 'MayStop',
})

const DISRUPTION_FACTS: Readonly<Record<Disruption, DisruptionFacts>> = {
  NoDisruption: facts('Low', false, false, 'Serves'),
  SwitchComponent: facts('Medium', false, false, 'MayStop'),
  RestartComponent: facts('Low', false, false, 'MayStop'),
  // Components run in units of their own.
  RestartAgent: facts('Low', true, false, 'Serves'),
  ReinstallComponent: facts('Medium', false, false, 'MayStop'),
  RunScript: facts('Medium', false, false, 'MayStop'),
  CleanDisk: facts('Low', false, false, 'Serves'),
  Cordon: facts('Low', true, false, 'MayStop'),
  Drain: facts('Medium', true, false, 'MayStop'),
  Reboot: facts('Medium', true, false, 'MayStop'),
  Fence: facts('High', true, false, 'MayStop'),
  Replace: facts('High', true, true, 'MayStop'),
  ScaleIn: facts('High', true, true, 'MayStop'),
  ChangeControlPlane: facts('High', false, false, 'MayStop'),
  DeleteControlPlane: facts('High', false, false, 'MayStop'),
  MassPrune: facts('High', false, true, 'MayStop'),
}

/** A disruption of a later version, or an invalid name: treated as the most harmful, without a bypass of the agent or the deletion guard. */
const UNKNOWN_DISRUPTION = facts('High', false, false, 'MayStop')

export const disruptionFacts = (name: string): DisruptionFacts =>
  (Object.hasOwn(DISRUPTION_FACTS, name) ? DISRUPTION_FACTS[name as Disruption] : undefined) ?? UNKNOWN_DISRUPTION

/** Whether a permit for these operations needs room in unavailability budgets and health floors. */
export const takesAvailability = (operations: readonly string[]): boolean =>
  operations.some((name) => disruptionFacts(name).takesAvailability)
