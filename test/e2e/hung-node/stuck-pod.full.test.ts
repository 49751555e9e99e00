// A node hangs in the kernel, and with it a pod that can never end. The others move; the machine is switched off before that pod is given up, so that its copy
// elsewhere is never the second one; then the machine boots, is verified and opened.
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest'
import { hasTaint, podType } from '#nodes/objects.ts'
import { fencedAfter, kernelDeadlock } from '../../../rules/kernel/kernel-deadlock.ts'
import { HungScene, addPods, endPods } from './scene.ts'

const NAME = 'hung-2'
const STUCK = 'stuck'
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

let scene: HungScene | string = 'it was not set up'
const rule = { ...kernelDeadlock, ladder: fencedAfter('KernelDeadlock', '20s') }
beforeAll(async () => void (scene = await HungScene.open(NAME, rule)), 600_000)
afterAll(async () => void (typeof scene !== 'string' && (await scene.close())))

test('pods move; one that is stuck is given up only after its machine is off, after the deadline of the drain; then the node is verified and opened', async (context: TestContext) => {
  if (typeof scene === 'string') context.skip(scene)
  const here = scene
  const { fleet, node, poweredOff } = here
  const { admin } = fleet
  const firstBoot = (await here.ready())?.status?.bootID
  await addPods(admin, NAME, [STUCK])
  await here.hang()

  await here.until(
    'moved',
    () => endPods(admin, [STUCK]),
    (left) => left.join() === STUCK,
  )
  const drain = await here.until(
    'a drain that gave up',
    async () => (await fleet.jobs()).flatMap((j) => j.status?.steps ?? []).find((s) => s.operation === 'drain'),
    (step) => step?.outcome === 'Failed',
  )
  expect(drain?.output).toMatch(/timed out.*default\/stuck/)
  expect([here.hangs, poweredOff]).toEqual([true, []])

  // As the control plane: pods of a node that is out of service are forced off it.
  await here.until(
    'out of service',
    async () => {
      const isThere = (await admin.get(podType, { namespace: 'default', name: STUCK })) !== undefined
      return { isThere, isOut: hasTaint(await node(), OUT_OF_SERVICE), poweredOff: [...poweredOff] }
    },
    (now) => {
      // Nothing forced it before the machine was off.
      expect(now.isThere).toBe(true)
      if (now.isOut) expect(now.poweredOff).toEqual([`${NAME} while it hung`])
      return now.isOut
    },
    120_000,
  )
  await admin.delete(podType, { namespace: 'default', name: STUCK }, { gracePeriodSeconds: 0 })

  const jobs = await here.until(
    'done',
    () => fleet.jobs(),
    (all) => all.length === 2 && all.every((j) => j.status?.phase === 'Done'),
    240_000,
  )
  const steps = jobs
    .toSorted((a, b) => a.spec.rung - b.spec.rung)
    .map((j) => [j.status?.outcome, ...(j.status?.steps ?? []).map((s) => `${s.operation} ${s.outcome}`)])
  expect(steps).toEqual([
    ['Transient', 'collectEvidence Succeeded', 'cordon Succeeded', 'drain Failed'],
    ['Succeeded', 'collectEvidence Succeeded', 'cordon Skipped', 'fence Succeeded'],
  ])
  expect((await here.machine())?.status?.bootID).not.toBe(firstBoot)
  expect((await here.deadlock())?.status).toBe('False')
  await here.until('open to pods', node, (n) => (n?.spec?.taints ?? []).length === 0)
}, 590_000)
