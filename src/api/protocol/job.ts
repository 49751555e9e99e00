// A repair job and its steps. Nothing is begun without a permit that is Granted right now and a fault that is still there; each step is
// written down before it is done, so that a crash never does it a second time unseen.
import { PHASES } from '../catalogue.ts'
import type { FieldManager } from './managers.ts'
import { defineTable, nextState, rowsFrom, type Facts } from './table.ts'

export const jobTable = defineTable({
  name: 'job',
  field: 'RemedyOperationJob.status.phase',
  writer: 'kubenode-remedyjob',
  states: PHASES.Job,
  initial: 'Pending',
  terminal: ['Done'],
  preconditions: {
    faultPresent: 'the rule is still true for the node',
    sameNode: 'the node still has the UID that the job names',
    mayAct: 'the job is no dry run and no hold pauses it',
    permitGrantedNow: 'the permit was read right now and is Granted for the node',
    stepsSucceeded: 'every step has the outcome Succeeded or Skipped',
    noStepStarted: 'no step is started without an outcome',
    outcomeKnown: 'one outcome was decided',
  },
  rows: [
    { from: 'Pending', event: 'ask', to: 'AwaitingPermit', when: ['faultPresent', 'sameNode', 'mayAct'] },
    { from: 'AwaitingPermit', event: 'start', to: 'Running', when: ['permitGrantedNow', 'faultPresent', 'sameNode'] },
    { from: 'Running', event: 'verify', to: 'Verifying', when: ['stepsSucceeded'] },
    ...rowsFrom(['Pending', 'AwaitingPermit', 'Running', 'Verifying'], {
      event: 'finish',
      to: 'Done',
      when: ['outcomeKnown', 'noStepStarted'],
    }),
  ],
})

export type JobPhase = keyof typeof jobTable.states
export type JobEvent = (typeof jobTable.rows)[number]['event']
export type JobFacts = Facts<keyof typeof jobTable.preconditions>

export const nextJobPhase = (state: JobPhase, event: JobEvent, facts: JobFacts) =>
  nextState(jobTable, { state, event, facts, by: 'kubenode-remedyjob' })

/** The rows of every step, written here for those of the agent; `nextStepState` knows who writes the others. */
export const stepTable = defineTable({
  name: 'step',
  field: 'RemedyOperationJob.status.steps[].outcome',
  writer: 'kubenode-agent',
  states: PHASES.Step,
  initial: 'Waiting',
  terminal: ['Succeeded', 'Failed', 'Skipped'],
  preconditions: {
    turn: 'every step before has ended well',
    permitGrantedNow: 'the permit was read right now and is Granted for the node',
    recorded: 'the attempt is on the status, acknowledged by the API server',
    unneeded: 'what the step would bring about is already so',
    doneWell: 'it was seen to have done its work',
    doneBadly: 'it was seen to have failed, or its time is over',
    executorRestarted: 'the executor restarted since, and does not know how the attempt ended',
    safeToRepeat: 'doing it again does no harm, and attempts are left',
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

export type StepState = keyof typeof stepTable.states
export type StepEvent = (typeof stepTable.rows)[number]['event']
export type StepFacts = Facts<keyof typeof stepTable.preconditions>

export type StepExecutor = 'Agent' | 'Controller' | 'Provider'

/** What a provider does is started and written down by the job controller. */
export const stepWriter = (executor: StepExecutor) => (executor === 'Agent' ? 'kubenode-agent' : 'kubenode-remedyjob')

export interface StepAttempt {
  readonly state: StepState
  readonly event: StepEvent
  readonly facts: StepFacts
  readonly executor: StepExecutor
  readonly by: FieldManager
}

export const nextStepState = ({ executor, ...attempt }: StepAttempt) =>
  nextState({ ...stepTable, writer: stepWriter(executor) }, attempt)
