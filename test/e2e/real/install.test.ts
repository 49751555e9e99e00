// The life of an installation on a real Kubernetes with real pods, as docs/operations/install.md tells it: check, install, a fleet from git, a killed leader, upgrade and
// back while rollouts run, uninstall in the middle of one, install again, and the same with kubectl alone.
// Needs root, containerd, and KUBEBUILDER_ASSETS; otherwise it says what is missing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { VERSION } from '#lib/program-version.ts'
import { whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { until } from '#test/support/tools/processes.ts'
import { fleetFiles, POOL, TRACKS, versionsFile } from './fleet-files.ts'
import { Installation } from './installation.ts'

const PATIENCE_MS = 240_000
const CHAPTER_MS = 900_000
const HOSTS = ['host-1', 'host-2'] as const
const NEXT = VERSION.replace(/^(\d+)\.(\d+)/, (_, major: string, minor: string) => `${major}.${Number(minor) + 1}`)
const PROGRAMS = ['approver', 'artifacts', 'controllers', 'defender', 'sync'] as const

interface Listed<T> {
  readonly items: readonly T[]
}
interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string }
}
interface Pod extends Named {
  readonly spec: Readonly<Record<string, unknown>>
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] }
}
interface Deployment extends Named {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: object } }
}
interface MachineSeen extends Named {
  readonly status?: { readonly components?: readonly { readonly name: string; readonly version?: string }[] }
}

const why = whyNoCluster()

describe('an installation on a real cluster', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  chapters()
  let world: Installation
  let values: string
  let next: { readonly checkout: string; readonly image: string }
  let userPod: Pod

  beforeAll(async () => {
    if (why !== undefined) return
    world = await Installation.start()
    values = await world.values(await world.image('now'))
    const checkout = world.otherVersion(NEXT)
    next = { checkout, image: await world.image('next', checkout) }
  }, CHAPTER_MS)
  afterAll(() => (world as Installation | undefined)?.stop(), 120_000)

  const get = <T>(what: string): Promise<T> => world.kubectl.json<T>(`get ${what}`)
  const settled = <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => until(what, look, PATIENCE_MS)

  /** Versions that the machines run, in order of their names. */
  const beacons = async (): Promise<readonly string[]> =>
    (await get<Listed<MachineSeen>>('machines.kubenode.io')).items.map(
      (m) => m.status?.components?.find((c) => c.name === 'beacon')?.version ?? 'none',
    )
  const running = (version: string) =>
    settled(`both hosts run ${version}`, async () => ((await beacons()).every((v) => v === version) ? true : undefined))
  const commit = (version: string) => world.repository.commit(versionsFile(version), `beacon ${version}`)

  /** The pod of a user: the same one, and never restarted. */
  async function userPodIsUntouched(): Promise<void> {
    const now = await get<Pod>('pod shop -n default')
    expect([now.metadata.uid, now.status.containerStatuses?.map((c) => c.restartCount)]).toEqual([
      userPod.metadata.uid,
      [0],
    ])
  }

  test(
    'check --pre names what is missing, then passes; install brings two replicas of each program',
    async () => {
      await world.kubectl.ok('run shop --image=kubenode.test/pause:1 --restart=Always')
      const refused = await world.run('.', 'check', '--pre', '--values', values)
      expect(refused).toMatchObject({
        code: 1,
        text: expect.stringMatching(/✗ storage: KN1412: .*artifacts/) as unknown,
      })
      await world.volume()
      await world.kubenode('check', '--pre', '--values', values)
      const said = await world.kubenode('install', '--values', values, '--yes', '--timeout', '4m')
      expect(said).toMatch(/leaders: defender, controllers, approver, sync\nwebhook: answers/)
      expect(await world.kubenode('check')).not.toMatch(/✗/)
      userPod = await get<Pod>('pod shop -n default')
    },
    CHAPTER_MS,
  )

  test(
    'pods of the programs pass the enforcing namespace, others do not; no policy has a type error',
    async () => {
      const { items } = await get<Listed<Deployment>>('deployments -n kubenode-system')
      expect(items.map((d) => d.metadata.name)).toEqual(PROGRAMS.map((p) => `kubenode-${p}`))
      const base = { apiVersion: 'v1', kind: 'Pod' }
      for (const { spec } of items) {
        const metadata = { ...spec.template.metadata, name: 'trial', namespace: 'kubenode-system' }
        await world.kubectl.apply([{ ...base, metadata, spec: spec.template.spec }], '--dry-run=server')
      }
      const plain = { ...base, metadata: { name: 'x' }, spec: { containers: [{ name: 'c', image: 'x' }] } }
      const words = 'apply --dry-run=server -n kubenode-system -f -'
      expect(await world.kubectl.refused(words, [], { stdin: JSON.stringify(plain) })).toMatch(
        /violates PodSecurity "restricted/,
      )
      const warnings = '{range .items[*]}{.status.typeChecking.expressionWarnings}{end}'
      expect(await world.kubectl.ok('get validatingadmissionpolicies', ['-o', `jsonpath=${warnings}`])).toBe('')
    },
    CHAPTER_MS,
  )

  test(
    'hosts join, and a fleet from git over https reaches them through a render Job and a Release',
    async () => {
      for (const name of HOSTS) {
        const spec = { provider: { name: 'static' }, channel: 'Agent', pool: 'hosts', zone: 'a' }
        const metadata = { name, labels: POOL }
        await world.kubectl.apply([{ apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata, spec }])
        const line = await settled(`the line of ${name}`, async () => {
          const { code, text } = await world.run('.', 'machine', 'join-command', name, '--offline')
          return code === 0 ? text : undefined
        })
        world.hosts.start(name, line)
        // No kubelet runs there: pods that the scheduler sent to it would wait for ever.
        await settled(`node ${name}`, async () => {
          const { code } = await world.kubectl.run(`taint --overwrite nodes ${name} agent-only=true:NoSchedule`)
          return code === 0 ? true : undefined
        })
      }
      world.repository.commit(fleetFiles('1.0.0'), 'first')
      await world.connectFleet(TRACKS)
      await running('1.0.0')
      await userPodIsUntouched()
    },
    CHAPTER_MS,
  )

  test(
    'F49 the leader of the Defender is killed in a rollout, which goes on',
    async () => {
      commit('1.1.0')
      const lease = 'get lease kubenode-defender -n kubenode-system -o jsonpath={.spec.holderIdentity}'
      const before = await world.kubectl.ok(lease)
      const [pod = ''] = /^kubenode-defender-[a-z0-9]+-[a-z0-9]{5}/.exec(before) ?? []
      await world.kubectl.ok(`delete pod ${pod} -n kubenode-system --grace-period=0 --force`)
      await settled('another leader', async () => {
        const now = await world.kubectl.ok(lease)
        return now !== '' && now !== before ? true : undefined
      })
      await running('1.1.0')
    },
    CHAPTER_MS,
  )

  test(
    'it is upgraded, and taken back, while rollouts run',
    async () => {
      commit('1.0.0')
      const up = await world.from(next.checkout, 'upgrade', '--image', next.image, '--yes', '--timeout', '4m')
      expect(up).toContain(`KubeNode ${NEXT} is installed`)
      await running('1.0.0')
      commit('1.1.0')
      const back = await world.kubenode('upgrade', '--values', values, '--yes', '--timeout', '4m')
      expect(back).toContain(`KubeNode ${VERSION} is installed`)
      await running('1.1.0')
      expect(await world.kubenode('check')).not.toMatch(/✗/)
      await userPodIsUntouched()
    },
    CHAPTER_MS,
  )

  test(
    'uninstalled in the middle of a rollout it leaves nothing but definitions and what users made; hosts keep agents and what runs',
    async () => {
      const programs = HOSTS.flatMap((name) => world.hosts.components(name))
      expect(programs.length).toBe(HOSTS.length)
      commit('1.0.0')
      await settled('a permit', async () => {
        const { items } =
          await get<Listed<Named & { readonly status?: { readonly phase?: string } }>>('operationpermits')
        return items.some((p) => p.status?.phase === 'Granted') ? true : undefined
      })
      await world.kubenode('uninstall', '--yes', 'hub', '--keep-agents')
      const left = (await world.ours()).filter((name) => !/\.kubenode\.io(\/|$)/.test(name))
      expect(left).toEqual([])
      expect(HOSTS.flatMap((name) => world.hosts.components(name)).length).toBe(HOSTS.length)
      expect(await world.kubectl.ok('get namespaces -o name')).not.toMatch(/kubenode/)
      await userPodIsUntouched()
    },
    CHAPTER_MS,
  )

  test(
    'installed again it adopts machines and definitions, and a second run changes nothing',
    async () => {
      await world.kubectl.run('delete pv artifacts')
      await world.volume()
      await world.kubenode('install', '--values', values, '--yes', '--timeout', '4m')
      expect(await world.kubenode('check')).not.toMatch(/✗/)
      expect((await get<Listed<MachineSeen>>('machines.kubenode.io')).items.map((m) => m.metadata.name)).toEqual(HOSTS)
      expect(await world.kubenode('install', '--values', values, '--diff')).toMatch(/nothing (would|was|is)/)
      await userPodIsUntouched()
    },
    CHAPTER_MS,
  )

  test(
    'hosts are handed back by the next uninstall; the same with kubectl: applied in one go either way; deleting the file does not hang',
    async () => {
      const file = join(world.cluster.folder, 'install.yaml')
      writeFileSync(file, await world.kubenode('install', '--values', values, '--export'))
      await world.kubenode('uninstall', '--yes', 'hub', '--delete-crds')
      expect(await world.ours()).toEqual([])
      // KubeNode brought them, and neither is what makes a host a node.
      expect(HOSTS.flatMap((name) => world.hosts.components(name))).toEqual([])
      await world.kubectl.ok('apply -f', [file])
      await world.kubectl.ok('apply --server-side --force-conflicts -f', [file])
      const complaint = await world.kubectl.refused('delete --timeout=50s -f', [file])
      expect(complaint).toMatch(/use kubenode uninstall --delete-crds/)
      expect(complaint).not.toMatch(/timed out/)
      await world.kubenode('uninstall', '--yes', 'hub', '--delete-crds', '--now')
      expect(await world.ours()).toEqual([])
      await userPodIsUntouched()
    },
    CHAPTER_MS,
  )
})
