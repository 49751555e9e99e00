// The CoreDNS that KubeNode gives clusters, with the real program in real pods: it starts under its own rights, and answers pods at the address that kubelets give them.
// Needs root, containerd, busybox, and KUBEBUILDER_ASSETS with coredns; otherwise it says what is missing.
import { mkdtempSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dnsAddress } from '#api/constructs/addons/coredns.ts'
import { addonObjects } from '#api/constructs/addons/table.ts'
import { type RealCluster, startCluster, whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { SERVICE_RANGE } from '#test/support/servers/real/pki.ts'
import { programFile, whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { putImage } from './hub-programs.ts'
import { whyNoWeb } from './node-world.ts'

const MINUTES_MS = 600_000
const VERSION = '1.13.1'
const DOMAIN = 'cluster.local'

const why = whyNoCluster() ?? whyNoPrograms(['coredns']) ?? whyNoWeb()

describe('CoreDNS as an addon', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  const folder = mkdtempSync('/var/tmp/kn-coredns-')
  let cluster: RealCluster
  let kubectl: Kubectl

  const asked = (name: string) => kubectl.run('exec asker -- busybox nslookup', [name])

  const answered = (name: string, address: string) =>
    until(
      `an answer for ${name}`,
      async () => ((await asked(name)).out.includes(address) ? true : undefined),
      MINUTES_MS,
    )

  beforeAll(async () => {
    if (why !== undefined) return
    cluster = await startCluster()
    kubectl = new Kubectl(cluster)
    const on = [{ ctr: cluster.node.ctr, scratch: folder }]
    const image = await putImage(folder, { name: 'coredns', programs: [programFile('coredns')], on })
    const busybox = await putImage(folder, { name: 'busybox', programs: ['/bin/busybox'], on })
    const values = { image, upstream: cluster.host.outside }
    await kubectl.apply(
      addonObjects({ name: 'coredns', version: VERSION, values }, { services: SERVICE_RANGE, domain: DOMAIN }),
    )
    await kubectl.apply([asker(busybox)])
    await kubectl.ok('wait pod/asker --for=condition=Ready --timeout=180s')
  }, MINUTES_MS)
  afterAll(async () => {
    await (cluster as RealCluster | undefined)?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, MINUTES_MS)

  test(
    'becomes ready under its own rights',
    async () => {
      await kubectl.ok('rollout status deployment/coredns -n kube-system --timeout=300s').catch(async (e: unknown) => {
        const { out } = await kubectl.run('logs deployment/coredns -n kube-system')
        throw new Error(out, { cause: e })
      })
      const logs = await kubectl.ok('logs deployment/coredns -n kube-system')
      expect(logs).toContain(`CoreDNS-${VERSION}`)
      expect(logs).not.toMatch(/\[(ERROR|FATAL)\]|forbidden/)
    },
    MINUTES_MS,
  )

  test(
    'answers pods: a Service, a Service that comes later, a pod behind a headless one, and what lies outside',
    async () => {
      const first = await kubectl.ok('get service kubernetes -o', ['jsonpath={.spec.clusterIP}'])
      await answered(`kubernetes.default.svc.${DOMAIN}`, first)
      const none = await asked(`later.default.svc.${DOMAIN}`)
      expect(none.out + none.err).toMatch(/NXDOMAIN/)
      await kubectl.apply([serviceOf('later', {}), serviceOf('headless', { clusterIP: 'None' })])
      const later = await kubectl.ok('get service later -o', ['jsonpath={.spec.clusterIP}'])
      await answered(`later.default.svc.${DOMAIN}`, later)
      const pod = await kubectl.ok('get pod asker -o', ['jsonpath={.status.podIP}'])
      await answered(`headless.default.svc.${DOMAIN}`, pod)
      // Known outside under its short name alone, so it came from there.
      await answered('kubernetes.default.svc', first)
    },
    MINUTES_MS,
  )
})

const asker = (image: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'asker', namespace: 'default', labels: { app: 'asker' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    dnsPolicy: 'None',
    dnsConfig: { nameservers: [dnsAddress(SERVICE_RANGE)] },
    containers: [{ name: 'asker', image, command: ['busybox', 'sleep', '1000000'] }],
  },
})

const serviceOf = (name: string, spec: object) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { selector: { app: 'asker' }, ports: [{ port: 80 }], ...spec },
})
