// Runs one step. A closed list with typed arguments: no text from an object ever reaches a shell.
import type { Clock } from '#lib/clock.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import { argumentsOf, isOfAgent, operationName } from '#api/protocol/operations.ts'
import type { PlacedDevice } from '../placed-devices.ts'
import type { AskResult } from '../components/asks.ts'
import type { JobOperation } from './plan.ts'

export interface StepResult {
  readonly outcome: 'Succeeded' | 'Failed' | 'Skipped'
  readonly output: string
  /** Which pods hold which devices, as far as it was collected. */
  readonly devices?: readonly PlacedDevice[]
}

export interface StepPorts {
  readonly ask: (component: string, kind: 'Restart' | 'Reinstall') => Promise<AskResult>
  readonly cleanDisk: (arguments_: NonNullable<JobOperation['cleanDisk']>, signal: AbortSignal) => Promise<StepResult>
  readonly runScript: (arguments_: NonNullable<JobOperation['runScript']>, signal: AbortSignal) => Promise<StepResult>
  readonly collectEvidence: (
    arguments_: NonNullable<JobOperation['collectEvidence']>,
    job: string,
    signal: AbortSignal,
  ) => Promise<StepResult>
  /** Requests the reboot; the next boot observes the result. */
  readonly reboot: (job: string) => Promise<void>
}

const failed = (output: string): StepResult => ({ outcome: 'Failed', output })

/** Undefined: the step ends with the next boot. When the signal aborts, the step has failed, even if parts of it still hang. */
export async function doStep(
  ports: StepPorts,
  operation: JobOperation,
  job: string,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
): Promise<StepResult | undefined> {
  try {
    return await Promise.race([run(ports, operation, job, signal), aborted(signal, clock)])
  } catch (e) {
    return failed(messageOf(e))
  }
}

const aborted = (signal: AbortSignal, clock: Clock): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => {
      // A step that can stop immediately reports its own end within this time.
      clock.after(LAST_OUTPUT_MS, () => reject(signal.reason))
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })

const LAST_OUTPUT_MS = 1_000

async function run(
  ports: StepPorts,
  operation: JobOperation,
  job: string,
  signal: AbortSignal,
): Promise<StepResult | undefined> {
  const name = operationName(operation)
  if (name === undefined || !isOfAgent(name))
    return failed(`${name ?? 'an unknown operation'} is not an operation of the agent`)
  switch (name) {
    case 'restartComponent':
      return asked(await ports.ask(argumentsOf(operation, name).component, 'Restart'))
    case 'reinstallComponent':
      return asked(await ports.ask(argumentsOf(operation, name).component, 'Reinstall'))
    case 'cleanDisk':
      return ports.cleanDisk(argumentsOf(operation, name), signal)
    case 'collectEvidence':
      return ports.collectEvidence(argumentsOf(operation, name), job, signal)
    case 'runScript':
      return ports.runScript(argumentsOf(operation, name), signal)
    case 'reboot':
      await ports.reboot(job)
      return undefined
    default:
      return assertNever(name)
  }
}

const asked = (result: AskResult): StepResult =>
  result.kind === 'Done' ? { outcome: 'Succeeded', output: '' } : failed(result.message)
