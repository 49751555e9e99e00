// Kubelets that run acceptance pods: one never starts its first pod, fails the second, loses the third, and lets the rest succeed. A pod that is deleted
// ends with exit code 0 before it disappears, as a program does that handles SIGTERM.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ACCEPTANCE_NAMESPACE, ANNOTATIONS, LABELS } from '#api/names.ts'
import { podTemplateType } from '#nodes/acceptance-pod.ts'
import { type Pod, nodeType, podType } from '#nodes/objects.ts'
import { every } from '../machines/surroundings.ts'
import type { World } from '../world.ts'
import { BAD, type Truth } from './agents.ts'

const LOOK_MS = 1_000
const RUN_MS = 10_000
/** A kubelet gives a program some time to end. */
const END_MS = 4_000

const keyOf = ({ metadata }: Pod) => ({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' })

export function plantTemplates({ fake }: World): void {
  for (const name of ['good', BAD])
    fake.plant(podTemplateType, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name, namespace: ACCEPTANCE_NAMESPACE },
      template: { spec: { containers: [{ name, image: name }] } },
    })
}

export function runPods(world: World, truth: Truth): void {
  const { fake, clock } = world
  const seen = new Map<string, number>()
  const ending = new Map<string, number>()
  every(world, LOOK_MS, () => {
    for (const pod of fake.all(podType, { namespace: ACCEPTANCE_NAMESPACE }) as readonly Pod[]) {
      const { uid = '', deletionTimestamp } = pod.metadata
      if (!seen.has(uid)) {
        seen.set(uid, clock.monotonic())
        const run = runOf(pod)
        truth.starts.set(run, (truth.starts.get(run) ?? 0) + 1)
      }
      if (deletionTimestamp !== undefined) end(world, pod, ending)
      else if (pod.status?.phase === 'Pending' && clock.monotonic() - (seen.get(uid) ?? 0) >= RUN_MS)
        finish(world, pod, truth)
      if (isOrphan(world, pod)) fake.uproot(podType, keyOf(pod), { gracePeriodSeconds: 0 })
    }
  })
}

const runOf = ({ metadata }: Pod): string => metadata.name?.replace('accept-', '') ?? ''

/** As the garbage collector does it. */
const isOrphan = ({ fake }: World, { metadata }: Pod): boolean => {
  const [owner] = metadata.ownerReferences ?? []
  return fake.peek(machineType, { name: owner?.name ?? '' })?.metadata.uid !== owner?.uid
}

function end({ fake, clock }: World, pod: Pod, ending: Map<string, number>): void {
  const { uid = '' } = pod.metadata
  const since = ending.get(uid) ?? clock.monotonic()
  if (!ending.has(uid)) fake.poke(podType, keyOf(pod), { status: { phase: 'Succeeded' } }, 'status')
  ending.set(uid, since)
  if (clock.monotonic() - since >= END_MS) fake.uproot(podType, keyOf(pod), { gracePeriodSeconds: 0 })
}

function finish({ fake }: World, pod: Pod, truth: Truth): void {
  const { annotations, labels } = pod.metadata
  const name = pod.spec?.nodeName ?? ''
  const machine = (fake.all(machineType) as readonly Machine[]).find(
    (m) => m.metadata.uid === labels?.[LABELS.acceptanceOf],
  )
  const record = machine?.status?.acceptance
  // A pod that is lost before it is recorded is simply created again.
  if (record?.pod?.uid !== pod.metadata.uid) return
  const isBad = pod.spec?.containers[0]?.name === BAD
  if (!isBad && record?.attempt === 1) return
  if (!isBad && record?.attempt === 3) return fake.uproot(podType, keyOf(pod))
  const exitCode = isBad || record?.attempt === 2 ? 1 : 0
  const isThisNode = fake.peek(nodeType, { name })?.metadata.uid === annotations?.[ANNOTATIONS.acceptanceNode]
  if (exitCode === 0 && isThisNode) truth.passed.add(runOf(pod))
  const containerStatuses = [{ name: 'test', state: { terminated: { exitCode } } }]
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed'
  fake.poke(podType, keyOf(pod), { status: { phase, containerStatuses } }, 'status')
}
