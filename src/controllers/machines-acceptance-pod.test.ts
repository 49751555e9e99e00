// The acceptance of new Nodes by a pod: one pod for an attempt, on exactly this Node, and only a pod that ended undisturbed has a result.
import { machine as machineType } from '#api/kinds/machine.ts'
import { ACCEPTANCE_NAMESPACE, ANNOTATIONS, LABELS } from '#api/names.ts'
import { podTemplateType } from '#nodes/acceptance-pod.ts'
import { type Pod, nodeType, podType } from '#nodes/objects.ts'
import { noFaults } from '#test/doubles/kube/faults.ts'
import { MINUTE_MS, conditionOf, installed, isClosed, pass, recordOf } from '#test/support/worlds/acceptance-world.ts'
import { type TestWorld, beat, endWorlds, machineWorld, register } from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const TEMPLATE = { namespace: ACCEPTANCE_NAMESPACE, name: 'burn-in' }
const acceptance = { pod: { template: TEMPLATE.name }, timeout: '10m', retries: 1 }
const container = { name: 'test', image: 'registry.example.org/burn-in:1' }

const plantTemplate = (w: TestWorld, spec: object = {}, namespace: string = ACCEPTANCE_NAMESPACE) =>
  void w.fake.plant(podTemplateType, {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: { name: TEMPLATE.name, namespace },
    template: { metadata: { labels: { app: 'burn-in' } }, spec: { containers: [container], ...spec } },
  })

async function started(spec: object = {}, wanted: object = acceptance): Promise<{ w: TestWorld; name: string }> {
  const w = await machineWorld()
  plantTemplate(w, spec)
  const name = await installed(w, wanted)
  await pass(w, name, 20_000)
  return { w, name }
}

/** Without those that are being deleted: no kubelet here ends them. */
const podsOf = (w: TestWorld): readonly Pod[] =>
  (w.fake.all(podType) as readonly Pod[]).filter((p) => p.metadata.deletionTimestamp === undefined)
const onlyPod = (w: TestWorld): Pod => {
  const [pod, ...more] = podsOf(w)
  if (pod === undefined || more.length > 0) throw new Error(`there are ${more.length + 1} pods`)
  return pod
}
const vanish = (w: TestWorld, pod: Pod): Promise<unknown> =>
  w.client.delete(podType, keyOf(pod), { gracePeriodSeconds: 0 })
const keyOf = ({ metadata }: Pod) => ({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' })

async function status(w: TestWorld, name: string, change: object): Promise<void> {
  w.fake.poke(podType, keyOf(onlyPod(w)), { status: change }, 'status')
  await pass(w, name, 20_000)
}

const exited = (exitCode: number, message?: string) => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  containerStatuses: [{ name: 'test', state: { terminated: { exitCode, reason: 'Error', message } } }],
})

test('a node takes pods once the pod from the template has succeeded on it', async () => {
  const { w, name } = await started()
  const node = w.fake.peek(nodeType, { name })
  const pod = onlyPod(w)
  expect(pod.metadata).toMatchObject({
    namespace: ACCEPTANCE_NAMESPACE,
    name: `accept-${recordOf(w, name)?.run}`,
    labels: { app: 'burn-in', [LABELS.acceptanceOf]: w.machine(name)?.metadata.uid },
    annotations: { [ANNOTATIONS.acceptanceNode]: node?.metadata.uid },
    ownerReferences: [{ kind: 'Machine', name, uid: w.machine(name)?.metadata.uid }],
  })
  expect(pod.spec).toEqual({
    containers: [container],
    nodeName: name,
    tolerations: [{ operator: 'Exists' }],
    restartPolicy: 'Never',
    activeDeadlineSeconds: 600,
    automountServiceAccountToken: false,
  })
  expect(recordOf(w, name)).toMatchObject({
    phase: 'Running',
    wanted: 'pod burn-in',
    pod: { name: pod.metadata.name, uid: pod.metadata.uid },
  })
  expect(w.machine(name)?.status?.waitingFor?.seen).toContain(
    `pod burn-in (${ACCEPTANCE_NAMESPACE}/${pod.metadata.name})`,
  )
  expect(isClosed(w, name)).toBe(true)
  await status(w, name, exited(0, 'all pages good'))
  expect(recordOf(w, name)).toMatchObject({ phase: 'Passed', pod: { uid: pod.metadata.uid } })
  expect(recordOf(w, name)?.output).toContain('all pages good')
  expect([isClosed(w, name), w.machine(name)?.status?.phase, podsOf(w).length]).toEqual([false, 'Ready', 0])
})

test('a pod that exits with another code has failed, says why, and stays until the next attempt', async () => {
  const { w, name } = await started()
  const first = onlyPod(w)
  await status(w, name, exited(3, '2 bad pages'))
  expect(recordOf(w, name)).toMatchObject({
    phase: 'Waiting',
    message: 'pod burn-in failed: test: exit code 3 (Error): 2 bad pages',
  })
  expect(onlyPod(w).metadata.uid).toBe(first.metadata.uid)
  await pass(w, name, 2 * MINUTE_MS)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', attempt: 2 })
  expect(onlyPod(w).metadata.name).not.toBe(first.metadata.name)
  await status(w, name, exited(1))
  expect([recordOf(w, name)?.phase, isClosed(w, name)]).toEqual(['Failed', true])
  expect(conditionOf(w, name, 'Stalled')).toMatchObject({ status: 'True', reason: 'AcceptanceFailed' })
})

test.each([
  ['is evicted', { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' }, 'Evicted: The node'],
  ['runs too long', { phase: 'Failed', reason: 'DeadlineExceeded' }, 'DeadlineExceeded'],
  [
    'is ended by the cluster',
    { ...exited(137), conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' }] },
    'DeletionByPodGC',
  ],
])('a pod that %s has no result', async (_, change, why) => {
  const { w, name } = await started()
  await status(w, name, change)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Waiting' })
  expect(recordOf(w, name)?.message).toContain(`pod burn-in has no result: ${why}`)
  expect(isClosed(w, name)).toBe(true)
})

test('a pod that was deleted has no result, also if its program then ended with exit code 0', async () => {
  const { w, name } = await started()
  const key = keyOf(onlyPod(w))
  w.fake.uproot(podType, key)
  w.fake.poke(podType, key, { status: exited(0) }, 'status')
  await pass(w, name, 20_000)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Waiting', attempt: 1 })
  const { w: v, name: other } = await started()
  await vanish(v, onlyPod(v))
  await pass(v, other, 20_000)
  expect(recordOf(v, other)).toMatchObject({ phase: 'Waiting', attempt: 1 })
  expect([podsOf(v).length, isClosed(v, other), isClosed(w, name)]).toEqual([0, true, true])
})

test('a pod that never starts ends its attempt after the timeout, and says what it waits for', async () => {
  const { w, name } = await started({}, { ...acceptance, retries: 0 })
  const waiting = { reason: 'ImagePullBackOff', message: 'no such image' }
  await status(w, name, { phase: 'Pending', containerStatuses: [{ name: 'test', state: { waiting } }] })
  expect(w.machine(name)?.status?.waitingFor?.seen).toContain('test: ImagePullBackOff: no such image')
  await pass(w, name, 13 * MINUTE_MS)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Failed' })
  expect(recordOf(w, name)?.message).toContain('ImagePullBackOff')
  // It could start later, and test a node that serves by then.
  expect([isClosed(w, name), podsOf(w).length]).toEqual([true, 0])
})

test('nothing starts without the template, wherever else one of this name is', async () => {
  const w = await machineWorld()
  plantTemplate(w, {}, 'shop')
  const name = await installed(w, acceptance)
  await pass(w, name, MINUTE_MS)
  expect([recordOf(w, name), podsOf(w).length, isClosed(w, name)]).toEqual([undefined, 0, true])
  expect(w.machine(name)?.status?.waitingFor?.seen).toBe(
    'pod burn-in is not ordered yet: PodTemplate burn-in not found in namespace kubenode-acceptance',
  )
  plantTemplate(w)
  await pass(w, name, MINUTE_MS)
  expect(podsOf(w).length).toBe(1)
})

test('the template cannot choose another node, restart its program or run without an end', async () => {
  const { w, name } = await started({
    nodeName: 'other',
    restartPolicy: 'Always',
    schedulingGates: [{ name: 'later' }],
    activeDeadlineSeconds: 86_400,
    hostNetwork: true,
    automountServiceAccountToken: true,
  })
  expect(onlyPod(w).spec).toEqual({
    containers: [container],
    nodeName: name,
    tolerations: [{ operator: 'Exists' }],
    restartPolicy: 'Never',
    activeDeadlineSeconds: 600,
    // As the Pod Security of the namespace admits it.
    hostNetwork: true,
    automountServiceAccountToken: true,
  })
})

test('a pod that the cluster refuses is reported, and nothing else of the machine waits for it', async () => {
  const w = await machineWorld()
  plantTemplate(w)
  w.fake.faults = {
    ...noFaults,
    call: ({ type, verb }) =>
      type?.kind === 'Pod' && verb === 'create' ? { kind: 'refuse', when: 'before', code: 403 } : undefined,
  }
  const name = await installed(w, acceptance)
  await pass(w, name, MINUTE_MS)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', attempt: 1 })
  expect(recordOf(w, name)?.message).toContain('cannot create its pod: ')
  expect(isClosed(w, name)).toBe(true)
})

test('the result of a pod counts for no other Node of this name, and the next Node has a pod of its own', async () => {
  const { w, name } = await started()
  const first = onlyPod(w)
  w.fake.uproot(nodeType, { name })
  register(w, name)
  w.fake.poke(podType, keyOf(first), { status: exited(0) }, 'status')
  await pass(w, name, 20_000)
  const uid = w.fake.peek(nodeType, { name })?.metadata.uid
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', attempt: 1, node: uid })
  expect(onlyPod(w).metadata.annotations?.[ANNOTATIONS.acceptanceNode]).toBe(uid)
  expect(isClosed(w, name)).toBe(true)
})

test('a pod of this name that some other client made proves nothing', async () => {
  const { w, name } = await started()
  const { metadata, spec } = onlyPod(w)
  const key = keyOf(onlyPod(w))
  await vanish(w, onlyPod(w))
  w.fake.plant(podType, { apiVersion: 'v1', kind: 'Pod', metadata: { ...key, labels: metadata.labels ?? {} }, spec })
  w.fake.poke(podType, key, { status: exited(0) }, 'status')
  await pass(w, name, 20_000)
  expect([recordOf(w, name)?.phase, isClosed(w, name)]).toEqual(['Waiting', true])
})

test('it needs no heartbeat of the agent, and ends with an acceptance that nobody asks for any more', async () => {
  const { w, name } = await started()
  await w.clock.advance(5 * MINUTE_MS)
  w.fake.poke(podType, keyOf(onlyPod(w)), { status: exited(1) }, 'status')
  await w.clock.advance(MINUTE_MS)
  expect(recordOf(w, name)?.phase).toBe('Waiting')
  beat(w, name)
  w.fake.poke(machineType, { name }, { spec: { acceptance: null } })
  await pass(w, name, 20_000)
  expect([recordOf(w, name), podsOf(w).length, isClosed(w, name)]).toEqual([undefined, 0, false])
})
