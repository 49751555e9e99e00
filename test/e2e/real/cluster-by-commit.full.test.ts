// The story of a cluster that a hub makes, with real programs and real pods from end to end: KubeNode is installed on three nodes with the flavor switched on, a commit
// adds a Cluster, two bare hosts join it with the printed line, a commit brings their kubelet and another one upgrades it, a rule of the hub drains and reboots a node with
// masters, and a commit takes the Cluster out again.
// Needs root, systemd-nspawn, containerd, Debian's packages, busybox and KUBEBUILDER_ASSETS; otherwise it says what is missing.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'
import { noMachines } from '../agent-host/machine.ts'
import { CLUSTER, MEMBERS, type Wanted } from './commit-fleet.ts'
import { CommitGround } from './commit-ground.ts'
import { type KubeadmHost, whyNoPackages } from './kubeadm-host.ts'
import { doorObjects } from './kubelet-door.ts'
import { whyNoWeb } from './node-world.ts'
import { PlaneWriter } from './plane-writer.ts'

const CHAPTER_MS = 1_500_000
const TOKEN = 'abcdef.0123456789abcdef'
const HOST_CONFIG = readFileSync(join(import.meta.dirname, '../../../fleet/machines/hosts.json'), 'utf8')

interface Listed<T> {
  readonly items: readonly T[]
}
interface MachineSeen {
  readonly metadata: { readonly name: string }
  readonly status?: {
    readonly phase?: string
    readonly bootID?: string
    readonly components?: readonly { readonly name: string; readonly version?: string; readonly state: string }[]
  }
}
interface JobSeen {
  readonly spec: { readonly machine: string }
  readonly status?: {
    readonly phase?: string
    readonly outcome?: string
    readonly steps?: readonly { readonly operation: string; readonly outcome?: string }[]
  }
}
interface Condition {
  readonly type: string
  readonly status: string
}

const why = whyNoCluster() ?? whyNoHost() ?? noMachines() ?? whyNoWeb() ?? whyNoPackages()

describe('a cluster by commits', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  chapters()
  let ground: CommitGround
  let writer: PlaneWriter | undefined

  const story = (name: string, chapter: () => Promise<void>): void => test(name, chapter, CHAPTER_MS)
  const names = (): readonly string[] => ground.members.map((m) => m.name)
  const wanted = (more: Wanted = {}): Wanted => ({ cluster: ground.cluster, ...more })
  const kubelet = (version: string): Wanted => wanted({ machines: names(), components: [{ name: 'kubelet', version }] })

  beforeAll(async () => {
    if (why === undefined) ground = await CommitGround.start()
  }, CHAPTER_MS)
  afterAll(async () => {
    await writer?.stop()
    await (ground as CommitGround | undefined)?.stop()
  }, CHAPTER_MS)

  /** As the docs have it: a Machine, the printed line, a shell of the host. */
  async function joined(
    host: KubeadmHost,
    command: (...args: readonly string[]) => Promise<{ code: number; out: string }>,
  ) {
    const line = await ground.settled(`the line of ${host.name}`, async () => {
      const { code, out } = await command('machine', 'join-command', host.name)
      return code === 0 ? out : undefined
    })
    writeFileSync(join(host.machine.root, 'root/line'), line)
    const { code, out } = await host.machine.runAside('sh', '/root/line')
    expect([code, out], host.log('kubenode-agent')).toEqual([0, expect.stringContaining(`${host.name} has joined`)])
    host.machine.run('rm', '/root/line')
  }

  async function membersRun(version: string): Promise<void> {
    const { kubectl } = await ground.made()
    for (const name of names())
      await ground.settled(`kubelet ${version} on ${name}`, async () => {
        const { status } = await kubectl.json<MachineSeen>(`get machines.kubenode.io ${name}`)
        const seen = status?.components?.find((c) => c.name === 'kubelet')
        return seen?.version === version && seen.state === 'Healthy' ? true : undefined
      })
  }

  const isWhole = () =>
    ground.settled('all masters', async () => {
      const parts = { etcd: MEMBERS, apiserver: 2, 'controller-manager': 2, scheduler: 2 }
      for (const [part, all] of Object.entries(parts)) if ((await ground.serving(part)) !== all) return undefined
      return true
    })

  story(
    'the hub is installed with the flavor, and with programs and artifacts for its clusters, in one run',
    async () => {
      expect(await ground.install()).toMatch(/leaders: .*defender.*controllers/)
      // On a busy machine a leader may be late for a moment.
      await ground.settled('a check without failures', async () =>
        (await ground.installation.run('.', 'check')).code === 0 ? true : undefined,
      )
      await ground.followGit()
    },
  )

  story(
    'a commit adds a Cluster: its masters come up as pods on the nodes of the hub, and its programs lead in it',
    async () => {
      ground.commit(wanted(), 'a cluster')
      await ground.settled('a Cluster that is Ready', async () => {
        const conditions = (await ground.status<readonly Condition[]>('conditions')) ?? []
        const isTrue = (type: string) => conditions.some((c) => c.type === type && c.status === 'True')
        return isTrue('Ready') && isTrue('ProgramsReady') ? true : undefined
      })
      const members = await ground.pods('etcd')
      expect(new Set(members.map((p) => p.spec.nodeName)).size).toBe(MEMBERS)
      await isWhole()
    },
  )

  story('two bare hosts join it with the printed line, and their kubelet comes with a commit', async () => {
    const { kubectl, url, ca } = await ground.made()
    await kubectl.apply(doorObjects(TOKEN))
    ground.commit(wanted({ machines: names() }), 'two machines')
    for (const host of ground.members) {
      await joined(host, (...args) => ground.inside(...args))
      host.prepare({ url, authorities: ca, token: TOKEN })
    }
    // Until then the agent keeps the Nodes.
    for (const name of names())
      await ground.settled(`node ${name}`, async () => ((await ground.isReady(name, kubectl)) ? true : undefined))
    ground.commit(kubelet(ground.kubelets[0]), 'their kubelet')
    await membersRun(ground.kubelets[0])
    await kubectl.apply(names().map((name) => talker(name, ground.busybox)))
    for (const name of names()) {
      // No longer that of the agent.
      await ground.settled(`node ${name} of its kubelet`, async () => {
        const path = 'jsonpath={.status.nodeInfo.kubeletVersion}'
        const isOfKubelet = /^v\d/.test(await kubectl.ok(`get node ${name} -o`, [path]))
        return isOfKubelet && (await ground.isReady(name, kubectl)) ? true : undefined
      })
      await ground.settled(`a pod on ${name}`, async () => {
        const { out } = await kubectl.run(`exec talker-${name} -- busybox echo there`)
        return out === 'there\n' ? true : undefined
      })
    }
  })

  story('a commit upgrades their kubelet, and the pods stay', async () => {
    const { kubectl, client } = await ground.made()
    writer = new PlaneWriter(client)
    const pods = 'get pods -o jsonpath={.items[*].metadata.uid}{.items[*].status.containerStatuses[*].restartCount}'
    const before = await kubectl.ok(pods)
    ground.commit(kubelet(ground.kubelets[1]), 'another kubelet')
    await membersRun(ground.kubelets[1])
    for (const name of names())
      await ground.settled(`node ${name}`, async () => ((await ground.isReady(name, kubectl)) ? true : undefined))
    expect(await kubectl.ok(pods)).toBe(before)
    await writer.mustHaveLostNothing()
  })

  story(
    'a node of the hub whose kernel hangs is drained and rebooted by a rule: its masters move within their budgets, and no write is lost',
    async () => {
      const { installation, kubectl } = ground
      await installation.kubenode('import', ...ground.hosts.map((h) => h.name))
      for (const host of ground.hosts) {
        await kubectl.ok(`patch machines.kubenode.io ${host.name} --type merge -p`, ['{"spec":{"channel":"Agent"}}'])
        await joined(host, (...args) => installation.run('.', ...args))
        writeFileSync(join(host.machine.root, 'var/lib/kubenode/agent.json'), HOST_CONFIG)
      }
      for (const { name } of ground.hosts)
        await ground.settled(`the kernel of ${name} is watched`, async () => {
          const path = 'jsonpath={.status.conditions[?(@.type=="KernelDeadlock")].status}'
          return (await kubectl.run(`get node ${name} -o`, [path])).out === 'False' ? true : undefined
        })
      const [host] = ground.hosts
      if (host === undefined) throw new Error('no host')
      const machine = () => kubectl.json<MachineSeen>(`get machines.kubenode.io ${host.name}`)
      const { status: { bootID: boot } = {} } = await machine()
      const before = (await ground.pods()).filter((p) => p.spec.nodeName === host.name)
      expect(before.map((p) => p.metadata.name)).toContainEqual(expect.stringMatching(/^etcd-/))
      const others = (await ground.pods('etcd')).filter((p) => p.spec.nodeName !== host.name)
      host.kernelSays('INFO: task kubelet:815 blocked for more than 122 seconds.')
      const job = await ground.settled('the repair', async () => {
        const { items } = await kubectl.json<Listed<JobSeen>>('get remedyoperationjobs')
        return items.find((j) => j.status?.phase === 'Done')
      })
      expect([job.spec.machine, job.status?.outcome]).toEqual([host.name, 'Succeeded'])
      expect(job.status?.steps?.map((s) => `${s.operation} ${s.outcome}`)).toEqual([
        'collectEvidence Succeeded',
        'cordon Succeeded',
        'drain Succeeded',
        'reboot Succeeded',
      ])
      expect((await machine()).status?.bootID).not.toBe(boot)
      const left = new Set((await ground.pods()).map((p) => p.metadata.uid))
      for (const { metadata } of before) expect(left).not.toContain(metadata.uid)
      expect(others).toHaveLength(MEMBERS - 1)
      for (const { metadata } of others) expect(left).toContain(metadata.uid)
      await isWhole()
      await writer?.mustHaveLostNothing()
      await writer?.stop()
    },
  )

  story(
    'a commit takes it out after an approval: its hosts are handed back, and its last snapshot alone is left',
    async () => {
      const { installation, kubectl } = ground
      const release = `fleet-${ground.commit({}, 'the cluster leaves the fleet').slice(0, 12)}`
      await ground.settled('the question', async () => {
        const path = 'jsonpath={.status.waitingFor.predicate}'
        const { out } = await kubectl.run(`get release ${release} -n kubenode-system -o`, [path])
        return out === 'GateClosed' ? true : undefined
      })
      await installation.kubenode('approve', `release/${release}`, '--reason', 'it leaves')
      await ground.settled('the end of the Cluster', async () =>
        (await kubectl.run(`get cluster.kubenode.io ${CLUSTER} -n kubenode-system`)).code === 0 ? undefined : true,
      )
      for (const { machine, name } of ground.members)
        await ground.settled(`${name} without its agent`, async () =>
          machine.run('test', '-e', '/opt/kubenode').code === 1 ? true : undefined,
        )
      const kinds = 'deployments,statefulsets,jobs,pods,services,pvc,secrets,pdb,networkpolicies'
      const left = await kubectl.ok(`get ${kinds} -n ${ground.namespace} -o name`)
      expect(left.trim().split('\n')).toEqual([
        'persistentvolumeclaim/snapshots',
        expect.stringMatching(/^secret\/.*encryption/),
      ])
      for (const namespace of ['clusters', 'hosted-controllers', 'hosted-approver', 'hosted-defender'])
        expect(await kubectl.ok(`get secrets -n kubenode-${namespace} -o name`)).not.toContain(`cluster-${CLUSTER}`)
    },
  )
})

const talker = (node: string, image: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `talker-${node}`, namespace: 'default' },
  spec: {
    nodeName: node,
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: 'talker', image, command: ['busybox', 'sleep', '1000000'] }],
  },
})
