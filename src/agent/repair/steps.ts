// Does one step. A closed list with typed arguments: nothing that comes from an object ever reaches a shell.
import { assertNever, messageOf } from '#lib/errors.ts'
import type { OperationName } from '#api/kinds/operations.ts'
import type { AskResult } from '../components/worker.ts'
import type { JobOperation } from './plan.ts'
import { operationName } from './plan.ts'

export interface StepResult {
  readonly outcome: 'Succeeded' | 'Failed' | 'Skipped'
  readonly output: string
}

export interface StepPorts {
  readonly ask: (component: string, kind: 'Restart' | 'Reinstall') => Promise<AskResult>
  readonly cleanDisk: (arguments_: NonNullable<JobOperation['cleanDisk']>) => Promise<StepResult>
  readonly collectEvidence: (
    arguments_: NonNullable<JobOperation['collectEvidence']>,
    job: string,
  ) => Promise<StepResult>
  /** Asks for the reboot; the result is seen by the next boot. */
  readonly reboot: (job: string) => Promise<void>
}

const failed = (output: string): StepResult => ({ outcome: 'Failed', output })

/** Undefined: it ends with another boot. */
export async function doStep(ports: StepPorts, operation: JobOperation, job: string): Promise<StepResult | undefined> {
  try {
    return await run(ports, operation, job)
  } catch (e) {
    return failed(messageOf(e))
  }
}

async function run(ports: StepPorts, operation: JobOperation, job: string): Promise<StepResult | undefined> {
  const name: OperationName | undefined = operationName(operation)
  const { restartComponent, reinstallComponent, cleanDisk, collectEvidence } = operation
  switch (name) {
    case 'restartComponent':
      return restartComponent === undefined ? undefined : asked(await ports.ask(restartComponent.component, 'Restart'))
    case 'reinstallComponent':
      return reinstallComponent === undefined
        ? undefined
        : asked(await ports.ask(reinstallComponent.component, 'Reinstall'))
    case 'cleanDisk':
      return cleanDisk === undefined ? undefined : ports.cleanDisk(cleanDisk)
    case 'collectEvidence':
      return collectEvidence === undefined ? undefined : ports.collectEvidence(collectEvidence, job)
    case 'reboot':
      await ports.reboot(job)
      return undefined
    case 'runScript':
      return failed('this agent does not run scripts yet')
    case 'cordon':
    case 'drain':
    case 'fence':
    case 'replace':
    case 'uncordon':
    case 'webhook':
    case undefined:
      return failed(`${name ?? 'an unknown operation'} is not done by agents`)
    default:
      return assertNever(name)
  }
}

const asked = (result: AskResult): StepResult =>
  result.kind === 'Done' ? { outcome: 'Succeeded', output: '' } : failed(result.message)
