// A member of etcd loses its volume in every phase of a rotation of etcd's authority and of the encryption key, on real programs, while Secrets are written: it is
// replaced, the rotation ends, and every Secret that was acknowledged can be read, sealed with one key.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dataClaim, memberName } from '#api/constructs/control-plane/etcd.ts'
import type { Rotation } from '#controlplanes/credentials/rotation.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { sealAgainWith, type SealAgain } from '#controlplanes/kubernetes/reseal.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { etcdctlOf } from '#test/support/worlds/etcd-host-world.ts'
import { kubernetesHostWorld, REAL_SHAPE, whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'

const CHAPTER_MS = 3_600_000
const STEP_MS = 600_000
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const EVERY_MS = 100
const MEMBERS = 3
/** After the first one, one for each loss. */
const LAST_KEY = 'key-4'
const ID = 'fleet.losses'
const NAMESPACE = planeNamespace(ID)
const [SECRETS, PODS, CLAIMS] = [coreKind('Secret'), coreKind('Pod'), coreKind('PersistentVolumeClaim')]
const why = whyNoHost()
const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)
const chance = seededRandom(testSeed)

/** Certificates that the host makes for itself would have expired by the clock of the programs. */
const longer =
  (kubeconfig: Parameters<SealAgain>[0]['kubeconfig']): typeof kubeconfig =>
  (identity) =>
    kubeconfig({ ...identity, lifeMs: DAY_MS })

let world: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
const folder = mkdtempSync(join(tmpdir(), 'kubenode-losses-'))
beforeAll(async () => {
  if (why === undefined) world = await kubernetesHostWorld()
})
afterAll(async () => {
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

test(
  'a member that is lost in the middle of a rotation is replaced, the rotation ends, and no Secret is lost',
  async (context) => {
    if (why !== undefined) context.skip(`the host of Kubernetes control planes: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { runner, client: hub } = world
    const story: string[] = [`KUBENODE_TEST_SEED=${testSeed}`]
    const note = (text: string): void => {
      story.push(`${new Date().toISOString().slice(11, 19)} ${text}`)
      if (process.env['KUBENODE_FAULTS_STORY'] !== undefined) process.stderr.write(`${story.at(-1)}\n`)
    }
    // Certificates must not be of the future of the programs.
    const newHost = () =>
      world!.host({
        sealAgain: (of) => sealAgainWith({ connect })({ ...of, kubeconfig: longer(of.kubeconfig) }),
        clock: { ...systemClock, now: () => Date.now() - HOUR_MS },
      })
    const host = newHost()
    const declared: Record<string, number> = {}
    const request = (): ControlPlaneRequest => ({
      id: ID,
      owner: 'uid-losses',
      version: '1.36.2',
      shape: { ...REAL_SHAPE, etcd: { members: MEMBERS, storage: '1Gi' } },
      upgrade: { soakMs: 1_000, walksMinors: false },
      rotation: { declared: { ...declared }, agents: [] },
    })
    let replaced = 0
    /** As a controller, which asks for a permit first, and gets it. */
    const until = async (what: string, holds: (plane: ControlPlane) => boolean): Promise<ControlPlane> => {
      for (const end = Date.now() + STEP_MS; ;) {
        const result = await host.put(request())
        if (result.kind === 'Refused') throw new Error(`${result.message}\n${runner.tail()}`)
        const { plane } = result
        if (runner.problem !== undefined) throw new Error(`${String(runner.problem)}\n${runner.tail()}`)
        if (holds(plane)) return plane
        if (plane.members?.lost !== undefined)
          await host.replaceMember(ID, replaced + 1).then(
            () => {
              replaced += 1
              note('the member was replaced')
            },
            () => undefined,
          )
        if (Date.now() > end)
          throw new Error(
            `${what} never: ${JSON.stringify({ ...plane, ca: '' })}\n${story.join('\n')}\n${runner.tail()}`,
          )
        await systemClock.sleep(300)
      }
    }
    const isCalm = ({ state, message, change, own, members }: ControlPlane): boolean =>
      state === 'Running' &&
      message === undefined &&
      change === undefined &&
      own?.rotations.length === 0 &&
      members?.lost === undefined
    const lose = async (): Promise<void> => {
      const member = chance.below(MEMBERS)
      note(`${memberName(member)} loses its volume`)
      await hub.delete(CLAIMS, { namespace: NAMESPACE, name: dataClaim(member) })
      await hub.delete(PODS, { namespace: NAMESPACE, name: memberName(member) })
    }

    await until('the control plane', isCalm)
    const text = (await host.kubeconfig(ID, { user: 'writer', groups: ['system:masters'], lifeMs: DAY_MS })) ?? ''
    const admin = connect(parseSafeKubeconfig(text, ID).config)
    const acknowledged = new Map<string, string>()
    let refused = 0
    const end = new AbortController()
    const writing = (async () => {
      for (let n = 0; !end.signal.aborted; n++) {
        const [name, value] = [`s-${n}`, Buffer.from(`value ${n}`).toString('base64')]
        const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, data: { value } }
        await admin.create(SECRETS, secret).then(
          () => acknowledged.set(name, value),
          () => void (refused += 1),
        )
        await systemClock.sleep(EVERY_MS)
      }
    })()
    try {
      let number = 1
      for (const name of ['etcd-ca', 'encryption'])
        for (const lostIn of ['before', 'Distributing', 'Reissuing'] as const) {
          number += 1
          note(`${name} ${number}, a member is lost: ${lostIn}`)
          const before = replaced
          if (lostIn === 'before') await lose()
          declared[name] = number
          if (lostIn !== 'before') {
            const isIn = ({ own }: ControlPlane): boolean =>
              own?.rotations.some((r: Rotation) => r.name === name && r.phase === lostIn) === true
            await until(`${name} ${lostIn}`, isIn)
            await lose()
          }
          // Whichever leads, and whatever restarts meanwhile: none comes back under its old number.
          const isOverIn = (plane: ControlPlane): boolean =>
            replaced > before && isCalm(plane) && plane.own?.declared[name] === number
          await until(`${name} ${number}`, isOverIn)
          expect(replaced, story.join('\n')).toBe(before + 1)
          note(`${name} ${number} is over; ${acknowledged.size} Secrets, ${refused} refused`)
          const { items } = await admin.list(SECRETS, { namespace: 'default' })
          const found = new Map(
            items.map((secret) => [secret.metadata.name, (secret['data'] as { readonly value?: string }).value]),
          )
          // Those that are written meanwhile may be in one of the two.
          const lost = [...acknowledged].slice(0, -5).filter(([key, value]) => found.get(key) !== value)
          expect(lost, story.join('\n')).toEqual([])
        }
    } finally {
      end.abort()
      await writing
    }
    const etcd = await etcdctlOf(world, NAMESPACE, folder)
    for (let member = 0; member < MEMBERS; member++) {
      const { kvs } = JSON.parse(etcd(member, ['get', '/registry/secrets/default/', '--prefix', '-w', 'json'])) as {
        readonly kvs: readonly { readonly value: string }[]
      }
      const keys = kvs.map(
        ({ value }) => /^k8s:enc:secretbox:v1:([^:]+):/.exec(Buffer.from(value, 'base64').toString('latin1'))?.[1],
      )
      expect([member, [...new Set(keys)]]).toEqual([member, [LAST_KEY]])
      expect(kvs.length).toBeGreaterThanOrEqual(acknowledged.size)
    }
    admin.close()
    process.stderr.write(
      `losses of members: ${replaced} replaced, ${acknowledged.size} Secrets, ${refused} writes refused, ${testSeed}\n`,
    )
    await host.delete(ID, { owner: 'uid-losses' })
  },
  CHAPTER_MS,
)
