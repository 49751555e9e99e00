// The two-phase switch of one component on one machine: the agent stages on its own, but switches only on an order, under a permit that it reads right before.
// The machine controller writes the order, the agent the state.
import { PHASES } from '../phases.ts'
import { defineTable, nextIn, rowsFrom, type EventOf, type FactsOf, type StateOf } from './table.ts'

export const switchTable = defineTable({
  name: 'switch',
  field: 'Machine.status.components[].state',
  writer: 'kubenode-agent',
  states: PHASES.Component,
  initial: 'Fetching',
  terminal: [],
  preconditions: {
    verified: 'digest, signature and trust document were verified, and the files are rendered',
    desiredChanged: 'version, configuration or attempt differ from the last attempt',
    notTriedInAttempt: 'this digest and configuration have not failed before in this attempt',
    orderForAttempt: 'the order to switch names the attempt that is staged',
    permitGrantedNow:
      'the permit in the order was just read: it is Granted for this machine and has no result for it yet',
    neverInstalled: 'no version of the component was ever in use on this machine',
    nodePendingTaint: 'the node still has the taint for pending components',
    versionRuns: 'the new version has started',
    probesHeld: 'every probe passed for its whole settle window',
    probesPass: 'every probe passes',
    probeFails: 'a probe reached its limit of failures',
    previousRuns: 'the previous version was restored and runs',
    sameVersion: 'the switch was to another copy of the version in use',
    hostFailed: 'the disk of the host failed, or a killed program does not end there: no evidence against the version',
    sameAsInUse: 'the staged content is identical to the content in use',
    reinstallPermitted: 'a repair requests it, and its permit was just read and is Granted for this machine',
    nothingRuns: 'neither the new nor the previous version can run',
  },
  rows: [
    { from: 'Fetching', event: 'stage', to: 'Staged', when: ['verified'] },
    { from: 'Staged', event: 'switch', to: 'Switching', when: ['orderForAttempt', 'permitGrantedNow'] },
    { from: 'Staged', event: 'firstInstall', to: 'Switching', when: ['neverInstalled', 'nodePendingTaint'] },
    { from: 'Staged', event: 'useInPlace', to: 'Healthy', when: ['sameAsInUse'] },
    ...rowsFrom(['Healthy', 'Degraded', 'RolledBack', 'Failed'], {
      event: 'reinstall',
      to: 'Switching',
      when: ['reinstallPermitted', 'sameVersion'],
    }),
    { from: 'Switching', event: 'started', to: 'Probing', when: ['versionRuns'] },
    { from: 'Probing', event: 'commit', to: 'Healthy', when: ['probesHeld'] },
    { from: 'Healthy', event: 'degrade', to: 'Degraded', when: ['probeFails'] },
    { from: 'Degraded', event: 'recover', to: 'Healthy', when: ['probesPass'] },
    ...rowsFrom(['Switching', 'Probing'], { event: 'rollBack', to: 'RolledBack', when: ['previousRuns'] }),
    { from: 'Staged', event: 'rollBack', to: 'RolledBack', when: ['orderForAttempt', 'previousRuns', 'hostFailed'] },
    ...rowsFrom(['Switching', 'Probing'], {
      event: 'postpone',
      to: 'Staged',
      when: ['previousRuns', 'hostFailed'],
    }),
    ...rowsFrom(['Switching', 'Probing'], {
      event: 'putBack',
      to: 'Degraded',
      when: ['previousRuns', 'sameVersion'],
    }),
    ...rowsFrom(['Switching', 'Probing'], { event: 'break', to: 'Failed', when: ['nothingRuns'] }),
    ...rowsFrom(['Fetching', 'Staged', 'Healthy', 'Degraded', 'RolledBack', 'Failed'], {
      event: 'retarget',
      to: 'Fetching',
      when: ['desiredChanged', 'notTriedInAttempt'],
    }),
  ],
})

export type ComponentState = StateOf<typeof switchTable>
export type SwitchEvent = EventOf<typeof switchTable>
export type SwitchFacts = FactsOf<typeof switchTable>

export const nextComponentState = nextIn(switchTable)

/** States in which the component is between two versions. */
export const isSwitching = (state: ComponentState): boolean => state === 'Switching' || state === 'Probing'

/** So long an agent may keep a start to itself while its order stands; a short switch is then reported by its result alone. */
export const START_UNREPORTED_MS = 3_000
/** So long after the end of a permit has an agent reported what it started under it: it reads the permit before each start. The rest is for the write. */
export const START_REPORTED_WITHIN_MS = START_UNREPORTED_MS + 2_000

export const orderTable = defineTable({
  name: 'order',
  field: 'Machine.spec.components[].switch',
  writer: 'kubenode-machine',
  states: PHASES.Order,
  initial: 'Absent',
  terminal: [],
  preconditions: {
    staged: 'the agent reports Staged for the attempt',
    permitGrantedNow:
      'the permit of the slice was just read: it is Granted for this machine and has no result for it yet',
    notLetGo: 'the order is written over the exact version of the Machine in which the permit has not let it go',
    drained: 'the pods that have to move have left the node, or none has to move',
    ended:
      'the agent reports the result of the attempt: Healthy, Degraded, RolledBack or Failed; the next write of the spec removes the order',
    permitEnded: 'the permit is no longer Granted, and an agent that started under it has reported so',
  },
  rows: [
    { from: 'Absent', event: 'order', to: 'Present', when: ['staged', 'permitGrantedNow', 'notLetGo', 'drained'] },
    { from: 'Present', event: 'clear', to: 'Absent', when: ['ended'] },
    { from: 'Present', event: 'withdraw', to: 'Absent', when: ['permitEnded'] },
  ],
})

export type OrderState = StateOf<typeof orderTable>
export type OrderFacts = FactsOf<typeof orderTable>

export const nextOrderState = nextIn(orderTable)
