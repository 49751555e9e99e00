// A control plane under people and faults in random combinations: its host is killed at any call, clocks jump, keys are replaced, versions come and go, snapshots are
// restored, all of it is deleted and made again. What was written to Secrets can always be read. On real programs, or on a model of them.
import { expect } from 'vitest'
import type { KubernetesHost, KubernetesHostOptions } from '#controlplanes/kubernetes/host.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import type { ControlPlane, ControlPlaneRequest } from '#controlplanes/port.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Random } from '#lib/random.ts'
import { REAL_VERSIONS } from './kubernetes-host-world.ts'

/** Two keys in a row, whose objects a webhook refuses twice each, two minutes apart, beside all that rolls. */
const SETTLE_MS = 840_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
export const FAULTED_ID = 'fleet.faults'
const OWNER = 'uid-faults'
export const FAULTED_NAMESPACE = planeNamespace(FAULTED_ID)
const SECRETS = coreKind('Secret')
const PODS = coreKind('Pod')
const [OLDER, NEWER] = ['1.35.9', '1.36.2']

export type Content = Readonly<Record<string, string>>

export interface FaultedWorld {
  /** As an administrator. */
  readonly hub: KubeClient
  /** Of the programs; that of a host may be another one. */
  readonly clock: Clock
  readonly shape: NonNullable<ControlPlaneRequest['shape']>
  host(more: Pick<KubernetesHostOptions, 'client' | 'clock' | 'withinMs' | 'versions'>): KubernetesHost
  read(kubeconfig: string): Promise<Content>
  write(kubeconfig: string, name: string, value: string): Promise<void>
  /** Names of the keys that sealed what is in the store. */
  keysInStore(): Promise<readonly string[]>
  /** Programs of the control plane. */
  running(): readonly string[]
  /** Throws what went wrong beside the host, with what happened. */
  mustBeSound(told: () => string): void
  /** For failures. */
  tail(): string
}

export interface FaultsOptions {
  readonly chance: Pick<Random, 'below'>
  readonly isOver: (rounds: number) => boolean
}

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

/** Answers how many rounds and steps there were. */
export async function planeUnderFaults(world: FaultedWorld, { chance, isOver }: FaultsOptions) {
  const random = (below: number): number => chance.below(below)
  const story: string[] = []
  const note = (text: string): void => {
    story.push(`${new Date(world.clock.now()).toISOString().slice(11, 19)} ${text}`)
    if (process.env['KUBENODE_FAULTS_STORY'] !== undefined) process.stderr.write(`${story.at(-1)}\n`)
  }
  const told = (): string => `${story.join('\n')}\n${world.tail()}`
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
    return world.host({
      client: dyingClient(world.hub, counts),
      clock: { ...world.clock, now: () => world.clock.now() + ahead },
      withinMs: 60_000,
      versions: () => rows,
    })
  }
  let host = newHost()
  const declared: Record<string, number> = { encryption: 1 }
  let version = OLDER
  let approved: string | undefined
  const request = (): ControlPlaneRequest => ({
    id: FAULTED_ID,
    owner: OWNER,
    version,
    shape: world.shape,
    upgrade: { soakMs: 2_000, walksMinors: false, ...defined({ approvedRestore: approved }) },
    rotation: { declared: { ...declared }, agents: [] },
  })
  /** One call as a controller makes it: what is not done yet is called again, also after a kill. */
  const again = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    for (const end = world.clock.monotonic() + SETTLE_MS; ;) {
      try {
        return await call()
      } catch (error) {
        if (error instanceof Killed) {
          note(`killed in ${what}: ${error.message}`)
          host = newHost()
        } else if (world.clock.monotonic() > end) throw new Error(`${what}\n${told()}`, { cause: error })
        await world.clock.sleep(200)
      }
      world.mustBeSound(told)
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
    for (const end = world.clock.monotonic() + SETTLE_MS; ;) {
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
      if (typeof plane === 'string' && plane.includes('failed here')) {
        note('a clock that jumped let its ten minutes pass: it is left')
        version = version === OLDER ? NEWER : OLDER
      }
      const shown = typeof plane === 'string' ? plane : JSON.stringify({ ...plane, ca: '' })
      if (world.clock.monotonic() > end) throw new Error(`${goal} never: ${shown}\n${told()}`)
      await world.clock.sleep(300)
    }
  }
  let content: Content = {}
  const snapshots = new Map<string, Content>()
  const kubeconfig = async (): Promise<string> => {
    const identity = { user: 'test', groups: ['system:masters'], lifeMs: 2 * DAY_MS }
    return (await again('kubeconfig', () => host.kubeconfig(FAULTED_ID, identity))) ?? ''
  }
  const isCalm = ({ state: of, message, change, restoring, own }: ControlPlane): boolean =>
    of === 'Running' && message === undefined && change === undefined && restoring === undefined && own !== undefined
  const isSealed = (plane: ControlPlane): boolean =>
    isCalm(plane) &&
    (plane.own?.rotations ?? []).every(({ name, waitsFor }) => name !== 'encryption' || waitsFor?.what === 'snapshots')

  const check = async (): Promise<void> => {
    const found = await again('read', async () => world.read(await kubeconfig()))
    expect(found, told()).toEqual(content)
  }
  let counter = 0
  const write = async (): Promise<void> => {
    for (let n = 0; n < 3; n++) {
      counter += 1
      const [name, value] = [`s-${counter}`, `value ${counter}`]
      await again('write', async () => world.write(await kubeconfig(), name, value))
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
      await again('snapshot', () => host.snapshot(FAULTED_ID, name)).catch((error: unknown) => note(String(error)))
      snapshots.set(name, before)
    },
    'drop snapshots': async () => {
      const plane = await again('get', () => host.get(FAULTED_ID))
      const names = (plane?.snapshots ?? []).map(({ name }) => name)
      await again('drop', () => host.drop(FAULTED_ID, names.slice(0, 1 + random(names.length + 1))))
    },
    restore: async () => {
      const plane = await again('get', () => host.get(FAULTED_ID))
      if (plane === undefined || plane.change !== undefined) return
      const names = plane.snapshots.filter((s) => s.version === plane.version && snapshots.has(s.name))
      const chosen = names[random(names.length)]
      if (chosen === undefined) return
      restores += 1
      const token = `restore-${restores}`
      version = plane.version
      // Without the row of what runs it would wait.
      rows = REAL_VERSIONS
      note(`restores ${chosen.name}`)
      const result = await again('restore', () => host.restore(FAULTED_ID, { snapshot: chosen.name, token }))
      if (result === 'Restored') content = snapshots.get(chosen.name) ?? {}
      else note(result)
    },
    'delete and make again': async () => {
      rows = REAL_VERSIONS
      const plane = await again('get', () => host.get(FAULTED_ID))
      await again('stop', () => host.stop(FAULTED_ID))
      restores += 1
      const final = `final-${restores}`
      const kept = await again('final snapshot', () => host.snapshot(FAULTED_ID, final))
      if (kept === 'Gone') throw new Error('it has no final snapshot')
      await again('delete', () => host.delete(FAULTED_ID, { owner: OWNER, keep: final }))
      expect(world.running()).toEqual([])
      version = kept.version
      note(`made again as ${version}, it was ${plane?.version ?? ''}`)
      snapshots.clear()
      snapshots.set(final, content)
      await until(isCalm, 'made again')
      await again('restore', () => host.restore(FAULTED_ID, { snapshot: final, token: `again-${restores}` }))
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
      const pods = (await world.hub.list(PODS, { namespace: planeNamespace(FAULTED_ID) })).items
      const name = pods[random(pods.length)]?.metadata.name
      if (name !== undefined)
        await world.hub.delete(PODS, { namespace: planeNamespace(FAULTED_ID), name }).catch(() => undefined)
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
      await world.hub.delete(SECRETS, { namespace: planeNamespace(FAULTED_ID), name }).catch(() => undefined)
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

  await until(isCalm, 'first start')
  await write()
  let rounds = 0
  while (!isOver(rounds)) {
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
    const stored = await world.keysInStore()
    note(`round ${rounds}: ${Object.keys(content).length} Secrets, keys ${stored.join(' ')}`)
    expect(stored.length, told()).toBeLessThan(2)
    await write()
  }
  callsLeft = Infinity
  await again('delete', () => host.delete(FAULTED_ID, { owner: OWNER }))
  expect(world.running()).toEqual([])
  return { rounds, steps: story.length }
}
