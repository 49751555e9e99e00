// A control plane of real programs under people and faults in random combinations: its host is killed at any call, clocks jump, keys are replaced, versions come and go,
// snapshots are restored, all of it is deleted and made again. What was written to Secrets can always be read.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubernetesHost } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { sealAgainWith, type SealAgain } from '#controlplanes/kubernetes/reseal.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { etcdctlOf } from '#test/support/worlds/etcd-host-world.ts'
import {
  kubernetesHostWorld,
  REAL_SHAPE,
  REAL_VERSIONS,
  whyNoHost,
} from '#test/support/worlds/kubernetes-host-world.ts'

const CHAPTER_MS = 3_600_000
const RUN_MS = Number(process.env['KUBENODE_FAULTS_MINUTES'] ?? 10) * 60_000
const SETTLE_MS = 420_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const ID = 'fleet.faults'
const OWNER = 'uid-faults'
const SECRETS = coreKind('Secret')
const PODS = coreKind('Pod')
const [OLDER, NEWER] = ['1.35.9', '1.36.2']
const why = whyNoHost()
const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)

/** Certificates that the host makes for itself would have expired by the clock of the programs. */
const longer =
  (kubeconfig: Parameters<SealAgain>[0]['kubeconfig']): typeof kubeconfig =>
  (identity) =>
    kubeconfig({ ...identity, lifeMs: 2 * DAY_MS })

const chance = seededRandom(testSeed)
const random = (below: number): number => chance.below(below)

let world: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
const folder = mkdtempSync(join(tmpdir(), 'kubenode-faults-'))
beforeAll(async () => {
  if (why === undefined) world = await kubernetesHostWorld()
})
afterAll(async () => {
  await world?.close()
  rmSync(folder, { recursive: true, force: true })
})

class Killed extends Error {}

/** From the given call on, nothing of the program reaches the hub any more; the call itself may have. */
function dyingClient(client: KubeClient, calls: () => number): KubeClient {
  return new Proxy(client, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target)
      if (typeof found !== 'function') return found
      return (...args: readonly unknown[]) => {
        const left = calls()
        if (left < 0) throw new Killed(String(name))
        const answer: unknown = Reflect.apply(found, target, args)
        if (left > 0 || !(answer instanceof Promise)) return answer
        return answer.then(() => {
          throw new Killed(`${String(name)}, which was done`)
        })
      }
    },
  })
}

type Content = Readonly<Record<string, string>>

test(
  'no combination of kills, clocks and people makes a Secret unreadable',
  async (context) => {
    if (why !== undefined) context.skip(`the host of Kubernetes control planes: ${why}`)
    if (world === undefined) throw new Error('no world')
    const { runner, client } = world
    const story: string[] = []
    const note = (text: string): void => {
      story.push(`${new Date().toISOString().slice(11, 19)} ${text}`)
      if (process.env['KUBENODE_FAULTS_STORY'] !== undefined) process.stderr.write(`${story.at(-1)}\n`)
    }
    // Certificates must not be of the future of the programs.
    let ahead = -6 * HOUR_MS
    let callsLeft = Infinity
    let rows = REAL_VERSIONS
    const newHost = (): KubernetesHost => {
      let mine = Infinity
      const counts = (): number => {
        mine = Math.min(mine, callsLeft)
        callsLeft = Infinity
        mine -= 1
        return mine
      }
      return world!.host({
        client: dyingClient(client, counts),
        clock: { ...systemClock, now: () => Date.now() + ahead },
        sealAgain: (of) => sealAgainWith({ connect })({ ...of, kubeconfig: longer(of.kubeconfig) }),
        withinMs: 60_000,
        versions: () => rows,
      })
    }
    let host = newHost()
    const declared: Record<string, number> = { encryption: 1 }
    let version = OLDER
    let approved: string | undefined
    const request = (): ControlPlaneRequest => ({
      id: ID,
      owner: OWNER,
      version,
      shape: REAL_SHAPE,
      upgrade: { soakMs: 2_000, walksMinors: false, ...(approved !== undefined && { approvedRestore: approved }) },
      rotation: { declared: { ...declared }, agents: [] },
    })
    /** One call as a controller makes it: what is not done yet is called again, also after a kill. */
    const again = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
      for (const end = Date.now() + SETTLE_MS; ;) {
        try {
          return await call()
        } catch (error) {
          if (error instanceof Killed) {
            note(`killed in ${what}: ${error.message}`)
            host = newHost()
          } else if (Date.now() > end)
            throw new Error(`${what}\n${story.join('\n')}\n${runner.tail()}`, { cause: error })
          await systemClock.sleep(200)
        }
        if (runner.problem !== undefined) throw new Error(`${String(runner.problem)}\n${runner.tail()}`)
      }
    }
    const put = async (): Promise<ControlPlane | string> => {
      const result = await again('put', () => host.put(request()))
      if (result.kind !== 'Plane') return result.message
      // Nothing is written meanwhile.
      for (const { name } of result.plane.snapshots) {
        if (snapshots.has(name)) continue
        snapshots.set(name, content)
        note(`${name} has ${Object.keys(content).length} Secrets`)
      }
      return result.plane
    }
    const until = async (holds: (plane: ControlPlane) => boolean, goal: string): Promise<ControlPlane> => {
      for (const end = Date.now() + SETTLE_MS; ;) {
        const plane = await put()
        if (typeof plane !== 'string' && holds(plane)) return plane
        const approval = /an Approval of the restore of (\S+):/.exec(
          typeof plane === 'string' ? plane : (plane.change?.message ?? ''),
        )?.[1]
        if (approval !== undefined) {
          approved = approval
          // What comes back is what was in it.
          content = snapshots.get(approval) ?? {}
          note(`approved: restore of ${approval}, with ${Object.keys(content).length} Secrets`)
        }
        if (typeof plane === 'string' && plane.includes('goes back over a one-way step')) {
          note('its snapshot was dropped: there is no way back')
          version = NEWER
        }
        const shown = typeof plane === 'string' ? plane : JSON.stringify({ ...plane, ca: '' })
        if (Date.now() > end)
          throw new Error(
            `${goal} never: ${shown}\nKUBENODE_TEST_SEED=${testSeed}\n${story.join('\n')}\n${runner.tail()}`,
          )
        await systemClock.sleep(300)
      }
    }
    let content: Content = {}
    const snapshots = new Map<string, Content>()
    const asAdmin = async <T>(work: (admin: HttpKubeClient) => Promise<T>): Promise<T> => {
      const identity = { user: 'test', groups: ['system:masters'], lifeMs: 2 * DAY_MS }
      const text = await again('kubeconfig', () => host.kubeconfig(ID, identity))
      const admin = connect(parseSafeKubeconfig(text ?? '', ID).config)
      try {
        return await work(admin)
      } finally {
        admin.close()
      }
    }
    const isCalm = ({ state: of, message, change, restoring, own }: ControlPlane): boolean =>
      of === 'Running' && message === undefined && change === undefined && restoring === undefined && own !== undefined
    const isSealed = (plane: ControlPlane): boolean =>
      isCalm(plane) &&
      (plane.own?.rotations ?? []).every(
        ({ name, waitsFor }) => name !== 'encryption' || waitsFor?.what === 'snapshots',
      )

    const readAll = async (): Promise<Content> =>
      asAdmin(async (admin) => {
        const { items } = await admin.list(SECRETS, { namespace: 'default' })
        return Object.fromEntries(
          items.map((secret) => {
            const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>
            return [secret.metadata.name ?? '', Buffer.from(data['value'] ?? '', 'base64').toString()]
          }),
        )
      })
    const check = async (): Promise<void> => {
      const found = await again('read', readAll)
      expect(found, `KUBENODE_TEST_SEED=${testSeed}\n${story.join('\n')}`).toEqual(content)
    }
    /** Keys in the store, by what their value begins with. */
    const keysInStore = async (): Promise<readonly string[]> => {
      const ask = await etcdctlOf(world as NonNullable<typeof world>, planeNamespace(ID), folder)
      const { kvs = [] } = JSON.parse(ask(0, ['get', '/registry/secrets/', '--prefix', '-w', 'json'])) as {
        readonly kvs?: readonly { readonly value: string }[]
      }
      const names = kvs.map(
        ({ value }) =>
          /^k8s:enc:secretbox:v1:([^:]+):/.exec(Buffer.from(value, 'base64').toString('latin1'))?.[1] ?? '',
      )
      return [...new Set(names)].toSorted()
    }
    let counter = 0
    const write = async (): Promise<void> => {
      for (let n = 0; n < 3; n++) {
        counter += 1
        const [name, value] = [`s-${counter}`, `value ${counter}`]
        const data = { value: Buffer.from(value).toString('base64') }
        const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, data }
        await again('write', () =>
          asAdmin((admin) => admin.apply(SECRETS, secret, { fieldManager: 'test', force: true })),
        )
        content = { ...content, [name]: value }
      }
    }

    let restores = 0
    const doings: Readonly<Record<string, () => Promise<void>>> = {
      'raise encryption': async () => void (declared['encryption'] = (declared['encryption'] ?? 1) + 1),
      'raise encryption again': async () => void (declared['encryption'] = (declared['encryption'] ?? 1) + 1),
      'lower encryption': async () => void (declared['encryption'] = Math.max(1, (declared['encryption'] ?? 1) - 1)),
      'leave encryption out': async () => void delete declared['encryption'],
      'raise another': async () => {
        const name = ['etcd-ca', 'service-account', 'front-proxy-ca', 'ca'][random(4)] ?? 'ca'
        declared[name] = (declared[name] ?? 1) + 1
      },
      'other version': async () => {
        version = version === OLDER ? NEWER : OLDER
        approved = undefined
      },
      snapshot: async () => {
        const name = `snap-${counter}-${random(1_000)}`
        const before = content
        await again('snapshot', () => host.snapshot(ID, name)).catch((error: unknown) => note(String(error)))
        snapshots.set(name, before)
      },
      'drop snapshots': async () => {
        const plane = await again('get', () => host.get(ID))
        const names = (plane?.snapshots ?? []).map(({ name }) => name)
        await again('drop', () => host.drop(ID, names.slice(0, 1 + random(names.length + 1))))
      },
      restore: async () => {
        const plane = await again('get', () => host.get(ID))
        if (plane === undefined || plane.change !== undefined) return
        const names = plane.snapshots.filter((s) => s.version === plane.version && snapshots.has(s.name))
        const chosen = names[random(names.length)]
        if (chosen === undefined) return
        restores += 1
        const token = `restore-${restores}`
        version = plane.version
        note(`restores ${chosen.name}`)
        const result = await again('restore', () => host.restore(ID, { snapshot: chosen.name, token }))
        if (result === 'Restored') content = snapshots.get(chosen.name) ?? {}
        else note(result)
      },
      'delete and make again': async () => {
        rows = REAL_VERSIONS
        const plane = await again('get', () => host.get(ID))
        await again('stop', () => host.stop(ID))
        restores += 1
        const final = `final-${restores}`
        const kept = await again('final snapshot', () => host.snapshot(ID, final))
        if (kept === 'Gone') throw new Error('it has no final snapshot')
        await again('delete', () => host.delete(ID, { owner: OWNER, keep: final }))
        expect(runner.running(planeNamespace(ID))).toEqual([])
        version = kept.version
        note(`made again as ${version}, it was ${plane?.version ?? ''}`)
        snapshots.clear()
        snapshots.set(final, content)
        await until(isCalm, 'made again')
        await again('restore', () => host.restore(ID, { snapshot: final, token: `again-${restores}` }))
      },
      'clock jumps': async () => void (ahead = -random(5 * HOUR_MS) - HOUR_MS),
      kill: async () => void (callsLeft = random(60)),
      'kill soon': async () => void (callsLeft = random(15)),
      'a row is taken out': async () => {
        rows = rows.filter((row) => row.version !== [OLDER, NEWER][random(2)])
        await again('put', () => host.put(request()))
        if (random(2) === 0) rows = REAL_VERSIONS
      },
      'a pod is deleted': async () => {
        const pods = (await client.list(PODS, { namespace: planeNamespace(ID) })).items
        const name = pods[random(pods.length)]?.metadata.name
        if (name !== undefined)
          await client.delete(PODS, { namespace: planeNamespace(ID), name }).catch(() => undefined)
      },
      'a Secret is deleted': async () => {
        const some = [
          'encryption',
          'apiserver',
          'service-accounts',
          'credentials-apiserver',
          'credentials-kubeconfig-scheduler',
        ]
        const name = some[random(some.length)] ?? ''
        await client.delete(SECRETS, { namespace: planeNamespace(ID), name }).catch(() => undefined)
      },
      'two leaders': async () => {
        const both = [host, newHost()]
        await Promise.all(both.map((one) => one.put(request()).catch((error: unknown) => note(String(error)))))
      },
      'a few passes': async () => {
        for (let n = 0; n <= random(6); n++) await put()
      },
    }
    const names = Object.keys(doings)

    note(`KUBENODE_TEST_SEED=${testSeed}`)
    const end = Date.now() + RUN_MS
    await until(isCalm, 'first start')
    await write()
    let rounds = 0
    while (Date.now() < end) {
      rounds += 1
      const count = 1 + random(6)
      for (let n = 0; n < count; n++) {
        const name = names[random(names.length)] ?? 'kill'
        note(name)
        await doings[name]?.()
      }
      rows = REAL_VERSIONS
      await until((plane) => isSealed(plane) && plane.version === version, `round ${rounds}`)
      await check()
      const stored = await keysInStore()
      note(`round ${rounds}: ${Object.keys(content).length} Secrets, keys ${stored.join(' ')}`)
      expect(stored.length, `KUBENODE_TEST_SEED=${testSeed}\n${story.join('\n')}`).toBeLessThan(2)
      await write()
    }
    callsLeft = Infinity
    await again('delete', () => host.delete(ID, { owner: OWNER }))
    expect(runner.running(planeNamespace(ID))).toEqual([])
    process.stderr.write(
      `faults of a control plane: KUBENODE_TEST_SEED=${testSeed}, ${rounds} rounds, ${story.length} steps\n`,
    )
  },
  CHAPTER_MS,
)
