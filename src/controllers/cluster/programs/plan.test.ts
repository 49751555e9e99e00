// Kubeconfigs of the programs of a Cluster on the hub: each is made, kept valid, and deleted with its Cluster, and the status says what is missing.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS, HOSTED_PROGRAMS } from '#api/names.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { plan } from '../plan.ts'
import type { KubeconfigSeen, ProgramsSeen, Seen } from '../seen.ts'
import { statusOf } from '../status.ts'

const NOW = Date.UTC(2030, 0, 1)
const { endpoint, ca } = runningPlane('fleet.one')
const valid = (owner: string | undefined = 'u-1', until = NOW + 86_400_000): KubeconfigSeen => ({
  owner,
  endpoint,
  ca,
  authorities: [],
  signedBy: undefined,
  from: NOW - 1,
  until,
})
const ofAll = (kubeconfig: KubeconfigSeen): ProgramsSeen['kubeconfigs'] =>
  Object.fromEntries(HOSTED_PROGRAMS.map((program) => [program, kubeconfig]))
const LED: ProgramsSeen['leaders'] = { kind: 'Read', without: [] }

function seenOf(programs: ProgramsSeen | undefined, spec: Partial<Cluster['spec']> = {}, more: object = {}): Seen {
  return {
    ...QUIET,
    addons: 'v',
    cluster: {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Cluster',
      metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', finalizers: [FINALIZERS.cluster], ...more },
      spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Orphan', ...spec },
      status: { phase: 'Ready', addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }] },
    } as unknown as Cluster,
    plane: { ...runningPlane('fleet.one'), owner: 'u-1' },
    host: {
      name: 'embedded',
      capabilities: { isHighlyAvailable: false, keepsCredentials: false, minors: ['1.36'], most: 9 },
    },
    kubeconfig: valid(),
    programs,
  }
}
const actionsOf = (seen: Seen): readonly string[] =>
  plan(seen, NOW).actions.flatMap((a) => ('program' in a ? [`${a.kind} ${a.program}`] : []))
const conditionsOf = (seen: Seen) =>
  (statusOf(seen, plan(seen, NOW), [], NOW).conditions ?? []).map(
    ({ type, status, reason }) => `${type} ${status} ${reason}`,
  )

describe('kubeconfigs', () => {
  test('are made for each program that has none, and kept while they are valid', () => {
    const all = HOSTED_PROGRAMS.map((p) => `WriteProgramKubeconfig ${p}`)
    expect(actionsOf(seenOf({ kubeconfigs: {}, leaders: LED }))).toEqual(all)
    expect(actionsOf(seenOf({ kubeconfigs: ofAll(valid()), leaders: LED }))).toEqual([])
    const one = { ...ofAll(valid()), defender: valid('u-1', NOW) }
    expect(actionsOf(seenOf({ kubeconfigs: one, leaders: LED }))).toEqual(['WriteProgramKubeconfig defender'])
  })

  test('of a person are left alone', () => {
    const person = { ...valid(), owner: undefined }
    expect(actionsOf(seenOf({ kubeconfigs: ofAll(person), leaders: LED }))).toEqual([])
  })

  test('are deleted when the Cluster wants none, or is deleted; those of another Cluster stay', () => {
    const programs = { kubeconfigs: { ...ofAll(valid()), approver: valid('u-0') }, leaders: undefined }
    const deleted = ['DeleteProgramKubeconfig controllers', 'DeleteProgramKubeconfig defender']
    expect(actionsOf(seenOf(programs, { programs: 'None' }))).toEqual(deleted)
    expect(actionsOf(seenOf(programs, {}, { deletionTimestamp: '2030-01-01T00:00:00Z' }))).toEqual(deleted)
  })

  test('are nothing of a hub that runs no programs', () => {
    expect(actionsOf(seenOf(undefined))).toEqual([])
  })
})

describe('the status', () => {
  test.each<[string, Seen, readonly string[]]>([
    [
      'all lead',
      seenOf({ kubeconfigs: ofAll(valid()), leaders: LED }),
      ['Ready True ClusterAnswers', 'ProgramsReady True ProgramsLead'],
    ],
    [
      'one does not',
      seenOf({ kubeconfigs: ofAll(valid()), leaders: { kind: 'Read', without: ['approver'] } }),
      ['Ready False ProgramsMissing', 'ProgramsReady False ProgramsMissing'],
    ],
    [
      'one has a kubeconfig of a person and does not',
      seenOf({
        kubeconfigs: ofAll({ ...valid(), owner: undefined }),
        leaders: { kind: 'Read', without: ['approver'] },
      }),
      ['Ready False SecretTaken', 'ProgramsReady False SecretTaken'],
    ],
    [
      // What cannot be read is unknown, and the control plane serves.
      'the cluster does not answer',
      seenOf({ kubeconfigs: ofAll(valid()), leaders: { kind: 'Unread', why: 'timeout' } }),
      ['Ready True ClusterAnswers', 'ProgramsReady Unknown ApiServerDown'],
    ],
    [
      'none are wanted',
      seenOf({ kubeconfigs: {}, leaders: undefined }, { programs: 'None' }),
      ['Ready True ClusterAnswers'],
    ],
    ['the hub runs none', seenOf(undefined), ['Ready True ClusterAnswers']],
    [
      'the hub runs none, and they are declared',
      seenOf(undefined, { programs: 'Hub' }),
      ['Ready False ProgramsNotServed', 'ProgramsReady False ProgramsNotServed'],
    ],
  ])('%s', (_, seen, wanted) => expect(conditionsOf(seen)).toEqual(wanted))

  test('a missing program is looked for again within seconds', () => {
    const seen = seenOf({ kubeconfigs: ofAll(valid()), leaders: { kind: 'Read', without: ['approver'] } })
    expect(plan(seen, NOW).requeueAfter).toBeLessThanOrEqual(5_000)
    expect(statusOf(seen, plan(seen, NOW), [], NOW).waitingFor?.predicate).toBe('ProgramsMissing')
  })
})
