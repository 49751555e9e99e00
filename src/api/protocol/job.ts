// A repair job and its steps. Nothing starts without a permit that is Granted right now and a fault that still exists. Each step is recorded before it runs, so
// that a crash never repeats it unnoticed.
import { PHASES } from '../phases.ts'
import type { FieldManager } from './managers.ts'
import { defineTable, nextIn, nextState, type EventOf, type FactsOf, type StateOf } from './table.ts'

export const jobTable = defineTable({
  name: 'job',
  field: 'RemedyOperationJob.status.phase',
  writer: 'kubenode-remedyjob',
  states: PHASES.Job,
  initial: 'Pending',
  terminal: ['Done'],
  preconditions: {
    faultPresent: 'the rule is still true for the node',
    sameNode: 'the node still has the UID in the job',
    mayAct: 'the job is not a dry run, and no hold pauses it',
    permitGrantedNow: 'the permit was just read and is Granted for the node',
    stepsSucceeded: 'every step has the outcome Succeeded or Skipped',
    noStepStarted: 'no started step lacks an outcome',
    outcomeKnown: 'the outcome is decided',
  },
  rows: [
    { from: 'Pending', event: 'ask', to: 'AwaitingPermit', when: ['faultPresent', 'sameNode', 'mayAct'] },
    { from: 'AwaitingPermit', event: 'start', to: 'Running', when: ['permitGrantedNow', 'faultPresent', 'sameNode'] },
    { from: 'Running', event: 'verify', to: 'Verifying', when: ['stepsSucceeded'] },
  ],
  fromOpen: [{ event: 'finish', to: 'Done', when: ['outcomeKnown', 'noStepStarted'] }],
})

export type JobPhase = StateOf<typeof jobTable>
export type JobEvent = EventOf<typeof jobTable>
export type JobFacts = FactsOf<typeof jobTable>

export const nextJobPhase = nextIn(jobTable)

/** The rows of every step, with the agent as the writer; `nextStepState` handles the writers of others. */
export const stepTable = defineTable({
  name: 'step',
  field: 'RemedyOperationJob.status.steps[].outcome',
  writer: 'kubenode-agent',
  states: PHASES.Step,
  initial: 'Waiting',
  terminal: ['Succeeded', 'Failed', 'Skipped'],
  preconditions: {
    turn: 'every earlier step ended successfully',
    permitGrantedNow: 'the permit was just read and is Granted for the node',
    recorded: 'the attempt is recorded in the status, acknowledged by the API server',
    unneeded: 'the result of the step already exists',
    doneWell: 'it was observed to have succeeded',
    doneBadly: 'it was observed to have failed, or its timeout is over',
    executorRestarted: 'the executor restarted since then and does not know the result of the attempt',
    safeToRepeat: 'repeating it is safe, and attempts are left',
  },
  rows: [
    { from: 'Waiting', event: 'skip', to: 'Skipped', when: ['turn', 'unneeded'] },
    { from: 'Waiting', event: 'begin', to: 'Started', when: ['turn', 'permitGrantedNow', 'recorded'] },
    { from: 'Started', event: 'succeed', to: 'Succeeded', when: ['doneWell'] },
    { from: 'Started', event: 'fail', to: 'Failed', when: ['doneBadly'] },
    { from: 'Started', event: 'lose', to: 'Unknown', when: ['executorRestarted'] },
    { from: 'Unknown', event: 'succeed', to: 'Succeeded', when: ['doneWell'] },
    { from: 'Unknown', event: 'fail', to: 'Failed', when: ['doneBadly'] },
    { from: 'Unknown', event: 'begin', to: 'Started', when: ['safeToRepeat', 'permitGrantedNow', 'recorded'] },
  ],
})

export type StepState = StateOf<typeof stepTable>
type StepEvent = EventOf<typeof stepTable>
export type StepFacts = FactsOf<typeof stepTable>

export type StepExecutor = 'Agent' | 'Controller' | 'Provider'

/** The job controller starts and records what a provider does. */
const stepWriter = (executor: StepExecutor) => (executor === 'Agent' ? 'kubenode-agent' : 'kubenode-remedyjob')

export interface StepAttempt {
  readonly state: StepState
  readonly event: StepEvent
  readonly facts: StepFacts
  readonly executor: StepExecutor
  readonly by: FieldManager
}

export const nextStepState = ({ executor, ...attempt }: StepAttempt) =>
  nextState({ ...stepTable, writer: stepWriter(executor) }, attempt)
