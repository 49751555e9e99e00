// The attacker has the key of one KubeNode program and sends users events in the name of another.
import { expect } from 'vitest'
import { PROGRAM_REPORTERS } from '#api/names.ts'
import {
  accountOfProgram,
  type Attempt,
  type AttackWorld,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'

const PROGRAMS = ['sync', 'controllers', 'approver', 'defender'] as const
type ProgramName = (typeof PROGRAMS)[number]

const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
const CORE_EVENTS = '/api/v1/namespaces/default/events'
const event = (name: string, reportingController: string, more: object = {}) => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController,
  reportingInstance: 'host-1',
  action: 'Grant',
  reason: 'PermitGranted',
  type: 'Normal',
  note: 'all is well',
  regarding: { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name: 'm-a' },
  ...more,
})
const coreEvent = (name: string, more: object) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  reason: 'PermitGranted',
  message: 'all is well',
  type: 'Normal',
  involvedObject: { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name: 'm-a' },
  ...more,
})
const seriesOf = (count: number) => ({ series: { count, lastObservedTime: '2026-01-01T00:00:01.000000Z' } })

const reports =
  (as: (world: AttackWorld) => Who, body: object, path = EVENTS) =>
  (world: AttackWorld) =>
    world.ask(as(world), 'POST', `${path}?dryRun=All`, { body })

/** Made by the administrator, as if its program had made it. */
const repeats = (as: (world: AttackWorld) => Who, name: string, reporter: string) => async (world: AttackWorld) => {
  await world.admin.raw({ method: 'POST', path: EVENTS, body: event(name, reporter) })
  return world.ask(as(world), 'PATCH', `${EVENTS}/${name}?dryRun=All`, { body: seriesOf(2) })
}

const OWN = /writes events only as/
const firstOf = (program: ProgramName): string => PROGRAM_REPORTERS[program][0]

/** A user, or a foreign program, whose roles allow it to write events anywhere. */
const BYSTANDER: Who = { user: 'bystander', groups: ['system:authenticated'] }
const SOURCE: Who = { user: 'kubenode:source:shop:shop', groups: ['system:authenticated'] }
async function mayWriteEvents({ admin, ask }: AttackWorld): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const metadata = { name: 'writes-events' }
  const rules = [{ apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['*'] }]
  const path = `/apis/${apiVersion}`
  await admin.raw({
    method: 'POST',
    path: `${path}/clusterroles`,
    body: { apiVersion, kind: 'ClusterRole', metadata, rules },
  })
  const names = [BYSTANDER, SOURCE, ...PROGRAMS.map((name) => ({ user: `kubenode:${name}` }))].map(({ user }) => user)
  const subjects = names.map((name) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }))
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name }
  await admin.raw({
    method: 'POST',
    path: `${path}/clusterrolebindings`,
    body: { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
  })
  // A real server learns of a role by a watch.
  const body = event('theirs', 'shop.example/deployer')
  await expect.poll(async () => (await ask(BYSTANDER, 'POST', `${EVENTS}?dryRun=All`, { body })).status).toBe(201)
}
const given =
  (attempt: Attempt['attempt']): Attempt['attempt'] =>
  async (world) => {
    await mayWriteEvents(world)
    return attempt(world)
  }

const ATTEMPTS: readonly Attempt[] = [
  ...PROGRAMS.flatMap((thief) =>
    PROGRAMS.filter((other) => other !== thief).map((other): Attempt => ({
      name: `S33 the key of ${thief} reports an event of ${other}`,
      attempt: reports(({ who }) => who[thief], event('forged', firstOf(other))),
      control: reports(({ who }) => who[other], event('own', firstOf(other))),
      refused: OWN,
    })),
  ),
  {
    name: 'S33 the account of controllers reports an event of the Defender',
    attempt: reports(() => accountOfProgram('controllers'), event('forged', firstOf('defender'))),
    control: reports(() => accountOfProgram('defender'), event('own', firstOf('defender'))),
    refused: OWN,
  },
  ...['kubenode.io/agent', 'agent.kubenode.io/kernel', 'kubelet', 'kubenode.io/unknown'].map((reporter): Attempt => ({
    name: `S33 the key of controllers reports an event as ${reporter}`,
    attempt: reports(({ who }) => who.controllers, event('forged', reporter)),
    refused: OWN,
  })),
  ...PROGRAM_REPORTERS.controllers.map((reporter): Attempt => ({
    name: `S33 the key of sync reports an event as ${reporter}`,
    attempt: reports(({ who }) => who.sync, event('forged', reporter)),
    control: reports(({ who }) => who.controllers, event('own', reporter)),
    refused: OWN,
  })),
  {
    name: 'S33 the key of sync names another program as the source of before',
    attempt: reports(
      ({ who }) => who.sync,
      event('forged', firstOf('sync'), { deprecatedSource: { component: firstOf('defender') } }),
    ),
    refused: /^4(03|22) /,
  },
  {
    name: 'S33 the key of controllers repeats an event of the Defender',
    attempt: repeats(({ who }) => who.controllers, 'of-the-defender', firstOf('defender')),
    control: repeats(({ who }) => who.defender, 'of-the-defender', firstOf('defender')),
    refused: OWN,
  },
  {
    name: 'S33 the key of controllers repeats an event of others',
    attempt: repeats(({ who }) => who.controllers, 'of-a-kubelet', 'kubelet'),
    control: repeats(({ who }) => who.controllers, 'of-a-controller', firstOf('controllers')),
    refused: OWN,
  },
  ...[
    { reportingComponent: firstOf('defender') },
    { source: { component: firstOf('defender') } },
    { reportingComponent: firstOf('sync'), source: { component: firstOf('defender') } },
  ].map((more): Attempt => ({
    name: `S33 the key of sync, which also may write events of before, reports ${JSON.stringify(more)}`,
    attempt: given(reports(({ who }) => who.sync, coreEvent('forged', more), CORE_EVENTS)),
    control: given(
      reports(() => BYSTANDER, coreEvent('theirs', { source: { component: 'their-controller' } }), CORE_EVENTS),
    ),
    refused: /writes events only/,
  })),
  {
    name: 'S33 the user of a source reports an event of the Defender',
    attempt: given(reports(() => SOURCE, event('forged', firstOf('defender')))),
    control: given(reports(() => SOURCE, event('theirs', 'shop.example/deployer'))),
    refused: OWN,
  },
]

tryOnServers("a program's key, in events", ATTEMPTS)
