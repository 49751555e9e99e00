// A control plane as real pods on the nodes of a hub, with the rights and policies of KubeNode in force: its members have a node each, a kubelet joins it, a name is
// answered in a pod there, a node of the hub is drained and another one loses its power under a writer, and a deletion leaves its last snapshot alone.
// Needs root, systemd-nspawn, containerd, Debian's packages, busybox and KUBEBUILDER_ASSETS; otherwise it says what is missing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'
import { noMachines } from '../agent-host/machine.ts'
import { whyNoPackages } from './kubeadm-host.ts'
import { doorObjects } from './kubelet-door.ts'
import { whyNoWeb } from './node-world.ts'
import { PlaneWriter } from './plane-writer.ts'
import { MEMBERS, PlanesGround } from './planes-ground.ts'

const CHAPTER_MS = 1_500_000
const TOKEN = 'abcdef.0123456789abcdef'
const DNS_ANSWERS = join(import.meta.dirname, '../../support/servers/real/dns-answers.ts')
const API_SERVICE = '10.97.0.1'
const MEANWHILE = 50

const why = whyNoCluster() ?? whyNoHost() ?? noMachines() ?? whyNoWeb() ?? whyNoPackages()

describe('a control plane as real pods', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  chapters()
  let ground: PlanesGround
  let writer: PlaneWriter | undefined

  const story = (name: string, chapter: () => Promise<void>): void => test(name, chapter, CHAPTER_MS)

  beforeAll(async () => {
    if (why === undefined) ground = await PlanesGround.start()
  }, CHAPTER_MS)
  afterAll(async () => {
    await writer?.stop()
    await (ground as PlanesGround | undefined)?.stop()
  }, CHAPTER_MS)

  const whole = () =>
    ground.settled('all members serve', async () => ((await ground.serving('etcd')) === MEMBERS ? true : undefined))

  story('runs, each member of its etcd on a node of its own', async () => {
    await ground.run()
    const members = await ground.pods('etcd')
    expect(new Set(members.map((p) => p.spec.nodeName)).size).toBe(MEMBERS)
    for (const part of ['apiserver', 'controller-manager', 'scheduler'])
      expect([part, await ground.serving(part)]).toEqual([part, 2])
  })

  story('a kubelet joins it with a token, and a name is answered in a pod there', async () => {
    const one = await ground.admin()
    await one.kubectl.apply(doorObjects(TOKEN))
    ground.member.join({ url: one.url, authorities: one.ca, token: TOKEN })
    const isReady = async () => ((await ground.isReady('member-1', one.kubectl)) ? true : undefined)
    await ground.settled('node member-1', isReady).catch((e: unknown) => {
      throw new Error(ground.member.log('kubelet'), { cause: e })
    })
    await one.kubectl.apply([...names(ground.node), asker(ground.busybox)])
    const said = await ground.settled('an answer', async () => {
      const { out } = await one.kubectl.run('exec asker -- busybox nslookup kubernetes.default.svc.cluster.local')
      return out.includes(API_SERVICE) ? out : undefined
    })
    expect(said).toContain(ground.member.address)
  })

  story(
    'a node of the hub is drained: its masters move, a member waits for its node, and no write is lost',
    async () => {
      writer = new PlaneWriter((await ground.admin()).client)
      const [{ name } = { name: '' }] = ground.hosts
      const before = (await ground.pods()).filter((p) => p.spec.nodeName === name)
      expect(before.map((p) => p.metadata.name)).toContainEqual(expect.stringMatching(/^etcd-/))
      await ground.kubectl.ok(`drain ${name} --ignore-daemonsets --delete-emptydir-data --timeout=180s`)
      const left = new Set((await ground.pods()).map((p) => p.metadata.uid))
      for (const { metadata } of before) expect(left).not.toContain(metadata.uid)
      const since = writer.written
      await ground.settled('writes without it', async () =>
        (writer?.written ?? 0) > since + MEANWHILE ? true : undefined,
      )
      expect(await ground.serving('etcd')).toBe(MEMBERS - 1)
      await ground.kubectl.ok(`uncordon ${name}`)
      await whole()
      await ground.run()
      await writer.mustHaveLostNothing()
    },
  )

  story('a node of the hub loses its power and comes back, and no write is lost', async () => {
    const [, host] = ground.hosts
    if (host === undefined) throw new Error('no second host')
    const claims = () => ground.kubectl.ok(`get pvc -n ${ground.namespace} -o jsonpath={.items[*].metadata.uid}`)
    const before = await claims()
    await host.machine.cutPower()
    await ground.settled('it is away', async () => ((await ground.isReady(host.name)) ? undefined : true))
    const since = writer?.written ?? 0
    await ground.settled('writes without it', async () =>
      (writer?.written ?? 0) > since + MEANWHILE ? true : undefined,
    )
    await host.machine.boot()
    await ground.settled('it is back', async () => ((await ground.isReady(host.name)) ? true : undefined))
    await whole()
    await ground.run()
    expect(await claims()).toBe(before)
    await writer?.mustHaveLostNothing()
    await writer?.stop()
  })

  story('is deleted after a snapshot, which alone is left, with the key that opens it', async () => {
    await ground.snapshot('last')
    await ground.delete('last')
    const kinds = 'deployments,statefulsets,jobs,pods,services,pvc,secrets,pdb,networkpolicies'
    const left = await ground.kubectl.ok(`get ${kinds} -n ${ground.namespace} -o name`)
    expect(left.trim().split('\n')).toEqual([
      'persistentvolumeclaim/snapshots',
      expect.stringMatching(/^secret\/.*encryption/),
    ])
  })
})

const DNS = `import { createSocket } from 'node:dgram'
import { answerOf } from './dns-answers.ts'
const names = new Map([['kubernetes.default.svc', ['${API_SERVICE}']]])
const socket = createSocket('udp4')
socket.on('message', (asked, { port, address }) => socket.send(answerOf(asked, names), port, address))
socket.bind(53, process.env.NODE_ADDRESS)
`

/** The node itself answers, so that pods need no Service for it. */
const names = (image: string): readonly object[] => {
  const metadata = { name: 'names', namespace: 'kube-system', labels: { app: 'names' } }
  const spec = {
    hostNetwork: true,
    dnsPolicy: 'Default',
    tolerations: [{ operator: 'Exists' }],
    containers: [
      {
        name: 'names',
        image,
        command: ['node', '/etc/names/main.ts'],
        env: [{ name: 'NODE_ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } }],
        securityContext: { runAsUser: 0 },
        volumeMounts: [{ name: 'names', mountPath: '/etc/names' }],
      },
    ],
    volumes: [{ name: 'names', configMap: { name: 'names' } }],
  }
  const data = { 'main.ts': DNS, 'dns-answers.ts': readFileSync(DNS_ANSWERS, 'utf8') }
  const template = { metadata: { labels: metadata.labels }, spec }
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata,
      spec: { selector: { matchLabels: metadata.labels }, template },
    },
  ]
}

const asker = (image: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'asker', namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 1,
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: 'asker', image, command: ['busybox', 'sleep', '1000000'] }],
  },
})
